//! What a folder is, without opening it.

use std::path::Path;

use jungle_db::Revision;

use crate::disk::{Disk as _, FolderDisk, Mode};
use crate::error::{OpenError, doing};
use crate::log::mark::{LOCK, Mark};
use crate::log::recover::segments;
use crate::usage::{DiskUsage, disk_usage};

/// What is known of a folder by its mark and the names and lengths of its files: nothing of it is
/// checked, and somebody else may have it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// The newest revision; none while somebody writes to the folder, or if it was not closed, as
    /// a backup that was interrupted.
    pub revision: Option<Revision>,
    /// With which revision the log begins; none if there is no log yet. If that is not the first
    /// one, a checkpoint is the only copy of what was before.
    pub log_begins: Option<Revision>,
    /// What its files take up.
    pub usage: DiskUsage,
}

impl Outline {
    /// Looks at a folder.
    ///
    /// # Errors
    /// When it is no Jungle's, or of a format that is not known, or the system refuses something.
    ///
    /// ```
    /// use jungle_store::{Outline, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-outline-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// assert_eq!(Outline::read(&dir)?.revision, None);
    /// store.close()?;
    /// assert_eq!(Outline::read(&dir)?.revision.map(|newest| newest.number()), Some(1));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(folder: impl AsRef<Path>) -> Result<Outline, OpenError> {
        let disk = FolderDisk::new(folder.as_ref());
        let lock = disk.open(LOCK, Mode::Read).map_err(doing("open", LOCK))?;
        let revision = match Mark::read(&*lock)? {
            Some(Mark::Closed { revision, .. }) => Some(Revision::new(revision)),
            Some(Mark::InUse) | None => None,
        };
        let log_begins = segments(&disk)?.first().map(|&first| Revision::new(first));
        Ok(Outline { revision, log_begins, usage: disk_usage(&disk)? })
    }
}
