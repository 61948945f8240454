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
//! What goes wrong all the same (a segment is dropped behind a newer checkpoint) is an error, since
//! all that is read is held against checksums and against what is before it. That the folder was
//! replaced meanwhile, by one of which something was erased, may not be seen there: the mark tells
//! it. In both cases it is read again.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use super::{Disk, DiskFile, FolderDisk, Mode, read_full};
use crate::error::{IoError, OpenError, doing};
use crate::mark::LOCK;
use crate::pages::PAGES;
use crate::progress::Progress;

/// How often a copy is begun.
const COPIES: usize = 10;

/// After how many bytes it is looked whether the rest is worth copying.
const PIECE: u64 = 8 << 20;

/// In how much of the file the head is, in bytes.
const HEAD: usize = 4096;

/// A folder that is only read.
pub(crate) struct StillDisk {
    folder: FolderDisk,
    mark: File,
    told: Told,
    pages: Option<File>,
}

/// What the mark said, and when somebody wrote that.
#[derive(PartialEq, Eq)]
struct Told {
    mark: Vec<u8>,
    at: Option<SystemTime>,
}

impl StillDisk {
    /// The folder as it is now.
    ///
    /// # Errors
    /// When there is no room for a copy of the pages, or the system refuses something else, or it
    /// is given up; [`OpenError::Restless`] when checkpoints follow each other too fast to copy
    /// one.
    pub(crate) fn new(folder: &Path, progress: &Progress) -> Result<StillDisk, OpenError> {
        let told = Told::by(folder).map_err(doing("read", LOCK))?;
        let mut mark = temporary(LOCK)?;
        mark.write_all(&told.mark).map_err(no_room(LOCK))?;
        let pages = pages(folder, progress)?;
        Ok(StillDisk { folder: FolderDisk::new(folder), mark, told, pages })
    }

    /// Is it still the folder that it was? Whoever opens it to write, closes it, or puts another
    /// one in its place writes the mark.
    pub(crate) fn is_the_same(&self, folder: &Path) -> bool {
        Told::by(folder).is_ok_and(|told| told == self.told)
    }
}

impl Told {
    fn by(folder: &Path) -> io::Result<Told> {
        let file = File::open(folder.join(LOCK))?;
        let at = file.metadata()?.modified().ok();
        let mut mark = Vec::new();
        file.take(HEAD as u64).read_to_end(&mut mark)?;
        Ok(Told { mark, at })
    }
}

/// A file without a name, for a copy.
fn temporary(name: &'static str) -> Result<File, OpenError> {
    Ok(tempfile::tempfile().map_err(no_room(name))?)
}

/// It may well be that the folder for temporary files is too small.
fn no_room(name: &'static str) -> impl Fn(io::Error) -> IoError {
    let place = std::env::temp_dir();
    move |error| {
        let told = io::Error::new(error.kind(), format!("into {}: {error}", place.display()));
        doing("copy", name)(told)
    }
}

/// The pages of a moment, if there are any.
fn pages(folder: &Path, progress: &Progress) -> Result<Option<File>, OpenError> {
    let path = folder.join(PAGES);
    for _ in 0..COPIES {
        // One that is compacted meanwhile stays as it was, and loses its name.
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(doing("open", PAGES))?,
        };
        if let Some(copy) = copy(&file, &mut || head(&file), progress)? {
            return Ok(Some(copy));
        }
    }
    Err(OpenError::Restless { folder: folder.to_string_lossy().into() })
}

/// A copy of pages; none if there was a checkpoint meanwhile, which the head tells.
fn copy(
    pages: &File,
    head: &mut dyn FnMut() -> Result<Vec<u8>, IoError>,
    progress: &Progress,
) -> Result<Option<File>, OpenError> {
    let (before, mut copy) = (head()?, temporary(PAGES)?);
    loop {
        progress.go_on()?;
        let copied = io::copy(&mut pages.take(PIECE), &mut copy).map_err(no_room(PAGES))?;
        if head()? != before {
            return Ok(None);
        }
        if copied == 0 {
            return Ok(Some(copy));
        }
    }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::store::Store;

    /// Pages of two pieces and a bit, from their beginning.
    fn some_pages() -> (tempfile::NamedTempFile, File) {
        let mut pages = tempfile::NamedTempFile::new().unwrap();
        pages.write_all(&vec![7; 2 * PIECE as usize + 1]).unwrap();
        let opened = File::open(pages.path()).unwrap();
        (pages, opened)
    }

    #[test]
    fn a_copy_is_of_one_moment_or_none() {
        let (progress, of) = (Progress::default(), |changes_at: usize| {
            let mut asked = 0;
            move || {
                asked += 1;
                Ok(vec![u8::from(asked > changes_at)])
            }
        });
        // The head is asked for before the copy, behind each piece, and behind the end.
        for asked_before in 1..=4 {
            let (_named, pages) = some_pages();
            assert!(copy(&pages, &mut of(asked_before), &progress).unwrap().is_none());
        }
        let (_named, pages) = some_pages();
        let copied = copy(&pages, &mut of(5), &progress).unwrap().unwrap();
        assert_eq!(copied.metadata().unwrap().len(), 2 * PIECE + 1);

        let (_named, pages) = some_pages();
        let progress = progress.until(Arc::new(AtomicBool::new(true)));
        let given_up = copy(&pages, &mut of(9), &progress);
        assert!(matches!(given_up, Err(OpenError::GivenUp)), "{given_up:?}");
    }

    #[test]
    fn a_folder_that_was_closed_or_replaced_meanwhile_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let writer = Store::open(at).unwrap();
        let look = || StillDisk::new(at, &Progress::default()).unwrap();
        let seen = look();
        writer.create_tree("t").unwrap();
        assert!(seen.is_the_same(at), "commits change nothing of it");
        drop(writer);
        assert!(!seen.is_the_same(at));
        // As it was before, but it was written since.
        let (seen, mark) = (look(), fs::read(at.join(LOCK)).unwrap());
        let opens = (0..1000).take_while(|_| {
            drop(Store::open(at).unwrap());
            assert_eq!(fs::read(at.join(LOCK)).unwrap(), mark);
            // The system's clock has ticks.
            seen.is_the_same(at)
        });
        assert!(opens.count() < 1000);
    }
}
