//! Taking a node out of all there ever was of a tree: the whole history is made again without it,
//! beside the folder's files, read back, and put in their place.

mod beside;
mod swap;

use std::ops::ControlFlow::{Break, Continue};
use std::path::Path as FilePath;
use std::sync::Arc;

use jungle_db::{
    CopyError, Durability, EraseRootError, Erased, Eraser, Erasure, Jungle, NoSuchRevision,
    NoSuchTree, NotWritten, ReplayError, Revision, TreeId,
};
use jungle_tree::{Arena, Path, SlabError, loading};

use crate::audit;
use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::disk::{Disk, FolderDisk, Mode};
use crate::error::{IoError, LogError, OpenError, doing};
use crate::log::Log;
use crate::log::mark::{LOCK, Mark};
use crate::log::recover::{recover_by, segments};
use crate::log::writer::Writer;
use crate::open::OpenOptions;
use crate::pages::Pages;
use crate::progress::{GivenUp, Progress};
use crate::store::Store;
use crate::verify::VerifyError;

pub(crate) use beside::{Beside, SUFFIX};
pub(crate) use swap::{finish, is_unfinished, remove_unfinished, swap};

/// What is to be erased.
#[derive(Clone, Debug)]
pub struct EraseQuery {
    tree: Box<str>,
    path: Path,
    attribute: Option<Box<str>>,
}

impl EraseQuery {
    /// The node at this path of a tree, and all below it, in every revision of every branch.
    #[must_use]
    pub fn new(tree: &str, path: Path) -> EraseQuery {
        EraseQuery { tree: tree.into(), path, attribute: None }
    }

    /// And this attribute of its parent.
    ///
    /// ```
    /// use jungle_store::{EraseQuery, OpenOptions, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-erase-key-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let people = store.create_tree("people")?;
    /// people.update(|tx| {
    ///     tx.insert_child(&[], &"ana".into())?;
    ///     tx.put_attribute(&[], "newest", "ana")
    /// })?;
    /// drop((store, people));
    ///
    /// let query = EraseQuery::new("people", "/ana".parse()?).and_attribute("newest");
    /// OpenOptions::new().erase(&dir, &query, |_, _| ())?;
    /// let people = Store::open(&dir)?.open_tree("people")?;
    /// assert!(!people.read().root().has_attributes());
    /// # drop(people);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn and_attribute(mut self, key: &str) -> Self {
        self.attribute = Some(key.into());
        self
    }

    fn erasure(&self, tree: TreeId) -> Result<Erasure, EraseRootError> {
        let erasure = Erasure::new(tree, self.path.clone())?;
        Ok(match &self.attribute {
            Some(key) => erasure.and_attribute(key),
            None => erasure,
        })
    }
}

/// What an erasure did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EraseReport {
    /// The newest revision, which is the one it was.
    pub revision: Revision,
    /// What was erased. When it was in no commit, and the log was complete, the folder was left as
    /// it is.
    pub erased: Erased,
    /// Did the log go back to the first revision? Where it did not, only what is kept was looked
    /// at, so no moves are known; and the files were made again even if none of that had it, since
    /// what they had of revisions that are not kept any more may have.
    pub log_was_complete: bool,
    /// Bytes of the files before, and after.
    pub bytes_before: u64,
    /// See `bytes_before`.
    pub bytes_after: u64,
}

