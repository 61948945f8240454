//! What others do while entries are on their way, or before they are read back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use jungle_cluster::{
    Cluster, Fault, JoinError, LaterLog, Local, LocalError, LocalId, LocalOutcome, Log, LogError,
    LogId, MemoryLog, WRITERS,
};
use jungle_db::{
    CommitOptions, CommitRecord, Draft, Journal, JournalError, Jungle, Retention, Revision,
};
use jungle_store::{read_checkpoint, write_checkpoint};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, Key};

use super::{LONG, all_agree, name_at, world};
use crate::appending::Appending;
use crate::memory::Engine;
use crate::support::{int, newcomer, options, put, server};

/// It contradicts what others did for a moment only, and whoever publishes it has not seen that.
#[test]
fn what_is_on_its_way_is_not_refused_by_who_looks() {
    let rng = &mut Rng::new(1);
    let (_engine, mut servers) = world(rng, &["a", "b"], 0);
    let made = servers[0].append("/", "made").value;
    servers[0].publish();
    let lock = |locked| put(&servers[1].tree(), &made.to_string(), "locked", locked);
    lock(0);
    servers[0].tree();
    let removed = servers[0].update("remove", |tx| tx.remove(&made)).unwrap().id.unwrap();
    let line = &servers[0].line;
    line.log.hold(true);
    thread::scope(|scope| {
        let publishing = scope.spawn(|| servers[0].local().publish_next().unwrap());
        line.log.wait_held();
        let looks = [1, 0].map(|locked| {
            lock(locked);
            servers[0].tree();
            let status = servers[0].local().status();
            (status.pending, status.refused)
        });
        line.log.hold(false);
        assert_eq!(looks, [(1, 0), (1, 0)]);
        assert_eq!(publishing.join().unwrap(), Some(removed));
    });
    assert_eq!(servers[0].local().outcome(removed).unwrap(), LocalOutcome::Settled);
    all_agree(&mut servers);
    assert!(servers[1].tree().read().root().at(&made).is_err());
    // Once it is back, what contradicts still is refused.
    let made = servers[0].append("/", "made").value;
    servers[0].publish();
    servers[1].tree();
    let removed = servers[0].update("remove", |tx| tx.remove(&made)).unwrap().id.unwrap();
    servers[0].line.log.hold(true);
    thread::scope(|scope| {
        let publishing = scope.spawn(|| servers[0].local().publish_next().unwrap());
        servers[0].line.log.wait_held();
        put(&servers[1].tree(), &made.to_string(), "locked", 1);
        servers[0].tree();
        let outcome = servers[0].local().outcome(removed).unwrap();
        servers[0].line.log.hold(false);
        assert_eq!(outcome, LocalOutcome::Pending);
        assert_eq!(publishing.join().unwrap(), Some(removed));
    });
    assert_eq!(servers[0].local().outcome(removed).unwrap(), LocalOutcome::Refused);
    all_agree(&mut servers);
    assert!(servers[0].tree().read().root().at(&made).is_ok());
}

/// It had its place, and the tree was deleted then, before anybody looked.
#[test]
fn an_entry_that_had_its_place_is_not_refused_with_its_tree() {
    let rng = &mut Rng::new(1);
    let (_engine, servers) = world(rng, &["a", "b"], 0);
    let placed = servers[0].append("/", "placed").id.unwrap();
    servers[0].line.is_deaf.store(true, Ordering::SeqCst);
    assert!(servers[0].local().publish_next().is_err());
    let late = servers[0].extend("late").unwrap().id.unwrap();
    servers[1].tree();
    servers[1].pair().0.delete_tree("t").unwrap();
    servers[0].pair().1.sync(LONG).unwrap();
    assert_eq!(servers[0].local().outcome(placed).unwrap(), LocalOutcome::Settled);
    assert_eq!(servers[0].local().outcome(late).unwrap(), LocalOutcome::Refused);
}

