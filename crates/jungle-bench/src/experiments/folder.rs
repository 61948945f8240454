//! A folder for an experiment.

use std::ffi::OsStr;
use std::fs::{self, create_dir_all, read_dir, remove_dir_all};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jungle::{OpenOptions, SystemClock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Bytes of a block, as the system counts them.
const BLOCK_BYTES: u64 = 512;

/// A folder beside the program, so on the disk that is built on; gone at the end.
pub struct Folder(pub PathBuf);

/// What the files of a folder take.
#[derive(Clone, Copy, Default)]
pub struct Size {
    /// As long as they are.
    pub bytes: u64,
    /// What the disk has given for them.
    pub allocated: u64,
}

impl Folder {
    /// A new one, named after the experiment and this process.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(experiment: &str) -> io::Result<Folder> {
        let name = format!("bench-{experiment}-{}", std::process::id());
        let folder = Folder(std::env::current_exe()?.with_file_name(name));
        create_dir_all(&folder.0)?;
        Ok(folder)
    }

    /// What is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn size(&self) -> io::Result<Size> {
        let mut size = Size::default();
        for file in files(&self.0)? {
            let file = fs::metadata(file)?;
            size.bytes += file.len();
            size.allocated += file.blocks() * BLOCK_BYTES;
        }
        Ok(size)
    }

    /// The zeros that a Jungle's log has ready for what is committed next: those at the end of its
    /// newest segment, and what will become another one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ready(&self) -> io::Result<u64> {
        let mut log = files(&self.0.join("log"))?;
        log.sort_unstable();
        let is_segment = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "log");
        let newest = log.iter().rfind(|file| is_segment(file));
        let next = log.iter().filter(|file| !is_segment(file));
        let mut ready = 0;
        for file in newest.into_iter().chain(next) {
            let bytes = fs::read(file)?;
            ready += bytes.iter().rev().take_while(|byte| **byte == 0).count() as u64;
        }
        Ok(ready)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.0);
    }
}

/// Removes the folders that runs have left which were interrupted: nothing ends them then. Those of
/// a process that is there stay, and so does what cannot be removed.
pub fn sweep() {
    let program = std::env::current_exe().ok();
    let Some(beside) = program.as_deref().and_then(Path::parent) else { return };
    for entry in read_dir(beside).into_iter().flatten().flatten() {
        if was_left(&entry.file_name(), "bench-") {
            let _ = remove_dir_all(entry.path());
        }
    }
}

/// Does a name begin so, and end with the number of a process that is there no more?
pub(super) fn was_left(name: &OsStr, begins: &str) -> bool {
    let process = name.to_str().and_then(|name| {
        let process = name.strip_prefix(begins)?.rsplit('-').next()?;
        Pid::from_raw(process.parse().ok()?)
    });
    process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}

/// All files below a folder.
///
/// # Errors
/// When it cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in read_dir(folder)? {
            let entry = entry?;
            let here = if entry.file_type()?.is_dir() { &mut folders } else { &mut files };
            here.push(entry.path());
        }
    }
    Ok(files)
}

/// How the folders of experiments are opened.
pub fn options() -> OpenOptions {
    OpenOptions::new().clock(SystemClock)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::process::{Command, id};

    use super::{Folder, was_left};

    #[test]
    fn what_is_named_after_a_process_that_is_gone_was_left() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (gone, here) = (child.id(), id());
        let check = |name: String, begins: &str, expected: bool| {
            assert_eq!(was_left(OsStr::new(&name), begins), expected, "{name}");
        };
        check(format!("bench-two-words-{gone}"), "bench-", true);
        check(format!("bench-two-words-{here}"), "bench-", false);
        check("bench-words".to_owned(), "bench-", false);
        check(format!("jungle-bench-{gone}"), "jungle-bench-", true);
        check(format!("other-{gone}"), "jungle-bench-", false);
    }

    #[test]
    fn what_the_log_has_ready_is_at_its_end() {
        let folder = Folder::new("ready").unwrap();
        let log = folder.0.join("log");
        fs::create_dir_all(&log).unwrap();
        for (name, bytes) in [
            ("00000000000000000001.log", &[1_u8, 0, 0, 0][..]),
            ("00000000000000000007.log", &[0, 1, 0, 0][..]),
            ("next", &[0, 0, 0][..]),
        ] {
            fs::write(log.join(name), bytes).unwrap();
        }
        assert_eq!(folder.ready().unwrap(), 2 + 3);
    }
}
