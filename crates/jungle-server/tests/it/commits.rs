use jungle::{Jungle, Open};
use jungle_cluster::MemoryLog;
use jungle_server::{Data, Options};
use serde_json::{Value as Json, json};

use crate::stopped::follow;
use crate::support::{Answer, Folder, Served, limits};

const COMMITS: &str = "/api/v1/trees/t/commits";

#[track_caller]
fn commit(served: &Served, edits: &Json) -> Answer {
    served.post(COMMITS, &json!({"edits": edits}).to_string())
}

fn document(served: &Served) -> Json {
    served.get("/api/v1/trees/t/document").expect(200)
}

#[test]
fn edits_of_a_batch_are_one_commit() {
    let served = Served::memory().tree("t");
    let done = commit(
        &served,
        &json!([
            {"op": "append", "attributes": {"n": 1}},
            {"op": "append", "under": 0, "attributes": {"n": 2}},
            {"op": "insert", "under": 1, "path": "/named"},
            {"op": "put", "under": 1, "attribute": "m", "value": "x"},
            {"op": "insert_before", "path": "/0"},
            {"op": "insert_after", "path": "/0"},
            {"op": "move", "from": "/0/0", "path": "/moved"},
            {"op": "unset", "path": "/0", "attribute": "n"},
            {"op": "test", "path": "/moved", "attribute": "n", "value": 2},
            {"op": "test", "path": "/0/0", "exists": false},
        ]),
    );
    let done = done.expect(200);
    assert_eq!((&done["revision"], &done["changed"]), (&json!(2), &json!(true)));
    let created = done["created"].as_array().unwrap();
    assert_eq!(created[..4], [json!("/0"), json!("/0/0"), json!("/0/0/named"), json!(null)]);
    let page = served.get("/api/v1/trees/t/children").expect(200);
    let children = page["children"].as_array().unwrap().iter();
    let paths: Vec<_> = children.map(|child| child["path"].clone()).collect();
    assert_eq!(paths, [created[4].clone(), json!("/0"), created[5].clone(), json!("/moved")]);
    served.get("/api/v1/trees/t/node?path=/moved/named").expect(200);
}

#[test]
fn batch_that_cannot_be_done_does_nothing() {
    let served = Served::memory().tree("t");
    let before = served.get("/api/v1/trees/t").expect(200);
    for (edit, problem) in [
        (json!({"op": "remove", "path": "/9"}), "no-such-node"),
        (json!({"op": "remove", "path": "/"}), "bad-request"),
        (json!({"op": "append", "path": "/9"}), "no-such-node"),
        (json!({"op": "insert", "path": "/0"}), "exists"),
        (json!({"op": "move", "from": "/0", "path": "/0/x"}), "bad-request"),
        (json!({"op": "insert_before", "path": "/x"}), "bad-request"),
        (json!({"op": "append", "under": 1}), "bad-request"),
        (json!({"op": "append", "under": 7}), "bad-request"),
        (json!({"op": "test", "path": "/0", "exists": false}), "test-failed"),
        (json!({"op": "test", "path": "/0", "attribute": "a", "value": 1}), "test-failed"),
        (json!({"op": "test", "path": "/0"}), "bad-request"),
        (json!({"op": "put", "attribute": "a".repeat(5000), "value": 1}), "bad-request"),
        (json!({"op": "put", "attribute": "a", "value": []}), "bad-request"),
        (json!({"op": "what"}), "bad-request"),
        (json!({"op": "append", "more": 1}), "bad-request"),
        (json!({"op": "append", "path": "x"}), "bad-request"),
    ] {
        let answer = commit(&served, &json!([{"op": "append"}, edit]));
        assert_eq!(answer.problem(), problem, "{edit}: {}", answer.text);
    }
    assert_eq!(served.get("/api/v1/trees/t").expect(200), before);
    assert_eq!(commit(&served, &json!([])).problem(), "bad-request");
    let many = vec![json!({"op": "append"}); 10_001];
    let refused = commit(&served, &many.into());
    assert_eq!(refused.problem(), "bad-request");
    assert!(refused.text.contains("more than 10000 edits"), "{}", refused.text);
}

