//! The catalogue of bad requests: every address with everything that may be wrong about each of
//! its parameters, bodies and headers. Each is refused, none is the server's failure, and nothing
//! has changed at the end.

use std::sync::Arc;

use jungle::{Jungle, Open, OpenOptions};
use jungle_cluster::{Cluster, MemoryLog};
use jungle_server::{Data, Options, Role};

use crate::people::Guarded;
use crate::support::{Folder, Served};

/// What no path can be: 400.
const NO_PATHS: &str = "|a|//|/a/|/%20a|/%22|/%22%5Cx%22|/%FF|/%00|/99999999999999999999\
|/-99999999999999999999|/%22%22x|/%22a%22%22b%22|/a%0Ab|/a%5C";
/// And what none is here: 404, but where it is told what is not there, too.
const NOWHERE: &str = "/9|/0.8|/0.zz|/0.|/..%2f..|/nothing";
const REVISIONS: &str = "|nothing|-1|1.5|0x1|99|99999999999999999999|main~|main~x|main~99|~1\
|main~-1|1970-01-01|2026-13-45|%00|%FF|main%00|../main|1;2|%22";
const BRANCHES: &str = "|nothing|MAIN|main%00|../main|main/|%20main|%FF|1";
const COUNTS: &str = "|0|-1|1001|1e2|x|1.0|99999999999999999999|%201|0x10|NaN|%FF|1%00";
const NUMBERS: &str = "|-1|1e2|x|1.0|99999999999999999999|%201|0x10|NaN|%FF|1%00";
const WAITS: &str = "|-1|61|1e2|x|1.0|99999999999999999999|%201|0x10|NaN|%FF|1%00";
const TIMES: &str = "|nothing|main|2026-13-45|%00|%FF|2%20hours|1970-01-01T00:00:00Z;";
const WORDS: &str = "|up|FORWARD|forward%20|1|%00|%FF";
const KEYS: &str = "|a/b|%22|%20a|a%20|%00|99999999999999999999|%FF|%5C";
const EXPRESSIONS: &str = "|(|)|a|a%20%3D|%3D%20a|a%20%3D%201%20b|and|not|a%20~|a%20%3D%20%22|%00\
|a%20%21%201|%40x%20%3D%201|((((a%20%3D%201)|exists|%FF|a%20%3D%201)";
const COUNTERS: &str = "|x|1|null|%7B%7D|%5B1%5D|%5B%22a%22|%FF";
const VALUES: &str = "|x|%7B|%7B%7D|%5B%5D|%7B%22type%22%3A%22x%22%7D|1%202|%22|nul|%FF|-\
|%7B%22type%22%3A%22int%22%2C%22value%22%3A1.5%7D|9223372036854775808";

/// A parameter, and what it must not be.
type Wrong = (&'static str, &'static str);

/// Those of an address that shows a version.
fn with(more: &[Wrong]) -> Vec<Wrong> {
    let at = [("path", NO_PATHS), ("path", NOWHERE), ("branch", BRANCHES), ("at", REVISIONS)];
    [&at[..], more].concat()
}

/// Those of an address that is of a branch.
fn branch(more: &[Wrong]) -> Vec<Wrong> {
    [&[("branch", BRANCHES)][..], more].concat()
}

