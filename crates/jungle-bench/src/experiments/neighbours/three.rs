//! Three servers that are one cluster, each with a server of the engine, all on loopback: what they
//! read from their own copies, beside one and two, when a commit through one is seen on another,
//! and how long commits stand still when one is killed.

use std::thread;
use std::time::{Duration, Instant};

use jungle_testkit::NatsServers;
use serde_json::{Value as Json, json};

use super::draws::{Edits, TREE, value_of};
use super::served::Connection;
use super::{User, kills, load};
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::board::server::{Client, PATIENCE, Serving};
use crate::experiments::folder::Folder;
use crate::sample::Sample;
use crate::stats::{median, quantile};
use crate::workload::{Random, on_workers};

/// Servers of the cluster.
const SERVERS: usize = 3;

/// Reads of each client in a turn, for each task; the first turn warms up.
const TASK_READS: u64 = 10;
const READ_TURNS: usize = 5;

/// Commits, for each task, that are waited for on another server.
const TASK_SEEN: u64 = 4;

/// More tasks add nothing to either, and the peers have to end, too.
const TASKS_MAX: u64 = 100;

/// Commits before a server is killed, and after.
const GAP_COMMITS: u64 = 100;

/// How often it is looked whether the engine has got over that.
const LOOK: Duration = Duration::from_millis(20);

/// Where commits go that are waited for, and during which a server is killed.
const SEEN: &str = "seen";
const KILLED: &str = "killed";

const JSON: &str = "application/json";

/// Reads a second of as many clients for each server as `threads` says: `read-alone` of a server
/// that is alone in its cluster, `read-two` of a cluster of two, `read` of three that are asked at
/// once; `read-cpu…` = microseconds of these servers' processor time for each. `seen` = the median
/// milliseconds from before a commit is sent to one server until another answers who waits for it
/// there, `seen-p99`; `resume` = the median seconds without an acknowledged commit when the server
/// of the engine that leads the log is killed with the server beside it, `resume-most`.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("neighbours-three")?;
    // On the disk where the peers' logs are.
    let mut engine = NatsServers::start_in(&folder.0, SERVERS);
    let edits = Edits::drawn(options.seed, Edits::new(options).count, options.threads, 0);
    let start = |name, count| Cluster::start(&engine, &folder, (name, count), &edits);
    let (alone, two) = (start("alone", 1)?, start("two", 2)?);
    let mut cluster = start("three", SERVERS)?;
    let [mut rates, mut costs]: [[Vec<f64>; SERVERS]; 2] = Default::default();
    let mut wrong = 0;
    for turn in 0..=READ_TURNS {
        for (which, servers) in [&alone, &two, &cluster].into_iter().enumerate() {
            let read = servers.read(&edits, options)?;
            wrong += read.wrong;
            // The first one warms up.
            if turn > 0 {
                rates[which].push(read.rate);
                costs[which].push(read.cpu_us);
            }
        }
    }
    drop((alone, two));
    let seen = cluster.seen(options.tasks.min(TASKS_MAX) * TASK_SEEN)?;
    let gaps = cluster.killed(&mut engine, kills(options))?;
    let lost = cluster.lost()?;
    let sample = Sample::value(median(&rates[2]), "1/s")
        .with("read-alone", median(&rates[0]))
        .with("read-two", median(&rates[1]))
        .with("read", median(&rates[2]))
        .with("read-cpu-alone", median(&costs[0]))
        .with("read-cpu-two", median(&costs[1]))
        .with("read-cpu", median(&costs[2]))
        .with("seen", median(&seen))
        .with("seen-p99", quantile(&seen, 0.99))
        .with("resume", median(&gaps))
        .with("resume-most", quantile(&gaps, 1.0));
    Ok(sample
        .check_none(wrong, "answers are wrong")
        .check_none(lost, "acknowledged commits are lost"))
}

/// Servers that are one cluster.
struct Cluster {
    servers: Vec<Started>,
    /// The last revision that was acknowledged.
    revision: u64,
    /// The last number that was committed while servers were killed.
    number: u64,
}

/// A server, and how it is started again.
struct Started {
    options: Vec<String>,
    serving: Option<Serving>,
}

/// What came of reading.
struct Read {
    rate: f64,
    cpu_us: f64,
    wrong: u64,
}

impl Started {
    fn new(options: Vec<String>) -> Result<Started, Failure> {
        let mut started = Started { options, serving: None };
        started.start()?;
        Ok(started)
    }

    fn start(&mut self) -> Result<(), Failure> {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        self.serving = Some(Serving::jungle(&options)?);
        Ok(())
    }

