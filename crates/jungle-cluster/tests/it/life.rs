//! Checkpoints: whoever comes later begins with the newest, and the log before is not needed.

use std::sync::Arc;
use std::time::Duration;

use jungle_cluster::{CheckpointError, Cluster, Fault, JoinError, Joining, Log, LogId, Options};
use jungle_db::{Jungle, Retention};
use jungle_store::OpenOptions;
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::ArenaOptions;

use crate::memory::Engine;
use crate::model::{Counts, work};
use crate::support::{Cut, agree, int, newcomer, options, portrait, put, server};

const LONG: Duration = Duration::from_secs(30);

type Server = (Jungle, Cluster);

/// A log that was trimmed, with two checkpoints, and the server that wrote them.
fn trimmed(rng: &mut Rng, name: &str) -> (Arc<Engine>, Server) {
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(rng, 0), name);
    let tree = jungle.create_tree("t").unwrap();
    tree.branch("side", tree.snapshot().revision()).unwrap();
    for round in 0..3 {
        (0..5).for_each(|n| put(&tree, "/", "n", round * 5 + n));
        assert_eq!(cluster.checkpoint().unwrap(), 2 + 5 * (round as u64 + 1));
    }
    put(&tree, "/", "n", 100);
    (engine, (jungle, cluster))
}

/// It is whole on another server of the engine, so no checkpoint is to go for it.
#[test]
fn a_checkpoint_is_held_against_a_message_that_is_whole() {
    let rng = &mut Rng::new(1);
    let (engine, first) = trimmed(rng, "first");
    // It is all that is left to begin with.
    engine.checkpoints().remove(&12);
    engine.damaged.lock().unwrap().insert(17, 1);
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    engine.damaged.lock().unwrap().insert(17, 1);
    assert_eq!(first.1.checkpoint().unwrap(), 18);
    assert_eq!(engine.checkpoints().keys().copied().collect::<Vec<_>>(), [17, 18]);
    agree(&[first, second]);
}

/// Nobody has it whole, and nobody needs it: the checkpoint has what it says.
#[test]
fn a_checkpoint_of_a_message_that_is_damaged_everywhere_is_of_use() {
    let rng = &mut Rng::new(1);
    let (engine, first) = trimmed(rng, "first");
    engine.damaged.lock().unwrap().insert(17, u32::MAX);
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    assert_eq!(first.1.checkpoint().unwrap(), 18);
    assert_eq!(engine.checkpoints().keys().copied().collect::<Vec<_>>(), [17, 18]);
    agree(&[first, second]);
}

#[test]
fn a_newcomer_begins_with_the_newest_checkpoint() {
    let rng = &mut Rng::new(1);
    let (engine, first) = trimmed(rng, "first");
    assert_eq!(engine.checkpoints().keys().copied().collect::<Vec<_>>(), [12, 17]);
    assert_eq!((engine.trimmed(), first.1.status().checkpoint), (12, 17));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Options {
        progress: Some({
            let told = Arc::clone(&told);
            Arc::new(move |joining| told.lock().unwrap().push(joining))
        }),
        ..options("second")
    };
    let (builder, arena) = (Jungle::builder(), ArenaOptions::default());
    let second = Cluster::follow_in_memory(engine.connect(rng, 0), &builder, &arena, &telling);
    let second = second.unwrap();
    let bytes = engine.checkpoints()[&17].len() as u64;
    assert_eq!(told.lock().unwrap().first(), Some(&Joining::Checkpoint { bytes, of: bytes }));
    assert_eq!(second.1.status().checkpoint, 17);
    put(&second.0.open_tree("t").unwrap(), "/", "m", 1);
    // The histories are there, too.
    first.1.sync(LONG).unwrap();
    let tree = second.0.open_tree("t").unwrap();
    assert_eq!(tree.history(..).count(), first.0.open_tree("t").unwrap().history(..).count());
    agree(&[first, second]);
}

#[test]
fn damaged_checkpoints_are_left_out() {
    for_each_seed(40, |rng| {
        let (engine, first) = trimmed(rng, "first");
        let flip = |rng: &mut Rng, sequence: u64| {
            let mut checkpoints = engine.checkpoints();
            let bytes = checkpoints.get_mut(&sequence).unwrap();
            match rng.below(3) {
                0 => bytes.truncate(rng.index(bytes.len())),
                _ => {
                    let at = rng.index(bytes.len());
                    bytes[at] ^= 1 << rng.below(8);
                }
            }
        };
        flip(rng, 17);
        let second = newcomer(engine.connect(rng, 0), "second").unwrap();
        agree(&[first, second]);
        flip(rng, 12);
        let refused = newcomer(engine.connect(rng, 0), "third").map(drop);
        let Err(JoinError::Checkpoint { sequence: 17, source }) = refused else {
            panic!("{refused:?}");
        };
        assert!(!matches!(source, CheckpointError::Log(_)), "{source:?}");
    });
}

