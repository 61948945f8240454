//! Whether a folder is whole.

use jungle_db::{ArchiveError, Jungle, NoSuchRevision, Revision, TreeHandle};
use jungle_tree::{ArenaOptions, AttributeIndex, CheckError, EditError, SlabError, loading};

use crate::checkpoint::{LoadError, load};
use crate::error::{Damage, IoError, OpenError};
use crate::log::LogPosition;
use crate::pages::{PAGES, PagesError};
use crate::progress::Progress;
use crate::recover::{Cut, End, recover_telling, segments};
use crate::segment::name;
use crate::store::Store;

/// What was found to be whole.
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
    #[error("the tree {tree:?}, branch {branch:?}: {source}")]
    Tree {
        /// Its name.
        tree: Box<str>,
        /// The name of the branch.
        branch: Box<str>,
        /// What is wrong.
        source: TreeFault,
    },
    /// The checkpoint is not what the log says.
    #[error("the checkpoint is not what the log says: {what}")]
    Differs {
        /// What differs.
        what: Box<str>,
    },
}

/// What is wrong with a branch of a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeFault {
    /// It is not well formed.
    #[error(transparent)]
    Form(#[from] CheckError),
    /// Part of it cannot be loaded.
    #[error(transparent)]
    Slab(#[from] SlabError),
    /// Part of its history cannot be loaded.
    #[error(transparent)]
    History(#[from] ArchiveError),
    /// An index of it finds something else than is there.
    #[error("its index of {key:?} is not what is there; drop it and make it again")]
    Index {
        /// The key of the index.
        key: Box<str>,
    },
    /// An index of it, or the version that this is of, is not well formed.
    #[error("its index of {key:?} is not well formed; drop it and make it again: {source}")]
    IndexForm {
        /// The key of the index.
        key: Box<str>,
        /// What is wrong.
        source: CheckError,
    },
    /// There is no room to hold an index against what is there.
    #[error("an index could not be looked at: {0}")]
    NoRoom(#[from] EditError),
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
            VerifyError::Open(OpenError::Checkpoint(_)) | VerifyError::Pages(_) => Some(PAGES),
            _ => None,
        }
    }

    /// Where in the file, in bytes, if that is known.
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

impl Store {
    /// Reads all there is and checks it: each byte of the log, each value of the checkpoint, the
    /// form of each tree; and that what the log says from its beginning on, done again in memory
    /// beside this, is what the checkpoint has. Others may commit meanwhile.
    ///
    /// # Errors
    /// The first thing that is not whole.
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
    pub fn verify_telling(&self, progress: &Progress) -> Result<Verified, VerifyError> {
        let mut verified = Verified { checkpoint: self.checkpointed(), ..Verified::default() };
        forms(self, &mut verified, progress)?;
        if let Some(pages) = self.checkpoints.opened() {
            verified.values = pages.check(progress)?;
        }
        progress.go_on()?;
        let _still = self.checkpoints.still();
        let firsts = segments(&**self.disk())?;
        verified.log_is_complete = firsts.first().is_none_or(|&first| first == 1);
        let (again, from) = match verified.log_is_complete {
            true => (Jungle::builder().build().map_err(OpenError::from)?, None),
            false => self.again_from_checkpoint()?,
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
        Ok(verified)
    }

    fn again_from_checkpoint(&self) -> Result<(Jungle, Option<LogPosition>), OpenError> {
        let missing = OpenError::Missing { revision: Revision::new(1) };
        let pages = self.checkpoints.opened().ok_or(missing)?;
        let what = "state";
        let loaded = load(&**pages)?.ok_or(LoadError::Lacks { what })?;
        let again = loaded.restore(Jungle::builder(), &ArenaOptions::default(), pages)?;
        Ok((again, Some(loaded.log)))
    }

    fn recover(
        &self,
        jungle: &Jungle,
        from: Option<LogPosition>,
        progress: &Progress,
    ) -> Result<Option<End>, OpenError> {
        let total = self.revision().number();
        recover_telling(&**self.disk(), None, jungle, from, (progress, total))
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

/// Checks the form of each tree.
fn forms(jungle: &Jungle, verified: &mut Verified, progress: &Progress) -> Result<(), VerifyError> {
    verified.revision = jungle.revision();
    for name in jungle.list_trees() {
        let Ok(main) = jungle.open_tree(&name) else { continue };
        verified.trees += 1;
        for branch in main.list_branches() {
            let Ok(head) = main.on_branch(&branch) else { continue };
            progress.go_on()?;
            verified.branches += 1;
            verified.nodes += check_branch(&head)?;
        }
    }
    Ok(())
}

/// Checks the form of a branch's newest version, and reads its history; gives how many nodes it
/// has.
pub(crate) fn check_branch(head: &TreeHandle) -> Result<u64, VerifyError> {
    let checked = loading(|| -> Result<u64, TreeFault> {
        let nodes = head.snapshot().check()?.nodes;
        head.history(..).try_for_each(|entry| entry.map(drop))?;
        head.list_indexes().iter().try_for_each(|key| check_index(head, key))?;
        Ok(nodes)
    });
    checked.map_err(TreeFault::from).flatten().map_err(|source| {
        let (tree, branch) = ((*head.name()).into(), head.branch_name().into());
        VerifyError::Tree { tree, branch, source }
    })
}

/// Holds an index against one that is worked out anew.
fn check_index(head: &TreeHandle, key: &str) -> Result<(), TreeFault> {
    head.check_index(key).map_err(|source| TreeFault::IndexForm { key: key.into(), source })?;
    let newest = head.snapshot();
    let Some(kept) = head.index(key, &newest)? else { return Ok(()) };
    let anew = AttributeIndex::build(&newest, key)?;
    let is_equal = kept.as_snapshot().root().is_equal(anew.as_snapshot().root());
    is_equal.then_some(()).ok_or_else(|| TreeFault::Index { key: key.into() })
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
