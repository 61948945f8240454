//! A server of a cluster that follows its log no further: it says so, and nothing of the trees.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jungle::OpenOptions;
use jungle_cluster::{Cluster, Log, MemoryLog, Options};
use jungle_server::{Access, Data, Role};
use serde_json::json;

use crate::people::grant;
use crate::status::fact;
use crate::support::{Folder, Served, limits};

/// A server that follows this log, in a folder.
fn follow(log: MemoryLog, folder: &Folder) -> (Served, Arc<Cluster>) {
    follow_with(log, folder, jungle_server::Options::default())
}

fn follow_with(
    log: MemoryLog,
    folder: &Folder,
    options: jungle_server::Options,
) -> (Served, Arc<Cluster>) {
    let open = OpenOptions::new();
    let joined = Cluster::follow_in_folder(Arc::new(log), &folder.0, &open, &Options::default());
    let (store, cluster) = joined.unwrap();
    let cluster = Arc::new(cluster);
    let data = Data::Cluster(store, Arc::clone(&cluster));
    // What still waits when a test ends is waited for by nobody.
    let limits = limits(|limits| limits.stop_time = Duration::ZERO);
    (Served::start(data, jungle_server::Options { limits, ..options }), cluster)
}

#[test]
fn it_answers_of_itself_only() {
    let (folder, log) = (Folder::new("stopped"), MemoryLog::new());
    let other = log.connect();
    let (served, cluster) = follow(log, &folder);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    served.get("/api/v1/trees/t/node").expect(200);
    assert_eq!(fact(&served.get("/status").text, "Cluster"), Some("follows its log"));

    let (_, last) = other.bounds().unwrap();
    let long = Duration::from_secs(60);
    other.append(last, &Bytes::from_static(b"what no server writes"), long).unwrap();
    assert!(cluster.sync(long).is_err());
    let page = served.get("/status");
    assert_eq!(page.status, 200);
    for path in ["/assets/board.css", "/explorer/explorer.js", "/openapi.json"] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    // Whoever is to see that may have to log in first.
    assert_eq!(served.get("/login?next=%2Fstatus").status, 303);
    let stands = fact(&page.text, "Cluster").unwrap();
    assert!(stands.starts_with("stopped: "), "{stands}");
    for path in ["/boards", "/api/v1/trees/t/node"] {
        let refused = served.get(path);
        assert_eq!(
            (refused.status.as_u16(), refused.problem()),
            (503, "stopped".to_owned()),
            "{path}"
        );
    }
}

#[test]
fn strangers_are_told_no_more_than_that_it_is_there() {
    let (folder, log) = (Folder::new("health-data"), MemoryLog::new());
    let (other, grants) = (log.connect(), Folder::new("health-access"));
    std::fs::create_dir_all(&grants.0).unwrap();
    let (file, mut access) = (grants.0.join("access.toml"), Access::default());
    let tokens = ["all", "part"].map(|who| (who, access.add_token(who, None).unwrap()));
    access.grant(grant("all", "*", "/", Role::Read)).unwrap();
    access.grant(grant("part", "t", "/", Role::Admin)).unwrap();
    access.write(&file).unwrap();
    let options = jungle_server::Options { access: Some(file), ..Default::default() };
    let (served, cluster) = follow_with(log, &folder, options);
    let [all, part] = tokens.map(|(_, token)| format!("Bearer {token}"));
    let asked =
        |by: &str| served.send("GET", "/health", &[("authorization", by)], None).expect(200);
    assert_eq!(asked(&all)["cluster"]["role"], "follows");

    let (_, last) = other.bounds().unwrap();
    let long = Duration::from_secs(60);
    other.append(last, &Bytes::from_static(b"what no server writes"), long).unwrap();
    assert!(cluster.sync(long).is_err());
    for told in [served.get("/health").expect(200), asked(&part)] {
        assert_eq!(told, json!({"status": "stopped"}));
    }
    assert!(asked(&all)["cluster"]["fault"].is_string());
}

#[test]
fn what_is_open_to_strangers_is_not_waited_for() {
    let folder = Folder::new("open-not-waited");
    let (served, _cluster) = follow(MemoryLog::new(), &folder);
    for path in ["/openapi.json", "/explorer/explorer.js", "/health"] {
        for header in [("jungle-revision", "9999999999"), ("jungle-consistency", "nonsense")] {
            assert_eq!(served.send("GET", path, &[header], None).status, 200, "{path} {header:?}");
        }
    }
    let refused = served.send("GET", "/boards", &[("jungle-consistency", "nonsense")], None);
    assert_eq!(refused.problem(), "bad-request");
}

#[test]
fn many_that_wait_leave_threads_for_others() {
    let folder = Folder::new("many-wait");
    let (served, _cluster) = follow(MemoryLog::new(), &folder);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let ask = "GET /boards HTTP/1.1\r\nHost: localhost\r\nJungle-Revision: 9999999999\r\n\r\n";
    // More than there are threads.
    let waiting = (0..400).map(|_| {
        let mut stream = served.connect();
        stream.write_all(ask.as_bytes()).unwrap();
        stream
    });
    let waiting: Vec<_> = waiting.collect();
    served.send("PUT", "/api/v1/trees/t/document", &[], Some("[1]")).expect(200);
    for mut stream in waiting {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0]);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock, "nobody gave up meanwhile");
    }
}
