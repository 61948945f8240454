//! Who gives back memory that nobody can see any more.
//!
//! Commits are worked out on top of each other before they have their places, in lines of versions
//! that begin at the head's. So what the head's line replaces may be seen from elsewhere, and the
//! line cannot use it again by itself, as it does where there is no cluster: it is found by
//! tracing, beside readers and writers.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

use jungle_db::{CollectError, Collector};
use jungle_tree::loading;

use crate::follow::Follower;
use crate::follow::beside::guarded;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(250);

/// Collects whenever it is worth it, until the follower ends.
pub(crate) fn collect(follower: &Follower) {
    let mut collector = Collector::new();
    let go_on = || match follower.is_over() {
        true => Break(()),
        false => Continue(()),
    };
    while !follower.is_over() {
        let jungle = follower.place().jungle.clone();
        if let Some(jungle) = jungle {
            let look = || loading(|| collector.look_while(&jungle, go_on));
            // What is damaged stays so: not before there is more to be given back.
            match guarded("giving memory back", look) {
                Some(Ok(Err(CollectError::History(error)))) => not_given_back(&error),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    not_given_back(&error);
                    collector = Collector::new();
                }
                None => collector = Collector::new(),
            }
        }
        follower.rest(LOOK);
    }
}

fn not_given_back(error: &dyn std::error::Error) {
    tracing::warn!(%error, "memory that nobody uses was not given back");
}
