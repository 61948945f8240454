//! What is wrong in the log is noticed, and said.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jungle_cluster::{
    Appended, CheckpointError, Cluster, Fault, JoinError, Log, LogError, LogId, MemoryLog, Options,
    Status, Tail,
};
use jungle_db::{
    CommitMeta, CommitOptions, CommitRecord, Journal, JournalError, Jungle, NotWritten, Retention,
    Revision, UpdateError,
};
use jungle_store::Store;
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Editor, MergeOptions};

use crate::memory::Engine;
use crate::support::{Call, Cut, Told, agree, int, options, put, server};

const LONG: Duration = Duration::from_secs(30);

fn some_log(rng: &mut Rng) -> Arc<Engine> {
    let engine = Arc::new(Engine::default());
    let (jungle, _cluster) = server(&engine.connect(rng, 0), "first");
    let tree = jungle.create_tree("t").unwrap();
    (0..5).for_each(|n| put(&tree, "/", "n", n));
    engine
}

fn join(engine: &Arc<Engine>, rng: &mut Rng, jungle: &Jungle) -> Result<Cluster, JoinError> {
    Cluster::follow(engine.connect(rng, 0) as Arc<dyn Log>, jungle, &options("second"))
}

fn fault(engine: &Arc<Engine>, rng: &mut Rng) -> Arc<Fault> {
    match join(engine, rng, &Jungle::new().unwrap()).err() {
        Some(JoinError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for_each_seed(20, |rng| {
        let engine = some_log(rng);
        {
            let mut messages = engine.messages();
            let at = rng.index(messages.len());
            let mut bytes = messages[at].to_vec();
            let byte = rng.index(bytes.len());
            bytes[byte] ^= 1 << rng.below(8);
            messages[at] = bytes.into();
        }
        let fault = fault(&engine, rng);
        assert!(matches!(&*fault, Fault::Damaged { .. }), "{fault:?}");
    });
}

#[test]
fn what_comes_damaged_is_asked_for_again() {
    let (engine, rng) = (Arc::new(Engine::default()), &mut Rng::new(1));
    let [ours, theirs] = ["ours", "theirs"].map(|name| server(&engine.connect(rng, 0), name));
    let tree = ours.0.create_tree("t").unwrap();
    *engine.damaged.lock().unwrap() = (2..=5).map(|sequence| (sequence, 1)).collect();
    (0..5).for_each(|n| put(&tree, "/", "n", n));
    let servers = [ours, theirs];
    agree(&servers);
    assert!(engine.damaged.lock().unwrap().values().all(|times| *times == 0));
    // In the byte that says which version wrote it.
    *engine.damaged_at.lock().unwrap() = Some(3);
    engine.damaged.lock().unwrap().insert(7, 1);
    put(&tree, "/", "n", 5);
    agree(&servers);
    assert!(engine.damaged.lock().unwrap().values().all(|times| *times == 0));
    *engine.damaged_at.lock().unwrap() = None;
    // So it is for who finds its place.
    *engine.damaged.lock().unwrap() = (1..=6).map(|sequence| (sequence, 1)).collect();
    let folder = Jungle::new().unwrap();
    put(&folder.create_tree("t").unwrap(), "/", "n", 0);
    let cluster = join(&engine, rng, &folder).unwrap();
    agree(&[(folder, cluster), server(&engine.connect(rng, 0), "late")]);
}

/// Nothing is wrong with the engine's disks then.
#[test]
fn a_message_of_a_later_version_is_not_called_damaged() {
    let rng = &mut Rng::new(1);
    let engine = some_log(rng);
    let (_jungle, cluster) = server(&engine.connect(rng, 0), "older");
    let mut later = engine.messages()[5].to_vec();
    later.truncate(later.len() - 32);
    later[3] = u8::MAX;
    let hash = blake3::hash(&later);
    later.extend_from_slice(hash.as_bytes());
    engine.connect(rng, 0).append(6, &later.into(), LONG).unwrap();
    // Nothing more comes.
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let follows = cluster.fault().unwrap();
    assert!(matches!(*follows, Fault::NotUnderstood { sequence: 7, .. }), "{follows:?}");
    let joins = fault(&engine, rng);
    assert!(matches!(*joins, Fault::NotUnderstood { sequence: 7, .. }), "{joins:?}");
}

#[test]
fn a_message_that_is_missing_is_noticed() {
    let rng = &mut Rng::new(1);
    let engine = some_log(rng);
    engine.messages().remove(2);
    let fault = fault(&engine, rng);
    assert!(matches!(&*fault, Fault::Unlinked { sequence: 3 }), "{fault:?}");
}

#[test]
fn a_server_with_another_tree_follows_no_further() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (ours, _cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    put(&tree, "/", "n", 1);
    put(&tree, "/", "last", 1);
    // As many commits, but one before the last is another.
    let copy = Jungle::new().unwrap();
    let other = copy.create_tree("t").unwrap();
    put(&other, "/", "n", 2);
    put(&other, "/", "last", 1);
    assert_eq!(copy.revision(), ours.revision());
    let cluster = join(&engine, rng, &copy).unwrap();
    put(&tree, "/", "n", 3);
    assert!(cluster.sync(Duration::from_secs(30)).is_err());
    let fault = cluster.status().fault.unwrap();
    assert!(matches!(&*fault, Fault::Diverged { sequence: 4, .. }), "{fault:?}");
    let refused = copy.open_tree("t").unwrap().update(|tx| tx.append(&[]));
    assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_)))));
}

