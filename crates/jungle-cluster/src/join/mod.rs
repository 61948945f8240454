//! Joining a cluster: with what is here, or with the newest checkpoint.

mod done;
pub(crate) mod membership;
pub(crate) mod newcomer;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod tail;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jungle_db::{Builder, Jungle, Sequencer};
use jungle_store::{OpenOptions, Store};
use jungle_tree::ArenaOptions;

use crate::checkpoint::keeper::{Every, Keeper};
use crate::cluster::Cluster;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::survey::ServerStatus;
use crate::engine::log::{Log, LogId};
use crate::error::JoinError;
use crate::follow::Follower;
use crate::follow::behind;
use crate::follow::collector;
use crate::follow::compare;
use crate::follow::vote;
use crate::join::newcomer::{Restored, has_been, is_behind};
use crate::join::options::{Joining, Options};
use crate::join::place::place_of;
use crate::join::tail::{follow_tail, follow_when_there};
use crate::message::Hash;
use crate::sequencer::Appender;

impl Cluster {
    /// Joins the cluster of a log, and follows all that it says before it returns; as
    /// [`join`](Cluster::join), with the log itself.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_cluster::{Cluster, JoinError, MemoryLog, Options};
    /// use jungle_db::Jungle;
    ///
    /// let log = MemoryLog::new();
    /// let (one, stray) = (Jungle::builder().build()?, Jungle::builder().build()?);
    /// let _cluster = Cluster::follow(Arc::new(log.connect()), &one, &Options::default())?;
    /// one.create_tree("board")?;
    /// // What was never in the log does not go into it.
    /// stray.create_tree("notes")?;
    /// stray.create_tree("more notes")?;
    /// let refused = Cluster::follow(Arc::new(log.connect()), &stray, &Options::default());
    /// assert!(matches!(refused, Err(JoinError::Ahead { .. })), "{refused:?}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn follow(
        log: Arc<dyn Log>,
        jungle: &Jungle,
        options: &Options,
    ) -> Result<Cluster, JoinError> {
        let (sequence, hash) = place_of(&*log, jungle)?;
        Cluster::go_on(log, jungle, (sequence, hash), options)
    }

    /// Goes on with a Jungle that was a server's before, whether or not the log answers: until it
    /// does, what is there can be read, and committed to at [level `local`](crate::Local), and
    /// commits as ever are refused. Then the log is followed from where this one is; if it does not
    /// go on from there, or is another one by then, that is a [`Fault`](crate::Fault).
    ///
    /// # Errors
    /// When the system gives no threads, or the Jungle has joined a cluster before.
    pub fn resume(
        log: Arc<dyn Log>,
        jungle: &Jungle,
        options: &Options,
    ) -> Result<Cluster, JoinError> {
        let follower = Follower::unplaced(jungle.clone(), log.id(), every(options));
        let cluster = Cluster::made(log, follower, options)?;
        let (follower, log) = (Arc::clone(&cluster.follower), Arc::clone(&cluster.log));
        let jungle = jungle.clone();
        cluster.start("cluster log", move || follow_when_there(&follower, &*log, &jungle))?;
        let keeper = Arc::clone(&cluster.keeper);
        cluster.start("checkpoints", move || keeper.keep())?;
        Ok(cluster)
    }

    /// Which log a folder was joined to, if it was.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn log_of(folder: &Path) -> Result<Option<LogId>, JoinError> {
        membership::said(folder)
    }

    /// Follows a log with a new Jungle in memory: it begins with the newest checkpoint, if there is
    /// one that can be read, and follows the rest of the log before this returns.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_cluster::{Cluster, MemoryLog, Options};
    /// use jungle_db::Jungle;
    /// use jungle_tree::ArenaOptions;
    ///
    /// let log = MemoryLog::new();
    /// let follow = |name: &str| {
    ///     let options = Options { server: name.into(), ..Options::default() };
    ///     let arena = ArenaOptions::default();
    ///     Cluster::follow_in_memory(Arc::new(log.connect()), &Jungle::builder(), &arena, &options)
    /// };
    /// let (one, cluster) = follow("one")?;
    /// one.create_tree("board")?;
    /// cluster.checkpoint()?;
    /// one.create_tree("notes")?;
    /// let (other, _cluster) = follow("other")?;
    /// assert!(other.open_tree("board").is_ok() && other.open_tree("notes").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`join`](Cluster::join); also when the log does not go back to its beginning, and no
    /// checkpoint can be read.
    pub fn follow_in_memory(
        log: Arc<dyn Log>,
        builder: &Builder,
        arena: &ArenaOptions,
        options: &Options,
    ) -> Result<(Jungle, Cluster), JoinError> {
        match newcomer::newest(&*log, builder, arena, options)? {
            Some(Restored { jungle, sequence, hash }) => {
                let cluster = Cluster::go_on(log, &jungle, (sequence, Some(hash)), options)?;
                Ok((jungle, cluster))
            }
            None => {
                let jungle = builder.clone().arena(arena.clone()).build()?;
                let cluster = Cluster::follow(log, &jungle, options)?;
                Ok((jungle, cluster))
            }
        }
    }

    /// Follows a log with a folder. If there is nothing in it yet, or the log does not go back to
    /// what it has, the newest checkpoint takes its place, if there is one that can be read; so
    /// whoever returns after however long a time is what the others are. The folder has a file
    /// `CLUSTER` from then on, which says of which one it is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_cluster::{Cluster, MemoryLog, Options};
    /// use jungle_store::OpenOptions;
    ///
    /// # let folder = std::env::temp_dir().join(format!("jungle-follow-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&folder);
    /// let log = MemoryLog::new();
    /// let follow = || {
    ///     let (open, options) = (OpenOptions::default(), Options::default());
    ///     Cluster::follow_in_folder(Arc::new(log.connect()), &folder, &open, &options)
    /// };
    /// let (store, cluster) = follow()?;
    /// store.create_tree("board")?;
    /// drop((store, cluster));
    /// let (store, cluster) = follow()?;
    /// assert!(store.open_tree("board").is_ok());
    /// assert_eq!(Cluster::log_of(&folder)?, Some(jungle_cluster::Log::id(&log)));
    /// # drop((store, cluster));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`follow_in_memory`](Cluster::follow_in_memory); also when the folder cannot be opened,
    /// or what is in it never was the cluster's.
    pub fn follow_in_folder(
        log: Arc<dyn Log>,
        folder: &Path,
        open: &OpenOptions,
        options: &Options,
    ) -> Result<(Store, Cluster), JoinError> {
        let store = open.clone().open(folder)?;
        let here = store.revision();
        // For a checkpoint, which is as large as the folder will be.
        let (builder, arena) = (Jungle::builder(), store.arena_beside());
        if options.found && here.number() > 0 && newcomer::may_found(&*log, here, &options.server)?
        {
            let Restored { sequence, hash, .. } = newcomer::found(&*log, &store, options)?;
            membership::write(folder, log.id())?;
            let cluster = Cluster::go_on(log, &store, (sequence, Some(hash)), options)?;
            return Ok((store, cluster));
        }
        let was_member = membership::check(folder, log.id(), here)?;
        if here.number() > 0 && !is_behind(&*log, here, was_member)? {
            let id = log.id();
            let cluster = Cluster::follow(log, &store, options)?;
            membership::write(folder, id)?;
            return Ok((store, cluster));
        }
        if here.number() == 0 {
            // Before anything comes in.
            membership::write(folder, log.id())?;
        }
        let Some(newest) = newcomer::newest(&*log, &builder, &arena, options)? else {
            if here.number() > 0 && !was_member {
                return Err(JoinError::Foreign { here });
            }
            let cluster = Cluster::follow(log, &store, options)?;
            return Ok((store, cluster));
        };
        if here.number() > 0 && !has_been(&newest.jungle, &store, was_member) {
            return Err(JoinError::Foreign { here });
        }
        membership::write(folder, log.id())?;
        drop(store);
        let Restored { jungle, sequence, hash } = newest;
        open.clone().adopt(folder, &jungle)?;
        drop(jungle);
        let store = open.clone().open(folder)?;
        let cluster = Cluster::go_on(log, &store, (sequence, Some(hash)), options)?;
        Ok((store, cluster))
    }

    /// Follows all that comes after a message. Of that the hash may not be known.
    fn go_on(
        log: Arc<dyn Log>,
        jungle: &Jungle,
        (sequence, hash): (u64, Option<Hash>),
        options: &Options,
    ) -> Result<Cluster, JoinError> {
        let (_, last) = log.bounds()?;
        let follower = Follower::new(jungle.clone(), sequence, hash, every(options));
        let cluster = Cluster::made(log, follower, options)?;
        let (follower, log) = (Arc::clone(&cluster.follower), Arc::clone(&cluster.log));
        cluster.start("cluster log", move || follow_tail(&follower, &*log, sequence + 1))?;
        cluster.catch_up(last, options)?;
        if let Some(depot) = cluster.log.depot() {
            // If this fails, the keeper looks again when a checkpoint is due.
            let _ = cluster.keeper.look(depot);
            let keeper = Arc::clone(&cluster.keeper);
            cluster.start("checkpoints", move || keeper.keep())?;
        }
        Ok(cluster)
    }

    /// A server that does not follow yet.
    fn made(
        log: Arc<dyn Log>,
        mut follower: Follower,
        options: &Options,
    ) -> Result<Cluster, JoinError> {
        follower.is_by_hand = options.is_by_hand();
        let follower = Arc::new(follower);
        let (server, within) = (&options.server, options.commit_within);
        let appender = Appender::new(Arc::clone(&log), Arc::clone(&follower), server, within);
        let jungle = follower.place().jungle.clone();
        let appender = Arc::new(appender);
        let sequencer = || Arc::clone(&appender) as Arc<dyn Sequencer>;
        if !jungle.is_some_and(|jungle| jungle.sequence_with(sequencer())) {
            return Err(JoinError::Joined);
        }
        let keeper = Arc::new(Keeper {
            log: Arc::clone(&log),
            follower: Arc::clone(&follower),
            server: options.server.clone(),
            failed: Mutex::default(),
            writing: Mutex::default(),
        });
        let (address, requests, local, threads) = Default::default();
        let cluster = Cluster {
            follower,
            log,
            appender,
            keeper,
            address,
            requests,
            local,
            #[cfg(feature = "sim")]
            tail: Mutex::default(),
            threads,
        };
        cluster.answer(options);
        let collecting = Arc::clone(&cluster.follower);
        cluster.start("memory", move || collector::collect(&collecting))?;
        let writing = Arc::clone(&cluster.follower);
        cluster.start("folder", move || behind::write(&writing))?;
        let (comparing, log) = (Arc::clone(&cluster.follower), Arc::clone(&cluster.log));
        cluster.start("compare", move || compare::compare(&comparing, &*log))?;
        let follower = Arc::clone(&cluster.follower);
        cluster.log.hear_line(Arc::new(move |server| follower.rotation.heard(server)));
        let follower = Arc::clone(&cluster.follower);
        cluster.log.watch_end(Arc::new(move |last| follower.see_end(last, Instant::now())));
        let appender = Arc::clone(&cluster.appender);
        cluster.start("guests", move || appender.host_guests())?;
        Ok(cluster)
    }

    /// Says how this server stands, and which trees it has, to whoever asks.
    fn answer(&self, options: &Options) {
        let (follower, address) = (Arc::clone(&self.follower), Arc::clone(&self.address));
        let (server, local) = (options.server.clone(), Arc::clone(&self.local));
        let log = Arc::downgrade(&self.log);
        self.log.answer(Arc::new(move || ServerStatus {
            outbox: local.get().map(|local| local.status().told()),
            mirror: log.upgrade().and_then(|log| log.mirror()),
            ..follower.tell(&server, address.get())
        }));
        let (follower, log) = (Arc::clone(&self.follower), Arc::downgrade(&self.log));
        self.log.answer_each(Arc::new(move |question| vote::answer(&follower, &log, question)));
        let (follower, address) = (Arc::clone(&self.follower), Arc::clone(&self.address));
        let (cluster, server) = (options.name.clone(), options.server.clone());
        self.log.answer_trees(Arc::new(move |tree| {
            let place = follower.place();
            let jungle = place.jungle.clone().filter(|_| place.fault.is_none())?;
            drop(place);
            Elsewhere::tell((&cluster, &server), address.get(), &jungle, tree)
        }));
    }

    /// Has something done by a thread, unless this server has none.
    pub(crate) fn start(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), JoinError> {
        if self.follower.is_by_hand {
            return Ok(());
        }
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(thread.map_err(JoinError::Threads)?);
        Ok(())
    }

    /// Waits until a message has been followed, however long it takes, as long as some are.
    fn catch_up(&self, last: u64, options: &Options) -> Result<(), JoinError> {
        /// How often it is told how far it is.
        const TOLD_EVERY: Duration = Duration::from_millis(200);
        /// So long without a message, and the engine is asked whether it is there at all.
        const QUIET: Duration = Duration::from_secs(5);
        #[cfg(feature = "sim")]
        if self.follower.is_by_hand {
            return self.catch_up_by_hand(last);
        }
        let from = self.follower.place().sequence;
        let (mut followed, mut since) = (from, Instant::now());
        while !self.follower.wait(TOLD_EVERY, |place| place.sequence >= last) {
            let status = self.status();
            if let Some(fault) = status.fault {
                return Err(fault.into());
            }
            options.tell(Joining::Log { messages: status.followed - from, of: last - from });
            if status.followed > followed {
                (followed, since) = (status.followed, Instant::now());
            } else if since.elapsed() > QUIET {
                self.log.bounds()?;
                since = Instant::now();
            }
        }
        Ok(())
    }
}

fn every(options: &Options) -> Every {
    Every { messages: options.checkpoint_messages, bytes: options.checkpoint_bytes }
}
