//! The engine's file on our disk.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::StorageBackend;

use crate::disk::{DiskFile, read_full, write_full};
use crate::error::doing;

/// The file.
pub(super) const PAGES: &str = "pages";

/// A file for the engine. It locks nothing: the folder is locked by whoever has it open.
pub(super) struct Backend {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) state: BackendState,
}

/// What is known of a file beside the engine.
#[derive(Clone, Debug, Default)]
pub(super) struct BackendState {
    /// This engine has failed, and must not write any more: another one may have the file.
    pub(super) is_cut: Arc<AtomicBool>,
    /// A sync of the file has failed, by this engine or one before it.
    pub(super) sync_failed: Arc<AtomicBool>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&PAGES).finish()
    }
}

impl Backend {
    fn may_write(&self) -> io::Result<()> {
        match self.state.is_cut.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the engine has failed before")),
            false => Ok(()),
        }
    }
}

/// Says what was being done, through the engine.
fn told(what: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), doing(what, PAGES)(error))
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len().map_err(told("ask the length of"))
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let read = read_full(&*self.file, bytes, offset).map_err(told("read"))?;
        match read == bytes.len() {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is cut short")),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.may_write()?;
        self.file.set_len(len).map_err(told("set the length of"))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.may_write()?;
        self.file.sync_data().map_err(|error| {
            self.state.sync_failed.store(true, Ordering::SeqCst);
            told("sync")(error)
        })
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.may_write()?;
        write_full(&*self.file, bytes, offset).map_err(told("write"))
    }
}
