//! Whether a folder is whole.

use jungle_db::{ArchiveError, Jungle, NoSuchRevision, Revision, Snapshot, TreeHandle};
use jungle_tree::{SlabError, diff, loading};

use crate::checkpoint::{LoadError, load};
use crate::error::{Damage, IoError, OpenError};
use crate::form::{TreeDamage, check_trees, replay_checked};
use crate::log::LogPosition;
use crate::log::recover::{Cut, End, Redo, recover_telling, segments};
use crate::log::segment::name;
use crate::pages::{PAGES, PagesError};
use crate::progress::Progress;
use crate::store::Store;

/// What was found to be whole.
///
/// ```
/// use jungle_store::Store;
/// # let dir = std::env::temp_dir().join(format!("jungle-verified-doc-{}", std::process::id()));
/// let store = Store::open(&dir)?;
/// store.create_tree("board")?.update(|tx| tx.append(&[]))?;
/// let verified = store.verify()?;
/// assert_eq!(verified.revision, store.revision());
/// assert_eq!((verified.trees, verified.branches, verified.nodes), (1, 1, 2));
/// assert!(verified.log_is_complete);
/// # drop(store);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The newest revision.
    pub revision: Revision,
    /// The newest revision that is in the checkpoint; 0 without one.
    pub checkpoint: Revision,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// What is behind its end, and was never acknowledged.
    pub cut: Option<Cut>,
    /// Whether the log goes back to the first revision, so that the checkpoint was held against all
    /// it says. Otherwise it was read from the checkpoint on.
    pub log_is_complete: bool,
    /// Values of the checkpoint.
    pub values: u64,
    /// Trees, branches, and the nodes of their newest versions.
    pub trees: u64,
    /// See `trees`.
    pub branches: u64,
    /// See `trees`.
    pub nodes: u64,
}

/// What is not whole in a folder.
///
/// The example of [`offset`](VerifyError::offset) has one of a damaged log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The log, or the checkpoint as it is opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A value of the checkpoint. The log has everything, if it is complete.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// Part of a tree cannot be loaded.
    #[error(transparent)]
    Slab(#[from] SlabError),
    /// A piece of a history.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// A tree is not well formed.
    #[error(transparent)]
    Tree(#[from] TreeDamage),
    /// The checkpoint is not what the log says.
    #[error("the checkpoint is not what the log says: {what}")]
    Differs {
        /// What differs.
        what: Box<str>,
    },
}

impl VerifyError {
    /// Whether nothing was found, but whoever wanted to know does not any more.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        matches!(
            self,
            VerifyError::Open(OpenError::GivenUp) | VerifyError::Pages(PagesError::GivenUp)
        )
    }

    /// The file that is damaged, relative to the folder, where it is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            VerifyError::Open(
                OpenError::Damaged { file, .. }
                | OpenError::Record { file, .. }
                | OpenError::Replay { file, .. }
                | OpenError::UnknownFormat { file, .. },
            ) => Some(file),
            VerifyError::Open(OpenError::Io(error)) => Some(&error.file),
            // What is not in memory is there.
            VerifyError::Open(OpenError::Checkpoint(_))
            | VerifyError::Pages(_)
            | VerifyError::Slab(_)
            | VerifyError::History(_)
            // Nor does the log come to these, which is done again in memory.
            | VerifyError::Tree(_)
            | VerifyError::Differs { .. } => Some(PAGES),
            _ => None,
        }
    }

    /// Where in the file, in bytes, if that is known.
    ///
    /// ```
    /// use std::os::unix::fs::FileExt;
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-verify-at-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// store.create_tree("another")?;
    /// // Somebody changes what the log says of the second.
    /// let log = std::fs::read_dir(dir.join("log"))?.next().unwrap()?.path();
    /// let bytes = std::fs::read(&log)?;
    /// let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    /// let file = std::fs::OpenOptions::new().write(true).open(&log)?;
    /// file.write_all_at(&[bytes[last] ^ 1], last as u64)?;
    ///
    /// let error = store.verify().unwrap_err();
    /// assert!(error.file().unwrap().starts_with("log/"));
    /// assert!(error.offset().unwrap() < last as u64);
    /// assert_eq!(error.after().unwrap().number(), 1);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        match self {
            VerifyError::Open(
                OpenError::Damaged { offset, .. }
                | OpenError::Record { offset, .. }
                | OpenError::Replay { offset, .. },
            ) => Some(*offset),
            _ => None,
        }
    }

    /// The newest revision in front of it, if that is known.
    #[must_use]
    pub fn after(&self) -> Option<Revision> {
        match self {
            VerifyError::Open(OpenError::Damaged { revision, .. }) => *revision,
            VerifyError::Open(
                OpenError::Record { revision, .. }
                | OpenError::Replay { revision, .. }
                | OpenError::Missing { revision },
            ) => revision.number().checked_sub(1).map(Revision::new),
            _ => None,
        }
    }

    /// By what two damages of the log are known to be the same.
    pub(crate) fn place(&self) -> Option<(Option<&str>, u64)> {
        match (self, self.offset()) {
            (VerifyError::Open(OpenError::Missing { revision }), _) => {
                Some((None, revision.number()))
            }
            (_, offset) => offset.map(|offset| (self.file(), offset)),
        }
    }
}

