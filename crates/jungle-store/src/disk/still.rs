//! A folder that somebody else writes to, as it is at one moment, without a word to whoever that
//! is.
//!
//! - *The log* is read once, and only grows meanwhile: what is being written at its end is a torn
//!   end to a reader, as one that a crash leaves.
//! - *The pages* are read whenever they are looked at, and the writer uses the place of what is in
//!   no checkpoint any more again. So there is a copy of them, in a file without a name. The engine
//!   changes nothing that a checkpoint leads to before the head leads to another one, so a copy
//!   during which the head stayed the same is one of a moment.
//! - *The mark* is copied, too: the folder's own is locked.
//!
//! What goes wrong all the same (a segment is dropped behind a newer checkpoint, the folder is
//! replaced by one of which something was erased) is an error, since all that is read is held
//! against checksums and against what is before it; then it is read again.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile, FolderDisk, Mode, read_full};
use crate::error::{IoError, OpenError, doing};
use crate::mark::LOCK;
use crate::pages::PAGES;

/// How often a copy is begun.
const COPIES: usize = 10;

/// In how much of the file the head is, in bytes.
const HEAD: usize = 4096;

/// A folder that is only read.
pub(crate) struct StillDisk {
    folder: FolderDisk,
    mark: File,
    pages: Option<File>,
}

impl StillDisk {
    /// The folder as it is now.
    ///
    /// # Errors
    /// When there is no room for a copy of the pages, or the system refuses something else;
    /// [`OpenError::Restless`] when checkpoints follow each other too fast to copy one.
    pub(crate) fn new(folder: &Path) -> Result<StillDisk, OpenError> {
        let mark = copy(&folder.join(LOCK)).map_err(doing("copy", LOCK))?;
        let pages = pages(&folder.join(PAGES))?;
        Ok(StillDisk { folder: FolderDisk::new(folder), mark, pages })
    }
}

fn copy(path: &PathBuf) -> io::Result<File> {
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    Ok(copy)
}

/// The pages of a moment, if there are any.
fn pages(path: &PathBuf) -> Result<Option<File>, OpenError> {
    for _ in 0..COPIES {
        // One that is compacted meanwhile stays as it was, and loses its name.
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(doing("open", PAGES))?,
        };
        let before = head(&file)?;
        let mut copy = tempfile::tempfile().map_err(doing("copy", PAGES))?;
        io::copy(&mut &file, &mut copy).map_err(doing("copy", PAGES))?;
        if head(&file)? == before {
            return Ok(Some(copy));
        }
    }
    let folder = path.parent().unwrap_or(path);
    Err(OpenError::Restless { folder: folder.to_string_lossy().into() })
}

fn head(file: &File) -> Result<Vec<u8>, IoError> {
    let mut head = vec![0; HEAD];
    let read = read_full(file, &mut head, 0).map_err(doing("read", PAGES))?;
    head.truncate(read);
    Ok(head)
}

impl Disk for StillDisk {
    fn place(&self) -> String {
        self.folder.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        match name {
            _ if mode != Mode::Read => refused(),
            LOCK => Ok(Box::new(self.mark.try_clone()?)),
            PAGES => match &self.pages {
                Some(pages) => Ok(Box::new(pages.try_clone()?)),
                None => Err(ErrorKind::NotFound.into()),
            },
            _ => self.folder.open(name, mode),
        }
    }

    fn create_folder(&self, _: &str) -> io::Result<()> {
        refused()
    }

    /// Without pages that came later.
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = self.folder.list(folder)?;
        names.retain(|name| name != PAGES || self.pages.is_some() || !folder.is_empty());
        Ok(names)
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn sync_folder(&self, _: &str) -> io::Result<()> {
        refused()
    }
}

fn refused<T>() -> io::Result<T> {
    Err(ErrorKind::ReadOnlyFilesystem.into())
}
