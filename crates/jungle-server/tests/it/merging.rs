use serde_json::{Value as Json, json};

use crate::support::{Answer, Served};

const MERGES: &str = "/api/v1/trees/t/merges";

/// `main` and `draft` have each put `n` and `m`, and something of their own.
fn diverged() -> Served {
    let served = Served::memory().tree("t");
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
    for (branch, n) in [("main", 1), ("draft", 2)] {
        let edits = json!({"edits": [
            {"op": "put", "attribute": "n", "value": n},
            {"op": "put", "attribute": "m", "value": n},
            {"op": "insert", "path": format!("/of-{branch}")},
        ]});
        let path = format!("/api/v1/trees/t/commits?branch={branch}");
        served.post(&path, &edits.to_string()).expect(200);
    }
    served
}

#[track_caller]
fn merge(served: &Served, body: &Json) -> Answer {
    served.post(MERGES, &body.to_string())
}

fn document(served: &Served) -> Json {
    served.get("/api/v1/trees/t/document").expect(200)
}

#[test]
fn preview_tells_changes_and_conflicts_and_does_nothing() {
    let served = diverged();
    let before = document(&served);
    let preview = served.get(&format!("{MERGES}?from=draft")).expect(200);
    assert_eq!(preview["conflicts"].as_array().unwrap().len(), 2);
    assert_eq!(preview["conflict_count"], 2);
    assert_eq!(preview["conflicts"][0]["kind"], "attribute");
    assert_eq!(preview["changes"], json!([{"op": "add", "path": "/of-draft"}]));
    assert_eq!(document(&served), before);
}

#[test]
fn preview_tells_the_first_of_many_nodes_with_other_keys() {
    let served = Served::memory().tree("t");
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
    let edits = json!({"edits": vec![json!({"op": "append"}); 1_001]}).to_string();
    for branch in ["main", "draft"] {
        let path = format!("/api/v1/trees/t/commits?branch={branch}");
        served.post(&path, &edits).expect(200);
    }
    let preview = served.get(&format!("{MERGES}?from=draft")).expect(200);
    assert_eq!(preview["renamed"].as_array().unwrap().len(), 1_000);
    assert_eq!(preview["renamed_count"], 1_001);
    let merged = merge(&served, &json!({"from": "draft"})).expect(200);
    assert_eq!(merged["renamed"].as_array().unwrap().len(), 1_001);
}

#[test]
fn what_they_removed_comes_back_where_ours_prevails() {
    for (body, kept) in [
        (json!({"from": "draft", "prevails": "ours"}), true),
        (json!({"from": "draft", "prevails": "theirs"}), false),
        (json!({"from": "draft", "resolve": [{"path": "/of-all", "take": "ours"}]}), true),
        (
            json!({"from": "draft", "prevails": "ours",
                "resolve": [{"path": "/of-all", "take": "theirs"}]}),
            false,
        ),
    ] {
        let served = Served::memory().tree("t");
        let commit = |branch: &str, edits: Json| {
            let path = format!("/api/v1/trees/t/commits?branch={branch}");
            served.post(&path, &json!({"edits": edits}).to_string()).expect(200)
        };
        commit(
            "main",
            json!([
                {"op": "insert", "path": "/of-all"},
                {"op": "put", "path": "/of-all", "attribute": "before", "value": 1},
            ]),
        );
        served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
        commit("draft", json!([{"op": "put", "path": "/of-all", "attribute": "n", "value": 2}]));
        commit("main", json!([{"op": "remove", "path": "/of-all"}]));
        merge(&served, &body).expect(200);
        let merged = document(&served);
        let expected = kept.then(|| json!({"before": 1, "n": 2}));
        assert_eq!(merged.get("of-all"), expected.as_ref(), "{body}");
    }
}

#[test]
fn open_conflict_refuses_the_merge_and_is_told() {
    let served = diverged();
    let take = json!({"path": "/", "attribute": "n", "take": "ours"});
    let answer = merge(&served, &json!({"from": "draft", "resolve": [take]}));
    assert_eq!(answer.problem(), "conflict");
    let body = answer.json();
    assert_eq!(body["conflicts"].as_array().unwrap().len(), 1);
    assert_eq!(body["conflict_count"], 1);
    assert_eq!(body["conflicts"][0]["attribute"], "m");
    assert_eq!(document(&served)["n"], 1);
}

