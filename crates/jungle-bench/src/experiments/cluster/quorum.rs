//! A cluster's commits beside the engine's client alone: three servers of the engine on loopback,
//! three replicas, each synced before it answers. Both ask one of the servers, and another one
//! leads what either publishes to: where chance says who does, that alone makes 0.97 to 1.5 of the
//! ratio.

use std::thread;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use bytes::Bytes;
use jungle_cluster::{Cluster, Options as Member};
use jungle_db::{Durability, Jungle, TreeHandle};
use jungle_store::{OpenOptions, Store};
use jungle_testkit::NatsServers;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::super::Options;
use super::super::folder::Folder;
use super::super::turns::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::sample::Sample;

/// So many commits of one client are one measurement.
const COMMITS: u64 = 256;
/// So many of each, when there are many: until all of them are there, messages are small.
const EACH: u64 = 32;
/// So many clients at once.
const CLIENTS: u64 = 64;
/// Who is asked, and who leads.
const ASKED: usize = 0;
const LEADS: usize = 1;
/// The log of a cluster, and what the client alone publishes to.
const LOG: &str = "jungle-jungle";
const BARE: &str = "bare";
/// So long a leader is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a message of one commit has, and one of as many as there are clients.
const ONE: usize = 200;
const MANY: usize = 64 * 40 + 160;

/// Microseconds of a commit. `one` = of one client; `bare-one` = of one message of its size,
/// published by the client; `quorum` = how many times as long. `many` = of 64 clients at once, each
/// with a tree node of its own; `bare-many` = of messages with 64 commits each, one after the
/// other; `quorum-64` = how many times as many commits a second, `together` = how many commits were
/// in a message.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let turns = if options.tiny { 1 } else { turns(options) / 2 };
    let engine = NatsServers::start(3);
    let (ours, theirs) = (&Server::new(&engine)?, &Bare::new(&engine)?);
    [LOG, BARE].into_iter().try_for_each(|stream| theirs.let_lead(stream, &engine))?;
    let all: Vec<Turn<'_>> = vec![
        ("one", Box::new(|| Ok(ours.run(1, COMMITS)? / COMMITS as f64))),
        ("bare-one", Box::new(|| Ok(theirs.run(COMMITS, ONE)? / COMMITS as f64))),
        ("many", Box::new(|| Ok(ours.run(CLIENTS, EACH)? / (CLIENTS * EACH) as f64))),
        ("bare-many", Box::new(|| Ok(theirs.run(EACH, MANY)? / (CLIENTS * EACH) as f64))),
    ];
    let mut numbers = in_turns(turns.max(1), 1e6, all)?;
    numbers.push(("quorum", number(&numbers, "one") / number(&numbers, "bare-one")));
    numbers.push(("quorum-64", number(&numbers, "bare-many") / number(&numbers, "many")));
    let before = ours.cluster.status().followed;
    ours.run(CLIENTS, EACH)?;
    let messages = ours.cluster.status().followed - before;
    numbers.push(("together", (CLIENTS * EACH) as f64 / messages as f64));
    Ok(named("us", &numbers))
}

/// A server with a folder, and another one in memory that has the same.
struct Server {
    tree: TreeHandle,
    cluster: Cluster,
    other: (Jungle, Cluster),
    _store: Store,
    _folder: Folder,
}

impl Server {
    fn new(engine: &NatsServers) -> Result<Server, Failure> {
        let folder = Folder::new("cluster")?;
        let store = OpenOptions::new().durability(Durability::Sync).open(&folder.0)?;
        let member = || Member { replicas: 3, ..Member::default() };
        let cluster = Cluster::join(&engine.address(ASKED), &store, member())?;
        let other = Jungle::new()?;
        let joined = Cluster::join(&engine.address(ASKED), &other, member())?;
        let tree = store.create_tree("t")?;
        tree.update(|tx| (0..CLIENTS).try_for_each(|_| tx.append(&[]).map(drop)))?;
        Ok(Server { tree, cluster, other: (other, joined), _store: store, _folder: folder })
    }

    fn run(&self, clients: u64, each: u64) -> Result<f64, Failure> {
        let before = self.cluster.status().revision.number();
        let begun = Instant::now();
        let done: bool = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..clients).map(|client| scope.spawn(move || self.work(client, each))).collect();
            clients.into_iter().all(|client| client.join().is_ok_and(|done| done))
        });
        let seconds = begun.elapsed().as_secs_f64();
        let revision = self.cluster.status().revision;
        let follows = self.other.1.wait_for(revision, Duration::from_secs(30));
        if done && follows && revision.number() == before + clients * each {
            return Ok(seconds);
        }
        Err("not every commit was made, or came to the other server".into())
    }

    fn work(&self, client: u64, commits: u64) -> bool {
        let path = [client.into()];
        (0..commits as i64)
            .all(|n| self.tree.update(|tx| tx.put_attribute(&path, "n", n + client as i64)).is_ok())
    }
}

/// The client alone.
struct Bare {
    runtime: Runtime,
    context: jetstream::Context,
}

impl Bare {
    fn new(engine: &NatsServers) -> Result<Bare, Failure> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(async_nats::connect(engine.address(ASKED)))?;
        let context = {
            let _tasks = runtime.enter();
            jetstream::new(client)
        };
        runtime.block_on(context.create_stream(stream::Config {
            name: BARE.to_owned(),
            subjects: vec![BARE.to_owned()],
            num_replicas: 3,
            ..stream::Config::default()
        }))?;
        Ok(Bare { runtime, context })
    }

    /// Has the same server lead each stream.
    fn let_lead(&self, stream: &str, engine: &NatsServers) -> Result<(), Failure> {
        let question = json!({ "placement": { "preferred": engine.name(LEADS) } });
        let subject = format!("STREAM.LEADER.STEPDOWN.{stream}");
        let begun = Instant::now();
        self.runtime.block_on(async {
            while begun.elapsed() < PATIENCE {
                // Nobody answers while there is none, and one that is not up to date yet says no.
                let Ok(stream) = self.context.get_stream(stream).await else { continue };
                let cluster = stream.cached_info().cluster.as_ref();
                let leader = cluster.and_then(|cluster| cluster.leader.as_deref());
                if leader == Some(engine.name(LEADS)) {
                    return Ok(());
                }
                let _ = self.context.request::<_, _, Value>(subject.clone(), &question).await;
            }
            Err(format!("{} does not come to lead {stream}", engine.name(LEADS)).into())
        })
    }

    fn run(&self, messages: u64, bytes: usize) -> Result<f64, Failure> {
        let payload = Bytes::from(vec![7; bytes]);
        let begun = Instant::now();
        self.runtime.block_on(async {
            for _ in 0..messages {
                self.context.publish(BARE, payload.clone()).await?.await?;
            }
            Ok::<_, Failure>(())
        })?;
        Ok(begun.elapsed().as_secs_f64())
    }
}
