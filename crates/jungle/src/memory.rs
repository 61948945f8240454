//! A Jungle in memory, ready for use.

use jungle_db::Jungle;
use jungle_tree::ArenaError;

use crate::SystemClock;

/// Adds `memory` to [`Jungle`].
pub trait Memory: Sized {
    /// An empty Jungle in memory whose revisions have the system's time; all of them are kept.
    /// [`Jungle::builder`] has the options.
    ///
    /// # Errors
    /// When the system refuses to reserve the address range.
    ///
    /// ```
    /// use jungle::{Jungle, Memory};
    /// let jungle = Jungle::memory()?;
    /// assert_eq!(jungle.list_trees().len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn memory() -> Result<Self, ArenaError>;
}

impl Memory for Jungle {
    fn memory() -> Result<Jungle, ArenaError> {
        Jungle::builder().clock(SystemClock).build()
    }
}
