//! The simulated world: virtual time, the way of messages, and the threads of all servers, of which
//! one at a time runs, and only until it waits for something that comes with time. So equal seeds
//! give equal runs, with the cluster's own code on every server.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Appended, Log, LogError, LogId, Tail};

use crate::Failure;
use crate::scale::{Network, Parameters, Site};
use crate::workload::Random;

/// So long a thread may run before it waits again.
const PATIENCE: Duration = Duration::from_secs(30);

/// The world of some servers.
pub struct World {
    state: Mutex<State>,
    /// For who lets time pass: all others wait.
    quiet: Condvar,
    /// For the servers' threads that follow, and for those of their clients.
    tails: Vec<Condvar>,
    clients: Vec<Condvar>,
}

struct State {
    now_ns: u64,
    /// What comes, with when, and in which order at one time.
    coming: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    /// How many threads there are, and how many of them wait.
    threads: usize,
    waiting: usize,
    is_over: bool,
    servers: Vec<Server>,
    /// When each node has its newest message, and when it will have passed it on to all.
    had_ns: Vec<u64>,
    busy_ns: Vec<u64>,
    messages: Vec<Message>,
    attempts: u64,
    network: Network,
    times: Times,
    random: Random,
}

/// What things take, in nanoseconds.
struct Times {
    hop: u64,
    publish: u64,
    copy: u64,
    prepare: u64,
    apply: u64,
}

/// Something that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client wants to commit.
    Begin { server: usize },
    /// What a server has sent comes to the leader.
    Reach { server: usize },
    /// A message comes to a node.
    Come { node: usize, message: usize },
    /// A server follows it.
    Follow { server: usize, message: usize },
    /// A server hears that others were first.
    Refuse { server: usize },
}

#[derive(Default)]
struct Server {
    /// Commits that its client has not begun.
    wanted: u64,
    /// What is to be followed, and up to where that is done.
    inbox: Option<(u64, Bytes)>,
    followed: u64,
    /// Until when it follows what it has.
    busy_ns: u64,
    /// What was sent, when, and what it comes after.
    sent: Option<(u64, Bytes, u64)>,
    answer: Option<Appended>,
    /// It is to hear that others were first, once it has followed what they did.
    is_refused: bool,
    is_closed: bool,
}

/// A message that has its place.
struct Message {
    bytes: Bytes,
    server: usize,
    sent_ns: u64,
    /// How many servers do not show it yet.
    missing: usize,
    /// From when it was sent until all do.
    seen_ns: u64,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// From when a message was sent, that time with success, until all servers showed it:
    /// nanoseconds, in the order of the log.
    pub seen_ns: Vec<u64>,
    /// How often something was sent.
    pub attempts: u64,
    /// How long all of it took.
    pub took_ns: u64,
}

fn nanos(micros: f64) -> u64 {
    (1e3 * micros).round() as u64
}

impl World {
    /// A world in which nothing has happened.
    pub fn new(network: Network, of: &Parameters, site: &Site, seed: u64) -> Arc<World> {
        let (servers, nodes) = (network.leader, network.children.len());
        let copy = of.copy_us.max(8e6 * of.bytes(1.0) / site.bits_s);
        let times = Times {
            hop: nanos(site.hop_us),
            publish: nanos(of.publish(1.0) + 2.0 * site.hop_us),
            copy: nanos(copy),
            prepare: nanos(of.prepare_us),
            apply: nanos(of.apply(1.0)),
        };
        let state = State {
            now_ns: 0,
            coming: BinaryHeap::new(),
            scheduled: 0,
            threads: servers,
            waiting: 0,
            is_over: false,
            servers: (0..servers).map(|_| Server::default()).collect(),
            had_ns: vec![0; nodes],
            busy_ns: vec![0; nodes],
            messages: Vec::new(),
            attempts: 0,
            network,
            times,
            random: Random(seed),
        };
        let conditions = || (0..servers).map(|_| Condvar::new()).collect();
        let (tails, clients) = (conditions(), conditions());
        Arc::new(World { state: Mutex::new(state), quiet: Condvar::new(), tails, clients })
    }