#[test]
fn batch_cannot_make_what_no_path_leads_to_nor_more_paths_than_fit() {
    let served = Served::memory().tree("t");
    let before = served.get("/api/v1/trees/t").expect(200);
    // Each below the one before: short to write, and as deep as there are edits.
    let chain = |nodes: usize| -> Vec<Json> {
        let below = (0..nodes - 1).map(|at| json!({"op": "append", "under": at}));
        std::iter::once(json!({"op": "append"})).chain(below).collect()
    };
    let deep = commit(&served, &chain(513).into());
    assert_eq!(deep.problem(), "bad-request");
    assert!(deep.text.contains("edit 512: a path of 513 keys; 512 at most"), "{}", deep.text);
    let long = "x".repeat(4000);
    let long = json!([
        {"op": "insert", "path": format!("/{long}")},
        {"op": "insert", "under": 0, "path": format!("/{long}")},
        {"op": "insert", "under": 1, "path": format!("/{long}")},
    ]);
    let long = commit(&served, &long);
    assert!(long.text.contains("edit 2: path has 12003 bytes; 8192 at most"), "{}", long.text);
    let mut many = chain(510);
    many.extend(vec![json!({"op": "append", "under": 509}); 9490]);
    let many = commit(&served, &many.into());
    assert!(many.text.contains("the paths of what is made take more than"), "{}", many.text);
    assert_eq!(served.get("/api/v1/trees/t").expect(200), before);
    commit(&served, &chain(512).into()).expect(200);
}

#[test]
fn commit_that_changes_nothing_makes_no_revision() {
    let served = Served::memory().tree("t");
    commit(&served, &json!([{"op": "put", "attribute": "a", "value": 1}])).expect(200);
    let again = commit(&served, &json!([{"op": "unset", "attribute": "b"}])).expect(200);
    assert_eq!((&again["changed"], &again["revision"]), (&json!(false), &json!(2)));
}

#[test]
fn author_and_message_are_in_the_history() {
    let served = Served::memory().tree("t");
    let body =
        r#"{"author":"ana","message":"why","durability":"memory","edits":[{"op":"append"}]}"#;
    served.post(COMMITS, body).expect(200);
    let newest = served.get("/api/v1/trees/t/revisions/main").expect(200);
    assert_eq!((&newest["author"], &newest["message"]), (&json!("ana"), &json!("why")));
    for (name, bytes) in [("author", 256), ("message", 4097)] {
        let body = json!({name: "x".repeat(bytes), "edits": [{"op": "append"}]}).to_string();
        assert_eq!(served.post(COMMITS, &body).problem(), "bad-request");
    }
}

#[test]
fn compare_and_set_is_refused_once_there_is_a_newer_revision() {
    let served = Served::memory().tree("t");
    let tag = served.get("/api/v1/trees/t/node").header("etag").to_owned();
    let put = |tag: &str, value: i64| {
        let body = json!({"edits": [{"op": "put", "attribute": "n", "value": value}]}).to_string();
        served.send("POST", COMMITS, &[("if-match", tag)], Some(&body))
    };
    let first = put(&tag, 1);
    first.expect(200);
    let second = put(&tag, 2);
    assert_eq!((second.status.as_u16(), second.problem()), (412, "changed".to_owned()));
    put(first.header("etag"), 3).expect(200);
    put("\"3\"", 4).expect(200);
    put("*", 5).expect(200);
    for wrong in ["3", "\"x\"", "\"1\", \"2\"", "\u{fc}"] {
        assert_eq!(put(wrong, 6).problem(), "bad-request", "{wrong}");
    }
    assert_eq!(document(&served), json!({"n": 5}));
}

