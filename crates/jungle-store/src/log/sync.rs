//! Syncing ahead, and how that keeps out of the way of the leader's sync.

use std::sync::{MutexGuard, PoisonError};

use super::{Log, LogPosition, Phase, segment};
use crate::disk::Mode;
use crate::error::{LogError, doing};

impl Log {
    /// Makes most of what was written last, beside those who write: whoever leads keeps all others
    /// waiting while he syncs, and has little left to sync then. It promises nothing, only
    /// [`Log::wait`] does: nobody has noted in the log that it was synced.
    pub(crate) fn sync_ahead(&self) -> Result<(), LogError> {
        // What came before this segment was synced when it was begun.
        let LogPosition { segment, bytes, .. } = self.position();
        let mut failed = self.lock_ahead()?;
        let state = self.lock();
        // Who has waited for somebody else to sync ahead finds it done.
        if !matches!(state.phase, Phase::Open) || state.synced_bytes >= bytes {
            return Ok(());
        }
        drop(state);
        let file_name = segment::name(segment);
        let Ok(file) = self.disk.open(&file_name, Mode::Write) else {
            return Ok(());
        };
        let synced = file.sync_data().map_err(doing("sync", &file_name)).map_err(LogError::from);
        let mut state = self.lock();
        match &synced {
            Ok(()) => state.synced_bytes = state.synced_bytes.max(bytes),
            Err(error) => {
                *failed = Some(error.clone());
                self.fail(&mut state, error.clone());
            }
        }
        synced
    }

    /// Nobody syncs ahead while this is held, and nobody has failed to: a failed sync may be told
    /// to one of two only, and has lost what both would sync.
    pub(super) fn lock_ahead(&self) -> Result<MutexGuard<'_, Option<LogError>>, LogError> {
        let failed = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        Ok(failed)
    }
}
