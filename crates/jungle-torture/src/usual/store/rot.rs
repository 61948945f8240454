//! Files that are damaged between two openings: what is found is told, or is what was committed.
//!
//! - A log that was closed gives all of it, or an error.
//! - One that was not may end early only where nobody can tell damage from a group that was being
//!   written as the power went away: in the last group (it says then what it cut off), or where a
//!   whole block with everything to the end of the log became what it was before.
//! - What is told names the damaged file and, where it says a place, one that the damage is in.
//! - What is saved of it by a repair is what was committed, and what is not is told.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use jungle_store::disk::sim::{CallKind, Fate, Keep, SimDisk};
use jungle_store::disk::{Disk, DiskFile, Lock, Mode};
use jungle_store::{OpenError, OpenOptions, RepairError, RepairProgress, RepairReport, Store};
use jungle_testkit::Rng;

use super::workload::{Known, Progress, Workload, open, past, portrait};

/// Damages of one log; each is a case that is counted.
const DAMAGES: u64 = 40;

type Files = BTreeMap<String, Vec<u8>>;

const ZEROS: &str = "a block of zeros";

/// What a disk can or cannot read, it can or cannot read in so many bytes.
const PAGE: usize = 4096;

/// A disk that cannot read a page of one of its files.
struct RefusingDisk {
    disk: SimDisk,
    file: String,
    at: usize,
}

impl Disk for RefusingDisk {
    fn place(&self) -> String {
        self.disk.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(name, mode)?;
        let bad = if *name == self.file { self.at..self.at + PAGE } else { 0..0 };
        Ok(Box::new(RefusingFile { file, bad }))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }
}

struct RefusingFile {
    file: Box<dyn DiskFile>,
    bad: Range<usize>,
}

impl DiskFile for RefusingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let (at, end) = (offset as usize, offset as usize + bytes.len());
        if at < self.bad.end && self.bad.start < end {
            return Err(io::Error::other("a page that cannot be read"));
        }
        self.file.read_at(bytes, offset)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
    }
}

pub fn run(rng: &mut Rng) -> u64 {
    let workload = Workload {
        seed: rng.next_u64(),
        steps: rng.range(10..60),
        segment_bytes: *rng.pick(&[512, 4096, 16384]),
        mixed: rng.chance(1, 3),
        checkpoints: rng.chance(1, 2),
        collects: false,
        closes: rng.chance(1, 2),
        long: false,
        older: None,
    };
    let known = workload.rehearse();
    let history = files_of(&workload, &known);
    let last = revision_of(history.last().expect("the end is one of them"));
    let log = Log { workload: &workload, known: &known, history: &history, last };
    for _ in 0..DAMAGES {
        log.damage(rng);
    }
    DAMAGES
}

/// The files at some moments, the last one included.
fn files_of(workload: &Workload, known: &Known) -> Vec<Files> {
    let disk = SimDisk::new();
    let history = Arc::new(Mutex::new(Vec::new()));
    let (moments, mut syncs) = (Arc::clone(&history), 0);
    disk.watch(move |call, world| {
        syncs += u32::from(call.kind == CallKind::Sync);
        if call.kind == CallKind::Sync && syncs % 5 == 0 {
            let files = world.crash(Keep::All, &mut |_| 0).files();
            moments.lock().expect("nothing panics while it is held").push(files);
        }
        Fate::Go
    });
    let store = workload.perform(&disk, known, &Progress::default());
    let store = store.unwrap_or_else(|refused| panic!("nothing failed, but {refused:?}"));
    disk.unwatch();
    let mut history = std::mem::take(&mut *history.lock().expect("as above"));
    // As if the process were gone now.
    history.push(disk.files());
    drop(store);
    history
}

/// A log that is damaged in many ways.
struct Log<'k> {
    workload: &'k Workload,
    known: &'k Known,
    history: &'k [Files],
    /// The newest revision in it.
    last: u64,
}

/// What was done to a file.
#[derive(Debug)]
#[allow(dead_code, reason = "printed when a test fails")]
struct Damage {
    what: &'static str,
    file: String,
    /// Another file that was changed by it.
    other: Option<String>,
    bytes: Range<usize>,
}

impl Damage {
    fn is_page_of_zeros(&self, files: &Files) -> bool {
        let end = (self.bytes.start + PAGE).min(files[&self.file].len());
        self.what == ZEROS && self.bytes.start.is_multiple_of(PAGE) && self.bytes.end == end
    }

