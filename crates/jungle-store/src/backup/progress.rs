//! Telling how far a backup is, and giving it up.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::BackupError;
use crate::progress::Progress;

/// Whom a backup tells how far it is.
#[derive(Clone, Debug, Default)]
pub struct BackupProgress {
    /// Is told how many bytes of files were copied or passed over, of how many, from the segment on
    /// in which the copy ended; dropped when that is done.
    pub copying: Progress,
    /// Is told how many revisions were done again of a copy that is opened: see
    /// [`Store::backup`](crate::Store::backup).
    pub checking: Progress,
}

impl BackupProgress {
    /// Has the backup given up when somebody says so: see [`Progress::until`]. What it has copied
    /// is whole, and the next one goes on from there.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use jungle_store::{BackupProgress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-copy-until-{}", std::process::id()));
    /// let store = Store::open(dir.join("data"))?;
    /// store.create_tree("board")?;
    /// let given_up = Arc::new(AtomicBool::new(true));
    /// let progress = || BackupProgress::default().until(Arc::clone(&given_up));
    /// assert!(store.backup_telling(dir.join("copy"), progress()).unwrap_err().is_given_up());
    /// given_up.store(false, Ordering::SeqCst);
    /// let report = store.backup_telling(dir.join("copy"), progress())?;
    /// assert_eq!(report.revision, store.revision());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, given_up: Arc<AtomicBool>) -> BackupProgress {
        let BackupProgress { copying, checking } = self;
        let copying = copying.until(Arc::clone(&given_up));
        BackupProgress { copying, checking: checking.until(given_up) }
    }
}

/// How much of the files was gone through.
pub(super) struct Done {
    pub(super) tell: Progress,
    bytes: u64,
    pub(super) total: u64,
}

impl Done {
    pub(super) fn new(tell: Progress, total: u64) -> Done {
        Done { tell, bytes: 0, total }
    }

    pub(super) fn go_on(&self) -> Result<(), BackupError> {
        self.tell.go_on().map_err(|given_up| BackupError::Source(given_up.into()))
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        // Somebody may commit meanwhile.
        self.total = self.total.max(self.bytes);
        self.tell.tell_each(self.bytes, self.total);
    }
}