impl From<IoError> for VerifyError {
    fn from(error: IoError) -> VerifyError {
        VerifyError::Open(error.into())
    }
}

/// The content of which versions is held against the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    Newest,
    All,
}

impl Store {
    /// Reads all there is and checks it: each byte of the log, each value of the checkpoint, the
    /// form of each tree; and that what the log says from its beginning on, done again beside this,
    /// is what the checkpoint has. That takes memory for all trees once more, unless this
    /// [spills](crate::OpenOptions::spill). Others may commit meanwhile.
    ///
    /// Checksums tell damage, not forgery: whoever changes a checkpoint can put them right. What is
    /// badly formed then is told, and what the log says otherwise, as far back as that goes; but
    /// open what others may have changed as [`checked`](crate::OpenOptions::checked). Not
    /// told is that a tree and an index, or two trees, say of one record that it is their own: it
    /// reads as whole until one of them gives that back. To know that, all versions would have to
    /// be gone through, as a collection does.
    ///
    /// Of older versions it is held against the log which there are, when and by whom they were
    /// made. That the values they are in are those that were put, their hashes tell; that they are
    /// what the log says, [`verify_deep`](Store::verify_deep).
    ///
    /// # Errors
    /// The first thing that is not whole; [`OpenError::Locked`] where somebody else
    /// [writes to the folder](crate::OpenOptions::beside_a_writer).
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-verify-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// assert_eq!(store.verify()?.nodes, 1);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<Verified, VerifyError> {
        self.verify_telling(&Progress::default())
    }

    /// As [`verify`](Store::verify), and tells how far it is.
    ///
    /// # Errors
    /// As [`verify`](Store::verify), and when it was [given up](VerifyError::is_given_up).
    ///
    /// ```
    /// use jungle_store::{Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-verify-told-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let progress = Progress::new(|done, of| println!("{done} of {of} revisions"));
    /// assert_eq!(store.verify_telling(&progress)?.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_telling(&self, progress: &Progress) -> Result<Verified, VerifyError> {
        self.verify_as(progress, Versions::Newest)
    }

    /// As [`verify_telling`](Store::verify_telling), and holds the content of all older versions
    /// that are kept against what the log says, if that is complete. They are loaded for it, and
    /// stay in memory. Each is compared by what it changed.
    ///
    /// # Errors
    /// As [`verify_telling`](Store::verify_telling).
    ///
    /// ```
    /// use jungle_store::{Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-verify-deep-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// tree.update(|tx| tx.append(&[]))?;
    /// store.checkpoint()?;
    /// assert!(store.verify_deep(&Progress::default())?.log_is_complete);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_deep(&self, progress: &Progress) -> Result<Verified, VerifyError> {
        self.verify_as(progress, Versions::All)
    }

    fn verify_as(&self, progress: &Progress, held: Versions) -> Result<Verified, VerifyError> {
        self.must_stand_still()?;
        let mut verified = Verified { checkpoint: self.checkpointed(), ..Verified::default() };
        let looked = check_trees::<VerifyError>(self, progress)?;
        (verified.trees, verified.branches, verified.nodes) =
            (looked.trees, looked.branches, looked.nodes);
        if let Some(pages) = self.checkpoints.opened() {
            verified.values = pages.check(progress)?;
        }
        progress.go_on()?;
        let _still = self.checkpoints.still();
        let firsts = segments(&**self.disk())?;
        verified.log_is_complete = firsts.first().is_none_or(|&first| first == 1);
        let (again, from) = match verified.log_is_complete {
            true => {
                let again = Jungle::builder().arena(self.arena_beside()).build();
                (again.map_err(OpenError::from)?, None)
            }
            false => self.again_from_checkpoint(progress)?,
        };
        let end = self.read_log(&again, from, progress)?;
        verified.segments = firsts.len() as u64;
        verified.log_bytes = end.as_ref().map_or(self.report().log_bytes, |end| end.at.bytes);
        verified.cut = end.and_then(|end| end.cut);
        verified.revision = again.revision();
        compare(self, &again, &mut |error| match self.revision() > again.revision() {
            // It was made, named or deleted since.
            true => Ok(()),
            false => Err(error),
        })?;
        if verified.log_is_complete && held == Versions::All {
            compare_older(self, &again, progress)?;
        }
        Ok(verified)
    }

    fn again_from_checkpoint(
        &self,
        progress: &Progress,
    ) -> Result<(Jungle, Option<LogPosition>), VerifyError> {
        let missing = OpenError::Missing { revision: Revision::new(1) };
        let pages = self.checkpoints.opened().ok_or(missing)?;
        let what = "state";
        let loaded = load(&**pages).map_err(OpenError::from)?;
        let loaded = loaded.ok_or(LoadError::Lacks { what }).map_err(OpenError::from)?;
        let again = loaded.restore(Jungle::builder(), &self.arena_beside(), pages);
        let again = again.map_err(OpenError::from)?;
        check_trees::<VerifyError>(&again, progress)?;
        Ok((again, Some(loaded.log)))
    }

    fn recover(
        &self,
        jungle: &Jungle,
        from: Option<LogPosition>,
        progress: &Progress,
    ) -> Result<Option<End>, OpenError> {
        let total = self.revision().number();
        let redo: Redo = if from.is_some() { replay_checked } else { Jungle::replay };
        recover_telling(&**self.disk(), None, jungle, from, redo, (progress, total))
    }

    /// Does again what the log says, up to where it is known to be written.
    fn read_log(
        &self,
        jungle: &Jungle,
        from: Option<LogPosition>,
        progress: &Progress,
    ) -> Result<Option<End>, VerifyError> {
        let written = self.log().position();
        let least = match self.is_read_only() {
            true => self.revision(),
            false => Revision::new(written.next - 1),
        };
        let end = match self.recover(jungle, from, progress) {
            // Others write there while it is read.
            Err(OpenError::Damaged { file, offset, .. })
                if !self.is_read_only()
                    && (&*file, offset) >= (&*name(written.segment), written.offset) =>
            {
                None
            }
            other => other?,
        };
        if jungle.revision() < least {
            let (newest, what) = (Some(jungle.revision()), Damage::EndsEarly);
            let at = end.map_or(written, |end| end.at);
            return Err(OpenError::damaged(&name(at.segment), at.offset, newest, what).into());
        }
        Ok(end)
    }
}

