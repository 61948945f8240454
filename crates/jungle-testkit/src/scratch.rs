//! Folders for what a test or a measurement keeps.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one's own, gone when this is dropped, also by a panic. Nothing drops it where its
/// process is killed: what was left so goes when somebody makes the next one of its kind there. It
/// is known by that nobody has it locked.
///
/// ```
/// use jungle_testkit::Scratch;
/// let folder = Scratch::new("jungle-scratch-doc");
/// std::fs::write(folder.join("file"), "text")?;
/// let path = folder.to_path_buf();
/// drop(folder);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Locked as long as this is there, and no longer than its process is.
    _lock: File,
}

impl Scratch {
    /// A new one among the temporary files, with nothing in it.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new(kind: &str) -> Scratch {
        Scratch::new_in(&std::env::temp_dir(), kind)
    }

    /// A new one in this folder.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new_in(above: &Path, kind: &str) -> Scratch {
        static MADE: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(above).expect("temporary folders can be made");
        sweep(above, kind);
        loop {
            let number = MADE.fetch_add(1, Ordering::SeqCst);
            let path = above.join(format!("{kind}-{}-{number}", process::id()));
            if let Some(lock) = make(&path).expect("temporary folders can be made and locked") {
                return Scratch { path, _lock: lock };
            }
        }
    }
}

/// Makes a folder, and locks it; `None` where there is one: a process in a container may have the
/// same number.
fn make(path: &Path) -> io::Result<Option<File>> {
    match fs::create_dir(path) {
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

/// Is it this folder that is there?
fn is_at(folder: &File, path: &Path) -> bool {
    let place = |found: Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(place);
    folder.metadata().is_ok_and(|found| there.is_ok_and(|there| there == place(found)))
}

/// Removes those of a kind that nobody has locked. Links are followed nowhere.
fn sweep(above: &Path, kind: &str) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(kind)?.strip_prefix('-'));
        let is_number = |number: &str| number.parse::<u32>().is_ok();
        let is_of_kind = numbers.is_some_and(|numbers| numbers.split('-').all(is_number));
        // It is locked until it is gone. What was removed meanwhile may be there anew.
        if is_of_kind
            && entry.file_type().is_ok_and(|found| found.is_dir())
            && let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
            && is_at(&left, &entry.path())
        {
            // What cannot be removed is somebody else's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_left_goes_with_the_next_one_of_its_kind() {
        let above = Scratch::new("jungle-scratch-swept");
        for left in ["kind-1-0/below", "kind-2", "kind-other-1", "other-1-0"] {
            fs::create_dir_all(above.join(left)).unwrap();
        }
        symlink(above.join("other-1-0"), above.join("kind-3")).unwrap();
        let one = Scratch::new_in(&above, "kind");
        let other = Scratch::new_in(&above, "kind");
        let there = fs::read_dir(&above).unwrap().map(|entry| entry.unwrap().path());
        let mut there: Vec<PathBuf> = there.collect();
        there.sort();
        let stays = ["kind-other-1", "other-1-0", "kind-3"].map(|name| above.join(name));
        let mut expected = [&stays[..], &[one.to_path_buf(), other.to_path_buf()]].concat();
        expected.sort();
        assert_eq!(there, expected);
    }
}
