use serde_json::{Value as Json, json};

use crate::support::{Served, limits, no_long_reads};

const NDJSON: &str = "application/x-ndjson";

/// Revisions 2 to `n + 1` put their number less two into `n`.
fn with_revisions(n: i64) -> Served {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    for n in 0..n {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    served
}

/// The first of the lines that are told there of the tree, and the others.
#[track_caller]
fn lines(served: &Served, query: &str) -> (Json, Vec<Json>) {
    let answer = served.get(&format!("/api/v1/trees/t/{query}"));
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, NDJSON));
    let mut lines: Vec<Json> =
        answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines.remove(0), lines)
}

/// The revisions of all pages, and how many pages these are.
#[track_caller]
fn pages(served: &Served, query: &str) -> (Vec<u64>, usize) {
    let (mut told, mut after, mut count) = (Vec::new(), String::new(), 0);
    loop {
        let path = format!("/api/v1/trees/t/revisions?{query}{after}");
        let page = served.get(&path).expect(200);
        let revisions = page["revisions"].as_array().unwrap().iter();
        told.extend(revisions.map(|info| info["revision"].as_u64().unwrap()));
        count += 1;
        if page["next"].is_null() {
            return (told, count);
        }
        after = format!("&after={}", page["next"]);
    }
}

#[test]
fn history_comes_in_pages_from_both_ends() {
    let served = with_revisions(5);
    for (query, expected, next) in [
        ("", json!([6, 5, 4, 3, 2, 1]), json!(null)),
        ("limit=2", json!([6, 5]), json!(5)),
        ("limit=2&after=5", json!([4, 3]), json!(3)),
        ("order=forward&limit=4", json!([1, 2, 3, 4]), json!(4)),
        ("order=forward&after=4", json!([5, 6]), json!(null)),
        ("after=1", json!([]), json!(null)),
    ] {
        let page = served.get(&format!("/api/v1/trees/t/revisions?{query}")).expect(200);
        let revisions = page["revisions"].as_array().unwrap().iter();
        let numbers: Json = revisions.map(|info| info["revision"].clone()).collect();
        assert_eq!((numbers, &page["next"]), (expected, &next), "{query}");
    }
}

#[test]
fn revisions_that_changed_something_at_a_path_come_in_pages_from_both_ends() {
    let served = with_revisions(3);
    let put = |branch: &str, key: &str, value: i64| {
        let edit = json!({"op": "put", "path": "/", "attribute": key, "value": value});
        let edits = json!({"edits": [edit]}).to_string();
        let path = format!("/api/v1/trees/t/commits?branch={branch}");
        served.post(&path, &edits).expect(200)["revision"].as_u64().unwrap()
    };
    let other = put("main", "other", 1);
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
    let draft = put("draft", "n", 70);
    let main = put("main", "n", 80);
    for limit in 1..=5 {
        let told = |query: &str| pages(&served, &format!("limit={limit}&{query}")).0;
        assert_eq!(told("path=/n"), [main, 4, 3, 2]);
        assert_eq!(told("path=/n&order=forward"), [2, 3, 4, main]);
        assert_eq!(told("path=/other"), [other]);
        assert_eq!(told("path=/nothing"), [0; 0]);
        // What it began with is its own, and what came before that of the other branch.
        assert_eq!(told("path=/n&branch=draft"), [draft, 4, 3, 2]);
        assert_eq!(told("path=/&branch=draft&order=forward"), [2, 3, 4, other, draft]);
    }
    assert_eq!(served.get("/api/v1/trees/t/revisions?path=n").problem(), "bad-request");
}

/// A server that compares for so many steps.
fn comparing(steps: usize) -> Served {
    let few = limits(|limits| limits.compare_steps_max = steps);
    Served::with(|options| options.limits = few).tree("t")
}

