//! A server of a cluster.

pub(crate) mod elsewhere;
pub(crate) mod requests;
pub(crate) mod survey;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use jungle_db::Revision;

use crate::checkpoint::keeper::Keeper;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::requests::Requests;
use crate::cluster::survey::{MirrorStatus, Role, Survey};
use crate::engine::log::{Log, LogError, LogId};
use crate::error::{CheckpointError, Fault};
use crate::follow::{Follower, Standing, compare, vote};
use crate::local::Local;
use crate::sequencer::Appender;

/// A Jungle that is one server of a cluster: what it commits the others have, and the reverse.
/// Dropping this leaves the cluster: the Jungle can be read on as it is, and takes no more commits.
///
/// ```
/// use std::sync::Arc;
/// use jungle_cluster::{Cluster, MemoryLog, Options};
/// use jungle_db::Jungle;
///
/// // In place of an engine's; `Cluster::join` takes the address of one.
/// let log = Arc::new(MemoryLog::new());
/// let jungle = Jungle::builder().build()?;
/// let cluster = Cluster::follow(log, &jungle, &Options::default())?;
/// let board = jungle.create_tree("board")?;
/// board.update(|tx| tx.put_attribute(&[], "title", "Hello"))?;
/// drop(cluster);
/// assert_eq!(board.snapshot().root().attribute("title"), Some("Hello".into()));
/// assert!(board.update(|tx| tx.put_attribute(&[], "title", "Hello?")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Cluster {
    pub(crate) follower: Arc<Follower>,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) appender: Arc<Appender>,
    pub(crate) keeper: Arc<Keeper>,
    /// Where this one serves.
    pub(crate) address: Arc<OnceLock<String>>,
    /// Whether the servers can read which request asked for a commit.
    pub(crate) requests: Mutex<Requests>,
    /// What it commits by itself, once that was asked for.
    pub(crate) local: Arc<OnceLock<Arc<Local>>>,
    /// The log as it comes, where it is followed by hand.
    #[cfg(feature = "sim")]
    pub(crate) tail: Mutex<Option<crate::engine::log::Tail>>,
    /// They end when the follower ends and the log is closed.
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

/// How a server stands: [`Cluster::status`] has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The sequence of the newest message of the log that was followed here.
    pub followed: u64,
    /// The newest message of the log, as its leader said last, which is asked every few seconds.
    /// Not known while it has said nothing.
    pub log_end: Option<u64>,
    /// The newest revision here.
    pub revision: Revision,
    /// Why nothing more is followed, if that is so. The server must not answer then as if it knew
    /// what is there now.
    pub fault: Option<Arc<Fault>>,
    /// The sequence of the newest message in the newest checkpoint that is known of here; 0 without
    /// one. The log goes back to the one before.
    pub checkpoint: u64,
    /// Why this server could not write the checkpoint that was due, if none was written since.
    /// Nothing is lost by that, but the log grows.
    pub checkpoint_error: Option<Arc<CheckpointError>>,
    /// The copy of the log that is followed, if there is to be one.
    pub mirror: Option<MirrorStatus>,
    /// For how long the log has not answered, if that is so. Commits, and reads of what is newest,
    /// wait for it; what is here can be read meanwhile, and [local commits](crate::Local) go on.
    pub outage: Option<Duration>,
    /// What the server does.
    pub role: Role,
}