/// How far a server had published is not kept any more either, of the revision that an entry
/// followed.
#[test]
fn entries_are_read_back_where_the_tree_of_numbers_keeps_its_newest_version_only() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a", "b"], 0);
    let writers = servers[1].pair().0.open_tree(WRITERS).unwrap();
    writers.set_retention(Retention::Last(1)).unwrap();
    servers[0].tree();
    let first = servers[0].append("/", "first");
    // It has its place, which is known, and not written down.
    servers[0].line.is_deaf.store(true, Ordering::SeqCst);
    assert!(servers[0].local().publish_next().is_err());
    servers[0].tree();
    let second = servers[0].update("second", |tx| tx.put_attribute(&first.value, "name", "new"));
    servers[1].append("/", "theirs");
    servers[1].publish();
    servers[0].restart(&engine, rng, 0);
    let status = servers[0].local().status();
    assert_eq!((status.pending, status.refused), (1, 0));
    servers[0].publish();
    for id in [first.id, second.unwrap().id] {
        assert_eq!(servers[0].local().outcome(id.unwrap()).unwrap(), LocalOutcome::Settled);
    }
    all_agree(&mut servers);
    let there = servers[1].tree().snapshot();
    assert_eq!(name_at(there.root(), &first.value).as_deref(), Some("new"));
}

/// That it has its place is noted in the same branch, and in the same record.
#[test]
fn an_entry_may_edit_the_tree_of_numbers() {
    let rng = &mut Rng::new(1);
    let (_engine, mut servers) = world(rng, &["a", "b"], 0);
    let writers = servers[0].pair().0.open_tree(WRITERS).unwrap();
    let options = CommitOptions::default();
    let edit = servers[0].local().update(&writers, &options, |tx| tx.put_attribute(&[], "n", 1));
    let id = edit.unwrap().id.unwrap();
    servers[0].publish();
    assert_eq!(servers[0].local().outcome(id).unwrap(), LocalOutcome::Settled);
    let beside = servers[0].append("/", "beside").id.unwrap();
    servers[0].publish();
    assert_eq!(servers[0].local().outcome(beside).unwrap(), LocalOutcome::Settled);
    all_agree(&mut servers);
    assert_eq!(int(&servers[1].pair().0.open_tree(WRITERS).unwrap(), "/", "n"), Some(1));
}

/// Else it would be published again and again.
#[test]
fn an_entry_that_takes_its_own_number_back_is_settled_all_the_same() {
    let rng = &mut Rng::new(1);
    let (engine, servers) = world(rng, &["a", "b"], 0);
    let first = servers[0].append("/", "first").id.unwrap();
    servers[0].publish();
    let writers = servers[0].pair().0.open_tree(WRITERS).unwrap();
    let (at, options) = ([Key::from(first.writer)], CommitOptions::default());
    let local = servers[0].local();
    let back = local.update(&writers, &options, |tx| tx.put_attribute(&at, "settled", 0));
    let id = back.unwrap().id.unwrap();
    assert_eq!(local.publish_next().unwrap(), Some(id));
    assert_eq!(local.outcome(id).unwrap(), LocalOutcome::Settled);
    let messages = engine.messages().len();
    assert_eq!(local.publish_next().unwrap(), None);
    assert_eq!(engine.messages().len(), messages);
}

#[test]
fn what_nobody_knows_of_is_not_settled() {
    let rng = &mut Rng::new(1);
    let (engine, mut servers) = world(rng, &["a"], 0);
    let before = servers[0].append("/", "before").id.unwrap();
    servers[0].publish();
    let mut bytes = Vec::new();
    let outbox = &servers[0].outbox;
    write_checkpoint(outbox, &outbox.checkpoint(), &mut bytes).unwrap();
    let lost = servers[0].append("/", "lost").id.unwrap();
    let never = LocalId { writer: lost.writer, number: lost.number + 1 };
    let outcome = |id| servers[0].local().outcome(id).unwrap();
    assert_eq!((outcome(lost), outcome(never)), (LocalOutcome::Pending, LocalOutcome::Unknown));
    // As a crash leaves it that takes what was not synced.
    let arena = ArenaOptions::default();
    let outbox = read_checkpoint(Jungle::builder(), &arena, &bytes[..]).unwrap();
    servers[0].outbox = Arc::new(outbox);
    servers[0].restart(&engine, rng, 0);
    let outcome = |id| servers[0].local().outcome(id).unwrap();
    assert_eq!((outcome(before), outcome(lost)), (LocalOutcome::Settled, LocalOutcome::Unknown));
    // Nor is it when what was made since has its place.
    let later = servers[0].append("/", "later").id.unwrap();
    servers[0].publish();
    assert_eq!((outcome(later), outcome(lost)), (LocalOutcome::Settled, LocalOutcome::Unknown));
    servers[0].restart(&engine, rng, 0);
    let outcome = |id| servers[0].local().outcome(id).unwrap();
    let outcomes = [before, lost, later].map(outcome);
    let expected = [LocalOutcome::Settled, LocalOutcome::Unknown, LocalOutcome::Settled];
    assert_eq!(outcomes, expected);
}

