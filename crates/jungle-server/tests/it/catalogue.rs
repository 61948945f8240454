//! The catalogue of bad requests: every address with everything that may be wrong about each of
//! its parameters, bodies and headers. Each is refused, none is the server's failure, and nothing
//! has changed at the end.

use crate::support::Served;

/// What no path can be, and what none is here.
const PATHS: &str = "|a|//|/a/|/%20a|/%22|/%22%5Cx%22|/%FF|/%00|/9|/99999999999999999999\
|/-99999999999999999999|/0.8|/0.zz|/0.|/%22%22x|/%22a%22%22b%22|/..%2f..|/nothing|/a%0Ab|/a%5C";
const REVISIONS: &str = "|nothing|-1|1.5|0x1|99|99999999999999999999|main~|main~x|main~99|~1\
|main~-1|1970-01-01|2026-13-45|%00|%FF|main%00|../main|1;2|%22";
const BRANCHES: &str = "|nothing|MAIN|main%00|../main|main/|%20main|%FF|1";
const COUNTS: &str = "|0|-1|1001|1e2|x|1.0|99999999999999999999|%201|0x10|NaN|%FF|1%00";
const NUMBERS: &str = "|-1|1e2|x|1.0|99999999999999999999|%201|0x10|NaN|%FF|1%00";
const WORDS: &str = "|up|FORWARD|forward%20|1|%00|%FF";
const KEYS: &str = "|a/b|%22|%20a|a%20|%00|99999999999999999999|%FF|%5C";
const EXPRESSIONS: &str = "|(|)|a|a%20%3D|%3D%20a|a%20%3D%201%20b|and|not|a%20~|a%20%3D%20%22|%00\
|a%20%21%201|%40x%20%3D%201|((((a%20%3D%201)|exists|%FF|a%20%3D%201)";
const VALUES: &str = "|x|%7B|%7B%7D|%5B%5D|%7B%22type%22%3A%22x%22%7D|1%202|%22|nul|%FF|-\
|%7B%22type%22%3A%22int%22%2C%22value%22%3A1.5%7D|9223372036854775808";

/// An address, and what its parameters must not be.
fn reads() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let at = [("path", PATHS), ("branch", BRANCHES), ("at", REVISIONS)];
    let with = |more: &[(&'static str, &'static str)]| [&at, more].concat();
    let branch = |more: &[(&'static str, &'static str)]| [&[("branch", BRANCHES)], more].concat();
    vec![
        ("/api/v1/trees?", vec![("limit", COUNTS)]),
        ("/api/v1/trees/t/node?", with(&[])),
        ("/api/v1/trees/t/value?attribute=n&", with(&[])),
        ("/api/v1/trees/t/document?", with(&[("layout", WORDS)])),
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
        ("/api/v1/trees/t/search?attribute=n&", with(&[("value", VALUES), ("limit", COUNTS)])),
        ("/api/v1/trees/t/search?", vec![("where", EXPRESSIONS)]),
        ("/api/v1/trees/t/indexes?", Vec::new()),
        (
            "/api/v1/trees/t/revisions?",
            branch(&[("order", WORDS), ("after", NUMBERS), ("limit", COUNTS)]),
        ),
        (
            "/api/v1/trees/t/diff?to=main&",
            branch(&[("from", REVISIONS), ("after", NUMBERS), ("limit", COUNTS)]),
        ),
        ("/api/v1/trees/t/diff?", vec![("to", REVISIONS)]),
        ("/api/v1/trees/t/merges?", vec![("from", BRANCHES)]),
        ("/api/v1/trees/t/merges?from=draft&", vec![("into", BRANCHES)]),
        ("/api/v1/trees/t/watch?", branch(&[("after", NUMBERS)])),
        ("/boards?", vec![("limit", COUNTS)]),
        ("/boards/b?", vec![("before", KEYS), ("after", KEYS), ("limit", COUNTS)]),
    ]
}

/// Addresses that take JSON, and a member that is missing in none of the bodies below.
const WRITES: [(&str, &str); 10] = [
    ("POST", "/api/v1/trees"),
    ("PATCH", "/api/v1/trees/t"),
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

fn served() -> Served {
    let served = Served::memory().tree("t");
    let edits = r#"{"edits":[{"op":"put","attribute":"n","value":1}]}"#;
    served.post("/api/v1/trees/t/commits", edits).expect(200);
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(served.send("POST", "/boards", &form, Some("name=b")).status, 303);
    served
}

#[test]
fn everything_wrong_about_anything_is_refused() {
    let served = served();
    let before = served.server.jungle().revision();
    let mut count = 0;
    let mut refused = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>| {
        let answer = served.send(method, path, headers, body);
        let status = answer.status.as_u16();
        assert!((400..500).contains(&status), "{method} {path} {headers:?} {body:?}: {status}");
        count += 1;
    };
    for (address, parameters) in reads() {
        refused("GET", &format!("{address}unknown=1"), &[], None);
        refused("GET", &format!("{address}%FF=1"), &[], None);
        for (name, values) in parameters {
            for value in values.split('|') {
                refused("GET", &format!("{address}{name}={value}"), &[], None);
            }
            refused("GET", &format!("{address}{name}=1&{name}=1"), &[], None);
            let long = format!("{address}{name}={}", "x".repeat(9000));
            refused("GET", &long, &[], None);
        }
    }
    for (method, address) in WRITES {
        for body in BODIES {
            refused(method, address, &[], Some(body));
        }
        for media in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
        {
            refused(method, address, &[("content-type", media)], Some("{}"));
        }
        if !address.ends_with("document") {
            OTHER_JSON.iter().for_each(|body| refused(method, address, &[], Some(body)));
        }
        refused(method, &format!("{address}?unknown=1"), &[], Some("{}"));
        let nowhere = address.replace("trees/t", "trees/nothing");
        if nowhere != address {
            refused(method, &nowhere, &[], Some("{\"name\":\"x\",\"from\":\"x\",\"revision\":1}"));
        }
    }
    for (method, address) in [("DELETE", "/api/v1/trees/x"), ("DELETE", "/api/v1/trees/t?x=1")] {
        refused(method, address, &[], None);
    }
    let commits = "/api/v1/trees/t/commits";
    let edits = r#"{"edits":[{"op":"append"}]}"#;
    for tag in ["", "1", "\"\"", "\"x\"", "\"-1\"", "\"1", "\"1\",\"2\"", "\"1\" \"2\"", "\"99\""] {
        refused("POST", commits, &[("if-match", tag)], Some(edits));
    }
    assert!(count >= 800, "{count}");
    assert_eq!(served.server.jungle().revision(), before);
    let metrics = served.get("/metrics").text;
    assert!(metrics.contains("status=\"5xx\"} 0\n"), "{metrics}");
    assert!(metrics.contains("jungle_panics_total 0\n"), "{metrics}");
}
