//! Writing checkpoints.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jungle_db::{
    ArchiveError, BranchId, Checkpoint, Durability, HISTORY_PIECE, Jungle, JungleState, Retention,
    Revision, SavedHistory,
};
use jungle_tree::{Arena, SavedImage};

use super::state::{encode_piece, encode_state};
use super::{Loaded, ONLY, PagedHistory};
use crate::audit;
use crate::disk::Disk;
use crate::error::{IoError, LogError, doing};
use crate::log::recover::segments;
use crate::log::segment::{LOG, name};
use crate::log::{Log, LogPosition};
use crate::pages::{self, EnginePages, Pages, PagesError, PagesOptions, Table, history_key};
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;

/// Why no checkpoint was written. Nothing is lost by that: what was committed is in the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// What was committed cannot be made to last.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It cannot be kept.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// A history cannot be read.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// It was written, but the log before it cannot be removed; the next one tries again.
    #[error("the log is longer than it need be: {0}")]
    Trim(#[source] IoError),
    /// It was written, but the disk does not let the log, or what is there of the
    /// [audit](crate::Store::audit), be read for that. The log stays, and the next one tries again.
    #[error("nothing was taken from the log for the audit: {0}")]
    Audit(#[source] IoError),
    /// A branch, or its history, has a number that there is no room for.
    #[error("revision {index} of branch {branch} is beyond what a checkpoint can hold")]
    TooMany {
        /// The branch.
        branch: u64,
        /// The piece of its history.
        index: u64,
    },
    /// Nobody knows whether the last one was written, since the disk failed.
    #[error("no checkpoint is written after a failed one until the Jungle is opened again")]
    Stopped,
    /// It was ended by a panic, of this program or of the engine below.
    #[error(
        "a bug ended a checkpoint, and none is written until the Jungle is opened again: {what}"
    )]
    Bug {
        /// What the panic said.
        what: String,
    },
}

/// What a checkpoint took: [`Store::checkpoint`](crate::Store::checkpoint) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The newest revision in it.
    pub revision: Revision,
    /// Slabs that were written, and removed.
    pub slabs: u64,
    /// Pieces of histories that were written, and removed.
    pub pieces: u64,
    /// Segments of the log that were removed, because some branch does not keep everything.
    pub segments: u64,
}

/// The checkpoints of an open folder.
pub(crate) struct Checkpoints {
    disk: Arc<dyn Disk>,
    /// Opened when the first one is written, or was there.
    pages: OnceLock<Arc<dyn Pages>>,
    last: Mutex<Last>,
    /// The revision of the newest one, for those who only look: `last` may be held for as long as
    /// it takes to write one, or to read the whole log.
    newest: AtomicU64,
    /// Why none could be written behind the writers' backs, since one was.
    failed: Mutex<Option<Arc<CheckpointError>>>,
}

/// What the newest one has.
#[derive(Default)]
struct Last {
    image: SavedImage,
    histories: HashMap<BranchId, Pieces>,
    log: LogPosition,
    revision: Revision,
    /// How many revisions were dropped until then, of all branches. There may be more of them
    /// without a commit: where revisions are kept by their age.
    dropped: u64,
    stopped: bool,
}

/// The whole pieces of a history that a checkpoint has: from the first on, up to before the second.
#[derive(Clone, Copy, Default)]
struct Pieces(u64, u64);

impl Pieces {
    fn of(history: &SavedHistory) -> Pieces {
        Pieces((history.dropped / HISTORY_PIECE).min(history.pieces), history.pieces)
    }
}

/// Under which key a piece of a history is kept.
pub(super) fn piece_key(branch: BranchId, index: u64) -> Result<u64, CheckpointError> {
    let BranchId(branch) = branch;
    match (u32::try_from(branch), u32::try_from(index)) {
        (Ok(branch), Ok(index)) => Ok(history_key(branch, index)),
        _ => Err(CheckpointError::TooMany { branch, index }),
    }
}