#[test]
fn damaged_checkpoints_of_a_whole_log_are_not_needed() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let first = server(&engine.connect(rng, 0), "first");
    put(&first.0.create_tree("t").unwrap(), "/", "n", 1);
    first.1.checkpoint().unwrap();
    engine.checkpoints().get_mut(&2).unwrap().truncate(100);
    // One of another log that was longer.
    engine.checkpoints().insert(1000, Vec::new());
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    put(&second.0.open_tree("t").unwrap(), "/", "n", 2);
    second.1.checkpoint().unwrap();
    assert_eq!(engine.checkpoints().keys().copied().collect::<Vec<_>>(), [3, 1000]);
    assert_eq!(engine.trimmed(), 0, "neither the damaged one is counted, nor another log's");
    agree(&[first, second]);
}

#[test]
fn a_checkpoint_of_another_log_is_not_taken() {
    let rng = &mut Rng::new(1);
    let (other, _other) = trimmed(rng, "other");
    let (engine, first) = trimmed(rng, "first");
    let foreign = other.checkpoints()[&17].clone();
    engine.checkpoints().insert(17, foreign);
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    assert_eq!(int(&second.0.open_tree("t").unwrap(), "/", "n"), Some(100));
    // It began with the one before.
    engine.checkpoints().remove(&12);
    let refused = newcomer(engine.connect(rng, 0), "third").map(drop);
    let Err(JoinError::Checkpoint { source, .. }) = refused else { panic!("{refused:?}") };
    assert!(matches!(source, CheckpointError::Unlinked { sequence: 17 }), "{source:?}");
    agree(&[first, second]);
}

#[test]
fn a_server_that_was_cut_off_over_a_trim_says_so() {
    let rng = &mut Rng::new(1);
    let (engine, (jungle, cluster)) = trimmed(rng, "first");
    let cut = Cut::new(engine.connect(rng, 0));
    let away = newcomer(Arc::clone(&cut), "away").unwrap();
    cut.set(true);
    let tree = jungle.open_tree("t").unwrap();
    for n in 0..2 {
        put(&tree, "/", "n", n);
        cluster.checkpoint().unwrap();
    }
    put(&tree, "/", "n", 2);
    cut.set(false);
    assert!(away.1.sync(LONG).is_err());
    let fault = away.1.status().fault.unwrap();
    assert!(matches!(&*fault, Fault::Trimmed { expected: 19, first: 20 }), "{fault:?}");
    assert!(matches!(away.1.checkpoint(), Err(CheckpointError::Fault(_))));
    let again = newcomer(engine.connect(rng, 0), "again").unwrap();
    agree(&[(jungle, cluster), again]);
}

#[test]
fn a_folder_that_was_away_for_too_long_begins_with_the_newest_checkpoint() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(rng, 0), "first");
    let tree = jungle.create_tree("t").unwrap();
    let dir = std::env::temp_dir().join(format!("jungle-life-{}", std::process::id()));
    let mut join = |dir: &std::path::Path| {
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        Cluster::follow_in_folder(log, dir, &OpenOptions::new(), &options("folder"))
    };
    for round in 0..4 {
        let (store, member) = join(&dir).unwrap();
        put(&store.open_tree("t").unwrap(), "/", "theirs", round);
        member.sync(LONG).unwrap();
        cluster.sync(LONG).unwrap();
        assert_eq!(portrait(&store), portrait(&jungle));
        drop(member);
        drop(store);
        for n in 0..round {
            put(&tree, "/", "alone", n);
            cluster.checkpoint().unwrap();
        }
    }
    let (store, member) = join(&dir).unwrap();
    assert_eq!(int(&store.open_tree("t").unwrap(), "/", "alone"), Some(2));
    store.verify().unwrap();
    drop(member);
    drop(store);
    // What never was the cluster's is not thrown away.
    let other = dir.with_extension("other");
    let mine = OpenOptions::new().open(&other).unwrap();
    put(&mine.create_tree("mine").unwrap(), "/", "n", 77);
    drop(mine);
    let refused = join(&other).map(drop);
    assert!(matches!(refused, Err(JoinError::Foreign { .. })), "{refused:?}");
    for dir in [dir, other] {
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn servers_write_checkpoints_by_themselves() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let often = |name: &str| Options { checkpoint_messages: 10, ..options(name) };
    let servers = ["a", "b"].map(|name| {
        let (jungle, log) = (Jungle::new().unwrap(), engine.connect(rng, 0) as Arc<dyn Log>);
        let cluster = Cluster::follow(log, &jungle, &often(name)).unwrap();
        (jungle, cluster)
    });
    let tree = servers[0].0.create_tree("t").unwrap();
    let mut n = 0;
    while engine.trimmed() == 0 {
        put(&tree, "/", "n", n);
        n += 1;
        // Or it might be left behind: ten messages are not much.
        servers[1].1.sync(LONG).unwrap();
    }
    assert!((2..=3).contains(&engine.checkpoints().len()));
    agree(&servers);
}

