//! Five servers of the engine keep the log: any two of them may be lost, and no more.

use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, LogError, Options, Survey};
use jungle_db::{Jungle, NotWritten, Revision, TreeHandle, UpdateError};
use jungle_testkit::NatsServers;

use crate::support::{add, agree, int, options, put};

const ENGINE: usize = 5;
/// What is counted up to while two of them are killed.
const COUNT: i64 = 40;
/// How long anything may take: an election takes seconds, and the machine may have little time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a commit waits that is to fail.
const SHORT: Duration = Duration::from_secs(1);

#[test]
fn of_five_of_the_engine_two_may_be_lost_and_no_more() {
    let mut engine = NatsServers::start(ENGINE);
    let named = [("a", PATIENCE), ("b", PATIENCE), ("hasty", SHORT)];
    let mut servers = Vec::from(named.map(|(name, within)| join(&engine, name, within)));
    let tree = servers[0].0.create_tree("t").unwrap();
    put(&tree, "/", "whole", 1);
    agree(&servers);

    let first = leader(&engine, &servers[0].1, is_whole);
    let second = (first + 1) % ENGINE;
    let counting = Revision::new(servers[0].0.revision().number() + 5);
    thread::scope(|scope| {
        let counted = tree_of(&servers[1]);
        scope.spawn(move || (0..COUNT).for_each(|_| add(&counted)));
        assert!(servers[0].1.wait_for(counting, PATIENCE));
        engine.kill(first);
        engine.kill(second);
        put(&tree, "/", "two_lost", 1);
    });
    agree(&servers);

    let heir = leader(&engine, &servers[0].1, |_| true);
    let third = (0..ENGINE).find(|at| ![first, second, heir].contains(at)).unwrap();
    // Whoever leads is still there, and promises nothing that only two have.
    engine.kill(third);
    thread::scope(|scope| {
        let waits = tree.clone();
        let waiting = scope.spawn(move || put(&waits, "/", "three_lost", 1));
        nothing_is_decided(&servers[2]);
        for server in &servers {
            let tree = tree_of(server);
            let read = ["n", "whole", "two_lost"].map(|key| int(&tree, "/", key));
            assert_eq!(read, [Some(COUNT), Some(1), Some(1)]);
        }
        assert!(!waiting.is_finished(), "two of five are no majority");
        // It has missed what was acknowledged since, and comes to three with those who have it.
        engine.restart(first);
    });
    put(&tree_of(&servers[1]), "/", "one_back", 1);

    engine.restart(second);
    engine.restart(third);
    leader(&engine, &servers[0].1, is_whole);
    servers.push(join(&engine, "new", PATIENCE));
    for (_, cluster) in &servers {
        cluster.linearize(PATIENCE).unwrap();
    }
    agree(&servers);
    let tree = tree_of(&servers[3]);
    assert_eq!(int(&tree, "/", "n"), Some(COUNT));
    for key in ["whole", "two_lost", "three_lost", "one_back"] {
        assert_eq!(int(&tree, "/", key), Some(1), "{key}");
    }
}

fn join(engine: &NatsServers, name: &str, commit_within: Duration) -> (Jungle, Cluster) {
    let jungle = Jungle::new().unwrap();
    let (replicas, join_within) = (ENGINE, PATIENCE);
    let options = Options { replicas, commit_within, join_within, ..options(name) };
    let cluster = Cluster::join(&engine.addresses(), &jungle, options).unwrap();
    (jungle, cluster)
}

fn tree_of((jungle, _): &(Jungle, Cluster)) -> TreeHandle {
    jungle.open_tree("t").unwrap()
}

/// Do all five keep the log, and have all that the leader has?
fn is_whole(survey: &Survey) -> bool {
    let others = &survey.log.replicas;
    others.len() == ENGINE - 1 && others.iter().all(|it| it.current)
}

/// Waits until there is a leader of the log, of which something is so.
fn leader(engine: &NatsServers, cluster: &Cluster, is_so: impl Fn(&Survey) -> bool) -> usize {
    let begun = Instant::now();
    loop {
        let told = cluster.survey(Duration::ZERO);
        if let Ok(Some(survey)) = &told
            && is_so(survey)
            && let Some(leader) = &survey.log.leader
        {
            return engine.position(leader).unwrap();
        }
        assert!(begun.elapsed() < PATIENCE, "{told:?}");
    }
}

/// A commit is not acknowledged in time, nor does a server say what is newest.
fn nothing_is_decided(server: &(Jungle, Cluster)) {
    let lost = tree_of(server).update(|tx| tx.put_attribute(&[], "hasty", 1));
    let Err(UpdateError::NotWritten(NotWritten::Undecided(_))) = lost else { panic!("{lost:?}") };
    let newest = server.1.linearize(SHORT);
    assert!(matches!(newest, Err(LogError::NoAnswer { .. })), "{newest:?}");
}