/// Its engine was lost, and the cluster begun anew with a backup that has as many revisions.
#[test]
fn a_server_that_was_away_publishes_nothing_into_another_cluster() {
    let rng = &mut Rng::new(1);
    let engine = Arc::new(Engine::default());
    let ours = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let (tree, outbox) = (ours.0.create_tree("t").unwrap(), Arc::new(Jungle::new().unwrap()));
    let local = Local::open(&ours.1, Arc::clone(&outbox)).unwrap();
    local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[])).unwrap();
    drop(local);
    let mut folder = Vec::new();
    write_checkpoint(&ours.0, &ours.0.checkpoint(), &mut folder).unwrap();
    ours.1.leave();
    let jungle = read_checkpoint(Jungle::builder(), &ArenaOptions::default(), &folder[..]).unwrap();
    let anew = Engine::known_by(LogId([1; 16]));
    anew.messages().clone_from(&engine.messages());
    let (there, (comes, come)) = (anew.connect(rng, 0), channel::<()>());
    let come = Mutex::new(come);
    let log = LaterLog::new(engine.id, move || {
        come.lock().unwrap().recv().unwrap();
        Ok(Arc::clone(&there) as Arc<dyn Log>)
    });
    let cluster = Cluster::resume(Arc::new(log), &jungle, &options("ours")).unwrap();
    let local = Local::open(&cluster, outbox).unwrap();
    comes.send(()).unwrap();
    // Unless it follows no further.
    assert!(!cluster.wait_for(Revision::new(u64::MAX), LONG));
    let refused = local.publish_next();
    assert!(matches!(refused, Err(LocalError::NotPublished(_))), "{refused:?}");
    assert_eq!(anew.messages().len(), engine.messages().len());
    match cluster.fault().as_deref() {
        Some(Fault::Apart(error)) => match **error {
            JoinError::OtherCluster { folder, log } => {
                assert_eq!((folder, log), (engine.id, anew.id));
            }
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// What ends whoever publishes would end it for good, and nobody would hear of it.
#[test]
fn a_server_that_has_panicked_as_it_published_publishes_all_the_same() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let (breaks, (panics, panicked)) = (Arc::clone(&is_broken), channel());
    let log = Appending::new(Arc::new(MemoryLog::new()), move |log, after, message, within| {
        if breaks.load(Ordering::SeqCst) {
            let _ = panics.send(());
            panic!("as it appends");
        }
        log.append(after, message, within)
    });
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::new(log), &jungle, &options("panics")).unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let local = cluster.local(Arc::new(Jungle::new().unwrap())).unwrap();
    is_broken.store(true, Ordering::SeqCst);
    let kept = local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[])).unwrap();
    panicked.recv().unwrap();
    is_broken.store(false, Ordering::SeqCst);
    assert!(local.wait_for(kept.id.unwrap(), LONG));
}

/// It may get its place yet, behind what was sent with it and removes the contradiction.
#[test]
fn what_may_get_its_place_yet_is_not_refused() {
    let memory = MemoryLog::new();
    let (other, _other) = server(&Arc::new(memory.connect()), "other");
    let theirs = other.create_tree("t").unwrap();
    theirs.update(|tx| tx.append(&[])).unwrap();
    let is_lost = Arc::new(AtomicBool::new(false));
    let loses = Arc::clone(&is_lost);
    let log = Appending::new(Arc::new(memory), move |log, after, message, within| {
        if loses.swap(false, Ordering::SeqCst) {
            put(&theirs, "/0", "locked", 1);
            return Err(LogError::NoAnswer { within, last: None });
        }
        log.append(after, message, within)
    });
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::new(log), &jungle, &options("loses")).unwrap();
    let tree = jungle.open_tree("t").unwrap();
    let local = Local::open(&cluster, Arc::new(Jungle::new().unwrap())).unwrap();
    let remove = |tx: &mut Draft| tx.remove(&[Key::from(0)]);
    let removed = local.update(&tree, &CommitOptions::default(), remove).unwrap().id.unwrap();
    is_lost.store(true, Ordering::SeqCst);
    local.publish_next().unwrap_err();
    cluster.sync(LONG).unwrap();
    let status = local.status();
    assert_eq!((status.pending, status.refused), (1, 0), "{status:?}");
    // Behind a message of this server's it gets none.
    assert_eq!(local.publish_next().unwrap(), Some(removed));
    assert_eq!(local.outcome(removed).unwrap(), LocalOutcome::Refused);
}

/// A journal that panics once it is told to.
struct Breaks(AtomicBool);

