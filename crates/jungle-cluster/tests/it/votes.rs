//! Where servers have different trees, those stop that most others are not like.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, Fault, Log, MemoryLog, NatsLog, Options};
use jungle_db::{Jungle, NotWritten, UpdateError};
use jungle_testkit::NatsServers;

use crate::support::{agree, int, options, put};

const LONG: Duration = Duration::from_secs(30);

type Server = (Jungle, Cluster);

/// As many servers that are like the others, and one that is not, all on one log.
fn servers(sound: usize, connect: impl Fn(&str) -> Arc<dyn Log>) -> (Vec<Server>, Server) {
    let join = |name: &str, jungle: Jungle| {
        let cluster = Cluster::follow(connect(name), &jungle, &options(name)).unwrap();
        (jungle, cluster)
    };
    let names = ["a", "b", "c"];
    let sound: Vec<Server> =
        names[..sound].iter().map(|name| join(name, Jungle::new().unwrap())).collect();
    let commit = |jungle: &Jungle, n: i64| {
        let tree = jungle.create_tree("t").unwrap();
        put(&tree, "/", "n", n);
        put(&tree, "/", "last", 1);
    };
    commit(&sound[0].0, 1);
    for (_, cluster) in &sound {
        cluster.sync(LONG).unwrap();
    }
    // As many commits, and the same last one, but one of them is another.
    let damaged = Jungle::new().unwrap();
    commit(&damaged, 2);
    (sound, join("damaged", damaged))
}

fn in_memory() -> impl Fn(&str) -> Arc<dyn Log> {
    let log = MemoryLog::new();
    move |_| Arc::new(log.connect())
}

fn fault_of((_, cluster): &Server) -> Arc<Fault> {
    let begun = Instant::now();
    loop {
        if let Some(fault) = cluster.fault() {
            return fault;
        }
        assert!(begun.elapsed() < LONG, "{:?}", cluster.status());
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// It may have been told that it is damaged before it is told that this has its place.
fn write_on(damaged: &Server) {
    let tree = damaged.0.open_tree("t").unwrap();
    let written = tree.update(|tx| tx.put_attribute(&[], "m", 3)).map(drop);
    let is_undecided = matches!(written, Err(UpdateError::NotWritten(NotWritten::Undecided(_))));
    assert!(written.is_ok() || is_undecided, "{written:?}");
}

/// The damaged one writes.
fn check_that_it_stops((sound, damaged): &(Vec<Server>, Server)) {
    write_on(damaged);
    let fault = fault_of(damaged);
    assert!(matches!(*fault, Fault::Disputed { alike: 0, other: 2, .. }), "{fault:?}");
    let refused = damaged.0.open_tree("t").unwrap().update(|tx| tx.append(&[]));
    assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_)))));
    // What it wrote is there, on what the others had.
    agree(sound);
    let tree = sound[0].0.open_tree("t").unwrap();
    assert_eq!((int(&tree, "/", "n"), int(&tree, "/", "m")), (Some(1), Some(3)));
    put(&tree, "/", "n", 4);
    agree(sound);
}

#[test]
fn a_damaged_server_that_writes_stops_and_the_others_go_on() {
    check_that_it_stops(&servers(2, in_memory()));
}

#[test]
fn servers_ask_each_other_over_the_engine() {
    let engine = NatsServers::start(1);
    check_that_it_stops(&servers(2, |name| {
        let options = Options { replicas: 1, ..options(name) };
        Arc::new(NatsLog::connect(&engine.addresses(), &options).unwrap())
    }));
}

#[test]
fn a_damaged_server_that_only_follows_stops_alone() {
    let (sound, damaged) = servers(2, in_memory());
    let tree = sound[1].0.open_tree("t").unwrap();
    put(&tree, "/", "m", 3);
    let fault = fault_of(&damaged);
    assert!(matches!(*fault, Fault::Diverged { sequence: 4, .. }), "{fault:?}");
    put(&tree, "/", "m", 4);
    agree(&sound);
}

#[test]
fn of_two_servers_that_differ_both_say_so() {
    let (sound, damaged) = servers(1, in_memory());
    write_on(&damaged);
    let fault = fault_of(&sound[0]);
    assert!(matches!(*fault, Fault::Diverged { sequence: 4, .. }), "{fault:?}");
    let fault = fault_of(&damaged);
    assert!(matches!(*fault, Fault::Disputed { alike: 0, other: 1, .. }), "{fault:?}");
}

/// No message says what it is: nobody writes to it any more, but elsewhere.
#[test]
fn a_difference_where_nobody_writes_any_more_is_found() {
    for damaged_asks in [false, true] {
        let (mut sound, damaged) = servers(2, in_memory());
        put(&sound[0].0.create_tree("other").unwrap(), "/", "n", 1);
        agree(&sound);
        damaged.1.sync(LONG).unwrap();
        assert!(damaged.1.fault().is_none());
        let (_, asks) = if damaged_asks { &damaged } else { &sound[0] };
        asks.compare();
        let fault = fault_of(&damaged);
        assert!(matches!(*fault, Fault::Disputed { alike: 0, other: 2, .. }), "{fault:?}");
        agree(&sound);
        assert!(sound.iter().all(|(_, cluster)| cluster.fault().is_none()));
        // It is two against one no more, but who has stopped has no vote.
        drop(sound.pop());
        sound[0].1.compare();
        assert!(sound[0].1.fault().is_none());
    }
}

/// While it was alone nobody had something else; it is asked about the same when others are there.
#[test]
fn a_difference_is_found_also_by_who_has_compared_alone() {
    let connect = in_memory();
    let (sound, damaged) = servers(2, &connect);
    drop(sound);
    damaged.1.compare();
    assert!(damaged.1.fault().is_none());
    let joined = ["d", "e"].map(|name| {
        let jungle = Jungle::new().unwrap();
        let cluster = Cluster::follow(connect(name), &jungle, &options(name)).unwrap();
        (jungle, cluster)
    });
    assert_eq!(joined[0].0.revision(), damaged.0.revision());
    joined[0].1.compare();
    let fault = fault_of(&damaged);
    assert!(matches!(*fault, Fault::Disputed { alike: 0, other: 2, .. }), "{fault:?}");
    assert!(joined.iter().all(|(_, cluster)| cluster.fault().is_none()));
}

/// Who comes later follows past what the damaged one wrote, since the others did.
#[test]
fn a_newcomer_follows_what_the_others_have() {
    let connect = in_memory();
    let all = servers(2, &connect);
    check_that_it_stops(&all);
    let (mut sound, damaged) = all;
    drop(damaged);
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(connect("late"), &jungle, &options("late")).unwrap();
    sound.push((jungle, cluster));
    agree(&sound);
}
