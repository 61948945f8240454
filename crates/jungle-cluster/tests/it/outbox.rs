//! An outbox whose power is lost, at any call of its disk.

use std::collections::BTreeSet;
use std::slice;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jungle_cluster::{Cluster, Local, LocalOutcome, WRITERS};
use jungle_db::{CommitMeta, CommitOptions, Durability, Jungle};
use jungle_store::disk::Disk;
use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::Key;

use crate::memory::Engine;
use crate::support::newcomer;

const KEEPS: [Keep; 4] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random];

/// What clients were told: the key of the new node, its name, and whether it is to last.
type Told = Arc<Mutex<Vec<(Key, String, bool)>>>;

fn open(disk: &SimDisk) -> Store {
    let options = OpenOptions::new().segment_bytes(2048).checkpoint_every(4096);
    options.open_on(Arc::new(disk.clone()) as Arc<dyn Disk>).unwrap()
}

fn append(local: &Local, jungle: &Jungle, name: &str, durability: Durability) -> Key {
    let meta = CommitMeta::new().message(name);
    let options = CommitOptions { durability: Some(durability), ..CommitOptions::from(&meta) };
    let tree = jungle.open_tree("t").unwrap();
    let kept = local.update(&tree, &options, |tx| {
        let key = tx.append(&[])?;
        tx.put_attribute(std::slice::from_ref(&key), "name", name)?;
        Ok::<_, jungle_tree::EditError>(key)
    });
    kept.unwrap().value
}

/// Changes nothing, and is told how it stands.
fn look(local: &Local, jungle: &Jungle, durability: Durability) -> u64 {
    let options = CommitOptions { durability: Some(durability), ..CommitOptions::default() };
    let tree = jungle.open_tree("t").unwrap();
    let kept = local.update(&tree, &options, |tx| tx.child_count(&[])).unwrap();
    assert_eq!(kept.id, None);
    kept.value
}

/// The disk after the loss, how many messages the log had, and what had been told.
type Image = (SimDisk, usize, Vec<(Key, String, bool)>);

