//! The folder that a copy is made in: what it has, what comes into it, and that it is whole.

use std::sync::Arc;
use std::time::Duration;

use jungle_db::Revision;

use super::progress::Done;
use super::source::{begins_late, keep_lasting};
use super::{BackupError, BackupReport};
use crate::checkpoint::LoadError;
use crate::disk::{Disk, DiskFile, Mode, read_full, write_full};
use crate::erase;
use crate::error::{Damage, IoError, OpenError, doing};
use crate::log::mark::Mark;
use crate::log::recover::segments;
use crate::log::segment::{LOG, NEXT, SEGMENT_HEADER, fill, name};
use crate::log::walk::{Came, Place, Segment, look, read};
use crate::open::{OpenOptions, remove_next};
use crate::pages::{self, EnginePages, Pages as _, PagesError, PagesOptions};
use crate::planted::{Bug, is_awake};
use crate::progress::Progress;

/// The folder that a copy is made in.
pub(super) struct Target<'d> {
    to: &'d dyn Disk,
    lock: Box<dyn DiskFile>,
    /// What the copy's mark says.
    mark_before: Option<Mark>,
    /// The segments that it has.
    there: Vec<u64>,
    /// Where the copy ends so far.
    pub(super) had: Option<Place>,
}

/// What was copied.
pub(super) struct Copied {
    report: BackupReport,
    /// What the mark of the copy is to say.
    mark: Mark,
}

