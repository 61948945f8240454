//! A backup as it comes from somewhere else, as a stream: into nothing, where it becomes a folder
//! that is whole or is refused, and into an older copy.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jungle_db::{Retention, Revision};
use jungle_store::disk::sim::SimDisk;
use jungle_store::{
    BackupError, BackupProgress, BackupReport, OpenError, OpenOptions, Progress, Store,
    StreamError, VerifyError,
};
use jungle_tree::ArenaOptions;

use super::Target;
use super::base::{Files, commits};
use crate::usual::store::workload::open;

/// A backup as a stream.
pub const BACKUP: Target = Target {
    name: "backup",
    samples: || base().streams.to_vec(),
    words: &["JUNGBAK\n", "JUNGLOG\n", "\0\0\0\0", "\u{1}\0\0\0"],
    take: backup,
};

/// What a stream may unpack to here: several times what is right.
const UNPACKED_MAX: u64 = 8 << 20;

/// Files of a copy at most. A value takes up a power of two of bytes, and the file that they are in
/// grows by as much as it has.
const FILES_MAX: u64 = 4 * UNPACKED_MAX + (8 << 20);

/// Where what comes behind the head begins, and what stands behind all segments: that none follows,
/// and the hash.
const HEAD: usize = 28;
const END: usize = 36;

/// Bytes in front of a value, of the records of a frame, and of the frames of a segment.
const VALUE_HEADER: usize = 40;
const FRAME_HEADER: usize = 24;
const SEGMENT_HEADER: usize = 36;

struct Base {
    /// All of a log; what the older copy needs of that; and a checkpoint with the log behind it.
    streams: [Vec<u8>; 3],
    older: Files,
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let store = open(&SimDisk::new(), 1024).expect("an undisturbed disk");
        commits(&store, 10);
        let older = SimDisk::new();
        let copied = store.backup_on(Arc::new(older.clone())).expect("an undisturbed disk");
        commits(&store, 30);
        let [all, new] = [Revision::new(0), copied.revision].map(|since| written(&store, since));
        Base { streams: [all, new, checkpoint()], older: older.files() }
    })
}

fn written(store: &Store, since: Revision) -> Vec<u8> {
    let mut stream = Vec::new();
    store.write_backup(since, &mut stream, Progress::default()).expect("memory takes everything");
    stream
}

/// Of a folder whose log does not go back to its first revision.
fn checkpoint() -> Vec<u8> {
    let store = open(&SimDisk::new(), 1024).expect("an undisturbed disk");
    commits(&store, 20);
    let tree = store.create_tree("short").expect("an undisturbed disk");
    tree.set_retention(Retention::Last(3)).expect("an undisturbed disk");
    for n in 0..60 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).expect("an undisturbed disk");
    }
    store.checkpoint().expect("an undisturbed disk");
    commits(&store, 20);
    let stream = written(&store, Revision::new(0));
    assert!(stream[HEAD..HEAD + 4] != [0; 4], "the log goes back to the first revision");
    stream
}

fn backup(input: &[u8]) {
    let mend = MENDS[crc32c::crc32c(input) as usize % MENDS.len()];
    let stream = mended(input, mend);
    into_nothing(&stream);
    into_older(&stream, mend);
}

fn into_nothing(stream: &[u8]) {
    let disk = SimDisk::new();
    match take(&disk, stream) {
        Ok(_) => {
            let opened = opened(&disk);
            let store = opened.unwrap_or_else(|error| panic!("what was taken: {error}"));
            // It may tell something else of what was made up, but all trees were looked at.
            if let Err(VerifyError::Tree(damage)) = store.verify() {
                panic!("what was taken: {damage}");
            }
        }
        Err(BackupError::Stream(StreamError::TooMuch { .. } | StreamError::Zeros { .. })) => {
            let files = disk.files();
            let left: Vec<&String> = files.keys().filter(|name| *name != "LOCK").collect();
            assert!(left.is_empty(), "what was too much is there: {left:?}");
        }
        // What has come stays, for the next one.
        Err(_) => drop(opened(&disk)),
    }
    check_files(&disk);
}

/// What completes a copy is held against its checksums only: where those are right it may be
/// anything. Otherwise all that the copy had can be read.
fn into_older(stream: &[u8], mend: Mend) {
    let disk = SimDisk::with_files(&base().older);
    let taken = take(&disk, stream);
    if let Err(error) = opened(&disk)
        && mend < Mend::Checks
    {
        panic!("a copy is lost: {error}; {taken:?}");
    }
    check_files(&disk);
}

fn options() -> OpenOptions {
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    OpenOptions::new().arena(arena).checkpoint_every(u64::MAX).stream_bytes_max(UNPACKED_MAX)
}

fn take(disk: &SimDisk, stream: &[u8]) -> Result<BackupReport, BackupError> {
    let progress = BackupProgress::default();
    options().take_backup_on(Arc::new(disk.clone()), progress, |_| Ok(stream))
}

fn opened(disk: &SimDisk) -> Result<Store, OpenError> {
    options().read_only().checked().open_on(Arc::new(disk.clone()))
}

fn check_files(disk: &SimDisk) {
    let bytes: u64 = disk.files().values().map(|file| file.len() as u64).sum();
    assert!(bytes <= FILES_MAX, "{bytes} bytes were written of a stream that may have few");
}

/// What is put right behind the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mend {
    Nothing,
    /// The hash of all.
    Hash,
    /// And those of values, of segments and of frames, each of which has the one before in it.
    Checks,
    /// And how long values and segments are.
    Lengths,
}

const MENDS: [Mend; 4] = [Mend::Nothing, Mend::Hash, Mend::Checks, Mend::Lengths];

