//! A real folder.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile, Lock, Mode, synced_if_it_can};
use crate::log::mark::{LOCK, Mark};

/// A folder of the file system. What is made in it is for its owner only.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
}

impl FolderDisk {
    /// The folder at this path, which must be there.
    pub fn new(folder: impl Into<PathBuf>) -> FolderDisk {
        FolderDisk { folder: folder.into() }
    }

    /// Makes the folder, and those above it, as far as they are not there, and makes them last.
    /// One that is there, and in which no Jungle was open yet, is made last as well: whoever made
    /// it may not have done so, or may have been killed before.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// ```
    /// use jungle_store::disk::{Disk, FolderDisk};
    /// # let dir = std::env::temp_dir().join(format!("jungle-disk-create-{}", std::process::id()));
    /// let disk = FolderDisk::create(dir.join("a/b"))?;
    /// assert!(disk.list("")?.is_empty());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(folder: impl Into<PathBuf>) -> io::Result<FolderDisk> {
        let disk = FolderDisk::new(folder);
        if disk.has_mark() {
            return Ok(disk);
        }
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing: Vec<&Path> = disk.folder.ancestors().take_while(missing).collect();
        for path in missing.iter().rev() {
            create_folder(path)?;
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            sync_folder(above.unwrap_or(Path::new(".")))?;
        }
        let is_there = disk.folder.ancestors().nth(missing.len());
        is_there.filter(|path| !path.as_os_str().is_empty()).map_or(Ok(()), sync_name)?;
        Ok(disk)
    }

    /// Makes the names in a folder last; `""` is the one that the process is in. Where it may not
    /// be read, or the system syncs none, they are as lasting as they get.
    ///
    /// # Errors
    /// What else the system says.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use jungle_store::disk::FolderDisk;
    /// # let dir = std::env::temp_dir().join(format!("jungle-disk-names-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir)?;
    /// std::fs::write(dir.join("letter"), "hello")?;
    /// FolderDisk::sync_names(&dir)?;
    /// FolderDisk::sync_names("")?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # #[cfg(unix)]
    /// assert_eq!(FolderDisk::sync_names(&dir).unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sync_names(folder: impl AsRef<Path>) -> io::Result<()> {
        let folder = folder.as_ref();
        let is_here = folder.as_os_str().is_empty();
        synced_if_it_can(sync_folder(if is_here { Path::new(".") } else { folder }))
    }

    /// Was a Jungle open in it? Then all names up to its own were made last before.
    fn has_mark(&self) -> bool {
        let lock = self.open(LOCK, Mode::Read);
        lock.is_ok_and(|lock| matches!(Mark::read(&*lock), Ok(Some(_))))
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.clone() } else { self.folder.join(name) }
    }
}

impl Disk for FolderDisk {
    fn place(&self) -> String {
        self.folder.display().to_string()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = File::options();
        options.read(true).write(mode != Mode::Read).create(mode == Mode::Create);
        options.create_new(mode == Mode::CreateNew);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(options.open(self.path(name))?))
    }

    fn create_folder(&self, name: &str) -> io::Result<()> {
        create_folder(&self.path(name))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path(folder))?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn is_own(&self, name: &str) -> io::Result<bool> {
        let kind = fs::symlink_metadata(self.path(name))?.file_type();
        Ok(kind.is_file() || kind.is_dir())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        sync_folder(&self.path(folder))
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// On Windows a folder cannot be synced, and need not be: its names are journaled.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(windows) { Ok(()) } else { File::open(path)?.sync_all() }
}

/// Makes the name of a folder last that was there. Where the one above may not be read, or is of a
/// system that cannot sync it or that nothing is written to, it was not us who made the name.
fn sync_name(path: &Path) -> io::Result<()> {
    let path = path.canonicalize()?;
    path.parent().map_or(Ok(()), FolderDisk::sync_names)
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, bytes, offset);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(self, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(self, bytes, offset);
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let locked = match lock {
            Lock::Shared => self.try_lock_shared(),
            Lock::Exclusive => File::try_lock(self),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
