//! What a folder, or a backup, has in it.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use jungle_db::{Jungle, Revision, SpaceQuery};
use jungle_store::disk::sim::SimDisk;
use jungle_store::pages::Table;
use jungle_store::{
    OpenOptions, Progress, VerifyError, check_checkpoint, decode, encode, read_checkpoint,
};
use jungle_tree::{Arena, ArenaOptions, SLAB_BYTES, loading};

use super::Target;
use super::base::{Files, Values, base, group, log, put};
use crate::usual::store::workload::{open, portrait};

/// A record by itself.
pub const RECORD: Target =
    Target { name: "record", samples: || base().records.clone(), words: &[], take: record };

/// The second group of a log.
pub const LOG: Target = Target { name: "log", samples: groups, words: &[], take: second_group };

/// What a database is besides its arena, in a checkpoint.
pub const STATE: Target = Target {
    name: "state",
    samples: || of_table(Table::State),
    words: &[],
    take: |input| in_checkpoint(Table::State, input),
};

/// What an image has besides its slabs.
pub const IMAGE: Target = Target {
    name: "image",
    samples: || of_table(Table::Image),
    words: &[],
    take: |input| in_checkpoint(Table::Image, input),
};

/// A piece of a history.
pub const HISTORY: Target = Target {
    name: "history",
    samples: || of_table(Table::History),
    words: &[],
    take: |input| in_checkpoint(Table::History, input),
};

/// Memory itself, as a checkpoint has it.
pub const SLAB: Target =
    Target { name: "slab", samples: || of_table(Table::Slabs), words: &[], take: slab };

/// Memory that is edited as the folder is opened.
pub const TAIL: Target = Target { name: "tail", samples: edited_slabs, words: &[], take: tail };

/// A checkpoint as it is carried elsewhere.
pub const STREAM: Target = Target {
    name: "stream",
    samples: || vec![base().stream.clone()],
    words: &["JUNGCKP\n", "\0\0\0\0", "\u{1}\0\0\0"],
    take: stream,
};

/// All of a folder: files that are there, files that are not, marks of an erasure.
pub const FILES: Target = Target { name: "files", samples: parts, words: &[], take: files };

/// Records that are in the log before the group that is tried.
const BEFORE: usize = 20;

fn groups() -> Vec<Vec<u8>> {
    let after = &base().records[BEFORE..];
    (1..=after.len()).step_by(5).map(|count| group(&after[..count])).collect()
}

fn of_table(table: Table) -> Vec<Vec<u8>> {
    let values = base().values.iter().flatten();
    values.filter(|((of, _), _)| *of == table).map(|(_, value)| value.clone()).collect()
}

fn edited_slabs() -> Vec<Vec<u8>> {
    let values = base().tail.1.iter().filter(|((of, _), _)| *of == Table::Slabs);
    values.map(|(_, value)| value.clone()).collect()
}

/// What is taken is written, and taken again as the same.
fn record(input: &[u8]) {
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let arena = Arena::with_options(&arena).expect("address range");
    let Ok(record) = decode(input, Revision::new(1), &arena) else { return };
    let mut bytes = Vec::new();
    if encode(&record, &mut bytes).is_err() {
        return;
    }
    let again = decode(&bytes, Revision::new(1), &arena);
    let again = again.unwrap_or_else(|error| panic!("what was taken is refused: {error}"));
    let mut twice = Vec::new();
    encode(&again, &mut twice).expect("it was encoded before");
    assert!(twice == bytes, "what was taken changes");
}

fn second_group(input: &[u8]) {
    try_folder(&log(&base().records[..BEFORE], input));
}

fn in_checkpoint(table: Table, input: &[u8]) {
    for (files, values) in base().folders.iter().zip(&base().values) {
        let keys = values.keys().filter(|(of, _)| *of == table).map(|(_, key)| *key);
        if let Some(key) = keys.into_iter().next() {
            try_folder(&put(files, table, key, input));
        }
    }
}

/// One of the slabs is this. Whoever reads what others may have changed checks it first: that
/// tells, and ends.
fn slab(input: &[u8]) {
    with_slab(&base().still, input);
}

/// As [`slab`], where the log goes on behind the checkpoint: what it edits is checked before.
fn tail(input: &[u8]) {
    with_slab(&base().tail, input);
}