#[test]
fn a_folder_that_is_ahead_does_not_join() {
    let rng = &mut Rng::new(1);
    let engine = some_log(rng);
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("other").unwrap();
    (0..10).for_each(|n| put(&tree, "/", "n", n));
    assert!(matches!(join(&engine, rng, &jungle), Err(JoinError::Ahead { .. })));
    let empty = Arc::new(Engine::default());
    assert!(matches!(join(&empty, rng, &jungle), Err(JoinError::NotEmpty { .. })));
}

#[test]
fn who_returns_goes_on_from_where_it_was() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (ours, cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    let theirs = Jungle::new().unwrap();
    {
        let first = join(&engine, rng, &theirs).unwrap();
        put(&tree, "/", "n", 1);
        first.sync(Duration::from_secs(30)).unwrap();
    }
    // It has left: it can be read, and takes nothing.
    let refused = theirs.open_tree("t").unwrap().update(|tx| tx.append(&[]));
    assert!(matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_)))));
    assert!(matches!(join(&engine, rng, &theirs), Err(JoinError::Joined)));
    put(&tree, "/", "n", 2);
    // As its folder would have it.
    let again = Jungle::new().unwrap();
    put(&again.create_tree("t").unwrap(), "/", "n", 1);
    let again_cluster = join(&engine, rng, &again).unwrap();
    put(&again.open_tree("t").unwrap(), "/", "n", 3);
    agree(&[(ours, cluster), (again, again_cluster)]);
}

/// As when the power of all servers of an engine goes that promises before it syncs.
#[test]
fn a_folder_does_not_join_a_log_that_went_on_without_it() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (ours, cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    let said = |jungle: &Jungle, said: &str| {
        let options = CommitOptions::from(&CommitMeta::new().message(said));
        let tree = jungle.open_tree("t").unwrap();
        tree.update_with(&options, |tx| tx.append(&[])).unwrap();
    };
    (0..3).for_each(|n| said(&ours, &n.to_string()));
    // What its folder has.
    let folder = Jungle::new().unwrap();
    folder.create_tree("t").unwrap();
    (0..3).for_each(|n| said(&folder, &n.to_string()));
    drop((tree, cluster));
    engine.messages().truncate(3);
    let (others, _cluster) = server(&engine.connect(rng, 0), "others");
    (0..3).for_each(|_| said(&others, "something else"));
    let joined = join(&engine, rng, &folder).err();
    let Some(JoinError::Overtaken { here }) = joined else { panic!("{joined:?}") };
    assert_eq!(here, folder.revision());
}

/// What a folder's last commit does.
type Last<'a> = &'a dyn Fn(&Jungle);

