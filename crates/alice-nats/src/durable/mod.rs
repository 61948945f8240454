//! Durable keys: queues that the engine keeps.

mod peek;
mod publish;
mod pull;
mod status;
mod streams;
mod taken;
mod together;

use std::sync::Arc;

use alice::{Cancel, Key, Wait};
use tokio::sync::{Notify, OnceCell};

use crate::engine::Shared;
use crate::error::{NotReceived, SendError};
use crate::name::{NameError, token};
use crate::parcel::{Compress, Parcel, Portable};
use crate::received::Received;
use publish::{Id, Keep};
use pull::Puller;

pub(crate) use publish::REST;
pub use status::DurableStatus;
pub(crate) use status::all;
pub(crate) use streams::{StreamError, Streams, passes};
pub use taken::{NotDone, Taken};
pub use together::TOGETHER_MAX;

/// The durable queue of a label and a key: [`Peer::durable`](crate::Peer::durable).
///
/// **What it promises.**
/// - What was put when the call returned survives the death of whoever put it, of whoever takes it,
///   and of fewer than half of the engine's servers that keep it
///   ([`Options::replicas`](crate::Options::replicas)). It survives a power cut of all of them only
///   if they run with `sync_interval: always`; the client cannot see whether they do.
/// - A put is tried again under the same id until the engine has acknowledged it, and the engine
///   drops what comes twice, for as long as it [remembers](crate::Options::remember) ids. A put
///   that ends with [`Unanswered`](crate::NotSent::Unanswered) may be there or not.
/// - What is taken stays in the engine until it is [done](Taken::done): **at least once**. If its
///   taker dies, it comes again, to anybody who takes, with the same [index](Received::index). So
///   may what was done just before servers of the engine died, and, if most of those died that keep
///   it, what others have taken and hold: where there are several, each of them knows who has taken
///   what, and none writes it to its disk, so a take and its end take half the time.
/// - What a taker puts by [`Taken::put`] before it is done gets ids that follow from what was
///   taken. If it is taken again within the time that ids are remembered, and the taker puts the
///   same in the same order, nothing is there twice: outputs are **effectively once**.
/// - Segments are handed out in the order in which they were put. Several takers may be done in
///   another order, and what was given back comes later, unless the queue is
///   [in order](Durable::in_order).
///
/// A label and a key together cost the engine something, so let there be hundreds, not thousands;
/// and the first take by this costs more than the next ones, so keep it. Clones are the same one.
pub struct Durable<T> {
    shared: Arc<Shared>,
    key: Arc<KeyOf>,
    compress: Compress,
    data: std::marker::PhantomData<fn() -> T>,
}

pub(crate) struct KeyOf {
    /// The tokens of its label and its name.
    names: Result<Names, NameError>,
    in_hand_max: i64,
    puller: OnceCell<Puller>,
}

#[derive(Clone)]
pub(crate) struct Names {
    /// What the engine keeps it under.
    pub(crate) subject: String,
    /// Where the engine tells that there is something new.
    pub(crate) news: String,
    /// Who takes.
    pub(crate) consumer: String,
}

/// How many segments of one key may be taken and not be done.
const IN_HAND_MAX: i64 = 1000;

