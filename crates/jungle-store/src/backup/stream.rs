//! A backup as one stream of bytes, for a copy on another machine.
//!
//! ```text
//! 0   8     "JUNGBAK\n"
//! 8   u32   the version of the format: 1
//! 12  u64   the newest revision
//! 20  u64   about how many bytes the copy gets, to tell how far it is
//! 28        values of the checkpoint, as in a checkpoint's stream; none where a copy goes on, or
//!           the log is there from its first revision on
//!     u32   0: no value follows
//!           segments of the log, in order, each: u32 its length, and its bytes up to the end of
//!           its last frame, without the zeros behind that
//!     u32   0: no segment follows
//!     32    BLAKE3 of all before
//! ```
//! What comes is put into the copy segment by segment, as otherwise. So a stream that breaks off
//! leaves a copy that is interrupted: whole, up to an older revision, and not marked as closed.
//! Only of one that is too large (`bound.rs`) nothing stays where nothing was before.

use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use jungle_db::Revision;

use super::bound::Bound;
use super::progress::Done;
use super::source::{begins_late, bytes_total, keep_lasting};
use super::target::{Copied, Target, locked, read_back_pages};
use super::{BackupError, BackupProgress, BackupReport};
use crate::checkpoint::{Input, Output, StreamError};
use crate::disk::{Disk, FolderDisk};
use crate::error::{Damage, IoError, OpenError, doing};
use crate::log::recover::segments;
use crate::log::segment::{LOG, SEGMENT_FILE_BYTES_MAX, SEGMENT_HEADER, SegmentHeader};
use crate::log::walk::{Came, Place, read};
use crate::open::OpenOptions;
use crate::pages::{self, EnginePages, Pages as _, PagesOptions};
use crate::progress::Progress;
use crate::store::Store;

const MAGIC: &[u8; 8] = b"JUNGBAK\n";

impl Store {
    /// Writes all that is committed so far to a stream, for
    /// [`take_backup`](OpenOptions::take_backup); or what a copy needs that has all up to the
    /// revision `since`, which begins with the segment that has that. Others may commit meanwhile.
    /// It takes memory for a segment of the log. `progress` is told how many bytes of files were
    /// gone through, of how many.
    ///
    /// # Errors
    /// When the log does not go back to `since`, or not so far ([`BackupError::OutOfReach`]), the
    /// stream takes no more, this folder is
    /// [written to by somebody else](OpenOptions::beside_a_writer), or it was
    /// [given up](BackupError::is_given_up).
    pub fn write_backup(
        &self,
        since: Revision,
        out: impl Write,
        progress: Progress,
    ) -> Result<BackupReport, BackupError> {
        self.must_stand_still().map_err(BackupError::Source)?;
        let _still = self.checkpoints.still();
        let newest = self.made_last()?;
        let from = &**self.disk();
        let segments = behind(segments(from)?, since, newest)?;
        let mut done = Done::new(progress, bytes_total(from, &segments)?);
        let with_pages = since == Revision::new(0) && begins_late(&segments);
        let pages_bytes = if with_pages { self.disk_usage()?.pages_bytes } else { 0 };

        let mut out = Output::begin(out, MAGIC)?;
        out.write(&newest.number().to_le_bytes())?;
        out.write(&(done.total + pages_bytes).to_le_bytes())?;
        if with_pages {
            self.each_value(&mut done, |table, key, bytes| Ok(out.put(table, key, bytes)?))?;
        }
        out.no_more()?;
        let (mut last, mut bytes): (Option<Place>, u64) = (None, 0);
        for &first in &segments {
            done.go_on()?;
            let segment = read(from, first, last.as_ref(), None, newest.number());
            let segment = segment.map_err(BackupError::Source)?;
            out.piece(&segment.bytes[..segment.seal.unwrap_or(segment.end.offset)])?;
            bytes += (segment.end.offset - SEGMENT_HEADER) as u64;
            done.add(segment.bytes.len() as u64);
            last = Some(segment.end);
        }
        let found = Revision::new(last.map_or(0, |last| last.next - 1));
        if found < newest {
            let damaged = OpenError::damaged(LOG, 0, Some(found), Damage::EndsEarly);
            return Err(BackupError::Source(damaged));
        }
        out.no_more()?;
        out.end()?;
        Ok(BackupReport { revision: newest, before: since, bytes })
    }
}

/// Those of the log's segments that a copy needs which has all up to a revision.
fn behind(
    mut segments: Vec<u64>,
    since: Revision,
    newest: Revision,
) -> Result<Vec<u64>, BackupError> {
    keep_lasting(&mut segments, newest);
    let number = since.number();
    if number == 0 {
        return Ok(segments);
    }
    let from = segments.partition_point(|&first| first <= number).saturating_sub(1);
    match segments.get(from) {
        Some(&first) if since <= newest && first <= number + 1 => Ok(segments.split_off(from)),
        _ => {
            let oldest = Revision::new(segments.first().copied().unwrap_or(1));
            Err(BackupError::OutOfReach { revision: since, oldest, newest })
        }
    }
}

