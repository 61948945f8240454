//! Trying out what needs several processes, on this machine: servers of the engine, and processes
//! that end with the one that has started them.

mod ends;
mod folder;
mod leashed;
mod servers;

pub(crate) use ends::Ends;
pub(crate) use folder::Folder;
pub(crate) use leashed::{Leashed, start_engine};
pub(crate) use servers::{DOMAIN, Plan, Servers, domain_of, find};
