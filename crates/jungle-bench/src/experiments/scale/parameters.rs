//! What the model is fed with: each part of a cluster, measured apart from the others.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::{self, stream};
use bytes::Bytes;
use futures_util::StreamExt;
use jungle_cluster::{Cluster, Log, NatsLog, Options as Member};
use jungle_db::{Jungle, Revision, TreeHandle};
use jungle_testkit::NatsServers;
use jungle_tree::Key;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::kept::Kept;
use super::servers::{Servers, put};
use crate::Failure;
use crate::experiments::turns::named;
use crate::experiments::{Options, processor_us};
use crate::sample::Sample;
use crate::scale::CLIENTS;
use crate::stats::median;

/// So many follow where it is measured what one more costs: one alone is lost in the noise.
const FOLLOWERS: usize = 16;
/// So often it is measured without them, and with them, in turns.
const TURNS: usize = 3;
/// So many connections publish in turns: each is to one of the engine's servers, which need not be
/// the one that leads the log.
const CONNECTIONS: usize = 6;
/// Threads that are woken have waited for about so long: as for the engine.
const ASLEEP: Duration = Duration::from_millis(1);
/// No message takes so long, unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);
/// The log of what is published without a cluster.
const BARE: &str = "bare";

/// How much of each is done.
struct Size {
    commits: u64,
    turns: u64,
    published: usize,
    woken: usize,
    reads: u64,
}

/// The parameters of the model, by their names there.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let size = match (options.tiny, options.quick) {
        (true, _) => Size { commits: 64, turns: 1, published: 8, woken: 8, reads: 1_000 },
        (_, true) => {
            Size { commits: 8_192, turns: 4, published: 1_000, woken: 500, reads: 2_000_000 }
        }
        _ => {
            Size { commits: 65_536, turns: 40, published: 10_000, woken: 5_000, reads: 20_000_000 }
        }
    };
    let (prepare_us, single) = alone(&size)?;
    let engine = NatsServers::start(3);
    let servers = Servers::join(&engine, 1)?;
    let setup = servers.messages() as usize;
    servers.work_together()?;
    let before = (processor_us(&[std::process::id()])?, servers.commits());
    (0..size.turns).try_for_each(|_| servers.work_together().map(drop))?;
    let joined_us = processor_us(&[std::process::id()])? - before.0;
    let joined_us = joined_us / (servers.commits() - before.1) as f64;
    let grouped = Messages { all: read_log(&engine)?, setup, records: servers.commits() };
    let read_ns = read_ns(servers.tree(), size.reads);
    let (message_us, record_us) =
        parts(follow_us(&single)?, follow_us(&grouped)?, &single, &grouped);
    let wake_us = wake_us(followed_us(&single, size.woken)?, message_us + record_us);
    let (message_bytes, record_bytes) = parts(single.bytes(), grouped.bytes(), &single, &grouped);
    drop(servers);
    let mut numbers = vec![
        ("prepare", prepare_us),
        ("joined", joined_us),
        ("message", message_us),
        ("record", record_us),
        ("message-bytes", message_bytes),
        ("record-bytes", record_bytes),
        ("wake", wake_us),
        ("read", read_ns),
    ];
    let sizes = [1.0, CLIENTS as f64].map(|records| message_bytes + records * record_bytes);
    numbers.extend(publishing(&engine, sizes, size.published)?);
    Ok(named("us", &numbers))
}

/// Messages of a log, and how many records are in those after the first few, which made the tree.
struct Messages {
    all: Vec<Bytes>,
    setup: usize,
    records: u64,
}

impl Messages {
    fn bytes(&self) -> f64 {
        self.all[self.setup..].iter().map(Bytes::len).sum::<usize>() as f64
    }

    fn count(&self) -> f64 {
        (self.all.len() - self.setup) as f64
    }
}

/// What a message takes and what a record does, of what all of `single`, each with one record, and
/// all of `grouped` take.
fn parts(
    single_whole: f64,
    grouped_whole: f64,
    single: &Messages,
    grouped: &Messages,
) -> (f64, f64) {
    let both = single_whole / single.count();
    let further = grouped.records as f64 - grouped.count();
    let record = ((grouped_whole - grouped.count() * both) / further).max(0.0);
    ((both - record).max(0.0), record)
}

/// Microseconds of a commit of one client, in memory and with a log in memory; and that log.
fn alone(size: &Size) -> Result<(f64, Messages), Failure> {
    let (jungle, log) = (Jungle::new()?, Arc::new(Kept::default()));
    let member = Member { server: "server-0".to_owned(), ..Member::default() };
    let _cluster = Cluster::follow(Arc::clone(&log) as Arc<dyn Log>, &jungle, &member)?;
    let tree = jungle.create_tree("t")?;
    tree.update(|tx| (0..CLIENTS).try_for_each(|_| tx.append(&[]).map(drop)))?;
    let setup = log.messages().len();
    let mut turns = Vec::new();
    for turn in 0..8 {
        let begun = Instant::now();
        (0..size.commits / 8).try_for_each(|n| put(&tree, n % CLIENTS, turn * size.commits + n))?;
        turns.push(1e6 * begun.elapsed().as_secs_f64() / (size.commits / 8) as f64);
    }
    let all = log.messages();
    let records = (all.len() - setup) as u64;
    Ok((median(&turns), Messages { all, setup, records }))
}

