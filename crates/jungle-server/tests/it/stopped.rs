//! A server of a cluster that follows its log no further: it says so, and nothing of the trees.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jungle::OpenOptions;
use jungle_cluster::{Cluster, Log, LogError, MemoryLog, Options};
use jungle_server::{Access, Data, Role};
use serde_json::json;

use crate::appending::Appending;
use crate::people::{Granted, grant};
use crate::status::fact;
use crate::support::{Folder, PATIENCE, Served, limits};

const HTML: &str = "text/html; charset=utf-8";

/// A server that follows this log, in a folder.
pub(crate) fn follow(log: impl Log + 'static, folder: &Folder) -> (Served, Arc<Cluster>) {
    follow_with(log, folder, jungle_server::Options::default())
}

fn follow_with(
    log: impl Log + 'static,
    folder: &Folder,
    mut options: jungle_server::Options,
) -> (Served, Arc<Cluster>) {
    let open = OpenOptions::new();
    let joined = Cluster::follow_in_folder(Arc::new(log), &folder.0, &open, &Options::default());
    let (store, cluster) = joined.unwrap();
    let cluster = Arc::new(cluster);
    let data = Data::Cluster(store, Arc::clone(&cluster));
    // What still waits when a test ends is waited for by nobody.
    options.limits.stop_time = Duration::ZERO;
    (Served::start(data, options), cluster)
}

/// The same with an access file, in another folder: and what each sends in `Authorization`.
fn follow_guarded<const N: usize>(
    log: MemoryLog,
    (folder, grants): (&Folder, &Folder),
    granted: [Granted<'_>; N],
) -> ((Served, Arc<Cluster>), [String; N]) {
    std::fs::create_dir_all(&grants.0).unwrap();
    let (file, mut access) = (grants.0.join("access.toml"), Access::default());
    let tokens = granted.map(|(who, tree, path, role)| {
        let token = access.add_token(who, None).unwrap();
        access.grant(grant(who, tree, path, role)).unwrap();
        format!("Bearer {token}")
    });
    access.write(&file).unwrap();
    let options = jungle_server::Options { access: Some(file), ..Default::default() };
    (follow_with(log, folder, options), tokens)
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
    let refused = served.get("/api/v1/trees/t/node");
    assert_eq!((refused.status.as_u16(), refused.problem()), (503, "stopped".to_owned()));
    let page = served.get("/boards");
    assert_eq!((page.status.as_u16(), page.header("content-type")), (503, HTML));
    assert!(page.text.contains("follows its cluster no further"), "{}", page.text);
}

/// Who watches would take it for a server on which nothing happens.
#[test]
fn its_streams_end() {
    let (folder, log) = (Folder::new("stopped-streams"), MemoryLog::new());
    let other = log.connect();
    let (served, cluster) = follow(log, &folder);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    let mut events = served.watch("t/watch", "Connection: close\r\n");
    let (_, last) = other.bounds().unwrap();
    let long = Duration::from_secs(60);
    other.append(last, &Bytes::from_static(b"what no server writes"), long).unwrap();
    assert!(cluster.sync(long).is_err());
    assert!(events.has_ended());
    assert_eq!(served.get("/api/v1/trees/t/watch").problem(), "stopped");
}

#[test]
fn strangers_are_told_no_more_than_that_it_is_there() {
    let (folder, log) = (Folder::new("health-data"), MemoryLog::new());
    let (other, grants) = (log.connect(), Folder::new("health-access"));
    let granted = [("all", "*", "/", Role::Read), ("part", "t", "/", Role::Admin)];
    let ((served, cluster), [all, part]) = follow_guarded(log, (&folder, &grants), granted);
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
    let told = asked(&all);
    let fault = told["cluster"]["fault"].as_str().unwrap();
    let by = [("authorization", &*part)];
    let refused = served.send("GET", "/api/v1/trees/t", &by, None);
    assert_eq!(refused.problem(), "stopped");
    assert!(!refused.text.contains(fault), "{}", refused.text);
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
    assert_eq!((refused.status.as_u16(), refused.header("content-type")), (400, HTML));
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
        let mut answer = [0; 12];
        match stream.read_exact(&mut answer) {
            Ok(()) => assert_eq!(&answer, b"HTTP/1.1 429"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "nobody gave up"),
        }
    }
}

