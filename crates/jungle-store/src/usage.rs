//! What the files of a folder take up.

use std::io::ErrorKind;

use crate::disk::{Disk, Mode};
use crate::error::{IoError, doing};
use crate::log::segment::{LOG, first_of};
use crate::pages::PAGES;

/// Bytes of the files in a folder: how long they are. What a link leads to, but for the log and the
/// checkpoint, is not in it, as for `du`.
///
/// ```
/// use jungle_store::Store;
/// # let dir = std::env::temp_dir().join(format!("jungle-usage-doc-{}", std::process::id()));
/// let store = Store::open(&dir)?;
/// store.create_tree("board")?;
/// let usage = store.disk_usage()?;
/// assert_eq!((usage.segments, usage.older_log_bytes, usage.pages_bytes), (1, 0, 0));
/// store.checkpoint()?;
/// assert!(store.disk_usage()?.pages_bytes > 0);
/// # drop(store);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskUsage {
    /// Segments of the log, with the zeros that are filled in ahead.
    pub log_bytes: u64,
    /// How many segments that are.
    pub segments: u64,
    /// Those before the last one: what is removed with the next checkpoint where some branch does
    /// not keep everything.
    pub older_log_bytes: u64,
    /// The checkpoint.
    pub pages_bytes: u64,
    /// Everything else, also what is in folders of others.
    pub other_bytes: u64,
}

impl DiskUsage {
    /// All of it.
    ///
    /// ```
    /// use jungle_store::Store;
    /// # let dir = std::env::temp_dir().join(format!("jungle-usage-total-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let usage = store.disk_usage()?;
    /// assert_eq!(usage.total(), usage.log_bytes + usage.pages_bytes + usage.other_bytes);
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        self.log_bytes + self.pages_bytes + self.other_bytes
    }
}

pub(crate) fn disk_usage(disk: &dyn Disk) -> Result<DiskUsage, IoError> {
    let mut usage = DiskUsage::default();
    let mut last = (0, 0);
    let segments = format!("{LOG}/");
    let files = disk.list("").map_err(doing("list", "the folder"))?;
    let mut folders = vec![(String::new(), files)];
    while let Some((prefix, files)) = folders.pop() {
        for file in files {
            let name = format!("{prefix}{file}");
            let segment = first_of(&file).filter(|_| prefix == segments);
            if segment.is_none() && name != PAGES {
                if name != LOG && !is_own(disk, &name)? {
                    continue;
                }
                if let Some(files) = files_in(disk, &name)? {
                    folders.push((format!("{name}/"), files));
                    continue;
                }
            }
            let opened = match disk.open(&name, Mode::Read) {
                // A segment that was dropped since, behind a checkpoint.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(doing("open", &name))?,
            };
            let bytes = opened.len().map_err(doing("ask the length of", &name))?;
            match segment {
                Some(first) => {
                    usage.log_bytes += bytes;
                    usage.segments += 1;
                    last = last.max((first, bytes));
                }
                None if name == PAGES => usage.pages_bytes += bytes,
                None => usage.other_bytes += bytes,
            }
        }
    }
    usage.older_log_bytes = usage.log_bytes - last.1;
    Ok(usage)
}

/// Whether it is there, and no link to another place.
fn is_own(disk: &dyn Disk, name: &str) -> Result<bool, IoError> {
    match disk.is_own(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        is_own => is_own.map_err(doing("look at", name)),
    }
}

/// What is in a folder; `None` where this is a file, or gone.
fn files_in(disk: &dyn Disk, name: &str) -> Result<Option<Vec<String>>, IoError> {
    match disk.list(name) {
        Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {
            Ok(None)
        }
        files => Ok(Some(files.map_err(doing("list", name))?)),
    }
}
