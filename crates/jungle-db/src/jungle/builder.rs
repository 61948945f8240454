//! What a Jungle is made of.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jungle_tree::{Arena, ArenaError, ArenaOptions};

use super::{Catalog, Jungle, Shared};
use crate::commit::durability::Durability;
use crate::history::retention::Retention;
use crate::journal::Journal;
use crate::revision::{Clock, CommitMeta, Counter, NoClock};
use crate::sync::{AtomicBool, AtomicU64, Mutex, RwLock};

/// What a Jungle is made of: see [`Jungle::builder`].
///
/// ```
/// use jungle_db::{Durability, Jungle, Retention};
/// let jungle = Jungle::builder()
///     .durability(Durability::Buffered)
///     .retention(Retention::Last(2))
///     .build()?;
/// let log = jungle.create_tree("log")?;
/// (0..5).try_for_each(|_| log.update(|tx| tx.append(&[])).map(drop))?;
/// assert_eq!(log.history(..).count(), 2);
/// assert_eq!(jungle.durability(), Durability::Buffered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Builder {
    arena: ArenaOptions,
    clock: Arc<dyn Clock>,
    journal: Option<Arc<dyn Journal>>,
    durability: Durability,
    retention: Retention,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Builder");
        shown.field("durability", &self.durability);
        shown.field("retention", &self.retention);
        shown.finish_non_exhaustive()
    }
}

impl Jungle {
    /// Options for a Jungle.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            arena: ArenaOptions::default(),
            clock: Arc::new(NoClock),
            journal: None,
            durability: Durability::default(),
            retention: Retention::All,
        }
    }
}

impl Builder {
    /// How much memory it may take.
    ///
    /// ```
    /// use jungle_db::{Jungle, UpdateError};
    /// use jungle_tree::{ArenaOptions, EditError};
    /// let options = ArenaOptions { payload_bytes: 32 << 20, ..ArenaOptions::default() };
    /// let tree = Jungle::builder().arena(options).build()?.create_tree("notes")?;
    /// let text = "x".repeat(40 << 20);
    /// let refused = tree.update(|tx| tx.put_attribute(&[], "text", text.as_str()));
    /// assert!(matches!(refused, Err(UpdateError::Closure(EditError::ArenaFull))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn arena(mut self, options: ArenaOptions) -> Self {
        self.arena = options;
        self
    }

    /// Where the times of commits come from; without one they are all
    /// [`Timestamp::default`](crate::Timestamp).
    ///
    /// ```
    /// use jungle_db::{Clock, Jungle, Timestamp};
    /// struct Noon;
    /// impl Clock for Noon {
    ///     fn now(&self) -> Timestamp {
    ///         Timestamp::from_micros(12 * 3_600_000_000)
    ///     }
    /// }
    /// let tree = Jungle::builder().clock(Noon).build()?.create_tree("board")?;
    /// let committed = tree.update(|tx| tx.append(&[]))?;
    /// let told = tree.history(..).next().unwrap()?;
    /// assert_eq!((told.revision, told.time), (committed.revision, Noon.now()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Where commits are written down; without one they are in memory only.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jungle_db::{Jungle, MemoryJournal};
    /// let journal = Arc::new(MemoryJournal::default());
    /// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
    /// jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
    /// assert_eq!(journal.records().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// What commits survive that do not say it themselves; [`Durability::Sync`] when not set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// What new trees and branches keep of their history.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// The Jungle, without trees.
    ///
    /// # Errors
    /// When the system refuses to reserve the address range of the arena.
    pub fn build(self) -> Result<Jungle, ArenaError> {
        let arena = Arena::with_options(&self.arena)?;
        Ok(self.build_in(arena, 1, Catalog::default()))
    }

    pub(crate) fn build_in(self, arena: Arena, next_id: u64, catalog: Catalog) -> Jungle {
        let shared = Shared {
            arena,
            clock: self.clock,
            journal: self.journal,
            durability: self.durability,
            order: Mutex::default(),
            counter: Counter::default(),
            stopped: AtomicBool::new(false),
            ids: AtomicU64::new(next_id),
            retention: self.retention,
            sequencing: OnceLock::new(),
            catalog: RwLock::new(catalog),
            checkpoints: Mutex::default(),
            deleted: Mutex::default(),
            shelf: Mutex::default(),
        };
        Jungle { shared: Arc::new(shared), meta: CommitMeta::new() }
    }
}