/// A server that appends, publishes now and then, and has another beside it.
fn perform(engine: &Arc<Engine>, disk: &SimDisk, told: &Told, rng: &mut Rng) {
    let other = newcomer(engine.connect(rng, 0), "other").unwrap();
    let (jungle, cluster) = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let tree = other.0.create_tree("t").unwrap();
    cluster.sync(Duration::from_secs(30)).unwrap();
    let local = Local::open(&cluster, open(disk)).unwrap();
    for number in 0..rng.range(10..40) {
        match rng.below(5) {
            0 => drop(local.publish_next().unwrap()),
            1 => drop(tree.update(|tx| tx.append(&[])).unwrap()),
            2 => {
                look(&local, &jungle, Durability::Sync);
                // What it has seen is to last.
                told.lock().unwrap().iter_mut().for_each(|(_, _, lasts)| *lasts = true);
            }
            _ => {
                let levels = [Durability::Memory, Durability::Buffered, Durability::Sync];
                let (name, durability) = (format!("n{number}"), *rng.pick(&levels));
                let key = append(&local, &jungle, &name, durability);
                let mut told = told.lock().unwrap();
                if durability == Durability::Sync {
                    // It takes those before it along.
                    told.iter_mut().for_each(|(_, _, lasts)| *lasts = true);
                }
                told.push((key, name, durability == Durability::Sync));
            }
        }
    }
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power() {
    let points = Mutex::new(0);
    for_each_seed(12, |rng| {
        let engine = Arc::new(Engine::default());
        let (disk, told) = (SimDisk::new(), Told::default());
        let images: Arc<Mutex<Vec<Image>>> = Arc::default();
        let (log, seen, taken) = (Arc::clone(&engine), Arc::clone(&told), Arc::clone(&images));
        let mut fork = rng.fork();
        disk.watch(move |call, world| {
            if call.kind.changes() && fork.chance(1, 6) {
                let disk = world.crash(*fork.pick(&KEEPS), &mut |below| fork.below(below));
                let (messages, told) = (log.messages().len(), seen.lock().unwrap().clone());
                taken.lock().unwrap().push((disk, messages, told));
            }
            Fate::Go
        });
        perform(&engine, &disk, &told, rng);
        disk.unwatch();
        let images: Vec<Image> = std::mem::take(&mut *images.lock().unwrap());
        *points.lock().unwrap() += images.len();
        for (disk, messages, told) in images {
            check(&engine, &disk, messages, &told, rng);
        }
    });
    assert!(*points.lock().unwrap() > 100, "{points:?}");
}

/// Also where it is killed as it comes back from having been killed.
#[test]
fn no_path_is_given_again_however_often_a_server_is_killed() {
    for_each_seed(12, |rng| {
        let mut engine = Arc::new(Engine::default());
        newcomer(engine.connect(rng, 0), "other").unwrap().0.create_tree("t").unwrap();
        let begun = engine.messages().len();
        let mut killed: Image = (SimDisk::new(), begun, Vec::new());
        for life in 0..10 {
            (engine, killed) = live(&engine, killed, life, rng);
        }
        let (disk, messages, told) = killed;
        let (_engine, (jungle, cluster)) = back(&engine, messages, rng);
        let local = Local::open(&cluster, open(&disk)).unwrap();
        while local.publish_next().unwrap().is_some() {}
        let now = jungle.open_tree("t").unwrap().snapshot();
        for (key, name, _) in told {
            let found = now.root().child(&key).and_then(|node| node.attribute("name")?.as_text());
            assert!(found.is_none_or(|found| found == name), "{key} is {found:?}, not {name}");
        }
    });
}

/// A server that comes back to the log as it was when it was killed.
fn back(engine: &Engine, messages: usize, rng: &mut Rng) -> (Arc<Engine>, (Jungle, Cluster)) {
    let then = Arc::new(Engine::default());
    then.messages().extend_from_slice(&engine.messages()[..messages]);
    let server = newcomer(then.connect(rng, 0), "ours").unwrap();
    (then, server)
}

/// One that comes back, gives paths, and is killed at some call of its disk, or at the end.
fn live(
    engine: &Engine,
    (disk, messages, given): Image,
    life: u64,
    rng: &mut Rng,
) -> (Arc<Engine>, Image) {
    let (engine, (jungle, cluster)) = back(engine, messages, rng);
    let (told, killed) = (Arc::new(Mutex::new(given)), Arc::new(Mutex::new(None::<Image>)));
    let (log, seen, taken) = (Arc::clone(&engine), Arc::clone(&told), Arc::clone(&killed));
    let mut fork = rng.fork();
    disk.watch(move |call, world| {
        let mut taken = taken.lock().unwrap();
        if taken.is_none() && call.kind.changes() && fork.chance(1, 12) {
            let left = world.crash(*fork.pick(&KEEPS), &mut |below| fork.below(below));
            *taken = Some((left, log.messages().len(), seen.lock().unwrap().clone()));
        }
        Fate::Go
    });
    let local = Local::open(&cluster, open(&disk)).unwrap();
    for number in 0..rng.range(1..10) {
        if rng.chance(1, 4) {
            local.publish_next().unwrap();
            continue;
        }
        let durability = *rng.pick(&[Durability::Memory, Durability::Sync]);
        let name = format!("{life} {number}");
        let key = append(&local, &jungle, &name, durability);
        let mut told = told.lock().unwrap();
        assert!(told.iter().all(|(given, ..)| *given != key), "{key} is given again");
        told.push((key, name, durability == Durability::Sync));
    }
    disk.unwatch();
    let killed = killed.lock().unwrap().take();
    let killed = killed.unwrap_or_else(|| {
        let left = disk.world().crash(*rng.pick(&KEEPS), &mut |below| rng.below(below));
        (left, engine.messages().len(), told.lock().unwrap().clone())
    });
    (engine, killed)
}

#[test]
fn what_changes_nothing_stands_on_entries_that_last() {
    let rng = &mut Rng::new(1);
    let (engine, disk) = (Arc::new(Engine::default()), SimDisk::new());
    let (jungle, cluster) = newcomer(engine.connect(rng, 0), "ours").unwrap();
    jungle.create_tree("t").unwrap();
    let store = open(&disk);
    let outbox = Jungle::clone(&store);
    let local = Local::open(&cluster, store).unwrap();
    assert_eq!(look(&local, &jungle, Durability::Sync), 0);
    let key = append(&local, &jungle, "hasty", Durability::Memory);
    assert_eq!(look(&local, &jungle, Durability::Memory), 1);
    let lost = open(&disk.world().crash(Keep::Nothing, &mut |_| 0));
    assert!(lost.revision() < outbox.revision(), "it lasts anyhow");
    assert_eq!(look(&local, &jungle, Durability::Sync), 1);
    let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
    let messages = engine.messages().len();
    check(&engine, &found, messages, &[(key, "hasty".into(), true)], rng);
}

/// Else it would count as one that has its place, and nobody would hear of it again.
#[test]
fn nothing_is_published_behind_a_refusal_that_is_not_on_disk() {
    let rng = &mut Rng::new(1);
    let (engine, disk) = (Arc::new(Engine::default()), SimDisk::new());
    let (theirs, _their_cluster) = newcomer(engine.connect(rng, 0), "theirs").unwrap();
    let their_tree = theirs.create_tree("t").unwrap();
    let gone = their_tree.update(|tx| tx.append(&[])).unwrap().value;
    let at = slice::from_ref(&gone);
    let (jungle, cluster) = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let local = Local::open(&cluster, open(&disk)).unwrap();
    let tree = jungle.open_tree("t").unwrap();
    let edit = local.update(&tree, &CommitOptions::default(), |tx| tx.put_attribute(at, "n", 1));
    let refused = edit.unwrap().id.unwrap();
    let later = append(&local, &jungle, "later", Durability::Sync);
    their_tree.update(|tx| tx.remove(at)).unwrap();
    cluster.sync(Duration::from_secs(30)).unwrap();
    disk.watch(|call, _| match call.kind {
        CallKind::Sync => Fate::Fail(5),
        _ => Fate::Go,
    });
    let messages = engine.messages().len();
    for _ in 0..3 {
        assert!(local.publish_next().is_err());
    }
    assert_eq!(engine.messages().len(), messages);
    disk.unwatch();
    // It comes back with what its disk has.
    let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
    let (jungle, cluster) = newcomer(engine.connect(rng, 0), "ours").unwrap();
    let local = Local::open(&cluster, open(&found)).unwrap();
    while local.publish_next().unwrap().is_some() {}
    assert_eq!(local.outcome(refused).unwrap(), LocalOutcome::Refused);
    assert!(jungle.open_tree("t").unwrap().read().root().child(&later).is_some());
}

/// The server comes back with what its disk had, to the log as it was then.
fn check(
    engine: &Engine,
    disk: &SimDisk,
    messages: usize,
    told: &[(Key, String, bool)],
    rng: &mut Rng,
) {
    let then = Arc::new(Engine::default());
    then.messages().extend_from_slice(&engine.messages()[..messages]);
    let (jungle, cluster): (Jungle, Cluster) = newcomer(then.connect(rng, 0), "ours").unwrap();
    let Ok(tree) = jungle.open_tree("t") else { return };
    let local = Local::open(&cluster, open(disk)).unwrap();
    // What it gives now, it has not given before.
    let given: BTreeSet<&Key> = told.iter().map(|(key, ..)| key).collect();
    let key = append(&local, &jungle, "again", Durability::Sync);
    assert!(!given.contains(&key), "{key}");
    while local.publish_next().unwrap().is_some() {}
    let status = local.status();
    assert_eq!((status.pending, status.refused), (0, 0));
    let writers = jungle.open_tree(WRITERS).unwrap();
    let published: Vec<String> = writers
        .history(..)
        .filter_map(|info| info.unwrap().meta.message_text().map(str::to_owned))
        .collect();
    let now = tree.snapshot();
    for (key, name, lasts) in told {
        let times = published.iter().filter(|published| *published == name).count();
        assert!(times <= 1 && (times == 1 || !lasts), "{name} was published {times} times");
        let found = now.root().child(key).and_then(|node| node.attribute("name")?.as_text());
        assert_eq!(found, (times == 1).then_some(name.as_str()), "{key}");
    }
    assert!(published.iter().any(|published| published == "again"));
}