/// Asks for a commit, and does not wait for it.
fn begin_commit(served: &Served, edits: &str) -> TcpStream {
    let (mut stream, length) = (served.connect(), edits.len() + r#"{"edits":[]}"#.len());
    let head = "POST /api/v1/trees/t/commits HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\n";
    let rest = format!("Content-Length: {length}\r\n\r\n{{\"edits\":[{edits}]}}");
    stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
    stream
}

/// What silences a log.
struct Silence {
    is_silent: Arc<AtomicBool>,
    /// Tells of each message that comes then.
    is_asked: Receiver<()>,
    /// Has it give no answer to one, and answer all once this is dropped.
    fail: Sender<()>,
}

fn silenced() -> (impl Log + 'static, Silence) {
    let ((asked, is_asked), (fail, fails)) = (channel(), channel());
    let (is_silent, fails) = (Arc::new(AtomicBool::new(false)), Mutex::new(fails));
    let is_asleep = Arc::clone(&is_silent);
    let log = Arc::new(MemoryLog::new());
    let log = Appending::new(log, move |log, after, message, within| {
        if is_asleep.load(Ordering::SeqCst) {
            let _ = asked.send(());
            let fails = fails.lock().unwrap_or_else(PoisonError::into_inner);
            if fails.recv().is_ok() {
                return Err(LogError::NoAnswer { within, last: None });
            }
        }
        log.append(after, message, within)
    });
    (log, Silence { is_silent, is_asked, fail })
}

#[test]
fn who_waits_for_the_log_has_no_turn() {
    for (what, body) in
        [("merges", r#"{"from":"draft"}"#), ("reverts", r#"{"at":"draft","mode":"restore"}"#)]
    {
        let (folder, (log, silence)) = (Folder::new(&format!("no-turn-{what}")), silenced());
        let limits = limits(|limits| {
            limits.long_reads_max = 1;
            limits.line_time = Duration::ZERO;
        });
        let options = jungle_server::Options { limits, ..Default::default() };
        let (served, _cluster) = follow_with(log, &folder, options);
        let post = |address: &str, body: &str| served.post(address, body);
        post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
        post("/api/v1/trees/t/branches", r#"{"name":"draft"}"#).expect(201);
        let put = r#"{"edits":[{"op":"put","attribute":"n","value":1}]}"#;
        post("/api/v1/trees/t/commits?branch=draft", put).expect(200);
        silence.is_silent.store(true, Ordering::SeqCst);
        std::thread::scope(|scope| {
            // Dropped before the other thread is waited for, whatever happens.
            let silence: Silence = silence;
            let waiting = scope.spawn(|| post(&format!("/api/v1/trees/t/{what}"), body));
            silence.is_asked.recv_timeout(PATIENCE).unwrap();
            served.get("/api/v1/trees/t/search?attribute=n").expect(200);
            drop(silence);
            assert_eq!(waiting.join().unwrap().expect(200)["changed"], true);
        });
    }
}

#[test]
fn commits_that_contradict_each_other_leave_threads_for_who_reads() {
    let (folder, (log, silence)) = (Folder::new("many-contradict"), silenced());
    let Silence { is_silent, is_asked, fail } = silence;
    let (served, _cluster) = follow(log, &folder);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    is_silent.store(true, Ordering::SeqCst);
    let _first = begin_commit(&served, r#"{"op":"append"}"#);
    is_asked.recv().unwrap();
    // Only one of them can be done. There are more than there are threads.
    let edits = r#"{"op":"test","path":"/","attribute":"n","exists":false},
                   {"op":"put","attribute":"n","value":1}"#;
    let waiting: Vec<_> = (0..400).map(|_| begin_commit(&served, edits)).collect();
    let connections = || {
        let metrics = served.get("/metrics").text;
        let count = metrics.lines().find_map(|line| line.strip_prefix("jungle_connections "));
        count.unwrap().parse::<usize>().unwrap()
    };
    while connections() < waiting.len() {}
    // Dropped before the server is, which must not wait for it.
    let fail = fail;
    for _ in 0..3 {
        fail.send(()).unwrap();
        is_asked.recv().unwrap();
        served.get("/api/v1/trees/t/node").expect(200);
    }
    drop(fail);
    let done = waiting.into_iter().filter_map(|mut stream| {
        let mut answer = [0; "HTTP/1.1 200".len()];
        stream.read_exact(&mut answer).unwrap();
        (&answer == b"HTTP/1.1 200").then_some(())
    });
    assert_eq!(done.count(), 1);
}

#[test]
fn who_waits_much_leaves_places_for_others() {
    let (folder, grants) = (Folder::new("one-waits"), Folder::new("one-waits-access"));
    let granted = ["ana", "ben"].map(|who| (who, "*", "/", Role::Read));
    let ((served, _cluster), [ana, ben]) =
        follow_guarded(MemoryLog::new(), (&folder, &grants), granted);
    let ask = format!(
        "GET /api/v1/trees HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ana}\r\n\
         Jungle-Revision: 9999999999\r\nConnection: close\r\n\r\n"
    );
    let (send, answers) = std::sync::mpsc::channel();
    // One more than may wait.
    for _ in 0..33 {
        let (mut stream, send) = (served.connect(), send.clone());
        stream.write_all(ask.as_bytes()).unwrap();
        std::thread::spawn(move || {
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            let _ = send.send(answer);
        });
    }
    let first = answers.recv().unwrap();
    assert!(first.starts_with("HTTP/1.1 429 "), "{first}");
    assert!(first.contains("32 of your requests that wait for what is newer"), "{first}");
    assert!(first.contains("retry-after: 5\r\n"), "{first}");
    let headers = [("authorization", &*ben), ("jungle-consistency", "linearizable")];
    assert_eq!(served.send("GET", "/api/v1/trees", &headers, None).status, 200);
    assert!(answers.try_recv().is_err(), "the others still wait");
}

/// There are two threads that commit for all.
#[test]
fn a_bug_ends_the_commits_that_meet_it_only() {
    let folder = Folder::new("panicking-commits");
    let is_broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&is_broken);
    let log = Appending::new(Arc::new(MemoryLog::new()), move |log, after, message, within| {
        assert!(!breaks.load(Ordering::SeqCst), "as it appends");
        log.append(after, message, within)
    });
    let (served, _cluster) = follow(log, &folder);
    served.post("/api/v1/trees", r#"{"name":"t"}"#).expect(201);
    // By itself: all other answers are held against the document, which has no 500.
    let commit = || {
        let mut answer = [0; "HTTP/1.1 200".len()];
        begin_commit(&served, r#"{"op":"append"}"#).read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    is_broken.store(true, Ordering::SeqCst);
    assert_eq!([commit(), commit(), commit()], ["HTTP/1.1 500"; 3]);
    is_broken.store(false, Ordering::SeqCst);
    assert_eq!(commit(), "HTTP/1.1 200");
}