fn histories(state: &JungleState) -> HashMap<BranchId, Pieces> {
    let branches = state.trees.iter().flat_map(|tree| &tree.branches);
    branches.map(|branch| (branch.id, Pieces::of(&branch.history))).collect()
}

/// How many revisions were dropped so far. At one and the same revision there is no other branch.
fn dropped(state: &JungleState) -> u64 {
    let branches = state.trees.iter().flat_map(|tree| &tree.branches);
    branches.map(|branch| branch.history.dropped).sum()
}

impl CheckpointError {
    /// Whether nothing is wrong, but whoever wanted it does not any more.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        matches!(self, CheckpointError::Pages(PagesError::GivenUp))
    }
}

impl Checkpoints {
    /// Those of a folder that has none.
    pub(crate) fn none(disk: Arc<dyn Disk>) -> Checkpoints {
        let (pages, last, newest, failed) = Default::default();
        Checkpoints { disk, pages, last, newest, failed }
    }

    /// Goes on from one that was loaded.
    pub(crate) fn loaded(disk: Arc<dyn Disk>, pages: Arc<dyn Pages>, from: Loaded) -> Checkpoints {
        let Loaded { state, image, log } = from;
        let histories = histories(&state);
        let newest = AtomicU64::new(state.revision.number());
        let (revision, dropped) = (state.revision, dropped(&state));
        let last = Last { image, histories, log, revision, dropped, stopped: false };
        let (last, failed) = (Mutex::new(last), Mutex::default());
        Checkpoints { disk, pages: pages.into(), last, newest, failed }
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bytes of the log came after the newest one.
    pub(crate) fn log_bytes_since(&self, log: &Log) -> u64 {
        log.position().bytes.saturating_sub(self.lock().log.bytes)
    }

    /// The newest revision that the newest one has.
    pub(crate) fn revision(&self) -> Revision {
        Revision::new(self.newest.load(Ordering::SeqCst))
    }

    /// Sees to it that no checkpoint is written, and no log removed, while this is there.
    pub(crate) fn still(&self) -> impl Sized + '_ {
        self.lock()
    }

    /// As [`Checkpoints::write_own`], for those whom nobody asks: what fails is noted, even a
    /// panic, which would end the thread that writes them, and nobody would know.
    pub(crate) fn write_unasked(&self, jungle: &Jungle, log: &Log) {
        let write = || self.write_own(jungle, log, &Progress::default());
        let written = catch_unwind(AssertUnwindSafe(write));
        let written = written.unwrap_or_else(|panic| {
            // Nobody knows how far it came.
            self.lock().stopped = true;
            Err(CheckpointError::Bug { what: said(&*panic) })
        });
        if let Err(error) = written {
            let mut failed = self.failed();
            // That all others are refused says less than what failed first.
            let says_more = !matches!(error, CheckpointError::Stopped);
            if says_more || failed.is_none() {
                *failed = Some(Arc::new(error));
            }
        }
    }

    /// Why the newest one is not as new as it should be.
    pub(crate) fn error(&self) -> Option<Arc<CheckpointError>> {
        self.failed().clone()
    }

    fn failed(&self) -> MutexGuard<'_, Option<Arc<CheckpointError>>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one of the Jungle that goes on in this folder, if there is anything new: what it has
    /// of the histories then need not be in memory any more.
    pub(crate) fn write_own(
        &self,
        jungle: &Jungle,
        log: &Log,
        progress: &Progress,
    ) -> Result<CheckpointReport, CheckpointError> {
        let (report, checkpoint) = self.write_holding(jungle, log, progress)?;
        if let Some(pages) = self.opened() {
            jungle.hand_over(checkpoint, Arc::new(PagedHistory(Arc::clone(pages))));
        }
        Ok(report)
    }

    /// Writes one of a Jungle that is another folder's, or nobody's.
    pub(crate) fn write(
        &self,
        jungle: &Jungle,
        log: &Log,
        progress: &Progress,
    ) -> Result<CheckpointReport, CheckpointError> {
        self.write_holding(jungle, log, progress).map(|(report, _)| report)
    }

