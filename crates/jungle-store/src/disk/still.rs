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
//! replaced meanwhile, by one of which something was erased, may not be seen there: its files are
//! others then, and what was read may be of both. In both cases it is read again. That somebody
//! opened or closed it changes nothing of what was read.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile, FolderDisk, Mode, read_full, refused};
use crate::error::{IoError, OpenError, doing};
use crate::log::mark::LOCK;
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
    path: PathBuf,
    mark: File,
    /// The copy.
    pages: Option<File>,
    /// What of the folder is being looked at; none once that is over.
    held: Mutex<Option<Held>>,
}

/// Files of a folder: as long as they are held no others can be taken for them.
struct Held {
    pages: Option<File>,
    /// What was opened of the log, if there are no pages.
    log: Vec<(String, File)>,
}

impl StillDisk {
    /// The folder as it is now.
    ///
    /// # Errors
    /// When there is no room for a copy of the pages, or the system refuses something else, or it
    /// is given up; [`OpenError::Restless`] when checkpoints follow each other too fast to copy
    /// one.
    pub(crate) fn new(folder: &Path, progress: &Progress) -> Result<StillDisk, OpenError> {
        let mut told = Vec::new();
        let read = File::open(folder.join(LOCK))
            .and_then(|mark| mark.take(HEAD as u64).read_to_end(&mut told));
        read.map_err(doing("read", LOCK))?;
        let mut mark = temporary(LOCK)?;
        mark.write_all(&told).map_err(no_room(LOCK))?;
        let (file, pages) = pages(folder, progress)?.unzip();
        let held = Mutex::new(Some(Held { pages: file, log: Vec::new() }));
        Ok(StillDisk { folder: FolderDisk::new(folder), path: folder.into(), mark, pages, held })
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Was all that was read of one folder, if nobody is about to put another one in its place?
    /// Whoever did has removed each file of it. Those of the log are removed behind a checkpoint,
    /// too.
    pub(crate) fn is_of_one(&self) -> bool {
        let pages = self.path.join(PAGES);
        let is_there = |(name, file): &(String, File)| is_at(file, &self.path.join(name));
        match &*self.held() {
            Some(Held { pages: Some(file), .. }) => is_at(file, &pages),
            Some(Held { log, .. }) => !pages.exists() && log.iter().all(is_there),
            None => false,
        }
    }

    /// Lets go of what is held only to be [of one](StillDisk::is_of_one).
    pub(crate) fn let_go(&self) {
        *self.held() = None;
    }
}

/// Does the file have this name still?
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let which = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|it| (it.dev(), it.ino()));
    let here = which(file.metadata());
    here.is_some() && here == which(fs::metadata(path))
}

/// Does the file have this name still? What was made at the same moment is taken for it.
#[cfg(not(unix))]
fn is_at(file: &File, path: &Path) -> bool {
    let made = |metadata: io::Result<fs::Metadata>| metadata.and_then(|it| it.created()).ok();
    let here = made(file.metadata());
    here.is_some() && here == made(fs::metadata(path))
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

fn not_copied(error: io::Error) -> IoError {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    let is_full = full.contains(&error.kind());
    if is_full { no_room(PAGES)(error) } else { doing("copy", PAGES)(error) }
}

/// The pages, and a copy of a moment, if there are any.
fn pages(folder: &Path, progress: &Progress) -> Result<Option<(File, File)>, OpenError> {
    let path = folder.join(PAGES);
    for _ in 0..COPIES {
        // One that is compacted meanwhile stays as it was, and loses its name.
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(doing("open", PAGES))?,
        };
        if let Some(copy) = copy(&file, &mut || head(&file), progress)? {
            return Ok(Some((file, copy)));
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
        let copied = io::copy(&mut pages.take(PIECE), &mut copy).map_err(not_copied)?;
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
            _ => {
                // Before it is opened to be read: if it is replaced between, that is seen.
                if let Some(Held { pages: None, log }) = &mut *self.held() {
                    log.push((name.to_owned(), File::open(self.path.join(name))?));
                }
                self.folder.open(name, mode)
            }
        }
    }

    /// Without pages that came later.
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = self.folder.list(folder)?;
        names.retain(|name| name != PAGES || self.pages.is_some() || !folder.is_empty());
        Ok(names)
    }

    fn is_own(&self, name: &str) -> io::Result<bool> {
        self.folder.is_own(name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::erase::EraseQuery;
    use crate::open::OpenOptions;
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
    fn a_folder_that_was_replaced_meanwhile_is_another_one() {
        for has_pages in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            let commit = |store: &Store| {
                let tree = store.open_tree("t").unwrap();
                tree.update(|tx| tx.append(&[])).unwrap();
            };
            let writer = Store::open(at).unwrap();
            writer.create_tree("t").unwrap();
            commit(&writer);
            if has_pages {
                writer.checkpoint().unwrap();
            }
            let seen = Arc::new(StillDisk::new(at, &Progress::default()).unwrap());
            assert_eq!(seen.pages.is_some(), has_pages);
            let disk = Arc::clone(&seen) as Arc<dyn Disk>;
            drop(OpenOptions::new().read_only().open_on(disk).unwrap());
            commit(&writer);
            drop(writer);
            commit(&Store::open(at).unwrap());
            assert!(seen.is_of_one(), "who commits, closes and opens replaces nothing");

            let segment = fs::read_dir(at.join("log")).unwrap().next().unwrap().unwrap().path();
            fs::copy(&segment, at.join("other")).unwrap();
            fs::rename(at.join("other"), &segment).unwrap();
            assert_eq!(seen.is_of_one(), has_pages, "pages are replaced with the log");

            let query = EraseQuery::new("t", "/0".parse().unwrap());
            OpenOptions::new().erase(at, &query, |_, _| ()).unwrap();
            assert!(!seen.is_of_one());
            seen.let_go();
            assert!(seen.held().is_none());
        }
    }
}
