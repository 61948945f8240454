//! The connection to the engine.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use alice::Node;
use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{Client, Request, RequestErrorKind};
use bytes::Bytes;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::OnceCell;

use crate::durable::{self, DurableStatus, StreamError, Streams};
use crate::error::{ConnectError, InsideEngine, JoinError, NotReceived};
use crate::labels::Labels;
use crate::member::Member;
use crate::name::token;
use crate::options::Options;
use crate::peer::Peer;
use crate::topology::{Part, Places, Topology, View};
use crate::wire::{Answer, Call};

/// A connection to the engine, for any number of nodes and threads. Clones are the same one.
///
/// It has threads of its own, so all calls are for ordinary threads and wait there.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) jetstream: jetstream::Context,
    pub(crate) options: Options,
    /// The space, as a token of subjects.
    pub(crate) space: String,
    pub(crate) labels: OnceCell<Labels>,
    pub(crate) places: OnceCell<Places>,
    pub(crate) streams: OnceCell<Streams>,
    /// Different for each connection.
    instance: String,
    requests: AtomicU64,
    pub(crate) handle: Handle,
    _threads: Threads,
}

/// The threads of a connection. They may have to be let go by one of themselves, or by an async
/// function of the caller's: both cannot wait for them.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// How long a durable put waits for one answer before it asks again: the server that had it may be
/// dead, and another one may have become the leader.
const ACK_WITHIN: Duration = Duration::from_secs(2);
/// How many durable puts may be without an answer.
const ACKS_MAX: usize = 4096;

impl Engine {
    /// Connects to an engine: addresses of one or several of its servers, such as
    /// `nats://localhost:4222`, with commas between them.
    ///
    /// # Errors
    /// When none answers, it does not take the credentials, or is older than 2.15.
    pub fn connect(addresses: &str, options: Options) -> Result<Engine, ConnectError> {
        let space = token(&options.space)?;
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        threads.worker_threads(options.threads.max(1)).thread_name("alice engine").enable_all();
        threads.on_thread_start(|| INSIDE.set(true));
        let threads = Threads(Some(threads.build().map_err(ConnectError::Threads)?));
        let handle = threads.0.as_ref().expect("just made").handle().clone();
        let unconnected = |source: async_nats::Error| ConnectError::Connect {
            addresses: addresses.to_owned(),
            source,
        };
        let servers: Vec<&str> = addresses.split(',').collect();
        let connecting = options.client.clone().connect(servers);
        let connected = wait_for(&handle, connecting)?;
        let client = connected.map_err(|error| unconnected(error.into()))?;
        if !client.is_server_compatible(2, 15, 0) {
            let version = client.server_info().version;
            return Err(ConnectError::TooOld { version });
        }
        let jetstream = {
            let _tasks = handle.enter();
            let context = ContextBuilder::new().timeout(ACK_WITHIN).ack_timeout(ACK_WITHIN);
            context.max_ack_inflight(ACKS_MAX).build(client.clone())
        };
        Ok(Engine(Arc::new(Shared {
            jetstream,
            instance: client.new_inbox().trim_start_matches("_INBOX.").to_owned(),
            client,
            options,
            space,
            labels: OnceCell::new(),
            places: OnceCell::new(),
            streams: OnceCell::new(),
            requests: AtomicU64::new(0),
            handle,
            _threads: threads,
        })))
    }

    /// Lets others know this node under a label, which nobody else in the space has. It is free
    /// again when the [`Member`] is dropped, or its process was not heard of for
    /// [`lease`](Options::lease), or does not answer when somebody asks for the label.
    ///
    /// # Errors
    /// When somebody else has the label, or the engine fails.
    pub fn join(&self, label: &str, node: &Node) -> Result<Member, JoinError> {
        self.0.wait_for(Member::join(&self.0, label, node))?
    }

    /// Has a node take part in a topology, under a name that is its label as well.
    ///
    /// In a shape that grows it gets the place that it had, or the first free one, and goes on at
    /// once. In a fixed graph it has the place of its name;
    /// [`Part::wait_for_all`](crate::Part::wait_for_all) waits for the others.
    ///
    /// # Errors
    /// As [`join`](Engine::join); and when the name is not in the graph, or others mean another
    /// topology by its name.
    pub fn take_part(&self, in_: &Topology, name: &str, node: &Node) -> Result<Part, JoinError> {
        self.0.wait_for(Part::take(&self.0, in_, name, node))?
    }

