//! Random edits against the reference model. `cargo xtask torture model` runs many more.

use jungle_testkit::for_each_seed;

use crate::driver::{self, Settings};

#[test]
fn random_edits_do_what_the_model_does() {
    for_each_seed(60, |rng| driver::run(rng, Settings { steps: 100, check_all_every: 10 }));
}
