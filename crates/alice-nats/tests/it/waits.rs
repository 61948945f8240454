//! Takers of a durable queue: many of them, and what they hear when the engine fails.

use std::thread;
use std::time::{Duration, Instant};

use crate::{LONG, NOW, connect, engine};
use alice::Key;
use alice_nats::{Durable, Engine, NotReceived, Options};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use jungle_testkit::NatsServers;

const A: Key<u32> = Key::new("a");
const CONSUMER: &str = "n==a";
const SHORT: Duration = Duration::from_millis(300);

/// The engine, as its own clients see it.
struct Direct {
    threads: tokio::runtime::Runtime,
    client: async_nats::Client,
    stream: Stream,
}

impl Direct {
    /// There must have been a put or a take.
    fn to(servers: &NatsServers) -> Direct {
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (client, stream) = threads.block_on(async {
            let client = async_nats::connect(servers.addresses()).await.unwrap();
            let context = async_nats::jetstream::new(client.clone());
            (client, context.get_stream("alice-default").await.unwrap())
        });
        Direct { threads, client, stream }
    }

    fn waiting(&self) -> usize {
        self.threads.block_on(async {
            let mut consumer: PullConsumer = self.stream.get_consumer(CONSUMER).await.unwrap();
            consumer.info().await.unwrap().num_waiting
        })
    }

    fn wait_until_waiting(&self, count: usize) {
        let began = Instant::now();
        while self.waiting() != count {
            assert!(began.elapsed() < LONG, "{} wait", self.waiting());
        }
    }

    fn headers(&self, index: u64) -> HeaderMap {
        self.threads.block_on(async { self.stream.get_raw_message(index).await.unwrap().headers })
    }
}

fn take(queue: &Durable<u32>) -> Result<u32, NotReceived> {
    let taken = queue.take_within(LONG)?;
    let data = *taken.open().unwrap();
    taken.done().unwrap();
    Ok(data)
}

#[test]
fn more_than_five_hundred_wait_and_all_are_served() {
    const COUNT: u32 = 600;
    let (engine, servers) = engine();
    let queue = engine.peer("n").durable(&A);
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    let direct = Direct::to(&servers);
    let requests = direct.client.subscribe("$JS.API.CONSUMER.MSG.NEXT.>");
    let mut requests = direct.threads.block_on(requests).unwrap();
    // Its answer comes behind the subscription, which a flush does not wait for.
    assert_eq!(direct.waiting(), 0);
    let began = Instant::now();
    let mut all: Vec<u32> = thread::scope(|scope| {
        let takers: Vec<_> = (0..COUNT)
            .map(|_| {
                let queue = queue.clone();
                let small = thread::Builder::new().stack_size(1 << 19);
                small.spawn_scoped(scope, move || take(&queue).unwrap()).unwrap()
            })
            .collect();
        direct.wait_until_waiting(COUNT as usize);
        queue.put_all(0..COUNT).into_iter().for_each(|put| _ = put.unwrap());
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert!(all.into_iter().eq(0..COUNT));
    // Each asks once in five seconds.
    let turns = began.elapsed().as_secs() / 5 + 1;
    let asked = direct.threads.block_on(async {
        direct.client.flush().await.unwrap();
        let mut asked = 0;
        while let Ok(Some(_)) = tokio::time::timeout(SHORT, requests.next()).await {
            asked += 1;
        }
        asked
    });
    let right = u64::from(COUNT)..=u64::from(COUNT) * turns;
    assert!(right.contains(&asked), "{asked} requests in {:?}", began.elapsed());
}

/// As for a queue of an earlier version, of which only 512 can wait.
#[test]
fn who_cannot_wait_in_the_engine_waits_all_the_same() {
    let (engine, servers) = engine();
    let queue = engine.peer("n").durable(&A);
    queue.put(0).unwrap();
    let direct = Direct::to(&servers);
    let config = pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        filter_subject: "alice.default.keep.n.a".to_owned(),
        ack_policy: AckPolicy::Explicit,
        max_waiting: 2,
        ..pull::Config::default()
    };
    direct.threads.block_on(async { direct.stream.create_consumer(config).await.unwrap() });
    assert_eq!(take(&queue).unwrap(), 0);
    let mut all: Vec<u32> = thread::scope(|scope| {
        let takers: Vec<_> = (1..6)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        match queue.take_within(SHORT) {
                            Ok(taken) => {
                                let data = *taken.open().unwrap();
                                taken.done().unwrap();
                                return data;
                            }
                            Err(NotReceived::TimedOut) => {}
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                })
            })
            .collect();
        direct.wait_until_waiting(2);
        (1..6).for_each(|data| _ = queue.put(data).unwrap());
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4, 5]);
}

fn check_failure(queue: &Durable<u32>, why: &str) {
    for within in [NOW, SHORT] {
        let taken = queue.take_within(within);
        assert!(matches!(taken, Err(NotReceived::Engine(_))), "{why}, {within:?}: {taken:?}");
        let taken = queue.take_up_to(9, within);
        assert!(matches!(taken, Err(NotReceived::Engine(_))), "{why}, {within:?}: {taken:?}");
    }
}

#[test]
fn failing_engine_does_not_look_like_an_empty_queue() {
    let (engine, mut servers) = engine();
    let queue = engine.peer("n").durable(&A);
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    assert!(matches!(queue.take_within(SHORT), Err(NotReceived::TimedOut)));
    let direct = Direct::to(&servers);
    direct.threads.block_on(async { direct.stream.delete_consumer(CONSUMER).await.unwrap() });
    check_failure(&queue, "the queue was deleted");
    let queue = engine.peer("n").durable(&A);
    assert!(matches!(queue.take_within(SHORT), Err(NotReceived::TimedOut)));
    servers.kill(0);
    check_failure(&queue, "the server is dead");
}

#[test]
fn closing_ends_what_waits_for_durable_queues() {
    let servers = NatsServers::start(1);
    let engine: Engine = connect(&servers, Options::default());
    let queue = engine.peer("n").durable(&A);
    assert!(matches!(queue.take_within(NOW), Err(NotReceived::TimedOut)));
    let direct = Direct::to(&servers);
    let taker = thread::spawn(move || queue.take());
    direct.wait_until_waiting(1);
    let began = Instant::now();
    engine.close().unwrap();
    let taken = taker.join().unwrap();
    assert!(matches!(taken, Err(NotReceived::Engine(_))), "{taken:?}");
    assert!(began.elapsed() < Options::default().store_within / 2, "{:?}", began.elapsed());
}

#[test]
fn any_text_is_an_id() {
    let (engine, servers) = engine();
    let queue = engine.peer("n").durable(&A);
    let ids = ["a\r\nb", "a\nb", "a\rb", "a\u{1b}nb", "a\u{1b}enb", "a\\nb", "a b", "anb", ""];
    let put = || ids.map(|id| queue.put_once(id, 1).unwrap());
    assert_eq!(put(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(put(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let ordinary = queue.put_once("order \\ 7, \u{e9}", 1).unwrap();
    let headers = Direct::to(&servers).headers(ordinary);
    let id = headers.get("Nats-Msg-Id").unwrap().as_str();
    assert_eq!(id, "alice.default.keep.n.a order \\ 7, \u{e9}", "as it always was");
}
