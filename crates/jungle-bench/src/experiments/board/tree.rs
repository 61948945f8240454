//! How long a commit takes through a tree of servers: from a leaf to the root, where the engine is,
//! and over it to a leaf on the other side. `jungle cluster up` starts them, each in a process of
//! its own.

use std::time::Instant;

use serde_json::Value as Json;

use super::super::Options;
use super::super::folder::Folder;
use super::super::turns::named;
use super::server::{Client, Serving};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, quantile};

/// A root with two below it, which have two each; each but the root reaches the engine through a
/// leaf node of its own, which is connected with that of the one above it.
const SHAPE: [&str; 4] = ["--topology", "tree:2", "--servers", "7"];

/// Who commits, and on whom it is waited for: each leaf in its turn, and another one on the other
/// side; then that one, and the root. So whoever commits has all that was committed before.
const WAYS: [[(usize, usize); 2]; 4] =
    [[(3, 5), (5, 0)], [(5, 4), (4, 0)], [(4, 6), (6, 0)], [(6, 3), (3, 0)]];

/// Milliseconds from when a leaf of the tree is sent a commit until another one shows it
/// (`tree-seen`), or the root (`tree-root`), in turns, all over HTTP: the median, and `…-p99`.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let commits = match (options.tiny, options.quick) {
        (true, _) => 8,
        (_, true) => 300,
        _ => 4_000,
    };
    let folder = Folder::new("tree")?;
    let (up, told) = Serving::cluster_up(&folder.0, &SHAPE)?;
    let mut servers = connections(&told)?;
    let made = servers[0].ask("POST /api/v1/trees", "application/json", r#"{"name":"t"}"#)?;
    let made = number(&made, "revision")?;
    wait_for(&mut servers, made)?;
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..commits {
        let ways = WAYS[turn as usize % WAYS.len()];
        for ((way, n), times) in ways.into_iter().zip(2 * turn + 1..).zip(&mut times) {
            times.push(1e3 * commit(&mut servers, way, n, made + n)?);
        }
    }
    drop(servers);
    // Anew: those who committed nothing were not asked for long, and their connections are closed.
    let lost = different(&mut connections(&told)?, made + 2 * commits)?;
    up.stop()?;
    let [seen, root] = times;
    let numbers = [
        ("tree-seen", median(&seen)),
        ("tree-seen-p99", quantile(&seen, 0.99)),
        ("tree-root", median(&root)),
        ("tree-root-p99", quantile(&root, 0.99)),
    ];
    Ok(named("ms", &numbers).check_none(lost, "servers are not what the first is"))
}

/// Connections with all of them, in the order of the tree.
fn connections(told: &Json) -> Result<Vec<Client>, Failure> {
    let servers = told["servers"].as_array().ok_or("no servers are told of")?;
    let client = |server: &Json| {
        let url = server["url"].as_str().ok_or("a server does not say where it is")?;
        Ok(Client::at(url.trim_start_matches("http://"))?)
    };
    servers.iter().map(client).collect()
}

/// Seconds from when one is sent a commit until the other, which is asked before that for nothing
/// older than it, answers with it.
fn commit(
    servers: &mut [Client],
    (from, to): (usize, usize),
    n: u64,
    revision: u64,
) -> Result<f64, Failure> {
    let put = format!(r#"{{"op":"put","path":"/","attribute":"n","value":{n}}}"#);
    servers[to].send(&at(revision), "")?;
    let begun = Instant::now();
    let head = "POST /api/v1/trees/t/commits HTTP/1.1\r\nContent-Type: application/json";
    servers[from].send(head, &format!(r#"{{"edits":[{put}]}}"#))?;
    let shown = servers[to].answer()?;
    let seconds = begun.elapsed().as_secs_f64();
    let made = number(&servers[from].answer()?, "revision")?;
    let shown: Json = serde_json::from_slice(&shown)?;
    match made == revision && shown["attributes"]["n"]["value"] == n {
        true => Ok(seconds),
        false => Err(format!("commit {n} is revision {made}, and there is {shown}").into()),
    }
}

/// Asks for the root of the tree as it is at a revision or later.
fn at(revision: u64) -> String {
    format!("GET /api/v1/trees/t/node HTTP/1.1\r\nJungle-Revision: {revision}")
}

/// Waits until all of them show a revision.
fn wait_for(servers: &mut [Client], revision: u64) -> Result<(), Failure> {
    servers.iter_mut().try_for_each(|server| {
        server.send(&at(revision), "")?;
        server.answer().map(drop)
    })
}

/// How many of them are not where all commits are, or have got there in another way than the first.
fn different(servers: &mut [Client], revision: u64) -> Result<u64, Failure> {
    wait_for(servers, revision)?;
    let survey = servers[0].ask("GET /api/v1/cluster", "", "")?;
    let survey: Json = serde_json::from_slice(&survey)?;
    let all = survey["servers"].as_array().ok_or("no servers are told of")?;
    let is_same = |server: &&Json| {
        server["revision"] == revision
            && !server["hash"].is_null()
            && server["hash"] == all[0]["hash"]
    };
    let same = all.iter().filter(is_same).count();
    Ok(servers.len().abs_diff(same) as u64)
}

fn number(answer: &[u8], name: &str) -> Result<u64, Failure> {
    let answer: Json = serde_json::from_slice(answer)?;
    answer[name].as_u64().ok_or_else(|| format!("no {name} in {answer}").into())
}

#[cfg(test)]
mod tests {
    use super::WAYS;

    /// Else a commit would be sent twice, and the time be that of two.
    #[test]
    fn whoever_commits_has_what_was_committed_before() {
        let all = WAYS.concat();
        for (at, (_, to)) in all.iter().enumerate() {
            let (next, root) = (all[(at + 1) % all.len()].0, 0);
            let shown = if *to == root { all[at].0 } else { *to };
            assert_eq!(next, shown, "{at}");
        }
        let leaves = |which: usize| {
            let mut from = WAYS.map(|ways| ways[which].0);
            from.sort_unstable();
            from
        };
        assert_eq!((leaves(0), leaves(1)), ([3, 4, 5, 6], [3, 4, 5, 6]));
        assert!(WAYS.iter().all(|ways| ways[1].1 == 0 && ways[0].1 != 0));
    }
}
