//! Power is lost at every call that changes the disk, and what is found then is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_store::Store;
use jungle_store::disk::sim::{Fate, Keep, SimDisk, World};
use jungle_testkit::Rng;

use super::crowd;
use super::workload::{Known, Progress, Workload, open, portrait};

/// One workload, with a crash at each of its calls; tells how many there were.
pub fn run(rng: &mut Rng) -> u64 {
    if rng.chance(1, 4) {
        return crowd::run(rng);
    }
    let workload = Workload::random(rng);
    let known = Arc::new(workload.rehearse());
    let progress = Arc::new(Progress::default());
    let points = Arc::new(AtomicU64::new(0));
    let disk = SimDisk::new();
    {
        let (known, progress, points) = (known.clone(), progress.clone(), points.clone());
        let segment_bytes = workload.segment_bytes;
        let mut rng = rng.fork();
        disk.watch(move |call, world| {
            if call.kind.changes() {
                let after = After { known: &known, progress: &progress, segment_bytes };
                points.fetch_add(after.all_kinds(world, &mut rng), Ordering::Relaxed);
            }
            Fate::Go
        });
    }
    let done = workload.perform(&disk, &known, &progress);
    drop(done.unwrap_or_else(|refused| panic!("nothing failed, but {refused:?}")));
    disk.unwatch();
    points.load(Ordering::Relaxed)
}

/// What must hold after a crash.
struct After<'k> {
    known: &'k Known,
    progress: &'k Progress,
    segment_bytes: u64,
}

impl After<'_> {
    /// Crashes of every kind at this moment.
    fn all_kinds(&self, world: &World, rng: &mut Rng) -> u64 {
        let kinds: &[Keep] = if world.has_pending() {
            &[Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random, Keep::Random]
        } else {
            &[Keep::All]
        };
        let mut points = 0;
        for &keep in kinds {
            let found = world.crash(keep, &mut |below| rng.below(below));
            points += 1;
            if rng.chance(1, 6) {
                points += self.during_recovery(&found, rng);
            } else {
                self.check(&found, rng.chance(1, 4));
            }
        }
        points
    }

    /// Opens what a crash left, with crashes on the way.
    fn during_recovery(&self, found: &SimDisk, rng: &mut Rng) -> u64 {
        let images = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut fork = rng.fork();
        let kept = Arc::clone(&images);
        found.watch(move |call, world| {
            if call.kind.changes() {
                let keep = *fork.pick(&[Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random]);
                let image = world.crash(keep, &mut |below| fork.below(below));
                kept.lock().expect("nothing panics while it is held").push(image);
            }
            Fate::Go
        });
        let store = self.open(found);
        found.unwatch();
        self.check_open(found, store, false);
        let images = std::mem::take(&mut *images.lock().expect("nothing panics while it is held"));
        images.iter().for_each(|image| self.check(image, false));
        images.len() as u64
    }

    fn check(&self, found: &SimDisk, and_again: bool) {
        self.check_open(found, self.open(found), and_again);
    }

    fn open(&self, found: &SimDisk) -> Store {
        let store = open(found, self.segment_bytes);
        store.unwrap_or_else(|error| panic!("refused after a crash: {error}"))
    }

    /// All that was acknowledged is there, and beyond it what was under way at most; and it goes
    /// on from there.
    fn check_open(&self, found: &SimDisk, store: Store, and_again: bool) {
        let least = self.progress.acknowledged.load(Ordering::SeqCst);
        let most = self.progress.begun.load(Ordering::SeqCst);
        let revision = store.revision().number();
        assert!(
            (least..=most).contains(&revision),
            "revision {revision} after a crash, of {least} acknowledged and {most} begun; {:?}",
            store.report()
        );
        let is = portrait(&store).unwrap_or_else(|error| panic!("revision {revision}: {error}"));
        let ought = &self.known.portraits[revision as usize];
        assert!(is == *ought, "revision {revision} is\n{is}and ought to be\n{ought}");
        store.create_tree("after").expect("a store that is open takes commits");
        if and_again {
            let image = found.world().crash(Keep::Nothing, &mut |_| 0);
            let store = open(&image, self.segment_bytes);
            let store = store.unwrap_or_else(|error| panic!("refused later: {error}"));
            assert!(store.revision().number() == revision + 1 && store.open_tree("after").is_ok());
        }
    }
}
