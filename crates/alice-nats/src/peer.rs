//! Peers: nodes of other processes, named by labels.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alice::{Key, NodeStatus, Wait};
use bytes::Bytes;
use tokio::sync::Notify;

use crate::durable::Durable;
use crate::engine::{AskError, Shared};
use crate::error::{NotReceived, NotSent, SendError};
use crate::member::WAIT_MAX;
use crate::name::token;
use crate::parcel::{Compress, Parcel, Portable};
use crate::received::Received;
use crate::status;
use crate::wire::{Answer, Ask, Call};

/// A node of another process, or of this one, that has joined under a label:
/// [`Engine::peer`](crate::Engine::peer).
///
/// It has a node's calls, for the *live* keys that it serves; what they promise is written at
/// [`Member::serve`](crate::Member::serve). For *durable* keys see [`durable`](Peer::durable).
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    label: String,
    compress: Compress,
}

impl Peer {
    pub(crate) fn new(shared: Arc<Shared>, label: &str) -> Peer {
        let compress = shared.options.compress;
        Peer { shared, label: label.to_owned(), compress }
    }

    /// The same peer, with another say in what is compressed before it is sent there, also into its
    /// [durable](Peer::durable) queues: [`Options::compress`](crate::Options::compress), if nothing
    /// else is said.
    #[must_use]
    pub fn compress(self, compress: Compress) -> Peer {
        Peer { compress, ..self }
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Appends a data segment to the peer's queue, and gives its index there. Waits for the peer's
    /// answer.
    ///
    /// # Errors
    /// Gives it back when it was not put, or is not known to have been.
    pub fn put<T: Portable>(
        &self,
        key: &Key<T>,
        data: impl Into<Parcel<T>>,
    ) -> Result<u64, SendError<T>> {
        self.send(Call::Put, key, data.into())
    }

    /// Makes this the only data segment of the peer's queue, and gives its index.
    ///
    /// # Errors
    /// As [`put`](Peer::put).
    pub fn update<T: Portable>(
        &self,
        key: &Key<T>,
        data: impl Into<Parcel<T>>,
    ) -> Result<u64, SendError<T>> {
        self.send(Call::Update, key, data.into())
    }

    /// Appends what was received elsewhere, in the form in which it came: nothing is read, written
    /// or compressed again.
    ///
    /// # Errors
    /// As [`put`](Peer::put).
    pub fn flip<T: Portable>(
        &self,
        key: &Key<T>,
        received: &Received<T>,
    ) -> Result<u64, SendError<T>> {
        self.send(Call::Put, key, received.parcel().clone())
    }

    /// Waits for the head of the peer's queue, and removes it.
    ///
    /// # Errors
    /// When nobody is there, or does not serve the key.
    pub fn take<T: Portable>(&self, key: &Key<T>) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Take, key, 0, &Wait::for_ever())
    }

    /// As [`take`](Peer::take), but only for so long, or until it is cancelled. It may take longer
    /// by what an answer takes; if the segment came meanwhile, this gives it all the same.
    ///
    /// # Errors
    /// As [`take`](Peer::take), and when the wait ends.
    pub fn take_within<T: Portable>(
        &self,
        key: &Key<T>,
        wait: impl Into<Wait>,
    ) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Take, key, 0, &wait.into())
    }

    /// Waits for the head of the peer's queue, and leaves it there.
    ///
    /// # Errors
    /// As [`take`](Peer::take).
    pub fn peek<T: Portable>(&self, key: &Key<T>) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Peek, key, 0, &Wait::for_ever())
    }

    /// As [`peek`](Peer::peek), but only for so long, or until it is cancelled.
    ///
    /// # Errors
    /// As [`take_within`](Peer::take_within).
    pub fn peek_within<T: Portable>(
        &self,
        key: &Key<T>,
        wait: impl Into<Wait>,
    ) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Peek, key, 0, &wait.into())
    }

    /// Waits for the oldest data segment whose [index](Received::index) is greater than `seen`, and
    /// leaves it there.
    ///
    /// # Errors
    /// As [`take`](Peer::take).
    pub fn peek_newer<T: Portable>(
        &self,
        key: &Key<T>,
        seen: u64,
    ) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Peek, key, seen, &Wait::for_ever())
    }

    /// As [`peek_newer`](Peer::peek_newer), but only for so long, or until it is cancelled.
    ///
    /// # Errors
    /// As [`take_within`](Peer::take_within).
    pub fn peek_newer_within<T: Portable>(
        &self,
        key: &Key<T>,
        seen: u64,
        wait: impl Into<Wait>,
    ) -> Result<Received<T>, NotReceived> {
        self.receive(Call::Peek, key, seen, &wait.into())
    }

    /// The durable queue of this label and key, which the engine keeps: its documentation says what
    /// that promises. The peer need not be there, and has no part in it.
    #[must_use]
    pub fn durable<T: Portable>(&self, key: &Key<T>) -> Durable<T> {
        Durable::new(&self.shared, &self.label, key, self.compress)
    }

    /// What the peer's node looks like: its queues, and who waits there for what. Of more than 500
    /// queues or waits it tells the first ones.
    ///
    /// # Errors
    /// When nobody is there, or does not answer.
    pub fn status(&self) -> Result<NodeStatus, NotReceived> {
        let subject = self.shared.subject(&token(&self.label)?, Call::Status, "-");
        let asking = self.shared.ask(subject, Bytes::new(), self.shared.options.answer_within);
        let answer = self.shared.wait_for(asking)?;
        if let Ok(Answer::Status(status)) = &answer
            && let Some(status) = status::read(status)
        {
            return Ok(status);
        }
        Err(self.not_received(answer, "-"))
    }

    fn send<T: Portable>(
        &self,
        call: Call,
        key: &Key<T>,
        parcel: Parcel<T>,
    ) -> Result<u64, SendError<T>> {
        self.try_send(call, key.name(), &parcel).map_err(|why| SendError { parcel, why })
    }

    fn try_send<T: Portable>(
        &self,
        call: Call,
        key: &str,
        parcel: &Parcel<T>,
    ) -> Result<u64, NotSent> {
        let subject = self.shared.subject(&token(&self.label)?, call, &token(key)?);
        let payload = parcel.wire(self.compress)?;
        let (bytes, bytes_max) = (payload.len(), self.shared.client.max_payload());
        if bytes > bytes_max {
            return Err(NotSent::TooLarge { bytes, bytes_max });
        }
        let within = self.shared.options.answer_within;
        match self.shared.wait_for(self.shared.ask(subject, payload, within))? {
            Ok(Answer::Put(index)) => Ok(index),
            Ok(Answer::Refused(why)) => Err(NotSent::refused(why, key, bytes_max)),
            Ok(_) | Err(AskError::NoAnswer) => {
                Err(NotSent::Failed { why: "what came is no answer".to_owned() })
            }
            Err(AskError::Nobody) => Err(NotSent::Nobody { label: self.label.clone() }),
            Err(AskError::TimedOut) => Err(NotSent::Unanswered),
            Err(AskError::Engine(error)) => Err(NotSent::Engine(error)),
        }
    }

    fn receive<T: Portable>(
        &self,
        call: Call,
        key: &Key<T>,
        seen: u64,
        wait: &Wait,
    ) -> Result<Received<T>, NotReceived> {
        let (label, name) = (token(&self.label)?, token(key.name())?);
        let asks = Asks {
            subject: self.shared.subject(&label, call, &name),
            cancel: self.shared.subject(&label, Call::Cancel, &name),
            key: key.name(),
            seen,
        };
        let (index, form) = self.shared.wait_for(self.wait(&asks, wait))??;
        Ok(Received::new(index, Parcel::received(form)))
    }

    /// Asks until a segment comes or the wait ends.
    async fn wait(&self, asks: &Asks<'_>, wait: &Wait) -> Result<(u64, Bytes), NotReceived> {
        let deadline = wait.timeout().and_then(|timeout| Instant::now().checked_add(timeout));
        let cancelled = Arc::new(Notify::new());
        let _call = wait.cancel().map(|cancel| {
            let cancelled = Arc::clone(&cancelled);
            cancel.then(move || cancelled.notify_one())
        });
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.unwrap_or(WAIT_MAX).min(WAIT_MAX);
            let (answer, was_cancelled) = self.ask_once(asks, left, &cancelled).await;
            match answer {
                Ok(Answer::Segment(index, form)) => return Ok((index, form)),
                Ok(Answer::Nothing) if was_cancelled => return Err(NotReceived::Cancelled),
                Ok(Answer::Nothing) if deadline.is_some_and(|at| at <= Instant::now()) => {
                    return Err(NotReceived::TimedOut);
                }
                Ok(Answer::Nothing) => {}
                other => return Err(self.not_received(other, asks.key)),
            }
        }
    }

    async fn ask_once(
        &self,
        asks: &Asks<'_>,
        left: Duration,
        cancelled: &Notify,
    ) -> (Result<Answer, AskError>, bool) {
        let within = self.shared.options.answer_within;
        let id = self.shared.next_id();
        let ask = Ask { wait: left, seen: asks.seen, id: id.clone() };
        let asking = self.shared.ask(asks.subject.clone(), ask.write(), left + within);
        let mut asking = pin!(asking);
        tokio::select! {
            biased;
            answer = &mut asking => return (answer, false),
            () = cancelled.notified() => {}
        }
        // The answer says whether the segment came first. If this is not heard, the wait ends by
        // its own limit.
        let _ = self.shared.ask(asks.cancel.clone(), id.into(), within).await;
        (asking.await, true)
    }

    fn not_received(&self, answer: Result<Answer, AskError>, key: &str) -> NotReceived {
        match answer {
            Ok(Answer::Refused(why)) => {
                NotReceived::refused(why, key, self.shared.client.max_payload())
            }
            Ok(_) | Err(AskError::NoAnswer) => {
                NotReceived::Failed { why: "what came is no answer".to_owned() }
            }
            Err(AskError::Nobody) => NotReceived::Nobody { label: self.label.clone() },
            Err(AskError::TimedOut) => NotReceived::Unanswered,
            Err(AskError::Engine(error)) => NotReceived::Engine(error),
        }
    }
}

/// What is asked again and again until it comes.
struct Asks<'k> {
    subject: String,
    cancel: String,
    key: &'k str,
    seen: u64,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Peer").field(&self.label).finish()
    }
}
