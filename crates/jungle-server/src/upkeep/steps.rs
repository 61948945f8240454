//! How far something is, and how it ends when it is not done.

use std::error::Error;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jungle::{
    ArchiveError, BackupError, BackupProgress, CheckpointError, CollectError, IoError, OpenError,
    Progress, Remedy, SlabError, SpaceError, Survey, VerifyError,
};
use jungle_words::with_causes;
use serde_json::{Value, json};

use crate::verify::Damaged;

/// How many steps were done, of how many: 0 where that is not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    done: Arc<[AtomicU64; 2]>,
    given_up: Arc<AtomicBool>,
}

impl Steps {
    /// Has it given up at its next step.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
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
    /// Somebody said so, or the server stops.
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

    pub(crate) fn of(error: &(dyn Error + 'static)) -> Undone {
        Undone::failed(with_causes(error))
    }

    pub(crate) fn hinted(error: &(dyn Error + 'static), hint: &'static str) -> Undone {
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
            BackupError::Target(OpenError::NotAJungle { .. })
            | BackupError::Other { .. }
            | BackupError::Trimmed { .. } => {
                Undone::hinted(&error, "give a name that no backup has")
            }
            BackupError::Pages(cause) if !cause.is_damage() => Undone::of(&error),
            BackupError::Source(_) | BackupError::Pages(_) => {
                Undone::hinted(&error, "verify tells whether the folder is whole")
            }
            _ => Undone::of(&error),
        }
    }
}

impl Undone {
    /// What is damaged.
    pub(crate) fn damaged(first: &VerifyError, survey: &Survey) -> Undone {
        if survey.damages.is_empty() {
            return Undone::hinted(first, "it was not found again: somebody changed it; try again");
        }
        let hint = match survey.remedy {
            Remedy::RemovePages => {
                "the log has everything: stop the server and remove the file `pages` of the \
                 folder, which is read from its log then; nothing is lost"
            }
            Remedy::TakeOut => {
                "everything can still be read: stop the server; `jungle repair` makes a new folder \
                 of it, `jungle restore` one with the log from a backup"
            }
            _ => {
                "stop the server; `jungle restore` makes a new folder from a backup; without one, \
                 `jungle repair` saves what can still be read"
            }
        };
        let result = json!(Damaged::from(survey));
        Undone::Failed { error: with_causes(first), hint: Some(hint), result }
    }
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