/// Whatever was done last: of that the log says it, and another folder has as many revisions, or
/// something was committed to it by itself.
#[test]
fn a_folder_does_not_join_whose_newest_commit_is_another_one() {
    let begin = |jungle: &Jungle| {
        let tree = jungle.create_tree("t").unwrap();
        let now = tree.snapshot().revision();
        tree.branch("there", now).unwrap();
        tree.tag("marked", now).unwrap();
        tree.create_index("there").unwrap();
        jungle.create_tree("gone").unwrap();
    };
    let tree = |jungle: &Jungle| jungle.open_tree("t").unwrap();
    let now = |jungle: &Jungle| tree(jungle).snapshot().revision();
    let done: [(&str, Last<'_>); 14] = [
        ("edited", &|jungle| put(&tree(jungle), "/", "n", 1)),
        ("edited otherwise", &|jungle| put(&tree(jungle), "/", "n", 2)),
        ("edited elsewhere", &|jungle| put(&tree(jungle), "/", "m", 1)),
        ("created", &|jungle| drop(jungle.create_tree("new").unwrap())),
        ("created otherwise", &|jungle| drop(jungle.create_tree("other").unwrap())),
        ("renamed", &|jungle| jungle.rename_tree("gone", "renamed").unwrap()),
        ("deleted", &|jungle| jungle.delete_tree("gone").unwrap()),
        ("branch", &|jungle| drop(tree(jungle).branch("new", now(jungle)).unwrap())),
        ("no branch", &|jungle| tree(jungle).delete_branch("there").unwrap()),
        ("tag", &|jungle| tree(jungle).tag("new", now(jungle)).unwrap()),
        ("no tag", &|jungle| tree(jungle).delete_tag("marked").unwrap()),
        ("index", &|jungle| tree(jungle).create_index("new").unwrap()),
        ("no index", &|jungle| tree(jungle).drop_index("there").unwrap()),
        ("keep", &|jungle| tree(jungle).set_retention(Retention::Last(1)).unwrap()),
    ];
    let rng = &mut Rng::new(1);
    for (said, in_log) in done {
        let engine = Arc::new(Engine::default());
        let (first, _cluster) = server(&engine.connect(rng, 0), "first");
        begin(&first);
        in_log(&first);
        for (had, in_folder) in done {
            let folder = Jungle::new().unwrap();
            begin(&folder);
            in_folder(&folder);
            assert_eq!(folder.revision(), first.revision());
            match join(&engine, rng, &folder) {
                Ok(cluster) => {
                    assert_eq!(said, had);
                    drop(cluster);
                }
                Err(JoinError::Overtaken { .. }) => assert_ne!(said, had),
                other => panic!("{said}, {had}: {other:?}"),
            }
        }
    }
    // Of two trees of one name, by when, and by whom, they were made.
    let engine = Arc::new(Engine::default());
    let (first, _cluster) = server(&engine.connect(rng, 0), "first");
    first.by(&CommitMeta::new().author("ana")).create_tree("t").unwrap();
    let folder = Jungle::new().unwrap();
    folder.create_tree("t").unwrap();
    let joined = join(&engine, rng, &folder).err();
    assert!(matches!(joined, Some(JoinError::Overtaken { .. })), "{joined:?}");
}

/// Its newest commit, done again, comes to what it has, whatever that did.
#[test]
fn a_folder_joins_where_the_log_says_its_newest_commit() {
    let tree = |jungle: &Jungle| jungle.open_tree("t").unwrap();
    let begin = |jungle: &Jungle| {
        let tree = jungle.create_tree("t").unwrap();
        jungle.create_tree("u").unwrap();
        tree.branch("side", tree.snapshot().revision()).unwrap();
        put(&tree.on_branch("side").unwrap(), "/", "n", 1);
        tree.update(|tx| tx.insert_child(&[], &"a".into())).unwrap();
        put(&tree, "/a", "n", 2);
    };
    let done: [(&str, Last<'_>); 8] = [
        ("moved", &|jungle| {
            tree(jungle).update(|tx| tx.move_node(&["a".into()], &[], &"b".into())).unwrap();
        }),
        ("removed", &|jungle| drop(tree(jungle).update(|tx| tx.remove(&["a".into()])).unwrap())),
        ("no number", &|jungle| {
            tree(jungle).update(|tx| tx.put_attribute(&[], "n", f64::NAN)).unwrap();
        }),
        ("much", &|jungle| {
            let add = |editor: &mut Editor| {
                editor.insert_child(&[], &"much".into())?;
                editor.cursor(&["much".into()])?.add_children(40)
            };
            tree(jungle).update(|tx| tx.bulk(add)).unwrap();
        }),
        ("several trees", &|jungle| {
            let trees = [tree(jungle), jungle.open_tree("u").unwrap()];
            let done = jungle.update(&CommitOptions::default(), |tx| {
                trees.iter().try_for_each(|tree| tx.on(tree).put_attribute(&[], "n", 3))
            });
            done.unwrap();
        }),
        ("merged", &|jungle| {
            let merge = tree(jungle).merge("side", &MergeOptions::new()).unwrap();
            merge.commit(&CommitMeta::new()).unwrap();
        }),
        ("restored", &|jungle| {
            let tree = tree(jungle);
            let first = tree.history(..).next_back().unwrap().unwrap().revision;
            tree.restore(first, &CommitMeta::new()).unwrap();
        }),
        ("not kept before", &|jungle| {
            tree(jungle).set_retention(Retention::Last(1)).unwrap();
            put(&tree(jungle), "/", "n", 4);
        }),
    ];
    let rng = &mut Rng::new(1);
    for (said, last) in done {
        let engine = Arc::new(Engine::default());
        let (first, _cluster) = server(&engine.connect(rng, 0), "first");
        let folder = Jungle::new().unwrap();
        for jungle in [&first, &folder] {
            begin(jungle);
            last(jungle);
        }
        let refused = join(&engine, rng, &folder).err();
        assert!(refused.is_none(), "{said}: {refused:?}");
    }
}

/// An engine loses what it had not synced, and as many commits come in the place of that. No clock
/// tells them apart, nor who made them.
#[test]
fn a_folder_does_not_join_where_as_many_commits_say_something_else() {
    let mut told = 0;
    for_each_seed(100, |rng| {
        let engine = Arc::new(Engine::default());
        let ours = server(&engine.connect(rng, 0), "ours");
        let folder = Jungle::new().unwrap();
        let trees = [&ours.0, &folder].map(|jungle| jungle.create_tree("t").unwrap());
        let (count, mut n) = (1 + rng.index(6), 0);
        for _ in 0..count {
            n += 1 + rng.below(2) as i64;
            trees.iter().for_each(|tree| put(tree, "/", "n", n));
        }
        drop((trees, ours));
        let kept = 1 + rng.index(count + 1);
        engine.messages().truncate(kept);
        let others = server(&engine.connect(rng, 0), "others");
        let tree = others.0.open_tree("t").unwrap();
        let mut other = int(&tree, "/", "n").unwrap_or(0);
        for _ in kept..=count {
            other += 1 + rng.below(2) as i64;
            put(&tree, "/", "n", other);
        }
        assert_eq!(others.0.revision(), folder.revision());
        match join(&engine, rng, &folder) {
            Ok(_cluster) => assert_eq!(n, other),
            Err(JoinError::Overtaken { .. }) => {
                assert_ne!(n, other);
                told += 1;
            }
            other => panic!("{other:?}"),
        }
    });
    assert!(told > 0 || std::env::var_os("JUNGLE_SEED").is_some());
}

/// As when an engine is restored to what it had before, and others are quicker to go on with that
/// than it is noticed here.
#[test]
fn a_server_appends_nothing_to_a_log_that_went_on_without_it() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (ours, cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    (0..3).for_each(|n| put(&tree, "/", "n", n));
    // Another leader, with the same log, is none of its concern.
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    put(&tree, "/", "n", 3);
    cluster.linearize(LONG).unwrap();
    let all = engine.messages().len();
    engine.messages().truncate(2);
    let (others, _others) = server(&engine.connect(rng, 0), "others");
    let theirs = others.open_tree("t").unwrap();
    (2..all).for_each(|_| put(&theirs, "/", "n", 7));
    assert_eq!(engine.messages().len(), all);
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    let refused = tree.update(|tx| tx.put_attribute(&[], "n", 9));
    let is_refused = matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_))));
    assert!(is_refused, "{refused:?}");
    assert_eq!(engine.messages().len(), all);
    let fault = cluster.fault().unwrap();
    assert!(matches!(&*fault, Fault::Unlinked { sequence } if *sequence == all as u64), "{fault}");
}