impl OpenOptions {
    /// Takes what [`write_backup`](Store::write_backup) wrote into a folder, as
    /// [`backup`](Store::backup) makes a copy: a new one, which is made when it is not there, or a
    /// copy of the same Jungle, which gets what is new. `ask` is told which revision that has, 0
    /// when it has none, and gives the stream; if it gives none, nothing is made where nothing was.
    /// A first copy is opened by these options, to check it, as [`checked`](OpenOptions::checked):
    /// who has changed a stream can have put its checksums right. So is one that was interrupted,
    /// once it is completed. What is refused then is refused each time, and has to be removed. What
    /// completes a copy that was whole is held against its checksums only.
    ///
    /// ```
    /// use jungle_store::{BackupProgress, OpenOptions, Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-taken-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// let take = || {
    ///     OpenOptions::new().take_backup(dir.join("copy"), BackupProgress::default(), |since| {
    ///         let mut bytes = Vec::new();
    ///         let written = store.write_backup(since, &mut bytes, Progress::default());
    ///         written.map_err(std::io::Error::other)?;
    ///         Ok(std::io::Cursor::new(bytes))
    ///     })
    /// };
    /// store.create_tree("board")?;
    /// assert_eq!(take()?.revision, store.revision());
    ///
    /// store.create_tree("another")?;
    /// let report = take()?;
    /// assert_eq!((report.before.number(), report.revision.number()), (1, 2));
    /// assert_eq!(Store::open(dir.join("copy"))?.list_trees().len(), 2);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`backup`](Store::backup), and when the stream fails, breaks off, or is not what was
    /// written. What was in the folder stays readable at every moment, and what has come of the log
    /// is there: the next one goes on from that. When it unpacks to more than
    /// [it may](OpenOptions::stream_bytes_max), a first copy is removed again.
    pub fn take_backup<R: Read>(
        self,
        folder: impl AsRef<Path>,
        progress: BackupProgress,
        ask: impl FnOnce(Revision) -> io::Result<R>,
    ) -> Result<BackupReport, BackupError> {
        let folder = folder.as_ref();
        // It is opened to be read only.
        let options = self.read_only().spilling_in(folder);
        if has_nothing(folder) {
            let stream = ask(Revision::new(0)).map_err(StreamError::from)?;
            return options.take_backup_on(created(folder)?, progress, |_| Ok(stream));
        }
        options.take_backup_on(created(folder)?, progress, ask)
    }

    /// As [`take_backup`](OpenOptions::take_backup), onto a disk.
    ///
    /// # Errors
    /// As there.
    pub fn take_backup_on<R: Read>(
        self,
        to: Arc<dyn Disk>,
        progress: BackupProgress,
        ask: impl FnOnce(Revision) -> io::Result<R>,
    ) -> Result<BackupReport, BackupError> {
        let BackupProgress { copying: tell, checking } = progress;
        let target = Target::begin(&*to, locked(&*to, self.readers_waited_for, &tell)?)?;
        let stream = ask(target.before()).map_err(StreamError::from)?;
        let taken = take(stream, &target, &to, tell, Bound::new(self.stream_bytes_max));
        let (newest, copied) = taken.inspect_err(|error| {
            if is_too_much(error) {
                // Why it is refused is what is to be told.
                let _ = target.clear();
            }
        })?;
        target.end(&to, copied, newest, self.checked().progress(checking))
    }
}

/// Puts what comes into a copy, as far as it is within the bound. Gives the newest revision that it
/// should have, too.
fn take(
    stream: impl Read,
    target: &Target<'_>,
    to: &Arc<dyn Disk>,
    tell: Progress,
    mut bound: Bound,
) -> Result<(Revision, Copied), BackupError> {
    let mut input = Input::begin(stream, MAGIC, StreamError::NoBackup)?;
    let newest = Revision::new(u64::from_le_bytes(input.array()?));
    let total = u64::from_le_bytes(input.array()?);
    // Nothing is written of what says itself that it is too much.
    bound.check(total)?;
    let mut done = Done::new(tell, total);
    let values = take_values(&mut input, &mut bound, target, to, &mut done)?;
    let coming = Coming { input: &mut input, bound: &mut bound };
    let coming = coming.map(|came| -> Result<Came, BackupError> {
        let came = came?;
        if values > 0 && came.first == 1 {
            // Nobody sends a checkpoint with all of the log: it is made up, and not needed. What
            // comes then may break off, so it goes before any of that is there.
            pages::remove(&**to)?;
            to.sync_folder("").map_err(doing("sync", "the folder"))?;
        }
        Ok(came)
    });
    let copied = target.copy(coming, u64::MAX, &mut done)?;
    Ok((newest, copied))
}

/// Would it have filled the disk?
fn is_too_much(error: &BackupError) -> bool {
    let BackupError::Stream(error) = error else { return false };
    matches!(error, StreamError::TooMuch { .. } | StreamError::Zeros { .. })
}

