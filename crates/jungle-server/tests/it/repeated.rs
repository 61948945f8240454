//! What a client relies on when it sends a request again.

use crate::contract::operations;
use crate::support::{Answer, Folder, Served};

const TREE: &str = "/api/v1/trees/t";

/// What is done once: a method, where, a body, and another one.
const ONCE: [(&str, &str, &str, &str); 3] = [
    ("POST", "/merges", r#"{"from":"draft"}"#, r#"{"from":"draft","message":"m"}"#),
    ("POST", "/reverts", r#"{"revision":2}"#, r#"{"revision":1,"mode":"restore"}"#),
    ("PUT", "/document?path=/a", r#"{"b":1}"#, r#"{"b":2}"#),
];

/// A tree with something to take back, a branch to merge, and a node for a document.
fn served(folder: &Folder) -> Served {
    let served = Served::folder(folder).tree("t");
    let put = |branch: &str, edit: &str| {
        let body = format!(r#"{{"edits":[{edit}]}}"#);
        served.post(&format!("{TREE}/commits?branch={branch}"), &body).expect(200)
    };
    put("main", r#"{"op":"put","attribute":"n","value":1},{"op":"insert","path":"/a"}"#);
    served.post(&format!("{TREE}/branches"), r#"{"name":"draft"}"#).expect(201);
    put("draft", r#"{"op":"put","attribute":"of_draft","value":1}"#);
    served
}

fn send(
    served: &Served,
    headers: &[(&str, &str)],
    (method, path, body): (&str, &str, &str),
) -> Answer {
    served.send(method, &format!("{TREE}{path}"), headers, Some(body))
}

fn revisions(served: &Served) -> usize {
    let page = served.get(&format!("{TREE}/revisions")).expect(200);
    page["revisions"].as_array().unwrap().len()
}

#[test]
fn merges_reverts_and_imports_with_a_key_are_done_once() {
    for (at, (method, path, body, other)) in ONCE.into_iter().enumerate() {
        let folder = Folder::new(&format!("repeated-{at}"));
        let served = served(&folder);
        let tag = served.get(TREE).header("etag").to_owned();
        let headers = [("idempotency-key", "k"), ("if-match", &*tag)];
        let first = send(&served, &headers, (method, path, body));
        assert_eq!(first.expect(200)["changed"], true, "{path}");
        let done = revisions(&served);
        // Although there is a newer revision now: its own.
        let again = send(&served, &headers, (method, path, body));
        assert_eq!((&again.text, again.header("etag")), (&first.text, first.header("etag")));
        let other = send(&served, &headers, (method, path, other));
        assert_eq!(other.problem(), "other-request", "{path}");
        served.server.stop().unwrap();
        let served = Served::folder(&folder);
        let restarted = send(&served, &headers, (method, path, body)).expect(200);
        assert_eq!(restarted["repeated"], true, "{path}");
        assert_eq!(restarted["revision"], first.json()["revision"], "{path}");
        assert_eq!(revisions(&served), done, "{path}");
    }
}

#[test]
fn import_is_known_again_when_its_node_is_gone() {
    let folder = Folder::new("repeated-gone");
    let served = served(&folder);
    let (key, other) = ([("idempotency-key", "k")], [("idempotency-key", "other")]);
    // More than is read at once.
    let document = format!(r#"{{"b":"{}"}}"#, "x".repeat(200_000));
    let import = ("PUT", "/document?path=/a", &*document);
    let first = send(&served, &key, import);
    assert_eq!(first.expect(200)["changed"], true);
    let remove = r#"{"edits":[{"op":"remove","path":"/a"}]}"#;
    served.post(&format!("{TREE}/commits"), remove).expect(200);
    let done = revisions(&served);
    assert_eq!(send(&served, &key, import).text, first.text);
    assert_eq!(send(&served, &other, import).problem(), "no-such-node");
    served.server.stop().unwrap();
    let served = Served::folder(&folder);
    let restarted = send(&served, &key, import).expect(200);
    assert_eq!(
        (&restarted["repeated"], &restarted["revision"]),
        (&true.into(), &first.json()["revision"])
    );
    assert_eq!(send(&served, &other, import).problem(), "no-such-node");
    assert_eq!(revisions(&served), done);
}

#[test]
fn key_of_what_was_refused_is_free() {
    for (at, (method, path, body, other)) in ONCE.into_iter().enumerate() {
        let folder = Folder::new(&format!("repeated-refused-{at}"));
        let served = served(&folder);
        let stale = [("idempotency-key", path), ("if-match", "\"1\"")];
        assert_eq!(send(&served, &stale, (method, path, other)).problem(), "changed", "{path}");
        send(&served, &stale[..1], (method, path, body)).expect(200);
    }
}

#[test]
fn header_that_does_nothing_where_it_is_sent_is_refused() {
    let served = Served::memory().tree("t").tree("commits");
    let mut heard = 0;
    for (method, route) in operations() {
        let names = [("{tree}", "t"), ("{name}", "x"), ("{revision}", "1"), ("{entry}", "1-1")];
        let fill = |path: String, (name, value): (&str, &str)| path.replace(name, value);
        let path = names.into_iter().fold(route, fill);
        if method == "GET" {
            continue;
        }
        for (name, value) in [("If-Match", "\"1\""), ("Idempotency-Key", "k")] {
            let body = (method != "DELETE").then_some("{}");
            let answer = served.send(&method, &path, &[(name, value)], body);
            let says = format!("{} does nothing at this address", name.to_lowercase());
            let is_refused = answer.text.contains(&says);
            assert!(!is_refused || answer.problem() == "bad-request", "{}", answer.text);
            let last = path.rsplit('/').next().unwrap();
            let is_heard = ["commits", "document", "merges", "reverts"].contains(&last)
                // Of several trees, each has an expectation of its own.
                && (&*path, name) != ("/api/v1/commits", "If-Match")
                && !path.contains("/local/");
            assert_eq!(is_refused, !is_heard, "{method} {path} {name}: {}", answer.text);
            heard += usize::from(is_heard);
        }
    }
    assert_eq!(heard, 9);
    // Whatever a tree is called.
    let answer = served.send("DELETE", "/api/v1/trees/commits", &[("if-match", "\"1\"")], None);
    assert_eq!(answer.problem(), "bad-request");
    served.get("/api/v1/trees/commits").expect(200);
}
