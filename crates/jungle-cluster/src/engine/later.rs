//! A log whose engine may be away when a server starts.

use std::error::Error;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jungle_db::Timestamp;

use crate::cluster::elsewhere::{Elsewhere, TellTrees};
use crate::cluster::survey::{MirrorStatus, Survey, Tell};
use crate::engine::depot::Depot;
use crate::engine::error::ConnectError;
use crate::engine::log::{Appended, Got, Heard, Log, LogError, LogId, Say, SeeEnd, Tail};

/// Whoever runs the server is told again after so long that the engine refuses it, which is asked
/// about ten times a second.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// How the log is come by.
type Connect = dyn Fn() -> Result<Arc<dyn Log>, ConnectError> + Send + Sync;

/// A log that is connected to when its engine can be reached; until then it says that nobody
/// answers. For [`Cluster::resume`](crate::Cluster::resume).
pub struct LaterLog {
    id: LogId,
    begun: Instant,
    /// Shared with the thread that connects: that may take long, and who leaves does not wait.
    connection: Arc<Connection>,
}

struct Connection {
    connect: Box<Connect>,
    log: OnceLock<Arc<dyn Log>>,
    /// What it was told before there was a log.
    waiting: Mutex<Waiting>,
    /// There is a log, or there is none, or it was closed.
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    tell: Option<Tell>,
    trees: Option<TellTrees>,
    say: Option<Say>,
    see_end: Option<SeeEnd>,
    heard: Option<Heard>,
    got: Option<(String, Got)>,
    is_connecting: bool,
    /// Why there is no log.
    failed: Option<ConnectError>,
    /// What was told of that within the last minute, and when: at most one of each kind.
    told: Vec<(Discriminant<ConnectError>, Instant)>,
    is_closed: bool,
}

impl fmt::Debug for LaterLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LaterLog");
        shown.field("id", &self.id.to_string()).field("is_there", &self.there().is_some());
        shown.finish_non_exhaustive()
    }
}

impl LaterLog {
    /// The log that is known by `id`, as `connect` gives it, which may take as long as it likes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_cluster::{LaterLog, Log, LogError, MemoryLog};
    ///
    /// let engine = MemoryLog::new();
    /// let (id, here) = (engine.id(), engine.connect());
    /// let log = LaterLog::new(id, move || Ok(Arc::new(here.connect()) as Arc<dyn Log>));
    /// // Nobody has connected yet; who asks for its bounds does.
    /// assert!(matches!(log.get(1), Err(LogError::NoAnswer { .. })));
    /// assert_eq!(log.bounds()?, (1, 0));
    /// assert_eq!(log.get(1)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        id: LogId,
        connect: impl Fn() -> Result<Arc<dyn Log>, ConnectError> + Send + Sync + 'static,
    ) -> LaterLog {
        let (log, waiting, news) = Default::default();
        let connection = Connection { connect: Box::new(connect), log, waiting, news };
        LaterLog { id, begun: Instant::now(), connection: Arc::new(connection) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.connection.waiting()
    }

    fn there(&self) -> Option<&Arc<dyn Log>> {
        self.connection.log.get()
    }

    fn log(&self) -> Result<&Arc<dyn Log>, LogError> {
        self.there().ok_or_else(|| no_answer(None))
    }

    /// Connects, if nobody has yet, or does just now. Asked for by [`bounds`](Log::bounds) only:
    /// who commits does not wait for that.
    fn connected(&self) -> Result<&Arc<dyn Log>, LogError> {
        let mut waiting = self.waiting();
        if waiting.is_closed {
            return Err(LogError::Closed);
        }
        if self.there().is_some() || waiting.is_connecting {
            return self.log();
        }
        let connection = Arc::clone(&self.connection);
        let thread = thread::Builder::new().name("engine looked for".to_owned());
        thread.spawn(move || connection.make()).map_err(|error| no_answer(Some(error.into())))?;
        waiting.is_connecting = true;
        let is_open = |waiting: &mut Waiting| waiting.is_connecting && !waiting.is_closed;
        let waited = self.connection.news.wait_while(waiting, is_open);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return Err(LogError::Closed);
        }
        let failed = waiting.failed.take();
        self.there().ok_or_else(|| no_answer(failed.map(Into::into)))
    }
}

fn no_answer(last: Option<Box<dyn Error + Send + Sync>>) -> LogError {
    LogError::NoAnswer { within: Duration::ZERO, last }
}

impl Connection {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects, unless it is closed meanwhile.
    fn make(&self) {
        // Who waits for it would wait for ever.
        let made = catch_unwind(AssertUnwindSafe(|| (self.connect)()));
        let mut waiting = self.waiting();
        waiting.is_connecting = false;
        match made {
            Ok(Ok(log)) if !waiting.is_closed => {
                waiting.pass_on(&*log);
                self.log.get_or_init(|| log);
            }
            Ok(Err(error)) => {
                // Nobody waits for an answer that comes by itself.
                if !error.is_away() && waiting.is_news(&error, Instant::now()) {
                    let why = error.source().map(ToString::to_string);
                    tracing::warn!(%error, why, "the engine is there, and refuses this server");
                }
                waiting.failed = Some(error);
            }
            // Of a panic it has printed where that was; whoever asks next has it tried again.
            Ok(Ok(_)) | Err(_) => {}
        }
        drop(waiting);
        self.news.notify_all();
    }
}