/// Addresses that show what is there, and what their parameters must not be.
fn reads() -> Vec<(&'static str, Vec<Wrong>)> {
    vec![
        ("/api/v1/trees?", vec![("limit", COUNTS)]),
        ("/api/v1/me?", vec![("tree", "%FF")]),
        (
            "/api/v1/folder/audit?",
            vec![("after", NUMBERS), ("limit", COUNTS), ("since", TIMES), ("tree", "%FF")],
        ),
        ("/api/v1/folder/backup?", vec![("wait", WAITS)]),
        ("/api/v1/folder/verify?", vec![("wait", WAITS)]),
        ("/api/v1/folder/gc?", vec![("wait", WAITS)]),
        ("/api/v1/folder/du?", vec![("wait", WAITS)]),
        ("/api/v1/folder/backups?", Vec::new()),
        ("/boards?", vec![("limit", COUNTS)]),
        ("/boards/b?", vec![("before", KEYS), ("after", KEYS), ("limit", COUNTS)]),
        ("/api/v1/trees/t/node?", with(&[("attributes_after", "%FF")])),
        ("/api/v1/trees/t/value?attribute=n&", with(&[])),
        ("/api/v1/trees/t/value?", vec![("attribute", "|nothing|N|n%00|%FF")]),
        ("/api/v1/trees/t/document?", with(&[("format", WORDS), ("layout", WORDS)])),
        ("/api/v1/trees/t/document?", vec![("format", "html|JSON|yml|application/json")]),
        ("/api/v1/trees/t/document?format=yaml&", with(&[("layout", "pretty|PRETTY|")])),
        (
            "/api/v1/trees/t/document?format=ndjson&",
            branch(&[("path", "a|/%00|/nothing|/9"), ("at", REVISIONS), ("layout", "pretty")]),
        ),
        (
            "/api/v1/trees/t/children?",
            with(&[
                ("order", WORDS),
                ("from", KEYS),
                ("after", KEYS),
                ("to", KEYS),
                ("offset", NUMBERS),
                ("limit", COUNTS),
            ]),
        ),
        (
            "/api/v1/trees/t/search?attribute=n&",
            with(&[("value", VALUES), ("after", NO_PATHS), ("limit", COUNTS)]),
        ),
        (
            "/api/v1/trees/t/search?where=a%20%3D%201&",
            with(&[("attribute", "n|"), ("value", "1|x"), ("after", NO_PATHS), ("limit", COUNTS)]),
        ),
        // What is not below the path.
        ("/api/v1/trees/t/search?path=/a&attribute=n&", vec![("after", "/|/b|/ab|/b/a")]),
        (
            "/api/v1/trees/t/search?",
            vec![("where", EXPRESSIONS), ("attribute", "%FF"), ("value", "1|x")],
        ),
    ]
}

/// The same of those that show what there is of a tree as a whole, and what has happened.
fn reads_of_a_tree() -> Vec<(&'static str, Vec<Wrong>)> {
    vec![
        ("/api/v1/trees/t/indexes?", Vec::new()),
        ("/api/v1/trees/t/branches?", vec![("limit", COUNTS)]),
        ("/api/v1/trees/t/tags?", vec![("limit", COUNTS)]),
        ("/api/v1/trees/t/keep?", branch(&[])),
        (
            "/api/v1/trees/t/revisions?",
            branch(&[("path", NO_PATHS), ("order", WORDS), ("after", NUMBERS), ("limit", COUNTS)]),
        ),
        (
            "/api/v1/trees/t/revisions?path=/&",
            branch(&[("order", WORDS), ("after", NUMBERS), ("limit", COUNTS)]),
        ),
        ("/api/v1/trees/t/revisions/1?", branch(&[])),
        (
            "/api/v1/trees/t/diff?to=main&",
            branch(&[
                ("path", NO_PATHS),
                ("from", REVISIONS),
                ("after", NUMBERS),
                ("limit", COUNTS),
                ("form", WORDS),
            ]),
        ),
        (
            "/api/v1/trees/t/diff?form=document&",
            branch(&[
                ("path", NO_PATHS),
                ("from", REVISIONS),
                ("to", REVISIONS),
                // A document has no pages.
                ("after", "|0|1"),
                ("limit", "|0|1|100"),
            ]),
        ),
        ("/api/v1/trees/t/diff?", vec![("to", REVISIONS)]),
        ("/api/v1/trees/t/reverts?", branch(&[("revision", NUMBERS)])),
        ("/api/v1/trees/t/reverts?revision=1&", vec![("prevails", WORDS), ("form", WORDS)]),
        ("/api/v1/trees/t/merges?", vec![("from", BRANCHES)]),
        ("/api/v1/trees/t/merges?from=draft&", vec![("into", BRANCHES), ("counters", COUNTERS)]),
        (
            "/api/v1/trees/t/watch?",
            branch(&[("path", NO_PATHS), ("after", NUMBERS), ("follow", WORDS)]),
        ),
        (
            "/api/v1/trees/t/watch?follow=false&",
            branch(&[("path", NO_PATHS), ("after", "99|99-1|1-|1-x|-1-1|1-2-3")]),
        ),
    ]
}

