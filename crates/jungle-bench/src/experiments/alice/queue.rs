//! Putting and taking in one process: a number, and 4 MB that are moved and never copied.

use std::time::Instant;

use alice::{Key, Node, Queue, Segment};

use super::{Turn, in_turns, named, number, turns};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;

const PAIRS: u32 = 100_000;
const LARGE_BYTES: usize = 4 << 20;

const SMALL: Key<u64> = Key::new("small");
const LARGE: Key<Vec<u8>> = Key::new("large");

/// Nanoseconds of a put and a take. `put-take-8`, `put-take-4mb` = by the queue; `put-take-key` =
/// by the key, which is looked up each time; `flip-take-8`, `flip-take-4mb` = of what was received;
/// `flip` = how many times as long as the put with its take.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let node = &Node::new();
    let (small, large) = (&node.queue(&SMALL)?, &node.queue(&LARGE)?);
    let all: Vec<Turn<'_>> = vec![
        ("put-take-8", Box::new(|| put_small(small))),
        ("flip-take-8", Box::new(|| flip(small, 7))),
        ("put-take-4mb", Box::new(|| put_large(large))),
        ("flip-take-4mb", Box::new(|| flip(large, vec![7; LARGE_BYTES]))),
        ("put-take-key", Box::new(|| put_by_key(node))),
    ];
    let mut numbers = in_turns(turns(options), 1e9 / f64::from(PAIRS), all)?;
    let ratio = number(&numbers, "flip-take-8") / number(&numbers, "put-take-8");
    numbers.push(("flip", ratio));
    let ratio = number(&numbers, "flip-take-4mb") / number(&numbers, "flip-take-8");
    numbers.push(("flip-size", ratio));
    Ok(named("ns", &numbers))
}

fn put_small(queue: &Queue<u64>) -> Result<f64, Failure> {
    let (begun, mut sum) = (Instant::now(), 0);
    for number in 0..u64::from(PAIRS) {
        queue.put(number)?;
        sum += *queue.take()?;
    }
    let ought = u64::from(PAIRS) * u64::from(PAIRS - 1) / 2;
    seconds(begun, sum == ought && queue.is_empty())
}

fn put_by_key(node: &Node) -> Result<f64, Failure> {
    let (begun, mut sum) = (Instant::now(), 0);
    for number in 0..u64::from(PAIRS) {
        node.put(&SMALL, number)?;
        sum += *node.take(&SMALL)?;
    }
    seconds(begun, sum == u64::from(PAIRS) * u64::from(PAIRS - 1) / 2)
}

/// The same 4 MB come out and go in again.
fn put_large(queue: &Queue<Vec<u8>>) -> Result<f64, Failure> {
    let mut data = vec![7; LARGE_BYTES];
    let (address, begun) = (data.as_ptr(), Instant::now());
    for _ in 0..PAIRS {
        queue.put(data)?;
        data = queue.take()?.into_data().map_err(|_| "somebody else holds it")?;
    }
    seconds(begun, data.as_ptr() == address && data.len() == LARGE_BYTES)
}

fn flip<T: alice::Data>(queue: &Queue<T>, data: T) -> Result<f64, Failure> {
    let first = Segment::from(data);
    let (mut segment, begun) = (first.clone(), Instant::now());
    for _ in 0..PAIRS {
        queue.flip(&segment)?;
        segment = queue.take()?;
    }
    seconds(begun, segment.is_same(&first) && queue.is_empty())
}

fn seconds(begun: Instant, is_right: bool) -> Result<f64, Failure> {
    let seconds = begun.elapsed().as_secs_f64();
    if is_right { Ok(seconds) } else { Err("something else came out than went in".into()) }
}
