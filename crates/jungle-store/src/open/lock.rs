//! Whose a folder is: a Jungle's or another program's, and who has it open.

use std::io::ErrorKind;
use std::time::Duration;

use super::OpenOptions;
use crate::disk::{Disk, DiskFile, Lock, Mode};
use crate::erase;
use crate::error::{OpenError, doing};
use crate::log::mark::{LOCK, Mark};
use crate::log::segment::{LOG, NEXT, first_of};
use crate::pages;

/// So often it is looked whether readers have gone.
const PAUSE: Duration = Duration::from_millis(20);

impl OpenOptions {
    /// Makes sure that this is, or becomes, a Jungle's folder, and that nobody else has it, if need
    /// be once those have gone who only read it.
    pub(crate) fn lock(&self, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, OpenError> {
        let mut waited = Duration::ZERO;
        loop {
            // From the beginning each time: the folder may have been removed and made anew since,
            // and the lock of a file that has no name any more keeps nobody out.
            let locked = self.lock_at_once(disk);
            let is_held = matches!(locked, Err(OpenError::Locked { .. }));
            if !is_held || waited >= self.readers_waited_for || !is_only_read(disk)? {
                return locked;
            }
            self.progress.go_on()?;
            std::thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }

    fn lock_at_once(&self, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, OpenError> {
        let folder = || disk.place().into();
        let there = match disk.list("") {
            Ok(there) => there,
            Err(error) if self.read_only && error.kind() == ErrorKind::NotFound => {
                return Err(OpenError::Nothing { folder: folder() });
            }
            Err(error) => return Err(doing("list", "the folder")(error).into()),
        };
        let has = |name: &str| there.iter().any(|file| file == name);
        let not_ours = || Err(OpenError::NotAJungle { folder: folder() });
        let (mode, lock) = match self.read_only {
            true if !has(LOCK) || !has(LOG) => {
                return Err(OpenError::Nothing { folder: folder() });
            }
            true => (Mode::Read, Lock::Shared),
            false if there.is_empty() || has(LOCK) => (Mode::Create, Lock::Exclusive),
            false if !has(LOG) || !may_be_ours(disk, &there)? => return not_ours(),
            false => (Mode::Create, Lock::Exclusive),
        };
        let file = disk.open(LOCK, mode).map_err(doing("open", LOCK))?;
        if !file.try_lock(lock).map_err(doing("lock", LOCK))? {
            return Err(OpenError::Locked { folder: folder() });
        }
        let is_marked = match Mark::read(&*file) {
            Ok(mark) => mark.is_some(),
            Err(error @ OpenError::Io(_)) => return Err(error),
            // Told by whoever goes by the mark.
            Err(OpenError::UnknownFormat { .. }) => true,
            // Damaged, where there is what else a Jungle has; else something of another program's.
            Err(_) => false,
        };
        if !self.read_only && !is_marked && !may_be_ours(disk, &there)? {
            return not_ours();
        }
        Ok(file)
    }
}

/// Is there nobody who writes to the folder? Then others may lock it as readers do.
fn is_only_read(disk: &dyn Disk) -> Result<bool, OpenError> {
    let file = disk.open(LOCK, Mode::Read).map_err(doing("open", LOCK))?;
    Ok(file.try_lock(Lock::Shared).map_err(doing("lock", LOCK))?)
}

/// May this be a Jungle's folder that has no mark, or one that was being made when that ended?
/// Other programs have files `LOCK` and folders `log`, too.
fn may_be_ours(disk: &dyn Disk, there: &[String]) -> Result<bool, OpenError> {
    let log = match disk.list(LOG) {
        Ok(log) => log,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(false),
        Err(error) => return Err(doing("list", LOG)(error).into()),
    };
    if log.iter().any(|file| first_of(file).is_some()) {
        return Ok(true);
    }
    // `CLUSTER` is a server's; an arena spills into files that lose their names at once.
    let is_own = |name: &str| {
        [LOCK, LOG, NEXT].contains(&name)
            || pages::FILES.contains(&name)
            || name.ends_with(erase::SUFFIX)
            || ["spill-", "CLUSTER"].iter().any(|begin| name.starts_with(begin))
    };
    let in_log = |file: &String| is_own(&format!("{LOG}/{file}"));
    Ok(there.iter().all(|name| is_own(name)) && log.iter().all(in_log))
}
