use jungle::EditError;
use serde_json::{Value as Json, json};

use crate::support::Served;

/// Children `0` to `n - 1` with their number in `i`, then the names `a` and `b`.
fn with_children(n: i64) -> Served {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    tree.update(|tx| {
        for i in 0..n {
            let child = [tx.append(&[])?];
            tx.put_attribute(&child, "i", i)?;
        }
        tx.insert_child(&[], &"a".into())?;
        tx.insert_child(&[], &"b".into())
    })
    .unwrap();
    served
}

/// The keys of a page, and what it says comes next.
#[track_caller]
fn keys(served: &Served, query: &str) -> (String, Json) {
    let page = served.get(&format!("/api/v1/trees/t/children?{query}")).expect(200);
    let children = page["children"].as_array().unwrap().iter();
    let keys: Vec<&str> = children.map(|child| child["key"].as_str().unwrap()).collect();
    (keys.join(" "), page["next"].clone())
}

#[test]
fn children_come_in_pages_from_both_ends() {
    let served = with_children(5);
    for (query, expected, next) in [
        ("", "0 1 2 3 4 a b", json!(null)),
        ("limit=2", "0 1", json!("1")),
        ("limit=2&after=1", "2 3", json!("3")),
        ("limit=3&after=3", "4 a b", json!(null)),
        ("limit=2&order=backward", "b a", json!("a")),
        ("limit=2&order=backward&after=a", "4 3", json!("3")),
        ("from=2&to=a", "2 3 4 a", json!(null)),
        ("order=backward&from=3&to=1", "3 2 1", json!(null)),
        ("offset=5", "a b", json!(null)),
        ("offset=1&limit=1&after=1", "3", json!("3")),
        ("offset=20000", "", json!(null)),
        ("order=backward&offset=2&limit=2&after=b", "3 2", json!("2")),
        ("after=77", "a b", json!(null)),
    ] {
        assert_eq!(keys(&served, query), (expected.to_owned(), next), "{query}");
    }
}

#[test]
fn page_ends_when_it_is_large() {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    tree.update(|tx| {
        let text = "x".repeat(10_000);
        for _ in 0..1000 {
            let child = [tx.append(&[])?];
            for name in ["a", "b", "c"] {
                tx.put_attribute(&child, name, &*text)?;
            }
        }
        Ok::<_, EditError>(())
    })
    .unwrap();
    let answer = served.get("/api/v1/trees/t/children?limit=1000");
    assert!(answer.text.len() < (1 << 20) + 10_000, "{}", answer.text.len());
    let page = answer.expect(200);
    let count = page["children"].as_array().unwrap().len();
    assert_eq!(page["next"], (count - 1).to_string());
    assert_eq!(page["children"][0]["attributes"]["a"]["bytes"], 10_000);
}

#[test]
fn node_has_typed_attributes_and_counts() {
    let served = Served::memory().tree("t");
    let values = json!({
        "null": {"type": "null", "value": null},
        "true": {"type": "bool", "value": true},
        "small": {"type": "int", "value": -7},
        "large": {"type": "int", "value": "9223372036854775807"},
        "float": {"type": "float", "value": 7.0},
        "nan": {"type": "float", "value": "NaN"},
        "text": {"type": "text", "value": "é\u{0}</script>"},
        "bytes": {"type": "bytes", "value": "AP8="},
    });
    let edits = json!({"edits": [{"op": "insert", "path": "/\"a b\"", "attributes": values}]});
    served.post("/api/v1/trees/t/commits", &edits.to_string()).expect(200);
    let node = served.get("/api/v1/trees/t/node?path=/%22a%20b%22").expect(200);
    assert_eq!(node["attributes"], values);
    let root = served.get("/api/v1/trees/t/node").expect(200);
    assert_eq!((&root["child_count"], &root["subtree_count"]), (&json!(1), &json!(2)));
}

