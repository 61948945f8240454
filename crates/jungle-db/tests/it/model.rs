//! Random operations on a whole Jungle against the reference model. `cargo xtask torture model`
//! runs many more.

use jungle_testkit::for_each_seed;

use crate::driver;

#[test]
fn threads_have_a_serial_order() {
    for_each_seed(30, |rng| driver::threads::run(rng, 60));
}

#[test]
fn jungles_that_follow_one_log_are_equal() {
    for_each_seed(30, |rng| driver::threads::run_shared(rng, 40));
}

#[test]
fn a_jungle_does_what_the_model_does() {
    for_each_seed(100, |rng| driver::run(rng, 100));
}

#[test]
fn merges_come_to_what_plain_maps_say() {
    for_each_seed(200, |rng| driver::merges::run(rng, 60));
}
