//! Lists, and what follows from more than one revision, are not sent again to who has them: their
//! `ETag` changes whenever they do.

use std::collections::HashMap;
use std::sync::Arc;

use crate::support::{Answer, Served};

const TREE: &str = "/api/v1/trees/t";

/// The lists, and pages of them.
const LISTS: [&str; 13] = [
    "/api/v1/trees",
    "/api/v1/trees?limit=1",
    "/api/v1/trees/t/branches",
    "/api/v1/trees/t/tags",
    "/api/v1/trees/t/revisions",
    "/api/v1/trees/t/revisions?order=forward&limit=2",
    "/api/v1/trees/t/children?limit=3",
    "/api/v1/trees/t/search?attribute=n&limit=3",
    "/api/v1/trees/t/indexes",
    "/api/v1/trees/t/keep",
    "/api/v1/trees/t/revisions/main",
    "/api/v1/trees/t/diff?limit=3",
    "/api/v1/trees/t/merges?from=side",
];

/// A tree with a node, and another branch.
fn served() -> Served {
    let served = Served::memory().tree("t");
    append(&served);
    served.post(&format!("{TREE}/branches"), r#"{"name":"side"}"#).expect(201);
    served
}

/// Asks for what is not the one of this tag.
#[track_caller]
fn newer(served: &Served, path: &str, tag: &str) -> Answer {
    let answer = served.send("GET", path, &[("if-none-match", tag)], None);
    assert!(matches!(answer.status.as_u16(), 200 | 304), "{path}: {}", answer.text);
    answer
}

fn append(served: &Served) {
    let edits = r#"{"edits":[{"op":"append","attributes":{"n":1}}]}"#;
    served.post(&format!("{TREE}/commits"), edits).expect(200);
}

#[test]
fn list_is_sent_again_when_it_has_changed_and_only_then() {
    let served = served();
    // Each says which of the lists it changes.
    let changes: [(&str, &str, &str, &[usize]); 11] = [
        ("POST", "/api/v1/trees", r#"{"name":"u"}"#, &[0, 1]),
        ("PATCH", "/api/v1/trees/u", r#"{"name":"s"}"#, &[0, 1]),
        ("DELETE", "/api/v1/trees/s", "", &[0, 1]),
        ("POST", "/api/v1/trees/t/branches", r#"{"name":"draft"}"#, &[2]),
        ("DELETE", "/api/v1/trees/t/branches/draft", "", &[2]),
        ("POST", "/api/v1/trees/t/tags", r#"{"name":"v1"}"#, &[3, 4, 5, 10]),
        ("DELETE", "/api/v1/trees/t/tags/v1", "", &[3, 4, 5, 10]),
        ("POST", "/api/v1/trees/t/indexes", r#"{"key":"n"}"#, &[7, 8]),
        ("DELETE", "/api/v1/trees/t/indexes?key=n", "", &[7, 8]),
        ("PUT", "/api/v1/trees/t/keep", r#"{"keep":"100"}"#, &[9]),
        (
            "POST",
            "/api/v1/trees/t/commits",
            r#"{"edits":[{"op":"append","attributes":{"n":2}}]}"#,
            &[0, 1, 2, 4, 5, 6, 7, 10, 11, 12],
        ),
    ];
    for (method, path, body, changed) in changes {
        let before = LISTS.map(|list| served.get(list));
        for (list, before) in LISTS.iter().zip(&before) {
            let again = newer(&served, list, before.header("etag"));
            assert_eq!((again.status.as_u16(), &*again.text), (304, ""), "{list}");
            assert_eq!(again.header("etag"), before.header("etag"), "{list}");
        }
        let body = if body.is_empty() { None } else { Some(body) };
        let done = served.send(method, path, &[], body);
        assert!(done.status.is_success(), "{method} {path}: {}", done.text);
        for (at, (list, before)) in LISTS.iter().zip(&before).enumerate() {
            let now = newer(&served, list, before.header("etag"));
            let is_new = changed.contains(&at);
            assert_eq!(now.status == 200, is_new, "{method} {path}: {list}: {}", now.text);
            assert_eq!(now.header("etag") != before.header("etag"), is_new, "{list}");
        }
    }
}

#[test]
fn what_is_no_longer_kept_of_a_history_is_not_taken_to_be_there() {
    let served = Served::memory().tree("t");
    (0..5).for_each(|_| append(&served));
    let path = "/api/v1/trees/t/revisions?after=4";
    let before = served.get(path);
    assert_eq!(before.json()["revisions"].as_array().unwrap().len(), 3);
    let keep = format!("{TREE}/keep");
    let kept = served.send("PUT", &keep, &[], Some(r#"{"keep":"1"}"#));
    assert!(kept.status.is_success(), "{}", kept.text);
    let now = newer(&served, path, before.header("etag"));
    assert_eq!(now.json()["revisions"].as_array().unwrap().len(), 0, "{}", now.text);
}

#[test]
fn one_tag_is_of_one_answer_while_others_write() {
    let served = served();
    let write = |n: usize| {
        append(&served);
        let named = |kind: &str| format!(r#"{{"name":"{kind}{n}"}}"#);
        served.post(&format!("{TREE}/tags"), &named("tag")).expect(201);
        served.post(&format!("{TREE}/branches"), &named("branch")).expect(201);
        let index = (format!("{TREE}/indexes"), r#"{"key":"n"}"#);
        served.post(&index.0, index.1).expect(201);
        served.send("DELETE", &format!("{TREE}/indexes?key=n"), &[], None).expect(204);
    };
    // There as long as somebody writes.
    let writer = Arc::new(());
    let writing = Arc::downgrade(&writer);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            (0..60).for_each(write);
            drop(writer);
        });
        for list in LISTS {
            let (served, writing) = (&served, &writing);
            scope.spawn(move || {
                let (mut answers, mut tag) = (HashMap::new(), "\"none\"".to_owned());
                while writing.strong_count() > 0 {
                    let answer = newer(served, list, &tag);
                    // A search while an index comes or goes has none.
                    let Some(found) = answer.headers.get("etag") else { continue };
                    found.to_str().unwrap().clone_into(&mut tag);
                    if answer.status == 200 {
                        let same = answers.entry(tag.clone()).or_insert(answer.text.clone());
                        assert_eq!(*same, answer.text, "{list}: {tag}");
                    }
                }
                let now = served.get(list).text;
                match newer(served, list, &tag).status.as_u16() {
                    304 => assert_eq!(answers[&tag], now, "{list}"),
                    _ => assert_ne!(answers[&tag], now, "{list}"),
                }
            });
        }
    });
}

#[test]
fn list_is_no_condition_of_a_write_and_a_search_or_a_preview_is() {
    let served = served();
    served.post(&format!("{TREE}/indexes"), r#"{"key":"n"}"#).expect(201);
    let commit = |tag: &str| {
        let edits = Some(r#"{"edits":[{"op":"append"}]}"#);
        served.send("POST", &format!("{TREE}/commits"), &[("if-match", tag)], edits).status
    };
    let tag = |list: &str| served.get(list).header("etag").to_owned();
    assert_eq!(commit(&tag(LISTS[2])), 400);
    for seen in [LISTS[7], LISTS[12]] {
        let seen = tag(seen);
        assert_eq!(commit(&seen), 200);
        assert_eq!(commit(&seen), 412);
    }
}