impl Cluster {
    /// How this server stands, as of the message before the one that is being followed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// jungle.create_tree("board")?;
    /// let status = cluster.status();
    /// assert_eq!((status.followed, status.revision), (1, jungle.revision()));
    /// assert!(status.fault.is_none(), "{:?}", status.fault);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn status(&self) -> Status {
        let Standing { followed, revision, fault, checkpoint } = self.follower.standing();
        Status {
            followed,
            log_end: self.follower.log_end(),
            revision,
            fault,
            checkpoint,
            checkpoint_error: self.keeper.failed(),
            mirror: self.log.mirror(),
            outage: self.log.outage(),
            role: self.follower.guests.role(),
        }
    }

    /// Why nothing more is followed, if that is so, as in the [status](Cluster::status). This can
    /// be asked on each request: nobody waits for it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
    /// assert!(cluster.fault().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fault(&self) -> Option<Arc<Fault>> {
        self.follower.fault()
    }

    /// The newest revision here, as in the [status](Cluster::status), likewise.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.follower.standing().revision
    }

    /// Which log is followed. That of another cluster has another id, and so has the log that a
    /// cluster was [begun anew](crate::Options::found) with.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, Log, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// assert_eq!(cluster.log_id(), log.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log_id(&self) -> LogId {
        self.log.id()
    }

    /// Writes a checkpoint now of what was followed here, unless there is one; removes those before
    /// the one before it, and the log up to that. Gives the sequence of the newest message in it.
    /// Servers do this by themselves, as [their options](crate::Options::checkpoint_messages) say.
    ///
    /// # Errors
    /// When it cannot be written or read back, or this server follows the log no further. The log
    /// stays as it is then.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// for n in 0..3 {
    ///     jungle.create_tree(&format!("board {n}"))?;
    ///     assert_eq!(cluster.checkpoint()?, n + 1);
    /// }
    /// // The log begins behind the one before the newest.
    /// assert_eq!(jungle_cluster::Log::bounds(&log)?, (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint(&self) -> Result<u64, CheckpointError> {
        self.keeper.write()
    }

    /// Holds every branch, as it is here, against what the other servers have, which takes some two
    /// seconds each. Messages of the log have hashes of the branches that they change, so those are
    /// compared all the time; of the others each server compares one a minute by itself. Whoever
    /// has something else than most others has a [fault](Cluster::fault) after that.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// jungle.create_tree("board")?;
    /// cluster.compare();
    /// assert!(cluster.fault().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare(&self) {
        for branch in compare::branches(&self.follower) {
            vote::compare(&self.follower, &*self.log, branch);
        }
    }

    /// Says where this server serves, for those who [ask](Cluster::survey); once.
    pub fn set_address(&self, address: &str) {
        // The first one stays.
        let _ = self.address.set(address.to_owned());
    }

    /// Asks all servers of the cluster how they stand, and the engine how the log does; waits
    /// `within` for answers. `None` where the [log](Log::survey) cannot ask.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// cluster.set_address("https://one.example:7070");
    /// jungle.create_tree("board")?;
    /// let survey = cluster.survey(std::time::Duration::from_secs(1))?.expect("it can be asked");
    /// let server = &survey.servers[0];
    /// assert_eq!(server.address.as_deref(), Some("https://one.example:7070"));
    /// assert_eq!((survey.log.last, survey.lag(server)), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn survey(&self, within: Duration) -> Result<Option<Survey>, LogError> {
        self.log.survey(within)
    }

    /// Asks the servers of other clusters of the engine which of them have a tree, or which trees
    /// they have; waits `within` for answers, and no longer than it takes where one tree is there.
    ///
    /// A cluster has a log of its own, and so its own order of commits: a transaction spans trees
    /// of one cluster. Two clusters may have trees of the same name.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn elsewhere(
        &self,
        tree: Option<&str>,
        within: Duration,
    ) -> Result<Vec<Elsewhere>, LogError> {
        self.log.elsewhere(tree, within)
    }

    /// What this server commits by itself, once its outbox [was opened](Cluster::local).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let jungle = Jungle::new()?;
    /// # let cluster = Cluster::follow(Arc::new(MemoryLog::new()), &jungle, &Options::default())?;
    /// assert!(cluster.opened_local().is_none());
    /// cluster.local(Arc::new(Jungle::new()?))?;
    /// assert_eq!(cluster.opened_local().expect("it is open").status().pending, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn opened_local(&self) -> Option<&Arc<Local>> {
        self.local.get()
    }

    /// Waits until a revision is here, for at most `within`; tells whether it is.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// let other = Jungle::builder().build()?;
    /// let _other = Cluster::follow(Arc::new(log.connect()), &other, &Options::default())?;
    /// let board = other.create_tree("board")?;
    /// // What was written there can be read here.
    /// let within = std::time::Duration::from_secs(30);
    /// assert!(cluster.wait_for(board.snapshot().revision(), within));
    /// assert!(jungle.open_tree("board").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_for(&self, revision: Revision, within: Duration) -> bool {
        self.follower.wait(within, |place| place.revision() >= revision)
    }

    /// Leaves the cluster, as dropping this does: the Jungle can be read on as it is, and takes no
    /// more commits. No answer of the engine is waited for: what is being committed is
    /// [undecided](jungle_db::NotWritten::Undecided).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// let board = jungle.create_tree("board")?;
    /// cluster.leave();
    /// assert!(board.update(|tx| tx.append(&[])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leave(&self) {
        self.follower.end();
        if let Some(local) = self.local.get() {
            local.end();
        }
        self.log.close();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // What it panicked of was printed then.
            let _ = thread.join();
        }
    }

    /// Waits until everything is here that was in the log when this was called: what is read after
    /// that is at least as new as anything that was acknowledged anywhere before, so that reads and
    /// commits are linearizable. For this a message of this server gets its place in the log, which
    /// takes as long as a commit: a commit that is sent meanwhile, or a message without anything in
    /// it, one for all who ask together.
    ///
    /// # Errors
    /// When that has no place in time, or the log is followed no further.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// let other = Jungle::builder().build()?;
    /// let _other = Cluster::follow(Arc::new(log.connect()), &other, &Options::default())?;
    /// other.create_tree("board")?;
    /// // Nobody has to say what was written there.
    /// cluster.linearize(std::time::Duration::from_secs(30))?;
    /// assert!(jungle.open_tree("board").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linearize(&self, within: Duration) -> Result<Revision, LogError> {
        self.appender.prove(within)?;
        Ok(self.revision())
    }

    /// Waits until everything is here that was in the log when this was called, as that server of
    /// the engine says which leads it. One that was stopped for seconds and goes on may say, for a
    /// moment, what was so before: [`linearize`](Cluster::linearize) is not taken in by that.
    ///
    /// # Errors
    /// When the engine does not answer, or the log is followed no further.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jungle_cluster::{Cluster, MemoryLog, Options};
    /// # use jungle_db::Jungle;
    /// # let log = MemoryLog::new();
    /// # let jungle = Jungle::builder().build()?;
    /// # let cluster = Cluster::follow(Arc::new(log.connect()), &jungle, &Options::default())?;
    /// let other = Jungle::builder().build()?;
    /// let _other = Cluster::follow(Arc::new(log.connect()), &other, &Options::default())?;
    /// other.create_tree("board")?;
    /// cluster.sync(std::time::Duration::from_secs(30))?;
    /// assert!(jungle.open_tree("board").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self, within: Duration) -> Result<Revision, LogError> {
        let (_, last) = self.log.bounds()?;
        if !self.follower.wait(within, |place| place.sequence >= last) {
            return Err(self.follower.late(within));
        }
        Ok(self.revision())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.status()).finish()
    }
}
