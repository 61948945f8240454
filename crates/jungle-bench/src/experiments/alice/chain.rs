//! 10,000 code segments, one after the other.

use std::time::Instant;

use alice::{Key, Node, Pool, Run, take};

use super::{Turn, in_turns, named, turns};
use crate::Failure;
use crate::experiments::Options;
use crate::sample::Sample;

/// How long the chain is.
pub const LINKS: u64 = 10_000;

const LINK: Key<u64> = Key::new("link");
const END: Key<u64> = Key::new("end");

/// Microseconds of a chain. `chain` = one code segment that takes what it put, on a worker; `here`
/// = on the calling thread; `pool` = through the pool each time; `keys`, `keys-pool` = as many code
/// segments and keys as links.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let pool = &Pool::new(options.threads)?;
    let all: Vec<Turn<'_>> = vec![
        ("chain", Box::new(|| one(pool, Run::Next))),
        ("here", Box::new(|| one(pool, Run::Here))),
        ("pool", Box::new(|| one(pool, Run::Pool))),
        ("keys", Box::new(|| keys(pool, Run::Next))),
        ("keys-pool", Box::new(|| keys(pool, Run::Pool))),
    ];
    Ok(named("us", &in_turns(turns(options), 1e6, all)?))
}

/// One code segment, again and again.
pub fn one(pool: &Pool, run: Run) -> Result<f64, Failure> {
    let node = Node::on(pool);
    let link = node.code("link").when(take(&LINK)).to((&LINK, &END)).run(run);
    link.repeatedly(|number, (next, end)| match **number {
        LINKS => end.put(LINKS),
        number => next.put(number + 1),
    })?;
    let begun = Instant::now();
    node.put(&LINK, 1)?;
    let end = *node.take(&END)?;
    seconds(begun, end)
}

fn keys(pool: &Pool, run: Run) -> Result<f64, Failure> {
    let node = Node::on(pool);
    let keys: Vec<Key<u64>> = (0..=LINKS).map(|at| Key::named(format!("link {at}"))).collect();
    for pair in keys.windows(2) {
        let link = node.code("link").when(take(&pair[0])).to(&pair[1]).run(run);
        link.once(|number, next| next.put(**number + 1))?;
    }
    let begun = Instant::now();
    node.put(&keys[0], 0)?;
    let end = *node.take(&keys[LINKS as usize])?;
    seconds(begun, end)
}

fn seconds(begun: Instant, end: u64) -> Result<f64, Failure> {
    let seconds = begun.elapsed().as_secs_f64();
    if end == LINKS { Ok(seconds) } else { Err(format!("the chain ended at {end}").into()) }
}