#[test]
fn servers_that_come_and_go_agree_whatever_the_log_does() {
    for_each_seed(20, |rng| {
        let engine = Arc::new(Engine::default());
        let faults = *rng.pick(&[0, 10, 40]);
        let first = server(&engine.connect(rng, 0), "s0");
        let tree = first.0.create_tree("t").unwrap();
        tree.tag("begin", tree.snapshot().revision()).unwrap();
        tree.create_index("n").unwrap();
        let (counts, mut servers, mut damaged) = (Counts::default(), vec![first], 0);
        for step in 1..rng.range(20..80) {
            let at = rng.index(servers.len());
            match rng.below(8) {
                0 => {
                    let written = servers[at].1.checkpoint();
                    // It may be far behind.
                    let is_told = matches!(&written, Err(CheckpointError::Fault(_)));
                    assert!(written.is_ok() || is_told || faults > 0, "{written:?}");
                }
                1 if servers.len() < 4 => {
                    // The engine may fail now and then; who cannot join tries again.
                    servers.extend(newcomer(engine.connect(rng, faults), &format!("s{step}")).ok());
                }
                2 if servers.len() > 1 => drop(servers.swap_remove(at)),
                3 => damage(&engine, rng, &mut damaged),
                _ => {
                    if servers[at].1.sync(LONG).is_err() {
                        let fault = servers[at].1.status().fault;
                        assert!(
                            matches!(fault.as_deref(), Some(Fault::Trimmed { .. })),
                            "{fault:?}"
                        );
                        drop(servers.swap_remove(at));
                    } else {
                        work(&servers[at].0.open_tree("t").unwrap(), rng, &counts);
                    }
                }
            }
            if servers.is_empty() {
                servers.push(whoever_can(&engine, rng));
            }
        }
        servers.retain(|(_, cluster)| cluster.sync(LONG).is_ok());
        servers.push(whoever_can(&engine, rng));
        agree(&servers);
        let tree = servers[0].0.open_tree("t").unwrap();
        for (key, (known, unknown)) in counts.into_inner().unwrap() {
            let there = int(&tree, "/", &format!("n{key}")).unwrap_or(0);
            assert!((known..=known + unknown).contains(&there), "{key}: {there}, {known}");
        }
        // Whatever was left half done, the next one puts in order.
        servers.last().unwrap().1.checkpoint().unwrap();
        let stored: Vec<u64> = engine.checkpoints().keys().copied().collect();
        assert!(stored.len() <= 2, "{stored:?}");
        assert_eq!(engine.trimmed(), if stored.len() < 2 { 0 } else { stored[0] });
    });
}

/// Damages the newest checkpoint, if the one before is whole.
fn damage(engine: &Engine, rng: &mut Rng, damaged: &mut u64) {
    let mut checkpoints = engine.checkpoints();
    if checkpoints.len() < 2 || checkpoints.contains_key(damaged) {
        return;
    }
    let mut newest = checkpoints.last_entry().unwrap();
    *damaged = *newest.key();
    let byte = rng.index(newest.get().len());
    newest.get_mut()[byte] ^= 0x10;
}

/// A new server with a connection that does not fail.
fn whoever_can(engine: &Arc<Engine>, rng: &mut Rng) -> Server {
    newcomer(engine.connect(rng, 0), "whoever").unwrap()
}

