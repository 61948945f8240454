//! What is damaged in a folder, and what is still whole.

mod log;

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use jungle_db::{Jungle, NotWritten, ReplayError, Revision};
use jungle_tree::loading;

use crate::checkpoint::{LoadError, load};
use crate::disk::{Disk, FolderDisk, Mode};
use crate::error::{Damage, OpenError, doing};
use crate::form::{TreeFault, check_branch, check_trees, replay_checked};
use crate::log::LogPosition;
use crate::log::mark::{LOCK, Mark};
use crate::log::recover::{End, Redo, recover_by};
use crate::log::segment::name;
use crate::open::OpenOptions;
use crate::pages::{EnginePages, Pages, PagesOptions, Table};
use crate::progress::{GivenUp, Progress};
use crate::store::Store;
use crate::verify::{VerifyError, compare};

/// So many damages are kept; the rest is counted.
pub const DAMAGES_MAX: usize = 100;

/// What is damaged in a folder, and what is still whole.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Survey {
    /// What is damaged: [`DAMAGES_MAX`] at most.
    pub damages: Vec<VerifyError>,
    /// How many damages there are besides.
    pub more_damages: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Segments of the log in which nothing is damaged.
    pub whole_segments: u64,
    /// The revisions whose bytes in the log are whole, in order. Those behind a gap cannot be made
    /// again without what is in it. No more pieces are kept than damages.
    pub whole_revisions: Vec<RangeInclusive<Revision>>,
    /// The newest revision that the log alone makes again; 0 where it does not go back to the
    /// first, or that is damaged.
    pub log_revision: Revision,
    /// The newest revision of the checkpoint, if there is one that can be opened.
    pub checkpoint: Option<Revision>,
    /// The newest revision that can be read: from the log alone, or from the checkpoint and what
    /// the log says since, whichever goes further.
    pub revision: Revision,
    /// The trees that are whole there: in all branches, with their histories.
    pub whole_trees: Vec<Box<str>>,
    /// Those of which something cannot be read there, or is not well formed.
    pub damaged_trees: Vec<Box<str>>,
    /// What can be done.
    pub remedy: Remedy,
}

/// What can be done about a damaged folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing is damaged.
    #[default]
    Nothing,
    /// The log is whole and complete, so the checkpoint is not needed: without the file `pages` the
    /// folder is opened from its log, and the next checkpoint is a new one. Nothing is lost.
    RemovePages,
    /// What is damaged lies in front of the checkpoint, which is whole: everything up to the newest
    /// revision can be read, and taken out. A backup has the log, too.
    TakeOut,
    /// Something is not there any more: a backup has it.
    Restore,
}

impl Store {
    /// Looks at everything, as [`verify`](Store::verify) does, but goes on behind what is damaged:
    /// with the next commits in the log that are whole, the next value of the checkpoint, the next
    /// branch.
    ///
    /// # Errors
    /// When the folder cannot be looked at, also because somebody else
    /// [writes to it](OpenOptions::beside_a_writer), or there is no room for what is in it, or it
    /// is given up. What is damaged in it is no error.
    ///
    /// ```
    /// use jungle_store::{Remedy, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-survey-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let survey = store.survey(&Default::default())?;
    /// assert_eq!((survey.remedy, survey.damages.len()), (Remedy::Nothing, 0));
    /// assert_eq!(*survey.whole_trees, ["board".into()]);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn survey(&self, progress: &Progress) -> Result<Survey, OpenError> {
        self.must_stand_still()?;
        let _still = self.checkpoints.still();
        let written = (!self.is_read_only()).then(|| self.log().position());
        let pages = self.checkpoints.opened().cloned();
        let options = OpenOptions::new().arena(self.arena_beside());
        let surveyor = Surveyor::new(self.disk(), written, options, progress);
        surveyor.look(pages)?.had_room()
    }
}