impl<'d> Target<'d> {
    /// Finds out what the copy has.
    pub(super) fn begin(
        to: &'d dyn Disk,
        lock: Box<dyn DiskFile>,
    ) -> Result<Target<'d>, BackupError> {
        to.create_folder(LOG).map_err(doing("create", LOG))?;
        to.sync_folder("").map_err(doing("sync", "the folder"))?;
        remove_next(to).map_err(BackupError::Target)?;
        // Read for its format: what another version wrote is not touched.
        let mark_before = Mark::read(&*lock).map_err(BackupError::Target)?;
        let there = segments(to)?;
        if there.is_empty() && mark_before.is_some() {
            // A copy that is begun has no mark. So this had a log, and its checkpoint may be all
            // that is left of it.
            let revision = Revision::new(1);
            return Err(BackupError::Target(OpenError::Missing { revision }));
        }
        let last = there.last().map(|&last| read(to, last, None, None, u64::MAX));
        let had = last.transpose().map_err(BackupError::Target)?.map(|last| last.end);
        Ok(Target { to, lock, mark_before, there, had })
    }

    /// The newest revision that the copy has.
    pub(super) fn before(&self) -> Revision {
        Revision::new(self.had.as_ref().map_or(0, |had| had.next - 1))
    }

    /// Those of the log's segments that are read: from the one on in which the copy ends.
    pub(super) fn wanted(
        &self,
        mut segments: Vec<u64>,
        newest: Revision,
    ) -> Result<Vec<u64>, BackupError> {
        if let (Some(had), Some(&oldest)) = (&self.had, segments.first())
            && oldest >= had.next
        {
            let (folder, revision) = (self.to.place().into(), self.before());
            let oldest = Revision::new(oldest);
            return Err(BackupError::Trimmed { folder, revision, oldest });
        }
        if let (Some(&first), Some(&last)) = (self.there.first(), self.there.last()) {
            let is_missing =
                |of: &&u64| (first..last).contains(*of) && self.there.binary_search(of).is_err();
            if let Some(&missing) = segments.iter().find(is_missing) {
                let revision = Revision::new(missing);
                return Err(BackupError::Target(OpenError::Missing { revision }));
            }
            segments.retain(|&first| first >= last);
        }
        keep_lasting(&mut segments, newest);
        Ok(segments)
    }

    /// Copies segments, in order, from the one on in which the copy ends. What is behind the frame
    /// with the revision `up_to` is not copied.
    pub(super) fn copy(
        &self,
        segments: impl Iterator<Item = Result<Came, BackupError>>,
        up_to: u64,
        done: &mut Done,
    ) -> Result<Copied, BackupError> {
        let mut marked = false;
        let mut bytes = 0;
        let mut last: Option<Segment> = None;
        let mut found = self.had.is_none();
        for came in segments {
            done.go_on()?;
            let came = came?;
            let first = came.first;
            let at = last.as_ref().map(|last| &last.end);
            let segment = look(came, at, self.had.as_ref(), up_to).map_err(BackupError::Source)?;
            let was_found = found;
            found |= segment.found;
            let have = match &self.had {
                Some(had) if had.segment == first => had.offset,
                _ => SEGMENT_HEADER,
            };
            if found && (segment.end.offset > have || was_found) {
                if !marked && self.had.is_some() {
                    Mark::InUse.write(&*self.lock)?;
                    marked = true;
                }
                self.write(&segment)?;
                self.read_back(&segment).map_err(BackupError::Target)?;
                bytes += (segment.end.offset - have) as u64;
                // Only now does another segment follow.
                last.as_ref().map_or(Ok(()), |before| self.seal(before))?;
            }
            done.add(segment.len);
            last = Some(segment);
        }
        let (Some(last), true) = (last, found) else {
            return Err(self.of_another());
        };
        let revision = last.end.next - 1;
        let mark = Mark::Closed { revision, check: last.end.check };
        let revision = Revision::new(revision);
        Ok(Copied { report: BackupReport { revision, before: self.before(), bytes }, mark })
    }

    /// Removes all that has come, unless something was there before: that stays, with what came
    /// behind it. What is newest goes first: what is left at any moment is an interrupted copy.
    pub(super) fn clear(&self) -> Result<(), IoError> {
        if self.had.is_some() {
            return Ok(());
        }
        for first in segments(self.to)?.into_iter().rev() {
            let name = name(first);
            self.to.remove(&name).map_err(doing("remove", &name))?;
        }
        self.to.sync_folder(LOG).map_err(doing("sync", LOG))?;
        pages::remove(self.to)?;
        self.to.sync_folder("").map_err(doing("sync", "the folder"))
    }

    /// What is to be copied does not go on from what is there.
    fn of_another(&self) -> BackupError {
        BackupError::Other { folder: self.to.place().into(), revision: self.before() }
    }

    /// Opens the copy, unless that was done before, and marks it as whole.
    pub(super) fn end(
        self,
        to: &Arc<dyn Disk>,
        copied: Copied,
        newest: Revision,
        options: OpenOptions,
    ) -> Result<BackupReport, BackupError> {
        let Copied { report, mark } = copied;
        if report.revision < newest && !is_awake(Bug::BackupEndsEarly) {
            // All of it had its place in the log, and was synced.
            let damaged = OpenError::damaged(LOG, 0, Some(report.revision), Damage::EndsEarly);
            return Err(BackupError::Source(damaged));
        }
        // One that was interrupted was not opened, perhaps.
        if !matches!(self.mark_before, Some(Mark::Closed { .. })) {
            // What was there of it may be of a stream that broke off before its hash.
            let has_checkpoint = self.had.is_some() && begins_late(&self.there);
            let options = if has_checkpoint { options.checked() } else { options };
            options.read_only().read_best(to, Some(mark)).map_err(BackupError::Target)?;
        }
        mark.write(&*self.lock)?;
        Ok(report)
    }

    /// Puts a segment there, all at once, as far as it is whole.
    fn write(&self, segment: &Segment) -> Result<(), IoError> {
        let file = self.to.open(NEXT, Mode::CreateNew).map_err(doing("create", NEXT))?;
        let end = segment.end.offset;
        write_full(&*file, &segment.bytes[..end], 0).map_err(doing("write", NEXT))?;
        fill(&*file, end as u64, segment.len).map_err(doing("fill", NEXT))?;
        file.sync_data().map_err(doing("sync", NEXT))?;
        let name = name(segment.end.segment);
        self.to.rename(NEXT, &name).map_err(doing("name", &name))?;
        self.to.sync_folder(LOG).map_err(doing("sync", LOG))
    }

    /// Is a segment there, as far as it is whole?
    fn read_back(&self, segment: &Segment) -> Result<(), OpenError> {
        let Place { offset, next, .. } = segment.end;
        let name = name(segment.end.segment);
        let file = self.to.open(&name, Mode::Read).map_err(doing("open", &name))?;
        let len = file.len().map_err(doing("ask the length of", &name))?;
        let mut bytes = vec![0; offset];
        let read = read_full(&*file, &mut bytes, 0).map_err(doing("read", &name))?;
        if len != segment.len || bytes[..read] != segment.bytes[..offset] {
            let newest = Some(Revision::new(next - 1));
            return Err(OpenError::damaged(&name, offset as u64, newest, Damage::Checksum));
        }
        Ok(())
    }

    /// Says that another segment follows.
    fn seal(&self, segment: &Segment) -> Result<(), IoError> {
        let Some(seal) = segment.seal else { return Ok(()) };
        let name = name(segment.end.segment);
        let file = self.to.open(&name, Mode::Write).map_err(doing("open", &name))?;
        let end = segment.end.offset;
        let bytes = &segment.bytes[end..seal];
        write_full(&*file, bytes, end as u64).map_err(doing("write", &name))?;
        file.sync_data().map_err(doing("sync", &name))
    }
}

/// Locks a folder that a copy is made in, if need be once those have gone who only read it.
pub(super) fn locked(
    to: &dyn Disk,
    wait: Duration,
    tell: &Progress,
) -> Result<Box<dyn DiskFile>, BackupError> {
    let options = OpenOptions::new().wait_for_readers(wait).progress(tell.untold());
    let lock = options.lock(to).map_err(BackupError::Target)?;
    erase::finish(to, &*lock).map_err(BackupError::Target)?;
    Ok(lock)
}

/// Reads all of a checkpoint that was copied, by an engine of its own: the one that wrote it has
/// some of it in memory.
pub(super) fn read_back_pages(to: &Arc<dyn Disk>, tell: &Progress) -> Result<(), BackupError> {
    let options = PagesOptions { read_only: true, ..PagesOptions::default() };
    let copied = EnginePages::open(Arc::clone(to), options);
    match copied.and_then(|copied| copied.check(tell)) {
        Ok(_) => Ok(()),
        Err(PagesError::GivenUp) => Err(BackupError::Target(OpenError::GivenUp)),
        Err(error) => Err(BackupError::Target(LoadError::from(error).into())),
    }
}
