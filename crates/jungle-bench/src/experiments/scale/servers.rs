//! As many servers as there are threads, on this machine, with a real engine of three servers: what
//! the model is held against.

use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, Options as Member};
use jungle_db::{Jungle, TreeHandle};
use jungle_testkit::NatsServers;
use jungle_tree::Key;

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::turns::{named, turns};
use crate::sample::Sample;
use crate::scale::CLIENTS;
use crate::stats::{median, quantile};

/// So long commits, and those who follow them, are waited for at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many commits each client makes in a turn.
const EACH: u64 = 32;

/// Commits that make the tree.
const SETUP: u64 = 2;

/// Servers of one cluster, each in memory.
pub struct Servers {
    all: Vec<(Jungle, Cluster, TreeHandle)>,
}

/// Microseconds from the call of a commit, on each server in its turn, until all servers show it:
/// the median (`seen`) and `seen-p99`. `commits` = commits a second of 64 clients of one server,
/// until all servers show them; `together` = how many were in a message.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let engine = NatsServers::start(3);
    let servers = Servers::join(&engine, options.threads)?;
    let commits = match (options.tiny, options.quick) {
        (true, _) => 8,
        (_, true) => 200,
        _ => 2_000,
    };
    let mut seen = Vec::new();
    for n in 0..commits {
        let begun = Instant::now();
        servers.commit(n)?;
        seen.push(1e6 * begun.elapsed().as_secs_f64());
    }
    let messages = servers.messages();
    let turns = if options.tiny { 1 } else { turns(options) / 2 };
    servers.work_together()?;
    let rates = (0..turns).map(|_| servers.work_together()).collect::<Result<Vec<f64>, _>>()?;
    let together = (CLIENTS * EACH * (turns as u64 + 1)) as f64;
    let numbers = [
        ("seen", median(&seen)),
        ("seen-p99", quantile(&seen, 0.99)),
        ("commits", median(&rates)),
        ("together", together / (servers.messages() - messages) as f64),
    ];
    let different = servers.different();
    Ok(named("us", &numbers).check_none(different, "servers are not what the first is"))
}

impl Servers {
    /// So many, with a tree that has a place for each client.
    pub fn join(engine: &NatsServers, count: usize) -> Result<Servers, Failure> {
        let mut all: Vec<(Jungle, Cluster, TreeHandle)> = Vec::new();
        for number in 0..count {
            let jungle = Jungle::new()?;
            let member = Member {
                replicas: 3,
                server: format!("server-{number}"),
                commit_within: PATIENCE,
                checkpoint_messages: u64::MAX,
                checkpoint_bytes: u64::MAX,
                ..Member::default()
            };
            let cluster = Cluster::join(&engine.addresses(), &jungle, member)?;
            let tree = match all.is_empty() {
                true => {
                    let tree = jungle.create_tree("t")?;
                    tree.update(|tx| (0..CLIENTS).try_for_each(|_| tx.append(&[]).map(drop)))?;
                    tree
                }
                false => jungle.open_tree("t")?,
            };
            all.push((jungle, cluster, tree));
        }
        Ok(Servers { all })
    }

    /// Commits on one of them, and waits until all show it.
    fn commit(&self, n: u64) -> Result<(), Failure> {
        let (jungle, _, tree) = &self.all[n as usize % self.all.len()];
        put(tree, n % CLIENTS, n)?;
        self.wait(jungle)
    }

    /// Commits of many clients of the first; commits a second until all show them.
    pub fn work_together(&self) -> Result<f64, Failure> {
        let (jungle, _, tree) = &self.all[0];
        let before = jungle.revision().number();
        let begun = Instant::now();
        let is_done: bool = thread::scope(|scope| {
            let work = |client| move || (0..EACH).all(|n| put(tree, client, n).is_ok());
            let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(work(client))).collect();
            clients.into_iter().all(|client| client.join().is_ok_and(|done| done))
        });
        self.wait(jungle)?;
        let rate = (CLIENTS * EACH) as f64 / begun.elapsed().as_secs_f64();
        match is_done && jungle.revision().number() == before + CLIENTS * EACH {
            true => Ok(rate),
            false => Err("not every commit was made".into()),
        }
    }

    fn wait(&self, jungle: &Jungle) -> Result<(), Failure> {
        let revision = jungle.revision();
        match self.all.iter().all(|(_, cluster, _)| cluster.wait_for(revision, PATIENCE)) {
            true => Ok(()),
            false => Err("a commit was not seen in time".into()),
        }
    }

    /// How many messages the first has followed.
    pub fn messages(&self) -> u64 {
        self.all[0].1.status().followed
    }

    /// How many commits of clients there were, of those who work together.
    pub fn commits(&self) -> u64 {
        self.all[0].0.revision().number() - SETUP
    }

    /// The first one's tree.
    pub fn tree(&self) -> &TreeHandle {
        &self.all[0].2
    }

    fn different(&self) -> u64 {
        let hash = |tree: &TreeHandle| tree.snapshot().root().content_hash();
        let first = hash(self.tree());
        self.all.iter().filter(|(_, _, tree)| hash(tree) != first).count() as u64
    }
}

/// A commit of one attribute.
pub fn put(tree: &TreeHandle, client: u64, n: u64) -> Result<(), Failure> {
    let path = [Key::from(client)];
    tree.update(|tx| tx.put_attribute(&path, "n", (n + client) as i64))?;
    Ok(())
}