/// Addresses that take a body and parameters, which are wrong while the body is not.
const WRITES_WITH: [(&str, &str, &str, &[Wrong]); 3] = [
    ("PUT", "/api/v1/trees/t/document?", "[1]", OF_AN_IMPORT),
    ("POST", "/api/v1/trees/t/commits?", EDITS, &[("branch", BRANCHES)]),
    ("PUT", "/api/v1/trees/t/keep?", r#"{"keep":"9"}"#, &[("branch", BRANCHES)]),
];
const OF_AN_IMPORT: &[Wrong] =
    &[("path", NO_PATHS), ("branch", BRANCHES), ("author", "%FF"), ("message", "%FF")];
const EDITS: &str = r#"{"edits":[{"op":"append"}]}"#;

/// Addresses that take JSON, and a member that is missing in none of the bodies below.
const WRITES: [(&str, &str); 11] = [
    ("POST", "/api/v1/trees"),
    ("PATCH", "/api/v1/trees/t"),
    ("POST", "/api/v1/commits"),
    ("POST", "/api/v1/trees/t/commits"),
    ("POST", "/api/v1/trees/t/reverts"),
    ("POST", "/api/v1/trees/t/branches"),
    ("POST", "/api/v1/trees/t/tags"),
    ("POST", "/api/v1/trees/t/indexes"),
    ("POST", "/api/v1/trees/t/merges"),
    ("PUT", "/api/v1/trees/t/keep"),
    ("PUT", "/api/v1/trees/t/document"),
];

/// What is JSON for nobody, or says nothing that any of these addresses takes.
const BODIES: [&str; 16] = [
    "",
    " ",
    "{",
    "}",
    "[",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{'a':1}",
    "\"\\ud800\"",
    "\"\u{1}\"",
    "01",
    "1 2",
    "nul",
    "{\"a\":1,\"a\":2}",
    "\u{feff}{}",
];

/// JSON, and nothing for any of these addresses but the document.
const OTHER_JSON: [&str; 8] = [
    "null",
    "true",
    "1",
    "\"x\"",
    "[]",
    "{\"unknown\":1}",
    "{\"name\":{}}",
    "{\"edits\":1,\"from\":1,\"name\":1,\"revision\":\"x\"}",
];

/// Addresses that take JSON, or nothing for what is usual. A list of nothing says as much as
/// nothing.
const WORKS: [(&str, &str); 5] = [
    ("POST", "/api/v1/folder/backup"),
    ("POST", "/api/v1/folder/copy"),
    ("POST", "/api/v1/folder/verify"),
    ("POST", "/api/v1/folder/gc"),
    ("POST", "/api/v1/folder/du"),
];

/// What there is nothing to be deleted at.
const DELETES: &str = "/trees/x|/trees/t?x=1|/trees/t/branches/nothing|/trees/t/branches/%FF\
|/trees/t/branches/draft?x=1|/trees/t/tags/nothing|/trees/t/tags/%FF|/trees/t/tags/x?x=1\
|/trees/t/indexes|/trees/t/indexes?key=%FF|/trees/t/indexes?key=a&key=a|/trees/t/indexes?x=1\
|/folder/backup|/folder/backup?x=1|/folder/verify|/folder/verify?x=1|/folder/gc|/folder/gc?x=1\
|/folder/du|/folder/du?x=1|/folder/backups|/local/1-1|/cluster/checkpoint";

/// Names that no backup can have.
const BACKUPS: &str = "|.|..|../x|/|/tmp|a/b|.a|a.|-a|a b|é|a\\u0000";

/// What no entry of an outbox is called.
const ENTRIES: &str = "x|1|1-|-1|-1-1|1-x|1-1-1|0x1-1|1_1|%FF|%00|99999999999999999999-1|1-1?x=1";

/// Forms that do not log in.
const FORMS: &str = "|x|name|name=ana|password=x|name=ana&password=wrong&next=/boards&x=1|name=%FF\
|name=ana&name=ana|name=ana&password=%FF|%00=1|name=ana&password=wrong|name=%00&password=%00";

/// Asks for what must be refused, and counts.
struct Asking<'s> {
    served: &'s Served,
    count: usize,
}

