//! Checkpoints: what the log says up to some revision, as pages, so that opening a folder reads
//! what came since, and a tree need not be in memory to be looked at.
//!
//! A checkpoint is an image of the arena ([`Arena::save`](jungle_tree::Arena::save)), of which only
//! what has changed since the last one is written, with the database's state (`state.rs`), the new
//! pieces of the histories, and the place in the log from where it goes on. All of that is
//! replaced at once ([`crate::pages`]), off the writers' path. From then on those pieces are read
//! from there: memory has what came since, and what was used last.
//!
//! The log stays the truth: a checkpoint is taken of what the log is known to have, and says
//! nothing that the log does not. So one that cannot be written loses nothing, and one that is
//! damaged is left out, as long as the log is there from its beginning.

mod background;
mod load;
mod save;
mod state;
mod stream;

pub(crate) use background::{Background, Waker};
pub(crate) use load::{Loaded, PagedHistory, load};
pub(crate) use save::Checkpoints;
pub(crate) use stream::{Input, Output};

pub use load::LoadError;
pub use save::{CheckpointError, CheckpointReport};
pub use stream::{StreamError, check_checkpoint, read_checkpoint, write_checkpoint};

/// The key of the one value that there is of its table: the state, the image.
const ONLY: u64 = 0;
