//! A log in memory: a cluster within one process, without an engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io::{Cursor, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::cluster::survey::{LogStatus, Survey, Tell};
use crate::engine::depot::{Depot, Stored, WriteCheckpoint};
use crate::engine::log::{Appended, Got, Log, LogError, LogId, Say, Tail};

/// A log in memory, with its checkpoints, for the tests of programs that are to run in a cluster:
/// its servers are all in one process, and there is no engine. Each has a connection of its own,
/// as it would have to the engine.
///
/// It ends with its last connection, and nothing of it lasts. It takes up as much memory as its
/// messages and checkpoints; what the checkpoint before the newest one has is removed, as in an
/// engine.
///
/// ```
/// use std::sync::Arc;
/// use jungle_cluster::{Cluster, MemoryLog, Options};
/// use jungle_db::Jungle;
///
/// let log = MemoryLog::new();
/// let (one, other) = (Jungle::builder().build()?, Jungle::builder().build()?);
/// let _one = Cluster::follow(Arc::new(log.connect()), &one, &Options::default())?;
/// let cluster = Cluster::follow(Arc::new(log.connect()), &other, &Options::default())?;
///
/// let board = one.create_tree("board")?;
/// let posted = board.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// assert!(cluster.wait_for(posted.revision, Options::default().join_within));
/// let board = other.open_tree("board")?;
/// assert_eq!(board.snapshot().root().attribute("title"), Some("Hello".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: a server that is cut off
/// A log of one's own can do what an engine does at its worst.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// use std::time::Duration;
/// use bytes::Bytes;
/// use jungle_cluster::{Appended, Cluster, Log, LogError, LogId, MemoryLog, Options, Tail};
/// use jungle_db::Jungle;
///
/// struct Cut {
///     log: MemoryLog,
///     is_away: AtomicBool,
/// }
///
/// impl Log for Cut {
///     fn append(&self, after: u64, it: &Bytes, within: Duration) -> Result<Appended, LogError> {
///         match self.is_away.load(SeqCst) {
///             true => Err(LogError::NoAnswer { within, last: None }),
///             false => self.log.append(after, it, within),
///         }
///     }
///     // The rest as it is.
/// #   fn id(&self) -> LogId { self.log.id() }
/// #   fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> { self.log.get(sequence) }
/// #   fn bounds(&self) -> Result<(u64, u64), LogError> { self.log.bounds() }
/// #   fn tail(&self, from: u64) -> Tail { self.log.tail(from) }
/// #   fn close(&self) { self.log.close() }
/// }
///
/// let cut = Arc::new(Cut { log: MemoryLog::new(), is_away: AtomicBool::new(false) });
/// let jungle = Jungle::builder().build()?;
/// let options = Options { commit_within: Duration::from_millis(20), ..Options::default() };
/// let _cluster = Cluster::follow(cut.clone(), &jungle, &options)?;
/// jungle.create_tree("board")?;
/// cut.is_away.store(true, SeqCst);
/// assert!(jungle.create_tree("notes").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryLog {
    shared: Arc<Shared>,
    /// The number of this connection.
    number: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is another message, or a connection was closed.
    news: Condvar,
}

#[derive(Default)]
struct State {
    id: LogId,
    /// Those that are there; `trimmed` were before them.
    messages: VecDeque<Bytes>,
    trimmed: u64,
    checkpoints: BTreeMap<u64, Bytes>,
    /// The connection whose server writes a checkpoint.
    claimed: Option<u64>,
    connections: u64,
    /// Those that were closed. Numbers are not used again.
    closed: BTreeSet<u64>,
    /// Who says how the server of a connection stands.
    tells: BTreeMap<u64, Tell>,
    /// Who answers for the server of a connection.
    says: BTreeMap<u64, Say>,
    /// What is sent to the server of a connection, by what that is known by.
    receivers: BTreeMap<u64, (String, Got)>,
}

