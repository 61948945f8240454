//! How far something is, and how it ends when it is not done.

use std::error::Error;
use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jungle::{
    ArchiveError, BackupError, BackupProgress, CheckpointError, CollectError, IoError, OpenError,
    Progress, Remedy, Revision, SlabError, SpaceError, Survey, VerifyError,
};
use jungle_words::with_causes;
use serde_json::{Value, json};

/// How many steps were done, of how many: 0 where that is not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    done: Arc<[AtomicU64; 2]>,
    given_up: Arc<AtomicBool>,
}

impl Steps {
    /// Those of something that is given up when somebody says so.
    pub(crate) fn until(given_up: Arc<AtomicBool>) -> Steps {
        Steps { done: Arc::default(), given_up }
    }

    pub(crate) fn set(&self, done: u64, of: u64) {
        // They are told, not decided by.
        self.done[0].store(done, Ordering::Relaxed);
        self.done[1].store(of, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> (u64, u64) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (get(&self.done[0]), get(&self.done[1]))
    }

    /// The same, for the store.
    pub(crate) fn progress(&self) -> Progress {
        let steps = self.clone();
        let progress = Progress::new(move |done, of| steps.set(done, of));
        progress.until(Arc::clone(&self.given_up))
    }

    /// The same, for a backup, of which the steps are the revisions that are read back.
    pub(crate) fn backup_progress(&self) -> BackupProgress {
        let progress = BackupProgress { checking: self.progress(), ..BackupProgress::default() };
        progress.until(Arc::clone(&self.given_up))
    }

    /// As [`Steps::set`], and says whether to go on.
    pub(crate) fn tell(&self, done: u64, of: u64) -> ControlFlow<()> {
        self.set(done, of);
        self.flow()
    }

    pub(crate) fn flow(&self) -> ControlFlow<()> {
        match self.given_up.load(Ordering::SeqCst) {
            true => Break(()),
            false => Continue(()),
        }
    }

    /// Between two steps.
    pub(crate) fn go_on(&self) -> Result<(), Undone> {
        self.flow().is_continue().then_some(()).ok_or(Undone::GivenUp)
    }
}

/// Why something is not done.
#[derive(Debug)]
pub(crate) enum Undone {
    /// The server stops.
    GivenUp,
    Failed {
        error: String,
        hint: Option<&'static str>,
        /// What is known all the same.
        result: Value,
    },
}

impl Undone {
    pub(crate) fn failed(error: impl std::fmt::Display) -> Undone {
        Undone::Failed { error: error.to_string(), hint: None, result: Value::Null }
    }

    fn of(error: &(dyn Error + 'static)) -> Undone {
        Undone::failed(with_causes(error))
    }

    fn hinted(error: &(dyn Error + 'static), hint: &'static str) -> Undone {
        Undone::Failed { error: with_causes(error), hint: Some(hint), result: Value::Null }
    }
}

impl From<BackupError> for Undone {
    fn from(error: BackupError) -> Undone {
        match &error {
            _ if error.is_given_up() => Undone::GivenUp,
            BackupError::Target(OpenError::Locked { .. }) => {
                Undone::hinted(&error, "somebody has that backup open")
            }
            BackupError::Target(OpenError::NotAJungle { .. }) | BackupError::Other { .. } => {
                Undone::hinted(&error, "give a name that no backup has")
            }
            BackupError::Source(_) | BackupError::Pages(_) => {
                Undone::hinted(&error, "verify tells whether the folder is whole")
            }
            _ => Undone::of(&error),
        }
    }
}

impl Undone {
    /// What is damaged; the names of the fields are those of `jungle verify --json`.
    pub(crate) fn damaged(first: &VerifyError, survey: &Survey) -> Undone {
        if survey.damages.is_empty() {
            return Undone::hinted(first, "it was not found again: somebody changed it; try again");
        }
        let ends = |range: &RangeInclusive<Revision>| {
            [range.start(), range.end()].map(|revision| revision.number())
        };
        let (remedy, hint) = match survey.remedy {
            Remedy::RemovePages => (
                "remove-pages",
                "the log has everything: stop the server and remove the file `pages` of the \
                 folder, which is read from its log then; nothing is lost",
            ),
            Remedy::TakeOut => (
                "take-out",
                "everything can still be read: `jungle restore` makes a new folder with the log \
                 from a backup",
            ),
            _ => ("restore", "stop the server; `jungle restore` makes a new folder from a backup"),
        };
        let result = json!({
            "whole": false,
            "revision": survey.revision.number(),
            "checkpoint": survey.checkpoint.map(Revision::number),
            "log_revision": survey.log_revision.number(),
            "segments": survey.segments,
            "whole_segments": survey.whole_segments,
            "whole_revisions": survey.whole_revisions.iter().map(ends).collect::<Vec<_>>(),
            "whole_trees": survey.whole_trees,
            "damaged_trees": survey.damaged_trees,
            "remedy": remedy,
            "damages": survey.damages.iter().map(damage).collect::<Vec<_>>(),
            "more_damages": survey.more_damages,
        });
        Undone::Failed { error: with_causes(first), hint: Some(hint), result }
    }
}

fn damage(error: &VerifyError) -> Value {
    json!({
        "message": error.to_string(),
        "file": error.file(),
        "offset": error.offset(),
        "after": error.after().map(Revision::number),
    })
}

impl From<OpenError> for Undone {
    fn from(error: OpenError) -> Undone {
        if matches!(error, OpenError::GivenUp) { Undone::GivenUp } else { Undone::of(&error) }
    }
}

impl From<CheckpointError> for Undone {
    fn from(error: CheckpointError) -> Undone {
        if error.is_given_up() { Undone::GivenUp } else { Undone::of(&error) }
    }
}

impl From<CollectError> for Undone {
    fn from(error: CollectError) -> Undone {
        if error == CollectError::GivenUp { Undone::GivenUp } else { Undone::of(&error) }
    }
}

impl From<SpaceError> for Undone {
    fn from(error: SpaceError) -> Undone {
        if error == SpaceError::GivenUp { Undone::GivenUp } else { Undone::of(&error) }
    }
}

/// Errors that say all there is to say.
macro_rules! failed {
    ($($error:ty,)*) => {$(
        impl From<$error> for Undone {
            fn from(error: $error) -> Undone {
                Undone::of(&error)
            }
        }
    )*};
}

failed! { ArchiveError, IoError, SlabError, }