    /// The connection of one server.
    pub fn connect(self: &Arc<World>, server: usize) -> Arc<dyn Log> {
        Arc::new(Connection { world: Arc::clone(self), server })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server's client wants to commit at this time.
    pub fn want(&self, server: usize, at_ns: u64) {
        self.state().schedule(at_ns, Event::Begin { server });
    }

    /// Waits, as a server's client, until it is to commit; `false` when all is over. Before it is
    /// called for the first time, the client has to be [told of](World::add_client).
    pub fn next_commit(&self, server: usize) -> bool {
        let mut state = self.state();
        if state.servers[server].wanted == 0 {
            state = self.rest(state);
            let is_idle = |state: &mut State| !state.is_over && state.servers[server].wanted == 0;
            let waited = self.clients[server].wait_while(state, is_idle);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let is_wanted = state.servers[server].wanted > 0 && !state.is_over;
        state.servers[server].wanted -= u64::from(is_wanted);
        is_wanted
    }

    /// There is one thread more that time waits for.
    pub fn add_client(&self) {
        self.state().threads += 1;
    }

    /// A client has gone: time does not wait for it any more.
    pub fn remove_client(&self) {
        let mut state = self.state();
        state.threads -= 1;
        if state.waiting == state.threads {
            self.quiet.notify_one();
        }
    }

    /// One thread more waits.
    fn rest<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.waiting += 1;
        if state.waiting == state.threads {
            self.quiet.notify_one();
        }
        state
    }

    /// Lets time pass until nothing comes any more; tells what came of all that was sent meanwhile.
    ///
    /// # Errors
    /// When a server or a client does not come to rest: it has stopped following, or panicked.
    pub fn run(&self) -> Result<Told, Failure> {
        let (messages, attempts, begun_ns) = {
            let state = self.state();
            (state.messages.len(), state.attempts, state.now_ns)
        };
        loop {
            let is_busy = |state: &mut State| state.waiting < state.threads;
            let waited = self.quiet.wait_timeout_while(self.state(), PATIENCE, is_busy);
            let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return Err("a server of the simulation does not go on".into());
            }
            let Some(Reverse((at_ns, _, event))) = state.coming.pop() else {
                let placed = state.messages[messages..].iter();
                let seen_ns = placed.map(|message| message.seen_ns).collect();
                let (attempts, took_ns) = (state.attempts - attempts, state.now_ns - begun_ns);
                return Ok(Told { seen_ns, attempts, took_ns });
            };
            state.now_ns = at_ns;
            match state.happen(event) {
                Some(Wake::Tail(server)) => self.tails[server].notify_one(),
                Some(Wake::Client(server)) => self.clients[server].notify_one(),
                None => {}
            }
        }
    }

    /// Ends the clients.
    pub fn end(&self) {
        self.state().is_over = true;
        self.clients.iter().for_each(Condvar::notify_all);
    }
}

/// Who goes on.
enum Wake {
    Tail(usize),
    Client(usize),
}

