//! Power is lost while several threads share groups, half of the time with checkpoints written
//! beside them: whoever was told that a commit lasts finds it.
//!
//! The interleaving is the machine's, so a seed repeats what is done and not when.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{CommitOptions, Retention, TreeHandle};
use jungle_store::Durability;
use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_testkit::Rng;

use super::child::{WRITERS, count};
use super::kinds::{self, Kind};
use super::workload::open;

const COMMITS: i64 = 12;

/// What each writer was told, and what it has begun.
#[derive(Default)]
struct Told {
    acknowledged: [AtomicI64; WRITERS],
    begun: [AtomicI64; WRITERS],
}

/// A disk after a crash, what that fell in, and how far each writer had to be.
struct Found {
    disk: SimDisk,
    kind: Kind,
    least: [i64; WRITERS],
}

pub fn run(rng: &mut Rng, counts: &kinds::Counts) -> u64 {
    let (disk, told) = (SimDisk::new(), Arc::new(Told::default()));
    let segment_bytes = *rng.pick(&[512, 1024, 4096]);
    let store = open(&disk, segment_bytes).expect("an undisturbed disk");
    let tree = store.create_tree("t").expect("an undisturbed disk");
    let checkpoints = rng.chance(1, 2);
    if rng.chance(1, 2) {
        // So that the log is shortened beside them, too.
        tree.set_retention(Retention::Last(3)).expect("an undisturbed disk");
    }
    let found = watch(&disk, &told, rng.fork());
    std::thread::scope(|scope| {
        let writers = std::array::from_fn::<_, WRITERS, _>(|writer| {
            let (tree, told, mut rng) = (&tree, &told, rng.fork());
            scope.spawn(move || write(tree, told, writer, &mut rng))
        });
        while checkpoints && writers.iter().any(|writer| !writer.is_finished()) {
            store.checkpoint().expect("an undisturbed disk");
        }
    });
    disk.unwatch();
    let found = std::mem::take(&mut *found.lock().expect("nothing panics while it is held"));
    for Found { disk, kind, least } in &found {
        check(disk, segment_bytes, *least, &told);
        counts.add(*kind, 1);
        if matches!(kind, Kind::CheckpointWrite | Kind::CheckpointSync) {
            counts.add(Kind::Beside, 1);
        }
    }
    found.len() as u64
}

/// Keeps what a crash leaves at some of the calls.
fn watch(disk: &SimDisk, told: &Arc<Told>, mut rng: Rng) -> Arc<Mutex<Vec<Found>>> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let (kept, told) = (Arc::clone(&found), Arc::clone(told));
    disk.watch(move |call, world| {
        let kind = Kind::of(call);
        // A checkpoint makes many calls, and what it leaves is large.
        let one_in = if call.name.starts_with("pages") { 8 } else { 2 };
        if call.kind.changes() && rng.chance(1, one_in) {
            let least = std::array::from_fn(|at| told.acknowledged[at].load(Ordering::SeqCst));
            let keep = *rng.pick(&[Keep::Nothing, Keep::Prefix, Keep::Random]);
            let disk = world.crash(keep, &mut |below| rng.below(below));
            let mut kept = kept.lock().expect("nothing panics while it is held");
            kept.push(Found { disk, kind, least });
        }
        // Others come to wait for what is being written.
        std::thread::yield_now();
        Fate::Go
    });
    found
}

fn write(tree: &TreeHandle, told: &Told, writer: usize, rng: &mut Rng) {
    let key = writer.to_string();
    for count in 1..=COMMITS {
        let all = [Durability::Sync, Durability::Sync, Durability::Buffered, Durability::Memory];
        let durability = *rng.pick(&all);
        let options = CommitOptions { durability: Some(durability), ..CommitOptions::default() };
        told.begun[writer].store(count, Ordering::SeqCst);
        let done = tree.update_with(&options, |tx| tx.put_attribute(&[], &key, count));
        done.expect("an undisturbed disk");
        if durability == Durability::Sync {
            told.acknowledged[writer].store(count, Ordering::SeqCst);
        }
    }
}

fn check(disk: &SimDisk, segment_bytes: u64, least: [i64; WRITERS], told: &Told) {
    let store = open(disk, segment_bytes);
    let store = store.unwrap_or_else(|error| panic!("refused after a crash: {error}"));
    let tree = store.open_tree("t").expect("made before anything was lost");
    for (writer, least) in least.into_iter().enumerate() {
        let (found, begun) = (count(&tree, writer), told.begun[writer].load(Ordering::SeqCst));
        assert!(
            (least..=begun).contains(&found),
            "writer {writer} was told {least}, began {begun}, and {found} is there"
        );
    }
    store.create_tree("after").expect("a store that is open takes commits");
}