    /// Is some of it there?
    fn is_in(&self, place: &Range<usize>) -> bool {
        self.bytes.start < place.end && place.start < self.bytes.end
    }
}

/// A frame of the log, found by the lengths alone.
struct Frame {
    file: String,
    bytes: Range<usize>,
    first: u64,
    /// Up to where it says that its segment was synced before it was written.
    synced: usize,
}

impl Frame {
    /// Is it as it was, and says that another one was synced?
    fn shows(&self, other: &Frame, damage: &Damage) -> bool {
        if self.file == other.file {
            let is_apart =
                damage.bytes.end <= self.bytes.start || self.bytes.end <= damage.bytes.start;
            return self.synced >= other.bytes.end && (damage.file != self.file || is_apart);
        }
        // Another segment is begun when all of the one before was synced.
        self.file > other.file && damage.file != self.file
    }
}

impl Log<'_> {
    fn damage(&self, rng: &mut Rng) {
        let intact = self.history.last().expect("the end is one of them");
        // What the dice leave as it was is no damage: zeros over zeros, say.
        let (damage, files) = loop {
            let mut files = intact.clone();
            if let Some(damage) = self.some_damage(&mut files, rng) {
                break (damage, files);
            }
        };
        // It costs more than all the rest.
        if rng.chance(1, 4) {
            self.repair(&files, &damage);
        }
        let disk = SimDisk::with_files(&files);
        match open(&disk, self.workload.segment_bytes) {
            Ok(store) => self.check_opened((&store, &disk), &files, &damage, intact),
            Err(error) => self.check_told(&error, &damage, intact),
        }
    }

    /// What is saved of the damaged files is the state of some revision, and all of it if nothing
    /// is told as lost; of one of which something is lost, each revision that is there is what it
    /// was.
    fn repair(&self, files: &Files, damage: &Damage) {
        let (from, to) = (SimDisk::with_files(files), SimDisk::new());
        let options = OpenOptions::new().segment_bytes(self.workload.segment_bytes);
        let progress = RepairProgress::default();
        let repair =
            |from, to: &SimDisk| options.clone().repair_on(from, Arc::new(to.clone()), &progress);
        let repaired = repair(Arc::new(from.clone()), &to);
        assert_eq!(&from.files(), files, "CHANGED: {}", self.describe(damage));
        if damage.is_page_of_zeros(files) {
            // Where it cannot be read it may as well be zeros.
            let refusing =
                RefusingDisk { disk: from, file: damage.file.clone(), at: damage.bytes.start };
            let other = repair(Arc::new(refusing), &SimDisk::new());
            let saved =
                |report: &RepairReport| (report.revision, report.source, report.lost.clone());
            let both = (other.as_ref().map(saved).ok(), repaired.as_ref().map(saved).ok());
            assert_eq!(both.0, both.1, "{other:?}; {}", self.describe(damage));
            // But nobody knows that nothing was there.
            let is_all =
                other.is_ok_and(|report| report.is_all() && report.revision.number() < self.last);
            assert!(!is_all, "SILENT: {}", self.describe(damage));
        }
        let report = match repaired {
            Ok(report) => report,
            Err(RepairError::Nothing { survey, .. }) => {
                let readable = survey.revision.number();
                return assert_eq!(readable, 0, "LOST: {}", self.describe(damage));
            }
            Err(error) => panic!("{error:?} for {}", self.describe(damage)),
        };
        let readable = report.survey.revision;
        let is_all_there = report.revision >= readable;
        assert!(is_all_there, "LOST: {report:?}; {}", self.describe(damage));
        let store = open(&to, self.workload.segment_bytes).expect("it was verified");
        let was = &self.known.pasts[report.revision.number() as usize];
        let is = past(&store).unwrap_or_else(|told| panic!("{told}; {}", self.describe(damage)));
        if report.lost.is_empty() {
            assert_eq!(&is, was, "SILENT: {}", self.describe(damage));
        }
        let was: BTreeSet<&str> = was.lines().collect();
        let made = |line: &&str| {
            // Names may have spaces.
            line.rsplit(' ').nth(1).is_some_and(|number| {
                number.parse::<u64>().is_ok_and(|number| number > report.revision.number())
            })
        };
        let mut others = is.lines().filter(|line| !was.contains(line) && !made(line));
        assert_eq!(others.next(), None, "SILENT: {report:?}; {}", self.describe(damage));
    }

    /// Changes something; nothing when the dice change nothing.
    fn some_damage(&self, files: &mut Files, rng: &mut Rng) -> Option<Damage> {
        let intact = files.clone();
        let names: Vec<&String> = intact.keys().collect();
        let file = (*rng.pick(&names)).clone();
        let len = intact[&file].len();
        let block = *rng.pick(&[512, 4096]);
        let at = rng.index(len.max(1));
        let here = at / block * block..len.min(at / block * block + block);
        let content = files.get_mut(&file)?;
        let mut other = None;
        let (what, bytes) = match rng.below(8) {
            0..=2 => {
                *content.get_mut(at)? ^= 1 << rng.below(8);
                ("a flipped bit", at..at + 1)
            }
            3 => {
                content.truncate(at);
                ("cut", at..len)
            }
            4 => {
                content[here.clone()].fill(0);
                (ZEROS, here)
            }
            5 => {
                let before = rng.pick(self.history);
                let old = before.get(&file).map_or(&[][..], Vec::as_slice);
                let old = old.get(here.start..).unwrap_or_default();
                let old = &old[..old.len().min(here.len())];
                content[here.clone()].fill(0);
                content[here.start..here.start + old.len()].copy_from_slice(old);
                ("a block as it was before", here)
            }
            6 => {
                let from = rng.index(len.max(1)) / block * block;
                let there = from..len.min(from + here.len());
                let moved = content[there.clone()].to_vec();
                let kept = content[here.clone()].to_vec();
                let both = moved.len().min(kept.len());
                content[here.start..here.start + both].copy_from_slice(&moved[..both]);
                content[there.start..there.start + both].copy_from_slice(&kept[..both]);
                ("two blocks swapped", here.start.min(there.start)..here.end.max(there.end))
            }
            _ => {
                let source = (*rng.pick(&names)).clone();
                let from = intact[&source].get(here.clone()).unwrap_or_default();
                content[here.start..here.start + from.len()].copy_from_slice(from);
                other = Some(source);
                ("a block of another file", here)
            }
        };
        (*files != intact).then_some(Damage { what, file, other, bytes })
    }

    fn check_opened(
        &self,
        (store, disk): (&Store, &SimDisk),
        files: &Files,
        damage: &Damage,
        intact: &Files,
    ) {
        let revision = store.revision().number();
        if let Some(told) = &store.report().ignored {
            self.check_block(told, damage);
            let is_kept = files.get("pages") == disk.files().get("pages.damaged");
            assert!(is_kept, "LOST: {}", self.describe(damage));
        }
        // Damage of what is loaded when it is first looked at is told then.
        let seen = portrait(store).and_then(|is| Ok((is, past(store)?)));
        let (is, was) = match seen {
            Ok(seen) => seen,
            Err(told) => {
                let is_it = damage.file == "pages" && told.contains("pages");
                assert!(is_it, "{told} for {}", self.describe(damage));
                return self.check_block(&told, damage);
            }
        };
        let is_some_state = self.known.portraits.get(revision as usize) == Some(&is)
            && self.known.pasts.get(revision as usize) == Some(&was);
        assert!(is_some_state, "SILENT: {}", self.describe(damage));
        if revision == self.last {
            return;
        }
        let (report, last) = (store.report(), self.last);
        assert!(!report.was_closed, "SILENT: closed, but {revision} of {last}; {damage:?}");
        let frames = frames(intact);
        let newest = |frame: &Frame| frame.first + self.records_max(frame, &frames, last);
        let lost: Vec<&Frame> =
            frames.iter().filter(|frame| newest(frame) > revision + 1).collect();
        // Groups that were only buffered may be many.
        let was_synced = |lost: &&Frame| frames.iter().any(|frame| frame.shows(lost, damage));
        let are_unsynced = self.workload.mixed && !lost.iter().any(was_synced);
        let is_last_group = report.cut.is_some() && (lost.len() <= 1 || are_unsynced);
        // Whatever lies wholly behind the damage says that something is missing before it.
        let is_end = |frame: &Frame| {
            frame.file == damage.file
                && damage.bytes.len() > 1
                && damage.bytes.start < frame.bytes.end
                && frame.bytes.start < damage.bytes.end
        };
        let begins_before = lost.iter().any(|frame| frame.bytes.start < damage.bytes.start);
        assert!(
            is_last_group
                || (lost.iter().all(|frame| is_end(frame))
                    && (report.cut.is_some() || !begins_before)),
            "SILENT: {revision} of {last}, {report:?}; {}",
            self.describe(damage)
        );
    }

    /// How many revisions a frame may have: up to the next one.
    fn records_max(&self, frame: &Frame, frames: &[Frame], last: u64) -> u64 {
        let next = frames.iter().map(|other| other.first).filter(|first| *first > frame.first);
        next.min().unwrap_or(last + 1) - frame.first
    }

    /// The error names a file that is damaged and where, or the place where it was missed.
    fn check_told(&self, error: &OpenError, damage: &Damage, intact: &Files) {
        let (named, offset) = match error {
            OpenError::Damaged { file, offset, .. } => (&**file, Some(*offset as usize)),
            // The header says it.
            OpenError::UnknownFormat { file, .. } => (&**file, Some(0)),
            OpenError::Missing { .. } => return,
            // Where the log was shortened nothing else has what the checkpoint has.
            OpenError::Checkpoint(told) if !intact.contains_key(FIRST) => {
                self.check_block(&told.to_string(), damage);
                ("pages", None)
            }
            other => panic!("told as {other:?}; {}", self.describe(damage)),
        };
        let is_it = named == damage.file || damage.other.as_deref() == Some(named);
        // A mark that is moved into its place is believed, and the log held to it.
        let is_mark = damage.file == "LOCK";
        assert!(is_it || is_mark, "{error:?} for {}", self.describe(damage));
        if let Some(offset) = offset.filter(|_| named == damage.file) {
            let is_there = damage.is_in(&place(intact, named, offset));
            assert!(is_there, "MISPLACED: {error:?} for {}", self.describe(damage));
        }
    }

    /// Where a block of the pages is named, the damage is in it, or in its checksum.
    fn check_block(&self, told: &str, damage: &Damage) {
        let Some((_, behind)) = told.split_once(" at byte ") else { return };
        let digits = behind.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let at: usize = digits.parse().unwrap_or_else(|_| panic!("no place is told in {told:?}"));
        let is_there = damage.is_in(&(at..at + PAGE)) || damage.is_in(&checksum_of(at / PAGE));
        let is_it = damage.file == "pages" && is_there;
        assert!(is_it, "MISPLACED: {told} for {}", self.describe(damage));
    }

    fn describe(&self, damage: &Damage) -> String {
        format!("{damage:?} of {:?}", self.workload)
    }
}

