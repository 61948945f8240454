//! Durable segments, while those who take them and the engine's leader are killed.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{LONG, NOW};
use alice::Key;
use alice_nats::{Durable, Engine, NotReceived, Options, Taken};
use jungle_testkit::{NatsServers, Rng, for_each_seed};

pub(crate) const JOBS: Key<u64> = Key::new("jobs");
pub(crate) const DONE: Key<u64> = Key::new("done");

/// Tells a process of this program that it is a taker, and of which engine.
const TAKER: &str = "ALICE_TAKER_OF";
/// How many segments; the full test has 10,000.
const SEGMENTS: &str = "ALICE_KILL_SEGMENTS";

pub(crate) fn options() -> Options {
    let redeliver_after = Duration::from_secs(1);
    Options { replicas: 3, redeliver_after, ..Options::default() }
}

/// Takes jobs and puts what comes of them, until there are none for a while.
fn work(engine: &Engine, patience: Duration) {
    let jobs = engine.peer("farm").durable(&JOBS);
    let done = engine.peer("home").durable(&DONE);
    loop {
        match jobs.take_within(patience) {
            // What is not confirmed comes again, here or elsewhere.
            Ok(job) => drop(worked(job, &done)),
            Err(NotReceived::TimedOut) => return,
            Err(error) => eprintln!("a taker: {error:?}"),
        }
    }
}

fn worked(job: Taken<u64>, done: &Durable<u64>) -> Result<(), Box<dyn std::error::Error>> {
    job.put(done, *job.open()? * 2)?;
    Ok(job.done()?)
}

/// As a process of its own, if it is told so; else on a thread, with nobody killed.
#[test]
fn taker_works_until_nothing_is_left() {
    if let Ok(addresses) = std::env::var(TAKER) {
        return work(&Engine::connect(&addresses, options()).unwrap(), LONG * 10);
    }
    let servers = NatsServers::start(1);
    let options = Options { replicas: 1, ..options() };
    let engine = Engine::connect(&servers.addresses(), options).unwrap();
    (0..10).for_each(|job| _ = engine.peer("farm").durable(&JOBS).put(job).unwrap());
    work(&engine, Duration::from_millis(100));
    let done = engine.peer("home").durable(&DONE);
    let results = (0..10).map(|_| *take_now(&done).expect("all are done"));
    assert!(results.eq((0..10).map(|job| job * 2)));
}

fn take_now(queue: &Durable<u64>) -> Option<alice::Segment<u64>> {
    let taken = queue.take_within(NOW).ok()?;
    let data = taken.open().unwrap();
    taken.done().unwrap();
    Some(data)
}

/// So often a taker is killed.
const EACH: Duration = Duration::from_secs(1);

#[test]
fn nothing_is_lost_or_done_twice_while_takers_and_the_leader_are_killed() {
    let count = std::env::var(SEGMENTS).map_or(600, |count| count.parse().expect("a number"));
    for_each_seed(1, |rng| {
        let began = Instant::now();
        // For the ledger; in front of it may be a dot, which says that another test has passed.
        println!("\nengine: {count} points from seed {}", rng.seed());
        let mut servers = NatsServers::start(3);
        let engine = Engine::connect(&servers.addresses(), options()).unwrap();
        let jobs = engine.peer("farm").durable(&JOBS);
        jobs.put(0).unwrap();
        let (results, kills) = thread::scope(|scope| {
            let put = scope.spawn(|| put(&jobs, count));
            let received = receive(&engine, &mut servers, count, rng);
            put.join().unwrap();
            received
        });
        let all: BTreeSet<u64> = results.iter().copied().collect();
        assert!(all.into_iter().eq((0..count).map(|job| job * 2)), "some are lost");
        assert_eq!(results.len() as u64, count, "some are there twice");
        assert!(engine.peer("home").durable(&DONE).take_within(NOW).is_err());
        println!("{count} segments, {kills} takers killed, {:.1} s", began.elapsed().as_secs_f32());
        println!("\n{count} passed, 0 failed");
    });
}

/// One by one, and several at once.
fn put(jobs: &Durable<u64>, count: u64) {
    let mut next = 1;
    while next < count {
        jobs.put(next).unwrap();
        let many = next + 1..count.min(next + 40);
        next = many.end.max(next + 1);
        jobs.put_all(many).into_iter().for_each(|put| _ = put.unwrap());
    }
}

/// The results, those with an index that was seen already only once, and how many takers were
/// killed. Meanwhile one of two takers is killed every second, and the leader of the engine once.
fn receive(
    engine: &Engine,
    servers: &mut NatsServers,
    count: u64,
    rng: &mut Rng,
) -> (Vec<u64>, u32) {
    let done = engine.peer("home").durable(&DONE);
    let (mut results, mut seen) = (Vec::new(), BTreeSet::new());
    let addresses = servers.addresses();
    let mut takers = [Taker::start(&addresses), Taker::start(&addresses)];
    let (mut dead, mut killed, mut kills) = (None, Instant::now(), 0);
    while (results.len() as u64) < count {
        let taken = match done.take_within(LONG * 2) {
            Ok(taken) => taken,
            Err(error) => panic!("{error:?} after {} results", results.len()),
        };
        if seen.insert(taken.index()) {
            results.push(*taken.open().unwrap());
            if killed.elapsed() >= EACH {
                takers[rng.index(2)] = Taker::start(&addresses);
                (killed, kills) = (Instant::now(), kills + 1);
            }
            let at = results.len() as u64;
            if at == count / 3 {
                let leader = engine.leader().unwrap().expect("it has just answered");
                let leader = servers.position(&leader).expect("it is one of ours");
                servers.kill(leader);
                dead = Some(leader);
            } else if at == count / 2 {
                dead.take().into_iter().for_each(|leader| servers.restart(leader));
            }
        }
        // If that is not confirmed, it comes again, with the same index.
        let _ = taken.done();
    }
    (results, kills)
}

/// A process that takes, until this is dropped.
pub(crate) struct Taker(Child);

impl Taker {
    fn start(addresses: &str) -> Taker {
        Taker::start_by(Command::new(std::env::current_exe().unwrap()), addresses)
    }

    /// By a command that runs this program.
    pub(crate) fn start_by(mut taker: Command, addresses: &str) -> Taker {
        taker.args(["--exact", "kill::taker_works_until_nothing_is_left", "--nocapture"]);
        taker.env(TAKER, addresses).stdin(Stdio::null()).stdout(Stdio::null());
        Taker(taker.spawn().unwrap())
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
