//! A log in memory that does what real ones do at their worst, as its seed says.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use jungle_cluster::{Appended, Depot, Got, Log, LogError, LogId, Stored, Tail, WriteCheckpoint};
use jungle_db::Timestamp;
use jungle_testkit::Rng;

/// The log itself: what every server sees through a connection of its own.
#[derive(Default)]
pub struct Engine {
    pub id: LogId,
    /// All there ever were.
    messages: Mutex<Vec<Bytes>>,
    grown: Condvar,
    /// Those up to here are gone.
    trimmed: Mutex<u64>,
    checkpoints: Mutex<BTreeMap<u64, Vec<u8>>>,
    claimed: Mutex<bool>,
    /// Messages that come damaged, and how often still.
    pub damaged: Mutex<BTreeMap<u64, u32>>,
    /// In which byte; otherwise in the last of the hash, by which checkpoints know it.
    pub damaged_at: Mutex<Option<usize>>,
    /// How often it had another leader.
    pub leaders: AtomicU64,
    /// For so long it elects one: whoever reads a message and waits no longer gets no answer.
    pub elects_for: Mutex<Duration>,
    /// What time it is there, if that is known.
    pub time: Mutex<Option<Timestamp>>,
    receivers: Mutex<BTreeMap<String, Got>>,
    /// What was sent and has not come yet.
    late: Mutex<Vec<(String, Bytes)>>,
}

/// One server's connection.
pub struct FaultyLog {
    engine: Arc<Engine>,
    rng: Mutex<Rng>,
    /// Of so many answers one is lost, and as many messages come twice; 0: none.
    pub faults: u64,
    closed: Arc<Mutex<bool>>,
}

impl Engine {
    pub fn known_by(id: LogId) -> Arc<Engine> {
        Arc::new(Engine { id, ..Engine::default() })
    }

    pub fn connect(self: &Arc<Self>, rng: &mut Rng, faults: u64) -> Arc<FaultyLog> {
        let (engine, rng) = (Arc::clone(self), Mutex::new(rng.fork()));
        Arc::new(FaultyLog { engine, rng, faults, closed: Arc::default() })
    }

    pub fn messages(&self) -> MutexGuard<'_, Vec<Bytes>> {
        self.messages.lock().unwrap()
    }

    pub fn checkpoints(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<u8>>> {
        self.checkpoints.lock().unwrap()
    }

    pub fn trimmed(&self) -> u64 {
        *self.trimmed.lock().unwrap()
    }

    /// A message as it comes now.
    fn read(&self, sequence: u64, message: &Bytes) -> Bytes {
        match self.damaged.lock().unwrap().get_mut(&sequence) {
            Some(times) if *times > 0 => {
                *times -= 1;
                let mut bytes = message.to_vec();
                let at = self.damaged_at.lock().unwrap().unwrap_or(bytes.len() - 1);
                bytes[at] ^= 1;
                bytes.into()
            }
            _ => message.clone(),
        }
    }

    fn deliver(&self, to: &str, bytes: &[u8]) {
        let got = self.receivers.lock().unwrap().get(to).cloned();
        if let Some(got) = got {
            got(bytes);
        }
    }
}

impl FaultyLog {
    fn is_unlucky(&self) -> bool {
        self.faults > 0 && self.rng.lock().unwrap().below(self.faults) == 0
    }

    /// A call that may not come to the engine, or whose answer may not come back.
    fn call<T>(&self, call: impl FnOnce() -> T) -> Result<T, LogError> {
        let lost = LogError::NoAnswer { within: Duration::ZERO, last: None };
        if self.is_unlucky() {
            return Err(lost);
        }
        let answer = call();
        if self.is_unlucky() { Err(lost) } else { Ok(answer) }
    }
}

