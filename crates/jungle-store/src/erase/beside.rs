//! A second Jungle in the files of a folder, beside the first: under the same names with something
//! behind them.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Mode};

/// What stands behind the names of its files.
pub(crate) const SUFFIX: &str = ".erased";

pub(crate) struct Beside(pub(crate) Arc<dyn Disk>);

/// The name that a file of it has in the folder.
pub(super) fn beside(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

impl Disk for Beside {
    fn place(&self) -> String {
        self.0.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        self.0.open(&beside(name), mode)
    }

    /// Both have the same folders.
    fn create_folder(&self, name: &str) -> io::Result<()> {
        self.0.create_folder(name)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let names = self.0.list(folder)?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(SUFFIX)).map(str::to_owned).collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(&beside(from), &beside(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(&beside(name))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.0.sync_folder(folder)
    }
}
