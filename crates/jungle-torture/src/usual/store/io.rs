//! Each call of the disk fails once, in each way it can.

use std::sync::atomic::Ordering;

use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_testkit::Rng;

use super::crash_images::KEEPS;
use super::workload::{Known, Portrait, Progress, Refused, Workload, portrait};

const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// One workload, once for each of its calls and each way in which that can fail. With a bug awake
/// each of its syncs fails once, and nothing else does: the bugs planted for this suite are in what
/// is done about that, and one call in ten thousand shows the rarest.
pub fn run(rng: &mut Rng, is_bug_awake: bool) -> u64 {
    let mut workload = Workload::random(rng);
    // What could not be read of their history is asked for again, and nobody is told meanwhile.
    workload.older = None;
    let known = workload.rehearse();
    let calls = calls_of(&workload, &known);
    let mut injected = 0;
    for (at, (kind, name)) in calls.iter().enumerate() {
        let fates = match kind {
            CallKind::Sync | CallKind::SyncFolder if is_bug_awake => vec![Fate::Fail(EIO)],
            _ if is_bug_awake => continue,
            _ => fates(*kind, rng),
        };
        for fate in fates {
            let (workload, known, kind, at) = (&workload, &known, *kind, at as u64);
            Injection { workload, known, at, kind, name, fate }.run(rng);
            injected += 1;
        }
    }
    injected
}

/// The calls that it makes when nothing fails.
fn calls_of(workload: &Workload, known: &Known) -> Vec<(CallKind, String)> {
    let disk = workload.disk();
    let ((), calls) = disk.record(|| {
        let done = workload.perform(&disk, known, &Progress::default());
        drop(done.unwrap_or_else(|refused| panic!("nothing failed, but {refused:?}")));
    });
    calls
}

pub fn fates(kind: CallKind, rng: &mut Rng) -> Vec<Fate> {
    let part = rng.below(700) as usize;
    match kind {
        CallKind::Read => vec![Fate::Fail(EIO), Fate::Fail(EINTR), Fate::Short(part % 40)],
        CallKind::Write => vec![
            Fate::Fail(EIO),
            Fate::Fail(ENOSPC),
            Fate::Fail(EINTR),
            Fate::Short(part),
            Fate::PartThenFail(part, ENOSPC),
            Fate::PartThenFail(part, EIO),
        ],
        CallKind::Sync => {
            // What it has made last before it failed is anybody's guess: it may be all.
            let part = *rng.pick(&[part, 8 * part, usize::MAX]);
            let part = Fate::PartThenFail(part, EIO);
            vec![Fate::Fail(EIO), Fate::Fail(ENOSPC), Fate::Fail(EINTR), part, Fate::Lie]
        }
        CallKind::SyncFolder => {
            vec![Fate::Fail(EIO), Fate::Fail(ENOSPC), Fate::Fail(EINTR), Fate::Lie]
        }
        CallKind::Open | CallKind::CreateFolder | CallKind::Rename => {
            vec![Fate::Fail(EIO), Fate::Fail(ENOSPC)]
        }
        _ => vec![Fate::Fail(EIO)],
    }
}

/// One call that does not go well.
#[derive(Clone, Copy)]
struct Injection<'k> {
    workload: &'k Workload,
    known: &'k Known,
    at: u64,
    kind: CallKind,
    /// The file or folder that it is about.
    name: &'k str,
    fate: Fate,
}

