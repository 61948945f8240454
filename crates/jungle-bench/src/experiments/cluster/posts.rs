//! Several servers of a cluster that all post to one board.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jungle_cluster::{Cluster, Options as Member};
use jungle_db::{Jungle, TreeHandle};
use jungle_testkit::NatsServers;
use jungle_tree::EditError;

use super::super::Options;
use super::super::turns::named;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;

const SERVERS: usize = 3;
/// So many clients each server has.
const CLIENTS: usize = 300;

/// Posts a second that are acknowledged, of clients that each wait for the answer to one before
/// they send the next. `posts` = to three servers, of 300 clients each, all to one board; `one` =
/// to one server, of as many as it has there; `longest` = milliseconds that a post to three took at
/// most; `least` = how much of its third the server has got through that got the least.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let turns = if options.quick || options.tiny { 1 } else { 3 };
    let within = Duration::from_millis(if options.tiny { 200 } else { 5_000 });
    let engine = NatsServers::start(3);
    let servers = (0..SERVERS).map(|_| join(&engine)).collect::<Result<Vec<_>, Failure>>()?;
    let board = servers[0].0.create_tree("board")?;
    for (_, cluster) in &servers {
        cluster.sync(Duration::from_secs(30))?;
    }
    let mut samples = [const { Vec::new() }; 4];
    for _ in 0..turns {
        let three = run(&servers, within)?;
        let one = run(&servers[..1], within)?;
        let numbers = [three.rate, one.rate, three.longest, three.least];
        samples.iter_mut().zip(numbers).for_each(|(samples, number)| samples.push(number));
    }
    let posted = board.read().root().child_count();
    if posted + 1 != servers[0].0.revision().number() {
        return Err("not every post is there".into());
    }
    let names = ["posts", "one", "longest", "least"];
    let numbers = names.iter().zip(&samples).map(|(&name, samples)| (name, median(samples)));
    Ok(named("/s", &numbers.collect::<Vec<_>>()))
}

type Server = (Jungle, Cluster);

fn join(engine: &NatsServers) -> Result<Server, Failure> {
    let jungle = Jungle::new()?;
    let member = Member { replicas: 3, ..Member::default() };
    let cluster = Cluster::join(&engine.addresses(), &jungle, member)?;
    Ok((jungle, cluster))
}

struct Ran {
    rate: f64,
    longest: f64,
    least: f64,
}

fn run(servers: &[Server], within: Duration) -> Result<Ran, Failure> {
    let (over, longest) = (AtomicBool::new(false), AtomicU64::new(0));
    let boards = servers.iter().map(|(jungle, _)| jungle.open_tree("board"));
    let boards: Vec<TreeHandle> = boards.collect::<Result<_, _>>()?;
    let before = servers[0].0.revision().number();
    let begun = Instant::now();
    let posts: Option<Vec<u64>> = thread::scope(|scope| {
        let (over, longest) = (&over, &longest);
        let client = |board| scope.spawn(move || post_until(board, over, longest));
        let clients: Vec<Vec<_>> =
            boards.iter().map(|board| (0..CLIENTS).map(|_| client(board)).collect()).collect();
        thread::sleep(within);
        over.store(true, Ordering::Relaxed);
        let posts = |client: thread::ScopedJoinHandle<'_, Option<u64>>| client.join().ok()?;
        clients.into_iter().map(|clients| clients.into_iter().map(posts).sum()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let posts = posts.ok_or("a post was refused")?;
    let all: u64 = posts.iter().sum();
    for (jungle, cluster) in servers {
        cluster.sync(Duration::from_secs(30))?;
        if jungle.revision().number() != before + all {
            return Err("not every post has come to every server".into());
        }
    }
    let least = posts.iter().min().copied().unwrap_or(0) as f64;
    Ok(Ran {
        rate: all as f64 / seconds,
        longest: longest.into_inner() as f64,
        least: least * servers.len() as f64 / all as f64,
    })
}

/// Posts one after the other; tells how many. `None` if one is refused.
fn post_until(board: &TreeHandle, over: &AtomicBool, longest: &AtomicU64) -> Option<u64> {
    let mut posts = 0;
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let posted = board.update(|tx| {
            let message = [tx.append(&[])?];
            tx.put_attribute(&message, "author", "somebody")?;
            tx.put_attribute(&message, "text", "hello")?;
            tx.put_attribute(&message, "time", posts as i64)?;
            Ok::<_, EditError>(())
        });
        posted.ok()?;
        longest.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
        posts += 1;
    }
    Some(posts)
}