impl State {
    fn last(&self) -> u64 {
        self.trimmed + self.messages.len() as u64
    }

    fn get(&self, sequence: u64) -> Option<&Bytes> {
        let at = sequence.checked_sub(self.trimmed + 1)?;
        self.messages.get(usize::try_from(at).ok()?)
    }
}

impl MemoryLog {
    /// A log of its own, without a message.
    ///
    /// ```
    /// use jungle_cluster::{Log, MemoryLog};
    /// assert_eq!(MemoryLog::new().bounds()?, (1, 0));
    /// # Ok::<(), jungle_cluster::LogError>(())
    /// ```
    ///
    /// # Panics
    /// If the system gives no random numbers, from which it has its [`LogId`].
    #[must_use]
    pub fn new() -> MemoryLog {
        let mut id = LogId::default();
        getrandom::fill(&mut id.0).expect("systems that we run on have random numbers");
        let state = State { id, connections: 1, ..State::default() };
        let shared = Shared { state: Mutex::new(state), news: Condvar::new() };
        MemoryLog { shared: Arc::new(shared), number: 0 }
    }

    /// Another connection to the same log, for another server: to [close](Log::close) one ends
    /// only its own tails.
    ///
    /// ```
    /// use jungle_cluster::{Log, MemoryLog};
    /// let one = MemoryLog::new();
    /// let other = one.connect();
    /// assert_eq!(one.id(), other.id());
    /// ```
    #[must_use]
    pub fn connect(&self) -> MemoryLog {
        let mut state = self.lock();
        let number = state.connections;
        state.connections += 1;
        MemoryLog { shared: Arc::clone(&self.shared), number }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log, unless this connection was closed.
    fn unless_closed(&self) -> Result<MutexGuard<'_, State>, LogError> {
        let state = self.lock();
        if state.closed.contains(&self.number) { Err(LogError::Closed) } else { Ok(state) }
    }
}

impl Default for MemoryLog {
    fn default() -> MemoryLog {
        MemoryLog::new()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let mut shown = f.debug_struct("MemoryLog");
        shown.field("id", &state.id.to_string()).field("last", &state.last());
        shown.finish_non_exhaustive()
    }
}

impl Log for MemoryLog {
    fn id(&self) -> LogId {
        self.lock().id
    }

    fn append(&self, after: u64, message: &Bytes, _: Duration) -> Result<Appended, LogError> {
        let mut state = self.unless_closed()?;
        if state.last() != after {
            let is_there = state.get(after + 1) == Some(message);
            return Ok(if is_there { Appended::At(after + 1) } else { Appended::Behind });
        }
        state.messages.push_back(message.clone());
        self.shared.news.notify_all();
        Ok(Appended::At(after + 1))
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        Ok(self.unless_closed()?.get(sequence).cloned())
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        let state = self.unless_closed()?;
        Ok((state.trimmed + 1, state.last()))
    }

    fn tail(&self, from: u64) -> Tail {
        let (shared, number) = (Arc::clone(&self.shared), self.number);
        let mut next = from;
        Box::new(std::iter::from_fn(move || {
            let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            let is_to_wait =
                |state: &mut State| state.last() < next && !state.closed.contains(&number);
            let state = shared.news.wait_while(state, is_to_wait);
            let state = state.unwrap_or_else(PoisonError::into_inner);
            if state.closed.contains(&number) {
                return None;
            }
            // What was trimmed meanwhile is left out, and missed by whoever follows.
            let at = next.max(state.trimmed + 1);
            next = at + 1;
            state.get(at).map(|message| (at, message.clone()))
        }))
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed.insert(self.number);
        let tell = state.tells.remove(&self.number);
        let say = state.says.remove(&self.number);
        let got = state.receivers.remove(&self.number);
        if state.claimed == Some(self.number) {
            state.claimed = None;
        }
        self.shared.news.notify_all();
        drop(state);
        // What they hold may hold a connection.
        drop((tell, say, got));
    }

