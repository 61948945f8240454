//! Checkpoints take from the log what is no edit, before what they remove of it is gone.

use jungle_db::{JungleState, Revision};

use super::AuditError;
use super::kept::{FIRST_KEY, Filling, Head, LIMITS};
use super::names::Names;
use crate::disk::Disk;
use crate::error::{IoError, OpenError};
use crate::log::recover::segments;
use crate::log::walk::read;
use crate::pages::{Checkpoint, Pages, PagesError, Table};
use crate::progress::Progress;
use crate::record::decode_told;

/// How far it came.
pub(crate) struct Taken {
    /// Nobody needs the segments any more whose first revision is before this one.
    pub(crate) before: u64,
    /// Why it is no further.
    pub(crate) failed: Option<IoError>,
}

/// What there is to go on from.
pub(crate) enum Ready {
    /// Nothing is to be taken.
    Not(Taken),
    Behind {
        head: Head,
        names: Names,
        /// The last page, if it gets more rows.
        open: Option<Vec<u8>>,
    },
}

/// Looks at what checkpoints have so far, to go on up to before a revision. That is done before
/// another one is begun: an engine that has failed to read something writes nothing any more. What
/// is damaged, or a newer program's, stays as it is, and nothing is added: `Store::audit` tells it.
pub(crate) fn ready(pages: &dyn Pages, end: u64) -> Ready {
    match look(pages, end) {
        Ok(ready) => ready,
        Err(AuditError::Pages(PagesError::Io(error))) => {
            Ready::Not(Taken { before: 0, failed: Some(error) })
        }
        Err(_) => Ready::Not(Taken { before: u64::MAX, failed: None }),
    }
}

fn look(pages: &dyn Pages, end: u64) -> Result<Ready, AuditError> {
    let head = Head::read(pages)?;
    if end <= head.next {
        return Ok(Ready::Not(Taken { before: head.next, failed: None }));
    }
    let (names, open) = (Names::read(pages)?, head.open_page(pages, &LIMITS)?);
    Ok(Ready::Behind { head, names, open })
}

/// Takes what is no edit out of the segments of the log, up to before a revision with which one
/// begins, or would: nothing is written to them any more. What an earlier checkpoint took is left
/// out. It is put into the checkpoint that is being written, so it is in that, or still in the log.
///
/// A segment that cannot be read is no reason to have no checkpoint. It stays, and the next one
/// tries again. But if it is damaged, and the log is about to go, it is left out: there would never
/// be any room again, or it would not be there to be tried.
pub(crate) fn take(
    writing: &mut dyn Checkpoint,
    ready: Ready,
    (disk, end): (&dyn Disk, u64),
    (state, is_log_to_go): (&JungleState, bool),
    progress: &Progress,
) -> Result<Taken, PagesError> {
    let (head, names, open) = match ready {
        Ready::Not(taken) => return Ok(taken),
        Ready::Behind { head, names, open } => (head, names, open),
    };
    let from = head.next;
    let firsts = match segments(disk) {
        Ok(firsts) => firsts.into_iter().filter(|first| (from..end).contains(first)),
        Err(error) => return Ok(Taken { before: from, failed: Some(error) }),
    };
    let firsts: Vec<u64> = firsts.chain([end]).collect();
    let filling = Filling::begin(head, open, writing, LIMITS);
    let mut taking = Taking { filling, names, state };
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
            _ if is_log_to_go => taking.leave_out(following),
            _ => break,
        }
    }
    let Taking { filling, names, .. } = taking;
    if filling.head.next == from {
        return Ok(Taken { before: from, failed });
    }
    Ok(Taken { before: filling.end(&names)?.next, failed })
}

