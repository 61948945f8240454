//! The files that there may be, and those that are left out or removed.

use std::io;

use super::backend::PAGES;
use crate::disk::Disk;
use crate::error::{IoError, doing};

/// What the file is called until there is something in it.
pub(super) const NEXT: &str = "pages.next";

/// What a damaged file is called that was left out, so that somebody may look at it.
pub(crate) const DAMAGED: &str = "pages.damaged";

/// All files that there may be.
pub(crate) const FILES: [&str; 3] = [PAGES, NEXT, DAMAGED];

/// Removes the pages of a folder, if there are any.
pub(crate) fn remove(disk: &dyn Disk) -> Result<(), IoError> {
    remove_file(disk, PAGES)
}

/// Keeps pages that are damaged, and are not needed, under another name, in place of such that are
/// kept already.
pub(crate) fn keep_damaged(disk: &dyn Disk) -> Result<(), IoError> {
    disk.rename(PAGES, DAMAGED).map_err(doing("name", DAMAGED))?;
    disk.sync_folder("").map_err(doing("sync", "the folder"))
}

/// Removes such that are kept, if there are any.
pub(crate) fn remove_damaged(disk: &dyn Disk) -> Result<(), IoError> {
    match disk.remove(DAMAGED) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(doing("remove", DAMAGED)(error)),
        Ok(()) => disk.sync_folder("").map_err(doing("sync", "the folder")),
    }
}

pub(super) fn remove_file(disk: &dyn Disk, name: &str) -> Result<(), IoError> {
    match disk.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(doing("remove", name)(error)),
        _ => Ok(()),
    }
}