/// Microseconds to follow all of them but those which made the tree, in memory: the median.
fn follow_us(messages: &Messages) -> Result<f64, Failure> {
    let member = Member::default();
    let follow = |all: &[Bytes]| -> Result<f64, Failure> {
        let (jungle, log) = (Jungle::new()?, Arc::new(Kept::new(all)));
        let begun = Instant::now();
        let cluster = Cluster::follow(log, &jungle, &member)?;
        let took = 1e6 * begun.elapsed().as_secs_f64();
        match cluster.status().followed == all.len() as u64 {
            true => Ok(took),
            false => Err("the log was not followed to its end".into()),
        }
    };
    let setup = &messages.all[..messages.setup];
    let turn = |_| Ok::<_, Failure>(follow(&messages.all)? - follow(setup)?);
    let turns = (0..5).map(turn).collect::<Result<Vec<_>, _>>()?;
    Ok(median(&turns))
}

/// Microseconds from when a message comes by itself until who waits for it to be followed goes on:
/// the median of so many.
fn followed_us(messages: &Messages, count: usize) -> Result<f64, Failure> {
    let (setup, others) = messages.all.split_at(messages.setup);
    let (jungle, log) = (Jungle::new()?, Arc::new(Kept::new(setup)));
    let member = Member::default();
    let cluster = Cluster::follow(Arc::clone(&log) as Arc<dyn Log>, &jungle, &member)?;
    let mut times = Vec::new();
    for (after, message) in (setup.len() as u64..).zip(others).take(count) {
        thread::sleep(ASLEEP);
        let due = Revision::new(jungle.revision().number() + 1);
        let begun = Instant::now();
        log.append(after, message, PATIENCE)?;
        if !cluster.wait_for(due, PATIENCE) {
            return Err("a message was not followed".into());
        }
        times.push(1e6 * begun.elapsed().as_secs_f64());
    }
    Ok(median(&times))
}

/// What each of two threads takes that are woken for a message, the one that follows it and the one
/// that waits for that, if it takes so long with them and so long where nobody has to be woken.
fn wake_us(with_us: f64, without_us: f64) -> f64 {
    ((with_us - without_us) / 2.0).max(0.0)
}

fn read_log(engine: &NatsServers) -> Result<Vec<Bytes>, Failure> {
    let member = Member { replicas: 3, ..Member::default() };
    let log = NatsLog::connect(&engine.addresses(), &member)?;
    let (first, last) = log.bounds()?;
    let read = |sequence| Ok(log.get(sequence)?.ok_or("a message is not there")?);
    (first..=last).map(read).collect()
}

fn read_ns(tree: &TreeHandle, reads: u64) -> f64 {
    let begun = Instant::now();
    for n in 0..reads {
        let path = [Key::from(n % CLIENTS)];
        let reading = tree.read();
        let found = reading.root().at(&path).ok().and_then(|node| node.attribute("n")?.as_int());
        black_box(found);
    }
    1e9 * begun.elapsed().as_secs_f64() / reads as f64
}

/// What the engine takes for messages of these two sizes, without Jungle, and for one more who
/// follows.
fn publishing(
    engine: &NatsServers,
    [one, many]: [f64; 2],
    count: usize,
) -> Result<Vec<(&'static str, f64)>, Failure> {
    let bare = Bare::new(engine)?;
    bare.publish(one as usize, count / 10 + 1)?;
    let (mut alone, mut followed) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let count = count / TURNS + 1;
        alone.push(bare.publish(one as usize, count)?);
        followed.push(bare.publish_to(FOLLOWERS, one as usize, count)?.0);
    }
    let (told, came_us) = bare.publish_to(2, one as usize, count / 2)?;
    let large = bare.publish(many as usize, count / 2)?;
    let (alone, followed) = (Published::mean(&alone), Published::mean(&followed));
    let one_more = |with: f64, without: f64| ((with - without) / FOLLOWERS as f64).max(0.0);
    let of_bytes = |large: f64, small: f64| (1e3 * (large - small) / (many - one)).max(0.0);
    let (engine_us, large_us) =
        (alone.engine_us + alone.client_us, large.engine_us + large.client_us);
    Ok(vec![
        ("publish", alone.median_us),
        ("publish-byte", of_bytes(large.median_us, alone.median_us)),
        ("deliver", (median(&came_us) - told.median_us).max(0.0)),
        ("engine", engine_us),
        ("engine-byte", of_bytes(large_us, engine_us)),
        ("copy", one_more(followed.engine_us, alone.engine_us)),
        ("receive", one_more(followed.client_us, alone.client_us)),
    ])
}

/// The engine's client alone.
struct Bare<'e> {
    engine: &'e NatsServers,
    runtime: Runtime,
    connections: Vec<jetstream::Context>,
}

/// Of one message: the median until its acknowledgement, and the means of processor.
struct Published {
    /// When each was sent.
    begun: Vec<Instant>,
    median_us: f64,
    engine_us: f64,
    client_us: f64,
}

