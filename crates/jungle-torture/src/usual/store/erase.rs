//! Power is lost, or a call fails, while something is erased, or another Jungle takes the place of
//! what is there: what is found is the old folder or the new one, whole; and what was erased, or
//! only in the old one, is in none of the new one's files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jungle_db::{Jungle, Retention};
use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
use jungle_testkit::Rng;

use super::crash_images::crash_images;
use super::io::fates;
use super::secrets::{SECRET, as_it_is, options, query, secrets, without};

const KEEPS: [Keep; 5] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random, Keep::Random];

/// What takes the place of what is there.
enum Making {
    /// The same without the secrets.
    Erase,
    /// What a Jungle in memory has.
    Adopt(Jungle),
}

/// A folder with secrets, and what there is to be found of it.
struct Case {
    disk: SimDisk,
    making: Making,
    old: Vec<String>,
    new: Vec<String>,
}

/// One folder; tells how many crashes, or failing calls, there were.
pub fn run(rng: &mut Rng) -> u64 {
    let case = Arc::new(Case::random(rng));
    if rng.chance(1, 2) { power_is_lost(&case, rng) } else { calls_fail(&case, rng) }
}

fn power_is_lost(case: &Arc<Case>, rng: &mut Rng) -> u64 {
    let points = Arc::new(AtomicU64::new(0));
    let disk = copy(&case.disk);
    let (seen, counted, mut fork) = (Arc::clone(case), Arc::clone(&points), rng.fork());
    disk.watch(move |call, world| {
        if call.kind.changes() {
            for keep in &KEEPS[..if world.has_pending() { KEEPS.len() } else { 1 }] {
                let found = world.crash(*keep, &mut |below| fork.below(below));
                let again = if fork.chance(1, 4) { seen.twice(&found, &mut fork) } else { 0 };
                seen.check(&found);
                counted.fetch_add(1 + again, Ordering::SeqCst);
            }
        }
        Fate::Go
    });
    let made = case.make(&disk);
    disk.unwatch();
    made.expect("an undisturbed disk");
    // What was acknowledged lasts.
    assert!(case.check(&disk.world().crash(Keep::Nothing, &mut |_| 0)));
    points.load(Ordering::SeqCst)
}

fn calls_fail(case: &Case, rng: &mut Rng) -> u64 {
    let disk = copy(&case.disk);
    let (made, calls) = disk.record(|| case.make(&disk));
    made.expect("an undisturbed disk");
    let mut points = 0;
    for (at, &(kind, _)) in calls.iter().enumerate() {
        // One way each: there are many calls, and each folder has others.
        let fates = fates(kind, rng);
        let fate = *rng.pick(&fates);
        case.with_failing(at as u64, kind, fate, rng);
        points += 1;
    }
    points
}

impl Case {
    fn random(rng: &mut Rng) -> Case {
        let disk = SimDisk::new();
        let options = options().segment_bytes(*rng.pick(&[300, 700, 4096]));
        let store = options.open_on(Arc::new(disk.clone())).expect("an undisturbed disk");
        let commits = rng.range(5..30);
        secrets(&store, rng, commits);
        let tree = store.open_tree("people").expect("it was made");
        if rng.chance(1, 2) {
            // Then the log does not have it all.
            tree.set_retention(Retention::Last(10)).expect("an undisturbed disk");
        }
        let text = format!("{SECRET} at last");
        tree.update(|tx| tx.put_attribute(&[], "ana", &*text)).expect("an undisturbed disk");
        if rng.chance(2, 3) {
            store.checkpoint().expect("an undisturbed disk");
        }
        let making = if rng.chance(2, 3) { Making::Erase } else { Making::Adopt(stranger(rng)) };
        let new = match &making {
            Making::Erase => without(&store),
            Making::Adopt(jungle) => as_it_is(jungle),
        };
        let old = as_it_is(&store);
        drop((tree, store));
        Case { disk, making, old, new }
    }

    fn make(&self, disk: &SimDisk) -> Result<(), String> {
        let disk = Arc::new(disk.clone());
        match &self.making {
            Making::Erase => {
                let erased = options().erase_on(disk, &query(), |_, _| ());
                let erased = erased.map_err(|error| error.to_string())?.erased;
                assert!(erased.commits > 0);
                Ok(())
            }
            Making::Adopt(jungle) => {
                options().adopt_on(disk, jungle).map_err(|error| error.to_string())
            }
        }
    }