/// Puts what a folder keeps of it, and what its log has besides, into the pages of another folder,
/// which has this state and goes on behind it. What the disk does not let be read is told when all
/// else is there: that may be the last chance to save it.
pub(crate) fn carry(
    (from, disk): (&dyn Pages, &dyn Disk),
    to: &dyn Pages,
    state: &JungleState,
    progress: &Progress,
) -> Result<(), PagesError> {
    let end = state.revision.number() + 1;
    let ready = ready(from, end);
    let mut writing = to.begin()?;
    let keys = match from.keys(Table::State, FIRST_KEY..=u64::MAX) {
        Err(error @ PagesError::Io(_)) => return Err(error),
        keys => keys.unwrap_or_default(),
    };
    let mut failed = None;
    for key in keys {
        progress.go_on()?;
        match from.get(Table::State, key) {
            Ok(Some(bytes)) => writing.put(Table::State, key, &bytes)?,
            Err(PagesError::Io(error)) => failed = Some(error),
            // What is damaged is missing there.
            _ => {}
        }
    }
    // Its log does not come along.
    let taken = take(&mut *writing, ready, (disk, end), (state, true), progress)?;
    writing.commit()?;
    failed.or(taken.failed).map_or(Ok(()), |error| Err(error.into()))
}

struct Taking<'w> {
    filling: Filling<'w>,
    names: Names,
    /// What the checkpoint has.
    state: &'w JungleState,
}

impl Taking<'_> {
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

#[cfg(all(test, feature = "sim"))]
mod tests {
    use std::sync::Arc;

    use jungle_db::Durability;

    use super::*;
    use crate::OpenOptions;
    use crate::disk::sim::{CallKind, Fate, SimDisk};
    use crate::log::segment::{SEGMENT_HEADER, name};
    use crate::pages::{EnginePages, PagesOptions};

    const EIO: i32 = 5;

    /// So many trees were made, and nothing else was done.
    const TREES: u64 = 60;

    /// A folder without an audit that keeps everything, its state, and where its segments begin.
    fn folder() -> (SimDisk, JungleState, Vec<u64>) {
        let disk = SimDisk::new();
        let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
        let options = options.durability(Durability::Buffered);
        let store = options.open_on(Arc::new(disk.clone())).expect("a new disk");
        for n in 0..TREES {
            store.create_tree(&format!("tree {n}")).expect("nothing fails");
        }
        let state = store.checkpoint_as_it_is().state().clone();
        store.close().expect("nothing fails");
        let firsts = segments(&disk).expect("nothing fails");
        assert!(firsts.len() > 3 && state.revision.number() == TREES);
        (disk, state, firsts)
    }

    fn pages(disk: &SimDisk) -> EnginePages {
        EnginePages::open(Arc::new(disk.clone()), PagesOptions::default()).expect("nothing fails")
    }

    fn carried(disk: &SimDisk, state: &JungleState, to: &EnginePages) -> Result<(), PagesError> {
        let from = pages(disk);
        let mut writing = from.begin()?;
        writing.put(Table::State, 0, b"an older program's")?;
        writing.commit()?;
        carry((&from, disk), to, state, &Progress::default())
    }

    fn revisions(pages: &EnginePages) -> Vec<u64> {
        let head = Head::read(pages).expect("nothing fails");
        let rows =
            (0..head.pages.len()).flat_map(|page| head.rows(pages, page).expect("nothing fails"));
        rows.map(|row| row.revision.number()).collect()
    }

    #[test]
    fn what_is_behind_a_damaged_segment_is_carried_too() {
        let (disk, state, firsts) = folder();
        let mut files = disk.files();
        // In its first frame.
        files.get_mut(&name(firsts[1])).unwrap()[SEGMENT_HEADER + 8] ^= 1;
        let (disk, to) = (SimDisk::with_files(&files), pages(&SimDisk::new()));
        carried(&disk, &state, &to).unwrap();
        let head = Head::read(&to).unwrap();
        assert_eq!((head.complete_from, head.next), (firsts[2], TREES + 1));
        let ought: Vec<u64> = (1..firsts[1]).chain(firsts[2]..=TREES).collect();
        assert_eq!(revisions(&to), ought);
    }

    #[test]
    fn what_is_before_a_segment_that_cannot_be_read_is_carried_and_that_is_told() {
        let (disk, state, firsts) = folder();
        let (to, unreadable) = (pages(&SimDisk::new()), name(firsts[1]));
        disk.watch(move |call, _| match call.kind == CallKind::Read && call.name == unreadable {
            true => Fate::Fail(EIO),
            false => Fate::Go,
        });
        let told = carried(&disk, &state, &to);
        assert!(matches!(told, Err(PagesError::Io(_))), "{told:?}");
        assert_eq!(revisions(&to), (1..firsts[1]).collect::<Vec<u64>>());
    }
}
