//! Power is lost while several threads share groups: whoever was told that a commit lasts finds it.
//!
//! The interleaving is the machine's, so a seed repeats what is done and not when.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_db::{CommitOptions, TreeHandle};
use jungle_store::Durability;
use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_testkit::Rng;

use super::child::{WRITERS, count};
use super::workload::open;

const COMMITS: i64 = 12;

/// What each writer was told, and what it has begun.
#[derive(Default)]
struct Told {
    acknowledged: [AtomicI64; WRITERS],
    begun: [AtomicI64; WRITERS],
}

/// A disk after a crash, and how far each writer had to be, and could be.
type Found = (SimDisk, [i64; WRITERS], Arc<Told>);

pub fn run(rng: &mut Rng) -> u64 {
    let (disk, told) = (SimDisk::new(), Arc::new(Told::default()));
    let segment_bytes = *rng.pick(&[512, 1024, 4096]);
    let store = open(&disk, segment_bytes).expect("an undisturbed disk");
    let tree = store.create_tree("t").expect("an undisturbed disk");
    let found = watch(&disk, &told, rng.fork());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (tree, told, mut rng) = (&tree, &told, rng.fork());
            scope.spawn(move || write(tree, told, writer, &mut rng));
        }
    });
    disk.unwatch();
    let points = AtomicU64::new(0);
    for (disk, least, told) in found.lock().expect("nothing panics while it is held").drain(..) {
        check(&disk, segment_bytes, least, &told);
        points.fetch_add(1, Ordering::Relaxed);
    }
    points.into_inner()
}

/// Keeps what a crash leaves at some of the calls.
fn watch(disk: &SimDisk, told: &Arc<Told>, mut rng: Rng) -> Arc<Mutex<Vec<Found>>> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let (kept, told) = (Arc::clone(&found), Arc::clone(told));
    disk.watch(move |call, world| {
        if call.kind.changes() && rng.chance(1, 2) {
            let least = std::array::from_fn(|at| told.acknowledged[at].load(Ordering::SeqCst));
            let keep = *rng.pick(&[Keep::Nothing, Keep::Prefix, Keep::Random]);
            let image = world.crash(keep, &mut |below| rng.below(below));
            let mut kept = kept.lock().expect("nothing panics while it is held");
            kept.push((image, least, Arc::clone(&told)));
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
