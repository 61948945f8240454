//! A cluster of more servers than there are machines here: what its parts take, how far the model
//! is from a few servers on this machine, and a thousand servers in virtual time.

mod kept;
mod parameters;
mod servers;
mod simulation;
mod world;

use super::Options;
use crate::Failure;
use crate::sample::Sample;

/// `parameters` = what the model is fed with. `servers` = as many as there are threads, on a real
/// engine: microseconds until all of them show a commit, and commits a second that all of them do.
/// `simulated` = as many, in every topology, in virtual time.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    Ok(match case {
        "parameters" => Some(parameters::sample(options)?),
        "servers" => Some(servers::sample(options)?),
        "simulated" => Some(simulation::sample(options)?),
        _ => None,
    })
}