#[test]
fn node_with_very_many_attributes_tells_a_page_of_them() {
    let served = Served::memory().tree("t");
    let tree = served.server.jungle().open_tree("t").unwrap();
    let text = "x".repeat(70_000);
    tree.update(|tx| {
        tx.append(&[])?;
        for n in 0..100 {
            tx.put_attribute(&[0.into()], &format!("long-{n:02}"), &*text)?;
        }
        (0..9_000).try_for_each(|n| tx.put_attribute(&[], &format!("short-{n}"), n))
    })
    .unwrap();
    let node = |path: &str| {
        let answer = served.get(&format!("/api/v1/trees/t/node?path={path}"));
        assert!(answer.text.len() < (1 << 20) + 70_000, "{path}: {}", answer.text.len());
        answer.expect(200)
    };
    let long = node("/0");
    let told = long["attributes"].as_object().unwrap().len();
    assert_eq!(long["attributes"]["long-00"]["bytes"], 70_000);
    assert_eq!((told, &long["attributes_left_out"]), (16, &json!(84)));
    let mut keys = Vec::new();
    let mut page = long;
    loop {
        keys.extend(page["attributes"].as_object().unwrap().keys().cloned());
        let Some(next) = page["attributes_next"].as_str() else { break };
        page = node(&format!("/0&attributes_after={next}"));
    }
    assert_eq!(page.get("attributes_left_out"), None);
    assert_eq!(keys, (0..100).map(|n| format!("long-{n:02}")).collect::<Vec<_>>());
    let behind = node("/0&attributes_after=long-990");
    assert_eq!(behind["attributes"], json!({}));
    let short = node("/");
    assert_eq!(short["attributes"].as_object().unwrap().len(), 9_000);
    assert_eq!(short.get("attributes_left_out"), None);
}

#[test]
fn value_comes_raw_and_never_as_a_page() {
    let served = Served::memory().tree("t");
    let edits = r#"{"edits":[{"op":"put","attribute":"page","value":"<script>x</script>"},
        {"op":"put","attribute":"bytes","value":{"type":"bytes","value":"PGI+"}},
        {"op":"put","attribute":"n","value":7.5}]}"#;
    served.post("/api/v1/trees/t/commits", edits).expect(200);
    for (attribute, media, text) in [
        ("page", "text/plain; charset=utf-8", "<script>x</script>"),
        ("bytes", "application/octet-stream", "<b>"),
        ("n", "application/json", "7.5"),
    ] {
        let answer = served.get(&format!("/api/v1/trees/t/value?attribute={attribute}"));
        assert_eq!((answer.header("content-type"), &*answer.text), (media, text));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    let missing = served.get("/api/v1/trees/t/value?attribute=x");
    assert_eq!((missing.problem(), missing.status.as_u16()), ("no-such-attribute".into(), 404));
}

