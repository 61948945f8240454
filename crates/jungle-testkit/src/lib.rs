//! What Jungle's tests share:
//!
//! - repeatable randomness, the way a failure names its seed, and the reference model of a tree;
//! - servers of the engine, an authority for certificates, machines to run them on, and connections
//!   between these that can be held;
//! - the tally of what became of commits, the files that trees spill into, and folders that are
//!   gone in the end.
//!
//! A random test takes its [`Rng`] from [`for_each_seed`]. When the test panics, the seed is
//! printed; `JUNGLE_SEED=<seed>` in the environment then runs that one case again.
//!
//! ```
//! use jungle_testkit::for_each_seed;
//!
//! for_each_seed(10, |rng| {
//!     let mut numbers: Vec<u64> = (0..20).collect();
//!     rng.shuffle(&mut numbers);
//!     numbers.sort_unstable();
//!     assert!(numbers.is_sorted());
//! });
//! ```

mod machines;
mod maps;
mod model;
mod nats;
mod pebble;
mod relay;
mod rng;
mod scratch;
mod tally;

pub use machines::Machines;
pub use maps::spilled_files;
pub use model::{
    MODEL_NAME_BYTES_MAX, MODEL_POSITIONS, ModelError, ModelKey, ModelNode, ModelValue,
};
pub use nats::{NATS_ACCOUNTS, NATS_SERVER, NatsServers};
pub use pebble::Pebble;
pub use relay::Passage;
pub use rng::{Rng, for_each_seed};
pub use scratch::Scratch;
pub use tally::{Back, Counts, Outcome, Tally};
