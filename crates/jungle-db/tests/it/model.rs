//! Random operations on a whole Jungle against the reference model. `cargo xtask torture model`
//! runs many more.

use jungle_testkit::for_each_seed;

use crate::driver::{self, Share};

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
    let (mut merges, mut reverts) = (Share::default(), Share::default());
    for_each_seed(100, |rng| {
        let tried = driver::run(rng, 100);
        add(&mut merges, tried.merges);
        add(&mut reverts, tried.reverts);
    });
    // One case may have none.
    if std::env::var_os("JUNGLE_SEED").is_none() {
        for (what, share) in [("merges", merges), ("reverts", reverts)] {
            let is_awake = 8 * share.said >= share.said + share.not_said && share.said > 0;
            assert!(is_awake, "of {what}, plain maps hardly say what is to come: {share:?}");
        }
    }
}

fn add(sum: &mut Share, share: Share) {
    sum.said += share.said;
    sum.not_said += share.not_said;
}

#[test]
fn merges_come_to_what_plain_maps_say() {
    for_each_seed(200, |rng| driver::merges::run(rng, 60));
}
