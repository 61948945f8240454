//! Putting what was made beside a Jungle in its place, so that whatever happens one of the two is
//! there, whole.
//!
//! What was made has been read back, and all of it was synced, before its mark, `LOCK.erased`, gets
//! the name `LOCK.remove`. That is the moment at which it counts. From then on the old files are
//! removed; when that is done for good, the mark gets the name `LOCK.rename`, and the new files
//! get their names; when that is done for good, the mark is removed, and `LOCK` says what it said.
//! Whoever opens the folder goes on with that: each step can be done twice.
//!
//! A name that is seen need not last: whoever changed it may have ended before the folder was
//! synced. So that is done first where somebody was at it. That there was nobody, a folder says
//! that was closed: `LOCK` says so again only when no mark can come back.

use std::io::ErrorKind;

use super::beside::{SUFFIX, beside};
use crate::disk::{Disk, DiskFile, Mode};
use crate::error::{IoError, OpenError, doing};
use crate::log::mark::{LOCK, Mark};
use crate::log::segment::LOG;
use crate::pages;
use crate::planted::{Bug, is_awake};

const REMOVE: &str = "LOCK.remove";
const RENAME: &str = "LOCK.rename";

/// Puts what is beside in the place of what is there.
pub(crate) fn swap(disk: &dyn Disk, lock: &dyn DiskFile) -> Result<(), OpenError> {
    sync(disk, LOG)?;
    sync(disk, "")?;
    rename(disk, &beside(LOCK), REMOVE)?;
    finish(disk, lock)
}

/// Was a folder left in the middle of it?
pub(crate) fn is_unfinished(disk: &dyn Disk) -> Result<bool, IoError> {
    let names = list(disk, "")?;
    Ok(names.iter().any(|name| name == REMOVE || name == RENAME))
}

/// Goes on with what was begun, or removes what was not made to its end.
pub(crate) fn finish(disk: &dyn Disk, lock: &dyn DiskFile) -> Result<(), OpenError> {
    let names = list(disk, "")?;
    let is_marked = names.iter().any(|name| name == REMOVE || name == RENAME);
    if is_marked || !matches!(Mark::read(lock)?, Some(Mark::Closed { .. })) {
        sync(disk, "")?;
    }
    if names.iter().any(|name| name == REMOVE) {
        for name in list(disk, LOG)?.iter().filter(|name| !name.ends_with(SUFFIX)) {
            remove(disk, &format!("{LOG}/{name}"))?;
        }
        for name in names.iter().filter(|name| pages::FILES.contains(&&***name)) {
            remove(disk, name)?;
        }
        if !is_awake(Bug::OldFilesStay) {
            sync(disk, LOG)?;
            sync(disk, "")?;
        }
        rename(disk, REMOVE, RENAME)?;
        // Known to last before a file gets a name that would be removed above.
        sync(disk, "")?;
    } else if !names.iter().any(|name| name == RENAME) {
        return Ok(remove_unfinished(disk)?);
    }
    for (name, made) in made(disk)? {
        match name == LOCK {
            // The mark has its name already: this is of no erasure, and never takes the place of
            // the file that the owner keeps locked.
            true => remove(disk, &made)?,
            false => rename(disk, &made, &name)?,
        }
    }
    sync(disk, LOG)?;
    sync(disk, "")?;
    let mark = disk.open(RENAME, Mode::Read).map_err(doing("open", RENAME))?;
    let mark = Mark::read(&*mark)?;
    Mark::InUse.write(lock)?;
    remove(disk, RENAME)?;
    sync(disk, "")?;
    Ok(mark.map_or(Ok(()), |mark| mark.write(lock))?)
}

/// What never came to count.
pub(crate) fn remove_unfinished(disk: &dyn Disk) -> Result<(), IoError> {
    let made = made(disk)?;
    for (_, name) in &made {
        remove(disk, name)?;
    }
    if !made.is_empty() {
        sync(disk, LOG)?;
        sync(disk, "")?;
    }
    Ok(())
}

/// The files that are beside: the names they are to have, and those that they have.
fn made(disk: &dyn Disk) -> Result<Vec<(String, String)>, IoError> {
    let mut made = Vec::new();
    for (folder, prefix) in [("", String::new()), (LOG, format!("{LOG}/"))] {
        for name in list(disk, folder)? {
            if let Some(short) = name.strip_suffix(SUFFIX) {
                made.push((format!("{prefix}{short}"), format!("{prefix}{name}")));
            }
        }
    }
    Ok(made)
}

fn list(disk: &dyn Disk, folder: &str) -> Result<Vec<String>, IoError> {
    match disk.list(folder) {
        Err(error) if folder == LOG && error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(doing("list", if folder.is_empty() { "the folder" } else { LOG })),
    }
}

fn sync(disk: &dyn Disk, folder: &str) -> Result<(), IoError> {
    let what = if folder.is_empty() { "the folder" } else { folder };
    disk.sync_folder(folder).map_err(doing("sync", what))
}

fn rename(disk: &dyn Disk, from: &str, to: &str) -> Result<(), IoError> {
    disk.rename(from, to).map_err(doing("name", to))
}

fn remove(disk: &dyn Disk, name: &str) -> Result<(), IoError> {
    disk.remove(name).map_err(doing("remove", name))
}
