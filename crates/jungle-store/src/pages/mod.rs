//! Where checkpoints are kept: values under numbers in a few tables, of which many are replaced at
//! once or not at all, and each is what was put, or an error.
//!
//! - A [`Checkpoint`] is written value by value and then committed: durable, as a whole, with the
//!   next number. Readers go on meanwhile and see the one before.
//! - [`Pages::get`] gives what the newest checkpoint has. Each value is stored with a hash of
//!   itself and its place (`value.rs`), and a *ledger* says by which checkpoint each was put
//!   (`ledger.rs`): so what is damaged, in the wrong place, or old is noticed before it is used.
//! - [`EnginePages`] keeps it all in one file, `pages`, by an embedded engine (`engine`), which
//!   sees the disk through our own trait (`backend.rs`).
//! - [`PagedSlabs`] gives the slabs of an arena that is opened lazily.

mod backend;
mod blocks;
mod engine;
mod error;
mod files;
mod ledger;
mod value;

use std::ops::RangeInclusive;
use std::sync::Arc;

use jungle_tree::{SlabId, SlabSource};

use crate::progress::Progress;

pub(crate) use backend::PAGES;
pub use engine::{CACHE_BYTES, EnginePages, PagesOptions};
pub use error::{PageDamage, PagesError};
pub(crate) use files::{DAMAGED, FILES, keep_damaged, remove, remove_damaged};
pub use value::VALUE_BYTES_MAX;
pub(crate) use value::{Place, STORED_BYTES_MAX, claimed, said};

/// What a value belongs to. A key means something within its table only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Table {
    /// What an arena's image has besides its slabs.
    Image = 1,
    /// Small records: heads, names, what else a database is.
    State = 2,
    /// The slabs of an arena, by [`SlabId::number`].
    Slabs = 3,
    /// Pieces of branches' histories, by [`history_key`].
    History = 4,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 4] = [Table::Image, Table::State, Table::Slabs, Table::History];

    /// Its name, as errors and the engine have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Table::Image => "image",
            Table::State => "state",
            Table::Slabs => "slabs",
            Table::History => "history",
        }
    }
}

/// The key of a piece of a branch's history. The pieces of a branch have neighbouring keys.
///
/// ```
/// use jungle_store::pages::history_key;
/// assert_eq!(history_key(7, 1), history_key(7, 0) + 1);
/// assert!(history_key(7, u32::MAX) < history_key(8, 0));
/// ```
#[must_use]
pub fn history_key(branch: u32, index: u32) -> u64 {
    u64::from(branch) << 32 | u64::from(index)
}

