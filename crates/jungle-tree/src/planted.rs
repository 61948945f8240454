//! Deliberate bugs, to see that the tests find them. Each sleeps until it is woken by name, and
//! without the feature `planted` none is there at all.

/// A bug that can be woken. Each breaks one thing that the design rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// What waits is reused although a pin covers it.
    ReuseIgnoresPins,
    /// A publication reuses at once what the newest pin shows.
    PublishIgnoresPins,
    /// What a history keeps is reused.
    ReuseIgnoresHistory,
    /// What was put in from elsewhere is taken for the line's own.
    FloorStaysDown,
    /// The number of nodes below does not reach the ancestors.
    CountNotPropagated,
    /// A position that was removed is given again.
    PositionUsedAgain,
    /// A block that was reused still has the hash of the one before it.
    HashForgetsBirth,
    /// A branch does not become a bucket again, so the shape depends on history.
    BranchStays,
    /// A name goes to the front of its bucket.
    BucketUnsorted,
    /// Iteration does not see the last slot of a block.
    IterationSkipsSlot,
    /// An attribute is overwritten in a record that an older version shows.
    AttributeInPlace,
    /// A long value goes away with a record that was only copied.
    LongValueFreed,
    /// A comparison of children leaves out one slot.
    DiffSkipsSlot,
    /// A symmetric merge prefers whoever is called ours.
    MergeTakesSides,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 14] = [
        Bug::ReuseIgnoresPins,
        Bug::PublishIgnoresPins,
        Bug::ReuseIgnoresHistory,
        Bug::FloorStaysDown,
        Bug::CountNotPropagated,
        Bug::PositionUsedAgain,
        Bug::HashForgetsBirth,
        Bug::BranchStays,
        Bug::BucketUnsorted,
        Bug::IterationSkipsSlot,
        Bug::AttributeInPlace,
        Bug::LongValueFreed,
        Bug::DiffSkipsSlot,
        Bug::MergeTakesSides,
    ];
}

/// Is it awake?
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is_awake(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "planted")]
pub(crate) use awake::is_awake;
#[cfg(feature = "planted")]
pub use awake::wake;

#[cfg(feature = "planted")]
mod awake {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Bug;

    static AWAKE: AtomicU64 = AtomicU64::new(0);

    /// Wakes a bug, for all arenas of the process and for good; gives it, if it has this name.
    pub fn wake(name: &str) -> Option<Bug> {
        let bug = Bug::ALL.into_iter().find(|bug| format!("{bug:?}") == name)?;
        AWAKE.fetch_or(1 << bug as u64, Ordering::Relaxed);
        Some(bug)
    }

    /// Is it awake?
    #[inline]
    pub(crate) fn is_awake(bug: Bug) -> bool {
        AWAKE.load(Ordering::Relaxed) >> bug as u64 & 1 == 1
    }
}