#[test]
fn a_folder_of_another_cluster_is_refused() {
    let rng = &mut Rng::new(1);
    let dir = std::env::temp_dir().join(format!("jungle-other-cluster-{}", std::process::id()));
    let engines = [1, 2].map(|id| Engine::known_by(LogId([id; 16])));
    let mut join = |engine: &Arc<Engine>| {
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        Cluster::follow_in_folder(log, &dir, &OpenOptions::new(), &options("folder"))
    };
    // A folder in which nothing is has not been anybody's.
    drop(join(&engines[1]).unwrap());
    let (store, member) = join(&engines[0]).unwrap();
    put(&store.create_tree("t").unwrap(), "/", "n", 1);
    drop((store, member));
    let refused = join(&engines[1]).map(drop);
    let Err(JoinError::OtherCluster { folder, log }) = refused else { panic!("{refused:?}") };
    assert_eq!([folder, log], [engines[0].id, engines[1].id]);
    std::fs::write(dir.join("CLUSTER"), "something else\n").unwrap();
    let refused = join(&engines[0]).map(drop);
    assert!(matches!(refused, Err(JoinError::Membership { .. })), "{refused:?}");
    // Without it, what is there is held against the log.
    std::fs::remove_file(dir.join("CLUSTER")).unwrap();
    drop(join(&engines[0]).unwrap());
    assert!(dir.join("CLUSTER").exists());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_folder_whose_newest_revision_is_not_kept_any_more_is_the_clusters_still() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(rng, 0), "first");
    let tree = jungle.create_tree("t").unwrap();
    let gone = jungle.create_tree("gone").unwrap();
    put(&gone, "/", "n", 1);
    let dir = std::env::temp_dir().join(format!("jungle-not-kept-{}", std::process::id()));
    let mut join = |dir: &std::path::Path| {
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        Cluster::follow_in_folder(log, dir, &OpenOptions::new(), &options("folder"))
    };
    drop(join(&dir).unwrap());
    tree.set_retention(Retention::Last(2)).unwrap();
    jungle.delete_tree("gone").unwrap();
    for n in 0..10 {
        put(&tree, "/", "n", n);
        cluster.checkpoint().unwrap();
    }
    let said = std::fs::read(dir.join("CLUSTER")).unwrap();
    std::fs::remove_file(dir.join("CLUSTER")).unwrap();
    let refused = join(&dir).map(drop);
    assert!(matches!(refused, Err(JoinError::Foreign { .. })), "{refused:?}");
    std::fs::write(dir.join("CLUSTER"), said).unwrap();
    let (store, member) = join(&dir).unwrap();
    assert_eq!(portrait(&store), portrait(&jungle));
    drop((store, member));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_was_committed_apart_from_the_cluster_is_not_thrown_away() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(rng, 0), "first");
    let tree = jungle.create_tree("t").unwrap();
    let dir = std::env::temp_dir().join(format!("jungle-apart-{}", std::process::id()));
    let mut join = || {
        let log = engine.connect(rng, 0) as Arc<dyn Log>;
        Cluster::follow_in_folder(log, &dir, &OpenOptions::new(), &options("folder"))
    };
    drop(join().unwrap());
    let alone = OpenOptions::new().open(&dir).unwrap();
    put(&alone.open_tree("t").unwrap(), "/", "mine", 1);
    drop(alone);
    for n in 0..10 {
        put(&tree, "/", "n", n);
        cluster.checkpoint().unwrap();
    }
    let refused = join().map(drop);
    assert!(matches!(refused, Err(JoinError::Foreign { .. })), "{refused:?}");
    let alone = OpenOptions::new().open(&dir).unwrap();
    assert_eq!(int(&alone.open_tree("t").unwrap(), "/", "mine"), Some(1));
    drop(alone);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_another_log_left_behind_is_removed_and_nothing_is_trimmed_for_it() {
    let rng = &mut Rng::new(1);
    let other = Engine::known_by(LogId([1; 16]));
    let (jungle, cluster) = server(&other.connect(rng, 0), "other");
    put(&jungle.create_tree("t").unwrap(), "/", "n", 1);
    cluster.checkpoint().unwrap();
    let left = other.checkpoints()[&2].clone();
    let engine = Engine::known_by(LogId([2; 16]));
    let first = server(&engine.connect(rng, 0), "first");
    let tree = first.0.create_tree("t").unwrap();
    put(&tree, "/", "n", 1);
    engine.checkpoints().insert(2, left.clone());
    assert_eq!(first.1.checkpoint().unwrap(), 2, "it is written, though one has its name");
    assert_ne!(engine.checkpoints()[&2], left);
    for at in [1, 2] {
        engine.checkpoints().insert(at, left.clone());
    }
    put(&tree, "/", "n", 2);
    assert_eq!(first.1.checkpoint().unwrap(), 3);
    assert_eq!(engine.checkpoints().keys().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(engine.trimmed(), 0, "one alone is not enough");
    let second = newcomer(engine.connect(rng, 0), "second").unwrap();
    agree(&[first, second]);
}

#[test]
fn nothing_is_made_of_a_revision_that_others_do_not_keep() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let servers = ["a", "b"].map(|name| server(&engine.connect(rng, 0), name));
    let tree = servers[0].0.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(2)).unwrap();
    let holding = servers[0].0.checkpoint();
    for n in 0..5 {
        put(&tree, "/", "n", n);
    }
    let kept: Vec<_> = tree.history(..).map(|info| info.unwrap().revision).collect();
    assert!(kept.len() > 2, "the checkpoint holds them");
    for (n, &at) in kept.iter().enumerate() {
        let tagged = tree.tag(&format!("tag {n}"), at);
        let branched = tree.branch(&format!("branch {n}"), at).map(drop);
        assert_eq!((tagged.is_ok(), branched.is_ok()), (n < 2, n < 2), "{tagged:?}");
        if let Err(error) = tagged {
            assert!(error.to_string().contains(&kept[1].to_string()), "{error}");
        }
    }
    agree(&servers);
    drop(holding);
}