impl Published {
    /// Of measurements that are alike.
    fn mean(all: &[Published]) -> Published {
        let mean = |of: fn(&Published) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Published {
            begun: Vec::new(),
            median_us: mean(|published| published.median_us),
            engine_us: mean(|published| published.engine_us),
            client_us: mean(|published| published.client_us),
        }
    }
}

impl Bare<'_> {
    fn new(engine: &NatsServers) -> Result<Bare<'_>, Failure> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_all().build()?;
        let connections = (0..CONNECTIONS).map(|_| connect(&runtime, engine));
        let connections = connections.collect::<Result<Vec<_>, _>>()?;
        runtime.block_on(connections[0].create_stream(stream::Config {
            name: BARE.to_owned(),
            subjects: vec![BARE.to_owned()],
            num_replicas: 3,
            ..stream::Config::default()
        }))?;
        Ok(Bare { engine, runtime, connections })
    }

    fn publish(&self, bytes: usize, count: usize) -> Result<Published, Failure> {
        let payload = Bytes::from(vec![7; bytes]);
        let (engine, client) = (self.engine.processes(), [std::process::id()]);
        let before = (processor_us(&engine)?, processor_us(&client)?);
        let (begun, times) = self.runtime.block_on(async {
            let (mut all_begun, mut times) = (Vec::new(), Vec::new());
            for connection in self.connections.iter().cycle().take(count) {
                let begun = Instant::now();
                connection.publish(BARE, payload.clone()).await?.await?;
                times.push(1e6 * begun.elapsed().as_secs_f64());
                all_begun.push(begun);
            }
            Ok::<_, Failure>((all_begun, times))
        })?;
        Ok(Published {
            begun,
            median_us: median(&times),
            engine_us: (processor_us(&engine)? - before.0) / count as f64,
            client_us: (processor_us(&client)? - before.1) / count as f64,
        })
    }

    /// The same with so many who follow; also the microseconds until each had each message.
    fn publish_to(
        &self,
        followers: usize,
        bytes: usize,
        count: usize,
    ) -> Result<(Published, Vec<f64>), Failure> {
        let all = (0..followers).map(|_| self.follow(count)).collect::<Result<Vec<_>, _>>()?;
        let published = self.publish(bytes, count)?;
        let mut came_us = Vec::new();
        for follower in all {
            let came = self.runtime.block_on(follower)??;
            let after = |(came, begun): (Instant, &Instant)| {
                1e6 * came.saturating_duration_since(*begun).as_secs_f64()
            };
            came_us.extend(came.into_iter().zip(&published.begun).map(after));
        }
        Ok((published, came_us))
    }

    /// Somebody who gets so many messages, with a connection of its own as a server has, and tells
    /// when.
    fn follow(&self, count: usize) -> Result<JoinHandle<Result<Vec<Instant>, Failure>>, Failure> {
        let context = connect(&self.runtime, self.engine)?;
        let mut messages = self.runtime.block_on(async {
            let config = push::OrderedConfig {
                deliver_subject: context.client().new_inbox(),
                deliver_policy: DeliverPolicy::New,
                ..push::OrderedConfig::default()
            };
            let stream = context.get_stream(BARE).await?;
            Ok::<_, Failure>(stream.create_consumer(config).await?.messages().await?)
        })?;
        Ok(self.runtime.spawn(async move {
            let mut came = Vec::with_capacity(count);
            for _ in 0..count {
                messages.next().await.ok_or("the messages have ended")??;
                came.push(Instant::now());
            }
            Ok(came)
        }))
    }
}

fn connect(runtime: &Runtime, engine: &NatsServers) -> Result<jetstream::Context, Failure> {
    let addresses = engine.addresses();
    let addresses: Vec<&str> = addresses.split(',').collect();
    let client = runtime.block_on(async_nats::connect(addresses))?;
    let _tasks = runtime.enter();
    Ok(jetstream::new(client))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Messages, alone, follow_us, followed_us, parts, wake_us};

    #[test]
    fn two_kinds_of_messages_tell_what_each_part_takes() {
        let of = |count: usize, records| Messages {
            all: vec![Bytes::new(); count + 2],
            setup: 2,
            records,
        };
        // A message takes 7, a record 3.
        let (single, grouped) = (of(10, 10), of(4, 100));
        assert_eq!(parts(100.0, 28.0 + 300.0, &single, &grouped), (7.0, 3.0));
    }

    #[test]
    fn what_was_committed_in_memory_is_followed() {
        let size = super::Size { commits: 64, turns: 1, published: 0, woken: 0, reads: 0 };
        let (prepare_us, messages) = alone(&size).unwrap();
        assert!(prepare_us > 0.0);
        assert_eq!((messages.count(), messages.records), (64.0, 64));
        follow_us(&messages).unwrap();
        assert!(followed_us(&messages, 8).unwrap() > 0.0);
    }

    #[test]
    fn two_threads_are_woken_for_a_message() {
        assert_eq!(wake_us(50.0, 10.0), 20.0);
        assert_eq!(wake_us(9.0, 10.0), 0.0);
    }
}
