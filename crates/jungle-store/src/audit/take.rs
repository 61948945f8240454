//! Checkpoints take from the log what is no edit, before what they remove of it is gone.

use jungle_db::{JungleState, Revision};

use super::AuditError;
use super::kept::{Filling, Head, LIMITS};
use super::names::Names;
use crate::checkpoint::drops;
use crate::disk::Disk;
use crate::error::{IoError, OpenError};
use crate::log::recover::segments;
use crate::log::walk::read;
use crate::pages::{Checkpoint, Pages, PagesError};
use crate::progress::Progress;
use crate::record::decode_told;

/// How far it came.
pub(crate) struct Taken {
    /// Nobody needs the segments any more whose first revision is before this one.
    pub(crate) before: u64,
    /// Why it is no further.
    pub(crate) failed: Option<IoError>,
}

/// Takes what is no edit out of the segments of the log before the one whose first revision is
/// told, if no earlier checkpoint did: nothing is written to them any more. It is put into the
/// checkpoint that is being written, so it is in that, or still in the log.
///
/// A segment that cannot be read is no reason to have no checkpoint. It stays, and the next one
/// tries again. But if it is damaged, and the log is about to be cut off, it is left out: there
/// would never be any room again.
pub(crate) fn take(
    writing: &mut dyn Checkpoint,
    pages: &dyn Pages,
    (disk, end): (&dyn Disk, u64),
    state: &JungleState,
    progress: &Progress,
) -> Result<Taken, PagesError> {
    let head = match Head::read(pages) {
        Ok(head) => head,
        Err(AuditError::Pages(error @ PagesError::Io(_))) => return Err(error),
        // What a newer program put stays, and so does what is damaged: `Store::audit` tells it.
        Err(_) => return Ok(Taken { before: u64::MAX, failed: None }),
    };
    let from = head.next;
    if end <= from {
        return Ok(Taken { before: from, failed: None });
    }
    let firsts = match segments(disk) {
        Ok(firsts) => firsts.into_iter().filter(|first| (from..=end).contains(first)),
        Err(error) => return Ok(Taken { before: from, failed: Some(error) }),
    };
    let firsts: Vec<u64> = firsts.collect();
    let mut taking = Taking::begin(Filling::begin(head, pages, writing, LIMITS)?, pages, state)?;
    if let Some(&first) = firsts.first().filter(|&&first| first > from) {
        // A program that knows nothing of this has cut the log off, or it never began with 1.
        taking.leave_out(first);
    }
    let mut failed = None;
    for pair in firsts.windows(2) {
        progress.go_on()?;
        let (first, following) = (pair[0], pair[1]);
        match read(disk, first, None, None, u64::MAX) {
            Ok(segment) if segment.end.next == following => {
                segment.each_record(|revision, bytes| taking.record(revision, bytes))?;
                taking.filling.head.next = following;
            }
            Err(OpenError::Io(error)) => {
                failed = Some(error);
                break;
            }
            _ if drops(state) => taking.leave_out(following),
            _ => break,
        }
    }
    let Taking { filling, names, .. } = taking;
    if filling.head.next == from {
        return Ok(Taken { before: from, failed });
    }
    Ok(Taken { before: filling.end(&names)?.next, failed })
}

struct Taking<'w> {
    filling: Filling<'w>,
    names: Names,
    /// What the checkpoint has.
    state: &'w JungleState,
}

impl<'w> Taking<'w> {
    fn begin(
        filling: Filling<'w>,
        pages: &dyn Pages,
        state: &'w JungleState,
    ) -> Result<Taking<'w>, PagesError> {
        let mut taking = Taking { filling, names: Names::default(), state };
        match Names::read(pages) {
            Ok(names) => taking.names = names,
            Err(AuditError::Pages(error @ PagesError::Io(_))) => return Err(error),
            Err(_) => taking.names.add_state(state),
        }
        Ok(taking)
    }

    /// Nothing is known of what was before this revision.
    fn leave_out(&mut self, before: u64) {
        let head = &mut self.filling.head;
        (head.complete_from, head.next) = (before, before);
        self.names.add_state(self.state);
    }

    fn record(&mut self, revision: Revision, bytes: &[u8]) -> Result<(), PagesError> {
        match decode_told(bytes, revision) {
            Ok(None) => Ok(()),
            Ok(Some(record)) => self.filling.add(&self.names.row(record)),
            Err(_) => {
                self.filling.head.complete_from = revision.number() + 1;
                Ok(())
            }
        }
    }
}
