//! A node that others know by its label.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use alice::{Key, Node};
use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::engine::Shared;
use crate::error::JoinError;
use crate::labels::Renewed;
use crate::name::token;
use crate::parcel::Compress;
use crate::serve::{AnyQueue, GiveBack, Handed, Served, ServedQueue, Travels, Want};
use crate::status;
use crate::wire::{Answer, Ask, Call, Refusal, read_id};

/// The longest time that a peer's wait stands in line here; it asks again then.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);
/// How many waits of peers stand in line at a member.
const WAITS_MAX: usize = 4096;
/// The engine says within this time that nobody was there to get a segment.
const NOBODY_WITHIN: Duration = Duration::from_secs(2);
/// How many segments are kept for that time.
const HANDED_MAX: usize = 1024;

/// A node that has joined an engine under a label: [`Engine::join`](crate::Engine::join). Dropping
/// it gives the label back.
pub struct Member {
    shared: Arc<Shared>,
    label: String,
    node: Node,
    serving: Arc<Serving>,
    tasks: Vec<JoinHandle<()>>,
    /// The revision of the last renewal.
    revision: watch::Receiver<u64>,
}

/// What the tasks of a member share.
struct Serving {
    client: async_nats::Client,
    node: Node,
    served: Served,
    id: Bytes,
    is_lost: AtomicBool,
    /// By the names of the requests.
    waits: Mutex<HashMap<String, oneshot::Sender<()>>>,
    handed: Mutex<VecDeque<(String, Instant, GiveBack)>>,
    /// Who waits gives up when his answer is late by this, if he was told what this member was.
    answer_within: Duration,
    /// Where the engine says that nobody was there.
    back: String,
    answers: std::sync::atomic::AtomicU64,
}

impl Member {
    pub(crate) async fn join(
        shared: &Arc<Shared>,
        label: &str,
        node: &Node,
    ) -> Result<Member, JoinError> {
        let label_token = token(label)?;
        let labels = shared.labels().await?;
        let id = Bytes::from(shared.next_id());
        let revision = labels.claim(shared, &label_token, &id).await?;
        let subjects = format!("alice.{}.live.{label_token}.>", shared.space);
        let client = shared.client.clone();
        let subscribed = client.queue_subscribe(subjects, "owner".to_owned()).await;
        let calls = subscribed.map_err(JoinError::at("subscribing to the label"))?;
        let back = client.new_inbox();
        let nobodies = client.subscribe(format!("{back}.*")).await;
        let nobodies = nobodies.map_err(JoinError::at("subscribing to what comes back"))?;
        client.flush().await.map_err(JoinError::at("subscribing to the label"))?;
        // Somebody who asked before the subscription was there may have taken the label for free.
        let renewed = labels.renew(&label_token, &id, revision).await?;
        let Renewed::Still { revision } = renewed else {
            return Err(JoinError::Taken { label: label.to_owned() });
        };
        let serving = Arc::new(Serving {
            client,
            node: node.clone(),
            served: Served::default(),
            id,
            is_lost: AtomicBool::new(false),
            waits: Mutex::default(),
            handed: Mutex::default(),
            answer_within: shared.options.answer_within,
            back,
            answers: std::sync::atomic::AtomicU64::new(0),
        });
        let (revisions, revision) = watch::channel(revision);
        let served = shared.handle.spawn(Arc::clone(&serving).serve(calls));
        let given = shared.handle.spawn(Arc::clone(&serving).take_back(nobodies));
        let stops = [served.abort_handle(), given.abort_handle()];
        let renews = Renews { label: label_token, revisions, stops };
        let renewed = shared.handle.spawn(renews.run(Arc::downgrade(shared), Arc::clone(&serving)));
        Ok(Member {
            shared: Arc::clone(shared),
            label: label.to_owned(),
            node: node.clone(),
            serving,
            tasks: vec![served, given, renewed],
            revision,
        })
    }

    /// Lets peers put into, take from and look at this key's queue: a *live* key.
    ///
    /// **What it promises.** The queue is this node's own, and is gone with it. What is put is in
    /// the queue when the call returns; a put without an answer may have been done or not, and is
    /// not tried again. A segment is delivered **at most once**: if its taker dies, or is cut off,
    /// while the segment is on its way, it is lost. If the taker was already gone for the engine,
    /// the segment goes back to its old place. Segments that one peer puts one after the other
    /// come in that order. Takers wait here in line with this node's own; after ten seconds they
    /// ask again, and stand at the end of the line.
    ///
    /// What a peer puts is read and put by a thread of the engine: a code segment with
    /// [`Run::Here`](alice::Run::Here) runs there, holds up all others meanwhile, and cannot use
    /// the engine.
    ///
    /// # Errors
    /// When the key has another type on the node, the node is closed, or the name cannot be used.
    pub fn serve<T: Travels>(&self, key: &Key<T>) -> Result<(), ServeError> {
        self.serve_compressed(key, self.shared.options.compress)
    }