impl<T: Portable> Durable<T> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        label: &str,
        key: &Key<T>,
        compress: Compress,
    ) -> Durable<T> {
        let names = || {
            let (label, key) = (token(label)?, token(key.name())?);
            Ok(Names {
                subject: format!("alice.{}.keep.{label}.{key}", shared.space),
                news: format!("alice.{}.news.{label}.{key}", shared.space),
                consumer: format!("{label}=={key}"),
            })
        };
        let key = KeyOf { names: names(), in_hand_max: IN_HAND_MAX, puller: OnceCell::new() };
        let (shared, key) = (Arc::clone(shared), Arc::new(key));
        Durable { shared, key, compress, data: std::marker::PhantomData }
    }

    /// The same queue, but one segment is taken only when the one before is done: strictly in
    /// order, at the cost of one taker at a time. All takers of a queue must say the same.
    #[must_use]
    pub fn in_order(self) -> Durable<T> {
        let names = self.key.names.clone();
        let key = Arc::new(KeyOf { names, in_hand_max: 1, puller: OnceCell::new() });
        Durable { key, ..self }
    }

    /// Appends a data segment, and gives its index: indexes grow, but not by one. Waits until the
    /// engine has stored it.
    ///
    /// # Errors
    /// Gives it back when it was not put, or is not known to have been.
    pub fn put(&self, data: impl Into<Parcel<T>>) -> Result<u64, SendError<T>> {
        self.publish(data.into(), Id::new(self.shared.next_id()), Keep::All)
    }

    /// As [`put`](Durable::put), under an id of the caller's, which no other segment of this queue
    /// has: another put with it, by whomever, changes nothing while the engine
    /// [remembers](crate::Options::remember) it, and gives the same index.
    ///
    /// # Errors
    /// As [`put`](Durable::put).
    pub fn put_once(&self, id: &str, data: impl Into<Parcel<T>>) -> Result<u64, SendError<T>> {
        let parcel = data.into();
        match self.names() {
            Ok(names) => self.publish(parcel, Id::of(names, id), Keep::All),
            Err(error) => Err(SendError { parcel, why: error.into() }),
        }
    }

    /// Makes this the only data segment of the queue, and gives its index. What is taken and not
    /// done is not there any more either.
    ///
    /// # Errors
    /// As [`put`](Durable::put).
    pub fn update(&self, data: impl Into<Parcel<T>>) -> Result<u64, SendError<T>> {
        self.publish(data.into(), Id::new(self.shared.next_id()), Keep::Newest)
    }

    /// Appends what was received elsewhere, in the form in which it came.
    ///
    /// # Errors
    /// As [`put`](Durable::put).
    pub fn flip(&self, received: &Received<T>) -> Result<u64, SendError<T>> {
        self.put(received.parcel())
    }

    /// Waits for the head, and takes it until it is [done](Taken::done).
    ///
    /// # Errors
    /// When the engine fails.
    pub fn take(&self) -> Result<Taken<T>, NotReceived> {
        self.take_within(Wait::for_ever())
    }

    /// As [`take`](Durable::take), but only for so long, or until it is cancelled. Who is cancelled
    /// when he comes takes nothing, whatever is there.
    ///
    /// # Errors
    /// As [`take`](Durable::take), also when the wait ends and the engine could not say that there
    /// is nothing; and when the wait ends.
    pub fn take_within(&self, wait: impl Into<Wait>) -> Result<Taken<T>, NotReceived> {
        let wait = wait.into();
        self.shared.wait_for(async {
            let pulling = async { self.puller().await?.pull(&wait).await };
            let (message, origin) = ended(&wait, pulling).await?;
            Ok(Taken::new(Arc::clone(&self.shared), message, origin))
        })?
    }

    /// Waits for the head, and leaves it there. It may be one that was taken and is not done.
    ///
    /// # Errors
    /// As [`take`](Durable::take).
    pub fn peek(&self) -> Result<Received<T>, NotReceived> {
        self.peek_newer_within(0, Wait::for_ever())
    }

    /// As [`peek`](Durable::peek), but only for so long, or until it is cancelled.
    ///
    /// # Errors
    /// As [`take_within`](Durable::take_within).
    pub fn peek_within(&self, wait: impl Into<Wait>) -> Result<Received<T>, NotReceived> {
        self.peek_newer_within(0, wait)
    }

    /// Waits for the oldest data segment whose [index](Received::index) is greater than `seen`, and
    /// leaves it there.
    ///
    /// # Errors
    /// As [`take`](Durable::take).
    pub fn peek_newer(&self, seen: u64) -> Result<Received<T>, NotReceived> {
        self.peek_newer_within(seen, Wait::for_ever())
    }

    /// As [`peek_newer`](Durable::peek_newer), but only for so long, or until it is cancelled.
    ///
    /// # Errors
    /// As [`take_within`](Durable::take_within).
    pub fn peek_newer_within(
        &self,
        seen: u64,
        wait: impl Into<Wait>,
    ) -> Result<Received<T>, NotReceived> {
        let wait = wait.into();
        let names = self.names()?;
        let looking = peek::peek(&self.shared, names, seen, &wait);
        let (index, form) = self.shared.wait_for(ended(&wait, looking))??;
        Ok(Received::new(index, Parcel::received(form)))
    }

    async fn puller(&self) -> Result<&Puller, NotReceived> {
        let KeyOf { puller, in_hand_max, .. } = &*self.key;
        puller.get_or_try_init(|| Puller::open(&self.shared, self.names(), *in_hand_max)).await
    }

    fn names(&self) -> Result<&Names, NameError> {
        self.key.names.as_ref().map_err(Clone::clone)
    }

    fn publish(&self, parcel: Parcel<T>, id: Id, keep: Keep) -> Result<u64, SendError<T>> {
        let published = || {
            let form = parcel.wire(self.compress)?;
            let publishing = publish::publish(&self.shared, self.names()?, form, &id, keep);
            self.shared.wait_for(publishing)?
        };
        published().map_err(|why| SendError { parcel, why })
    }
}

/// Does it until it is cancelled. What was cancelled before is not begun: whether its first request
/// would be answered before anybody looks is chance.
async fn ended<V>(
    wait: &Wait,
    doing: impl Future<Output = Result<V, NotReceived>>,
) -> Result<V, NotReceived> {
    if wait.cancel().is_some_and(Cancel::is_cancelled) {
        return Err(NotReceived::Cancelled);
    }
    let cancelled = Arc::new(Notify::new());
    let _call = wait.cancel().map(|cancel| {
        let cancelled = Arc::clone(&cancelled);
        cancel.then(move || cancelled.notify_one())
    });
    tokio::select! {
        biased;
        done = doing => done,
        () = cancelled.notified() => Err(NotReceived::Cancelled),
    }
}

impl<T> Clone for Durable<T> {
    fn clone(&self) -> Durable<T> {
        let (shared, key) = (Arc::clone(&self.shared), Arc::clone(&self.key));
        Durable { shared, key, compress: self.compress, data: std::marker::PhantomData }
    }
}

impl<T> std::fmt::Debug for Durable<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subject = self.key.names.as_ref().map(|names| names.subject.as_str());
        f.debug_tuple("Durable").field(&subject).finish()
    }
}
