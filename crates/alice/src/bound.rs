//! How many data segments a queue holds, and what happens when there are more.

use std::num::NonZeroUsize;

/// A limit for a queue: see [`Queue::set_bound`](crate::Queue::set_bound).
///
/// ```
/// use std::num::NonZeroUsize;
/// use alice::{Bound, Key, Node, NotPut, WhenFull};
///
/// let node = Node::new();
/// let jobs = node.queue(&Key::<u32>::new("jobs"))?;
/// let segments_max = NonZeroUsize::MIN;
/// jobs.set_bound(Some(Bound { segments_max, when_full: WhenFull::Refuse }));
/// jobs.put(1)?;
/// let refused = jobs.put(2).unwrap_err();
/// assert_eq!(refused.why, NotPut::Full { segments_max: 1 });
/// assert_eq!(*refused.segment, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The most data segments that wait in the queue.
    pub segments_max: NonZeroUsize,
    /// What happens to one more.
    pub when_full: WhenFull,
}

/// What happens to a data segment that is put into a full queue.
///
/// ```
/// use std::num::NonZeroUsize;
/// use alice::{Bound, Key, Node, WhenFull};
///
/// let node = Node::new();
/// let readings = node.queue(&Key::<f64>::new("readings"))?;
/// let segments_max = NonZeroUsize::new(2).expect("2 is not 0");
/// readings.set_bound(Some(Bound { segments_max, when_full: WhenFull::DropOldest }));
/// for reading in [20.5, 20.7, 20.6] {
///     readings.put(reading)?;
/// }
/// assert_eq!((*readings.take()?, readings.displaced()), (20.7, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is given back to the caller, who may wait for room with
    /// [`Queue::put_within`](crate::Queue::put_within).
    Refuse,
    /// The oldest one in the queue makes room. [`Queue::displaced`](crate::Queue::displaced)
    /// counts them.
    DropOldest,
}
