//! What is needed of an engine: a [log](log::Log) that says in which order everything happens, and
//! a [depot](depot::Depot) for checkpoints. NATS JetStream has both (feature `nats`, all that knows
//! its client); [memory] has them within a process, for tests.

pub(crate) mod depot;
pub(crate) mod error;
pub(crate) mod later;
pub(crate) mod log;
pub(crate) mod memory;
#[cfg(feature = "nats")]
pub(crate) mod nats;
