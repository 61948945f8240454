//! What a page costs a server that is alone in its cluster, and one of three, each under a load of
//! its own: processor time, since all of them share the cores of one machine. The load clients are
//! placed with Alice.

use std::thread;
use std::time::Instant;

use jungle_testkit::NatsServers;

use super::super::Options;
use super::super::folder::Folder;
use super::super::turns::turns;
use super::e3::{Count, SHOWN, furnish, messages};
use super::placed::{Job, Placed};
use super::server::{PATIENCE, Serving};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, ratios};

/// Servers that share a cluster.
const SERVERS: usize = 3;

/// Connections to each server.
const CONNECTIONS: usize = 16;

/// Requests to each server in a turn.
const REQUESTS: u64 = 10_000;

/// Microseconds of processor time that a server needs to show a board of ten messages: `page-alone`
/// of the only server of a cluster, `page-three` of three under load at once, on average; `share`
/// = the median of the turns' ratios. In each turn there is a commit first.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let requests = if options.tiny { 200 } else { REQUESTS };
    let engine = NatsServers::start(3);
    let folder = Folder::new("share")?;
    let cluster = |count| cluster(&engine, &folder, (&format!("of-{count}"), count), &[]);
    let (alone, three) = (cluster(1)?, cluster(SERVERS)?);
    let clients = Placed::here(&engine.addresses(), SERVERS)?;
    let (mut alones, mut threes) = (Vec::new(), Vec::new());
    for turn in 0..=turns(options) as u64 {
        let cost = |servers| page_cost(servers, &clients, turn, requests);
        let costs = [cost(&alone)?, cost(&three)?];
        // The first one warms up.
        if turn > 0 {
            alones.push(costs[0]);
            threes.push(costs[1]);
        }
    }
    let share = median(&ratios(&threes, &alones));
    let sample = Sample::value(median(&alones), "us").with("page-alone", median(&alones));
    Ok(sample.with("page-three", median(&threes)).with("share", share))
}

/// So many servers with two boards in a cluster of this name, started with these options as well.
///
/// # Errors
/// When one does not start, or does not come to have what the first has.
pub fn cluster(
    engine: &NatsServers,
    folder: &Folder,
    (name, count): (&str, usize),
    more: &[&str],
) -> Result<Vec<Serving>, Failure> {
    let addresses = engine.addresses();
    let start = |at: usize| {
        let data = folder.0.join(format!("{name}-{at}")).display().to_string();
        Serving::jungle(&[&member(&data, &addresses, name)[..], more].concat())
    };
    let servers = (0..count).map(start).collect::<Result<Vec<_>, Failure>>()?;
    furnish(&servers[0])?;
    servers.iter().try_for_each(|server| wait_for(server, messages, "b", SHOWN))?;
    Ok(servers)
}

/// How a server of a cluster is started. Several share the cores, so each has one thread that
/// answers; and so has one that is alone, or what its pages cost would be told with what two such
/// threads cost each other.
fn member<'o>(data: &'o str, engine: &'o str, name: &'o str) -> [&'o str; 8] {
    ["--data", data, "--cluster", engine, "--cluster-name", name, "--workers", "1"]
}

/// Waits until a server says that a board has so many messages.
///
/// # Errors
/// When that takes too long.
pub fn wait_for(server: &Serving, count: Count, board: &str, messages: u64) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        // The board may not be there yet.
        match count(server, board) {
            Ok(found) if found >= messages => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            _ if begun.elapsed() > PATIENCE => return Err("a server does not follow".into()),
            _ => thread::yield_now(),
        }
    }
}

/// Microseconds a request, of all of them at once.
fn page_cost(
    servers: &[Serving],
    clients: &Placed,
    turn: u64,
    requests: u64,
) -> Result<f64, Failure> {
    let put = format!(r#"{{"op":"put","path":"/","attribute":"turn","value":{turn}}}"#);
    servers[0].ask("POST /api/v1/trees/b/commits", &format!(r#"{{"edits":[{put}]}}"#))?;
    let job = |server: &Serving| {
        let url = format!("http://{}/boards/b", server.address);
        Job { url, requests, connections: CONNECTIONS }
    };
    let jobs: Vec<Job> = servers.iter().map(job).collect();
    let before = cpu(servers)?;
    clients.run(&jobs)?;
    let spent = cpu(servers)? - before;
    Ok(1e6 * spent / (servers.len() as u64 * requests) as f64)
}

/// Seconds of processor time that they have used.
fn cpu(servers: &[Serving]) -> Result<f64, Failure> {
    servers.iter().map(Serving::cpu).sum()
}

#[cfg(test)]
mod tests {
    use super::member;

    /// It is not told how many there are.
    #[test]
    fn a_server_alone_has_as_many_threads_as_one_of_three() {
        let options = member("folder", "engine", "name");
        assert!(options.windows(2).any(|two| two == ["--workers", "1"]), "{options:?}");
    }
}
