//! What Jungle's tests share: repeatable randomness, and the way a failure names its seed.
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

mod rng;

pub use rng::{Rng, for_each_seed};