    /// Writes one, if there is anything new, and gives what is in the newest one. One at a time.
    fn write_holding(
        &self,
        jungle: &Jungle,
        log: &Log,
        progress: &Progress,
    ) -> Result<(CheckpointReport, Checkpoint), CheckpointError> {
        let mut last = self.lock();
        if last.stopped {
            return Err(CheckpointError::Stopped);
        }
        // While nothing is held yet.
        log.sync_ahead()?;
        // Taken before: the log goes on from here, or from some place behind.
        let position = log.position();
        let checkpoint = jungle.checkpoint();
        let (revision, dropped) = (checkpoint.revision(), dropped(checkpoint.state()));
        if (revision, dropped) == (last.revision, last.dropped) {
            let report = CheckpointReport { revision, ..CheckpointReport::default() };
            return Ok((report, checkpoint));
        }
        // So that the log has all that the checkpoint has, whatever happens.
        log.wait(revision.number(), Durability::Sync)?;
        let pages = self.pages()?;
        let told = audit::ready(&**pages, position.segment);
        let mut writing = pages.begin()?;
        let (image, slabs) = put_slabs(&mut *writing, jungle.arena(), &last.image, progress)?;
        let now = histories(checkpoint.state());
        let histories = (&last.histories, &now);
        let pieces = put_histories(&mut *writing, &checkpoint, histories, progress)?;
        let old = (&*self.disk, position.segment);
        let state = (checkpoint.state(), drops(checkpoint.state()));
        let taken = audit::take(&mut *writing, told, old, state, progress)?;
        let mut report = CheckpointReport { revision, slabs, pieces, segments: 0 };
        writing.put(Table::Image, ONLY, &image.to_bytes())?;
        writing.put(Table::State, ONLY, &encode_state(checkpoint.state(), position))?;
        if is_awake(Bug::TrimmedEarly) && drops(checkpoint.state()) {
            self.trim(position.segment).map_err(CheckpointError::Trim)?;
        }
        progress.go_on().map_err(PagesError::from)?;
        // From here on nobody knows what is there, unless it succeeds.
        last.stopped = true;
        writing.commit()?;
        let (histories, log) = (now, position);
        *last = Last { image, histories, log, revision, dropped, stopped: false };
        self.newest.store(revision.number(), Ordering::SeqCst);
        *self.failed() = None;
        if drops(checkpoint.state()) {
            let before = position.segment.min(taken.before);
            report.segments = self.trim(before).map_err(CheckpointError::Trim)?;
        }
        match taken.failed {
            Some(error) => Err(CheckpointError::Audit(error)),
            None => Ok((report, checkpoint)),
        }
    }

    /// Makes the file of the newest one as small as it can be.
    pub(crate) fn compact(&self, progress: &Progress) -> Result<(), CheckpointError> {
        let last = self.lock();
        if last.stopped {
            return Err(CheckpointError::Stopped);
        }
        // Where nobody knows then which file has the name, the pages refuse the next checkpoint:
        // what was trimmed from the log may be in one of them only.
        Ok(self.opened().map_or(Ok(()), |pages| pages.compact(progress))?)
    }

    /// Removes the segments of the log before the one with this first revision, the oldest first:
    /// so what is left has no gap, and its first revision says whether it is complete.
    fn trim(&self, before: u64) -> Result<u64, IoError> {
        let firsts = segments(&*self.disk)?;
        let end = before + u64::from(is_awake(Bug::TrimmedTooMuch));
        let old: Vec<u64> = firsts.into_iter().filter(|&first| first < end).collect();
        if !old.is_empty() {
            // It has what is not to be kept, too.
            pages::remove_damaged(&*self.disk)?;
        }
        for &first in &old {
            let name = name(first);
            self.disk.remove(&name).map_err(doing("remove", &name))?;
        }
        if !old.is_empty() {
            self.disk.sync_folder(LOG).map_err(doing("sync", LOG))?;
        }
        Ok(old.len() as u64)
    }

    /// Where they are kept, if there is any.
    pub(crate) fn opened(&self) -> Option<&Arc<dyn Pages>> {
        self.pages.get()
    }

