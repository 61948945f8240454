//! What is needed of an engine: one log, in which everybody sees the same.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jungle_db::Timestamp;

use crate::cluster::elsewhere::{Elsewhere, TellTrees};
use crate::cluster::survey::{MirrorStatus, Survey, Tell};
use crate::engine::depot::Depot;
use crate::error::Fault;
use crate::message;

/// A log of messages that is the same for all servers of a cluster. Messages have the sequences 1,
/// 2, 3 and so on, without gaps; the oldest ones may be gone.
///
/// All calls wait, and are for ordinary threads.
pub trait Log: Send + Sync {
    /// Which log it is.
    fn id(&self) -> LogId;

    /// Appends a message if `after` is the sequence of the newest one (0: there is none), and waits
    /// until the log keeps it, for at most `within`. The same message is never appended twice.
    ///
    /// # Errors
    /// When it cannot be appended, or it is not known whether it was.
    fn append(&self, after: u64, message: &Bytes, within: Duration) -> Result<Appended, LogError>;

    /// The message with this sequence, as the leader of the log has it; `None` when there is none,
    /// as of 0, behind which a log begins.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError>;

    /// The same, asked for no longer than about this.
    ///
    /// # Errors
    /// When the engine does not answer by then.
    fn get_within(&self, sequence: u64, within: Duration) -> Result<Option<Bytes>, LogError> {
        let _ = within;
        self.get(sequence)
    }

    /// A message that is there, and that [`get`](Log::get) or [`tail`](Log::tail) does not give, or
    /// gives damaged: of anybody who keeps the log. It is tried a few times.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn search(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
        self.get(sequence)
    }

    /// The sequences of the oldest and of the newest message. Of a log without any, the oldest is
    /// the one that the next message gets.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn bounds(&self) -> Result<(u64, u64), LogError>;

    /// All messages from this sequence on, as they come. It ends when the log is closed.
    fn tail(&self, from: u64) -> Tail;

    /// Ends all tails, and what is waited for, with [`LogError::Closed`]: a message that was being
    /// appended may have been, or be yet.
    fn close(&self);

    /// Where its checkpoints are kept; without that there are none, and it is never trimmed.
    fn depot(&self) -> Option<&dyn Depot> {
        None
    }

    /// From now on, and until it is closed, whoever asks is told how this server stands; nobody,
    /// where servers cannot be asked.
    fn answer(&self, _tell: Tell) {}

    /// From now on, and until it is closed, servers of other clusters of the engine are told which
    /// trees this one has.
    fn answer_trees(&self, _tell: TellTrees) {}

    /// Which servers of other clusters of the engine have a tree, or which trees they have; nobody,
    /// where servers cannot be asked.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn elsewhere(
        &self,
        _tree: Option<&str>,
        _within: Duration,
    ) -> Result<Vec<Elsewhere>, LogError> {
        Ok(Vec::new())
    }

    /// From now on, and until it is closed, servers of this cluster that [ask](Log::ask) something
    /// get what is said to it.
    fn answer_each(&self, _say: Say) {}

    /// Asks all servers of the cluster, this one too, and gives what those say that do `within`
    /// this time; `None` where servers cannot be asked.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn ask(&self, _question: Vec<u8>, _within: Duration) -> Result<Option<Vec<Vec<u8>>>, LogError> {
        Ok(None)
    }

    /// The copy of the log nearby that [`tail`](Log::tail) comes from, if there is to be one.
    fn mirror(&self) -> Option<MirrorStatus> {
        None
    }

    /// How often the engine may have chosen another leader of the log, or another one be asked, as
    /// far as is known: it only grows. Whoever appends looks then whether it is still the log that
    /// it has followed.
    fn leaders(&self) -> u64 {
        0
    }

    /// For how long the log has not answered, if that is so; within some three seconds it is known.
    fn outage(&self) -> Option<Duration> {
        None
    }

    /// What time it is, as the engine has it; `None` while that is not known. A server whose own
    /// clock is far ahead of it does not give commits that time.
    fn time(&self) -> Option<Timestamp> {
        None
    }

    /// From now on, and until it is closed, `see` is told every few seconds which message is the
    /// newest one, as the leader says, or that nobody says it: who follows a log may find that it
    /// has become shorter.
    fn watch_end(&self, _see: SeeEnd) {}

    /// Tells all servers that this one waits for its turn, having come too late. Nobody needs to
    /// hear it.
    fn wait_in_line(&self, _server: &str) {}

    /// From now on, and until it is closed, `heard` is told which servers say so.
    fn hear_line(&self, _heard: Heard) {}

    /// Sends bytes to another server, which need not get them.
    fn send(&self, _to: &str, _bytes: Bytes) {}

    /// From now on, and until it is closed, `got` is given what is sent to this server; `false`
    /// where servers can send each other nothing.
    fn receive(&self, _server: &str, _got: Got) -> bool {
        false
    }

    /// How all servers stand that answer `within` this time, and the log; `None` where they cannot
    /// be asked.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn survey(&self, _within: Duration) -> Result<Option<Survey>, LogError> {
        Ok(None)
    }
}