#[test]
fn known_revision_is_not_sent_again() {
    let served = with_children(1);
    for path in ["", "/node", "/children", "/document", "/value?path=/0&attribute=i"] {
        let path = format!("/api/v1/trees/t{path}");
        let first = served.get(&path);
        let tag = first.header("etag").to_owned();
        let again = served.send("GET", &path, &[("if-none-match", &tag)], None);
        assert_eq!((again.status.as_u16(), &*again.text), (304, ""), "{path}");
        assert_eq!(again.header("etag"), tag);
    }
    let tag = served.get("/api/v1/trees/t/node").header("etag").to_owned();
    served.post("/api/v1/trees/t/commits", r#"{"edits":[{"op":"append"}]}"#).expect(200);
    served.send("GET", "/api/v1/trees/t/node", &[("if-none-match", &tag)], None).expect(200);
}

#[test]
fn search_finds_in_document_order_and_goes_on() {
    let served = with_children(100);
    let found = |query: &str| {
        let page = served.get(&format!("/api/v1/trees/t/search?{query}")).expect(200);
        let matches = page["matches"].as_array().unwrap().iter();
        let paths = matches.map(|found| found["path"].as_str().unwrap());
        (paths.collect::<Vec<_>>().join(" "), page["next"].clone())
    };
    assert_eq!(found("where=i+%3E+97"), ("/98 /99".into(), json!(null)));
    assert_eq!(found("attribute=i&value=7"), ("/7".into(), json!(null)));
    assert_eq!(found("attribute=i&value=7.0"), (String::new(), json!(null)));
    assert_eq!(found("attribute=i&limit=2"), ("/0 /1".into(), json!("/1")));
    assert_eq!(found("attribute=i&limit=2&after=/1"), ("/2 /3".into(), json!("/3")));
    assert_eq!(found("where=%40name+%3D+a"), ("/a".into(), json!(null)));
    assert_eq!(found("path=/5&attribute=i"), ("/5".into(), json!(null)));
    for query in [
        "",
        "where=",
        "where=a&attribute=b",
        "value=1",
        "attribute=i&value=x",
        "path=/5&attribute=i&after=/6",
    ] {
        let answer = served.get(&format!("/api/v1/trees/t/search?{query}"));
        assert_eq!(answer.problem(), "bad-request", "{query}");
    }
}

#[test]
fn search_by_an_index_finds_the_same() {
    let served = with_children(300);
    let nested = r#"{"i":7,"list":[7,{"i":7.0}],"deep":{"i":"x","more":{"i":7}}}"#;
    served.send("PUT", "/api/v1/trees/t/document?path=/5", &[], Some(nested)).expect(200);
    let queries = [
        "where=i+%3D+7",
        "where=i+%3E+297+or+i+%3D+x",
        "where=%40value+%3D+7",
        "where=i+%3D+7+and+not+exists+list",
        "path=/5&where=i+%3D+7",
        "attribute=i&value=7",
        "path=/5&attribute=i",
        "at=main~1&where=i+%3D+7",
        "attribute=i&value=7.0",
    ];
    let pages = |query: &str| {
        let (mut after, mut matches, mut visited) = (String::new(), Vec::new(), 0);
        loop {
            let address = format!("/api/v1/trees/t/search?{query}&limit=2{after}");
            let page = served.get(&address).expect(200);
            matches.extend(page["matches"].as_array().unwrap().clone());
            visited += page["visited"].as_u64().unwrap();
            let Some(next) = page["next"].as_str() else { return (matches, visited) };
            after = format!("&after={next}");
        }
    };
    let all = || queries.map(pages);
    let walked = all();
    let index = r#"{"key":"i"}"#;
    served.post("/api/v1/trees/t/indexes", index).expect(201);
    assert_eq!(served.post("/api/v1/trees/t/indexes", index).problem(), "exists");
    let listed = served.get("/api/v1/trees/t/indexes").expect(200);
    assert_eq!(listed, json!({"indexes": [{"key": ""}, {"key": "i"}]}));
    for ((query, walked), found) in queries.iter().zip(walked).zip(all()) {
        assert_eq!(found.0, walked.0, "{query}");
        let (few, many) = (found.1, walked.1);
        assert!(few <= many && (few < 20 || query.starts_with("path")), "{query}: {few}, {many}");
    }
    served.send("DELETE", "/api/v1/trees/t/indexes?key=i", &[], None).expect(204);
    let again = served.send("DELETE", "/api/v1/trees/t/indexes?key=i", &[], None);
    assert_eq!(again.problem(), "no-such-index");
}

#[test]
fn pages_by_an_index_are_all_of_a_search_while_others_commit() {
    let served = with_children(300);
    served.post("/api/v1/trees/t/indexes", r#"{"key":"i"}"#).expect(201);
    let revision = served.get("/api/v1/trees/t").json()["revision"].clone();
    let found = |query: &str| {
        let address = format!("/api/v1/trees/t/search?at={revision}&{query}");
        served.get(&address).expect(200)
    };
    let edits = r#"{"edits":[{"op":"append","attributes":{"i":7}},
        {"op":"put","path":"/299","attribute":"i","value":-1}]}"#;
    for query in ["where=i+%3E%3D+0", "where=i+%3D+7", "attribute=i", "path=/5&attribute=i"] {
        let all = found(&format!("{query}&limit=1000"));
        let (mut after, mut matches) = (String::new(), Vec::new());
        loop {
            let page = found(&format!("{query}&limit=40{after}"));
            // All that the index has fit, so nothing else is looked at, and nothing twice.
            let more = page["matches"].as_array().unwrap();
            assert_eq!(page["visited"], more.len(), "{query}");
            matches.extend(more.clone());
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
            served.post("/api/v1/trees/t/commits", edits).expect(200);
            served.get("/api/v1/trees/t/search?attribute=i&limit=1").expect(200);
        }
        assert!(Json::from(matches) == all["matches"], "{query}");
    }
}

#[test]
fn search_goes_on_below_what_it_found() {
    let served = Served::memory().tree("t");
    let document = r#"{"a":{"x":1,"b":{"x":2,"c":{"x":3}}},"d":{"x":4}}"#;
    served.send("PUT", "/api/v1/trees/t/document", &[], Some(document)).expect(200);
    let (mut after, mut paths) = (String::new(), Vec::new());
    loop {
        let query = format!("/api/v1/trees/t/search?attribute=x&limit=1{after}");
        let page = served.get(&query).expect(200);
        paths.extend(page["matches"][0]["path"].as_str().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(paths, ["/a", "/a/b", "/a/b/c", "/d"]);
}