/// Holds a Jungle against what its log says, and hands over what differs, until that is an error.
pub(crate) fn compare(
    jungle: &Jungle,
    again: &Jungle,
    differs: &mut dyn FnMut(VerifyError) -> Result<(), VerifyError>,
) -> Result<(), VerifyError> {
    let mut tell = |what: String| differs(VerifyError::Differs { what: what.into() });
    if jungle.list_trees() != again.list_trees() {
        tell("other trees".into())?;
    }
    for name in again.list_trees() {
        let (Ok(is), Ok(ought)) = (jungle.open_tree(&name), again.open_tree(&name)) else {
            tell(format!("there is no tree {name:?}"))?;
            continue;
        };
        if (is.list_branches(), is.list_tags()) != (ought.list_branches(), ought.list_tags()) {
            tell(format!("the tree {name:?} has other branches or tags"))?;
        }
        if is.list_indexes() != ought.list_indexes() {
            tell(format!("the tree {name:?} has other indexes"))?;
        }
        for branch in ought.list_branches() {
            let (Ok(is), Ok(ought)) = (is.on_branch(&branch), ought.on_branch(&branch)) else {
                continue;
            };
            if let Some(revision) = loading(|| first_difference(&is, &ought))?? {
                tell(format!("revision {revision} of tree {name:?}, branch {branch:?}"))?;
            }
        }
    }
    Ok(())
}