/// It is in the log; nobody can be asked about the messages before it until somebody leads again.
#[test]
fn a_commit_beside_an_election_is_waited_for_as_long_as_any() {
    let engine = Arc::new(Engine::default());
    let (jungle, cluster) = server(&engine.connect(&mut Rng::new(1), 0), "a");
    let tree = jungle.create_tree("t").unwrap();
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    *engine.elects_for.lock().unwrap() = Duration::from_secs(10);
    tree.update(|tx| tx.put_attribute(&[], "n", 1)).unwrap();
    assert!(cluster.fault().is_none());
}

/// As when that it has another leader comes later than the answer of that leader.
#[test]
fn a_server_that_is_told_late_of_an_election_notices_what_it_has_written_behind() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let (ours, cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    (0..3).for_each(|n| put(&tree, "/", "n", n));
    let all = engine.messages().len();
    // Of a log that has what was written, any number of elections is none of its concern.
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    cluster.linearize(LONG).unwrap();
    engine.messages().truncate(2);
    let (others, _others) = server(&engine.connect(rng, 0), "others");
    let theirs = others.open_tree("t").unwrap();
    (2..=all).for_each(|_| put(&theirs, "/", "n", 7));
    (4..6).for_each(|n| put(&tree, "/", "n", n));
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    let refused = tree.update(|tx| tx.put_attribute(&[], "n", 9));
    let is_refused = matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_))));
    assert!(is_refused, "{refused:?}");
    let (fault, written) = (cluster.fault().unwrap(), all as u64 + 1);
    assert!(matches!(&*fault, Fault::Unlinked { sequence } if *sequence == written), "{fault}");
}

