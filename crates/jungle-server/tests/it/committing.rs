//! Commits of servers of a cluster, on a real engine.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use jungle::OpenOptions;
use jungle_cluster::{Cluster, Log, NatsLog, Options};
use jungle_server::Data;
use jungle_testkit::NatsServers;
use serde_json::{Value as Json, json};

use crate::support::{Answer, Folder, Served};

const LONG: Duration = Duration::from_secs(60);
const CLIENTS: u64 = 8;
const POSTS: u64 = 25;

struct Member {
    served: Served,
    cluster: Arc<Cluster>,
    _folder: Folder,
}

impl Member {
    fn start(engine: &NatsServers, test: &str, name: &str) -> Member {
        let folder = Folder::new(&format!("committing-{test}-{name}"));
        let mut named = Options { replicas: 1, ..Options::default() };
        named.server = name.to_owned();
        let log = Arc::new(NatsLog::connect(&engine.addresses(), &named).unwrap());
        let (data, open) = (folder.0.join("data"), OpenOptions::new());
        let (store, cluster) = Cluster::follow_in_folder(log, &data, &open, &named).unwrap();
        let cluster = Arc::new(cluster);
        let data = Data::Cluster(store, Arc::clone(&cluster));
        let served = Served::start(data, jungle_server::Options::default());
        Member { served, cluster, _folder: folder }
    }

    fn commit(&self, edits: &Json) -> Answer {
        self.served.post("/api/v1/trees/t/commits", &json!({"edits": edits}).to_string())
    }

    fn commit_once(&self, key: &str, edits: &Json) -> Answer {
        let (key, body) = ([("idempotency-key", key)], json!({"edits": edits}).to_string());
        self.served.send("POST", "/api/v1/trees/t/commits", &key, Some(&body))
    }

    fn children(&self) -> u64 {
        self.cluster.sync(LONG).unwrap();
        self.served.get("/api/v1/trees/t").expect(200)["children"].as_u64().unwrap()
    }
}

fn members(engine: &NatsServers, test: &str) -> [Member; 2] {
    let members = ["a", "b"].map(|name| Member::start(engine, test, name));
    members[0].served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    members[1].cluster.sync(LONG).unwrap();
    members
}

#[test]
fn commits_of_many_at_once_are_each_what_was_answered() {
    let engine = NatsServers::start(1);
    let members = members(&engine, "many");
    let answered = Mutex::new(Vec::new());
    let post = |member: &Member, number: u64| {
        let edits = json!([{"op": "append", "attributes": {"number": number}}]);
        let done = member.commit(&edits).expect(200);
        assert_eq!(done["changed"], true);
        let path = done["created"][0].as_str().unwrap().to_owned();
        answered.lock().unwrap().push((done["revision"].as_u64().unwrap(), path, number));
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (member, post) = (&members[client as usize % 2], &post);
            let numbers = client * POSTS..(client + 1) * POSTS;
            scope.spawn(move || numbers.for_each(|number| post(member, number)));
            // What fails is told, and is in nobody's way.
            scope.spawn(move || {
                for _ in 0..POSTS {
                    member.commit(&json!([{"op": "remove", "path": "/none"}])).expect(404);
                }
            });
        }
    });
    for member in &members {
        assert_eq!(member.children(), CLIENTS * POSTS);
    }
    let answered = answered.into_inner().unwrap();
    let revisions: BTreeSet<u64> = answered.iter().map(|(revision, ..)| *revision).collect();
    assert_eq!(revisions.len() as u64, CLIENTS * POSTS, "each has a revision of its own");
    for (revision, path, number) in &answered {
        // By the other server than the one that committed it, at the revision that was answered.
        let other = &members[1 - (number / POSTS) as usize % 2].served;
        let node = |at: u64| other.get(&format!("/api/v1/trees/t/node?path={path}&at={at}"));
        assert_eq!(node(*revision).expect(200)["attributes"]["number"]["value"], *number);
        node(revision - 1).expect(404);
    }
}

#[test]
fn commit_that_changes_nothing_makes_no_revision() {
    let engine = NatsServers::start(1);
    let [member, _] = &members(&engine, "nothing");
    let put = json!([{"op": "put", "path": "/", "attribute": "a", "value": 1}]);
    let first = member.commit(&put).expect(200);
    let tested = json!([{"op": "test", "path": "/", "attribute": "a", "value": 1}]);
    let second = member.commit(&tested).expect(200);
    assert_eq!((&first["changed"], &second["changed"]), (&json!(true), &json!(false)));
    assert_eq!(first["revision"], second["revision"]);
}

#[test]
fn request_that_is_sent_to_several_servers_is_done_once() {
    let engine = NatsServers::start(1);
    let members = members(&engine, "once");
    let append = json!([{"op": "append"}]);
    let send = |member: &Member, key: u64| loop {
        let answer = member.commit_once(&key.to_string(), &append);
        // It is being done for another client of the same server.
        if answer.status != 409 {
            break answer.expect(200)["revision"].as_u64().unwrap();
        }
    };
    let send_all =
        |client: usize| (0..POSTS).map(|key| send(&members[client % 2], key)).collect::<Vec<u64>>();
    let revisions = thread::scope(|scope| {
        let send_all = &send_all;
        let sent: Vec<_> = (0..4).map(|client| scope.spawn(move || send_all(client))).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect::<BTreeSet<_>>()
    });
    assert_eq!(revisions.len(), 1, "{revisions:?}");
    for member in &members {
        assert_eq!(member.children(), POSTS);
        let other = member.commit_once("0", &json!([{"op": "append"}, {"op": "append"}]));
        assert_eq!(other.problem(), "other-request");
    }
}

#[test]
fn requests_are_not_written_where_a_server_cannot_read_them() {
    let engine = NatsServers::start(1);
    let older = Options { replicas: 1, server: "older".to_owned(), ..Options::default() };
    let older = NatsLog::connect(&engine.addresses(), &older).unwrap();
    let told = json!({"server": "older", "version": "0", "followed": 0, "revision": 0});
    older.answer(Arc::new(move || serde_json::from_value(told.clone()).unwrap()));
    let [a, b] = &members(&engine, "older");
    let append = json!([{"op": "append"}]);
    let first = a.commit_once("k", &append).expect(200);
    assert_eq!(a.commit_once("k", &append).expect(200), first);
    b.cluster.sync(LONG).unwrap();
    let tree = b.served.server.jungle().open_tree("t").unwrap();
    assert!(tree.history(..).all(|info| info.unwrap().meta.request().is_none()));
    assert!(
        b.commit_once("k", &append).expect(200)["revision"].as_u64() > first["revision"].as_u64()
    );
}