impl Journal for Breaks {
    fn append(&self, _: &CommitRecord) -> Result<(), JournalError> {
        assert!(!self.0.swap(false, Ordering::SeqCst), "as it writes");
        Ok(())
    }
}

/// Else they would have no places, and a restart would take them for settled with what came later.
#[test]
fn what_was_kept_before_stays_where_keeping_more_panics() {
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &options("kept")).unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let journal = Arc::new(Breaks(AtomicBool::new(false)));
    let outbox = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let local = Local::open(&cluster, Arc::new(outbox)).unwrap();
    let append = || local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[]));
    let before = append().unwrap();
    journal.0.store(true, Ordering::SeqCst);
    catch_unwind(AssertUnwindSafe(append)).unwrap_err();
    let after = append().unwrap();
    assert_eq!(local.status().pending, 2);
    while local.publish_next().unwrap().is_some() {}
    for kept in [before, after] {
        assert!(tree.read().root().child(&kept.value).is_some(), "{kept:?}");
    }
    assert_eq!(tree.read().root().child_count(), 2);
}

/// As where no answer came: what was sent may have its place, whatever ended the wait for it.
#[test]
fn who_publishes_by_hand_is_told_of_a_panic_and_nothing_is_refused_for_it() {
    let memory = MemoryLog::new();
    let (other, _other) = server(&Arc::new(memory.connect()), "other");
    let theirs = other.create_tree("t").unwrap();
    theirs.update(|tx| tx.append(&[])).unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&is_broken);
    let log = Appending::new(Arc::new(memory), move |log, after, message, within| {
        if breaks.swap(false, Ordering::SeqCst) {
            put(&theirs, "/0", "locked", 1);
            panic!("as it appends");
        }
        log.append(after, message, within)
    });
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::new(log), &jungle, &options("breaks")).unwrap();
    let tree = jungle.open_tree("t").unwrap();
    let local = Local::open(&cluster, Arc::new(Jungle::new().unwrap())).unwrap();
    let remove = |tx: &mut Draft| tx.remove(&[Key::from(0)]);
    let removed = local.update(&tree, &CommitOptions::default(), remove).unwrap().id.unwrap();
    is_broken.store(true, Ordering::SeqCst);
    let told = local.publish_next();
    assert!(matches!(told, Err(LocalError::BrokenOff)), "{told:?}");
    cluster.sync(LONG).unwrap();
    let status = local.status();
    assert_eq!((status.pending, status.refused), (1, 0), "{status:?}");
    assert_eq!(local.publish_next().unwrap(), Some(removed));
    assert_eq!(local.outcome(removed).unwrap(), LocalOutcome::Refused);
}

/// Nothing gets a place in a tree that is gone, and all others are published behind it.
#[test]
fn what_may_have_its_place_is_refused_with_its_tree_and_keeps_nothing_back() {
    let memory = MemoryLog::new();
    let (theirs, _other) = server(&Arc::new(memory.connect()), "other");
    for name in ["t", "kept"] {
        theirs.create_tree(name).unwrap();
    }
    let is_lost = Arc::new(AtomicBool::new(false));
    let loses = Arc::clone(&is_lost);
    let log = Appending::new(Arc::new(memory), move |log, after, message, within| {
        if loses.swap(false, Ordering::SeqCst) {
            theirs.delete_tree("t").unwrap();
            return Err(LogError::NoAnswer { within, last: None });
        }
        log.append(after, message, within)
    });
    let jungle = Jungle::new().unwrap();
    let cluster = Cluster::follow(Arc::new(log), &jungle, &options("loses")).unwrap();
    let local = Local::open(&cluster, Arc::new(Jungle::new().unwrap())).unwrap();
    let [lost, kept] = ["t", "kept"].map(|name| {
        let tree = jungle.open_tree(name).unwrap();
        let put = local.update(&tree, &CommitOptions::default(), |tx| tx.append(&[]));
        put.unwrap().id.unwrap()
    });
    is_lost.store(true, Ordering::SeqCst);
    local.publish_next().unwrap_err();
    cluster.sync(LONG).unwrap();
    assert_eq!(local.outcome(lost).unwrap(), LocalOutcome::Pending);
    // Its tree is gone; behind a message of this server's it gets no place.
    local.publish_next().unwrap_err();
    assert_eq!(local.publish_next().unwrap(), Some(kept));
    let outcomes = [lost, kept].map(|id| local.outcome(id).unwrap());
    assert_eq!(outcomes, [LocalOutcome::Refused, LocalOutcome::Settled]);
}
