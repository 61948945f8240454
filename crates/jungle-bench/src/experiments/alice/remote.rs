//! Putting and taking between processes, beside the engine's client alone: the same messages, one
//! server for live keys and three for durable ones, all on loopback.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alice::{Key, Node};
use alice_nats::{Durable, Engine, Options as Engines, Taken};
use async_nats::jetstream::{self, consumer, stream};
use futures_util::StreamExt;
use jungle_testkit::NatsServers;
use tokio::runtime::Runtime;

use super::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;

const NUMBERS: Key<u64> = Key::new("numbers");
/// How many pairs of a put and a take are one measurement.
const LIVE: u64 = 1000;
const DURABLE: u64 = 192;
/// So many at a time.
const OUTSTANDING: u64 = 64;
const WITHIN: Duration = Duration::from_secs(30);

/// Microseconds of a put and a take of a number. `live` = of a live key, `bare` = two requests of
/// the client that are answered at once; `remote-live` = how many times as long. `durable` = put,
/// take and done of a durable key, three replicas; `engine` = publish, fetch and double
/// acknowledgement by the client as it is set up, `engine-memory` where who has taken what is on no
/// disk, as ours has it; `remote-durable` = how many times as long as that, and
/// `remote-durable-disk` as the first; `-64` = with so many under way at once, ours by the calls
/// for many, `remote-durable-64` = how many times as quick.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let turns = if options.tiny { 1 } else { turns(options) / 4 };
    let one = NatsServers::start(1);
    let (live, bare) = (Live::new(&one)?, Bare::new(&one)?);
    let all: Vec<Turn<'_>> =
        vec![("live", Box::new(|| live.run())), ("bare", Box::new(|| bare.run()))];
    let mut numbers = in_turns(turns * 4, 1e6 / LIVE as f64, all)?;
    numbers.push(("remote-live", number(&numbers, "live") / number(&numbers, "bare")));
    drop((live, bare, one));
    let three = NatsServers::start(3);
    let (ours, theirs) = (&Kept::new(&three)?, &Queue::new(&three, "queue", false)?);
    let alike = &Queue::new(&three, "queue-memory", true)?;
    let all: Vec<Turn<'_>> = vec![
        ("durable", Box::new(|| ours.run(1))),
        ("engine", Box::new(|| theirs.run(1))),
        ("engine-memory", Box::new(|| alike.run(1))),
        ("durable-64", Box::new(|| ours.run(OUTSTANDING))),
        ("engine-64", Box::new(|| theirs.run(OUTSTANDING))),
        ("engine-memory-64", Box::new(|| alike.run(OUTSTANDING))),
    ];
    numbers.extend(in_turns(turns.max(1), 1e6 / DURABLE as f64, all)?);
    let all = |name| number(&numbers, name);
    numbers.extend([
        ("remote-durable", all("durable") / all("engine-memory")),
        ("remote-durable-disk", all("durable") / all("engine")),
        ("remote-durable-64", all("engine-memory-64") / all("durable-64")),
        ("remote-durable-64-disk", all("engine-64") / all("durable-64")),
    ]);
    Ok(named("us", &numbers))
}

/// A live key of another connection.
struct Live {
    engine: Engine,
    _member: alice_nats::Member,
}

impl Live {
    fn new(servers: &NatsServers) -> Result<Live, Failure> {
        let owner = Engine::connect(&servers.addresses(), Engines::default())?;
        let member = owner.join("owner", &Node::new())?;
        member.serve(&NUMBERS)?;
        let engine = Engine::connect(&servers.addresses(), Engines::default())?;
        Ok(Live { engine, _member: member })
    }

    fn run(&self) -> Result<f64, Failure> {
        let peer = self.engine.peer("owner");
        let (begun, mut sum) = (Instant::now(), 0);
        for number in 0..LIVE {
            peer.put(&NUMBERS, number)?;
            sum += *peer.take(&NUMBERS)?.open()?;
        }
        seconds(begun, sum == LIVE * (LIVE - 1) / 2)
    }
}

/// The client, with as many threads as a connection of ours has.
struct Client {
    runtime: Runtime,
    client: async_nats::Client,
}

impl Client {
    fn connect(servers: &NatsServers) -> Result<Client, Failure> {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_all().build()?;
        let addresses = servers.addresses();
        let addresses: Vec<&str> = addresses.split(',').collect();
        let client = runtime.block_on(async_nats::connect(addresses))?;
        Ok(Client { runtime, client })
    }
}

/// Requests that are answered with themselves.
struct Bare {
    asks: Client,
    _answers: Client,
}

impl Bare {
    fn new(servers: &NatsServers) -> Result<Bare, Failure> {
        let answers = Client::connect(servers)?;
        let client = answers.client.clone();
        let mut requests = answers.runtime.block_on(async {
            let requests = client.queue_subscribe("bare.>", "owner".to_owned()).await?;
            client.flush().await?;
            Ok::<_, Failure>(requests)
        })?;
        answers.runtime.spawn(async move {
            while let Some(request) = requests.next().await {
                if let Some(reply) = request.reply {
                    // Ends with the connection.
                    let _ = client.publish(reply, request.payload).await;
                }
            }
        });
        Ok(Bare { asks: Client::connect(servers)?, _answers: answers })
    }