    /// The names of all topologies that there are, or have been.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn topologies(&self) -> Result<Vec<String>, JoinError> {
        self.0.wait_for(async { self.0.places().await?.topologies().await })?
    }

    /// Who is where in a topology, for one who takes no part in it.
    ///
    /// # Errors
    /// When there is no topology of this name, and when the engine fails.
    pub fn view(&self, topology: &str) -> Result<View, JoinError> {
        self.0.wait_for(View::of(&self.0, topology))?
    }

    /// The durable queues of the space that have something in them, or somebody who takes.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn durable_queues(&self) -> Result<Vec<DurableStatus>, NotReceived> {
        self.0.wait_for(durable::all(&self.0))?
    }

    /// The name of the server that leads what is kept for durable keys, which the others follow;
    /// `None` while there is none.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn leader(&self) -> Result<Option<String>, NotReceived> {
        self.0.wait_for(async {
            let info = self.0.streams().await?.stream.get_info().await;
            let info = info.map_err(|error| NotReceived::Engine(error.into()))?;
            Ok(info.cluster.and_then(|cluster| cluster.leader))
        })?
    }

    /// Begins to end the connection, for all its clones, members and peers, as if the process had
    /// ended: what waits gets an error soon, and labels can be had by others.
    ///
    /// # Errors
    /// When a thread of the engine's own asks for it.
    pub fn close(&self) -> Result<(), InsideEngine> {
        // It fails when the connection is closed already.
        self.0.wait_for(self.0.client.drain()).map(drop)
    }

    /// What has joined, or will join, under this label. Nobody has to be there yet.
    #[must_use]
    pub fn peer(&self, label: &str) -> Peer {
        Peer::new(Arc::clone(&self.0), label)
    }

    /// Who is there.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn labels(&self) -> Result<Vec<String>, JoinError> {
        self.0.wait_for(async { self.0.labels().await?.all().await })?
    }

    /// Waits until all of these are there.
    ///
    /// # Errors
    /// Names those that are missing when the time is over; and when the engine fails.
    pub fn wait_for_all(&self, labels: &[&str], within: Duration) -> Result<(), JoinError> {
        self.0.wait_for(async { self.0.labels().await?.wait_for(labels, within).await })?
    }
}

impl Shared {
    /// A name that nothing else has, on this connection or another.
    pub(crate) fn next_id(&self) -> String {
        format!("{}.{}", self.instance, self.requests.fetch_add(1, Ordering::SeqCst))
    }

    pub(crate) async fn labels(&self) -> Result<&Labels, JoinError> {
        self.labels.get_or_try_init(|| Labels::open(self)).await
    }

    pub(crate) async fn places(&self) -> Result<&Places, JoinError> {
        self.places.get_or_try_init(|| Places::open(self)).await
    }

    pub(crate) async fn streams(&self) -> Result<&Streams, StreamError> {
        self.streams.get_or_try_init(|| Streams::open(self)).await
    }

    /// Waits for something on an ordinary thread.
    pub(crate) fn wait_for<F: Future>(&self, future: F) -> Result<F::Output, InsideEngine> {
        wait_for(&self.handle, future)
    }

    /// The subject of a call to the holder of a label.
    pub(crate) fn subject(&self, label: &str, call: Call, key: &str) -> String {
        format!("alice.{}.live.{label}.{}.{key}", self.space, call.token())
    }

    /// Asks, and waits so long for an answer.
    pub(crate) async fn ask(
        &self,
        subject: String,
        payload: Bytes,
        within: Duration,
    ) -> Result<Answer, AskError> {
        let request = Request::new().payload(payload).timeout(Some(within));
        match self.client.send_request(subject, request).await {
            Ok(message) => Answer::read(&message.payload).ok_or(AskError::NoAnswer),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => AskError::Nobody,
                RequestErrorKind::TimedOut => AskError::TimedOut,
                _ => AskError::Engine(error.into()),
            }),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum AskError {
    Nobody,
    TimedOut,
    /// What came is none.
    NoAnswer,
    Engine(async_nats::Error),
}

thread_local! {
    /// Whether this thread carries an engine.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// As `Handle::block_on`, which panics in an async function of the caller's.
fn wait_for<F: Future>(handle: &Handle, future: F) -> Result<F::Output, InsideEngine> {
    if INSIDE.get() {
        return Err(InsideEngine);
    }
    let _timers = handle.enter();
    let waker = Waker::from(Arc::new(Parked(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        std::thread::park();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Engine").field(&self.0.options).finish()
    }
}