#[test]
fn compare_and_set_is_refused_upon_what_another_run_has_shown() {
    let [before, now] = [(); 2].map(|()| Served::memory().tree("t"));
    let tag = |served: &Served| served.get("/api/v1/trees/t/node").header("etag").to_owned();
    let (seen, own) = (tag(&before), tag(&now));
    assert_eq!(seen.split('.').next(), own.split('.').next());
    let put = |tag: &str| {
        let body = json!({"edits": [{"op": "put", "attribute": "n", "value": 1}]}).to_string();
        now.send("POST", COMMITS, &[("if-match", tag)], Some(&body))
    };
    let refused = put(&seen);
    assert_eq!((refused.status.as_u16(), refused.problem()), (412, "changed".to_owned()));
    assert_eq!(tag(&now), own);
    put(&own).expect(200);
}

#[test]
fn compare_and_set_is_refused_upon_what_another_cluster_has_shown() {
    let folders = ["one", "two", "other"].map(|name| Folder::new(&format!("tags-{name}")));
    let log = MemoryLog::new();
    let (one, _first) = follow(log.connect(), &folders[0]);
    one.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let (two, _second) = follow(log, &folders[1]);
    let (other, _third) = follow(MemoryLog::new(), &folders[2]);
    other.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let tag = |served: &Served| served.get("/api/v1/trees/t/node").header("etag").to_owned();
    let (seen, own) = (tag(&one), tag(&other));
    assert_eq!(seen.split('.').next(), own.split('.').next());
    let put = |served: &Served, tag: &str| {
        let body = json!({"edits": [{"op": "put", "attribute": "n", "value": 1}]}).to_string();
        served.send("POST", COMMITS, &[("if-match", tag)], Some(&body))
    };
    let refused = put(&other, &seen);
    assert_eq!((refused.status.as_u16(), refused.problem()), (412, "changed".to_owned()));
    put(&other, &own).expect(200);
    // Each server of its own cluster knows it.
    put(&two, &seen).expect(200);
}

#[test]
fn of_many_that_compare_and_set_one_at_a_time_is_done() {
    let served = Served::memory().tree("t");
    commit(&served, &json!([{"op": "put", "attribute": "n", "value": 0}])).expect(200);
    let add = || {
        for _ in 0..25 {
            loop {
                let node = served.get("/api/v1/trees/t/node");
                let n = node.json()["attributes"]["n"]["value"].as_i64().unwrap() + 1;
                let body = json!({"edits": [{"op": "put", "attribute": "n", "value": n}]});
                let tag = node.header("etag");
                let done =
                    served.send("POST", COMMITS, &[("if-match", tag)], Some(&body.to_string()));
                if done.status == 200 {
                    break;
                }
                assert_eq!(done.status, 412, "{}", done.text);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(add);
        }
    });
    assert_eq!(document(&served), json!({"n": 100}));
}

