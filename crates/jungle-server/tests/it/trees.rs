use std::num::NonZero;

use jungle::{Jungle, Open};
use jungle_server::{Data, Options};
use serde_json::json;

use crate::support::{Folder, Served};

#[test]
fn tree_is_made_renamed_and_deleted() {
    let served = Served::memory();
    let made = served.post("/api/v1/trees", r#"{"name":"a/b c"}"#);
    made.expect(201);
    let place = made.header("location").to_owned();
    let shown = served.get(&place).expect(200);
    assert_eq!((&shown["name"], &shown["nodes"]), (&json!("a/b c"), &json!(1)));
    assert_eq!(served.post("/api/v1/trees", r#"{"name":"a/b c"}"#).problem(), "exists");
    served.send("PATCH", &place, &[], Some(r#"{"name":"new"}"#)).expect(200);
    assert_eq!(served.get(&place).problem(), "no-such-tree");
    served.send("DELETE", "/api/v1/trees/new", &[], None).expect(204);
    assert_eq!(served.get("/api/v1/trees").expect(200), json!({"trees": [], "next": null}));
    assert_eq!(served.send("DELETE", "/api/v1/trees/new", &[], None).problem(), "no-such-tree");
}

#[test]
fn one_thread_answers_all_that_is_asked() {
    let served = Served::with(|options| options.workers = NonZero::new(1)).tree("t");
    served.post("/api/v1/trees", r#"{"name":"u"}"#).expect(201);
    served.get("/api/v1/trees/t").expect(200);
    served.get("/api/v1/trees/u").expect(200);
}

#[test]
fn names_that_cannot_be_are_refused() {
    let served = Served::memory();
    for name in ["", ".", "..", "a\u{0}b", "a\nb", &"x".repeat(256)] {
        let body = json!({"name": name}).to_string();
        assert_eq!(served.post("/api/v1/trees", &body).problem(), "bad-request", "{name:?}");
    }
    let odd = "\u{1f333} <script>'\"&?#%2F".to_owned();
    served.post("/api/v1/trees", &json!({"name": odd}).to_string()).expect(201);
    assert_eq!(served.get("/api/v1/trees").json()["trees"][0]["name"], odd);
}

#[test]
fn trees_come_in_pages() {
    let served = Served::memory();
    for name in ["a", "b", "c"] {
        served.server.jungle().create_tree(name).unwrap();
    }
    let names = |path: &str| {
        let page = served.get(path).expect(200);
        let names = page["trees"].as_array().unwrap().iter().map(|tree| tree["name"].clone());
        (names.collect::<Vec<_>>(), page["next"].clone())
    };
    assert_eq!(names("/api/v1/trees?limit=2"), (vec![json!("a"), json!("b")], json!("b")));
    assert_eq!(names("/api/v1/trees?limit=2&after=b"), (vec![json!("c")], json!(null)));
    assert_eq!(names("/api/v1/trees?after=bb"), (vec![json!("c")], json!(null)));
    assert_eq!(names("/api/v1/trees?after=x"), (vec![], json!(null)));
}

#[test]
fn health_and_metrics_are_told() {
    let served = Served::memory().tree("t");
    assert_eq!(served.get("/health").expect(200)["trees"], 1);
    let metrics = served.get("/metrics").text;
    assert!(metrics.contains("jungle_trees 1\n"), "{metrics}");
    assert!(metrics.contains("jungle_http_requests_total{status=\"2xx\"} 1\n"), "{metrics}");
    assert!(!metrics.contains("jungle_checkpoint"), "it has no folder: {metrics}");
}

#[test]
fn a_server_of_a_folder_tells_how_its_checkpoints_are() {
    let folder = Folder::new("checkpoints");
    let store = Jungle::open(&folder.0).unwrap();
    store.create_tree("t").unwrap();
    store.checkpoint().unwrap();
    store.create_tree("later").unwrap();
    let served = Served::start(Data::Folder(store), Options::default());
    let health = served.get("/health").expect(200);
    assert_eq!(
        (&health["checkpoint"], &health["revision"]),
        (&json!({"revision": 1, "error": null}), &json!(2))
    );
    let metrics = served.get("/metrics").text;
    assert!(metrics.contains("\njungle_checkpoint_revision 1\n"), "{metrics}");
    assert!(metrics.contains("\njungle_checkpoint_failed 0\n"), "{metrics}");
    assert!(metrics.contains("\njungle_log_no_room_ahead 0\n"), "{metrics}");
    assert!(metrics.contains("\njungle_memory_spills 0\n"), "{metrics}");
}