    /// As [`serve`](Member::serve), with a say of its own in what is compressed before it is sent.
    ///
    /// # Errors
    /// As [`serve`](Member::serve).
    pub fn serve_compressed<T: Travels>(
        &self,
        key: &Key<T>,
        compress: Compress,
    ) -> Result<(), ServeError> {
        let name = token(key.name())?;
        let queue = self.node.queue(key)?;
        let (node, bytes_max) = (self.node.clone(), self.shared.client.max_payload());
        let served = ServedQueue::new(node, queue, compress, bytes_max);
        self.serving.served.add(name, Arc::new(served));
        Ok(())
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether somebody else has the label now, because this process seemed to be gone. Nothing is
    /// served any more then: drop this, and join again.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.serving.is_lost.load(Ordering::SeqCst)
    }
}

/// Why a key cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Its name cannot be used.
    #[error(transparent)]
    Name(#[from] crate::NameError),
    /// It is another one on this node.
    #[error(transparent)]
    Declare(#[from] alice::DeclareError),
}

impl Drop for Member {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        // Those who wait are told that nothing came; they ask again, and hear that nobody is there.
        self.serving.waits().clear();
        if self.is_lost() {
            return;
        }
        let (shared, revision) = (Arc::clone(&self.shared), *self.revision.borrow());
        let label = token(&self.label).expect("it was one when it joined");
        let release = async move {
            if let Some(labels) = shared.labels.get() {
                let _ = tokio::time::timeout(NOBODY_WITHIN, labels.release(&label, revision)).await;
            }
        };
        // On a thread of the engine nobody can wait for it; it is done all the same.
        if self.shared.wait_for(async {}).is_ok() {
            let _ = self.shared.wait_for(release);
        } else {
            self.shared.handle.spawn(release);
        }
    }
}

/// Says from time to time that the holder of a label is there.
struct Renews {
    label: String,
    revisions: watch::Sender<u64>,
    stops: [tokio::task::AbortHandle; 2],
}

impl Renews {
    async fn run(self, shared: std::sync::Weak<Shared>, serving: Arc<Serving>) {
        loop {
            let Some(lease) = shared.upgrade().map(|shared| shared.options.lease) else {
                return;
            };
            tokio::time::sleep(lease / 3).await;
            serving.forget_handed();
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let Ok(labels) = shared.labels().await else {
                continue;
            };
            let revision = *self.revisions.borrow();
            match labels.renew(&self.label, &serving.id, revision).await {
                Ok(Renewed::Still { revision }) => _ = self.revisions.send_replace(revision),
                Ok(Renewed::Lost) => {
                    serving.is_lost.store(true, Ordering::SeqCst);
                    self.stops.iter().for_each(tokio::task::AbortHandle::abort);
                    return;
                }
                // The engine is away: the next turn may find it.
                Err(_) => {}
            }
        }
    }
}

impl Serving {
    /// Answers one call after the other, so that what one peer puts stays in its order.
    async fn serve(self: Arc<Self>, mut calls: Subscriber) {
        while let Some(message) = calls.next().await {
            let Some(reply) = message.reply.clone() else {
                continue;
            };
            if let Some(answer) = self.answer(&message, reply.as_str()) {
                self.send(reply.as_str(), answer).await;
            }
        }
    }

    /// `None` when the answer comes later, or nobody wants one.
    fn answer(self: &Arc<Self>, message: &Message, reply: &str) -> Option<Reply> {
        let mut tokens = message.subject.as_str().split('.').skip(4);
        let call = Call::read(tokens.next()?)?;
        let key = tokens.next()?;
        let payload = message.payload.clone();
        let not_served = || Reply::Of(Answer::Refused(Refusal::NotServed));
        let garbled = || {
            let why = "the request cannot be read".to_owned();
            Reply::Of(Answer::Refused(Refusal::Failed { why }))
        };
        let (want, ask) = match call {
            Call::Status => return Some(Reply::Of(self.status())),
            Call::Who => return Some(Reply::Of(Answer::Me(self.id.clone()))),
            Call::Cancel => {
                let wait = read_id(&payload).and_then(|id| self.waits().remove(&id));
                // Nobody waits any more if it has just ended by itself.
                let _ = wait.map(|wait| wait.send(()));
                return Some(Reply::Of(Answer::Nothing));
            }
            Call::Put | Call::Update => {
                let Some(queue) = self.served.find(key) else {
                    return Some(not_served());
                };
                return Some(Reply::Of(match call {
                    Call::Put => queue.put(payload),
                    _ => queue.update(payload),
                }));
            }
            Call::Take | Call::Peek => match (call, Ask::read(&payload)) {
                (_, None) => return Some(garbled()),
                (Call::Take, Some(ask)) => (Want::Take, ask),
                (_, Some(ask)) if ask.seen == 0 => (Want::Peek, ask),
                (_, Some(ask)) => (Want::Newer(ask.seen), ask),
            },
        };
        let Some(queue) = self.served.find(key) else {
            return Some(not_served());
        };
        match queue.now(want) {
            Ok(None) if !ask.wait.is_zero() => self.wait(queue, want, ask, reply),
            found => Some(Reply::from(found)),
        }
    }