impl Injection<'_> {
    fn run(self, rng: &mut Rng) {
        let Injection { at, fate, .. } = self;
        let (disk, progress) = (self.workload.disk(), Progress::default());
        let done = disk.inject(at, fate, || {
            let store = self.workload.perform(&disk, self.known, &progress)?;
            // What fails while it is dropped is met by nobody: who wants to know closes it.
            store.map_or(Ok(()), |store| store.close().map_err(|_| Refused::Close))
        });
        self.says_so(&done, progress.told.load(Ordering::SeqCst));
        let least = progress.acknowledged.load(Ordering::SeqCst);
        let most = progress.begun.load(Ordering::SeqCst);
        let after = |what| After { injection: self, what, least, most };
        let keep = *rng.pick(&KEEPS);
        let found = disk.world().crash(keep, &mut |below| rng.below(below));
        if fate == Fate::Lie {
            after("with the power lost").is_told_or_some_state(&found);
            after("as it is").open(&disk, None);
        } else {
            after("with the power lost").check(&found);
            after("as it is").check(&disk);
        }
    }

    /// What the system does in parts, or when asked again, is no failure, and neither is what it
    /// hides. Any other is told: by the call that met it, or by one of those behind it.
    fn says_so(&self, done: &Result<(), Refused>, is_told: bool) {
        let is_read_or_write = matches!(self.kind, CallKind::Read | CallKind::Write);
        let harmless = matches!(self.fate, Fate::Short(_) | Fate::Lie)
            || (is_read_or_write && self.fate == Fate::Fail(EINTR));
        assert!(done.is_ok() || !harmless, "{}: {done:?}", self.describe("told"));
        // Whoever opens the folder removes it, too.
        let is_left_over = self.kind == CallKind::Remove && self.name.ends_with("next");
        let is_excused = harmless || is_left_over || self.is_ahead();
        let is_told = is_told || done.is_err() || is_excused;
        assert!(is_told, "{}", self.describe("nobody was told"));
    }

    /// What is filled ahead, and finds no room, is filled anew with the next commit. So it is with
    /// the log's file only; a checkpoint for which there is no room is told. A segment that cannot
    /// be opened once more, to be synced ahead, is synced later.
    fn is_ahead(&self) -> bool {
        let fills = matches!(self.kind, CallKind::Open | CallKind::Write | CallKind::Sync);
        let has_no_room = matches!(self.fate, Fate::Fail(ENOSPC) | Fate::PartThenFail(_, ENOSPC));
        let is_filled = fills && has_no_room && self.name == "log/next";
        is_filled || self.kind == CallKind::Open && self.name.ends_with(".log")
    }

    fn describe(&self, when: &str) -> String {
        let Injection { at, kind, name, fate, workload, .. } = self;
        format!("{kind:?} call {at} to {name:?} with {fate:?}, {when}, of {workload:?}")
    }
}

/// What must hold when it is opened again.
struct After<'k> {
    injection: Injection<'k>,
    what: &'static str,
    least: u64,
    most: u64,
}

impl After<'_> {
    fn check(&self, disk: &SimDisk) {
        let revision = self.open(disk, None);
        // What it showed and then built upon is there for good.
        let found = disk.world().crash(Keep::Nothing, &mut |_| 0);
        self.open(&found, Some(revision + 1));
    }

    /// A disk that lied may have lost what was acknowledged, but gives nothing that never was.
    fn is_told_or_some_state(&self, disk: &SimDisk) {
        if let Ok(store) = self.injection.workload.open(disk) {
            let revision = store.revision().number() as usize;
            let ought = self.injection.known.portraits.get(revision);
            let Ok(is) = portrait(&store) else { return };
            assert!(ought == Some(&is), "{}", self.injection.describe(self.what));
        }
    }

    /// Opens it, looks, and commits; gives the revision found.
    fn open(&self, disk: &SimDisk, exactly: Option<u64>) -> u64 {
        let says = || self.injection.describe(self.what);
        let store = self.injection.workload.open(disk);
        let store = store.unwrap_or_else(|error| panic!("{}: refused, {error:?}", says()));
        let revision = store.revision().number();
        let (least, most) = exactly.map_or((self.least, self.most), |exactly| (exactly, exactly));
        assert!(
            (least..=most).contains(&revision),
            "{}: revision {revision}, of {least} acknowledged and {most} begun",
            says()
        );
        if exactly.is_none() {
            let ought: &Portrait = &self.injection.known.portraits[revision as usize];
            let is = portrait(&store).unwrap_or_else(|error| panic!("{}: {error}", says()));
            assert!(is == *ought, "{}: {revision} is\n{is}and not\n{ought}", says());
            let done = store.create_tree("after");
            done.unwrap_or_else(|error| panic!("{}: {error:?}", says()));
        }
        revision
    }
}
