//! The bulletin board over HTTP, by servers in processes of their own: under the load tool of the
//! originals, beside those of applications and one that is kept in Cassandra, with many who watch,
//! with long boards, and from when it is started.

mod apps;
mod cassandra;
mod e3;
mod load;
mod pages;
mod peers;
pub mod placed;
pub mod server;
mod share;
mod start;
mod tree;
pub mod watchers;

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::systems::System;

/// Measures one case, beside these peers where there are any.
///
/// # Errors
/// When a program is missing, or an answer is not as it must be.
pub fn sample(case: &str, options: Options, peers: &[System]) -> Result<Option<Sample>, Failure> {
    Ok(Some(match case {
        "sync" => cassandra::sample(true, options, peers)?,
        "unsynced" => cassandra::sample(false, options, peers)?,
        "syncs-cassandra" => cassandra::syncs(options)?,
        "e3" => e3::sample(options, peers)?,
        "mixed-pocketbase" => apps::mixed_pocketbase(options)?,
        "watchers" => watchers::sample(&[], watchers::length(options), options)?,
        "watchers-bare" => watchers::sample(&["--memory"], watchers::length(options), options)?,
        "pages" => pages::sample(options)?,
        "start" => start::sample(options)?,
        "share" => share::sample(options)?,
        "tree" => tree::sample(options)?,
        _ => return apps::syncs(case, options),
    }))
}
