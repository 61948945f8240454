//! A repair under way: the log is written once more, or what the checkpoint makes is copied.

use std::sync::Arc;

use jungle_db::{
    Archive, ArchiveError, BranchId, Checkpoint, CopyError, Durability, HistoryEntry, Jungle, Lost,
    NotWritten, Remains, ReplayError, Revision, Salvage, TreeId,
};
use jungle_tree::{Arena, loading};

use super::patched::Patches;
use super::{LostCommits, RepairError, RepairProgress, RepairReport, RepairSource, target};
use crate::audit;
use crate::checkpoint::{Checkpoints, PagedHistory, load};
use crate::disk::{Disk, Mode};
use crate::error::{IoError, OpenError, doing};
use crate::form::{TreeFault, check_branch, replay_what_is_there};
use crate::log::mark::{LOCK, Mark};
use crate::log::recover::{recover_by, segments};
use crate::log::segment::LOG;
use crate::log::writer::Writer;
use crate::log::{Log, LogPosition};
use crate::open::{OpenOptions, make_log};
use crate::pages::{EnginePages, Pages, PagesOptions};
use crate::progress::Progress;
use crate::survey::Survey;
use crate::verify::VerifyError;

/// A repair under way.
pub(super) struct Repairing<'p> {
    pub(super) options: OpenOptions,
    pub(super) from: Arc<dyn Disk>,
    pub(super) to: Arc<dyn Disk>,
    pub(super) mark: Option<Mark>,
    /// Was the end of the last segment cut off?
    pub(super) is_cut: bool,
    pub(super) patches: Patches,
    pub(super) progress: &'p RepairProgress,
}

/// What one of the two knows.
struct Known {
    revision: Revision,
    /// Does it go up to the end of the log?
    is_all: bool,
}

/// What the checkpoint makes, with the log since.
struct ByPages {
    known: Known,
    remains: Remains,
    pages: Arc<dyn Pages>,
    badly_formed: Vec<TreeId>,
}

/// The histories of the trees that can be opened, and of the others.
struct Histories<'h> {
    open: &'h Checkpoint,
    closed: &'h PagedHistory,
}

impl Archive for Histories<'_> {
    fn piece(&self, branch: BranchId, index: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        self.open.piece(branch, index).or_else(|_| self.closed.piece(branch, index))
    }
}