impl Asking<'_> {
    /// Gives the status.
    #[track_caller]
    fn refused(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> u16 {
        let answer = self.served.send(method, path, headers, body);
        let status = answer.status.as_u16();
        assert!((400..500).contains(&status), "{method} {path} {headers:?} {body:?}: {status}");
        self.count += 1;
        status
    }

    fn read(&mut self, address: &str, parameters: &[(&str, &str)]) {
        self.parameters(("GET", None), address, parameters);
    }

    fn parameters(
        &mut self,
        (method, body): (&str, Option<&str>),
        address: &str,
        parameters: &[(&str, &str)],
    ) {
        self.refused(method, &format!("{address}unknown=1"), &[], body);
        self.refused(method, &format!("{address}%FF=1"), &[], body);
        for (name, values) in parameters {
            // Of the others it depends on where they are.
            let usual = match *values {
                NO_PATHS | COUNTS | NUMBERS | WORDS => Some(400),
                NOWHERE => Some(404),
                _ => None,
            };
            for value in values.split('|') {
                let path = format!("{address}{name}={value}");
                let status = self.refused(method, &path, &[], body);
                assert_eq!(status, usual.unwrap_or(status), "{method} {path}");
            }
            self.refused(method, &format!("{address}{name}=1&{name}=1"), &[], body);
            let long = format!("{address}{name}={}", "x".repeat(9000));
            self.refused(method, &long, &[], body);
        }
    }

    /// `is_usual` where nothing need be said.
    fn write(&mut self, method: &str, address: &str, is_usual: bool) {
        for body in BODIES.iter().filter(|body| !(is_usual && body.is_empty())) {
            self.refused(method, address, &[], Some(body));
        }
        for media in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
        {
            self.refused(method, address, &[("content-type", media)], Some("{}"));
        }
        if !address.ends_with("document") {
            for body in OTHER_JSON.iter().filter(|body| !(is_usual && **body == "[]")) {
                self.refused(method, address, &[], Some(body));
            }
        }
        self.refused(method, &format!("{address}?unknown=1"), &[], Some("{}"));
        let nowhere = address.replace("trees/t", "trees/nothing");
        if nowhere != address {
            let body = "{\"name\":\"x\",\"from\":\"x\",\"revision\":1}";
            self.refused(method, &nowhere, &[], Some(body));
        }
    }

    #[track_caller]
    fn end(self, least: usize) {
        assert!(self.count >= least, "{}", self.count);
        let metrics = self.served.get("/metrics").text;
        assert!(metrics.contains("status=\"5xx\"} 0\n"), "{metrics}");
        assert!(metrics.contains("jungle_panics_total 0\n"), "{metrics}");
    }
}

/// A folder that is served, with another one for backups.
fn served([data, backups]: &[Folder; 2]) -> Served {
    let options = Options { backups: Some(backups.0.clone()), ..Options::default() };
    let served = Served::start(Data::Folder(Jungle::open(&data.0).unwrap()), options).tree("t");
    let edits = r#"{"edits":[{"op":"put","attribute":"n","value":1}]}"#;
    served.post("/api/v1/trees/t/commits", edits).expect(200);
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(served.send("POST", "/boards", &form, Some("name=b")).status, 303);
    served
}

#[test]
fn everything_wrong_about_anything_is_refused() {
    let folders = ["catalogue", "catalogue-backups"].map(Folder::new);
    let served = served(&folders);
    let before = served.server.jungle().revision();
    let mut asking = Asking { served: &served, count: 0 };
    for (address, parameters) in reads().into_iter().chain(reads_of_a_tree()) {
        asking.read(address, &parameters);
    }
    for (method, address, body, parameters) in WRITES_WITH {
        asking.parameters((method, Some(body)), address, parameters);
    }
    for revision in REVISIONS.split('|').filter(|revision| !revision.contains('/')) {
        asking.refused("GET", &format!("/api/v1/trees/t/revisions/{revision}"), &[], None);
    }
    WRITES.iter().for_each(|(method, address)| asking.write(method, address, false));
    let works = WORKS.iter().map(|work| (work, !work.1.ends_with("backup")));
    works.for_each(|((method, address), is_usual)| asking.write(method, address, is_usual));
    for name in BACKUPS.split('|') {
        let body = format!("{{\"name\":\"{name}\"}}");
        asking.refused("POST", "/api/v1/folder/backup", &[], Some(&body));
    }
    for address in DELETES.split('|') {
        asking.refused("DELETE", &format!("/api/v1{address}"), &[], None);
    }
    let commits = "/api/v1/trees/t/commits";
    for tag in ["", "1", "\"\"", "\"x\"", "\"-1\"", "\"1", "\"1\",\"2\"", "\"1\" \"2\"", "\"99\""] {
        asking.refused("POST", commits, &[("if-match", tag)], Some(EDITS));
    }
    for id in ["", "x", "-1", "1-", "1-x", "1-2-3", "1.5", "99", "99-1"] {
        asking.refused("GET", "/api/v1/trees/t/watch", &[("last-event-id", id)], None);
    }
    asking.end(1000);
    assert_eq!(served.server.jungle().revision(), before);
    assert_eq!(std::fs::read_dir(&folders[1].0).unwrap().count(), 0);
}