    fn status(&self) -> Answer {
        let status = status::write(self.node.status());
        match status.len() {
            bytes if bytes < self.client.max_payload() => Answer::Status(status),
            bytes => Answer::Refused(Refusal::TooLarge { bytes: bytes as u64 }),
        }
    }

    /// Has a wait stand in line.
    fn wait(
        self: &Arc<Self>,
        queue: Arc<dyn AnyQueue>,
        want: Want,
        ask: Ask,
        reply: &str,
    ) -> Option<Reply> {
        let (cancel, cancelled) = oneshot::channel();
        {
            let mut waits = self.waits();
            if waits.len() >= WAITS_MAX {
                return Some(Reply::Of(Answer::Refused(Refusal::Busy)));
            }
            waits.insert(ask.id.clone(), cancel);
        }
        let within = ask.wait.min(WAIT_MAX);
        let waiting = queue.wait(want, within, cancelled);
        let (serving, reply) = (Arc::clone(self), reply.to_owned());
        // The answer has its own way to go.
        let is_late_after = within + self.answer_within.mul_f32(0.9);
        let asked = Instant::now();
        tokio::spawn(async move {
            let found = waiting.await;
            serving.waits().remove(&ask.id);
            let answer = Reply::from(found);
            let answer = if asked.elapsed() > is_late_after { answer.unsent() } else { answer };
            serving.send(&reply, answer).await;
        });
        None
    }

    /// A segment that was taken is sent so that the engine says when nobody is there to get it.
    async fn send(&self, reply: &str, answer: Reply) {
        let sent = match answer {
            Reply::Of(answer) => self.client.publish(reply.to_owned(), answer.write()).await,
            Reply::Hand(Handed { index, form, give_back }) => {
                let payload = Answer::Segment(index, form).write();
                match give_back {
                    None => self.client.publish(reply.to_owned(), payload).await,
                    Some(give_back) => {
                        let back = self.keep(give_back);
                        let (to, from) = (reply.to_owned(), back.clone());
                        let sent = self.client.publish_with_reply(to, from, payload).await;
                        if sent.is_err() {
                            self.give_back(&back);
                        }
                        sent
                    }
                }
            }
        };
        // The connection is closed for good: the member is about to end as well, but not the node.
        let _ = sent;
    }

    fn keep(&self, give_back: GiveBack) -> String {
        let number = self.answers.fetch_add(1, Ordering::SeqCst);
        let back = format!("{}.{number}", self.back);
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        handed.push_back((back.clone(), Instant::now(), give_back));
        let gone = if handed.len() > HANDED_MAX { handed.pop_front() } else { None };
        drop((handed, gone));
        self.forget_handed();
        back
    }

    /// Lets go of what has arrived: the engine would have said otherwise by now.
    fn forget_handed(&self) {
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = handed.partition_point(|(_, at, _)| at.elapsed() > NOBODY_WITHIN);
        let gone: Vec<_> = handed.drain(..kept).collect();
        drop(handed);
        // The program's own code may run as it is dropped.
        drop(gone);
    }

    /// Gives back what nobody was there to get.
    async fn take_back(self: Arc<Self>, mut nobodies: Subscriber) {
        while let Some(message) = nobodies.next().await {
            if message.status != Some(StatusCode::NO_RESPONDERS) {
                continue;
            }
            self.give_back(message.subject.as_str());
        }
    }

    fn give_back(&self, back: &str) {
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        let at = handed.iter().position(|(kept, ..)| kept == back);
        let found = at.and_then(|at| handed.remove(at));
        drop(handed);
        if let Some((_, _, give_back)) = found {
            give_back();
        }
    }

    fn waits(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Reply {
    Of(Answer),
    Hand(Handed),
}

impl Reply {
    /// What is said instead when nobody may be there to hear it. The engine does not know that: the
    /// place for all answers to a connection is still there.
    fn unsent(self) -> Reply {
        match self {
            Reply::Hand(Handed { give_back: Some(give_back), .. }) => {
                give_back();
                Reply::Of(Answer::Nothing)
            }
            other => other,
        }
    }
}

impl From<Result<Option<Handed>, Refusal>> for Reply {
    fn from(found: Result<Option<Handed>, Refusal>) -> Reply {
        match found {
            Ok(Some(handed)) => Reply::Hand(handed),
            Ok(None) => Reply::Of(Answer::Nothing),
            Err(refusal) => Reply::Of(Answer::Refused(refusal)),
        }
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("label", &self.label).finish_non_exhaustive()
    }
}
