//! A code segment beside the same closure on rayon's pool: chains in which each starts the next,
//! empty and with some work in each.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use alice::{Key, Node, Pool, Run, take};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::chain::{LINKS, one};
use super::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;
use crate::workload::Random;

/// Steps of work in a closure: about a microsecond.
const STEPS: u64 = 500;

const LINK: Key<u64> = Key::new("link");
const END: Key<u64> = Key::new("end");

/// How many times as long as rayon: `overhead` of empty closures, `overhead-work` with a
/// microsecond of work in each. `overhead-pool` and `overhead-pool-work` when each goes through the
/// pool, which serves first who came first, against rayon's calls that do; `overhead-pool-newest`
/// against its usual ones, by which a chain keeps others out. And the microseconds.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let pool = &Pool::new(options.threads)?;
    let rayon = &Arc::new(ThreadPoolBuilder::new().num_threads(options.threads).build()?);
    let all: Vec<Turn<'_>> = vec![
        ("rayon", Box::new(|| spawned(rayon, 0, Order::NewestFirst))),
        ("rayon-fair", Box::new(|| spawned(rayon, 0, Order::OldestFirst))),
        ("next", Box::new(|| one(pool, Run::Next))),
        ("pool", Box::new(|| one(pool, Run::Pool))),
        ("rayon-work", Box::new(|| spawned(rayon, STEPS, Order::NewestFirst))),
        ("rayon-fair-work", Box::new(|| spawned(rayon, STEPS, Order::OldestFirst))),
        ("next-work", Box::new(|| working(pool, Run::Next))),
        ("pool-work", Box::new(|| working(pool, Run::Pool))),
    ];
    let mut numbers = in_turns(turns(options), 1e6, all)?;
    let ratio = |a: &str, b: &str| number(&numbers, a) / number(&numbers, b);
    let ratios = [
        ("overhead", ratio("next", "rayon")),
        ("overhead-pool", ratio("pool", "rayon-fair")),
        ("overhead-pool-newest", ratio("pool", "rayon")),
        ("overhead-work", ratio("next-work", "rayon-work")),
        ("overhead-pool-work", ratio("pool-work", "rayon-fair-work")),
    ];
    numbers.splice(0..0, ratios);
    Ok(named("x", &numbers))
}

fn work(steps: u64) {
    let mut random = Random(steps);
    black_box((0..steps).fold(0, |last, _| {
        random.0 ^= last;
        random.bits()
    }));
}

/// Which of the closures of a worker runs next.
#[derive(Clone, Copy)]
enum Order {
    NewestFirst,
    OldestFirst,
}

fn spawned(pool: &Arc<ThreadPool>, steps: u64, order: Order) -> Result<f64, Failure> {
    let (end, ended) = channel();
    let begun = Instant::now();
    pool.spawn(move || link(1, steps, order, end));
    let links = ended.recv()?;
    let seconds = begun.elapsed().as_secs_f64();
    if links == LINKS { Ok(seconds) } else { Err("rayon's chain is too short".into()) }
}

fn link(number: u64, steps: u64, order: Order, end: Sender<u64>) {
    work(steps);
    if number == LINKS {
        return end.send(number).expect("somebody waits for the end");
    }
    let next = move || link(number + 1, steps, order, end);
    match order {
        Order::NewestFirst => rayon_core::spawn(next),
        Order::OldestFirst => rayon_core::spawn_fifo(next),
    }
}

fn working(pool: &Pool, run: Run) -> Result<f64, Failure> {
    let node = Node::on(pool);
    let link = node.code("link").when(take(&LINK)).to((&LINK, &END)).run(run);
    link.repeatedly(|number, (next, end)| {
        work(STEPS);
        if **number < LINKS { next.put(**number + 1) } else { end.put(**number) }
    })?;
    let begun = Instant::now();
    node.put(&LINK, 1)?;
    let links = *node.take(&END)?;
    let seconds = begun.elapsed().as_secs_f64();
    if links == LINKS { Ok(seconds) } else { Err("the chain is too short".into()) }
}