/// Each has written behind the other, and neither of these messages is what shows it.
#[test]
fn servers_that_are_told_late_of_an_election_notice_it_behind_each_other() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let servers = ["ours", "beside"].map(|name| server(&engine.connect(rng, 0), name));
    let tree = servers[0].0.create_tree("t").unwrap();
    (0..3).for_each(|n| put(&tree, "/", "n", n));
    servers[1].1.sync(LONG).unwrap();
    let all = engine.messages().len();
    engine.messages().truncate(2);
    let (others, _others) = server(&engine.connect(rng, 0), "others");
    let theirs = others.open_tree("t").unwrap();
    (2..all).for_each(|_| put(&theirs, "/", "n", 7));
    for (m, (jungle, cluster)) in (0..).zip(&servers) {
        cluster.sync(LONG).unwrap();
        put(&jungle.open_tree("t").unwrap(), "/", "m", m);
    }
    servers[0].1.sync(LONG).unwrap();
    engine.leaders.fetch_add(1, Ordering::SeqCst);
    for (jungle, cluster) in &servers {
        let tree = jungle.open_tree("t").unwrap();
        let refused = tree.update(|tx| tx.put_attribute(&[], "n", 9));
        let is_refused = matches!(refused, Err(UpdateError::NotWritten(NotWritten::Refused(_))));
        assert!(is_refused, "{refused:?}");
        let (fault, lost) = (cluster.fault().unwrap(), all as u64);
        assert!(matches!(&*fault, Fault::Unlinked { sequence } if *sequence == lost), "{fault}");
    }
}