/// The newest revision in files that are whole.
fn revision_of(files: &Files) -> u64 {
    let store = open(&SimDisk::with_files(files), 512);
    store.expect("nothing is damaged yet").revision().number()
}

/// The first segment of a log that is complete.
const FIRST: &str = "log/00000000000000000001.log";

/// Bytes in front of the first frame of a segment.
const HEADER: usize = 36;

/// What begins at an offset of a file: its header, a frame, or else all that is behind.
fn place(files: &Files, file: &str, offset: usize) -> Range<usize> {
    let is_it = |frame: &Frame| frame.file == file && frame.bytes.start == offset;
    match frames(files).into_iter().find(is_it) {
        Some(frame) => frame.bytes,
        None if offset == 0 => 0..HEADER,
        None => offset..usize::MAX,
    }
}

/// Where in the pages the checksum of a block of the file is: blocks of them lie between others.
fn checksum_of(block: usize) -> Range<usize> {
    const EACH: usize = PAGE / 4;
    let group = block / (EACH + 1);
    let sums = (group * (EACH + 1)).max(8);
    // The ones before it are not counted.
    let number = if block < 8 { block } else { block - group - 1 };
    let at = sums * PAGE + number % EACH * 4;
    at..at + 4
}

fn frames(files: &Files) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (file, content) in files.iter().filter(|(name, _)| name.ends_with(".log")) {
        let mut at = HEADER;
        while let Some(header) = content.get(at..at + 24) {
            let number = |from: usize, to: usize| {
                let bytes = header[from..to].iter().rev();
                bytes.fold(0u64, |number, &byte| number << 8 | u64::from(byte))
            };
            let len = number(0, 4) as usize;
            if len == 0 {
                break;
            }
            if len > 24 {
                let bytes = at..at + len;
                let synced = at.saturating_sub(number(12, 16) as usize);
                frames.push(Frame { file: file.clone(), bytes, first: number(16, 24), synced });
            }
            at += len;
        }
    }
    frames
}
