//! A Jungle in a folder, ready for use.

use std::path::Path;

use jungle_db::Jungle;
use jungle_store::{OpenError, OpenOptions, Store};

use crate::SystemClock;

/// Adds `open` to [`Jungle`].
pub trait Open {
    /// Opens the Jungle in a folder, which is made when it is not there. Its revisions have the
    /// system's time; what is acknowledged survives loss of power. [`OpenOptions`] has more.
    ///
    /// The [`Store`] is used as the [`Jungle`] it holds, and closes the folder when it and all
    /// handles from it are dropped. [`Store::report`] says what was found.
    ///
    /// # Errors
    /// When somebody has it open, when it is damaged or not a Jungle's, or the system refuses
    /// something.
    ///
    /// ```
    /// use jungle::{Jungle, Open};
    /// # let folder = std::env::temp_dir().join(format!("jungle-open-doc-{}", std::process::id()));
    /// let jungle = Jungle::open(&folder)?;
    /// let posted = jungle.create_tree("board")?.update(|tx| tx.append(&[]))?;
    /// drop(jungle);
    ///
    /// let again = Jungle::open(&folder)?;
    /// assert_eq!(again.open_tree("board")?.snapshot().revision(), posted.revision);
    /// # drop(again);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn open(folder: impl AsRef<Path>) -> Result<Store, OpenError>;
}

impl Open for Jungle {
    fn open(folder: impl AsRef<Path>) -> Result<Store, OpenError> {
        OpenOptions::new().clock(SystemClock).open(folder)
    }
}
