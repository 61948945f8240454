//! Who writes checkpoints, and removes what they make superfluous.
//!
//! Every server counts what it has followed since the newest checkpoint. When that is enough, it
//! asks to be the one who writes the next; the others see it in the depot later, and count anew. If
//! two write one all the same, nothing is lost: each is whole, and the two newest are kept, whoever
//! wrote them.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::checkpoint::{Header, belongs, check};
use crate::engine::depot::Depot;
use crate::engine::log::{self, Log, LogError};
use crate::error::CheckpointError;
use crate::follow::Follower;
use crate::follow::beside::guarded;
use crate::message::{self, Hash};

/// So many checkpoints are kept; the log goes back to the oldest of them. When the newest is
/// damaged, the one before it will do.
const KEPT: usize = 2;

/// How long to rest when another server writes one, or it failed.
const REST: Duration = Duration::from_secs(5);

/// How often it is looked at whether one is due, besides when it becomes so.
const LOOK: Duration = Duration::from_secs(60);

/// When the next one is due: so much after the newest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Every {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

pub(crate) struct Keeper {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) follower: Arc<Follower>,
    pub(crate) server: String,
    /// Why none was written behind everybody's back, since one was.
    pub(crate) failed: Mutex<Option<Arc<CheckpointError>>>,
    /// One at a time.
    pub(crate) writing: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    /// Writes one now, unless there is a whole one of the newest message.
    pub(crate) fn write(&self) -> Result<u64, CheckpointError> {
        let depot = self.log.depot().ok_or(CheckpointError::NoDepot)?;
        let _turn = lock(&self.writing);
        let taken = self.follower.take(self.log.id())?;
        let (sequence, hash) = (taken.sequence, taken.hash);
        let is_there = || self.is_whole(depot, sequence, hash);
        if !depot.stored()?.contains(&sequence) || is_there().is_err() {
            depot.put(sequence, &mut |out| taken.write(&self.server, out))?;
            drop(taken);
            // The log is trimmed for what can be read again only.
            if let Err(error) = is_there() {
                depot.remove(sequence)?;
                return Err(error);
            }
        }
        self.follower.saw(sequence);
        self.tidy(depot, sequence)?;
        *lock(&self.failed) = None;
        Ok(sequence)
    }

    /// Writes one whenever it is due, until the follower ends.
    pub(crate) fn keep(&self) {
        while !self.follower.is_over() {
            if !self.follower.wait_until_due(LOOK) {
                continue;
            }
            let written = guarded("writing a checkpoint", || self.write_if_first());
            self.note(written.unwrap_or_else(|| self.break_off()));
            if self.follower.place().is_due() {
                self.follower.rest(REST);
            }
        }
    }

    /// Writes one that is due, unless another server has, or does.
    #[cfg(feature = "sim")]
    pub(crate) fn keep_one(&self) {
        self.note(self.write_if_first());
    }

    /// Lets others write what it has panicked of.
    fn break_off(&self) -> Result<(), CheckpointError> {
        if let Some(depot) = self.log.depot() {
            depot.release();
        }
        Err(CheckpointError::Panicked)
    }

    /// Notes what went wrong, if anything did.
    fn note(&self, written: Result<(), CheckpointError>) {
        let Err(error) = written else { return };
        // Whoever leaves gives up what it does: others write the next one.
        if self.follower.place().jungle.is_some() {
            tracing::warn!(%error, "no checkpoint was written: the log grows");
            *lock(&self.failed) = Some(Arc::new(error));
        }
    }

    /// Writes one, unless another server has, or does.
    fn write_if_first(&self) -> Result<(), CheckpointError> {
        let depot = self.log.depot().ok_or(CheckpointError::NoDepot)?;
        self.look(depot)?;
        if !self.follower.place().is_due() {
            return Ok(());
        }
        let claimed = depot.claim(&self.server);
        if matches!(claimed, Err(LogError::Closed)) {
            // It may be had all the same.
            depot.release();
        }
        if !claimed? {
            return Ok(());
        }
        // It may have been written before that was released.
        let written = self.look(depot).and_then(|()| {
            let is_due = self.follower.place().is_due();
            if is_due { self.write().map(drop) } else { Ok(()) }
        });
        depot.release();
        written
    }

    /// Looks which one is the newest. One that is newer than the log is another log's.
    pub(crate) fn look(&self, depot: &dyn Depot) -> Result<(), CheckpointError> {
        let (_, last) = self.log.bounds()?;
        let newest = depot.stored()?.into_iter().find(|&sequence| sequence <= last);
        self.follower.saw(newest.unwrap_or_default());
        Ok(())
    }

    /// Can the one of this message, which has this hash, be read up to its end?
    fn is_whole(
        &self,
        depot: &dyn Depot,
        sequence: u64,
        hash: Hash,
    ) -> Result<(), CheckpointError> {
        let header = check(depot.open(sequence)?.content)?;
        belongs(&header, self.log.id(), sequence)?;
        if header.hash == hash { Ok(()) } else { Err(CheckpointError::Unlinked { sequence }) }
    }

    /// Removes the checkpoints, and the messages, that are not needed any more. Newer ones may be
    /// there that others have written since: they are not counted.
    fn tidy(&self, depot: &dyn Depot, newest: u64) -> Result<(), CheckpointError> {
        let mut kept = Vec::with_capacity(KEPT);
        for sequence in depot.stored()?.into_iter().filter(|&sequence| sequence <= newest) {
            match self.is_ours(depot, sequence) {
                Ok(true) if kept.len() < KEPT => kept.push(sequence),
                Ok(_) => depot.remove(sequence)?,
                // A later version of this program may read it; another server has removed it.
                Err(
                    CheckpointError::Version { .. }
                    | CheckpointError::Log(LogError::Checkpoint { .. }),
                ) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(&oldest) = kept.get(KEPT - 1) {
            depot.trim(oldest)?;
        }
        Ok(depot.sweep()?)
    }

    /// Does it say that it is a checkpoint of this log? Those of another one that had the same name
    /// may have been left behind.
    fn is_ours(&self, depot: &dyn Depot, sequence: u64) -> Result<bool, CheckpointError> {
        let found = Header::read(&mut depot.open(sequence)?.content).and_then(|header| {
            belongs(&header, self.log.id(), sequence)?;
            // A damaged one says nothing.
            let message = log::find(&*self.log, sequence)?.filter(|it| message::is_whole(it));
            Ok(message.is_none_or(|bytes| message::hash_of(&bytes) == header.hash))
        });
        match found {
            Err(
                CheckpointError::NoCheckpoint
                | CheckpointError::Hash
                | CheckpointError::OtherLog { .. },
            ) => Ok(false),
            Err(CheckpointError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => {
                Ok(false)
            }
            found => found,
        }
    }

    pub(crate) fn failed(&self) -> Option<Arc<CheckpointError>> {
        lock(&self.failed).clone()
    }
}
