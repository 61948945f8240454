//! Where a try-out keeps what it has.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A folder that goes with this, among the temporary files. Nothing removes it where the process is
/// killed: what was left so goes with the next try-out of its kind. It is known by that nobody has
/// it locked.
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as this is there, and no longer than the process is.
    _lock: File,
}

impl Folder {
    /// A new one of this kind, which only its owner may look into.
    pub(crate) fn new(kind: &str) -> io::Result<Folder> {
        Folder::new_in(&std::env::temp_dir(), kind)
    }

    fn new_in(above: &Path, kind: &str) -> io::Result<Folder> {
        let mut number = 0_u32;
        loop {
            let path = above.join(format!("{kind}-{}-{number}", std::process::id()));
            if let Some(lock) = make(&path)? {
                sweep(above, kind, lock.metadata()?.uid());
                return Ok(Folder { path, _lock: lock });
            }
            number += 1;
        }
    }
}

/// Makes a folder, and locks it; `None` where there is one: a process in a container may have the
/// same number.
fn make(path: &Path) -> io::Result<Option<File>> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        made => made?,
    }
    // Whoever sweeps just then takes it for left, and it is gone.
    let lock = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    lock.lock()?;
    Ok(is_at(&lock, path).then_some(lock))
}

/// Removes those of a kind and an owner that nobody has locked. Links are followed nowhere.
fn sweep(above: &Path, kind: &str, owner: u32) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(kind)?.strip_prefix('-'));
        let is_number = |number: &str| number.parse::<u32>().is_ok();
        let is_of_kind = numbers.is_some_and(|numbers| numbers.split('-').all(is_number));
        let is_own = |found: Metadata| found.is_dir() && found.uid() == owner;
        // It is locked until it is gone. What was removed meanwhile may be there anew.
        if is_of_kind
            && entry.metadata().is_ok_and(is_own)
            && let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
            && is_at(&left, &entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Is it this folder that is there?
fn is_at(folder: &File, path: &Path) -> bool {
    let place = |found: Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(place);
    folder.metadata().is_ok_and(|found| there.is_ok_and(|there| there == place(found)))
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is temporary all the same.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use jungle_testkit::Scratch;

    use super::*;

    #[test]
    fn what_a_killed_try_out_left_goes_with_the_next_of_its_kind() {
        let above = Scratch::new("jungle-tryout");
        for left in ["up-1/s0", "up-2-0", "up-x", "engine-1/n0"] {
            fs::create_dir_all(above.join(left)).unwrap();
        }
        symlink(above.join("engine-1"), above.join("up-3")).unwrap();
        let own = Folder::new_in(&above, "up").unwrap();
        let is_there = |name: &str| above.join(name).is_dir();
        assert_eq!(["up-1", "up-2-0"].map(is_there), [false; 2]);
        // What is called otherwise, and what a link leads to.
        assert_eq!(["up-x", "engine-1/n0", "up-3"].map(is_there), [true; 3]);
        // Of one that runs nothing is taken away, also where its number is the same.
        let other = Folder::new_in(&above, "up").unwrap();
        assert!(own.is_dir() && other.is_dir());
        let path = own.to_path_buf();
        assert_ne!(path, other.to_path_buf());
        drop(own);
        assert!(!path.exists() && other.is_dir());
    }
}