fn with_slab((files, values): &(Files, Values), input: &[u8]) {
    let mut slab = input.to_vec();
    slab.resize(SLAB_BYTES, 0);
    // Mostly in the place that it is a change of, else nothing in it is near to what is right.
    let slabs = values.iter().filter(|((of, _), _)| *of == Table::Slabs);
    let alike =
        |value: &[u8]| value.chunks(64).zip(slab.chunks(64)).filter(|(a, b)| a == b).count();
    let at = slabs.max_by_key(|(_, value)| alike(value)).map(|((_, key), _)| *key);
    let key = at.expect("a checkpoint has slabs");
    let disk = put(files, Table::Slabs, key, &slab);
    if let Ok(store) = OpenOptions::new().read_only().checked().open_on(Arc::new(disk)) {
        if let Err(VerifyError::Tree(damage)) = store.verify() {
            panic!("what was checked before it was edited: {damage}");
        }
        let _ = store.survey(&Progress::default());
    }
}

/// What is taken is a Jungle, and was found whole without taking it, too.
fn stream(input: &[u8]) {
    let whole = check_checkpoint(input);
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    if let Ok(jungle) = read_checkpoint(Jungle::builder(), &arena, input) {
        whole.unwrap_or_else(|error| panic!("what is taken is refused: {error}"));
        portrait(&jungle).unwrap_or_else(|error| panic!("what was taken: {error}"));
    }
}

/// Opens it in every way, and does what one does. Whatever is refused is refused with an error.
fn try_folder(disk: &SimDisk) {
    let reading = OpenOptions::new().read_only().open_on(Arc::new(disk.clone()));
    if let Ok(store) = reading {
        let _ = portrait(&store);
        let _ = store.verify();
    }
    let Ok(store) = open(disk, 4096) else { return };
    let _ = portrait(&store);
    let _ = loading(|| store.collect());
    let _ = loading(|| store.space(&SpaceQuery::default(), |_, _| Continue(())).map(drop));
    let copy = SimDisk::new();
    if loading(|| store.backup_on(Arc::new(copy.clone()))).is_ok_and(|done| done.is_ok()) {
        drop(open(&copy, 4096).unwrap_or_else(|error| panic!("a backup is refused: {error}")));
    }
    let _ = loading(|| store.create_tree("after").map(drop));
    let _ = store.checkpoint();
}

/// Names that a folder may have in it.
const NAMES: [&str; 12] = [
    "LOCK",
    "pages",
    "log/00000000000000000001.log",
    "log/00000000000000000002.log",
    "log/next",
    "pages.next",
    "LOCK.erased",
    "LOCK.remove",
    "LOCK.rename",
    "pages.erased",
    "log/00000000000000000001.log.erased",
    "log/18446744073709551615.log",
];

/// A file: a number for its name, one for the folder it is from (2: none), what is added to it.
fn parts() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = vec![vec![0, 0, 0, 1, 0, 0, 2, 0, 0]];
    for name in 3..NAMES.len() as u8 {
        samples.push(vec![0, 1, 0, 1, 1, 0, 2, 1, 0, name, 0, 0]);
        samples.push(vec![0, 0, 0, 2, 0, 0, name, 1, 3]);
    }
    samples
}

/// A folder of the files that the input tells, and one that is right backed up onto it.
fn files(input: &[u8]) {
    let mut files = Files::new();
    for part in input.as_chunks::<3>().0.iter().take(16) {
        let name = NAMES[usize::from(part[0]) % NAMES.len()];
        // What an erasure leaves is from the file that it is to become.
        let source = name.trim_end_matches(".erased").trim_end_matches(".remove");
        let source = source.trim_end_matches(".rename").replace("pages.next", "pages");
        let from = base().folders.get(usize::from(part[1]) % 3);
        let mut bytes = from.and_then(|files| files.get(&source)).cloned().unwrap_or_default();
        let at = usize::from(part[2]) * 37 % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= part[2];
        }
        files.insert(name.to_owned(), bytes);
    }
    try_folder(&SimDisk::with_files(&files));
    let whole = SimDisk::with_files(&base().folders[0]);
    let store = open(&whole, 4096).expect("it was closed");
    let onto = SimDisk::with_files(&files);
    let before = portrait(&store);
    if store.backup_on(Arc::new(onto.clone())).is_ok() {
        let copy = open(&onto, 4096);
        let copy = copy.unwrap_or_else(|error| panic!("a backup is refused: {error}"));
        assert!(portrait(&copy) == before, "a backup is not what was backed up");
    }
}