    /// Opens what is there: tells whether it is the new one, of which nothing else is left.
    fn check(&self, disk: &SimDisk) -> bool {
        let store = options().open_on(Arc::new(disk.clone()));
        let store = store.unwrap_or_else(|error| panic!("refused: {error}"));
        let found = as_it_is(&store);
        let is_new = found == self.new;
        assert!(is_new || found == self.old, "neither the old one nor the new one");
        store.verify().unwrap_or_else(|error| panic!("not whole: {error}"));
        drop(store);
        let files = disk.files();
        let is_left = |name: &String| name.contains("erased") || name.starts_with("LOCK.");
        assert!(!files.keys().any(is_left), "{:?}", files.keys());
        assert_eq!(is_anywhere(disk), !is_new);
        is_new
    }

    /// Power is lost again while what a crash left is opened.
    fn twice(&self, found: &SimDisk, rng: &mut Rng) -> u64 {
        let (is_new, images) = self.gone_on_with(&copy(found), rng);
        images.iter().for_each(|image| assert_eq!(self.check(image), is_new));
        images.len() as u64
    }

    /// Opens what is there: tells whether it is the new one, and what is found when power is lost
    /// while it is opened.
    fn gone_on_with(&self, disk: &SimDisk, rng: &mut Rng) -> (bool, Vec<SimDisk>) {
        let keep = |rng: &mut Rng| rng.chance(1, 2).then(|| *rng.pick(&KEEPS));
        let ((), images) = crash_images(disk, rng, keep, || {
            let opened = options().open_on(Arc::new(disk.clone()));
            drop(opened.unwrap_or_else(|error| panic!("refused: {error}")));
        });
        (self.check(disk), images)
    }

    /// One call does not go well.
    fn with_failing(&self, at: u64, kind: CallKind, fate: Fate, rng: &mut Rng) {
        let disk = copy(&self.disk);
        let made = disk.inject(at, fate, || self.make(&disk));
        let (is_new, images) = self.gone_on_with(&disk, rng);
        assert!(is_new || made.is_err(), "{kind:?} call {at} with {fate:?} was not told");
        // A sync that lies loses what it likes.
        if fate != Fate::Lie {
            // Names that nobody has synced yet may be lost at first: then it is the old one still.
            let some = |rng: &mut Rng| kind == CallKind::SyncFolder || rng.chance(1, 8);
            for image in images.iter().filter(|_| some(rng)) {
                let is_either = self.check(image) || made.is_err();
                assert!(is_either, "{kind:?} call {at} with {fate:?}, then power is lost");
            }
            let keep = *rng.pick(&KEEPS);
            let left = disk.world().crash(keep, &mut |below| rng.below(below));
            assert_eq!(self.check(&left), is_new, "{kind:?} call {at} with {fate:?}");
        }
    }
}

/// A Jungle in memory, of which nothing is secret.
fn stranger(rng: &mut Rng) -> Jungle {
    let jungle = Jungle::new().expect("room");
    for name in ["people", "places"] {
        let main = jungle.create_tree(name).expect("it is new");
        for n in 0..rng.range(1..12) {
            let made = main.update(|tx| {
                let key = tx.append(&[])?;
                tx.put_attribute(&[key], "n", n as i64)
            });
            made.expect("nobody else writes");
            if rng.chance(1, 6) {
                let at = main.snapshot().revision();
                main.branch(&format!("{n}"), at).expect("it is new");
                main.tag(&format!("tag {n}"), at).expect("it is new");
            }
        }
    }
    jungle
}

fn copy(disk: &SimDisk) -> SimDisk {
    disk.world().crash(Keep::All, &mut |_| 0)
}

/// Is it in a file, or in what a checkpoint has compressed?
fn is_anywhere(disk: &SimDisk) -> bool {
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|at| at == SECRET.as_bytes());
    let mut reading = PagesOptions::default();
    reading.read_only = true;
    let pages = EnginePages::open_if_there(Arc::new(disk.clone()), reading);
    let is_in = |pages: EnginePages| {
        Table::ALL.into_iter().any(|table| {
            let keys = pages.keys(table, 0..=u64::MAX).expect("it was verified");
            let mut values = keys.into_iter().map(|key| pages.get(table, key));
            values.any(|value| value.expect("it was verified").is_some_and(|value| has(&value)))
        })
    };
    pages.expect("it was verified").is_some_and(is_in) || disk.files().values().any(|it| has(it))
}
