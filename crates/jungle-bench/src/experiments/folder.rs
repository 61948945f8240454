//! A folder for an experiment.

use std::fs::{self, create_dir_all, read_dir, remove_dir_all};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jungle::{OpenOptions, SystemClock};

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
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.0);
    }
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