impl State {
    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.scheduled += 1;
        self.coming.push(Reverse((at_ns.max(self.now_ns), self.scheduled, event)));
    }

    /// A hop takes up to a fifth longer.
    fn hop_ns(&mut self) -> u64 {
        self.times.hop + self.random.below((self.times.hop / 5).max(1))
    }

    /// The way of something that no one else waits for: from a server to the leader, or back.
    fn way_ns(&mut self, server: usize) -> u64 {
        let hops = self.network.hops[server];
        (0..hops).map(|_| self.hop_ns()).sum()
    }

    fn wake(&mut self, wake: Wake) -> Option<Wake> {
        self.waiting -= 1;
        Some(wake)
    }

    fn happen(&mut self, event: Event) -> Option<Wake> {
        match event {
            Event::Begin { server } => {
                self.servers[server].wanted += 1;
                // It may still be at the one before.
                let is_idle = self.servers[server].sent.is_none();
                if is_idle { self.wake(Wake::Client(server)) } else { None }
            }
            Event::Reach { server } => {
                self.decide(server);
                None
            }
            Event::Come { node, message } => {
                self.pass_on(node, message);
                self.come(node, message)
            }
            Event::Follow { server, message } => self.follow(server, message),
            Event::Refuse { server } => {
                self.servers[server].sent = None;
                self.servers[server].answer = Some(Appended::Behind);
                self.wake(Wake::Client(server))
            }
        }
    }

    /// The leader takes a message that comes after the newest one.
    fn decide(&mut self, server: usize) {
        let Some((after, bytes, sent_ns)) = self.servers[server].sent.clone() else { return };
        if after == self.messages.len() as u64 {
            let missing = self.servers.len();
            self.messages.push(Message { bytes, server, sent_ns, missing, seen_ns: 0 });
            let (node, message) = (self.network.leader, self.messages.len() - 1);
            self.schedule(self.now_ns + self.times.publish, Event::Come { node, message });
            return;
        }
        if self.servers[server].followed > after {
            let heard_ns = self.now_ns + self.way_ns(server);
            self.schedule(heard_ns, Event::Refuse { server });
        } else {
            // It goes the way that what was first has gone before it.
            self.servers[server].is_refused = true;
        }
    }

    /// One copy after the other leaves; on each link they come in their order.
    fn pass_on(&mut self, node: usize, message: usize) {
        let mut leaves_ns = self.busy_ns[node].max(self.now_ns);
        for at in 0..self.network.children[node].len() {
            let child = self.network.children[node][at];
            leaves_ns += self.times.copy;
            let comes_ns = (leaves_ns + self.hop_ns()).max(self.had_ns[child]);
            self.had_ns[child] = comes_ns;
            self.schedule(comes_ns, Event::Come { node: child, message });
        }
        self.busy_ns[node] = leaves_ns;
    }

    /// What a server has written itself is its answer; anything else is followed in its turn.
    fn come(&mut self, node: usize, message: usize) -> Option<Wake> {
        if node >= self.servers.len() {
            return None;
        }
        let (now_ns, apply) = (self.now_ns, self.times.apply);
        let is_own = self.messages[message].server == node;
        let server = &mut self.servers[node];
        server.busy_ns = server.busy_ns.max(now_ns) + if is_own { 0 } else { apply };
        let done_ns = server.busy_ns;
        if is_own {
            server.sent = None;
            server.answer = Some(Appended::At(message as u64 + 1));
        }
        self.schedule(done_ns, Event::Follow { server: node, message });
        if is_own { self.wake(Wake::Client(node)) } else { None }
    }

    fn follow(&mut self, server: usize, message: usize) -> Option<Wake> {
        let (now_ns, sequence) = (self.now_ns, message as u64 + 1);
        let placed = &mut self.messages[message];
        placed.missing -= 1;
        placed.seen_ns = now_ns - placed.sent_ns;
        let bytes = placed.bytes.clone();
        let state = &mut self.servers[server];
        state.inbox = Some((sequence, bytes));
        state.followed = sequence;
        let after = state.sent.as_ref().map_or(u64::MAX, |(after, ..)| *after);
        if state.is_refused && sequence > after {
            state.is_refused = false;
            // After this one was followed, which is before anything else happens.
            self.schedule(now_ns, Event::Refuse { server });
        }
        self.wake(Wake::Tail(server))
    }
}

/// What one server sees of the world: a log.
struct Connection {
    world: Arc<World>,
    server: usize,
}

impl Log for Connection {
    fn id(&self) -> LogId {
        LogId::default()
    }

    /// Waits in virtual time. Of a message that was not first it is told once what was first is
    /// here: the cluster would wait for that itself, but not in virtual time.
    fn append(&self, after: u64, message: &Bytes, _: Duration) -> Result<Appended, LogError> {
        let (world, server) = (&self.world, self.server);
        let mut state = world.state();
        state.attempts += 1;
        let now_ns = state.now_ns;
        state.servers[server].sent = Some((after, message.clone(), now_ns));
        let reaches_ns = now_ns + state.times.prepare + state.way_ns(server);
        state.schedule(reaches_ns, Event::Reach { server });
        let mut state = world.rest(state);
        loop {
            if let Some(answer) = state.servers[server].answer.take() {
                return Ok(answer);
            }
            if state.is_over {
                return Err(LogError::Closed);
            }
            let waited = world.clients[server].wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        let place = usize::try_from(sequence).map_or(usize::MAX, |place| place.wrapping_sub(1));
        Ok(self.world.state().messages.get(place).map(|message| message.bytes.clone()))
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        Ok((1, self.world.state().messages.len() as u64))
    }

    fn tail(&self, _: u64) -> Tail {
        let (world, server) = (Arc::clone(&self.world), self.server);
        Box::new(std::iter::from_fn(move || {
            let mut state = world.rest(world.state());
            loop {
                if let Some(found) = state.servers[server].inbox.take() {
                    return Some(found);
                }
                if state.servers[server].is_closed {
                    return None;
                }
                let waited = world.tails[server].wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }))
    }

    fn close(&self) {
        self.world.state().servers[self.server].is_closed = true;
        self.world.tails[self.server].notify_all();
    }
}
