//! Syncing the log: who may, and why nothing is acknowledged that may be lost.
//!
//! Whoever leads syncs what is written, by the writer's handle, and only that acknowledges: when it
//! has succeeded, all is durable that was written before. Everybody else waits meanwhile. So where
//! much is written it is synced *ahead*, by a handle of its own, beside those who write. That
//! promises nothing; it leaves the leader little to sync.
//!
//! A sync that fails has lost what it should have synced, and the next one succeeds without that.
//! Of two handles, one alone may be told. Therefore:
//! - One at a time syncs, and nobody any more when one has failed, with whichever handle
//!   ([`Syncs`]): a leader acknowledges nothing that was lost when it was synced ahead.
//! - A segment is begun in the same way, by syncing the one before: so what is synced up to
//!   somewhere in a segment is synced from the beginning of the log.
//! - Whoever has failed ends the log (`Phase::Over`) before anything else is written by him, or
//!   acknowledged. What the disk holds then is found out by opening it.

use std::sync::{Mutex, PoisonError};

use super::{Log, LogPosition, Phase, State, segment};
use crate::disk::Mode;
use crate::error::{LogError, doing};

/// How the first one failed who has. Whoever syncs has it locked.
#[derive(Default)]
pub(super) struct Syncs(Mutex<Option<LogError>>);

impl Syncs {
    /// Does what syncs, while nobody else does; it is not done if anybody has failed.
    pub(super) fn alone<T>(
        &self,
        sync: impl FnOnce() -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        let done = sync();
        *failed = done.as_ref().err().cloned();
        done
    }
}

impl State {
    /// The log is synced up to here: so many bytes.
    pub(super) fn note_synced(&mut self, bytes: u64) {
        self.synced_bytes = self.synced_bytes.max(bytes);
    }
}

impl Log {
    /// Makes most of what was written last, beside those who write: whoever leads keeps all others
    /// waiting while he syncs, and has little left to sync then. It promises nothing, only
    /// [`Log::wait`] does: nobody has noted in the log that it was synced.
    pub(crate) fn sync_ahead(&self) -> Result<(), LogError> {
        let LogPosition { segment, bytes, .. } = self.position();
        let is_needless = || {
            let state = self.lock();
            !matches!(state.phase, Phase::Open) || state.synced_bytes >= bytes
        };
        if is_needless() {
            return Ok(());
        }
        let synced = self.syncs.alone(|| match is_needless() {
            // Somebody else did so meanwhile.
            true => Ok(()),
            false => self.sync_beside(segment, bytes),
        });
        if let Err(error) = &synced {
            self.fail(&mut self.lock(), error.clone());
        }
        synced
    }

    fn sync_beside(&self, segment: u64, bytes: u64) -> Result<(), LogError> {
        let file_name = segment::name(segment);
        let Ok(file) = self.disk.open(&file_name, Mode::Write) else {
            return Ok(());
        };
        file.sync_data().map_err(doing("sync", &file_name))?;
        self.lock().note_synced(bytes);
        Ok(())
    }
}
