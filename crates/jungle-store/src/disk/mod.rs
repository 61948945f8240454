//! The disk as the store sees it: a folder with files, behind a trait, so that a test can take
//! away what was not synced, fail any call, and count them.
//!
//! Names are relative to the folder, with `/` between the parts; the folder itself is `""`.

mod real;
#[cfg(feature = "sim")]
pub mod sim;
mod still;

use std::io;

pub use real::FolderDisk;
pub(crate) use still::StillDisk;

/// A folder on a disk. All its methods may be called from any thread. What changes something is
/// refused unless a disk says otherwise: one that is only read has nothing to say of it.
///
/// ```
/// use jungle_store::disk::{Disk, FolderDisk, Mode};
/// # let dir = std::env::temp_dir().join(format!("jungle-disk-doc-{}", std::process::id()));
/// let disk = FolderDisk::create(&dir)?;
/// let file = disk.open("draft", Mode::CreateNew)?;
/// assert_eq!(file.write_at(b"hello", 0)?, 5);
/// file.sync_data()?;
/// disk.rename("draft", "letter")?;
/// disk.sync_folder("")?;
/// assert_eq!(disk.list("")?, ["letter"]);
/// assert!(disk.open("draft", Mode::Read).is_err());
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Disk: Send + Sync {
    /// Where the folder is, for messages.
    fn place(&self) -> String;

    /// Opens a file.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] when there is none.
    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>>;

    /// Makes a folder; it may be there already.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&self, _name: &str) -> io::Result<()> {
        refused()
    }

    /// The names of what is in a folder, without those of folders above, in no order.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] when there is no such folder.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Whether this is a file or a folder that lies there: no link to another place, which may be a
    /// folder above, and no pipe or socket, which waits for somebody when it is opened. A disk that
    /// has no such things need not say so.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] when there is nothing.
    fn is_own(&self, _name: &str) -> io::Result<bool> {
        Ok(true)
    }

    /// Gives a file another name, in place of whatever had it.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        refused()
    }

    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, _name: &str) -> io::Result<()> {
        refused()
    }

    /// Makes the names in a folder last: what was created, renamed or removed in it.
    ///
    /// # Errors
    /// What the system says. Nothing is known about the names then.
    fn sync_folder(&self, _folder: &str) -> io::Result<()> {
        refused()
    }
}

/// An open file, which likewise is only read unless it says otherwise. It is closed, and its lock
/// given back, when it is dropped.
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> io::Result<u64>;

    /// Has it no bytes?
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads some bytes, as many as the system likes to give; 0 at the end of the file.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some of the bytes, as many as the system likes to take.
    ///
    /// # Errors
    /// What the system says.
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        refused()
    }

    /// Cuts the file off here, or lets it go on with zeros up to here.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, _len: u64) -> io::Result<()> {
        refused()
    }

    /// Makes what was written to the file last, and its length.
    ///
    /// # Errors
    /// What the system says. Nothing is known then about what was written since the last sync:
    /// the system may have dropped it and will not say so again.
    fn sync_data(&self) -> io::Result<()> {
        refused()
    }

    /// Locks the file for this process; `false` when another holder stands against that.
    ///
    /// # Errors
    /// What the system says.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;
}

pub(crate) fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the folder is only read"))
}

/// Takes it as done where a system cannot sync what is not ours, or nothing can be written to.
pub(crate) fn synced_if_it_can(synced: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let harmless = [InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported];
    match synced {
        Err(error) if harmless.contains(&error.kind()) => Ok(()),
        synced => synced,
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To be read; it must be there.
    Read,
    /// To be read and written; it must be there.
    Write,
    /// To be read and written; it is created when it is not there.
    Create,
    /// To be read and written; it is created, and must not be there.
    CreateNew,
}

/// What a lock allows others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Others may hold it shared, too.
    Shared,
    /// Nobody else may hold it.
    Exclusive,
}

/// Reads until the bytes are full or the file ends; tells how many were read.
pub(crate) fn read_full(file: &dyn DiskFile, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Writes all the bytes. An interrupted call is made again, since nothing was written then; any
/// other failure is final.
pub(crate) fn write_full(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