/// Is the folder not there, or empty? Nobody has it then. If somebody makes a copy there meanwhile,
/// one that is of the same Jungle is completed by all that comes, too, and another one refused.
fn has_nothing(folder: &Path) -> bool {
    match FolderDisk::new(folder).list("") {
        Ok(there) => there.is_empty(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn created(folder: &Path) -> Result<Arc<FolderDisk>, IoError> {
    let disk = FolderDisk::create(folder).map(Arc::new);
    disk.map_err(doing("create", &folder.to_string_lossy()))
}

/// Puts the checkpoint there that comes in front of the log, if one does; tells how many values it
/// has. A copy that has something needs none: it goes on by the log, or is of another Jungle.
fn take_values(
    input: &mut Input<impl Read>,
    bound: &mut Bound,
    target: &Target<'_>,
    to: &Arc<dyn Disk>,
    done: &mut Done,
) -> Result<u64, BackupError> {
    if target.had.is_some() {
        while let Some((_, _, bytes)) = input.value(|bytes| bound.add(bytes))? {
            done.go_on()?;
            done.add(bytes.len() as u64);
        }
        return Ok(0);
    }
    pages::remove(&**to)?;
    let mut next = input.value(|bytes| bound.add(bytes))?;
    if next.is_none() {
        return Ok(0);
    }
    let copy = EnginePages::open(Arc::clone(to), PagesOptions::default())?;
    let mut writing = copy.begin()?;
    let mut values = 0;
    while let Some((table, key, bytes)) = next {
        done.go_on()?;
        writing.put(table, key, &bytes)?;
        done.add(bytes.len() as u64);
        values += 1;
        next = input.value(|bytes| bound.add(bytes))?;
    }
    writing.commit()?;
    drop(copy);
    read_back_pages(to, &done.tell)?;
    Ok(values)
}

/// The segments that come, up to the end of all, which is held against its hash.
struct Coming<'i, R> {
    input: &'i mut Input<R>,
    bound: &'i mut Bound,
}

impl<R> Coming<'_, R> {
    fn within_bound(&mut self, bytes: Vec<u8>) -> Result<Came, BackupError> {
        let came = came(bytes)?;
        self.bound.add_segment(came.bytes.len() as u64, came.len)?;
        Ok(came)
    }
}

impl<R: Read> Iterator for Coming<'_, R> {
    type Item = Result<Came, BackupError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.input.piece(SEGMENT_FILE_BYTES_MAX as usize) {
            Ok(Some(bytes)) => Some(self.within_bound(bytes)),
            Ok(None) => {
                let ended = self.input.end().and_then(|()| self.input.must_be_over());
                ended.err().map(|error| Err(error.into()))
            }
            Err(error) => Some(Err(error.into())),
        }
    }
}

/// A segment of which the zeros at the end did not come. It says itself how long its file is, so no
/// memory is taken for that.
fn came(bytes: Vec<u8>) -> Result<Came, BackupError> {
    let (header, _) = SegmentHeader::read(LOG, &bytes).map_err(BackupError::Source)?;
    if header.bytes > SEGMENT_FILE_BYTES_MAX {
        let damaged = OpenError::damaged(LOG, header.bytes, None, Damage::TooLong);
        return Err(BackupError::Source(damaged));
    }
    let len = header.bytes.max(bytes.len() as u64);
    Ok(Came { first: header.first, bytes, len })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::frame::{FRAME_HEADER, Header};
    use crate::log::walk::look;
    use crate::wire::put_bytes;

    fn header(first: u64, bytes: u64) -> ([u8; SEGMENT_HEADER], u32) {
        SegmentHeader { first, bytes, previous: 0 }.bytes()
    }

    #[test]
    fn length_that_a_segment_claims_takes_no_memory() {
        let (bytes, _) = header(1, SEGMENT_FILE_BYTES_MAX);
        let segment = came(bytes.to_vec()).unwrap();
        assert_eq!((segment.len, segment.bytes.len()), (SEGMENT_FILE_BYTES_MAX, SEGMENT_HEADER));
        assert!(segment.bytes.capacity() < 1 << 10);
        let (bytes, _) = header(1, SEGMENT_FILE_BYTES_MAX + 1);
        assert!(matches!(came(bytes.to_vec()), Err(BackupError::Source(_))));
    }

    #[test]
    fn revisions_that_no_number_counts_are_damage() {
        let (mut bytes, check) = header(u64::MAX, 0);
        let mut frame = vec![0; FRAME_HEADER];
        put_bytes(&mut frame, b"a record");
        Header { previous: check, unsynced: 0, first: u64::MAX }.put(&mut frame);
        let whole = [&bytes[..], &frame[..]].concat();
        let looked = look(came(whole).unwrap(), None, None, u64::MAX);
        assert!(matches!(looked, Err(OpenError::Damaged { .. })));
        bytes[0] ^= 1;
        assert!(matches!(came(bytes.to_vec()), Err(BackupError::Source(_))));
    }
}