/// As it is when an engine has lost its end, and a server that had followed it wrote the next
/// message before it noticed: that has the revision of what the folder got from the log as it is.
#[test]
fn a_message_for_a_revision_that_is_here_already_is_not_taken_for_its_own() {
    let rng = &mut Rng::new(1);
    let commit = |jungle: &Jungle, n: i64| put(&jungle.open_tree("t").unwrap(), "/", "n", n);
    let (lost, log) = (Arc::new(Engine::default()), Arc::new(Engine::default()));
    let (before, before_cluster) = server(&lost.connect(rng, 0), "before");
    before.create_tree("t").unwrap();
    commit(&before, 1);
    *log.messages() = lost.messages()[..1].to_vec();
    let (after, after_cluster) = server(&log.connect(rng, 0), "after");
    commit(&after, 2);
    agree(&[(after, after_cluster)]);
    // What its folder has.
    let folder = Jungle::new().unwrap();
    folder.create_tree("t").unwrap();
    commit(&folder, 2);
    // It has the place of the next message, and the revision of the one before.
    let late = lost.messages()[1].clone();
    log.messages().push(late);
    drop(before_cluster);
    let fault = match join(&log, rng, &folder).err() {
        Some(JoinError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    };
    assert!(matches!(&*fault, Fault::Unlinked { sequence: 3 }), "{fault:?}");
}

/// What a crash of the process would leave: nobody closes the folder before it is copied.
#[test]
fn what_is_followed_is_in_the_folder_before_that_is_closed() {
    let rng = &mut Rng::new(1);
    let dir = std::env::temp_dir().join(format!("jungle-followed-{}", std::process::id()));
    let copy = dir.with_extension("copy");
    let engine = Arc::new(Engine::default());
    let store = Store::open(&dir).unwrap();
    let cluster = join(&engine, rng, &store).unwrap();
    let (ours, our_cluster) = server(&engine.connect(rng, 0), "ours");
    let tree = ours.create_tree("t").unwrap();
    for n in 0..40 {
        let long = format!("{n} {}", "long ".repeat(50_000));
        tree.update(|tx| tx.put_attribute(&[], "long", long.as_str())).unwrap();
    }
    our_cluster.sync(Duration::from_secs(30)).unwrap();
    let all = cluster.sync(Duration::from_secs(30)).unwrap();
    fs::create_dir_all(copy.join("log")).unwrap();
    fs::copy(dir.join("LOCK"), copy.join("LOCK")).unwrap();
    for file in fs::read_dir(dir.join("log")).unwrap().map(|file| file.unwrap().file_name()) {
        fs::copy(dir.join("log").join(&file), copy.join("log").join(&file)).unwrap();
    }
    let there = Store::open(&copy).unwrap().revision();
    // At most 4 MiB of the 10 are in memory only.
    assert!(there.number() >= 16, "{there} of {all}");
    drop((cluster, store));
    fs::remove_dir_all(dir).unwrap();
    fs::remove_dir_all(copy).unwrap();
}

#[test]
fn whoever_asks_a_leader_that_is_none_any_more_reads_what_is_new_all_the_same() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let cut = Cut::new(engine.connect(rng, 0));
    let (jungle, cluster) = server(&cut, "cut");
    let other = server(&engine.connect(rng, 0), "other");
    let tree = other.0.create_tree("t").unwrap();
    let before = cluster.linearize(LONG).unwrap();
    assert_eq!(before, other.0.revision());
    let messages = engine.messages().len();
    cluster.linearize(LONG).unwrap();
    assert_eq!(engine.messages().len(), messages + 1, "one without anything in it");
    cut.set(true);
    for n in 0..3 {
        put(&tree, "/", "n", n);
    }
    let newest = other.0.revision();
    assert!(cluster.sync(LONG).unwrap() < newest, "it asks somebody who does not know");
    let nothing = Duration::from_millis(1);
    assert!(cluster.linearize(nothing).is_err());
    thread::scope(|scope| {
        let reading = scope.spawn(|| cluster.linearize(LONG).unwrap());
        cut.set(false);
        assert!(reading.join().unwrap() >= newest);
    });
    assert_eq!(int(&jungle.open_tree("t").unwrap(), "/", "n"), Some(2));
    agree(&[(jungle, cluster), other]);
}

/// A folder that takes long for a record.
#[derive(Default)]
struct Slow {
    /// Is it held up, and how many records wait for that?
    held: Mutex<(bool, u64)>,
    moved: Condvar,
}

impl Slow {
    fn hold(&self, is_held: bool) {
        self.held.lock().unwrap().0 = is_held;
        self.moved.notify_all();
    }

    fn wait_held(&self) {
        drop(self.moved.wait_while(self.held.lock().unwrap(), |held| held.1 == 0).unwrap());
    }
}

impl Journal for Slow {
    fn append(&self, _: &CommitRecord) -> Result<(), JournalError> {
        let mut held = self.held.lock().unwrap();
        held.1 += 1;
        self.moved.notify_all();
        self.moved.wait_while(held, |held| held.0).unwrap().1 -= 1;
        Ok(())
    }
}

#[test]
fn how_a_server_stands_is_told_while_a_message_is_being_followed() {
    let rng = &mut Rng::new(1);
    let engine = some_log(rng);
    let slow = Arc::new(Slow::default());
    let jungle = Jungle::builder().journal(Arc::clone(&slow)).build().unwrap();
    let cluster = join(&engine, rng, &jungle).unwrap();
    let other = server(&engine.connect(rng, 0), "other");
    let before = cluster.status();
    slow.hold(true);
    put(&other.0.open_tree("t").unwrap(), "/", "n", 7);
    slow.wait_held();
    let (told, asked) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let all = (cluster.fault(), cluster.revision(), cluster.status());
            told.send(all).expect("somebody waits for it");
        });
        let told = asked.recv_timeout(LONG);
        slow.hold(false);
        let (fault, revision, status) = told.unwrap();
        assert!(fault.is_none() && status.fault.is_none());
        assert_eq!((revision, status.followed), (before.revision, before.followed));
    });
    agree(&[(jungle, cluster), other]);
}