    fn run(&self) -> Result<f64, Failure> {
        let Client { runtime, client } = &self.asks;
        let (begun, mut bytes) = (Instant::now(), 0);
        for number in 0..LIVE {
            let payload = number.to_le_bytes().to_vec();
            let put = client.request("bare.numbers", payload.into());
            let put = runtime.block_on(put)?;
            let take = runtime.block_on(client.request("bare.numbers", put.payload))?;
            bytes += take.payload.len() as u64;
        }
        seconds(begun, bytes == 8 * LIVE)
    }
}

/// Our durable key.
struct Kept(Durable<u64>);

impl Kept {
    fn new(servers: &NatsServers) -> Result<Kept, Failure> {
        let options = Engines { replicas: 3, ..Engines::default() };
        let engine = Engine::connect(&servers.addresses(), options)?;
        let kept = Kept(engine.peer("owner").durable(&NUMBERS));
        kept.run(1)?;
        Ok(kept)
    }

    fn run(&self, outstanding: u64) -> Result<f64, Failure> {
        let (begun, mut sum) = (Instant::now(), 0);
        for first in (0..DURABLE).step_by(outstanding as usize) {
            let numbers = first..DURABLE.min(first + outstanding);
            sum += if outstanding == 1 { self.one(first)? } else { self.together(numbers)? };
        }
        seconds(begun, sum == DURABLE * (DURABLE - 1) / 2)
    }

    fn one(&self, number: u64) -> Result<u64, Failure> {
        self.0.put(number)?;
        let taken = self.0.take_within(WITHIN)?;
        let number = *taken.open()?;
        taken.done()?;
        Ok(number)
    }

    fn together(&self, numbers: Range<u64>) -> Result<u64, Failure> {
        let (mut left, mut sum) = (numbers.clone().count(), 0);
        for put in self.0.put_all(numbers) {
            put?;
        }
        while left > 0 {
            let taken = self.0.take_up_to(left, WITHIN)?;
            left -= taken.len();
            for taken in &taken {
                sum += *taken.open()?;
            }
            for done in Taken::done_all(taken) {
                done?;
            }
        }
        Ok(sum)
    }
}

/// A work queue of the engine, by its client.
struct Queue {
    name: &'static str,
    client: Client,
    context: jetstream::Context,
    consumer: Arc<consumer::PullConsumer>,
}

impl Queue {
    fn new(servers: &NatsServers, name: &'static str, memory: bool) -> Result<Queue, Failure> {
        let client = Client::connect(servers)?;
        let _tasks = client.runtime.enter();
        let context = jetstream::new(client.client.clone());
        let consumer = client.runtime.block_on(async {
            let config = stream::Config {
                name: name.to_owned(),
                subjects: vec![format!("{name}.>")],
                retention: stream::RetentionPolicy::WorkQueue,
                num_replicas: 3,
                ..stream::Config::default()
            };
            let stream = context.create_stream(config).await?;
            let taker = consumer::pull::Config {
                durable_name: Some("taker".to_owned()),
                memory_storage: memory,
                ..consumer::pull::Config::default()
            };
            Ok::<_, Failure>(stream.create_consumer(taker).await?)
        })?;
        drop(_tasks);
        Ok(Queue { name, client, context, consumer: Arc::new(consumer) })
    }

    fn run(&self, outstanding: u64) -> Result<f64, Failure> {
        let begun = Instant::now();
        let workers: Vec<_> = (0..outstanding)
            .map(|worker| {
                let (context, consumer) = (self.context.clone(), Arc::clone(&self.consumer));
                let name = self.name;
                let numbers = (worker..DURABLE).step_by(outstanding as usize);
                self.client.runtime.spawn(async move {
                    let mut sum = 0;
                    for number in numbers {
                        let bytes = number.to_le_bytes().to_vec();
                        context.publish(format!("{name}.numbers"), bytes.into()).await?.await?;
                        let batch = consumer.batch().max_messages(1).expires(WITHIN);
                        let mut batch = batch.messages().await?;
                        let message = batch.next().await.ok_or("no message came")??;
                        message.double_ack().await?;
                        sum += u64::from_le_bytes(message.payload[..].try_into()?);
                    }
                    Ok::<u64, Failure>(sum)
                })
            })
            .collect();
        let mut sum = 0;
        for worker in workers {
            sum += self.client.runtime.block_on(worker)??;
        }
        seconds(begun, sum == DURABLE * (DURABLE - 1) / 2)
    }
}

fn seconds(begun: Instant, is_right: bool) -> Result<f64, Failure> {
    let seconds = begun.elapsed().as_secs_f64();
    if is_right { Ok(seconds) } else { Err("something else came out than went in".into()) }
}
