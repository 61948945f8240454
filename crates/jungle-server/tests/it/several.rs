//! Commits of several trees: all of it is done, or nothing.

use jungle_cluster::MemoryLog;
use jungle_server::Role;
use serde_json::{Value as Json, json};

use crate::people::Guarded;
use crate::stopped::follow;
use crate::support::{Answer, Folder, PATIENCE, Served};

const COMMITS: &str = "/api/v1/commits";

/// Two trees, `a` and `b`, with a number each.
fn served() -> Served {
    filled(Served::memory())
}

fn filled(served: Served) -> Served {
    for (name, n) in [("a", 60), ("b", 40)] {
        served.post("/api/v1/trees", &json!({"name": name}).to_string()).expect(201);
        commit(&served, &json!([part(name, &[put(n)])])).expect(200);
    }
    served
}

fn put(n: i64) -> Json {
    json!({"op": "put", "attribute": "n", "value": n})
}

fn part(tree: &str, edits: &[Json]) -> Json {
    json!({"tree": tree, "edits": edits})
}

#[track_caller]
fn commit(served: &Served, trees: &Json) -> Answer {
    served.post(COMMITS, &json!({"trees": trees}).to_string())
}

fn n(served: &Served, tree: &str) -> i64 {
    let node = served.get(&format!("/api/v1/trees/{tree}/node")).expect(200);
    node["attributes"]["n"]["value"].as_i64().unwrap()
}

fn newest(served: &Served, tree: &str) -> Json {
    served.get(&format!("/api/v1/trees/{tree}")).expect(200)
}

fn etag(served: &Served, tree: &str) -> String {
    served.get(&format!("/api/v1/trees/{tree}/node")).header("etag").to_owned()
}

#[test]
fn edits_of_several_trees_are_one_commit() {
    let served = served();
    let body = json!({"author": "ana", "message": "both", "durability": "memory", "trees": [
        part("b", &[json!({"op": "append"}), json!({"op": "append", "under": 0}), put(1)]),
        part("a", &[put(2), json!({"op": "insert", "path": "/x"})]),
    ]});
    let answer = served.post(COMMITS, &body.to_string());
    let done = answer.expect(200);
    let revision = &done["revision"];
    let in_b = json!({"tree": "b", "branch": "main", "revision": revision, "changed": true,
        "created": ["/0", "/0/0", null], "renamed": []});
    let in_a = json!({"tree": "a", "branch": "main", "revision": revision, "changed": true,
        "created": [null, "/x"], "renamed": []});
    assert_eq!(done, json!({"revision": revision, "changed": true, "trees": [in_b, in_a]}));
    for (tree, n_of) in [("a", 2), ("b", 1)] {
        let told = served.get(&format!("/api/v1/trees/{tree}/revisions/main")).expect(200);
        let told = [&told["revision"], &told["author"], &told["message"]];
        assert_eq!(told, [revision, &json!("ana"), &json!("both")], "{tree}");
        let (tag, of_all) = (etag(&served, tree), answer.header("etag"));
        let [seen, done] = [&*tag, of_all].map(|tag| tag.split('.').next());
        assert_eq!((n(&served, tree), seen), (n_of, done));
    }
}