/// Values that are replaced a checkpoint at a time.
///
/// ```
/// use std::sync::Arc;
/// use jungle_store::disk::FolderDisk;
/// use jungle_store::pages::{EnginePages, Pages, PagesOptions, Table};
/// # let dir = std::env::temp_dir().join(format!("jungle-pages-doc-{}", std::process::id()));
/// let disk = Arc::new(FolderDisk::create(&dir)?);
/// let pages = EnginePages::open(disk, PagesOptions::default())?;
/// let mut checkpoint = pages.begin()?;
/// checkpoint.put(Table::State, 7, b"seven")?;
/// assert_eq!(checkpoint.commit()?, 1);
/// assert_eq!(pages.get(Table::State, 7)?.as_deref(), Some(&b"seven"[..]));
/// assert_eq!(pages.get(Table::State, 8)?, None);
/// # drop(pages);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Pages: Send + Sync {
    /// The number of the newest checkpoint, from 1; 0 when there is none yet.
    ///
    /// # Errors
    /// When what is there cannot be read, or is damaged.
    fn checkpoint(&self) -> Result<u64, PagesError>;

    /// What the newest checkpoint has under this key.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was put: never anything else in its place.
    fn get(&self, table: Table, key: u64) -> Result<Option<Vec<u8>>, PagesError>;

    /// As [`Pages::get`], into bytes that are as long as the value; tells whether there is one.
    ///
    /// # Errors
    /// As [`Pages::get`], and when the value has another length. What is in `bytes` then is not
    /// told.
    fn get_into(&self, table: Table, key: u64, bytes: &mut [u8]) -> Result<bool, PagesError> {
        let Some(value) = self.get(table, key)? else { return Ok(false) };
        if value.len() != bytes.len() {
            let what = PageDamage::Length;
            return Err(PagesError::Damaged { table: table.name(), key, what });
        }
        bytes.copy_from_slice(&value);
        Ok(true)
    }

    /// The keys, in order, under which it has something.
    ///
    /// # Errors
    /// When what is there cannot be read, or is damaged.
    fn keys(&self, table: Table, range: RangeInclusive<u64>) -> Result<Vec<u64>, PagesError>;

    /// Begins the next checkpoint, when none is being written any more: it waits for that. What of
    /// the one before stays is not read for it: that may be damaged, which [`check`](Pages::check)
    /// tells.
    ///
    /// # Errors
    /// When what is there cannot be read, or is damaged; also when a sync has failed, until the
    /// pages are opened again.
    fn begin(&self) -> Result<Box<dyn Checkpoint + '_>, PagesError>;

    /// Puts all that the newest checkpoint has into a new file, which takes the place of the old
    /// one at once, when it was read back: what was removed takes up no room any more. Readers go
    /// on meanwhile, whoever begins a checkpoint waits. Until it is done the disk has both. Tells
    /// how many values were put.
    ///
    /// # Errors
    /// When the disk refuses it, or what is there is damaged: the old file stays then, unless it is
    /// not known which of the two lasts; they are the same, and no checkpoint is written until the
    /// pages are opened again. [`PagesError::GivenUp`] when `progress` says so: the old file stays.
    fn compact(&self, progress: &Progress) -> Result<(), PagesError>;

    /// Reads all there is; gives how many values that are. Nothing is told of it, but it can be
    /// given up.
    ///
    /// # Errors
    /// The first that cannot be read, or is damaged; [`PagesError::GivenUp`].
    fn check(&self, progress: &Progress) -> Result<u64, PagesError> {
        let mut count = 0;
        for table in Table::ALL {
            for key in self.keys(table, 0..=u64::MAX)? {
                progress.go_on()?;
                self.get(table, key)?;
                count += 1;
            }
        }
        Ok(count)
    }
}

/// A checkpoint that is being written. Dropped without a commit, it has not been.
pub trait Checkpoint: Send {
    /// Puts a value in place of what is there.
    ///
    /// # Errors
    /// When the disk refuses it, or it is larger than [`VALUE_BYTES_MAX`]. After any error of this
    /// or [`Checkpoint::remove`] the commit fails, too.
    fn put(&mut self, table: Table, key: u64, bytes: &[u8]) -> Result<(), PagesError>;

    /// Removes what is there, if anything is.
    ///
    /// # Errors
    /// When the disk refuses it.
    fn remove(&mut self, table: Table, key: u64) -> Result<(), PagesError>;

    /// Makes all of it durable and the newest checkpoint; gives its number.
    ///
    /// # Errors
    /// When the disk refuses it, or something failed before. The newest checkpoint is then this one
    /// or the one before, whole; but it is not known to be durable, so nothing may rely on it.
    fn commit(self: Box<Self>) -> Result<u64, PagesError>;
}

/// The slabs of the newest checkpoint, for [`Arena::reopen`](jungle_tree::Arena::reopen).
pub struct PagedSlabs(pub Arc<dyn Pages>);

impl std::fmt::Debug for PagedSlabs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PagedSlabs").finish_non_exhaustive()
    }
}

impl SlabSource for PagedSlabs {
    fn load(
        &self,
        id: SlabId,
        bytes: &mut [u8],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (table, key) = (Table::Slabs, id.number());
        if !self.0.get_into(table, key, bytes)? {
            let what = PageDamage::Missing;
            return Err(PagesError::Damaged { table: table.name(), key, what }.into());
        }
        Ok(())
    }
}