impl Log for FaultyLog {
    fn id(&self) -> LogId {
        self.engine.id
    }

    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError> {
        if self.is_unlucky() {
            return Err(LogError::NoAnswer { within, last: None });
        }
        let mut messages = self.engine.messages();
        if messages.len() as u64 != after {
            let is_ours = messages.get(after as usize) == Some(message);
            return Ok(if is_ours { Appended::At(after + 1) } else { Appended::Behind });
        }
        messages.push(message.clone());
        self.engine.grown.notify_all();
        drop(messages);
        if self.is_unlucky() {
            return Err(LogError::NoAnswer { within, last: None });
        }
        Ok(Appended::At(after + 1))
    }

    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        let is_there = sequence > self.engine.trimmed();
        let at = (sequence as usize).wrapping_sub(1);
        let messages = self.engine.messages();
        let found = messages.get(at).filter(|_| is_there);
        Ok(found.map(|message| self.engine.read(sequence, message)))
    }

    fn get_within(&self, sequence: u64, within: Duration) -> Result<Option<Bytes>, LogError> {
        if within < *self.engine.elects_for.lock().unwrap() {
            return Err(LogError::NoAnswer { within, last: None });
        }
        self.get(sequence)
    }

    fn bounds(&self) -> Result<(u64, u64), LogError> {
        Ok((self.engine.trimmed() + 1, self.engine.messages().len() as u64))
    }

    fn tail(&self, from: u64) -> Tail {
        let (engine, closed) = (Arc::clone(&self.engine), Arc::clone(&self.closed));
        let (mut next, faults) = (from, self.faults);
        let mut rng = self.rng.lock().unwrap().fork();
        Box::new(std::iter::from_fn(move || {
            let mut messages = engine.messages();
            while messages.len() < next as usize {
                if *closed.lock().unwrap() {
                    return None;
                }
                messages = engine.grown.wait(messages).unwrap();
            }
            let unlucky = faults > 0 && rng.below(faults) == 0;
            // One that came before comes again, or one is left out: the next one has it.
            let at = match rng.below(2) {
                0 if unlucky && next > 1 => next - 1,
                _ if unlucky && messages.len() > next as usize => next + 1,
                _ => next,
            };
            let at = at.max(engine.trimmed() + 1);
            next = at + 1;
            Some((at, engine.read(at, &messages[at as usize - 1])))
        }))
    }

    fn leaders(&self) -> u64 {
        self.engine.leaders.load(Ordering::SeqCst)
    }

    fn time(&self) -> Option<Timestamp> {
        *self.engine.time.lock().unwrap()
    }

    fn close(&self) {
        let messages = self.engine.messages();
        *self.closed.lock().unwrap() = true;
        self.engine.grown.notify_all();
        drop(messages);
    }

    /// Some of it is lost, comes twice, or long after.
    fn send(&self, to: &str, bytes: Bytes) {
        let late = std::mem::take(&mut *self.engine.late.lock().unwrap());
        late.iter().for_each(|(to, bytes)| self.engine.deliver(to, bytes));
        if self.is_unlucky() {
            return;
        }
        if self.is_unlucky() {
            let mut late = self.engine.late.lock().unwrap();
            late.push((to.to_owned(), bytes.clone()));
            if self.is_unlucky() {
                return;
            }
        }
        self.engine.deliver(to, &bytes);
    }

    fn receive(&self, server: &str, got: Got) -> bool {
        self.engine.receivers.lock().unwrap().insert(server.to_owned(), got);
        true
    }

    fn depot(&self) -> Option<&dyn Depot> {
        Some(self)
    }
}

impl Depot for FaultyLog {
    fn stored(&self) -> Result<Vec<u64>, LogError> {
        self.call(|| self.engine.checkpoints().keys().rev().copied().collect())
    }

    fn put(&self, sequence: u64, write: WriteCheckpoint<'_>) -> Result<(), LogError> {
        let mut bytes = Vec::new();
        write(&mut bytes)
            .map_err(|error| LogError::Checkpoint { sequence, source: error.into() })?;
        self.call(|| drop(self.engine.checkpoints().insert(sequence, bytes)))
    }

    fn open(&self, sequence: u64) -> Result<Stored, LogError> {
        let found = self.call(|| self.engine.checkpoints().get(&sequence).cloned())?;
        let source = "it is not there".into();
        let bytes = found.ok_or(LogError::Checkpoint { sequence, source })?;
        Ok(Stored { bytes: bytes.len() as u64, content: Box::new(Cursor::new(bytes)) })
    }

    fn remove(&self, sequence: u64) -> Result<(), LogError> {
        self.call(|| drop(self.engine.checkpoints().remove(&sequence)))
    }

    fn trim(&self, sequence: u64) -> Result<(), LogError> {
        self.call(|| {
            let mut trimmed = self.engine.trimmed.lock().unwrap();
            *trimmed = sequence.max(*trimmed);
        })
    }

    /// Now and then a claim is taken to have faded.
    fn claim(&self, _: &str) -> Result<bool, LogError> {
        let has_faded = self.is_unlucky();
        self.call(|| {
            let mut claimed = self.engine.claimed.lock().unwrap();
            !std::mem::replace(&mut *claimed, true) || has_faded
        })
    }

    fn release(&self) {
        *self.engine.claimed.lock().unwrap() = false;
    }
}