impl OpenOptions {
    /// As [`Store::survey`], of a folder that is perhaps so damaged that it cannot be opened.
    /// Changes nothing in it.
    ///
    /// # Errors
    /// When somebody has it open to write, when it is no Jungle's, there is no room for what is in
    /// it, the system refuses something, or it is given up.
    ///
    /// ```
    /// use jungle_store::{OpenOptions, Remedy, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-surveyed-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.close()?;
    /// let first = dir.join("log/00000000000000000001.log");
    /// let mut bytes = std::fs::read(&first)?;
    /// bytes[70] ^= 1;
    /// std::fs::write(&first, bytes)?;
    /// assert!(Store::open(&dir).is_err());
    ///
    /// let survey = OpenOptions::new().survey(&dir)?;
    /// assert_eq!((survey.remedy, survey.whole_segments), (Remedy::Restore, 0));
    /// assert_eq!(survey.damages[0].file(), Some("log/00000000000000000001.log"));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn survey(self, folder: impl AsRef<Path>) -> Result<Survey, OpenError> {
        let options = self.read_only().spilling_in(folder.as_ref());
        let disk: Arc<dyn Disk> = Arc::new(FolderDisk::new(folder.as_ref()));
        let _lock = options.lock(&*disk)?;
        let options = options.with_arena_for(&disk);
        let progress = options.progress.clone();
        Surveyor::new(&disk, None, options, &progress).look(None)?.had_room()
    }
}

/// Who looks.
pub(crate) struct Surveyor<'s> {
    disk: &'s Arc<dyn Disk>,
    mark: Option<Mark>,
    /// Up to where the log is written, where somebody goes on writing it.
    written: Option<LogPosition>,
    options: OpenOptions,
    progress: &'s Progress,
    /// Was nothing wrong with the segment so far?
    is_whole: bool,
    /// The newest revision that the checkpoint says it has, also if it cannot be opened.
    said: Revision,
    found: Survey,
}

