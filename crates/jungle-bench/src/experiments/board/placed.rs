//! Load clients that are placed with Alice, on this machine or others: each is a node that takes
//! what is to be asked, has the load tool ask it, and keeps what came of it until that is taken
//! back.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use alice::{Key, Node, take};
use alice_nats::{Engine, Options};
use serde::{Deserialize, Serialize};

use super::load::Asking;
use crate::Failure;

/// A load by clients that were started before, with `load-node`.
#[derive(clap::Args)]
pub struct Request {
    /// The addresses of the engine (NATS with JetStream), with commas between them.
    engine: String,
    /// The labels of the clients: one for each address that is asked.
    #[arg(long, value_delimiter = ',', required = true)]
    clients: Vec<String>,
    /// Requests of each client.
    #[arg(long, default_value_t = 10_000)]
    requests: u64,
    /// Connections of each client.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// What is asked, such as `http://10.0.0.7:8080/boards/b`; each by a client of its own.
    #[arg(required = true)]
    urls: Vec<String>,
}

/// Waits for the clients, has them ask, and prints what came of it.
///
/// # Errors
/// As [`Placed::at`] and [`Placed::run`].
pub fn load(request: &Request) -> Result<(), Failure> {
    let clients = Placed::at(&request.engine, request.clients.clone())?;
    let Request { requests, connections, .. } = *request;
    let job = |url: &String| Job { url: url.clone(), requests, connections };
    let rates = clients.run(&request.urls.iter().map(job).collect::<Vec<Job>>())?;
    for (url, rate) in request.urls.iter().zip(&rates) {
        println!("{rate:.0}/s {url}");
    }
    println!("{:.0}/s in all", rates.iter().sum::<f64>());
    Ok(())
}

/// What is to be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub url: String,
    pub requests: u64,
    pub connections: usize,
}

/// Answers a second, or what went wrong.
type Done = Result<f64, String>;

const JOB: Key<Job> = Key::new("job");
const DONE: Key<Done> = Key::new("done");

/// Nobody takes so long to come, and no load takes so long.
const PATIENCE: Duration = Duration::from_mins(2);

/// Is one of them until whoever started this closes its standard input.
///
/// # Errors
/// When the engine is not there, or somebody has the label.
pub fn node(engine: &str, label: &str) -> Result<(), Failure> {
    let engine = connect(engine)?;
    let node = Node::new();
    let member = engine.join(label, &node)?;
    member.serve(&JOB)?;
    member.serve(&DONE)?;
    let code = node.code("load").when(take(&JOB)).to(&DONE);
    code.repeatedly(|job, done| {
        let rate = Asking::of(job.url.clone()).run(job.requests, job.connections);
        done.put(rate.map_err(|error| error.to_string()))
    })?;
    println!("{label} is there");
    let mut input = io::stdin().lock();
    while matches!(input.read(&mut [0; 64]), Ok(1..)) {}
    Ok(())
}

/// Clients that are placed.
pub struct Placed {
    engine: Engine,
    labels: Vec<String>,
    /// Those that this process started.
    _here: Vec<Leashed>,
}

impl Placed {
    /// Those that have these labels, which may be anywhere; waits until all are there.
    ///
    /// # Errors
    /// When the engine is not there, or somebody is missing.
    pub fn at(engine: &str, labels: Vec<String>) -> Result<Placed, Failure> {
        let engine = connect(engine)?;
        let names: Vec<&str> = labels.iter().map(String::as_str).collect();
        engine.wait_for_all(&names, PATIENCE)?;
        Ok(Placed { engine, labels, _here: Vec::new() })
    }

    /// So many on this machine, in processes of their own.
    ///
    /// # Errors
    /// When they cannot be started.
    pub fn here(engine: &str, count: usize) -> Result<Placed, Failure> {
        let labels: Vec<String> = (0..count).map(|at| format!("load-{at}")).collect();
        let started = labels.iter().map(|label| Leashed::start(engine, label));
        let here = started.collect::<Result<Vec<_>, Failure>>()?;
        Ok(Placed { _here: here, ..Placed::at(engine, labels)? })
    }

    /// Gives each of the first clients one job, all at once; answers a second of each.
    ///
    /// # Errors
    /// When there are fewer clients than jobs, a client is gone, or not every answer is one of
    /// success.
    pub fn run(&self, jobs: &[Job]) -> Result<Vec<f64>, Failure> {
        if jobs.len() > self.labels.len() {
            let (clients, jobs) = (self.labels.len(), jobs.len());
            return Err(format!("{clients} clients cannot do {jobs} jobs at once").into());
        }
        let peers = || self.labels.iter().map(|label| self.engine.peer(label)).zip(jobs);
        for (peer, job) in peers() {
            peer.put(&JOB, job.clone()).map_err(|error| error.why)?;
        }
        let done = peers().map(|(peer, _)| {
            let done = peer.take_within(&DONE, PATIENCE)?;
            let rate: Done = (*done.open()?).clone();
            rate.map_err(|error| format!("{}: {error}", peer.label()).into())
        });
        // All are taken back, whatever came of the first.
        done.collect::<Vec<Result<f64, Failure>>>().into_iter().collect()
    }
}

fn connect(engine: &str) -> Result<Engine, Failure> {
    let options = Options { space: "load".to_owned(), ..Options::default() };
    Ok(Engine::connect(engine, options)?)
}

/// A client that ends with this process.
struct Leashed {
    child: Child,
    leash: Option<ChildStdin>,
}

impl Leashed {
    fn start(engine: &str, label: &str) -> Result<Leashed, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["load-node", engine, label]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (leash, told) = (child.stdin.take(), child.stdout.take());
        let leashed = Leashed { child, leash };
        let mut line = String::new();
        BufReader::new(told.ok_or("it was asked for")?).read_line(&mut line)?;
        if line.is_empty() { Err(format!("{label} did not start").into()) } else { Ok(leashed) }
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.leash = None;
        let _ = self.child.wait();
    }
}
