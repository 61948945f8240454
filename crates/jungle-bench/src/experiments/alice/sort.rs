//! 1,000,000 integers, sorted by code segments: as a tree of merges, and as a bitonic network of
//! ten blocks; beside `sort_unstable` on one thread.
//!
//! The numbers come and go in blocks, which are data segments: sorted, the blocks are in order too.

use std::time::Instant;

use alice::{DeclareError, Key, Node, Pool, Wait, peek, take};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;
use crate::workload::Random;

const NUMBERS: usize = 1_000_000;
/// Leaves of the tree of merges: one for each thread.
const LEAVES: usize = 2;
/// Blocks of the network.
const BLOCKS: usize = 10;

type Numbers = Vec<i64>;
type Keys = Vec<Key<Numbers>>;

/// How many times as fast as one thread: `sort` by the tree, `bitonic` by the network, `sort-join`
/// by the tree's closures joined on rayon's pool, which is what the machine can gain now; and the
/// microseconds of each.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let pool = &Pool::new(options.threads)?;
    let rayon = &ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let mut random = Random(options.seed);
    let unsorted: &Numbers = &(0..NUMBERS).map(|_| random.bits() as i64).collect();
    let mut sorted = unsorted.clone();
    sorted.sort_unstable();
    let sorted = &sorted;
    let all: Vec<Turn<'_>> = vec![
        ("one", Box::new(|| one_thread(unsorted.clone(), sorted))),
        ("tree", Box::new(|| timed(pool, LEAVES, tree, unsorted, sorted))),
        ("join", Box::new(|| joined(rayon, unsorted, sorted))),
        ("network", Box::new(|| timed(pool, BLOCKS, network, unsorted, sorted))),
    ];
    let mut numbers = in_turns(turns(options), 1e6, all)?;
    let times = |name| number(&numbers, "one") / number(&numbers, name);
    let ratios =
        [("sort", times("tree")), ("sort-join", times("join")), ("bitonic", times("network"))];
    numbers.splice(0..0, ratios);
    Ok(named("x", &numbers))
}

fn one_thread(mut numbers: Numbers, sorted: &Numbers) -> Result<f64, Failure> {
    let begun = Instant::now();
    numbers.sort_unstable();
    let seconds = begun.elapsed().as_secs_f64();
    if numbers == *sorted { Ok(seconds) } else { Err("it is not sorted".into()) }
}

/// As the tree, without Alice.
fn joined(pool: &ThreadPool, unsorted: &Numbers, sorted: &Numbers) -> Result<f64, Failure> {
    let (mut a, mut b) = (unsorted[..NUMBERS / 2].to_vec(), unsorted[NUMBERS / 2..].to_vec());
    let begun = Instant::now();
    let (front, back) = pool.install(|| {
        rayon_core::join(|| a.sort_unstable(), || b.sort_unstable());
        rayon_core::join(|| smaller(&a, &b), || greater(&a, &b))
    });
    let seconds = begun.elapsed().as_secs_f64();
    let is_right = front.iter().chain(&back).eq(sorted);
    if is_right { Ok(seconds) } else { Err("it is not sorted".into()) }
}

/// From the blocks to the sorted blocks.
fn timed(
    pool: &Pool,
    count: usize,
    declare: fn(&Node, &[Key<Numbers>]) -> Result<Keys, DeclareError>,
    unsorted: &Numbers,
    sorted: &Numbers,
) -> Result<f64, Failure> {
    let node = Node::on(pool);
    let blocks = unsorted.chunks(unsorted.len() / count).map(<[i64]>::to_vec);
    let unsorted: Vec<(Key<Numbers>, Numbers)> =
        keys("block", count).into_iter().zip(blocks).collect();
    let runs = leaves(&node, count)?;
    let ends = declare(&node, &runs)?;
    let begun = Instant::now();
    for (key, block) in unsorted {
        node.put(&key, block)?;
    }
    let found = node.wait_for(ends.iter().map(take).collect::<Vec<_>>(), Wait::for_ever())?;
    let seconds = begun.elapsed().as_secs_f64();
    let is_right = found.iter().flat_map(|block| block.iter()).eq(sorted);
    if is_right { Ok(seconds) } else { Err("it is not sorted".into()) }
}