/// Why nothing was erased: the folder is as it was, unless it says otherwise.
///
/// ```
/// use jungle_store::{EraseError, EraseQuery, OpenOptions, Store};
/// # let dir = std::env::temp_dir().join(format!("jungle-not-erased-{}", std::process::id()));
/// Store::open(&dir)?.create_tree("people")?;
/// let erase = |tree: &str, path: &str| {
///     let query = EraseQuery::new(tree, path.parse().unwrap());
///     OpenOptions::new().erase(&dir, &query, |_, _| ())
/// };
/// assert!(matches!(erase("peple", "/ana"), Err(EraseError::NoSuchTree(_))));
/// let error = erase("people", "/").unwrap_err();
/// assert_eq!(error.to_string(), "the root of a tree cannot be erased; erase what is in it");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// The folder cannot be opened, or what was made could not be put in its place; then opening
    /// it goes on with that.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no tree of this name.
    #[error(transparent)]
    NoSuchTree(#[from] NoSuchTree),
    /// It is the root.
    #[error("{0}; erase what is in it")]
    Root(#[from] EraseRootError),
    /// The versions that are kept cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// What was made cannot be written.
    #[error(transparent)]
    NotWritten(#[from] LogError),
    /// Nor a checkpoint of it.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// What was made is not whole.
    #[error("what was made is not whole: {0}")]
    Verify(#[from] VerifyError),
    /// What was made still has it, or is of another length: a bug of this program.
    #[error("what was made is not what it should be at revision {revision} of branch {branch:?}")]
    Wrong {
        /// The name of the branch.
        branch: Box<str>,
        /// The revision.
        revision: Revision,
    },
}

impl EraseError {
    /// Whether nothing is wrong, but whoever wanted it does not any more:
    /// [`erase`](OpenOptions::erase) has an example.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        match self {
            EraseError::Open(error) => matches!(error, OpenError::GivenUp),
            EraseError::Copy(error) => matches!(error, CopyError::GivenUp),
            EraseError::Checkpoint(error) => error.is_given_up(),
            EraseError::Verify(error) => error.is_given_up(),
            _ => false,
        }
    }
}

impl From<GivenUp> for EraseError {
    fn from(given_up: GivenUp) -> EraseError {
        EraseError::Open(given_up.into())
    }
}

impl From<IoError> for EraseError {
    fn from(error: IoError) -> EraseError {
        EraseError::Open(error.into())
    }
}

impl From<SlabError> for EraseError {
    fn from(error: SlabError) -> EraseError {
        EraseError::Verify(error.into())
    }
}

impl OpenOptions {
    /// Takes a node out of all revisions of a tree, for good: in all of the folder's files nothing
    /// of it is left, but for what was also elsewhere: at another path (see [`Erased::moves`]), in
    /// messages, and in names. All revisions stay with their numbers, times, authors and messages,
    /// all branches and tags, all other content. Nobody may have the folder open. It takes twice
    /// the room on the disk meanwhile, and memory for all there is, unless it
    /// [spills](OpenOptions::spill).
    ///
    /// What was made is read back before it takes the place of the old files, which are removed
    /// then. When that is interrupted, opening the folder goes on with it. Backups still have it.
    /// `progress` is told now and then how many revisions were made again, of how many. Whoever has
    /// the [opening](OpenOptions::progress) given up has this given up, too, as long as what was
    /// made does not count: then it is removed, and the folder is as it was.
    ///
    /// # Errors
    /// When there is no such tree, the folder cannot be opened, not all that is needed is there,
    /// the system refuses something, or it was [given up](EraseError::is_given_up).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use jungle_store::{EraseQuery, OpenOptions, Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-erase-doc-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let people = store.create_tree("people")?;
    /// people.update(|tx| tx.insert_child(&[], &"ana".into()))?;
    /// let left = people.update(|tx| tx.insert_child(&[], &"ben".into()))?.revision;
    /// drop((store, people));
    ///
    /// let query = EraseQuery::new("people", "/ana".parse()?);
    /// let given_up = Arc::new(AtomicBool::new(true));
    /// let options = OpenOptions::new().progress(Progress::default().until(Arc::clone(&given_up)));
    /// let error = options.clone().erase(&dir, &query, |_, _| ()).unwrap_err();
    /// assert!(error.is_given_up());
    ///
    /// given_up.store(false, Ordering::SeqCst);
    /// let report = options.erase(&dir, &query, |_, _| ())?;
    /// assert_eq!((report.revision, report.erased.commits), (left, 1));
    ///
    /// let people = Store::open(&dir)?.open_tree("people")?;
    /// assert_eq!(people.at(left)?.root().child_count(), 1);
    /// # drop(people);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn erase(
        self,
        folder: impl AsRef<FilePath>,
        query: &EraseQuery,
        progress: impl FnMut(u64, u64),
    ) -> Result<EraseReport, EraseError> {
        let disk = Arc::new(FolderDisk::new(folder.as_ref()));
        self.spilling_in(folder.as_ref()).erase_on(disk, query, progress)
    }

    /// As [`erase`](OpenOptions::erase), on a disk.
    ///
    /// # Errors
    /// As [`erase`](OpenOptions::erase).
    pub fn erase_on(
        self,
        disk: Arc<dyn Disk>,
        query: &EraseQuery,
        progress: impl FnMut(u64, u64),
    ) -> Result<EraseReport, EraseError> {
        if !disk.list("").is_ok_and(|names| names.iter().any(|name| name == LOCK)) {
            return Err(OpenError::Nothing { folder: disk.place().into() }.into());
        }
        let lock = self.lock(&*disk)?;
        finish(&*disk, &*lock)?;
        let options = self.with_arena_for(&disk);
        let mut erasing = options.begin(&disk, Mark::read(&*lock)?, query)?;
        let bytes_before = crate::usage::disk_usage(&*disk)?.total();
        let made = erasing.make(&options, progress);
        let made = made.and_then(|erased| Ok((erasing.check(&options, &erased)?, erased)));
        let revision = erasing.newest;
        let erased = match made {
            Ok((Checked::Whole, erased)) => {
                swap(&*disk, &*lock)?;
                erased
            }
            Ok((Checked::Nothing, erased)) => {
                remove_unfinished(&*disk)?;
                erased
            }
            Err(error) => {
                // Whoever opens the folder does it, too.
                let _ = remove_unfinished(&*disk);
                return Err(error);
            }
        };
        let bytes_after = crate::usage::disk_usage(&*disk)?.total();
        let log_was_complete = !erasing.is_cut;
        Ok(EraseReport { revision, erased, log_was_complete, bytes_before, bytes_after })
    }

    /// Finds out what there is.
    fn begin(
        &self,
        disk: &Arc<dyn Disk>,
        mark: Option<Mark>,
        query: &EraseQuery,
    ) -> Result<Erasing, EraseError> {
        // Nothing is done in the background here.
        let (read, _) = self.clone().checkpoint_every(u64::MAX).read_best(disk, mark)?;
        let jungle = &read.start.jungle;
        let tree = jungle.open_tree(&query.tree)?.id();
        let (erasure, newest) = (query.erasure(tree)?, jungle.revision());
        // Where the log was cut off, what is kept is in the checkpoint only.
        let is_cut = segments(&**disk)?.first().is_some_and(|&first| first > 1);
        let pages = read.start.checkpoints.opened().filter(|_| is_cut);
        let kept = pages.map(|pages| (jungle.clone(), Arc::clone(pages)));
        let (disk, tree) = (Arc::clone(disk), query.tree.clone());
        Ok(Erasing { disk, mark, tree, erasure, newest, is_cut, kept })
    }
}