    fn depot(&self) -> Option<&dyn Depot> {
        Some(self)
    }

    fn answer(&self, tell: Tell) {
        if let Ok(mut state) = self.unless_closed() {
            state.tells.insert(self.number, tell);
        }
    }

    fn answer_each(&self, say: Say) {
        if let Ok(mut state) = self.unless_closed() {
            state.says.insert(self.number, say);
        }
    }

    /// Waits for nothing: all are here.
    fn ask(&self, question: Vec<u8>, _: Duration) -> Result<Option<Vec<Vec<u8>>>, LogError> {
        let says: Vec<Say> = self.unless_closed()?.says.values().cloned().collect();
        Ok(Some(says.iter().filter_map(|say| say(&question)).collect()))
    }

    /// It is there when this returns.
    fn send(&self, to: &str, bytes: Bytes) {
        let state = self.lock();
        let found = state.receivers.values().find(|(server, _)| server == to);
        let got = found.map(|(_, got)| Arc::clone(got));
        drop(state);
        if let Some(got) = got {
            got(&bytes);
        }
    }

    fn receive(&self, server: &str, got: Got) -> bool {
        let mut state = self.lock();
        if !state.closed.contains(&self.number) {
            state.receivers.insert(self.number, (server.to_owned(), got));
        }
        true
    }

    /// Waits for nothing: all are here.
    fn survey(&self, _: Duration) -> Result<Option<Survey>, LogError> {
        let state = self.unless_closed()?;
        let log = LogStatus {
            stream: "memory".to_owned(),
            first: state.trimmed + 1,
            last: state.last(),
            bytes: state.messages.iter().map(|message| message.len() as u64).sum(),
            leader: None,
            replicas: Vec::new(),
            syncs: None,
        };
        let tells: Vec<Tell> = state.tells.values().cloned().collect();
        drop(state);
        let mut servers: Vec<_> = tells.iter().map(|tell| tell()).collect();
        servers.sort_by(|one, other| one.server.cmp(&other.server));
        Ok(Some(Survey { log, servers }))
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Depot for MemoryLog {
    fn stored(&self) -> Result<Vec<u64>, LogError> {
        Ok(self.unless_closed()?.checkpoints.keys().rev().copied().collect())
    }

    fn put(&self, sequence: u64, write: WriteCheckpoint<'_>) -> Result<(), LogError> {
        let mut bytes = Vec::new();
        write(&mut bytes)
            .map_err(|error| LogError::Checkpoint { sequence, source: error.into() })?;
        self.unless_closed()?.checkpoints.insert(sequence, bytes.into());
        Ok(())
    }

    fn open(&self, sequence: u64) -> Result<Stored, LogError> {
        let found = self.unless_closed()?.checkpoints.get(&sequence).cloned();
        let source = "it is not there".into();
        let bytes = found.ok_or(LogError::Checkpoint { sequence, source })?;
        let content: Box<dyn Read + Send> = Box::new(Cursor::new(bytes.clone()));
        Ok(Stored { bytes: bytes.len() as u64, content })
    }

    fn remove(&self, sequence: u64) -> Result<(), LogError> {
        self.unless_closed()?.checkpoints.remove(&sequence);
        Ok(())
    }

    fn trim(&self, sequence: u64) -> Result<(), LogError> {
        let mut state = self.unless_closed()?;
        while state.trimmed < sequence && state.messages.pop_front().is_some() {
            state.trimmed += 1;
        }
        Ok(())
    }

    fn claim(&self, _: &str) -> Result<bool, LogError> {
        let mut state = self.unless_closed()?;
        let is_ours = state.claimed.is_none_or(|claimant| claimant == self.number);
        if is_ours {
            state.claimed = Some(self.number);
        }
        Ok(is_ours)
    }

    fn release(&self) {
        let mut state = self.lock();
        if state.claimed == Some(self.number) {
            state.claimed = None;
        }
    }
}