#[test]
fn what_takes_too_many_steps_to_compare_is_refused_and_changes_nothing() {
    let served = comparing(100);
    let tree = served.server.jungle().open_tree("t").unwrap();
    let draft = tree.branch("draft", tree.snapshot().revision()).unwrap();
    draft.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    let before = tree.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap().revision;
    for much in [
        "diff?from=main&to=draft",
        "diff?from=main&to=draft&form=document",
        "diff?from=main&to=draft&path=/7",
        "merges?from=draft",
    ] {
        let refused = served.get(&format!("/api/v1/trees/t/{much}"));
        let told = (refused.status.as_u16(), refused.problem());
        assert_eq!(told, (422, "too-much".to_owned()), "{much}: {}", refused.text);
        assert!(refused.text.contains("more than 100 steps"), "{much}: {}", refused.text);
    }
    let refused = served.post("/api/v1/trees/t/merges", r#"{"from":"draft"}"#);
    assert_eq!((refused.status.as_u16(), refused.problem()), (422, "too-much".to_owned()));
    assert_eq!(served.server.jungle().revision(), before);
    // What differs in one place, or need not be known whole, is told as ever.
    served.get("/api/v1/trees/t/diff").expect(200);
    let page = served.get("/api/v1/trees/t/revisions?path=/&branch=draft").expect(200);
    assert_eq!(page["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn what_takes_too_many_steps_to_take_back_is_refused_and_stays() {
    let served = comparing(100);
    let tree = served.server.jungle().open_tree("t").unwrap();
    let good = tree.snapshot().revision();
    let append = || tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop)));
    let much = append().unwrap().revision;
    for wanted in
        [format!(r#"{{"revision":{much}}}"#), format!(r#"{{"revision":{good},"mode":"restore"}}"#)]
    {
        let refused = served.post("/api/v1/trees/t/reverts", &wanted);
        let told = (refused.status.as_u16(), refused.problem());
        assert_eq!(told, (422, "too-much".to_owned()), "{wanted}: {}", refused.text);
    }
    assert_eq!(served.server.jungle().revision(), much);
    // It is counted what differs, not what is there.
    let put = tree.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap().revision;
    served.post("/api/v1/trees/t/reverts", &format!(r#"{{"revision":{put}}}"#)).expect(200);
    assert_eq!(tree.read().root().child_count(), 100);
}

#[test]
fn page_of_what_changed_something_ends_where_its_steps_do() {
    let served = comparing(20);
    let tree = served.server.jungle().open_tree("t").unwrap();
    let put = |n: i64| tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap().revision.number();
    let mut all: Vec<u64> = (0..50).map(put).collect();
    all.reverse();
    let (told, count) = pages(&served, "path=/&limit=1000");
    assert_eq!(told, all);
    assert!((4..20).contains(&count), "{count}");
}

#[test]
fn revision_that_takes_more_steps_than_a_page_has_is_told_and_leads_to_those_behind_it() {
    let served = comparing(0);
    let tree = served.server.jungle().open_tree("t").unwrap();
    let node = tree.update(|tx| tx.append(&[])).unwrap();
    let at = [node.value];
    let put = |n: i64| tree.update(|tx| tx.put_attribute(&at, "n", n)).unwrap().revision.number();
    let mut all: Vec<u64> = [node.revision.number()].into_iter().chain((0..3).map(put)).collect();
    assert_eq!(pages(&served, "path=/0&order=forward").0, all);
    all.reverse();
    assert_eq!(pages(&served, "path=/0").0, all);
}

#[test]
fn what_is_many_steps_back_is_looked_for_in_line() {
    let served = Served::with(|options| options.limits = limits(no_long_reads)).tree("t");
    for asked in [
        "node?at=",
        "value?attribute=n&at=",
        "children?at=",
        "document?at=",
        "search?attribute=n&at=",
        "diff?to=",
        "diff?from=",
        "revisions/",
    ] {
        let refused = served.get(&format!("/api/v1/trees/t/{asked}main~100000"));
        assert_eq!(refused.problem(), "too-many", "{asked}");
    }
    for made in ["branches", "tags"] {
        let make = |at: &str| {
            let new = json!({"name": made, "at": at}).to_string();
            served.post(&format!("/api/v1/trees/t/{made}"), &new)
        };
        assert_eq!(make("main~100000").problem(), "too-many", "{made}");
        make("main~0").expect(201);
    }
    served.get("/api/v1/trees/t/node?at=main~0").expect(200);
    assert_eq!(served.get("/api/v1/trees/t/node?at=main~1").problem(), "no-such-revision");
}

#[test]
fn any_revision_can_be_read_by_number_tag_branch_steps_and_time() {
    let served = with_revisions(3);
    let n = |at: &str| {
        let node = served.get(&format!("/api/v1/trees/t/node?at={at}")).expect(200);
        node["attributes"]["n"]["value"].clone()
    };
    // Of the newest, since two revisions may have one time.
    let time = served.get("/api/v1/trees/t/revisions/main").expect(200)["time"].clone();
    assert_eq!(n(time.as_str().unwrap()), 2);
    served.post("/api/v1/trees/t/tags", r#"{"name":"v1","at":"3"}"#).expect(201);
    served.post("/api/v1/trees/t/branches", r#"{"name":"old","at":"3"}"#).expect(201);
    for at in ["3", "v1", "old", "main~1"] {
        assert_eq!(n(at), 1, "{at}");
    }
    let branch = served.get("/api/v1/trees/t/node?branch=old").expect(200);
    assert_eq!((&branch["branch"], &branch["revision"]), (&json!("old"), &json!(3)));
    for (query, problem) in [
        ("at=99", "no-such-revision"),
        ("at=nothing", "no-such-revision"),
        ("at=main~99", "no-such-revision"),
        ("at=1970-01-01T00:00:00Z", "no-such-revision"),
        ("at=", "no-such-revision"),
        ("branch=nothing", "no-such-branch"),
    ] {
        let answer = served.get(&format!("/api/v1/trees/t/node?{query}"));
        assert_eq!((answer.problem(), answer.status.as_u16()), (problem.into(), 404), "{query}");
    }
}

#[test]
fn diff_tells_what_was_before() {
    let served = with_revisions(3);
    let diff = served.get("/api/v1/trees/t/diff?from=2&to=4").expect(200);
    let change = json!({"op": "put", "path": "/", "attribute": "n",
        "old": {"type": "int", "value": 0}, "value": {"type": "int", "value": 2}});
    assert_eq!((&diff["total"], &diff["changes"]), (&json!(1), &json!([change])));
    let back = served.get("/api/v1/trees/t/diff?from=4&to=1").expect(200);
    assert_eq!(back["changes"][0]["op"], "unset");
    let newest = served.get("/api/v1/trees/t/diff").expect(200);
    assert_eq!((&newest["from"], &newest["to"]), (&json!(3), &json!(4)));
    assert_eq!(served.get("/api/v1/trees/t/diff?to=1").problem(), "no-such-revision");
}

#[test]
fn large_subtree_that_is_new_is_added_once() {
    let served = Served::memory().tree("t");
    let elements = |n: usize| json!({"a": vec![0; n]}).to_string();
    for (n, expected) in [
        (
            1,
            json!([{"op": "add", "path": "/a"}, {"op": "add", "path": "/a/0"},
            {"op": "put", "path": "/a/0", "attribute": "", "value": {"type": "int", "value": 0}}]),
        ),
        (40, json!([{"op": "add", "path": "/a", "nodes": 41}])),
    ] {
        served.send("PUT", "/api/v1/trees/t/document", &[], Some("{}")).expect(200);
        served.send("PUT", "/api/v1/trees/t/document", &[], Some(&elements(n))).expect(200);
        let diff = served.get("/api/v1/trees/t/diff").expect(200);
        assert_eq!(diff["changes"], expected);
    }
}

#[test]
fn diff_comes_in_pages_and_below_a_path() {
    let served = Served::memory().tree("t");
    let document = r#"{"a":{"x":[1,2,3]},"b":{"y":1}}"#;
    served.send("PUT", "/api/v1/trees/t/document", &[], Some(document)).expect(200);
    let total = served.get("/api/v1/trees/t/diff").expect(200)["total"].as_u64().unwrap();
    let (mut seen, mut after) = (0, 0);
    loop {
        let path = format!("/api/v1/trees/t/diff?limit=3&after={after}");
        let page = served.get(&path).expect(200);
        seen += page["changes"].as_array().unwrap().len() as u64;
        let Some(next) = page["next"].as_u64() else { break };
        after = next;
    }
    assert_eq!(seen, total);
    let below = served.get("/api/v1/trees/t/diff?path=/b").expect(200);
    assert_eq!(below["total"], 2, "{below}");
}

#[test]
fn pages_of_a_diff_are_the_whole_of_it() {
    let served = Served::memory().tree("t");
    let lists = |n: usize| json!({"a": vec![0; n], "b": {"c": [1, 2], "d": "x"}}).to_string();
    served.send("PUT", "/api/v1/trees/t/document", &[], Some(&lists(40))).expect(200);
    let old = served.get("/api/v1/trees/t").expect(200)["revision"].to_string();
    let edits = r#"{"edits":[{"op":"move","from":"/b/c","path":"/a/c"},
        {"op":"put","path":"/a/c/0","attribute":"","value":7},
        {"op":"put","path":"/a/3","attribute":"n","value":"x"},
        {"op":"remove","path":"/a/7"},{"op":"move","from":"/a","path":"/e"},
        {"op":"insert","path":"/f"},{"op":"insert","path":"/f/g"}]}"#;
    served.post("/api/v1/trees/t/commits", edits).expect(200);
    let new = served.get("/api/v1/trees/t").expect(200)["revision"].to_string();
    for (from, to) in [(&old, &new), (&new, &old)] {
        for path in ["/", "/e", "/b"] {
            let diff = format!("/api/v1/trees/t/diff?from={from}&to={to}&path={path}");
            let whole = served.get(&format!("{diff}&limit=1000")).expect(200);
            assert!(whole["next"].is_null() && whole["total"].as_u64() > Some(0), "{whole}");
            for limit in 1..=3 {
                // What comes between is of no other commit's doing.
                let between = r#"{"edits":[{"op":"append"}]}"#;
                served.post("/api/v1/trees/t/commits", between).expect(200);
                let (mut joined, mut after) = (Vec::new(), json!(0));
                while !after.is_null() {
                    let page = format!("{diff}&limit={limit}&after={after}");
                    let mut page = served.get(&page).expect(200);
                    joined.append(page["changes"].as_array_mut().unwrap());
                    assert_eq!(page["total"], whole["total"]);
                    after = page["next"].take();
                }
                assert_eq!(json!(joined), whole["changes"], "{diff} {limit}");
            }
        }
    }
}

#[test]
fn page_of_a_diff_ends_where_it_is_long() {
    let served = Served::memory().tree("t");
    let key = |n: usize| format!("{n:03}{}", "k".repeat(4_000));
    let put = |n: usize| json!({"op": "put", "attribute": key(n), "value": 7});
    let edits: Vec<Json> = (0..400).map(put).collect();
    served.post("/api/v1/trees/t/commits", &json!({"edits": edits}).to_string()).expect(200);
    let (mut sizes, mut told, mut after) = (Vec::new(), Vec::new(), json!(0));
    while !after.is_null() {
        let page = served.get(&format!("/api/v1/trees/t/diff?limit=1000&after={after}"));
        assert!(page.text.len() < (1 << 20) + 10_000, "{}", page.text.len());
        let mut page = page.expect(200);
        assert_eq!(page["total"], 400);
        let changes = page["changes"].as_array().unwrap();
        sizes.push(changes.len());
        told.extend(changes.iter().map(|change| change["attribute"].as_str().unwrap().to_owned()));
        after = page["next"].take();
    }
    assert_eq!((sizes.len(), told), (2, (0..400).map(key).collect::<Vec<_>>()), "{sizes:?}");
}

#[test]
fn what_differs_is_told_as_of_documents() {
    let served = Served::memory().tree("t");
    let import = |path: &str, json: &str| {
        let path = format!("/api/v1/trees/t/document?path={path}");
        served.send("PUT", &path, &[], Some(json)).expect(200)["revision"].to_string()
    };
    let old = import("/", r#"{"title":"one","list":[{"n":1.50},2,[3,4]],"gone":{"a":null}}"#);
    let new = import("/", r#"{"title":"two","list":[{"n":1.50},2,[3,4]],"new":{"b":[]}}"#);
    let told = |query: &str| lines(&served, &format!("diff?form=document&{query}"));
    let both = format!("from={old}&to={new}");
    let (head, lines) = told(&both);
    assert_eq!([&head["from"], &head["revision"]].map(Json::to_string), [&*old, &*new]);
    assert_eq!(head["exists"], true);
    let gone = json!({"op": "remove", "path": "/gone", "old": {"a": null}});
    let added = json!({"op": "add", "path": "/new", "value": {"b": []}});
    let title = json!({"op": "change", "path": "/title", "old": "one", "value": "two"});
    assert_eq!(lines, [gone, added.clone(), title.clone()]);
    assert_eq!(told(&format!("{both}&path=/title")).1, [title]);
    assert_eq!(told("path=/new").1, [added]);
    let (head, lines) = told(&format!("{both}&path=/lost"));
    assert_eq!((&head["exists"], lines), (&json!(false), vec![]));
    // There is nothing before the first.
    let (head, lines) = told("to=1");
    assert_eq!((&head["from"], lines), (&json!(null), vec![]));
    for query in ["limit=1", "after=0", "path=x"] {
        let refused = served.get(&format!("/api/v1/trees/t/diff?form=document&{query}"));
        assert_eq!(refused.problem(), "bad-request", "{query}");
    }
}

#[test]
fn revision_is_taken_back_or_gone_back_to() {
    let served = with_revisions(3);
    let n = || served.get("/api/v1/trees/t/node").json()["attributes"]["n"]["value"].clone();
    let reverts = "/api/v1/trees/t/reverts";
    let refused = served.post(reverts, r#"{"revision":3}"#);
    assert_eq!(refused.problem(), "conflict");
    let told = refused.json();
    let conflicts = &told["conflicts"];
    assert_eq!((&conflicts[0]["path"], &conflicts[0]["attribute"]), (&json!("/"), &json!("n")));
    assert_eq!(conflicts.as_array().unwrap().len(), 1);
    assert_eq!(told["conflict_count"], 1);
    served.post(reverts, r#"{"revision":4,"author":"ana"}"#).expect(200);
    assert_eq!(n(), 1);
    served.post(reverts, r#"{"revision":2,"mode":"restore"}"#).expect(200);
    assert_eq!(n(), 0);
    let stale = [("if-match", "\"4\"")];
    for mode in ["undo", "restore"] {
        let body = json!({"revision": 4, "mode": mode}).to_string();
        assert_eq!(served.send("POST", reverts, &stale, Some(&body)).problem(), "changed");
    }
    assert_eq!(served.post(reverts, r#"{"revision":99}"#).problem(), "no-such-revision");
}

#[test]
fn what_was_changed_since_is_settled_where_a_revision_is_taken_back() {
    let reverts = "/api/v1/trees/t/reverts";
    let take = |side: &str| json!([{"path": "/", "attribute": "n", "take": side}]);
    for (said, n, m) in [
        (json!({"prevails": "ours"}), 3, 3),
        (json!({"prevails": "theirs"}), 1, 1),
        (json!({"prevails": "ours", "resolve": take("theirs")}), 1, 3),
        (json!({"prevails": "theirs", "resolve": take("ours")}), 3, 1),
        (
            json!({"resolve": [
                {"path": "/", "attribute": "n", "take": "ours"},
                {"path": "/", "attribute": "m", "value": 9},
            ]}),
            3,
            9,
        ),
    ] {
        let served = Served::memory().tree("t");
        let mut revision = 0;
        for value in 1..4 {
            let put = |key: &str| json!({"op": "put", "attribute": key, "value": value});
            let mut edits = vec![put("n"), put("m")];
            if value == 2 {
                edits.push(json!({"op": "insert", "path": "/new"}));
            }
            let edits = json!({"edits": edits}).to_string();
            let done = served.post("/api/v1/trees/t/commits", &edits).expect(200);
            if value == 2 {
                revision = done["revision"].as_u64().unwrap();
            }
        }
        let document = || served.get("/api/v1/trees/t/document").expect(200);
        let before = document();
        let one = json!({"revision": revision, "resolve": take("ours")}).to_string();
        let refused = served.post(reverts, &one);
        assert_eq!(refused.problem(), "conflict");
        let told = refused.json();
        assert_eq!(
            (&told["conflict_count"], &told["conflicts"][0]["attribute"]),
            (&json!(1), &json!("m"))
        );
        let sides =
            ["ours", "theirs"].map(|side| told["conflicts"][0][side]["value"]["value"].clone());
        assert_eq!(sides, [json!(3), json!(1)], "what is there now, and what was before");
        assert_eq!(document(), before);
        let mut body = said.clone();
        body["revision"] = revision.into();
        served.post(reverts, &body.to_string()).expect(200);
        assert_eq!(document(), json!({"n": n, "m": m}), "{said}");
    }
}

#[test]
fn preview_of_a_revert_tells_changes_and_conflicts_and_does_nothing() {
    let served = with_revisions(3);
    let put = r#"{"edits":[{"op":"put","path":"/","attribute":"m","value":7}]}"#;
    served.post("/api/v1/trees/t/commits", put).expect(200);
    let preview = |revision: u64| {
        served.get(&format!("/api/v1/trees/t/reverts?revision={revision}")).expect(200)
    };
    let told = preview(3);
    let sides = ["theirs", "base", "ours"].map(|side| told[side].clone());
    assert_eq!(sides, [json!(2), json!(3), json!(5)]);
    let conflict = &told["conflicts"][0];
    let sides = ["theirs", "ours"].map(|side| conflict[side]["value"]["value"].clone());
    assert_eq!((sides, &told["conflict_count"]), ([json!(0), json!(2)], &json!(1)));
    assert_eq!(told["changes"], json!([]));
    let unset = json!([{"op": "unset", "path": "/", "attribute": "m",
        "old": {"type": "int", "value": 7}}]);
    let told = preview(5);
    assert_eq!((&told["changes"], &told["conflicts"]), (&unset, &json!([])));
    assert_eq!(served.server.jungle().revision().number(), 5);
    // Just that is done which was told.
    let seen = served.get("/api/v1/trees/t/reverts?revision=5");
    let (tag, body) = ([("if-match", seen.header("etag"))], Some(r#"{"revision":5}"#));
    let revert = || served.send("POST", "/api/v1/trees/t/reverts", &tag, body);
    revert().expect(200);
    assert_eq!(revert().problem(), "changed");
}

#[test]
fn preview_of_a_revert_tells_what_would_differ_in_the_document() {
    let served = with_revisions(3);
    let changed = |value: i64| json!([{"op": "change", "path": "/n", "old": 2, "value": value}]);
    for (query, differing, conflicts) in [
        ("revision=4", changed(1), 0),
        ("revision=3", json!([]), 1),
        ("revision=3&prevails=ours", json!([]), 1),
        ("revision=3&prevails=theirs", changed(0), 1),
    ] {
        let (head, lines) = lines(&served, &format!("reverts?form=document&{query}"));
        assert_eq!(Json::from(lines), differing, "{query}");
        assert_eq!(head["conflict_count"], conflicts, "{query}");
    }
    assert_eq!(served.server.jungle().revision().number(), 4);
}

#[test]
fn what_is_settled_for_nothing_is_refused() {
    let served = with_revisions(3);
    for body in [
        r#"{"revision":3,"resolve":[{"path":"/x","take":"ours"}]}"#,
        r#"{"revision":3,"resolve":[{"path":"/","attribute":"n"}]}"#,
        r#"{"revision":3,"mode":"restore","prevails":"ours"}"#,
        r#"{"at":"3","mode":"restore","resolve":[{"path":"/","take":"ours"}]}"#,
    ] {
        let refused = served.post("/api/v1/trees/t/reverts", body);
        assert_eq!(refused.problem(), "bad-request", "{body}");
    }
}

#[test]
fn what_was_changed_in_a_node_stays_or_goes_with_it() {
    for (side, is_kept) in [("ours", true), ("theirs", false)] {
        let served = Served::memory().tree("t");
        let commit = |edits: Json| {
            let body = json!({"edits": edits}).to_string();
            served.post("/api/v1/trees/t/commits", &body).expect(200)
        };
        let made = commit(json!([{"op": "insert", "path": "/a"}]));
        commit(json!([{"op": "put", "path": "/a", "attribute": "n", "value": 1}]));
        let body = json!({"revision": made["revision"]});
        let reverts = "/api/v1/trees/t/reverts";
        let told = served.post(reverts, &body.to_string()).json();
        // What is there now was changed in what would go.
        assert_eq!(told["conflicts"][0]["kind"], "removed-below");
        let mut body = body;
        body["resolve"] = json!([{"path": "/a", "take": side}]);
        served.post(reverts, &body.to_string()).expect(200);
        let document = served.get("/api/v1/trees/t/document").expect(200);
        assert_eq!(document.get("a").is_some(), is_kept, "{side}");
    }
}

#[test]
fn version_of_another_branch_is_gone_back_to_by_its_name() {
    let served = with_revisions(3);
    let n = |branch: &str| {
        let node = served.get(&format!("/api/v1/trees/t/node?branch={branch}")).expect(200);
        node["attributes"]["n"]["value"].clone()
    };
    served.post("/api/v1/trees/t/branches", r#"{"name":"draft","at":"3"}"#).expect(201);
    let put = r#"{"edits":[{"op":"put","path":"/","attribute":"n","value":70}]}"#;
    served.post("/api/v1/trees/t/commits?branch=draft", put).expect(200);
    let reverts = "/api/v1/trees/t/reverts";
    served.post(reverts, r#"{"at":"draft","mode":"restore"}"#).expect(200);
    assert_eq!(n("main"), 70);
    let stale = [("if-match", "\"4\"")];
    let body = Some(r#"{"at":"2","mode":"restore"}"#);
    assert_eq!(served.send("POST", reverts, &stale, body).problem(), "changed");
    // From before the branch was there.
    served.post(reverts, r#"{"at":"2","mode":"restore","branch":"draft"}"#).expect(200);
    assert_eq!(n("draft"), 0);
    for (body, problem) in [
        (r#"{"at":"nothing","mode":"restore"}"#, "no-such-revision"),
        (r#"{"at":"2","revision":2,"mode":"restore"}"#, "bad-request"),
        (r#"{"at":"2"}"#, "bad-request"),
        (r#"{"mode":"restore"}"#, "bad-request"),
    ] {
        assert_eq!(served.post(reverts, body).problem(), problem, "{body}");
    }
}

#[test]
fn branches_and_tags_are_made_and_deleted() {
    let served = with_revisions(2);
    let (branches, tags) = ("/api/v1/trees/t/branches", "/api/v1/trees/t/tags");
    served.post(branches, r#"{"name":"a/b"}"#).expect(201);
    assert_eq!(served.post(branches, r#"{"name":"a/b"}"#).problem(), "exists");
    assert_eq!(served.post(tags, r#"{"name":"a/b","at":"2"}"#).problem(), "exists");
    assert_eq!(served.post(tags, r#"{"name":"v","at":"77"}"#).problem(), "no-such-revision");
    served.post(tags, r#"{"name":"v","at":"2"}"#).expect(201);
    let names: Vec<_> = served.get(branches).expect(200)["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| branch["name"].clone())
        .collect();
    assert_eq!(names, ["main", "a/b"]);
    let told = served.get(tags).expect(200);
    assert_eq!(told, json!({"tags": [{"name": "v", "revision": 2}]}));
    assert_eq!(served.get("/api/v1/trees/t/revisions/v").expect(200)["tags"], json!(["v"]));
    for path in ["branches/a%2Fb", "tags/v"] {
        let path = format!("/api/v1/trees/t/{path}");
        served.send("DELETE", &path, &[], None).expect(204);
        assert_eq!(served.send("DELETE", &path, &[], None).problem(), "no-such-branch");
    }
    let main = served.send("DELETE", "/api/v1/trees/t/branches/main", &[], None);
    assert_eq!(main.problem(), "conflict");
}

#[test]
fn branches_and_tags_are_told_in_pages() {
    let served = with_revisions(1);
    for name in ["z", "a", "b"] {
        let named = |name: &str| json!({"name": name}).to_string();
        served.post("/api/v1/trees/t/branches", &named(name)).expect(201);
        served.post("/api/v1/trees/t/tags", &named(&format!("v-{name}"))).expect(201);
    }
    let get = |list: &str, more: &str| {
        let page = served.get(&format!("/api/v1/trees/t/{list}?{more}")).expect(200);
        let names = page[list].as_array().unwrap().iter().map(|mark| mark["name"].clone());
        let names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
        (names.join(" "), page["next"].as_str().map(str::to_owned))
    };
    for (list, limit, expected) in [
        ("branches", 1, "main, a, b, z"),
        ("branches", 3, "main a b, z"),
        ("branches", 4, "main a b z"),
        ("tags", 2, "v-a v-b, v-z"),
        ("tags", 3, "v-a v-b v-z"),
    ] {
        let (mut pages, mut after) = (Vec::new(), String::new());
        loop {
            let (names, next) = get(list, &format!("limit={limit}{after}"));
            pages.push(names);
            let Some(next) = next else { break };
            after = format!("&after={next}");
        }
        assert_eq!(pages.join(", "), expected, "{list} {limit}");
    }
    // Who asks for no page has them all, and one that is gone has its place still.
    assert_eq!(get("branches", ""), ("main a b z".to_owned(), None));
    assert_eq!(get("branches", "after="), ("main a b z".to_owned(), None));
    assert_eq!(get("tags", "after="), ("v-a v-b v-z".to_owned(), None));
    assert_eq!(get("branches", "after=aa&limit=1"), ("b".to_owned(), Some("b".to_owned())));
    assert_eq!(get("tags", "after=z"), (String::new(), None));
}

#[test]
fn no_more_of_a_history_is_kept_than_is_said() {
    let served = with_revisions(5);
    let keep = "/api/v1/trees/t/keep";
    assert_eq!(served.get(keep).expect(200), json!({"keep": "all"}));
    let set = |rule: &str| served.send("PUT", keep, &[], Some(&json!({"keep": rule}).to_string()));
    for wrong in ["", "0", "-1", "1.5d", "some", "99999999999999999999w"] {
        assert_eq!(set(wrong).problem(), "bad-request", "{wrong}");
    }
    for (rule, told) in [("30d", "30d"), ("3600s", "1h"), ("2", "2")] {
        assert_eq!(set(rule).expect(200), json!({"keep": told}));
        assert_eq!(served.get(keep).expect(200), json!({"keep": told}));
    }
    let revisions = served.get("/api/v1/trees/t/revisions").expect(200);
    assert_eq!(revisions["revisions"].as_array().unwrap().len(), 2);
    let branch = served.get("/api/v1/trees/t/keep?branch=other");
    assert_eq!(branch.problem(), "no-such-branch");
}