impl<'s> Surveyor<'s> {
    pub(crate) fn new(
        disk: &'s Arc<dyn Disk>,
        written: Option<LogPosition>,
        options: OpenOptions,
        progress: &'s Progress,
    ) -> Surveyor<'s> {
        let (mark, is_whole, said, found) = Default::default();
        Surveyor { disk, mark, written, options, progress, is_whole, said, found }
    }

    pub(crate) fn look(mut self, pages: Option<Arc<dyn Pages>>) -> Result<Survey, OpenError> {
        let lock = self.disk.open(LOCK, Mode::Read).map_err(doing("open", LOCK))?;
        match Mark::read(&*lock) {
            Ok(mark) => self.mark = mark,
            Err(error) => self.found.note(error.into()),
        }
        let can_be_opened = self.found.damages.is_empty();

        let by_log = Jungle::builder().arena(self.options.arena.clone()).build()?;
        let (mut reads, mut end) = (Reads { log: false, pages: false }, None);
        // Without its first revisions a log is not damaged, if there is a checkpoint.
        let lacks = match self.read(&by_log, None) {
            Ok(read) => {
                (reads.log, end) = (true, read);
                None
            }
            Err(error) if error.place() == Some((None, 1)) => Some(error),
            Err(error) => {
                self.found.note(error);
                None
            }
        };
        self.progress.go_on()?;
        self.log()?;
        self.found.log_revision = by_log.revision();
        reads.log &= self.found.damages.is_empty();

        let before = self.found.count();
        let pages = pages.or_else(|| self.open_pages());
        let by_pages = pages.and_then(|pages| self.check_pages(&pages));
        self.progress.go_on()?;
        if let Some((by_pages, is_all)) = &by_pages {
            self.trees(by_pages)?;
            reads.pages = can_be_opened && *is_all && self.found.count() == before;
            if reads.log && reads.pages {
                self.compare(by_pages, &by_log);
            }
        } else if let Some(lacks) = lacks {
            self.found.note(lacks);
        }
        // The log had all of the checkpoint for good before that was written. What it lost of that
        // at its end may look as if it were torn, where it was not closed.
        if self.said > by_log.revision() {
            reads.log = false;
            if let Some(End { at, .. }) = end {
                let newest = Some(by_log.revision()).filter(|&it| it > Revision::default());
                let file = name(at.segment);
                let early = OpenError::damaged(&file, at.offset, newest, Damage::EndsEarly);
                self.found.note(early.into());
            }
        }
        let by_pages = by_pages.map_or(Revision::default(), |(jungle, _)| jungle.revision());
        if by_log.revision() >= by_pages {
            self.trees(&by_log)?;
        }
        self.found.revision = by_log.revision().max(by_pages);
        self.found.remedy = self.found.remedy(reads);
        Ok(self.found)
    }

    fn compare(&mut self, is: &Jungle, ought: &Jungle) {
        if is.revision() != ought.revision() {
            // Somebody went on.
            return;
        }
        let compared = compare(is, ought, &mut |differs| {
            self.found.note(differs);
            Ok(())
        });
        if let Err(error) = compared {
            self.found.note(error);
        }
    }

    /// Does again what the log says from some place on, as far as that can be done; tells where it
    /// ends, unless it is being written there.
    fn read(&self, jungle: &Jungle, from: Option<LogPosition>) -> Result<Option<End>, VerifyError> {
        let redo: Redo = if from.is_some() { replay_checked } else { Jungle::replay };
        let done = recover_by(&**self.disk, self.mark, jungle, from, &mut |record| {
            if self.progress.go_on().is_err() {
                // Only to end it: whoever called looks, too.
                return Err(ReplayError::NotWritten(NotWritten::Stopped));
            }
            self.progress.tell(record.revision.number(), 0);
            redo(jungle, record)
        });
        let error = match done {
            Ok(end) => return Ok(end),
            Err(error) => error,
        };
        loading(|| jungle.end_replay())?;
        let error = VerifyError::from(error);
        match self.is_being_written(&error) {
            true => Ok(None),
            false => Err(error),
        }
    }

    fn is_being_written(&self, error: &VerifyError) -> bool {
        let place = error.file().zip(error.offset());
        self.written.is_some_and(|written| {
            place.is_some_and(|place| place >= (&*name(written.segment), written.offset))
        })
    }

    fn open_pages(&mut self) -> Option<Arc<dyn Pages>> {
        let options = PagesOptions { read_only: true, ..PagesOptions::default() };
        match EnginePages::open_if_there(Arc::clone(self.disk), options) {
            Ok(pages) => pages.map(|pages| Arc::new(pages) as Arc<dyn Pages>),
            Err(error) => {
                self.found.note(error.into());
                None
            }
        }
    }

    /// Reads all values; gives what can be opened from them and the log, and whether it got to the
    /// log's end.
    fn check_pages(&mut self, pages: &Arc<dyn Pages>) -> Option<(Jungle, bool)> {
        let before = self.found.count();
        for table in Table::ALL {
            let keys = pages.keys(table, 0..=u64::MAX).unwrap_or_else(|error| {
                self.found.note(error.into());
                Vec::new()
            });
            for key in keys {
                if self.progress.go_on().is_err() {
                    return None;
                }
                if let Err(error) = pages.get(table, key) {
                    self.found.note(error.into());
                }
            }
        }
        let mut opened = || -> Result<_, LoadError> {
            let Some(loaded) = load(&**pages)? else { return Ok(None) };
            self.said = loaded.state.revision;
            let jungle = loaded.restore(Jungle::builder(), &self.options.arena, pages)?;
            Ok(Some((jungle, loaded.log)))
        };
        match opened() {
            Ok(opened) => opened.map(|(jungle, log)| {
                self.found.checkpoint = Some(jungle.revision());
                // What is badly formed cannot be edited. It is told with the other trees.
                if check_trees::<VerifyError>(&jungle, self.progress).is_err() {
                    return (jungle, false);
                }
                let read = self.read(&jungle, Some(log));
                let is_all = read.is_ok();
                if let Err(error) = read {
                    self.found.note(error);
                }
                (jungle, is_all)
            }),
            Err(error) => {
                if self.found.count() == before {
                    self.found.note(OpenError::from(error).into());
                }
                None
            }
        }
    }

    /// Looks at each branch of each tree. What is said of the trees of a Jungle that was looked at
    /// before is forgotten, not what was damaged in it.
    fn trees(&mut self, jungle: &Jungle) -> Result<(), GivenUp> {
        self.found.whole_trees.clear();
        self.found.damaged_trees.clear();
        for name in jungle.list_trees() {
            let Ok(main) = jungle.open_tree(&name) else { continue };
            let before = self.found.count();
            for branch in main.list_branches() {
                self.progress.go_on()?;
                if let Ok(head) = main.on_branch(&branch)
                    && let Err(error) = check_branch(&head)
                {
                    self.found.note(error.into());
                }
            }
            match self.found.count() == before {
                true => self.found.whole_trees.push((*name).into()),
                false => self.found.damaged_trees.push((*name).into()),
            }
        }
        Ok(())
    }
}

