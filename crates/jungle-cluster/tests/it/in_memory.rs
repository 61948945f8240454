//! The log in memory that users have for their own tests.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jungle_cluster::{Appended, Cluster, Depot, Local, Log, LogError, MemoryLog};
use jungle_db::{CommitOptions, Jungle, NotWritten, UpdateError};

use crate::appending::Appending;
use crate::support::{agree, int, newcomer, put, server};

const LONG: Duration = Duration::from_secs(30);

fn servers(log: &MemoryLog, names: &[&str]) -> Vec<(Jungle, Cluster)> {
    names.iter().map(|name| server(&Arc::new(log.connect()), name)).collect()
}

#[test]
fn servers_of_a_log_in_memory_have_the_same_trees() {
    let log = MemoryLog::new();
    let servers = servers(&log, &["one", "two", "three"]);
    let tree = servers[0].0.create_tree("t").unwrap();
    put(&tree, "/", "n", 0);
    thread::scope(|scope| {
        for (jungle, cluster) in &servers {
            scope.spawn(|| {
                cluster.sync(LONG).unwrap();
                let tree = jungle.open_tree("t").unwrap();
                for _ in 0..20 {
                    let add = |tx: &mut jungle_db::Draft| {
                        let n = tx.root().attribute("n").and_then(|n| n.as_int()).unwrap();
                        tx.put_attribute(&[], "n", n + 1)
                    };
                    tree.update(add).unwrap();
                }
            });
        }
    });
    agree(&servers);
    assert_eq!(int(&tree, "/", "n"), Some(60));
}

#[test]
fn a_log_in_memory_is_trimmed_and_newcomers_begin_with_its_checkpoint() {
    let log = MemoryLog::new();
    let mut servers = servers(&log, &["one"]);
    let tree = servers[0].0.create_tree("t").unwrap();
    for n in 0..3 {
        put(&tree, "/", "n", n);
        assert_eq!(servers[0].1.checkpoint().unwrap(), n as u64 + 2);
    }
    assert_eq!((log.bounds().unwrap(), log.stored().unwrap()), ((4, 4), vec![4, 3]));
    assert_eq!((log.get(3).unwrap(), log.get(4).unwrap().is_some()), (None, true));
    assert_eq!(log.get(0).unwrap(), None);
    servers.push(newcomer(Arc::new(log.connect()), "two").unwrap());
    put(&tree, "/", "n", 7);
    agree(&servers);
    assert_eq!(int(&servers[1].0.open_tree("t").unwrap(), "/", "n"), Some(7));
}

/// A log that takes no long messages.
fn short() -> Arc<impl Log + 'static> {
    let log = Arc::new(MemoryLog::new());
    Arc::new(Appending::new(log, |log, after, message, within| {
        let (bytes, reason) = (message.len(), "it is too long".to_owned());
        if bytes > 1 << 19 {
            return Err(LogError::Refused { bytes, reason });
        }
        log.append(after, message, within)
    }))
}

#[test]
fn a_commit_that_is_too_long_has_nothing_refused_that_waits_with_it() {
    let (jungle, _cluster) = server(&short(), "one");
    let tree = jungle.create_tree("t").unwrap();
    let long = "long ".repeat(300_000);
    let placed = jungle.in_series(&[&tree], |series| {
        for text in [&*long, "short"] {
            let put = |tx: &mut jungle_db::Draft| tx.put_attribute(&[], "text", text);
            series.update(&tree, &CommitOptions::default(), put).unwrap();
        }
    });
    let placed = placed.unwrap().unwrap();
    assert_eq!((placed.commits, placed.is_too_long), (0, true));
    let alone = tree.update(|tx| tx.put_attribute(&[], "text", &*long));
    let is_refused = matches!(alone, Err(UpdateError::NotWritten(NotWritten::Refused(_))));
    assert!(is_refused, "{alone:?}");
    put(&tree, "/", "n", 1);
    assert_eq!(int(&tree, "/", "n"), Some(1));
}

/// It is tried again now and then, and not all the time.
#[test]
fn a_local_commit_that_is_too_long_is_told_of_where_others_wait_behind_it() {
    let (jungle, cluster) = server(&short(), "one");
    let (tree, outbox) = (jungle.create_tree("t").unwrap(), Arc::new(Jungle::new().unwrap()));
    let local = Local::open(&cluster, Arc::clone(&outbox)).unwrap();
    let long = "long ".repeat(120_000);
    for text in [&*long, "short"] {
        let put = |tx: &mut jungle_db::Draft| tx.put_attribute(&[], "text", text);
        local.update(&tree, &CommitOptions::default(), put).unwrap();
    }
    drop(local);
    let local = cluster.local(outbox).unwrap();
    let begun = Instant::now();
    while local.status().error.is_none() {
        assert!(begun.elapsed() < LONG, "{:?}", local.status());
        thread::yield_now();
    }
    assert_eq!(local.status().pending, 2);
}

#[test]
fn messages_are_appended_behind_the_newest_one_once() {
    let log = MemoryLog::new();
    let append = |after, text: &'static str| log.append(after, &Bytes::from(text), LONG).unwrap();
    assert_eq!(append(0, "a"), Appended::At(1));
    assert_eq!(append(0, "a"), Appended::At(1));
    assert_eq!(append(0, "b"), Appended::Behind);
    assert_eq!(append(2, "b"), Appended::Behind);
    assert_eq!(append(1, "b"), Appended::At(2));
    let found: Vec<_> = log.tail(1).take(2).collect();
    assert_eq!(found, [(1, Bytes::from("a")), (2, Bytes::from("b"))]);
}

#[test]
fn closing_ends_the_tails_of_one_connection_and_lets_its_claim_go() {
    let (log, other) = (MemoryLog::new(), MemoryLog::new());
    assert_ne!(log.id(), other.id());
    let other = log.connect();
    assert_eq!(log.id(), other.id());
    assert!(log.claim("one").unwrap());
    assert!(!other.claim("two").unwrap());
    thread::scope(|scope| {
        let tail = scope.spawn(|| log.tail(1).count());
        log.close();
        assert_eq!(tail.join().unwrap(), 0);
    });
    let closed = log.append(0, &Bytes::new(), LONG);
    assert!(matches!(closed, Err(LogError::Closed)), "{closed:?}");
    assert!(other.claim("two").unwrap());
    let mut tail = other.tail(1);
    assert_eq!(other.append(0, &Bytes::from("a"), LONG).unwrap(), Appended::At(1));
    assert_eq!(tail.next(), Some((1, Bytes::from("a"))));
}

#[test]
fn servers_of_a_log_in_memory_can_be_asked_how_they_stand() {
    let log = MemoryLog::new();
    let mut servers = servers(&log, &["two", "one"]);
    servers[0].0.create_tree("t").unwrap();
    agree(&servers);
    let survey = servers[0].1.survey(LONG).unwrap().unwrap();
    let names: Vec<&str> = survey.servers.iter().map(|server| &*server.server).collect();
    assert_eq!((names, survey.log.last), (vec!["one", "two"], 1));
    assert!(survey.servers.iter().all(|server| survey.lag(server) == 0));
    assert_eq!(survey.servers[0].hash, survey.servers[1].hash);
    servers.pop();
    let survey = servers[0].1.survey(LONG).unwrap().unwrap();
    assert_eq!(survey.servers.len(), 1);
}