    fn serving(&self) -> Result<&Serving, Failure> {
        self.serving.as_ref().ok_or_else(|| "the server was killed".into())
    }

    fn client(&self) -> Result<Client, Failure> {
        Ok(Client::new(self.serving()?)?)
    }
}

impl Cluster {
    /// Starts them, and loads the leaves through the first; waits until all have them.
    fn start(
        engine: &NatsServers,
        folder: &Folder,
        (name, count): (&str, usize),
        edits: &Edits,
    ) -> Result<Cluster, Failure> {
        let start = |at: usize| {
            // Only of the one beside it, or it would go to any, also to the one that is killed. The
            // engine tells it of the others, where it goes when that one is gone.
            let address = engine.address(at);
            let data = folder.0.join(format!("{name}-{at}")).display().to_string();
            let kept = ["--data", &data, "--durability", "sync"];
            let member = ["--cluster", &address, "--cluster-name", name];
            Started::new([kept, member].concat().into_iter().map(str::to_owned).collect())
        };
        let servers = (0..count).map(start).collect::<Result<Vec<Started>, Failure>>()?;
        let mut cluster = Cluster { servers, revision: 0, number: 0 };
        for tree in [TREE, SEEN, KILLED] {
            let made = cluster.servers[0].serving()?;
            made.ask("POST /api/v1/trees", &json!({ "name": tree }).to_string())?;
        }
        load(&cluster, TREE, edits)?;
        cluster.revision = cluster.commit(0)?;
        cluster.wait_for_all()?;
        Ok(cluster)
    }

    /// Commits the first of the numbers during which servers are killed; gives the revision.
    fn commit(&self, at: usize) -> Result<u64, Failure> {
        let first = edit(&name(self.number), self.number);
        committed(&self.servers[at].client()?.ask(&to(KILLED), JSON, &first)?)
    }

    /// Waits until all show what was acknowledged.
    fn wait_for_all(&self) -> Result<(), Failure> {
        self.servers.iter().try_for_each(|server| {
            let mut client = server.client()?;
            client.send(&at(KILLED, self.revision), "")?;
            client.answer().map(drop)
        })
    }

    /// All clients of all servers at once, each with a connection of its own.
    fn read(&self, edits: &Edits, options: Options) -> Result<Read, Failure> {
        let each = options.tasks.min(TASKS_MAX) * TASK_READS;
        let before = self.cpu()?;
        let (seconds, done) = on_workers(self.servers.len() * options.threads, |number| {
            let server = &self.servers[number % self.servers.len()];
            let mut user = Connection(server.client()?);
            let (mut random, mut wrong) = (Random(options.seed + number as u64), 0);
            for _ in 0..each {
                let leaf = random.below(edits.count.into()) as u32;
                wrong += u64::from(user.read(TREE, leaf, None)? != value_of(leaf, 0));
            }
            Ok::<u64, Failure>(wrong)
        });
        let reads = (done.len() as u64 * each) as f64;
        let cpu_us = 1e6 * (self.cpu()? - before) / reads;
        let wrong = done.into_iter().sum::<Result<u64, Failure>>()?;
        Ok(Read { rate: reads / seconds, cpu_us, wrong })
    }

    /// Seconds of processor time that they have used.
    fn cpu(&self) -> Result<f64, Failure> {
        self.servers.iter().map(|server| server.serving()?.cpu()).sum()
    }

    /// Milliseconds from before a commit is sent to a server until another one, which is asked
    /// before that for nothing older than it, answers with it.
    fn seen(&mut self, commits: u64) -> Result<Vec<f64>, Failure> {
        let clients = self.servers.iter().map(Started::client);
        let mut clients = clients.collect::<Result<Vec<Client>, Failure>>()?;
        let mut times = Vec::new();
        for number in 1..=commits {
            let (from, to_see) = (number as usize % SERVERS, (number as usize + 1) % SERVERS);
            clients[to_see].send(&at(SEEN, self.revision + 1), "")?;
            let begun = Instant::now();
            let head = format!("{} HTTP/1.1\r\nContent-Type: {JSON}", to(SEEN));
            clients[from].send(&head, &edit("n", number))?;
            let shown: Json = serde_json::from_slice(&clients[to_see].answer()?)?;
            times.push(1e3 * begun.elapsed().as_secs_f64());
            let made = committed(&clients[from].answer()?)?;
            if made != self.revision + 1 || shown["attributes"]["n"]["value"] != number {
                return Err(format!("commit {number} is revision {made}; shown is {shown}").into());
            }
            self.revision = made;
        }
        Ok(times)
    }

