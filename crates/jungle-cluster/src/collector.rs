//! Who gives back memory that nobody can see any more.
//!
//! Commits are worked out on top of each other before they have their places, in lines of versions
//! that begin at the head's. So what the head's line replaces may be seen from elsewhere, and the
//! line cannot use it again by itself, as it does where there is no cluster: it is found by
//! tracing, beside readers and writers. Who traces when twice as much is taken as was alive goes
//! through each byte a few times at most, however long the server runs.

use std::time::Duration;

use jungle_db::Jungle;

use crate::follow::Follower;

/// So much more than twice what is alive may be taken: small trees are not worth the trouble.
const SLACK_BYTES: usize = 16 << 20;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(250);

/// Collects whenever it is worth it, until the follower ends.
pub(crate) fn collect(follower: &Follower) {
    let mut limit = 0;
    while !follower.is_over() {
        let jungle = follower.place().jungle.clone();
        if let Some(jungle) = jungle {
            limit = collected(&jungle, limit);
        }
        follower.rest(LOOK);
    }
}

/// Collects if more is taken than that; tells how much may be taken from now on.
fn collected(jungle: &Jungle, limit: usize) -> usize {
    if taken(jungle) <= limit {
        return limit;
    }
    // What was there at first is not garbage, and all of it would be loaded.
    let free = if limit == 0 { 0 } else { give_back(jungle) };
    limit_after(taken(jungle), free)
}

fn taken(jungle: &Jungle) -> usize {
    let usage = jungle.arena().usage();
    usage.structure_bytes + usage.payload_bytes
}

/// What is free is used before more is taken, but records of one size are of no use to others: so
/// that a tracing is not all for one of them, a little more may be taken even then.
fn limit_after(taken: usize, free: usize) -> usize {
    let alive = taken.saturating_sub(free);
    (2 * alive + SLACK_BYTES).max(taken + SLACK_BYTES / 8)
}

/// Tells how many bytes are free.
fn give_back(jungle: &Jungle) -> usize {
    match jungle.collect() {
        Ok(collected) => collected.free_bytes,
        Err(error) => {
            tracing::warn!(%error, "memory that nobody uses was not given back");
            0
        }
    }
}
