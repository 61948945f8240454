//! Deliberate bugs, to see that the tests find them. Each sleeps until it is woken by name, and
//! without the feature `planted` none is there at all. And memory that is cut smaller for tests.

use crate::arena::{Arena, ArenaError, ArenaOptions};

/// An arena in which a block has room for so many names, from 1 on, instead of 16: so a tree of a
/// few comes to where blocks are divided, and put together again, at nearly every step. Without the
/// feature `planted` it is one like any other.
///
/// Content is hashed block by block, so hashes tell what is equal within such an arena only, and an
/// image of it is not to be opened elsewhere.
///
/// # Errors
/// As [`Arena::with_options`].
///
/// ```
/// use jungle_tree::{ArenaOptions, Tree, planted};
/// let arena = planted::arena_of_few_names(&ArenaOptions::default(), 2)?;
/// let mut tree = Tree::new(&arena);
/// ["a", "b", "c"].iter().try_for_each(|&name| tree.insert_child(&[], &name.into()))?;
/// tree.snapshot().check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn arena_of_few_names(options: &ArenaOptions, names: usize) -> Result<Arena, ArenaError> {
    Arena::with_options(options).map(|arena| arena.with_names_max(names))
}

/// Makes an enum of planted bugs, with a function that wakes one and one that asks for it: for
/// this crate and those above it, each with a feature `planted` of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! planted_bugs {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A bug that can be woken. Each breaks one thing that the design rests on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $($(#[$doc])* $name,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Bug] = &[$(Bug::$name),*];
        }

        /// Is it awake?
        #[cfg(not(feature = "planted"))]
        #[inline(always)]
        pub(crate) const fn is_awake(_bug: Bug) -> bool {
            false
        }

        #[cfg(feature = "planted")]
        static AWAKE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

        /// Wakes a bug, for all of the process and for good; gives it, if it has this name.
        #[cfg(feature = "planted")]
        pub fn wake(name: &str) -> Option<Bug> {
            let bug = Bug::ALL.iter().copied().find(|bug| format!("{bug:?}") == name)?;
            AWAKE.fetch_or(1 << bug as u64, std::sync::atomic::Ordering::Relaxed);
            Some(bug)
        }

        /// Is it awake?
        #[cfg(feature = "planted")]
        #[inline]
        pub(crate) fn is_awake(bug: Bug) -> bool {
            AWAKE.load(std::sync::atomic::Ordering::Relaxed) >> bug as u64 & 1 == 1
        }
    };
}

planted_bugs! {
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
    /// A rebase does not tell what contradicts each other.
    ConflictForgotten,
    /// A counter that both added to is the greater of the two: what one of them added is lost.
    CounterTakesGreater,
    /// The function that merges an attribute is not told what was there before both.
    RuleSeesNoBase,
    /// An index that is brought to another version keeps what was removed.
    IndexKeepsRemoved,
    /// A collection takes what it did not load for dead.
    UnloadedIsDead,
}