    /// Seconds without an acknowledged commit, each time that who leads is killed.
    fn killed(&mut self, engine: &mut NatsServers, rounds: u64) -> Result<Vec<f64>, Failure> {
        let mut gaps = Vec::new();
        for _ in 0..rounds {
            let leader = self.leader(engine)?;
            gaps.push(self.longest_gap(engine, leader)?);
            engine.restart(leader);
            self.servers[leader].start()?;
            self.wait_for_all()?;
        }
        Ok(gaps)
    }

    /// The engine's server that leads the log, once the others have all of it.
    fn leader(&self, engine: &NatsServers) -> Result<usize, Failure> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            // There may be no leader yet who could answer.
            let told = self.servers[0].serving()?.ask("GET /api/v1/cluster", "");
            let log = told.ok().and_then(|told| serde_json::from_str::<Json>(&told).ok());
            let log = log.map_or(Json::Null, |mut told| told["log"].take());
            let replicas = log["replicas"].as_array().filter(|all| all.len() + 1 >= SERVERS);
            let is_whole = replicas.is_some_and(|all| all.iter().all(|it| it["current"] == true));
            let leader = log["leader"].as_str().and_then(|name| engine.position(name));
            if let Some(leader) = leader.filter(|_| is_whole) {
                return Ok(leader);
            }
            thread::sleep(LOOK);
        }
        Err("the log has no leader, or others who keep it do not have all of it".into())
    }

    /// The longest time in seconds between two acknowledgements of one who commits to a server
    /// that stays, while the engine's leader and the server beside it are killed.
    fn longest_gap(&mut self, engine: &mut NatsServers, leader: usize) -> Result<f64, Failure> {
        let stays = (leader + 1) % SERVERS;
        let mut client = self.servers[stays].client()?;
        let (mut longest, mut last) = (Duration::ZERO, Instant::now());
        for commit in 0..2 * GAP_COMMITS {
            if commit == GAP_COMMITS {
                engine.kill(leader);
                self.servers[leader].serving = None;
            }
            self.number += 1;
            let begun = Instant::now();
            // What is refused is asked for again; the same number twice is no commit. Each has a
            // place of its own, so that it is seen if one is lost.
            let edit = edit(&name(self.number), self.number);
            self.revision = loop {
                let answer = client.ask(&to(KILLED), JSON, &edit);
                match answer.and_then(|answer| committed(&answer)) {
                    Ok(revision) => break revision,
                    Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                    Err(_) => client = self.servers[stays].client()?,
                }
            };
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        Ok(longest.as_secs_f64())
    }

    /// How many of the numbers that were acknowledged the servers do not have.
    fn lost(&self) -> Result<u64, Failure> {
        let lost = |server: &Started| {
            let mut client = server.client()?;
            client.send(&at(KILLED, self.revision), "")?;
            let shown: Json = serde_json::from_slice(&client.answer()?)?;
            let there = |number: &u64| shown["attributes"][name(*number)]["value"] == *number;
            Ok((0..=self.number).filter(|number| !there(number)).count() as u64)
        };
        self.servers.iter().map(lost).sum()
    }
}

/// Leaves are loaded through the first.
impl super::Store for Cluster {
    fn user(&self) -> Result<Box<dyn User + '_>, Failure> {
        Ok(Box::new(Connection(self.servers[0].client()?)))
    }

    fn close(self) -> Result<(), Failure> {
        let mut servers = self.servers.into_iter().filter_map(|server| server.serving);
        servers.try_for_each(Serving::stop)
    }
}

/// Commits to a tree.
fn to(tree: &str) -> String {
    format!("POST /api/v1/trees/{tree}/commits")
}

fn edit(attribute: &str, number: u64) -> String {
    let put = json!({ "op": "put", "path": "/", "attribute": attribute, "value": number });
    json!({ "edits": [put] }).to_string()
}

/// Where a number is while servers are killed.
fn name(number: u64) -> String {
    format!("n{number}")
}

/// The revision, as a commit is answered.
fn committed(answer: &[u8]) -> Result<u64, Failure> {
    let answer: Json = serde_json::from_slice(answer)?;
    answer["revision"].as_u64().ok_or_else(|| format!("a commit: {answer}").into())
}

/// Asks for the root of a tree as it is at a revision or later.
fn at(tree: &str, revision: u64) -> String {
    format!("GET /api/v1/trees/{tree}/node HTTP/1.1\r\nJungle-Revision: {revision}")
}
