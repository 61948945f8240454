//! Where a try-out keeps what it has.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::DirBuilderExt;
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
        sweep(above, kind);
        let path = above.join(format!("{kind}-{}", std::process::id()));
        loop {
            DirBuilder::new().mode(0o700).create(&path)?;
            // Whoever sweeps just then takes it for left, and it is gone.
            let Ok(lock) = File::open(&path) else { continue };
            lock.lock()?;
            if path.is_dir() {
                return Ok(Folder { path, _lock: lock });
            }
        }
    }
}

/// Removes those of a kind that nobody has locked.
fn sweep(above: &Path, kind: &str) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(kind)?.strip_prefix('-'));
        let is_of_kind = process.is_some_and(|process| process.parse::<u32>().is_ok());
        // It is locked until it is gone.
        if is_of_kind
            && let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
        {
            // What cannot be removed is somebody else's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
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
    use jungle_testkit::Scratch;

    use super::*;

    #[test]
    fn what_a_killed_try_out_left_goes_with_the_next_of_its_kind() {
        let above = Scratch::new("jungle-tryout");
        for left in ["up-1/s0", "up-x", "engine-1"] {
            fs::create_dir_all(above.join(left)).unwrap();
        }
        let own = Folder::new_in(&above, "up").unwrap();
        let is_there = |name: &str| above.join(name).is_dir();
        assert_eq!(["up-1", "up-x", "engine-1"].map(is_there), [false, true, true]);
        // Of one that runs nothing is taken away.
        sweep(&above, "up");
        let path = own.to_path_buf();
        assert!(path.is_dir());
        drop(own);
        assert!(!path.exists());
    }
}