/// From what everything can be read.
#[derive(Clone, Copy)]
struct Reads {
    /// From the log alone, in which nothing is damaged.
    log: bool,
    /// From the checkpoint, in which nothing is damaged, and the log since.
    pages: bool,
}

impl Survey {
    fn remedy(&self, reads: Reads) -> Remedy {
        match reads {
            _ if self.damages.is_empty() => Remedy::Nothing,
            _ if !self.damaged_trees.is_empty() => Remedy::Restore,
            Reads { log: true, .. } => Remedy::RemovePages,
            Reads { pages: true, .. } => Remedy::TakeOut,
            _ => Remedy::Restore,
        }
    }

    /// Refuses one that found nothing wrong, but had no room for all of it.
    fn had_room(mut self) -> Result<Survey, OpenError> {
        if self.damages.is_empty() || !self.damages.iter().all(is_no_room) {
            return Ok(self);
        }
        Err(match self.damages.swap_remove(0) {
            VerifyError::Open(error) => error,
            VerifyError::Slab(slab) => LoadError::Slab(slab).into(),
            VerifyError::Tree(damage) => damage.into(),
            _ => return Ok(self),
        })
    }

    /// How many damages there are.
    ///
    /// ```
    /// use jungle_store::{Progress, Remedy, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-survey-many-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let survey = store.survey(&Progress::default())?;
    /// assert_eq!((survey.count(), survey.remedy), (0, Remedy::Nothing));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> u64 {
        self.damages.len() as u64 + self.more_damages
    }

    /// Notes a damage, unless one of the same place is noted: the log may be read twice.
    fn note(&mut self, error: VerifyError) {
        let is_place = error.place().is_some();
        if is_place && self.damages.iter().any(|noted| noted.place() == error.place()) {
            return;
        }
        match self.damages.len() < DAMAGES_MAX {
            true => self.damages.push(error),
            false => self.more_damages += 1,
        }
    }

    fn note_whole(&mut self, revisions: RangeInclusive<u64>) {
        let (first, last) = (Revision::new(*revisions.start()), Revision::new(*revisions.end()));
        let is_room = self.whole_revisions.len() <= DAMAGES_MAX;
        match self.whole_revisions.last_mut() {
            Some(before) if before.end().number().checked_add(1) == Some(first.number()) => {
                *before = *before.start()..=last;
            }
            _ if is_room => self.whole_revisions.push(first..=last),
            _ => {}
        }
    }
}

/// Is nothing wrong there, but there was no room for it?
fn is_no_room(error: &VerifyError) -> bool {
    match error {
        VerifyError::Open(error) => matches!(error, OpenError::Arena(_) | OpenError::NoRoom(_)),
        VerifyError::Slab(slab) => slab.cause.is::<io::Error>(),
        VerifyError::Tree(damage) => match &damage.source {
            TreeFault::Slab(slab) => slab.cause.is::<io::Error>(),
            fault => matches!(fault, TreeFault::NoRoom(_)),
        },
        _ => false,
    }
}