/// What was made.
enum Checked {
    /// It is whole, and has all but what was erased.
    Whole,
    /// There never was anything to be erased.
    Nothing,
}

/// An erasure under way.
struct Erasing {
    disk: Arc<dyn Disk>,
    mark: Option<Mark>,
    tree: Box<str>,
    erasure: Erasure,
    /// The newest revision.
    newest: Revision,
    /// Does the log not go back to the first revision?
    is_cut: bool,
    /// What is kept then, and where, until it is copied.
    kept: Option<(Jungle, Arc<dyn Pages>)>,
}

impl Erasing {
    fn beside(&self) -> Arc<dyn Disk> {
        Arc::new(Beside(Arc::clone(&self.disk)))
    }

    /// Makes all of it again.
    fn make(
        &mut self,
        options: &OpenOptions,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Erased, EraseError> {
        let beside = self.beside();
        let lock = beside.open(LOCK, Mode::CreateNew).map_err(doing("create", LOCK))?;
        let before = if self.is_cut { self.newest.number() } else { 0 };
        let writer = Writer::first(Arc::clone(&beside), before + 1, options.segment_bytes)?;
        let log = Log::new(Arc::clone(&beside), lock, Some(writer), before);
        let erased = match self.kept.take() {
            None => self.make_log(options, &log, progress)?,
            Some((kept, pages)) => {
                let arena = Arena::with_options(&options.arena).map_err(OpenError::from)?;
                let builder = options.jungle.clone();
                let tell = |done, total| {
                    progress(done, total);
                    if options.progress.go_on().is_ok() { Continue(()) } else { Break(()) }
                };
                let copied = loading(|| kept.copy_without(&self.erasure, builder, arena, tell))?;
                let (copy, erased) = copied?;
                let (checkpoints, progress) =
                    (Checkpoints::none(beside), options.progress.untold());
                checkpoints.write(&copy, &log, &progress)?;
                let (state, old) = (copy.checkpoint_as_it_is(), (&*pages, &*self.disk));
                let to = &**checkpoints.opened().expect("it was just written");
                let carried = audit::carry(old, to, state.state(), &progress);
                carried.map_err(CheckpointError::from)?;
                erased
            }
        };
        log.close()?;
        Ok(erased)
    }

    /// Makes the log again.
    fn make_log(
        &self,
        options: &OpenOptions,
        log: &Log,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Erased, EraseError> {
        /// So many revisions are made again before that is told.
        const TOLD_EVERY: u64 = 1024;
        let jungle = Jungle::builder().arena(options.arena.clone()).build();
        let jungle = jungle.map_err(OpenError::from)?;
        let mut eraser = Eraser::new(self.erasure.clone());
        let mut failed = None;
        let mut fail = |error: EraseError| {
            failed = Some(error);
            // Only to end it.
            ReplayError::NotWritten(NotWritten::Stopped)
        };
        let made = recover_by(&*self.disk, self.mark, &jungle, None, &mut |record| {
            options.progress.go_on().map_err(|given_up| fail(given_up.into()))?;
            let without = eraser.replay(&jungle, record)?;
            let number = record.revision.number();
            if number.is_multiple_of(TOLD_EVERY) {
                progress(number, self.newest.number());
            }
            let written = log.append(&without).and_then(|()| log.wait(number, Durability::Memory));
            written.map_err(|error| fail(error.into()))
        });
        match (failed, made) {
            (Some(error), _) => return Err(error),
            (None, made) => made?,
        };
        Ok(eraser.erased().clone())
    }

    /// Reads what was made, and makes a checkpoint of it.
    fn check(&self, options: &OpenOptions, erased: &Erased) -> Result<Checked, EraseError> {
        // Where the log was cut off, commits that are not kept any more can be in what is left of
        // it, and in the pages' free room.
        if erased.commits == 0 && !self.is_cut {
            return Ok(Checked::Nothing);
        }
        let progress = options.progress.untold();
        let options = options.clone().progress(progress.clone()).checkpoint_every(u64::MAX);
        let store = options.open_on(self.beside())?;
        store.checkpoint_telling(&progress)?;
        store.verify_telling(&progress)?;
        loading(|| self.is_gone(&store, &progress))??;
        store.close()?;
        // Behind this it is not given up any more.
        progress.go_on()?;
        Ok(Checked::Whole)
    }

    /// Is it in no revision any more?
    fn is_gone(&self, store: &Store, progress: &Progress) -> Result<(), EraseError> {
        let main = store.open_tree(&self.tree)?;
        let wrong = |branch: &str, revision| {
            let branch = branch.into();
            EraseError::Wrong { branch, revision }
        };
        if store.revision() != self.newest {
            return Err(wrong(main.branch_name(), store.revision()));
        }
        for name in main.list_branches() {
            let Ok(branch) = main.on_branch(&name) else { continue };
            for info in branch.history(..) {
                progress.go_on()?;
                let revision = info.map_err(VerifyError::from)?.revision;
                match branch.at(revision) {
                    Ok(version) if !self.erasure.is_in(&version) => {}
                    Err(NoSuchRevision::NotRead(error)) => {
                        return Err(VerifyError::from(error).into());
                    }
                    _ => return Err(wrong(&name, revision)),
                }
            }
        }
        Ok(())
    }
}