/// The newest revision that two branches do not have in common, of those that both may have.
fn first_difference(is: &TreeHandle, ought: &TreeHandle) -> Result<Option<Revision>, ArchiveError> {
    let newest = ought.snapshot();
    match is.at(newest.revision()) {
        Ok(found) if found.root().content_hash() == newest.root().content_hash() => {}
        Err(NoSuchRevision::NotRead(error)) => return Err(error),
        _ => return Ok(Some(newest.revision())),
    }
    let range = ..=newest.revision();
    let (mut is, mut ought) = (is.history(range).rev(), ought.history(range).rev());
    loop {
        // Retention may have dropped what is older.
        let (Some(found), Some(wanted)) = (is.next(), ought.next()) else {
            return Ok(None);
        };
        let (found, wanted) = (found?, wanted?);
        if found != wanted {
            return Ok(Some(wanted.revision));
        }
    }
}

/// Holds the older versions of a Jungle, whose newest ones are what its log says, against that.
fn compare_older(jungle: &Jungle, again: &Jungle, progress: &Progress) -> Result<(), VerifyError> {
    for name in again.list_trees() {
        let (Ok(is), Ok(ought)) = (jungle.open_tree(&name), again.open_tree(&name)) else {
            continue;
        };
        for branch in ought.list_branches() {
            let (Ok(is), Ok(ought)) = (is.on_branch(&branch), ought.on_branch(&branch)) else {
                continue;
            };
            if let Some(revision) = loading(|| first_other(&is, &ought, progress))?? {
                let what = format!("revision {revision} of tree {name:?}, branch {branch:?}");
                return Err(VerifyError::Differs { what: what.into() });
            }
        }
    }
    Ok(())
}

/// The newest revision in which two branches have another content, if the newest ones are equal.
/// Then an older one is, too, if what changed from it on is the same in both.
fn first_other(
    is: &TreeHandle,
    ought: &TreeHandle,
    progress: &Progress,
) -> Result<Option<Revision>, VerifyError> {
    let newest = ought.snapshot().revision();
    let mut later: Option<[Snapshot; 2]> = None;
    for info in ought.history(..=newest).rev() {
        progress.go_on()?;
        let revision = info?.revision;
        let here = match (is.at(revision), ought.at(revision)) {
            (Ok(is), Ok(ought)) => [is, ought],
            (Err(NoSuchRevision::NotRead(error)), _) => return Err(error.into()),
            // Retention has dropped it.
            _ => return Ok(None),
        };
        let [is, ought] = &here;
        let changes_alike = later
            .as_ref()
            .is_some_and(|[is_later, ought_later]| diff(is_later, is) == diff(ought_later, ought));
        // What was moved may be told in another way where memory is not shared in the same way.
        if !changes_alike && is.root().content_hash() != ought.root().content_hash() {
            return Ok(Some(revision));
        }
        later = Some(here);
    }
    Ok(None)
}
