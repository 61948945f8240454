//! How many data segments a queue holds, and what happens when there are more.

use std::num::NonZeroUsize;

/// A limit for a queue: see [`Queue::set_bound`](crate::Queue::set_bound).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The most data segments that wait in the queue.
    pub segments_max: NonZeroUsize,
    /// What happens to one more.
    pub when_full: WhenFull,
}

/// What happens to a data segment that is put into a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is given back to the caller, who may wait for room with
    /// [`Queue::put_within`](crate::Queue::put_within).
    Refuse,
    /// The oldest one in the queue makes room. [`Queue::displaced`](crate::Queue::displaced)
    /// counts them.
    DropOldest,
}