#[test]
fn same_key_is_done_once() {
    let served = Served::memory().tree("t");
    let send = |key: &str, body: &str| {
        served.send("POST", COMMITS, &[("idempotency-key", key)], Some(body))
    };
    let body = r#"{"edits":[{"op":"append"}]}"#;
    let first = send("k", body);
    first.expect(200);
    let again = send("k", body);
    assert_eq!((&again.text, again.header("etag")), (&first.text, first.header("etag")));
    assert_eq!(
        send("k", r#"{"edits":[{"op":"append"},{"op":"append"}]}"#).problem(),
        "other-request"
    );
    send("l", body).expect(200);
    assert_eq!(served.get("/api/v1/trees/t/node").json()["child_count"], 2);
    assert_eq!(send("m", r#"{"edits":[{"op":"remove","path":"/7"}]}"#).problem(), "no-such-node");
    send("m", body).expect(200);
    assert_eq!(send("", body).problem(), "bad-request");
    assert_eq!(send(&"k".repeat(256), body).problem(), "bad-request");
}

#[test]
fn appends_of_many_are_all_there() {
    let served = Served::memory().tree("t");
    let append = || {
        for _ in 0..25 {
            commit(&served, &json!([{"op": "append"}])).expect(200);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(append);
        }
    });
    assert_eq!(served.get("/api/v1/trees/t/node").json()["child_count"], 100);
}

#[test]
fn putting_what_is_there_makes_no_revision() {
    let served = Served::memory().tree("t");
    let put = |value: &str, headers: &[(&str, &str)]| {
        let edit = format!(r#"{{"op":"put","attribute":"n","value":{value}}}"#);
        let body = format!(r#"{{"edits":[{edit}]}}"#);
        served.send("POST", "/api/v1/trees/t/commits", headers, Some(&body))
    };
    let first = put("1", &[]).expect(200);
    assert_eq!(first["changed"], true);
    let revision = first["revision"].as_u64().unwrap();
    let tag = served.get("/api/v1/trees/t/node").header("etag").to_owned();
    for headers in [&[][..], &[("if-match", &*tag)]] {
        let again = put("1", headers).expect(200);
        assert_eq!((&again["changed"], &again["revision"]), (&false.into(), &revision.into()));
    }
    // An edit in between is not lost: what is there is there at the end.
    let put_n = |n| json!({"op": "put", "attribute": "n", "value": n});
    commit(&served, &json!([put_n(2), put_n(1)])).expect(200);
    assert_eq!(served.get("/api/v1/trees/t/node").expect(200)["attributes"]["n"]["value"], 1);
    assert_eq!(put("1.0", &[]).expect(200)["changed"], true);
    // What is expected is held against what is there all the same.
    assert_eq!(put("1.0", &[("if-match", &*tag)]).status, 412);
}

#[test]
fn value_is_as_long_as_whoever_serves_it_says() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.value_bytes_max = 10);
    });
    let served = served.tree("t");
    for (bytes, is_done) in [(10, true), (11, false)] {
        let text = "x".repeat(bytes);
        let put = commit(&served, &json!([{"op": "put", "attribute": "n", "value": text}]));
        let made = commit(&served, &json!([{"op": "append", "attributes": {"n": text}}]));
        let list = json!([text]).to_string();
        let imported = served.send("PUT", "/api/v1/trees/t/document", &[], Some(&list));
        for answer in [put, made, imported] {
            assert_eq!(answer.status.is_success(), is_done, "{bytes}: {}", answer.text);
            assert!(is_done || answer.status.is_client_error(), "{}", answer.text);
        }
    }
}

#[test]
fn what_takes_too_many_steps_to_tell_is_refused_and_changes_nothing() {
    let folder = Folder::new("too-much-to-tell");
    let few = limits(|limits| limits.compare_steps_max = 100);
    let data = Data::Folder(Jungle::open(&folder.0).unwrap());
    let served = Served::start(data, Options { limits: few, ..Options::default() }).tree("t");
    let import = |path: &str, document: &Json| {
        let address = format!("/api/v1/trees/t/document?path={path}");
        served.send("PUT", &address, &[], Some(&document.to_string()))
    };
    let list: Json = (0..1_000).collect();
    // However long it is, and what it takes away: it has gone through that.
    import("/", &list).expect(200);
    import("/", &json!([])).expect(200);
    let deep = (0..100).fold(list, |inner, _| json!({"k": inner}));
    import("/", &deep).expect(200);

    let before = served.server.jungle().revision();
    let edits = |count: usize| json!(vec![json!({"op": "append"}); count]);
    let several = json!({"trees": [{"tree": "t", "edits": edits(65)}]}).to_string();
    for refused in [
        import(&"/k".repeat(100), &json!([])),
        commit(&served, &edits(65)),
        served.post("/api/v1/commits", &several),
    ] {
        let told = (refused.status.as_u16(), refused.problem());
        assert_eq!(told, (422, "too-much".to_owned()), "{}", refused.text);
    }
    assert_eq!(served.server.jungle().revision(), before);
    // So few are noted one by one, and need not be compared.
    commit(&served, &edits(64)).expect(200);
}
