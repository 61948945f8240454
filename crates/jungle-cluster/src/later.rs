//! A log whose engine may be away when a server starts.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::depot::Depot;
use crate::elsewhere::{Elsewhere, TellTrees};
use crate::log::{Appended, Got, Heard, Log, LogError, LogId, Tail};
use crate::nats::ConnectError;
use crate::survey::{MirrorStatus, Survey, Tell};

/// How the log is come by.
type Connect = dyn Fn() -> Result<Arc<dyn Log>, ConnectError> + Send + Sync;

/// A log that is connected to when its engine can be reached; until then it says that nobody
/// answers. For [`Cluster::resume`](crate::Cluster::resume).
pub struct LaterLog {
    id: LogId,
    connect: Box<Connect>,
    log: OnceLock<Arc<dyn Log>>,
    begun: Instant,
    /// What it was told before there was a log.
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    tell: Option<Tell>,
    trees: Option<TellTrees>,
    heard: Option<Heard>,
    got: Option<(String, Got)>,
    is_closed: bool,
}

impl fmt::Debug for LaterLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LaterLog");
        shown.field("id", &self.id.to_string()).field("is_there", &self.log.get().is_some());
        shown.finish_non_exhaustive()
    }
}

impl LaterLog {
    /// The log that is known by `id`, as `connect` gives it.
    pub fn new(
        id: LogId,
        connect: impl Fn() -> Result<Arc<dyn Log>, ConnectError> + Send + Sync + 'static,
    ) -> LaterLog {
        let (log, waiting) = Default::default();
        LaterLog { id, connect: Box::new(connect), log, begun: Instant::now(), waiting }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> Result<&Arc<dyn Log>, LogError> {
        let away = || LogError::NoAnswer { within: Duration::ZERO, last: None };
        self.log.get().ok_or_else(away)
    }

    /// Connects, if nobody has yet. Asked for by [`bounds`](Log::bounds) only: who commits does not
    /// wait for that.
    fn connected(&self) -> Result<&Arc<dyn Log>, LogError> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return Err(LogError::Closed);
        }
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let away = |error: ConnectError| LogError::NoAnswer {
            within: Duration::ZERO,
            last: Some(Box::new(error)),
        };
        let log = (self.connect)().map_err(away)?;
        if let Some(tell) = waiting.tell.take() {
            log.answer(tell);
        }
        if let Some(tell) = waiting.trees.take() {
            log.answer_trees(tell);
        }
        if let Some(heard) = waiting.heard.take() {
            log.hear_line(heard);
        }
        if let Some((server, got)) = waiting.got.take() {
            log.receive(&server, got);
        }
        Ok(self.log.get_or_init(|| log))
    }
}

impl Log for LaterLog {
    fn id(&self) -> LogId {
        self.log.get().map_or(self.id, |log| log.id())
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        self.log()?.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log()?.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        self.connected()?.bounds()
    }

    /// Without an engine there is nothing to come.
    fn tail(&self, from: u64) -> Tail {
        match self.log() {
            Ok(log) => log.tail(from),
            Err(_) => Box::new(std::iter::empty()),
        }
    }

    fn close(&self) {
        self.waiting().is_closed = true;
        if let Some(log) = self.log.get() {
            log.close();
        }
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.log.get()?.depot()
    }

    fn answer(&self, tell: Tell) {
        let mut waiting = self.waiting();
        match self.log.get() {
            Some(log) => log.answer(tell),
            None => waiting.tell = Some(tell),
        }
    }

    fn answer_trees(&self, tell: TellTrees) {
        let mut waiting = self.waiting();
        match self.log.get() {
            Some(log) => log.answer_trees(tell),
            None => waiting.trees = Some(tell),
        }
    }

    fn elsewhere(&self, tree: Option<&str>, within: Duration) -> Result<Vec<Elsewhere>, LogError> {
        self.log()?.elsewhere(tree, within)
    }

    fn mirror(&self) -> Option<MirrorStatus> {
        self.log.get()?.mirror()
    }

    /// Until it was reached, since there was to be one.
    fn outage(&self) -> Option<Duration> {
        self.log.get().map_or_else(|| Some(self.begun.elapsed()), |log| log.outage())
    }

    fn wait_in_line(&self, server: &str) {
        if let Some(log) = self.log.get() {
            log.wait_in_line(server);
        }
    }

    fn hear_line(&self, heard: Heard) {
        let mut waiting = self.waiting();
        match self.log.get() {
            Some(log) => log.hear_line(heard),
            None => waiting.heard = Some(heard),
        }
    }

    fn send(&self, to: &str, bytes: Bytes) {
        if let Some(log) = self.log.get() {
            log.send(to, bytes);
        }
    }

    fn receive(&self, server: &str, got: Got) -> bool {
        let mut waiting = self.waiting();
        if let Some(log) = self.log.get() {
            return log.receive(server, got);
        }
        waiting.got = Some((server.to_owned(), got));
        true
    }

    fn survey(&self, within: Duration) -> Result<Option<Survey>, LogError> {
        self.log()?.survey(within)
    }
}
