//! What is needed of an engine besides the log: a place for checkpoints.

use std::fmt;
use std::io::{Read, Write};

use jungle_store::StreamError;

use crate::engine::log::LogError;

/// Where the checkpoints of a cluster are kept, each under the sequence of the newest message that
/// it has. One that is there is there whole, as far as the engine knows.
///
/// All calls wait, and are for ordinary threads.
///
/// ```
/// use std::io::Read;
/// use jungle_cluster::{Log, MemoryLog};
/// let log = MemoryLog::new();
/// let depot = log.depot().expect("it keeps checkpoints");
/// depot.put(7, &mut |out| Ok(out.write_all(b"all there is")?))?;
/// assert_eq!(depot.stored()?, [7]);
/// let mut read = String::new();
/// depot.open(7)?.content.read_to_string(&mut read)?;
/// assert_eq!(read, "all there is");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Depot: Send + Sync {
    /// Those that are there, the newest first.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn stored(&self) -> Result<Vec<u64>, LogError>;

    /// Stores what `write` writes, unless that fails; it is there all at once. One that is there
    /// already is replaced.
    ///
    /// # Errors
    /// When the engine does not take it, or `write` fails.
    fn put(&self, sequence: u64, write: WriteCheckpoint<'_>) -> Result<(), LogError>;

    /// Reads one.
    ///
    /// # Errors
    /// When it is not there, or the engine does not answer.
    fn open(&self, sequence: u64) -> Result<Stored, LogError>;

    /// Removes one, if it is there.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn remove(&self, sequence: u64) -> Result<(), LogError>;

    /// Removes all messages of the log up to this one.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn trim(&self, sequence: u64) -> Result<(), LogError>;

    /// Removes what was left of checkpoints that were never put to their end, if it is not young.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn sweep(&self) -> Result<(), LogError> {
        Ok(())
    }

    /// Asks to be the one server that writes a checkpoint now; tells whether it is. It is so until
    /// it [releases](Depot::release) that, or has gone, or for some minutes: another who begins
    /// then does no harm. Who has it may be told so again, as where it was not told the first time.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn claim(&self, server: &str) -> Result<bool, LogError>;

    /// Lets others write the next one. What another was given meanwhile remains that one's.
    fn release(&self);
}

/// Writes a checkpoint.
pub type WriteCheckpoint<'w> = &'w mut dyn FnMut(&mut dyn Write) -> Result<(), StreamError>;

/// A checkpoint that is there.
pub struct Stored {
    /// How long it is.
    pub bytes: u64,
    /// What is in it.
    pub content: Box<dyn Read + Send>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