#[test]
fn conflicts_are_settled_by_side_one_by_one_and_by_value() {
    for (body, n, m) in [
        (json!({"from": "draft", "prevails": "ours"}), 2, 2),
        (json!({"from": "draft", "prevails": "theirs"}), 1, 1),
        (
            json!({"from": "draft", "prevails": "ours",
                "resolve": [{"path": "/", "attribute": "m", "take": "theirs"}]}),
            2,
            1,
        ),
        (
            json!({"from": "draft", "resolve": [
                {"path": "/", "attribute": "n", "take": "ours"},
                {"path": "/", "attribute": "m", "value": 9},
            ]}),
            2,
            9,
        ),
        // The same twice is no contradiction.
        (
            json!({"from": "draft", "prevails": "theirs", "resolve": [
                {"path": "/", "attribute": "n", "take": "ours"},
                {"path": "/", "attribute": "n", "take": "ours"},
            ]}),
            2,
            1,
        ),
    ] {
        let served = diverged();
        merge(&served, &body).expect(200);
        let merged = document(&served);
        assert_eq!((&merged["n"], &merged["m"]), (&json!(n), &json!(m)), "{body}");
        assert!(merged.get("of-main").is_some() && merged.get("of-draft").is_some(), "{merged}");
        let again = served.get(&format!("{MERGES}?from=draft")).expect(200);
        assert_eq!(again["conflicts"], json!([]), "{body}");
    }
}

#[test]
fn what_counts_adds_up() {
    let served = diverged();
    let preview = served.get(&format!(r#"{MERGES}?from=draft&counters=["n"]"#).replace('"', "%22"));
    let conflicts = preview.expect(200)["conflicts"].clone();
    assert_eq!((conflicts.as_array().unwrap().len(), &conflicts[0]["attribute"]), (1, &json!("m")));
    merge(&served, &json!({"from": "draft", "counters": ["n", "m"]})).expect(200);
    assert_eq!((&document(&served)["n"], &document(&served)["m"]), (&json!(3), &json!(3)));
    let bad = served.get(&format!("{MERGES}?from=draft&counters=n"));
    assert_eq!(bad.problem(), "bad-request");
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let served = diverged();
    for (body, problem) in [
        (json!({"from": "nothing"}), "no-such-branch"),
        (json!({"from": "draft", "into": "nothing"}), "no-such-branch"),
        (json!({"from": "main"}), "bad-request"),
        (json!({"from": "draft", "prevails": "both"}), "bad-request"),
        (json!({"from": "draft", "resolve": [{"path": "/x", "take": "ours"}]}), "bad-request"),
        (
            json!({"from": "draft", "prevails": "ours",
                "resolve": [{"path": "/", "attribute": "n"}]}),
            "bad-request",
        ),
        (
            json!({"from": "draft", "prevails": "ours", "resolve": [
                {"path": "/", "attribute": "n", "take": "ours"},
                {"path": "/", "attribute": "n", "take": "theirs"},
            ]}),
            "bad-request",
        ),
        (
            json!({"from": "draft", "prevails": "ours", "resolve": [
                {"path": "/", "attribute": "n", "value": 8},
                {"path": "/", "attribute": "n", "value": 9},
            ]}),
            "bad-request",
        ),
    ] {
        assert_eq!(merge(&served, &body).problem(), problem, "{body}");
    }
    let body = json!({"from": "draft", "prevails": "ours"}).to_string();
    let stale = served.send("POST", MERGES, &[("if-match", "\"1\"")], Some(&body));
    assert_eq!(stale.problem(), "changed");
}

#[test]
fn only_the_version_of_the_source_that_was_seen_is_merged() {
    let served = diverged();
    let preview = served.get(&format!("{MERGES}?from=draft")).expect(200);
    let edit = r#"{"edits":[{"op":"put","path":"/of-draft","attribute":"n","value":3}]}"#;
    let newer = served.post("/api/v1/trees/t/commits?branch=draft", edit).expect(200);
    let seen = |revision: &Json| {
        merge(&served, &json!({"from": "draft", "from_revision": revision, "prevails": "ours"}))
    };
    let before = document(&served);
    let refused = seen(&preview["ours"]);
    assert_eq!((refused.status.as_u16(), &*refused.problem()), (412, "changed"));
    assert_eq!(refused.json()["revision"], newer["revision"]);
    assert_eq!(document(&served), before);
    seen(&newer["revision"]).expect(200);
    assert_eq!(document(&served)["of-draft"]["n"], 3);
}