#[test]
fn tree_is_not_taken_for_another_that_one_commit_has_changed() {
    let served = served();
    commit(&served, &json!([part("a", &[put(1)]), part("b", &[put(2)])])).expect(200);
    let seen = etag(&served, "b");
    served.send("DELETE", "/api/v1/trees/b", &[], None).expect(204);
    served.send("PATCH", "/api/v1/trees/a", &[], Some(r#"{"name":"b"}"#)).expect(200);
    let now = etag(&served, "b");
    assert_eq!(seen.split('.').next(), now.split('.').next());
    let read = served.send("GET", "/api/v1/trees/b/node", &[("if-none-match", &seen)], None);
    assert_eq!(read.expect(200)["attributes"]["n"]["value"], 1);
    let write = |tag: &str| {
        let body = json!({"edits": [put(3)]}).to_string();
        served.send("POST", "/api/v1/trees/b/commits", &[("if-match", tag)], Some(&body))
    };
    let refused = write(&seen);
    assert_eq!((refused.status.as_u16(), refused.problem()), (412, "changed".to_owned()));
    let part = json!([{"tree": "b", "if_match": seen, "edits": [put(3)]}]);
    assert_eq!(commit(&served, &part).problem(), "changed");
    assert_eq!(n(&served, "b"), 1);
    write(&now).expect(200);
}

#[test]
fn if_one_tree_refuses_nothing_is_done_in_any() {
    let served = served();
    let before = ["a", "b"].map(|tree| newest(&served, tree));
    let all = served.server.jungle().revision();
    for (edit, problem) in [
        (json!({"op": "remove", "path": "/9"}), "no-such-node"),
        (json!({"op": "remove", "path": "/"}), "bad-request"),
        (json!({"op": "test", "path": "/", "attribute": "n", "value": 8}), "test-failed"),
        (json!({"op": "append", "under": 0}), "bad-request"),
        (json!({"op": "put", "attribute": "a".repeat(5000), "value": 1}), "bad-request"),
    ] {
        for trees in [
            json!([part("a", &[put(7)]), part("b", &[put(7), edit.clone()])]),
            json!([part("b", std::slice::from_ref(&edit)), part("a", &[json!({"op": "append"})])]),
        ] {
            let refused = commit(&served, &trees);
            assert_eq!(refused.problem(), problem, "{edit}: {}", refused.text);
            assert_eq!(refused.json()["tree"], "b", "{}", refused.text);
            assert!(refused.text.contains(r#"tree \"b\": edit "#), "{}", refused.text);
        }
    }
    let none = commit(&served, &json!([part("a", &[put(7)]), part("none", &[put(7)])]));
    assert_eq!((none.problem(), &none.json()["tree"]), ("no-such-tree".to_owned(), &"none".into()));
    assert_eq!(["a", "b"].map(|tree| newest(&served, tree)), before);
    assert_eq!(served.server.jungle().revision(), all);
}

#[test]
fn each_tree_may_be_expected_to_be_as_it_was_seen() {
    let served = served();
    let seen = ["a", "b"].map(|tree| etag(&served, tree));
    let send = |[of_a, of_b]: [&str; 2], n: i64| {
        let of = |tree: &str, tag: &str| json!({"tree": tree, "if_match": tag, "edits": [put(n)]});
        commit(&served, &json!([of("a", of_a), of("b", of_b)]))
    };
    commit(&served, &json!([part("b", &[put(41)])])).expect(200);
    let refused = send([&seen[0], &seen[1]], 1);
    let told = (refused.status.as_u16(), refused.problem(), refused.json()["tree"].clone());
    assert_eq!(told, (412, "changed".to_owned(), json!("b")), "{}", refused.text);
    assert_eq!(refused.json()["revision"], newest(&served, "b")["revision"]);
    assert_eq!([n(&served, "a"), n(&served, "b")], [60, 41]);
    let now = etag(&served, "b");
    let done = send([&seen[0], &now], 1);
    done.expect(200);
    // That of the answer is one of both.
    let tag = done.header("etag");
    send([tag, tag], 2).expect(200);
    assert_eq!(send([tag, "*"], 3).problem(), "changed");
    send(["*", "*"], 3).expect(200);
    for wrong in ["", "3", "\"x\"", "\"1\", \"2\"", "\"1.5\", \"2.5\""] {
        let refused = send(["*", wrong], 4);
        let told = (refused.problem(), refused.json()["tree"].clone());
        assert_eq!(told, ("bad-request".to_owned(), json!("b")), "{wrong}");
    }
    let body = json!({"trees": [part("a", &[put(4)])]}).to_string();
    let refused = served.send("POST", COMMITS, &[("if-match", tag)], Some(&body));
    assert_eq!(refused.problem(), "bad-request");
    assert_eq!([n(&served, "a"), n(&served, "b")], [3, 3]);
}

#[test]
fn branches_are_named_and_each_is_in_it_once() {
    let served = served();
    served.post("/api/v1/trees/a/branches", r#"{"name":"draft"}"#).expect(201);
    let draft = |edits: &[Json]| json!({"tree": "a", "branch": "draft", "edits": edits});
    let done = commit(&served, &json!([part("a", &[put(1)]), draft(&[put(2)])])).expect(200);
    let branches = [&done["trees"][0]["branch"], &done["trees"][1]["branch"]];
    assert_eq!(branches, ["main", "draft"]);
    let node = served.get("/api/v1/trees/a/node?branch=draft").expect(200);
    assert_eq!((n(&served, "a"), &node["attributes"]["n"]["value"]), (1, &json!(2)));

    let main = json!({"tree": "a", "branch": "main", "edits": [put(3)]});
    let none = json!({"tree": "b", "branch": "none", "edits": [put(3)]});
    let failing = draft(&[json!({"op": "remove", "path": "/9"})]);
    for (trees, problem, named) in [
        (json!([part("a", &[put(3)]), main]), "bad-request", json!(["a", "main"])),
        (json!([draft(&[put(3)]), draft(&[put(3)])]), "bad-request", json!(["a", "draft"])),
        (json!([part("a", &[put(3)]), part("a", &[put(4)])]), "bad-request", json!(["a", null])),
        (json!([part("a", &[put(3)]), none]), "no-such-branch", json!(["b", "none"])),
        (json!([part("a", &[put(3)]), failing]), "no-such-node", json!(["a", "draft"])),
    ] {
        let refused = commit(&served, &trees);
        let told = refused.json();
        assert_eq!(refused.problem(), problem, "{told}");
        assert_eq!(json!([told["tree"], told["branch"]]), named, "{told}");
    }
    assert_eq!(n(&served, "a"), 1);
}

#[test]
fn tree_in_which_nothing_changes_has_no_new_revision() {
    let served = served();
    let before = newest(&served, "b");
    let trees = json!([part("a", &[put(1)]), part("b", &[put(40)])]);
    let done = commit(&served, &trees).expect(200);
    let revision = newest(&served, "a")["revision"].clone();
    assert_eq!((&done["revision"], &done["changed"]), (&revision, &json!(true)));
    let (a, b) = (&done["trees"][0], &done["trees"][1]);
    assert_eq!([&a["changed"], &a["revision"]], [&json!(true), &revision]);
    assert_eq!([&b["changed"], &b["revision"]], [&json!(false), &before["revision"]]);
    assert_eq!(newest(&served, "b"), before);

    // What happens elsewhere is not told.
    served.post("/api/v1/trees", r#"{"name":"c"}"#).expect(201);
    let again = commit(&served, &trees).expect(200);
    assert_eq!((&again["revision"], &again["changed"]), (&revision, &json!(false)));
}

#[test]
fn limits_hold_for_all_trees_together() {
    let served = served();
    let refused = |trees: &Json, why: &str| {
        let refused = commit(&served, trees);
        assert_eq!(refused.problem(), "bad-request", "{}", refused.text);
        assert!(refused.text.contains(why), "{}", refused.text);
    };
    refused(&json!([]), "0 trees");
    refused(&json!([part("a", &[put(1)]), part("b", &[])]), "0 edits");
    refused(&vec![part("a", &[put(1)]); 101].into(), "more than 100 trees");
    let many = vec![json!({"op": "append"}); 5_001];
    refused(&json!([part("a", &many), part("b", &many)]), "more than 10000 edits");
    let long = "x".repeat(256);
    refused(&json!([part(&long, &[put(1)])]), "tree has 256 bytes");
    refused(&json!([{"tree": "a", "branch": long, "edits": [put(1)]}]), "branch has 256 bytes");

    // Each below the one before: short to write, and as deep as there are edits.
    let below = (0..509).map(|at| json!({"op": "append", "under": at}));
    let chain: Vec<Json> = std::iter::once(json!({"op": "append"})).chain(below).collect();
    let names: Vec<String> = (0..12).map(|at| format!("deep-{at}")).collect();
    for name in &names {
        served.server.jungle().create_tree(name).unwrap();
    }
    let deep: Vec<Json> = names.iter().map(|name| part(name, &chain)).collect();
    refused(&deep.clone().into(), "the paths of what is made take more than");
    commit(&served, &json!([deep[0]])).expect(200);
}

#[test]
fn same_key_is_done_once_in_all_trees() {
    let folder = Folder::new("several-repeated");
    let served = filled(Served::folder(&folder));
    let append = |trees: &[&str]| {
        let parts = trees.iter().map(|tree| part(tree, &[json!({"op": "append"})]));
        json!({"trees": parts.collect::<Vec<_>>()}).to_string()
    };
    let send = |served: &Served, key: &str, body: &str| {
        served.send("POST", COMMITS, &[("idempotency-key", key)], Some(body))
    };
    let both = append(&["a", "b"]);
    let first = send(&served, "k", &both);
    first.expect(200);
    let again = send(&served, "k", &both);
    assert_eq!((&again.text, again.header("etag")), (&first.text, first.header("etag")));
    assert_eq!(send(&served, "k", &append(&["a"])).problem(), "other-request");
    // Only one of them says in its history who asked for this.
    let half = json!({"trees": [part("a", &[put(60)]), part("b", &[put(7)])]}).to_string();
    let half_done = send(&served, "half", &half).expect(200);
    assert_eq!(half_done["trees"][0]["changed"], false);
    served.server.stop().unwrap();

    let served = Served::folder(&folder);
    for (key, body, done) in [("k", &both, first.json()), ("half", &half, half_done)] {
        let restarted = send(&served, key, body).expect(200);
        let told = (&restarted["repeated"], &restarted["revision"]);
        assert_eq!(told, (&json!(true), &done["revision"]), "{key}");
    }
    let other = json!({"trees": [part("a", &[put(1)]), part("b", &[put(1)])]}).to_string();
    assert_eq!(send(&served, "k", &other).problem(), "other-request");
    for tree in ["a", "b"] {
        let node = served.get(&format!("/api/v1/trees/{tree}/node")).expect(200);
        assert_eq!(node["child_count"], 1, "{tree}");
    }
}

/// Each key goes to both servers at once, of which neither knows what the other has done.
#[test]
fn same_key_is_done_once_by_two_servers() {
    let folders = ["one", "two"].map(|name| Folder::new(&format!("several-keyed-{name}")));
    let log = MemoryLog::new();
    let (one, _first) = follow(log.connect(), &folders[0]);
    let one = filled(one);
    let (two, second) = follow(log, &folders[1]);
    second.sync(PATIENCE).unwrap();
    let edits = [json!({"op": "append"})];
    let body = json!({"trees": [part("a", &edits), part("b", &edits)]}).to_string();
    for key in 0..10 {
        let key = key.to_string();
        let send = |served: &Served| {
            let headers = [("idempotency-key", &*key)];
            served.send("POST", COMMITS, &headers, Some(&body)).expect(200)["revision"].clone()
        };
        let (by_one, by_two) = std::thread::scope(|scope| {
            let by_two = scope.spawn(|| send(&two));
            (send(&one), by_two.join().unwrap())
        });
        assert_eq!(by_one, by_two, "{key}");
    }
    second.sync(PATIENCE).unwrap();
    for tree in ["a", "b"] {
        let node = two.get(&format!("/api/v1/trees/{tree}/node")).expect(200);
        assert_eq!(node["child_count"], 10, "{tree}");
    }
}

/// Moves one from a tree to the other, if both are as they were seen; tells whether it did.
fn moves_one(served: &Served, [from, to]: [&str; 2]) -> bool {
    let seen = [from, to].map(|tree| n(served, tree));
    let changed = |tree: &str, seen: i64, n: i64| {
        part(tree, &[json!({"op": "test", "path": "/", "attribute": "n", "value": seen}), put(n)])
    };
    let trees = json!([changed(from, seen[0], seen[0] - 1), changed(to, seen[1], seen[1] + 1)]);
    let answer = commit(served, &trees);
    assert!(answer.status == 200 || answer.problem() == "test-failed", "{}", answer.text);
    answer.status == 200
}

/// Several at once, at one server or more: nothing is lost, and nothing done by half.
fn check_sum(servers: &[&Served]) {
    std::thread::scope(|scope| {
        for at in 0..4 {
            let (served, trees) = (servers[at % servers.len()], [["a", "b"], ["b", "a"]][at / 2]);
            scope.spawn(move || {
                let mut done = 0;
                while done < 10 {
                    done += usize::from(moves_one(served, trees));
                }
            });
        }
    });
}

#[test]
fn what_many_move_from_tree_to_tree_stays_the_same_in_all() {
    let served = served();
    check_sum(&[&served]);
    assert_eq!([n(&served, "a"), n(&served, "b")], [60, 40]);
}

#[test]
fn servers_of_a_cluster_commit_to_several_trees() {
    let folders = ["one", "two"].map(|name| Folder::new(&format!("several-{name}")));
    let log = MemoryLog::new();
    let (one, _first) = follow(log.connect(), &folders[0]);
    let one = filled(one);
    let (two, second) = follow(log, &folders[1]);
    second.sync(PATIENCE).unwrap();
    check_sum(&[&one, &two]);
    second.sync(PATIENCE).unwrap();
    let seen = etag(&two, "a");
    let expects = |served: &Served| {
        let a = json!({"tree": "a", "if_match": seen, "edits": [put(59)]});
        commit(served, &json!([a, part("b", &[put(41)])]))
    };
    let done = expects(&two).expect(200);
    let revision = done["revision"].to_string();
    for served in [&one, &two] {
        for (tree, n) in [("a", 59), ("b", 41)] {
            let path = format!("/api/v1/trees/{tree}/node");
            let node = served.send("GET", &path, &[("jungle-revision", &revision)], None);
            assert_eq!(node.expect(200)["attributes"]["n"]["value"], n, "{tree}");
        }
        let refused = expects(served);
        assert_eq!((refused.problem(), &refused.json()["tree"]), ("changed".into(), &"a".into()));
    }
}

#[test]
fn who_may_not_change_one_of_them_changes_none() {
    let granted = [("some", "t", "/a", Role::Write), ("some", "u", "/", Role::Read)];
    let guarded = Guarded::new("several-granted", &granted);
    let before = guarded.served.server.jungle().revision();
    let at = |tree: &str, path: &str| {
        part(tree, &[json!({"op": "put", "path": path, "attribute": "n", "value": 1})])
    };
    let send = |trees: Json| {
        guarded.send("some", "POST", COMMITS, Some(&json!({"trees": trees}).to_string()))
    };
    let both = send(json!([at("t", "/a"), at("u", "/")]));
    assert_eq!((both.problem(), &both.json()["tree"]), ("forbidden".into(), &"u".into()));
    let beside = send(json!([at("t", "/b")]));
    assert_eq!((beside.problem(), &beside.json()["tree"]), ("forbidden".into(), &"t".into()));
    assert_eq!(guarded.served.server.jungle().revision(), before);
    send(json!([at("t", "/a")])).expect(200);
}

#[test]
fn tree_that_one_may_not_see_is_answered_as_one_that_is_not_there() {
    let granted = [("some", "t", "/", Role::Write), ("all", "*", "/", Role::Admin)];
    let guarded = Guarded::new("several-unseen", &granted);
    let send = |who: &str, tree: &str| {
        let seen = json!({"tree": tree, "branch": "none", "if_match": "x", "edits": [put(1)]});
        let body = json!({"trees": [part("t", &[put(1)]), seen]}).to_string();
        guarded.send(who, "POST", COMMITS, Some(&body))
    };
    assert_eq!(send("all", "u").problem(), "no-such-branch");
    let (unseen, nowhere) = (send("some", "u"), send("some", "nowhere"));
    assert_eq!((unseen.problem(), &unseen.json()["tree"]), ("no-such-tree".into(), &"u".into()));
    let told = nowhere.text.replace("\"nowhere\"", "\"u\"").replace("nowhere\\\"", "u\\\"");
    assert_eq!((unseen.status, unseen.text), (nowhere.status, told));
}

#[test]
fn keys_of_others_are_not_known() {
    let granted = ["ana", "ben"].map(|who| (who, "*", "/", Role::Write));
    let guarded = Guarded::new("several-keys", &granted);
    let edits = [json!({"op": "append"})];
    let body = json!({"trees": [part("t", &edits), part("u", &edits)]}).to_string();
    let send = |who: &str| {
        let header = guarded.header(who);
        let headers = [("authorization", &*header), ("idempotency-key", "k")];
        guarded.served.send("POST", COMMITS, &headers, Some(&body)).expect(200)
    };
    let [ana, ben] = ["ana", "ben"].map(send);
    assert_ne!(ana["revision"], ben["revision"]);
    assert_eq!(ben["trees"][1]["created"], json!(["/1"]));
    assert_eq!(["ana", "ben"].map(send), [ana, ben]);
}