fn mended(input: &[u8], mend: Mend) -> Vec<u8> {
    let mut stream = input.to_vec();
    if mend >= Mend::Lengths {
        mend_lengths(&mut stream);
    }
    if mend >= Mend::Checks {
        mend_checks(&mut stream);
    }
    if mend >= Mend::Hash
        && let Some((front, hash)) = stream.split_last_chunk_mut::<32>()
    {
        *hash = *blake3::hash(front).as_bytes();
    }
    stream
}

/// Goes by how values and segments begin.
fn mend_lengths(stream: &mut [u8]) {
    let end = stream.len().saturating_sub(END);
    let segments = places(stream, end, |bytes| bytes.starts_with(b"JUNGLOG\n"));
    // Between the two stand that no value follows, and the length of the first segment.
    let values_end = segments.first().map_or(end.saturating_sub(4), |first| first - 8);
    let values = places(stream, values_end, is_value);
    put_lengths(stream, &segments, end);
    put_lengths(stream, &values, values_end);
}

/// Where one begins, behind its length.
fn places(stream: &[u8], up_to: usize, is_one: impl Fn(&[u8]) -> bool) -> Vec<usize> {
    (HEAD + 4..up_to).filter(|&at| is_one(&stream[at..])).collect()
}

/// Of the first format, of a table, put by checkpoint 1.
fn is_value(bytes: &[u8]) -> bool {
    matches!(bytes, [1, 0 | 1, 1..=4, 0, ..]) && bytes.get(16..24) == Some(&1_u64.to_le_bytes()[..])
}

/// Each goes up to the length of the next one.
fn put_lengths(stream: &mut [u8], places: &[usize], end: usize) {
    let ends = places.iter().skip(1).map(|next| next - 4).chain([end]);
    for (&at, end) in places.iter().zip(ends) {
        let length = end.saturating_sub(at) as u32;
        stream[at - 4..at].copy_from_slice(&length.to_le_bytes());
    }
}

/// Goes by the lengths, as far as they are ones.
fn mend_checks(stream: &mut [u8]) {
    let mut at = HEAD;
    while let Some(value) = piece(stream, at) {
        at = value.end;
        seal(&mut stream[value]);
    }
    // That no value follows.
    at += 4;
    let mut before = None;
    while let Some(segment) = piece(stream, at) {
        at = segment.end;
        before = chain(&mut stream[segment], before);
    }
}

/// Where the bytes are whose length stands there, unless none follow.
fn piece(stream: &[u8], at: usize) -> Option<Range<usize>> {
    let bytes = at + 4..at + 4 + length(stream, at)?;
    (!bytes.is_empty() && bytes.end <= stream.len()).then_some(bytes)
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
}

/// Puts a value's hash right.
fn seal(value: &mut [u8]) {
    if value.len() < VALUE_HEADER {
        return;
    }
    let (head, rest) = (&value[..24], &value[VALUE_HEADER..]);
    let hash = blake3::Hasher::new().update(head).update(rest).finalize();
    value[24..VALUE_HEADER].copy_from_slice(&hash.as_bytes()[..VALUE_HEADER - 24]);
}

/// Puts the checksums of a segment and its frames right, behind that of the last frame before;
/// gives that of its own last one.
fn chain(segment: &mut [u8], before: Option<u32>) -> Option<u32> {
    if segment.len() < SEGMENT_HEADER {
        return before;
    }
    if let Some(before) = before {
        segment[28..32].copy_from_slice(&before.to_le_bytes());
    }
    let mut check = crc32c::crc32c(&segment[..32]);
    segment[32..SEGMENT_HEADER].copy_from_slice(&check.to_le_bytes());
    let mut at = SEGMENT_HEADER;
    while let Some(len) = length(segment, at)
        && len >= FRAME_HEADER
        && let Some(frame) = segment.get_mut(at..at + len)
    {
        frame[8..12].copy_from_slice(&check.to_le_bytes());
        let own = crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..]);
        frame[4..8].copy_from_slice(&own.to_le_bytes());
        at += len;
        // One without records is in nobody's chain.
        if len > FRAME_HEADER {
            check = own;
        }
    }
    Some(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_is_taken_and_not_changed_by_mending() {
        let Base { streams, older } = base();
        for stream in streams {
            MENDS.iter().for_each(|&mend| assert!(mended(stream, mend) == *stream, "{mend:?}"));
        }
        let [all, new, checkpoint] = streams;
        for stream in [all, checkpoint] {
            let disk = SimDisk::new();
            take(&disk, stream).unwrap();
            opened(&disk).unwrap().verify().unwrap();
        }
        for stream in [all, new] {
            let disk = SimDisk::with_files(older);
            take(&disk, stream).unwrap();
            opened(&disk).unwrap().verify().unwrap();
        }
    }

    #[test]
    fn a_change_gets_as_far_as_it_is_mended() {
        let mut stream = base().streams[0].clone();
        // The last byte of the last record.
        let at = stream.len() - END - 1;
        stream[at] ^= 1;
        let is_opened = |stream: &[u8], mend| {
            let taken = take(&SimDisk::new(), &mended(stream, mend));
            matches!(taken, Ok(_) | Err(BackupError::Target(_)))
        };
        let opened = MENDS.map(|mend| is_opened(&stream, mend));
        assert_eq!(opened, [false, false, true, true]);
        // Where a byte is added, its segment is longer.
        stream.insert(at, 0);
        let opened = MENDS.map(|mend| is_opened(&stream, mend));
        assert_eq!(opened, [false, false, false, true]);
    }
}
