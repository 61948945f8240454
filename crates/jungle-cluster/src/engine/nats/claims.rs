//! Who writes a checkpoint: whoever has a key of the engine, and writes it anew as long as that
//! takes. A server that was killed does not, and keeps the others back for a minute only.
//!
//! No clock is asked how old a claim is: who wants it looks whether it stays as it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::kv;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageError, LastRawMessageErrorKind};
use bytes::Bytes;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// So long one server may write a checkpoint before another begins.
pub(super) const CLAIM_WITHIN: Duration = Duration::from_mins(10);
/// So often a claim is written anew.
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// Who has one that stays the same for so long has gone.
pub(super) const GONE_AFTER: Duration = Duration::from_mins(1);
/// The key of who writes one.
const WRITER: &str = "checkpoint";

/// The claims of a cluster.
#[derive(Clone)]
pub(super) struct Claims {
    pub(super) store: kv::Store,
    subject: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What this server's own says, once one was asked for.
    own: Option<Bytes>,
    /// The newest claim of another server that was seen, and since when it is that.
    other: Option<(u64, Instant)>,
    /// What writes this server's own anew.
    renewing: Option<AbortHandle>,
}

impl Claims {
    pub(super) fn new(store: kv::Store, bucket: &str) -> Claims {
        Claims { store, subject: format!("$KV.{bucket}.{WRITER}"), state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the claim; gives its revision if it is had. One that another server has is taken
    /// over if it has stayed the same for so long.
    pub(super) async fn claim(
        &self,
        own: &Bytes,
        gone_after: Duration,
    ) -> Result<Option<u64>, async_nats::Error> {
        self.lock().own = Some(own.clone());
        match self.store.create(WRITER, own.clone()).await {
            Ok(revision) => return Ok(Some(revision)),
            Err(error) if error.kind() == kv::CreateErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let newest = self.newest().await?;
        // It may be ours, where what was asked before had its answer lost.
        if newest.payload == *own {
            return Ok(Some(newest.sequence));
        }
        if !self.has_stayed(newest.sequence, gone_after) {
            return Ok(None);
        }
        let taken = self.write(own, newest.sequence).await?;
        if taken.is_some() {
            tracing::info!(claim = ?newest.payload, "who was to write a checkpoint has gone");
        }
        Ok(taken)
    }

    /// Writes the server's own claim anew; gives its new revision, unless it is lost.
    pub(super) async fn renew(
        &self,
        own: &Bytes,
        revision: u64,
    ) -> Result<Option<u64>, async_nats::Error> {
        let written = self.write(own, revision).await?;
        if written.is_some() {
            return Ok(written);
        }
        // It may be ours still, where the answer to what was written before was lost.
        let newest = self.newest().await?;
        Ok((newest.payload == *own).then_some(newest.sequence))
    }

    /// Has it written anew from now on, in place of what did so before.
    pub(super) fn keep(&self, threads: &Runtime, own: Bytes, revision: u64) {
        let renewing = threads.spawn(self.clone().renew_on(own, revision)).abort_handle();
        if let Some(before) = self.lock().renewing.replace(renewing) {
            before.abort();
        }
    }

    /// Has nothing written anew any more.
    pub(super) fn let_go(&self) {
        if let Some(renewing) = self.lock().renewing.take() {
            renewing.abort();
        }
    }

    /// Removes the claim, unless it is another's by now, as where this server was stopped for so
    /// long that it was taken for gone.
    pub(super) async fn remove(&self) -> Result<(), async_nats::Error> {
        let own = self.lock().own.clone();
        let newest = match self.newest().await {
            Ok(newest) => newest,
            // It has faded.
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if Some(newest.payload) == own {
            // If it was written anew meanwhile this fails, and is to be asked again.
            self.store.delete_expect_revision(WRITER, Some(newest.sequence)).await?;
        }
        Ok(())
    }

    /// For as long as one may take: whoever writes one may be there, and have come to a halt.
    async fn renew_on(self, own: Bytes, mut revision: u64) {
        let begun = Instant::now();
        while begun.elapsed() < CLAIM_WITHIN {
            sleep(RENEWED_EVERY).await;
            match self.renew(&own, revision).await {
                Ok(Some(newest)) => revision = newest,
                Ok(None) => return,
                // While the engine has no leader nobody takes it either.
                Err(_) => {}
            }
        }
    }

    /// Is this revision of another's claim the newest since so long, as seen from here?
    fn has_stayed(&self, revision: u64, time: Duration) -> bool {
        let mut state = self.lock();
        if let Some((same, since)) = state.other
            && same == revision
        {
            return since.elapsed() >= time;
        }
        state.other = Some((revision, Instant::now()));
        false
    }

    /// Writes it behind this revision; gives its own, unless another one was written.
    async fn write(&self, own: &Bytes, after: u64) -> Result<Option<u64>, async_nats::Error> {
        match self.store.update(WRITER, own.clone(), after).await {
            Ok(revision) => Ok(Some(revision)),
            Err(error) if error.kind() == kv::UpdateErrorKind::WrongLastRevision => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What is newest under the key, as the leader has it.
    async fn newest(&self) -> Result<StreamMessage, LastRawMessageError> {
        self.store.stream.get_last_raw_message_by_subject(&self.subject).await
    }
}
