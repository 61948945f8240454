//! Taking from durable queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alice::Wait;
use async_nats::connection::State;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, Consumer};
use async_nats::jetstream::stream::{ConsumerError, ConsumerErrorKind};
use async_nats::jetstream::{Context, Message as Stored};
use async_nats::{Client, Message, StatusCode, Subscriber};
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Names;
use super::publish::{REST, UNAVAILABLE};
use super::taken::give_back;
use crate::engine::Shared;
use crate::error::{EngineError, NotReceived};
use crate::name::NameError;

/// One who takes from a queue: all takers of the queue share it in the engine.
///
/// All who wait here get what comes to one inbox, first come, first served: a subscription for each
/// wait would cost as much as the wait.
pub(crate) struct Puller {
    consumer: Consumer<Config>,
    context: Context,
    client: Client,
    handle: Handle,
    /// Where the engine is asked for a message.
    next: String,
    inbox: String,
    line: Arc<Line>,
    hands_out: JoinHandle<()>,
    /// A queue whose engine does not answer for so long is given up.
    patience: Duration,
}

/// How long one request to the engine waits there.
const PULL_MAX: Duration = Duration::from_secs(5);
/// How many may wait for one queue at once. One made by an earlier version has 512, which cannot be
/// changed.
const WAITING_MAX: i64 = 65_536;
/// What the engine says to one more.
const TOO_MANY_WAIT: &str = "Exceeded MaxWaiting";
/// How long the engine has for what is there now.
const NOW_WITHIN: Duration = Duration::from_millis(500);

/// What the engine says about a message besides what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) index: u64,
    pub(crate) deliveries: u64,
}

/// Those who wait.
#[derive(Default)]
struct Line(Mutex<VecDeque<oneshot::Sender<Message>>>);

impl Puller {
    pub(crate) async fn open(
        shared: &Shared,
        names: Result<&Names, NameError>,
        in_hand_max: i64,
    ) -> Result<Puller, NotReceived> {
        let consumer = consumer(shared, names?, in_hand_max).await?;
        let client = shared.client.clone();
        let inbox = client.new_inbox();
        let subscribed = client.subscribe(inbox.clone()).await;
        let messages = subscribed.map_err(|error| NotReceived::Engine(error.into()))?;
        let line = Arc::new(Line::default());
        let hands_out = Arc::clone(&line).hand_out(messages, client.clone());
        let info = consumer.cached_info();
        Ok(Puller {
            next: format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", info.stream_name, info.name),
            context: shared.jetstream.clone(),
            handle: shared.handle.clone(),
            consumer,
            client,
            inbox,
            line,
            hands_out: shared.handle.spawn(hands_out),
            patience: shared.options.store_within,
        })
    }

    /// Waits for a message. Nothing is lost when this is dropped: what was on its way comes again.
    pub(crate) async fn pull(&self, wait: &Wait) -> Result<(Message, Origin), NotReceived> {
        let deadline = wait.timeout().and_then(|timeout| Instant::now().checked_add(timeout));
        let mut answered = Instant::now();
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let left = left.unwrap_or(PULL_MAX).min(PULL_MAX);
            let pulled = if left.is_zero() { self.now().await } else { self.wait(left).await };
            let failure = match pulled {
                Ok(Some(message)) => return self.known(message),
                Ok(None) if self.client.connection_state() == State::Connected => {
                    answered = Instant::now();
                    None
                }
                // Nobody has said that there is none. It comes back by itself, or ends for good.
                Ok(None) => {
                    if deadline.is_none() {
                        answered = Instant::now();
                    }
                    Some("the connection to the engine is lost".into())
                }
                Err(error) => {
                    tokio::time::sleep(REST).await;
                    Some(error)
                }
            };
            let is_late = deadline.is_some_and(|at| at <= Instant::now());
            match failure {
                Some(error) if is_late || self.is_given_up(answered) => {
                    return Err(NotReceived::Engine(error));
                }
                None if is_late => return Err(NotReceived::TimedOut),
                _ => {}
            }
        }
    }

    /// Whether the connection was closed for good, or the engine has not answered since.
    fn is_given_up(&self, answered: Instant) -> bool {
        self.hands_out.is_finished() || answered.elapsed() > self.patience
    }

    /// What is there, up to so many; when there is nothing, the first that comes.
    pub(crate) async fn pull_up_to(
        &self,
        max: usize,
        wait: &Wait,
    ) -> Result<Vec<(Message, Origin)>, NotReceived> {
        let mut pulled = Pulled { messages: Vec::new(), puller: self };
        // Whether the engine fails, waiting for the first tells.
        let _ = pulled.fetch(max).await;
        if pulled.messages.is_empty() {
            pulled.messages.push(self.pull(wait).await?);
            let _ = pulled.fetch(max - 1).await;
        }
        Ok(std::mem::take(&mut pulled.messages))
    }

    async fn now(&self) -> Result<Option<Message>, EngineError> {
        let mut pulled = Pulled { messages: Vec::new(), puller: self };
        pulled.fetch(1).await?;
        Ok(pulled.messages.pop().map(|(message, _)| message))
    }

    async fn wait(&self, left: Duration) -> Result<Option<Message>, EngineError> {
        let mut place = InLine { received: self.line.enter(), puller: self };
        let request = format!("{{\"batch\":1,\"expires\":{}}}", left.as_nanos());
        let asked =
            self.client.publish_with_reply(self.next.clone(), self.inbox.clone(), request.into());
        asked.await?;
        match tokio::time::timeout(left, &mut place.received).await {
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(_)) => Err("the engine has let go of all who wait".into()),
            Err(_) => Ok(place.last()),
        }
    }

    fn known(&self, message: Message) -> Result<(Message, Origin), NotReceived> {
        let stored = Stored { message, context: self.context.clone() };
        let origin = stored.info().map(|info| Origin {
            index: info.stream_sequence,
            deliveries: info.delivered.unsigned_abs(),
        });
        let origin = origin.map_err(NotReceived::Engine)?;
        Ok((stored.message, origin))
    }
}