#[test]
fn everything_wrong_about_a_cluster_is_refused() {
    let (folder, log) = (Folder::new("catalogue-cluster"), MemoryLog::new());
    let (open, data) = (OpenOptions::new(), folder.0.join("data"));
    let named = jungle_cluster::Options::default();
    let joined = Cluster::follow_in_folder(Arc::new(log.connect()), &data, &open, &named);
    let (store, cluster) = joined.unwrap();
    cluster.local(open.open(folder.0.join("outbox")).unwrap()).unwrap();
    let data = Data::Cluster(store, Arc::new(cluster));
    let served = Served::start(data, Options::default());
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let mut asking = Asking { served: &served, count: 0 };
    asking.read("/api/v1/local?", &[]);
    asking.read("/api/v1/trees/t/local?", &[]);
    asking.read("/api/v1/cluster/checkpoint?", &[("wait", WAITS)]);
    asking.write("POST", "/api/v1/cluster/checkpoint", true);
    asking.write("POST", "/api/v1/trees/t/local", false);
    asking.write("PUT", "/api/v1/trees/t/local/document", false);
    asking.write("POST", "/api/v1/trees/t/local/reverts", false);
    asking.parameters(("PUT", Some("[1]")), "/api/v1/trees/t/local/document?", OF_AN_IMPORT);
    let branches = [("branch", BRANCHES)];
    asking.parameters(("POST", Some(EDITS)), "/api/v1/trees/t/local?", &branches);
    let tomorrow = r#"{"revision":99}"#;
    asking.refused("POST", "/api/v1/trees/t/local/reverts", &[], Some(tomorrow));
    for entry in ENTRIES.split('|') {
        let address = format!("/api/v1/local/{entry}");
        asking.refused("GET", &address, &[], None);
        asking.refused("DELETE", &address, &[], None);
    }
    asking.refused("DELETE", "/api/v1/local/1-1", &[], None);
    asking.end(90);
    assert_eq!(served.get("/api/v1/local").expect(200)["pending"], 0);
}

#[test]
fn everything_wrong_about_logging_in_is_refused() {
    let guarded = Guarded::new("catalogue-login", &[("ana", "*", "/", Role::Admin)]);
    let mut asking = Asking { served: &guarded.served, count: 0 };
    for query in ["unknown=1", "%FF=1", "next=%FF", "next=/&next=/", "again=%FF"] {
        asking.refused("GET", &format!("/login?{query}"), &[], None);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let long = ["name", "password"].map(|name| format!("{name}={}", "x".repeat(9000)));
    let longer = format!("name=ana&password={}", "x".repeat(17 << 10));
    let forms = FORMS.split('|').chain(long.iter().map(String::as_str)).chain([&*longer]);
    for body in forms {
        asking.refused("POST", "/login", &[form], Some(body));
    }
    asking.refused("POST", "/login?next=/boards", &[form], Some("name=ana&password=x"));
    for media in ["", "text/plain", "application/json", "multipart/form-data"] {
        asking.refused("POST", "/login", &[("content-type", media)], Some("name=ana&password=x"));
    }
    for (name, value) in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        asking.refused("POST", "/login", &[form, (name, value)], Some("name=ana&password=x"));
    }
    assert!(asking.count >= 25, "{}", asking.count);
    let metrics = guarded.get("ana", "/metrics").text;
    assert!(metrics.contains("status=\"5xx\"} 0\n"), "{metrics}");
}
