//! What every experiment works with: shapes of trees, random draws, payload, worker threads. The
//! peers in `bench/peers` do all of it alike.

mod checksum;
mod overwriter;
mod payload;
mod random;
mod shape;
mod workers;

pub use checksum::checksum;
pub use overwriter::{Overwriter, QueuedOverwriter, wrong_leaves};
pub use payload::{KEY, SHORT_VALUE, number_of, value_of};
pub use random::Random;
pub use shape::{LeafPath, Payload, Shape, leaf_path};
pub use workers::{beside, on_workers, share, timed};