async fn consumer(
    shared: &Shared,
    names: &Names,
    in_hand_max: i64,
) -> Result<Consumer<Config>, NotReceived> {
    let streams = shared.streams().await?;
    let config = Config {
        durable_name: Some(names.consumer.clone()),
        filter_subject: names.subject.clone(),
        ack_policy: AckPolicy::Explicit,
        ack_wait: shared.options.redeliver_after,
        max_ack_pending: in_hand_max,
        max_waiting: WAITING_MAX,
        // Who has taken what is known to as many servers as keep the segments, and none of them
        // waits for its disk: what matters, that a segment is done, is in the stream as well, which
        // has it no more. (One server alone would forget that there are takers.)
        memory_storage: shared.options.replicas > 1,
        ..Config::default()
    };
    let deadline = Instant::now() + shared.options.store_within;
    let consumer = loop {
        let made = streams.stream.get_or_create_consumer(&names.consumer, config.clone()).await;
        match made {
            Ok(consumer) => break consumer,
            Err(error) if passes(&error) && Instant::now() < deadline => {
                tokio::time::sleep(REST).await;
            }
            Err(error) => return Err(NotReceived::Engine(error.into())),
        }
    };
    if consumer.cached_info().config.max_ack_pending == in_hand_max {
        Ok(consumer)
    } else {
        let what = "order: some take in order, and some do not".to_owned();
        Err(NotReceived::Differs { what })
    }
}

/// Whether another try may find the engine in better order: it has no leader at the moment.
fn passes(error: &ConsumerError) -> bool {
    match error.kind() {
        ConsumerErrorKind::TimedOut | ConsumerErrorKind::Request => true,
        ConsumerErrorKind::JetStream(error) => error.code() == UNAVAILABLE,
        _ => false,
    }
}

impl Line {
    /// Gives what comes to those who wait.
    async fn hand_out(self: Arc<Self>, mut messages: Subscriber, client: Client) {
        while let Some(message) = messages.next().await {
            match message.status {
                None | Some(StatusCode::OK) => {
                    if let Some(unwanted) = self.hand(message) {
                        give_back(&client, unwanted.reply).await;
                    }
                }
                // A request has waited as long as it was to, and so has who made it.
                Some(StatusCode::TIMEOUT | StatusCode::NOT_FOUND) => {}
                // Who made the request stays, and asks again when his time there would be over: he
                // gets what comes for others who are gone, and nothing comes without a request.
                Some(_) if message.description.as_deref() == Some(TOO_MANY_WAIT) => {}
                // The engine cannot serve some request, it does not say which: all ask again.
                Some(_) => self.lock().clear(),
            }
        }
        self.lock().clear();
    }

    /// Gives it to the first who still waits; it comes back when there is none.
    fn hand(&self, mut message: Message) -> Option<Message> {
        let mut line = self.lock();
        while let Some(first) = line.pop_front() {
            match first.send(message) {
                Ok(()) => return None,
                Err(unwanted) => message = unwanted,
            }
        }
        Some(message)
    }

    fn enter(&self) -> oneshot::Receiver<Message> {
        let (sender, received) = oneshot::channel();
        let mut line = self.lock();
        line.retain(|other| !other.is_closed());
        line.push_back(sender);
        received
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<oneshot::Sender<Message>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has come for one who may be gone before he has all of it: it goes back then.
struct Pulled<'p> {
    messages: Vec<(Message, Origin)>,
    puller: &'p Puller,
}

impl Pulled<'_> {
    /// Adds what is there now, up to so many.
    async fn fetch(&mut self, max: usize) -> Result<(), EngineError> {
        if max == 0 {
            return Ok(());
        }
        let mut fetched = self.puller.consumer.fetch().max_messages(max).messages().await?;
        // It does not answer when others hold as many as may be held.
        while let Ok(Some(next)) = tokio::time::timeout(NOW_WITHIN, fetched.next()).await {
            self.messages.push(self.puller.known(next?.message)?);
        }
        Ok(())
    }
}

impl Drop for Pulled<'_> {
    fn drop(&mut self) {
        for (message, _) in self.messages.drain(..) {
            let client = self.puller.client.clone();
            self.puller.handle.spawn(async move { give_back(&client, message.reply).await });
        }
    }
}

/// A place in the line. What comes to it when nobody waits there any more goes back.
struct InLine<'p> {
    received: oneshot::Receiver<Message>,
    puller: &'p Puller,
}

impl InLine<'_> {
    /// What has come at the last moment.
    fn last(&mut self) -> Option<Message> {
        self.received.close();
        self.received.try_recv().ok()
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if let Some(message) = self.last() {
            let client = self.puller.client.clone();
            self.puller.handle.spawn(async move { give_back(&client, message.reply).await });
        }
    }
}

impl Drop for Puller {
    fn drop(&mut self) {
        self.hands_out.abort();
    }
}