impl Waiting {
    /// Is a refusal to be told now? One that only names another server of the engine is the same.
    fn is_news(&mut self, refusal: &ConnectError, now: Instant) -> bool {
        let kind = discriminant(refusal);
        self.told.retain(|(_, at)| now.duration_since(*at) < TOLD_EVERY);
        let is_news = self.told.iter().all(|(told, _)| *told != kind);
        if is_news {
            self.told.push((kind, now));
        }
        is_news
    }

    /// Tells a log what was to be told.
    fn pass_on(&mut self, log: &dyn Log) {
        if let Some(tell) = self.tell.take() {
            log.answer(tell);
        }
        if let Some(tell) = self.trees.take() {
            log.answer_trees(tell);
        }
        if let Some(say) = self.say.take() {
            log.answer_each(say);
        }
        if let Some(see) = self.see_end.take() {
            log.watch_end(see);
        }
        if let Some(heard) = self.heard.take() {
            log.hear_line(heard);
        }
        if let Some((server, got)) = self.got.take() {
            log.receive(&server, got);
        }
    }
}

impl Log for LaterLog {
    fn id(&self) -> LogId {
        self.there().map_or(self.id, |log| log.id())
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        self.log()?.append(after, message, within)
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log()?.get(sequence)
    }

    fn get_within(&self, sequence: u64, within: Duration) -> Result<Option<Bytes>, LogError> {
        self.log()?.get_within(sequence, within)
    }

    fn search(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.log()?.search(sequence)
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
        self.connection.news.notify_all();
        if let Some(log) = self.there() {
            log.close();
        }
    }

    fn depot(&self) -> Option<&dyn Depot> {
        self.there()?.depot()
    }

    fn answer(&self, tell: Tell) {
        let mut waiting = self.waiting();
        match self.there() {
            Some(log) => log.answer(tell),
            None => waiting.tell = Some(tell),
        }
    }

    fn answer_trees(&self, tell: TellTrees) {
        let mut waiting = self.waiting();
        match self.there() {
            Some(log) => log.answer_trees(tell),
            None => waiting.trees = Some(tell),
        }
    }

    fn elsewhere(&self, tree: Option<&str>, within: Duration) -> Result<Vec<Elsewhere>, LogError> {
        self.log()?.elsewhere(tree, within)
    }

    fn answer_each(&self, say: Say) {
        let mut waiting = self.waiting();
        match self.there() {
            Some(log) => log.answer_each(say),
            None => waiting.say = Some(say),
        }
    }

    fn ask(&self, question: Vec<u8>, within: Duration) -> Result<Option<Vec<Vec<u8>>>, LogError> {
        self.log()?.ask(question, within)
    }

    fn mirror(&self) -> Option<MirrorStatus> {
        self.there()?.mirror()
    }

    fn leaders(&self) -> u64 {
        self.there().map_or(0, |log| log.leaders())
    }

    /// Until it was reached, since there was to be one.
    fn outage(&self) -> Option<Duration> {
        self.there().map_or_else(|| Some(self.begun.elapsed()), |log| log.outage())
    }

    fn time(&self) -> Option<Timestamp> {
        self.there()?.time()
    }

    fn watch_end(&self, see: SeeEnd) {
        let mut waiting = self.waiting();
        match self.there() {
            Some(log) => log.watch_end(see),
            None => waiting.see_end = Some(see),
        }
    }

    fn wait_in_line(&self, server: &str) {
        if let Some(log) = self.there() {
            log.wait_in_line(server);
        }
    }

    fn hear_line(&self, heard: Heard) {
        let mut waiting = self.waiting();
        match self.there() {
            Some(log) => log.hear_line(heard),
            None => waiting.heard = Some(heard),
        }
    }

    fn send(&self, to: &str, bytes: Bytes) {
        if let Some(log) = self.there() {
            log.send(to, bytes);
        }
    }

    fn receive(&self, server: &str, got: Got) -> bool {
        let mut waiting = self.waiting();
        if let Some(log) = self.there() {
            return log.receive(server, got);
        }
        waiting.got = Some((server.to_owned(), got));
        true
    }

    fn survey(&self, within: Duration) -> Result<Option<Survey>, LogError> {
        self.log()?.survey(within)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::engine::memory::MemoryLog;

    #[test]
    fn an_engine_is_looked_for_again_after_a_panic() {
        let (engine, panics) = (MemoryLog::new(), AtomicBool::new(true));
        let (id, here) = (engine.id(), engine.connect());
        let log = LaterLog::new(id, move || {
            assert!(!panics.swap(false, Ordering::SeqCst), "as it connects");
            Ok(Arc::new(here.connect()) as Arc<dyn Log>)
        });
        assert!(matches!(log.bounds(), Err(LogError::NoAnswer { .. })));
        assert_eq!(log.bounds().unwrap(), (1, 0));
    }

    #[test]
    fn a_refusal_is_told_once_a_minute() {
        let (mut waiting, begun) = (Waiting::default(), Instant::now());
        let mut is_news = |refusal: &ConnectError, seconds| {
            waiting.is_news(refusal, begun + Duration::from_secs(seconds))
        };
        let unsynced = |server: &str| ConnectError::Unsynced { server: server.to_owned() };
        assert!(is_news(&unsynced("n1"), 0));
        assert!(!is_news(&unsynced("n2"), 59));
        assert!(is_news(&unsynced("n1"), 60));
        assert!(is_news(&ConnectError::SyncUnknown, 61));
        // Two that take turns, as where one of the engine's servers says nothing now and then.
        assert!(!is_news(&unsynced("n1"), 62));
        assert!(!is_news(&ConnectError::SyncUnknown, 63));
        assert!(is_news(&unsynced("n1"), 120));
    }
}