    fn pages(&self) -> Result<&Arc<dyn Pages>, PagesError> {
        if self.pages.get().is_none() {
            // Those that are there were left out, or somebody could not finish making them, and
            // then nobody knows whether their name lasts.
            if !is_awake(Bug::UnfinishedPagesKept) {
                pages::remove(&*self.disk)?;
            }
            let opened = EnginePages::open(Arc::clone(&self.disk), PagesOptions::default())?;
            let pages: Arc<dyn Pages> = Arc::new(opened);
            // Only who holds `last` comes here.
            let _ = self.pages.set(pages);
        }
        Ok(self.pages.get().expect("set above"))
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    text.or_else(|| panic.downcast_ref().cloned()).unwrap_or_default()
}

/// Is there a branch that does not keep everything? Then what it does not keep should not stay in
/// the log either.
fn drops(state: &JungleState) -> bool {
    let mut branches = state.trees.iter().flat_map(|tree| &tree.branches);
    branches.any(|branch| branch.retention != Retention::All)
}

/// Puts the slabs that are new since an image; gives the one that they make up, and how many were
/// put and removed.
fn put_slabs(
    writing: &mut dyn pages::Checkpoint,
    arena: &Arena,
    was: &SavedImage,
    progress: &Progress,
) -> Result<(SavedImage, u64), PagesError> {
    let mut count: u64 = 0;
    let image = arena.save(was, |id, slab| {
        progress.go_on()?;
        count += 1;
        progress.tell_each(count, 0);
        if is_awake(Bug::SlabForgotten) && count.is_multiple_of(3) {
            return Ok(());
        }
        match slab {
            Some(bytes) => writing.put(Table::Slabs, id.number(), bytes),
            None => writing.remove(Table::Slabs, id.number()),
        }
    })?;
    Ok((image, count))
}

/// Puts the pieces that are new, and removes those that are kept no more.
fn put_histories(
    writing: &mut dyn pages::Checkpoint,
    checkpoint: &Checkpoint,
    (was, now): (&HashMap<BranchId, Pieces>, &HashMap<BranchId, Pieces>),
    progress: &Progress,
) -> Result<u64, CheckpointError> {
    let mut count = 0;
    for (&branch, &Pieces(first, _)) in now {
        let known = was.get(&branch).map_or(0, |&Pieces(_, end)| end);
        for piece in checkpoint.pieces_since(branch, known.max(first)) {
            progress.go_on().map_err(PagesError::from)?;
            let (index, entries) = piece?;
            writing.put(Table::History, piece_key(branch, index)?, &encode_piece(&entries))?;
            count += 1;
        }
    }
    for (&branch, &Pieces(first, end)) in was {
        let kept = now.get(&branch).map_or(end, |&Pieces(first, _)| first.min(end));
        for index in first..kept {
            writing.remove(Table::History, piece_key(branch, index)?)?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use jungle_db::Archive;

    use super::*;
    use crate::OpenOptions;

    #[test]
    fn histories_are_read_from_the_checkpoint_that_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::new().durability(Durability::Memory).checkpoint_every(u64::MAX);
        let store = options.open(folder.path()).unwrap();
        let tree = store.create_tree("t").unwrap();
        let commit = || {
            for n in 0..2 * HISTORY_PIECE as i64 {
                tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
            }
        };
        let past = || tree.history(..).map(Result::unwrap).collect::<Vec<_>>();
        for _ in 0..2 {
            commit();
            let before = past();
            store.checkpoint().unwrap();
            assert_eq!(past(), before);
        }
        let pages = store.checkpoints.opened().unwrap();
        assert_eq!(Arc::strong_count(pages), 2, "the Jungle has no archive");
        // All that it handed over is there.
        let archive = PagedHistory(Arc::clone(pages));
        let newest_first = past();
        let archived = (0..4).flat_map(|i| archive.piece(tree.branch_id(), i).unwrap().to_vec());
        let revisions = archived.map(|entry| entry.revision);
        assert!(revisions.eq(newest_first.iter().rev().map(|info| info.revision).take(2_048)));
    }
}