#[test]
fn a_read_does_not_wait_longer_because_a_commit_is_stuck() {
    let rng = &mut Rng::new(1);
    let cut = Cut::new(Arc::new(Engine::default()).connect(rng, 0));
    let (jungle, cluster) = server(&cut, "stuck");
    let tree = jungle.create_tree("t").unwrap();
    cut.hold(true);
    thread::scope(|scope| {
        let commit = scope.spawn(|| put(&tree, "/", "n", 1));
        cut.wait_held();
        assert!(cluster.linearize(Duration::from_millis(1)).is_err());
        cut.hold(false);
        commit.join().unwrap();
    });
    assert_eq!(cluster.linearize(LONG).unwrap(), jungle.revision());
    assert_eq!(int(&tree, "/", "n"), Some(1));
}

#[test]
fn a_server_that_panics_as_it_follows_says_so() {
    let log = MemoryLog::new();
    let panicking = Told::new(log.connect(), |call| assert_ne!(call, Call::Next, "as it follows"));
    let (_jungle, cluster) = server(&panicking, "panics");
    let other = server(&Arc::new(log.connect()), "other");
    other.0.create_tree("t").unwrap();
    // Nothing more comes.
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let fault = cluster.fault().unwrap();
    assert!(matches!(*fault, Fault::Panicked { sequence: 1 }), "{fault:?}");
}

/// As one that is started without the engine does behind everybody's back.
#[test]
fn a_server_that_panics_as_it_looks_for_its_place_says_so() {
    let (jungle, log) = (Jungle::new().unwrap(), MemoryLog::new());
    let panicking = Told::new(log, |call| assert_ne!(call, Call::Bounds, "as it finds its place"));
    let cluster = Cluster::resume(panicking, &jungle, &options("panics")).unwrap();
    // Nothing comes.
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let fault = cluster.fault().unwrap();
    assert!(matches!(*fault, Fault::Panicked { sequence: 1 }), "{fault:?}");
}

/// Else whoever writes them would have ended for good, and the log would grow.
#[test]
fn a_server_that_panics_as_it_writes_a_checkpoint_says_so_and_tries_again() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&is_broken);
    let log = Told::new(MemoryLog::new(), move |call| {
        let is_broken = call == Call::Depot && breaks.swap(false, Ordering::SeqCst);
        assert!(!is_broken, "as it writes a checkpoint");
    });
    let jungle = Jungle::new().unwrap();
    let options = Options { checkpoint_messages: 1, ..options("panics") };
    let cluster = Cluster::follow(log, &jungle, &options).unwrap();
    is_broken.store(true, Ordering::SeqCst);
    jungle.create_tree("t").unwrap();
    let begun = Instant::now();
    let wait = |is_so: &dyn Fn(&Status) -> bool| loop {
        let status = cluster.status();
        if is_so(&status) {
            return status;
        }
        assert!(begun.elapsed() < LONG, "{status:?}");
        thread::yield_now();
    };
    let error = wait(&|status| status.checkpoint_error.is_some()).checkpoint_error.unwrap();
    assert!(matches!(*error, CheckpointError::Panicked), "{error:?}");
    let status = wait(&|status| status.checkpoint_error.is_none());
    assert_eq!(status.checkpoint, 1);
}

/// A log of which messages come no more after the first, though it is not closed.
struct Ending(MemoryLog);

impl Log for Ending {
    fn id(&self) -> LogId {
        self.0.id()
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        self.0.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.0.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.0.bounds()
    }

    fn tail(&self, from: u64) -> Tail {
        Box::new(self.0.tail(from).take(1))
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Else it would go on answering as if it knew what is there now.
#[test]
fn a_server_to_which_nothing_comes_any_more_says_so() {
    let log = MemoryLog::new();
    let (_jungle, cluster) = server(&Arc::new(Ending(log.connect())), "ends");
    let other = server(&Arc::new(log.connect()), "other");
    other.0.create_tree("t").unwrap();
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let fault = cluster.fault().unwrap();
    assert!(matches!(*fault, Fault::NotRead { sequence: 2, .. }), "{fault:?}");
    assert!(fault.is_passing());
}
