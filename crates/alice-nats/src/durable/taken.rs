//! What was taken from a durable queue, and is not done yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{Request, Subject};
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Durable;
use super::publish::{Id, Keep, REST};
use super::pull::Origin;
use crate::engine::Shared;
use crate::error::{EngineError, InsideEngine, SendError};
use crate::parcel::{Parcel, Portable};
use crate::received::Received;

/// A data segment that was taken from a [durable queue](Durable). It is this taker's while it is
/// held; [`done`](Taken::done) removes it; dropping it gives it back at once.
pub struct Taken<T> {
    received: Received<T>,
    origin: Origin,
    pub(super) hold: Hold,
    outputs: AtomicU64,
}

/// Keeps it this taker's.
pub(super) struct Hold {
    pub(super) shared: Arc<Shared>,
    /// Where the engine is told what becomes of it.
    pub(super) reply: Subject,
    renews: JoinHandle<()>,
    pub(super) is_done: bool,
}

/// The engine did not say that it knows: the segment may come again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotDone {
    /// It did not answer in time.
    #[error("the engine did not confirm that it is done: it may be taken again")]
    Unconfirmed(#[source] EngineError),
    /// A thread that carries the engine cannot wait for it.
    #[error(transparent)]
    Inside(#[from] InsideEngine),
}

const DONE: &[u8] = b"+ACK";
const GIVEN_BACK: &[u8] = b"-NAK";
const STILL_HELD: &[u8] = b"+WPI";
/// How long one confirmation may take.
const CONFIRM_WITHIN: Duration = Duration::from_secs(2);

impl<T: Portable> Taken<T> {
    pub(crate) fn new(
        shared: Arc<Shared>,
        message: async_nats::Message,
        origin: Origin,
    ) -> Taken<T> {
        // What the engine hands out for acknowledgement says where.
        let reply = message.reply.unwrap_or_else(|| Subject::from_static("alice.nowhere"));
        let renews = shared.handle.spawn(renew(
            shared.client.clone(),
            reply.clone(),
            shared.options.redeliver_after / 3,
        ));
        let received = Received::new(origin.index, Parcel::received(message.payload));
        let hold = Hold { shared, reply, renews, is_done: false };
        Taken { received, origin, hold, outputs: AtomicU64::new(0) }
    }

    /// How often it was handed out, this time included: more than 1 if a taker did not finish, or
    /// gave it back.
    #[must_use]
    pub fn deliveries(&self) -> u64 {
        self.origin.deliveries
    }

    /// Puts what was made of this segment. If it has to be done again after a failure, the engine
    /// drops what is there already: the n-th output of a segment is one and the same.
    ///
    /// ```no_run
    /// # use alice::Key;
    /// # use alice_nats::{Engine, Options};
    /// const JOBS: Key<u64> = Key::new("jobs");
    /// const ROOTS: Key<u64> = Key::new("roots");
    ///
    /// let engine = Engine::connect("localhost", Options::default())?;
    /// let jobs = engine.peer("farm").durable(&JOBS);
    /// let roots = engine.peer("home").durable(&ROOTS);
    /// let job = jobs.take()?;
    /// job.put(&roots, job.open()?.isqrt())?;
    /// job.done()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Durable::put`].
    pub fn put<U: Portable>(
        &self,
        to: &Durable<U>,
        data: impl Into<Parcel<U>>,
    ) -> Result<u64, SendError<U>> {
        let nth = self.outputs.fetch_add(1, Ordering::SeqCst);
        // Indexes are the stream's, so no other queue of the space has the same.
        let id = format!("from {} {} {nth}", self.hold.shared.space, self.origin.index);
        to.publish(data.into(), Id::new(id), Keep::All)
    }

    /// Removes it from the queue. Waits until the engine knows.
    ///
    /// # Errors
    /// When the engine does not confirm it in the time after which it gives the segment to another
    /// taker: it may be taken again. An engine that was restarted may not know that it handed the
    /// segment out, and never confirms it.
    pub fn done(mut self) -> Result<(), NotDone> {
        let hold = &mut self.hold;
        hold.shared.wait_for(confirm(&hold.shared, &hold.reply))??;
        hold.is_done = true;
        Ok(())
    }
}

/// Tells the engine until it says that it knows. The client's own double acknowledgement takes
/// any answer for that, also that there is no leader.
pub(super) async fn confirm(shared: &Shared, reply: &Subject) -> Result<(), NotDone> {
    let deadline = Instant::now() + shared.options.redeliver_after;
    loop {
        let request = Request::new().payload(Bytes::from_static(DONE));
        let request = request.timeout(Some(CONFIRM_WITHIN));
        match shared.client.send_request(reply.clone(), request).await {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= deadline => {
                return Err(NotDone::Unconfirmed(error.into()));
            }
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Says from time to time that it is still held.
async fn renew(client: async_nats::Client, reply: Subject, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        // If this fails, the engine gives the segment to another taker, as it does for the dead.
        let _ = client.publish(reply.clone(), Bytes::from_static(STILL_HELD)).await;
    }
}

/// Has the engine hand it out again at once.
pub(crate) async fn give_back(client: &async_nats::Client, reply: Option<Subject>) {
    if let Some(reply) = reply {
        // If this fails, its time runs out.
        let _ = client.publish(reply, Bytes::from_static(GIVEN_BACK)).await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renews.abort();
        if !self.is_done {
            let (client, reply) = (self.shared.client.clone(), self.reply.clone());
            self.shared.handle.spawn(async move { give_back(&client, Some(reply)).await });
        }
    }
}

impl<T> std::ops::Deref for Taken<T> {
    type Target = Received<T>;

    fn deref(&self) -> &Received<T> {
        &self.received
    }
}

impl<T> std::fmt::Debug for Taken<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Taken").field(&self.origin).finish()
    }
}
