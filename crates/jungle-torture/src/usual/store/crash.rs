//! Power is lost at every call that changes the disk, and what is found then is opened.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jungle_store::Store;
use jungle_store::disk::sim::{Fate, Keep, SimDisk, World};
use jungle_testkit::Rng;

use super::crash_images::{KEEPS, crash_images};
use super::kinds::{self, Kind};
use super::workload::{Known, Progress, Workload, older_of, open, past, portrait};
use super::{CRASHES_OF_SEED, Options, Outcome, copied, counting, crowd};

/// The points of a run, if no other number is asked for.
const USUAL: u64 = 220_000;

/// One crash in so many is looked at thoroughly, which takes as long as five others.
const THOROUGH_ONE_IN: u64 = 16;

/// One workload in so many that are not closed is backed up at its end, unless it began from a
/// folder that was there: a copy in the making may end before what is known of that.
const COPIED_ONE_IN: u64 = 2;

/// Where the crashes fell, and how many were looked at thoroughly.
#[derive(Default)]
struct Counts {
    kinds: kinds::Counts,
    thorough: AtomicU64,
}

pub fn run(options: &Options) -> Outcome {
    let counts = Arc::new(Counts::default());
    let outcome = counting(options, (USUAL, CRASHES_OF_SEED), "crash points", |rng| {
        let is_crowd = rng.chance(1, 4) && older_of(rng.seed()).is_none();
        if is_crowd { crowd::run(rng, &counts.kinds) } else { one(rng, &counts) }
    });
    println!("crash: {} of them verified", counts.thorough.load(Ordering::Relaxed));
    counts.kinds.judge(outcome, options.points(USUAL))
}

/// One workload, with a crash at each of its calls; tells how many there were.
fn one(rng: &mut Rng, counts: &Arc<Counts>) -> u64 {
    let workload = Workload::random(rng);
    let known = Arc::new(workload.rehearse());
    let progress = Arc::new(Progress::default());
    let seen = Arc::new(Mutex::new(Ok(0)));
    let disk = workload.disk();
    {
        let (known, progress, seen) = (known.clone(), progress.clone(), seen.clone());
        let (segment_bytes, counts) = (workload.segment_bytes, Arc::clone(counts));
        let mut rng = rng.fork();
        disk.watch(move |call, world| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Ok(points), true) = (&mut *seen, call.kind.changes()) {
                let (known, progress, counts) = (&known, &progress, &counts);
                let after = After { known, progress, counts, segment_bytes };
                let found = || {
                    let points = after.all_kinds(world, &mut rng);
                    counts.kinds.add(Kind::of(call), points);
                    points
                };
                // A checkpoint's engine would take what is wrong for its own: told below instead.
                match catch_unwind(AssertUnwindSafe(found)) {
                    Ok(more) => *points += more,
                    Err(wrong) => *seen = Err(wrong),
                }
            }
            Fate::Go
        });
    }
    let done = workload.perform(&disk, &known, &progress);
    disk.unwatch();
    let store = done.unwrap_or_else(|refused| panic!("nothing failed, but {refused:?}"));
    let seen = std::mem::replace(&mut *seen.lock().expect("all is caught"), Ok(0));
    let points = seen.unwrap_or_else(|wrong| resume_unwind(wrong));
    let is_copied = workload.older.is_none() && rng.chance(1, COPIED_ONE_IN);
    let Some(store) = store.filter(|_| is_copied) else { return points };
    let copied = copied::run(&store, &known, workload.segment_bytes, rng);
    counts.kinds.add(Kind::Backup, copied);
    points + copied
}

/// What must hold after a crash.
struct After<'k> {
    known: &'k Known,
    progress: &'k Progress,
    counts: &'k Counts,
    segment_bytes: u64,
}

/// What is done with a folder that was opened after a crash, and found to be right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It takes a commit.
    Commit,
    /// It is verified before that, and each revision that it keeps is read.
    Verify,
    /// Power is lost once more behind the commit, which lasts.
    CrashAgain,
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
                self.check(&found, Then::random(rng));
            }
        }
        if self.progress.reclaims.load(Ordering::SeqCst) {
            self.counts.kinds.add(Kind::Reclaiming, points);
        }
        if self.progress.is_upgrading.load(Ordering::SeqCst) {
            self.counts.kinds.add(Kind::Upgrade, points);
        }
        points
    }

    /// Opens what a crash left, with crashes on the way.
    fn during_recovery(&self, found: &SimDisk, rng: &mut Rng) -> u64 {
        let keep = |rng: &mut Rng| Some(*rng.pick(&KEEPS));
        let (store, images) = crash_images(found, rng, keep, || self.open(found));
        self.check_open(found, store, Then::Commit);
        images.iter().for_each(|image| self.check(image, Then::random(rng)));
        let points = images.len() as u64;
        self.counts.kinds.add(Kind::Recovery, points);
        points
    }

    fn check(&self, found: &SimDisk, then: Then) {
        self.check_open(found, self.open(found), then);
    }

    fn open(&self, found: &SimDisk) -> Store {
        let store = open(found, self.segment_bytes);
        store.unwrap_or_else(|error| panic!("refused after a crash: {error}"))
    }

    /// All that was acknowledged is there, and beyond it what was under way at most; and it goes
    /// on from there.
    fn check_open(&self, found: &SimDisk, store: Store, then: Then) {
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
        if then == Then::Verify {
            self.verify(&store, revision);
        }
        store.create_tree("after").expect("a store that is open takes commits");
        if then == Then::CrashAgain {
            let image = found.world().crash(Keep::Nothing, &mut |_| 0);
            let store = open(&image, self.segment_bytes);
            let store = store.unwrap_or_else(|error| panic!("refused later: {error}"));
            assert!(store.revision().number() == revision + 1 && store.open_tree("after").is_ok());
        }
    }

    /// Each byte of the log and each value of the checkpoint is whole, the one says what the other
    /// does, all trees are well formed, and each revision that is kept is what it was.
    fn verify(&self, store: &Store, revision: u64) {
        let verified = store.verify();
        let verified = verified.unwrap_or_else(|error| panic!("revision {revision}: {error}"));
        assert_eq!(verified.revision.number(), revision, "what was verified");
        let is = past(store).unwrap_or_else(|error| panic!("revision {revision}: {error}"));
        let ought = &self.known.pasts[revision as usize];
        assert!(is == *ought, "the past of {revision} is\n{is}and ought to be\n{ought}");
        self.counts.thorough.fetch_add(1, Ordering::Relaxed);
    }
}

impl Then {
    fn random(rng: &mut Rng) -> Then {
        if rng.chance(1, THOROUGH_ONE_IN) {
            Then::Verify
        } else if rng.chance(1, 4) {
            Then::CrashAgain
        } else {
            Then::Commit
        }
    }
}
