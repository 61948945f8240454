//! A whole cluster in one thread: servers with their appliers, appenders and outboxes, on a
//! simulated engine, simulated disks and a simulated clock, which jumps to what happens next. A
//! point is ten simulated minutes with faults, and then quiet: everything has to come to rest then,
//! and what was acknowledged has to be there, once.

mod check;
mod clients;
mod engine;
mod faults;
mod link;
mod server;
mod trace;
mod world;

use jungle_testkit::Rng;
use world::World;

/// Of so many seeds one is run twice, and has to do the same.
const TWICE: u64 = 16;

pub fn run(rng: &mut Rng) {
    let seed = rng.seed();
    let trace = World::new(seed).run();
    if seed.is_multiple_of(TWICE) {
        assert_eq!(World::new(seed).run(), trace, "the same seed has done something else");
    }
}
