//! A cluster of servers on loopback: what its commits cost, how soon they are seen elsewhere, how
//! long they stand still when the log's leader ends, what a new server takes, and many who post.

mod failover;
mod newcomer;
mod posts;
mod quorum;

use super::Options;
use crate::Failure;
use crate::sample::Sample;

/// Measures one case, if it is one of these.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let measured = match case {
        "newcomer" => newcomer::sample(options)?,
        "posts" => posts::sample(options)?,
        "quorum" => quorum::sample(options)?,
        "resume" => failover::resume(options)?,
        "seen" => failover::seen(options)?,
        _ => return Ok(None),
    };
    Ok(Some(measured))
}