/// A message as it was written, of anybody who has it so: the leader's may be lost or damaged.
/// `None` when there is none; a damaged one when nobody has another.
pub(crate) fn find(log: &dyn Log, sequence: u64) -> Result<Option<Bytes>, LogError> {
    let found = log.get(sequence)?;
    let is_as_it_was = match &found {
        Some(bytes) => message::is_whole(bytes),
        None => {
            let (first, last) = log.bounds()?;
            !(first..=last).contains(&sequence)
        }
    };
    if is_as_it_was { Ok(found) } else { Ok(log.search(sequence)?.or(found)) }
}

/// What a log is known by: drawn when it was made, and its own as long as it is there, and in a
/// copy that was restored. Folders and checkpoints have it, so that what is of another log, which
/// had the same name once, is not taken for this one's. In text, 32 hexadecimal digits.
///
/// ```
/// use jungle_cluster::LogId;
/// let id = LogId([7; 16]);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogId(pub [u8; 16]);

/// A text is no [`LogId`].
///
/// ```
/// use jungle_cluster::{LogId, LogIdError};
/// assert_eq!("7".parse::<LogId>(), Err(LogIdError));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what a log is known by has 32 hexadecimal digits")]
pub struct LogIdError;

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl FromStr for LogId {
    type Err = LogIdError;

    fn from_str(text: &str) -> Result<LogId, LogIdError> {
        let is_whole = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_whole);
        number.map(|number| LogId(number.to_be_bytes())).ok_or(LogIdError)
    }
}

/// What is told which message is the newest one of a log, or that nobody says it.
pub type SeeEnd = Arc<dyn Fn(Option<u64>) + Send + Sync>;

/// What is said to a question, if anything is.
pub type Say = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// What is told which server waits for its turn.
pub type Heard = Arc<dyn Fn(&str) + Send + Sync>;

/// What is given what other servers send.
pub type Got = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Messages with their sequences; waits for the next one.
pub type Tail = Box<dyn Iterator<Item = (u64, Bytes)> + Send>;

/// What became of a message.
///
/// ```
/// use std::time::Duration;
/// use jungle_cluster::{Appended, Log, MemoryLog};
/// let (log, within) = (MemoryLog::new(), Duration::from_secs(1));
/// let append = |after, text: &'static str| log.append(after, &text.into(), within);
/// assert_eq!(append(0, "first")?, Appended::At(1));
/// assert_eq!(append(0, "late")?, Appended::Behind);
/// assert_eq!(append(1, "late")?, Appended::At(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It has this sequence.
    At(u64),
    /// Another one came first.
    Behind,
}

/// The engine failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// It does not take the message, and never will.
    #[error("the engine refuses a message of {bytes} bytes: {reason}")]
    Refused {
        /// How long it is.
        bytes: usize,
        /// Why.
        reason: String,
    },
    /// No answer came in time. If a message was sent, it may have been appended, or be yet.
    #[error("the engine has not answered within {within:.0?}")]
    NoAnswer {
        /// How long was waited.
        within: Duration,
        /// What was said last.
        #[source]
        last: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A checkpoint could not be written, or read.
    #[error("the checkpoint at message {sequence} could not be written or read")]
    Checkpoint {
        /// The newest message in it.
        sequence: u64,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// This server follows the log no further.
    #[error("this server follows the log no further: {0}")]
    Ended(#[source] Arc<Fault>),
    /// It was closed. If a message was sent before, it may have been appended, or be yet.
    #[error("the log was closed: this server has left its cluster")]
    Closed,
}
