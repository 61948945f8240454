//! Memory is not reused while someone looks at it. `cargo xtask torture stress` runs many more.

use jungle_testkit::for_each_seed;

use crate::driver::stress;

#[test]
fn what_readers_hold_beside_a_writer_stays() {
    for_each_seed(8, |rng| stress::run(rng, 3, 3_000));
}