fn keys(name: &str, count: usize) -> Keys {
    (0..count).map(|at| Key::named(format!("{name} {at}"))).collect()
}

/// Each block is sorted in place, and the very segment goes on.
fn leaves(node: &Node, count: usize) -> Result<Keys, DeclareError> {
    let runs = keys("run", count);
    for (block, run) in keys("block", count).iter().zip(&runs) {
        node.code("leaf").when(take(block)).to(run).once(|block, run| {
            block.get_mut().expect("nobody else has it").sort_unstable();
            run.flip(block)
        })?;
    }
    Ok(runs)
}

/// The smaller half of two runs of the same length, sorted.
fn smaller(a: &[i64], b: &[i64]) -> Numbers {
    let (mut i, mut j) = (0, 0);
    // Together no more steps than either is long, so neither runs out. No branch to guess.
    let least = |_| {
        let is_a = a[i] <= b[j];
        let least = if is_a { a[i] } else { b[j] };
        i += usize::from(is_a);
        j += usize::from(!is_a);
        least
    };
    (0..a.len()).map(least).collect()
}

/// The greater half, sorted.
fn greater(a: &[i64], b: &[i64]) -> Numbers {
    let (mut i, mut j) = (a.len(), b.len());
    let mut half = vec![0; a.len()];
    for place in half.iter_mut().rev() {
        let is_b = a[i - 1] <= b[j - 1];
        *place = if is_b { b[j - 1] } else { a[i - 1] };
        i -= usize::from(!is_b);
        j -= usize::from(is_b);
    }
    half
}

/// A merge is two code segments, which do it from both ends at once.
fn tree(node: &Node, runs: &[Key<Numbers>]) -> Result<Keys, DeclareError> {
    let both = || (peek(&runs[0]), peek(&runs[1]));
    let ends = keys("end", 2);
    node.code("front").when(both()).to(&ends[0]).once(|(a, b), end| end.put(smaller(a, b)))?;
    node.code("back").when(both()).to(&ends[1]).once(|(a, b), end| end.put(greater(a, b)))?;
    Ok(ends)
}

/// The blocks are compared two by two, and exchange halves.
fn network(node: &Node, runs: &[Key<Numbers>]) -> Result<Keys, DeclareError> {
    // The key under which each block is at the moment.
    let mut now = runs.to_vec();
    for (number, (low, high)) in exchanges(runs.len()).into_iter().enumerate() {
        let ends = keys(&format!("exchange {number}"), 2);
        let exchange = node.code("exchange").when((take(&now[low]), take(&now[high])));
        exchange.to((&ends[0], &ends[1])).once(|(a, b), (low, high)| {
            low.put(smaller(a, b))?;
            high.put(greater(a, b))
        })?;
        (now[low], now[high]) = (ends[0].clone(), ends[1].clone());
    }
    Ok(now)
}

/// The bitonic sorter for any number of blocks (H. W. Lang): which two are compared, in order; the
/// smaller half goes to the first.
fn exchanges(blocks: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    sort(0, blocks, true, &mut found);
    found
}

fn sort(from: usize, count: usize, rises: bool, found: &mut Vec<(usize, usize)>) {
    if count > 1 {
        let half = count / 2;
        sort(from, half, !rises, found);
        sort(from + half, count - half, rises, found);
        merge(from, count, rises, found);
    }
}

fn merge(from: usize, count: usize, rises: bool, found: &mut Vec<(usize, usize)>) {
    if count > 1 {
        let half = count.next_power_of_two() / 2;
        let pairs = (from..from + count - half).map(|at| (at, at + half));
        found.extend(pairs.map(|(a, b)| if rises { (a, b) } else { (b, a) }));
        merge(from, half, rises, found);
        merge(from + half, count - half, rises, found);
    }
}
