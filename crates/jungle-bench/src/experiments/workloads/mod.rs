//! Our side of the common workloads that `bench/peers/store` has as well: branches that overlap,
//! one node of many ordered children, a subtree that is moved, long histories, versions that are
//! compared, reads beside a writer, giving back what a history took and who waits for that, being
//! killed, and loading very much.

mod apart;
mod between;
mod children;
mod history;
mod kill;
mod load;
mod readers;
mod space;
mod stall;
mod subtree;
mod writer;

pub use self::kill::commit_until_killed;
use super::Options;
use crate::Failure;
use crate::sample::Sample;

/// `merge-0`, `merge-10`, both also with `-disk`, `merge-disk-syncs`, `children-COUNT`, `subtree`,
/// `history-COUNT`, `diff`, `readers`, `space`, `stall`, `kill` and `load-COUNT`.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(match case.split('-').next() {
        Some("merge") => apart::sample(case, options)?,
        Some("children") => Some(children::sample(case, options)?),
        Some("diff") => Some(between::sample(options)?),
        Some("history") => Some(history::sample(case, options)?),
        Some("kill") => Some(kill::sample(options)?),
        Some("load") => Some(load::sample(case, options)?),
        Some("readers") => Some(readers::sample(options)?),
        Some("space") => Some(space::sample(options)?),
        Some("stall") => Some(stall::sample(options)?),
        Some("subtree") => Some(subtree::sample(options)?),
        _ => None,
    })
}

/// One number for these bytes, in this order: the peers' is the same.
fn checksum(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}