impl Repairing<'_> {
    pub(super) fn run(self, survey: Survey) -> Result<RepairReport, RepairError> {
        let (by_log, known) = self.write_log()?;
        let by_pages = self.read_pages()?;
        let by_pages = by_pages.filter(|by_pages| by_pages.known.revision > known.revision);
        let is_nothing = by_pages.is_none() && known.revision == Revision::default();
        if is_nothing && (survey.count() > 0 || !known.is_all) {
            let (folder, survey) = (self.from.place().into(), Box::new(survey));
            return Err(RepairError::Nothing { folder, survey });
        }
        let (known, source, lost) = match by_pages {
            None => {
                self.check(&by_log, Written::Log)?;
                (known, RepairSource::Log, Vec::new())
            }
            Some(by_pages) => {
                self.discard()?;
                let lost = self.copy(&by_pages, &by_log)?;
                (by_pages.known, RepairSource::Checkpoint, lost)
            }
        };
        let lost_commits = self.lost_commits(&known, &survey)?;
        Ok(RepairReport { survey, revision: known.revision, source, lost_commits, lost })
    }

    /// Does what the log says again, from its first record on, and writes it into the new folder's
    /// log.
    fn write_log(&self) -> Result<(Jungle, Known), RepairError> {
        make_log(&*self.to, None).map_err(RepairError::Target)?;
        let log = self.begin(Revision::default())?;
        let jungle = Jungle::builder().arena(self.options.arena.clone()).build();
        let jungle = jungle.map_err(OpenError::from)?;
        let mut failed = None;
        let read = self.read(&jungle, None, &mut |record| {
            jungle.replay(record)?;
            let revision = record.revision.number();
            let written = log.append(record).and_then(|()| log.wait(revision, Durability::Memory));
            written.map_err(|error| {
                failed = Some(error);
                ReplayError::NotWritten(NotWritten::Stopped)
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let is_all = read?;
        log.close()?;
        Ok((jungle.clone(), Known { revision: jungle.revision(), is_all }))
    }

    /// An empty log in the new folder, which goes on behind this revision.
    fn begin(&self, newest: Revision) -> Result<Log, RepairError> {
        let lock = self.to.open(LOCK, Mode::CreateNew).map_err(doing("create", LOCK));
        let lock = lock.map_err(target)?;
        let (to, next) = (Arc::clone(&self.to), newest.number() + 1);
        let writer = Writer::first(to, next, self.options.segment_bytes).map_err(target)?;
        Ok(Log::new(Arc::clone(&self.to), lock, Some(writer), newest.number()))
    }

    /// Reads the log from some place on as far as that goes; tells whether that is its end.
    fn read(
        &self,
        jungle: &Jungle,
        from: Option<LogPosition>,
        redo: crate::log::recover::Each<'_>,
    ) -> Result<bool, RepairError> {
        let reading = &self.progress.reading;
        let mut no_room = None;
        let done = recover_by(&*self.from, self.mark, jungle, from, &mut |record| {
            if reading.go_on().is_err() {
                // Only to end it.
                return Err(ReplayError::NotWritten(NotWritten::Stopped));
            }
            reading.tell(record.revision.number(), 0);
            redo(record).inspect_err(|error| {
                if let ReplayError::Apply(apply) = error
                    && apply.source.is_full()
                {
                    no_room = Some(apply.source.clone());
                }
            })
        });
        reading.go_on()?;
        if let Some(error) = no_room {
            return Err(CopyError::NoRoom(error).into());
        }
        match done {
            // Without a mark nobody knows whether there was a log at all.
            Ok(end) => Ok(end.is_some_and(|end| !self.patches.are_behind(&end.at))),
            Err(error) if is_no_room(&error) => Err(error.into()),
            Err(_) => {
                // What is not to be kept is dropped; what cannot be looked at stays.
                let _ = loading(|| jungle.end_replay());
                Ok(false)
            }
        }
    }

    /// Opens the checkpoint, and does again what the log says since.
    fn read_pages(&self) -> Result<Option<ByPages>, RepairError> {
        let options = PagesOptions { read_only: true, ..PagesOptions::default() };
        // What is wrong was told by the survey.
        let Ok(Some(pages)) = EnginePages::open_if_there(Arc::clone(&self.from), options) else {
            return Ok(None);
        };
        let pages: Arc<dyn Pages> = Arc::new(pages);
        let Ok(Some(loaded)) = load(&*pages) else { return Ok(None) };
        let remains = loaded.remains(&self.options.arena, &pages).map_err(OpenError::from);
        let mut remains = match remains {
            Ok(remains) => remains,
            Err(error) if is_no_room(&error) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        let badly_formed = badly_formed(remains.jungle(), &self.progress.reading)?;
        // What is badly formed cannot be edited.
        badly_formed.iter().for_each(|&tree| remains.leave_tree_behind(tree));
        let jungle = remains.jungle().clone();
        let is_all = self.read(&jungle, Some(loaded.log), &mut |record| {
            remains.replay(record, replay_what_is_there)
        })?;
        let known = Known { revision: jungle.revision(), is_all };
        Ok(Some(ByPages { known, remains, pages, badly_formed }))
    }

    /// Removes what was written of the log.
    fn discard(&self) -> Result<(), RepairError> {
        let removed = || -> Result<(), IoError> {
            for name in self.to.list(LOG).map_err(doing("list", LOG))? {
                self.to.remove(&format!("{LOG}/{name}")).map_err(doing("remove", LOG))?;
            }
            self.to.remove(LOCK).map_err(doing("remove", LOCK))
        };
        removed().map_err(target)
    }

    /// Copies what can be read of a checkpoint; tells what cannot.
    fn copy(&self, by_pages: &ByPages, by_log: &Jungle) -> Result<Vec<Lost>, RepairError> {
        let arena = Arena::with_options(&self.options.arena).map_err(OpenError::from)?;
        let checkpoint = by_pages.remains.jungle().checkpoint_as_it_is();
        let state = by_pages.remains.with_the_rest(checkpoint.state());
        let paged = PagedHistory(Arc::clone(&by_pages.pages));
        let salvage = Salvage {
            arena: by_pages.remains.jungle().arena(),
            state: &state,
            archive: &Histories { open: &checkpoint, closed: &paged },
            other: Some(by_log),
            badly_formed: by_pages.badly_formed.iter().copied().collect(),
        };
        let saving = &self.progress.saving;
        let saved = salvage.save(Jungle::builder(), arena, |done, total| {
            saving.tell(done, total);
            saving.go_on()
        })??;
        let log = self.begin(saved.jungle.revision())?;
        let checkpoints = Checkpoints::none(Arc::clone(&self.to));
        checkpoints.write(&saved.jungle, &log, &Progress::default())?;
        if let Some(to) = checkpoints.opened() {
            let (state, old) =
                (saved.jungle.checkpoint_as_it_is(), (&*by_pages.pages, &*self.from));
            // As far as it can be read: it says itself what is missing.
            let _ = audit::carry(old, &**to, state.state(), &Progress::default());
        }
        log.close()?;
        self.check(&saved.jungle, Written::Checkpoint)?;
        let mut lost = saved.lost;
        // Nobody misses it twice.
        let is_gone = |tree: &str| {
            lost.iter().any(|it| matches!(it, Lost::Tree { tree: gone } if **gone == *tree))
        };
        let since = by_pages.remains.lost().into_iter().filter(|it| !is_gone(tree_of(it)));
        let since: Vec<Lost> = since.collect();
        lost.extend(since);
        Ok(lost)
    }

    /// Reads back what was written, and makes a checkpoint of it if there is none.
    fn check(&self, ought: &Jungle, written: Written) -> Result<(), RepairError> {
        let options = self.options.clone().checkpoint_every(u64::MAX);
        let options = options.progress(self.progress.checking.clone());
        let store = options.open_on(Arc::clone(&self.to)).map_err(RepairError::Target)?;
        if written == Written::Log {
            store.checkpoint_telling(&Progress::default())?;
        }
        store.verify_telling(&self.progress.checking)?;
        if !loading(|| crate::adopt::is_same(&store, ought)).map_err(VerifyError::from)? {
            return Err(RepairError::Wrong { revision: ought.revision() });
        }
        Ok(store.close()?)
    }

    /// The commits that came after what was saved.
    fn lost_commits(
        &self,
        known: &Known,
        survey: &Survey,
    ) -> Result<Option<LostCommits>, RepairError> {
        let closed = match self.mark {
            Some(Mark::Closed { revision, .. }) => Some(Revision::new(revision)),
            _ => None,
        };
        let in_log = survey.whole_revisions.iter().map(|range| *range.end()).max();
        // A segment begins behind what is in the one before.
        let begun = segments(&*self.from).map_err(OpenError::from)?.last().copied();
        let begun = begun.map(|first| Revision::new(first.saturating_sub(1)));
        let last = [closed, in_log, begun].into_iter().flatten().max();
        let last = last.filter(|&last| last > known.revision);
        let is_all = last.is_none() && (known.is_all && !self.is_cut || closed.is_some());
        let first = Revision::new(known.revision.number() + 1);
        Ok((!is_all).then_some(LostCommits { first, last }))
    }
}

fn tree_of(lost: &Lost) -> &str {
    match lost {
        Lost::Revisions { tree, .. } | Lost::Branch { tree, .. } | Lost::Tag { tree, .. } => tree,
        _ => "",
    }
}

/// Is nothing wrong with what is read, but there is no room for it?
fn is_no_room(error: &OpenError) -> bool {
    matches!(error, OpenError::Arena(_) | OpenError::NoRoom(_))
}

/// What the new folder has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Log,
    Checkpoint,
}

/// The trees that are not well formed, which nobody can read. Those of which something is not there
/// may be, as far as they are.
fn badly_formed(jungle: &Jungle, progress: &Progress) -> Result<Vec<TreeId>, RepairError> {
    let mut found = Vec::new();
    for main in jungle.list_trees().iter().filter_map(|name| jungle.open_tree(name).ok()) {
        for head in main.list_branches().iter().filter_map(|name| main.on_branch(name).ok()) {
            progress.go_on()?;
            let form = check_branch(&head).map_err(|damage| damage.source);
            if matches!(form, Err(TreeFault::Form(_))) {
                found.push(main.id());
                break;
            }
        }
    }
    Ok(found)
}
