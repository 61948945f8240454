//! Of a folder: what the disk does itself is not counted, and takes no part in it.

use std::sync::Arc;

use jungle_db::{CommitRecord, Jungle, MemoryJournal};
use jungle_store::{Durability, OpenOptions, decode, encode};

use super::{Meter, arena, db, expect, room};
use crate::Failure;
use crate::experiments::folder::Folder;

const COMMITS: u64 = 1_000;
/// Of those that are waited for until the disk has them, as many as take no time to speak of.
const SYNCS: u64 = 200;
/// What is in the log of a folder that is opened, beside a checkpoint.
const LOGGED: u64 = 200;
const OPENINGS: u64 = 4;

/// Handed to the system, one attribute each.
pub fn commit(meter: &mut Meter) -> Result<(), Failure> {
    committed(meter, "track-commit", options(), COMMITS).map(drop)
}

/// The same on the disk: each is a group of one, which who commits it leads, writes and syncs.
pub fn sync(meter: &mut Meter) -> Result<(), Failure> {
    let options = options().durability(Durability::Sync);
    expect("syncs", committed(meter, "track-sync", options, SYNCS)?, SYNCS)
}

/// Gives how often the log was synced meanwhile.
fn committed(
    meter: &mut Meter,
    name: &str,
    options: OpenOptions,
    commits: u64,
) -> Result<u64, Failure> {
    let folder = Folder::new(name)?;
    let store = options.open(&folder.0)?;
    let tree = db::plant(store.jungle())?;
    let before = store.log_stats().syncs;
    meter.count(commits, || db::put_all(&tree, commits))?;
    let syncs = store.log_stats().syncs - before;
    db::check(&tree, commits)?;
    drop(tree);
    store.close()?;
    Ok(syncs)
}

/// A folder with a checkpoint and some commits since it, opened and closed.
pub fn open(meter: &mut Meter) -> Result<(), Failure> {
    let folder = Folder::new("track-open")?;
    let store = options().open(&folder.0)?;
    let tree = db::plant(store.jungle())?;
    store.checkpoint()?;
    db::put_all(&tree, LOGGED)?;
    drop(tree);
    store.close()?;
    let open = || {
        let store = options().open(&folder.0)?;
        let revision = store.report().revision.number();
        store.close()?;
        Ok::<u64, Failure>(revision)
    };
    let newest = open()?;
    let revisions: Result<u64, Failure> =
        meter.count(OPENINGS, || (0..OPENINGS).try_fold(0, |sum, _| Ok(sum + open()?)));
    expect("revisions", revisions?, OPENINGS * newest)
}

/// Commits as the log has them.
pub fn encode_record(meter: &mut Meter) -> Result<(), Failure> {
    let records = records()?;
    let bytes = meter.count(COMMITS, || encoded(&records))?;
    let arena = arena()?;
    for (record, bytes) in records.iter().zip(&bytes) {
        let again = decode(bytes, record.revision, &arena)?;
        expect("record", format!("{again:?}"), format!("{record:?}"))?;
    }
    Ok(())
}

/// Commits from what the log has of them.
pub fn decode_record(meter: &mut Meter) -> Result<(), Failure> {
    let records = records()?;
    let (bytes, arena) = (encoded(&records)?, arena()?);
    let decoded = meter.count(COMMITS, || {
        let decoded = records.iter().zip(&bytes);
        let decoded = decoded.map(|(record, bytes)| decode(bytes, record.revision, &arena));
        decoded.collect::<Result<Vec<CommitRecord>, _>>()
    })?;
    expect("records", encoded(&decoded)?, bytes)
}

/// The newest commits of a tree, one attribute each.
fn records() -> Result<Vec<CommitRecord>, Failure> {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().arena(room()).journal(Arc::clone(&journal)).build()?;
    db::put_all(&db::plant(&jungle)?, COMMITS)?;
    let mut records = journal.records();
    Ok(records.split_off(records.len() - COMMITS as usize))
}

fn encoded(records: &[CommitRecord]) -> Result<Vec<Vec<u8>>, Failure> {
    let encoded = |record| {
        let mut bytes = Vec::new();
        encode(record, &mut bytes)?;
        Ok(bytes)
    };
    records.iter().map(encoded).collect()
}

/// Nothing is written beside what is counted.
fn options() -> OpenOptions {
    let options = OpenOptions::new().arena(room()).durability(Durability::Buffered);
    options.checkpoint_every(u64::MAX)
}
