//! The engine's file on our disk.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::blocks::Blocks;
use crate::error::doing;

/// The file.
pub(super) const PAGES: &str = "pages";

/// A file for the engine. It locks nothing: the folder is locked by whoever has it open.
pub(super) struct Backend {
    pub(super) file: Blocks,
    pub(super) state: BackendState,
    /// When the file is only read: what the engine has written, beside it.
    pub(super) kept: Option<Mutex<Kept>>,
}

/// What was written and is not on the disk.
#[derive(Debug, Default)]
pub(super) struct Kept {
    blocks: BTreeMap<u64, Box<[u8; KEPT_BLOCK]>>,
    len: Option<u64>,
}

/// Bytes of a block that is kept.
const KEPT_BLOCK: usize = 4096;

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

/// Says what was being done, through the engine, unless what was read is damaged.
fn told(what: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => error,
        kind => io::Error::new(kind, doing(what, PAGES)(error)),
    }
}

impl Kept {
    /// Puts what was written over what was read.
    fn read(&self, offset: u64, bytes: &mut [u8]) {
        let end = offset + bytes.len() as u64;
        for (&at, block) in self.blocks.range(offset.saturating_sub(KEPT_BLOCK as u64)..end) {
            let (from, to) = (at.max(offset), (at + KEPT_BLOCK as u64).min(end));
            if from < to {
                let target = &mut bytes[(from - offset) as usize..(to - offset) as usize];
                target.copy_from_slice(&block[(from - at) as usize..(to - at) as usize]);
            }
        }
    }

    fn write(&mut self, file: &Blocks, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        let mut at = offset - offset % KEPT_BLOCK as u64;
        while at < end {
            let mut block = Box::new([0; KEPT_BLOCK]);
            let there = file.len()?.saturating_sub(at).min(KEPT_BLOCK as u64) as usize;
            if !self.blocks.contains_key(&at) {
                file.read(at, &mut block[..there])?;
            }
            let block = self.blocks.entry(at).or_insert(block);
            let (from, to) = (at.max(offset), (at + KEPT_BLOCK as u64).min(end));
            let source = &bytes[(from - offset) as usize..(to - offset) as usize];
            block[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
            at += KEPT_BLOCK as u64;
        }
        Ok(())
    }
}

impl Backend {
    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        let kept = self.kept.as_ref()?;
        Some(kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        match self.kept().and_then(|kept| kept.len) {
            Some(len) => Ok(len),
            None => self.file.len().map_err(told("ask the length of")),
        }
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(kept) = self.kept() else {
            return self.file.read(offset, bytes).map_err(told("read"));
        };
        let there = self.file.len().map_err(told("ask the length of"))?.saturating_sub(offset);
        let (there, behind) = bytes.split_at_mut(bytes.len().min(there as usize));
        behind.fill(0);
        self.file.read(offset, there).map_err(told("read"))?;
        kept.read(offset, bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.may_write()?;
        if let Some(mut kept) = self.kept() {
            kept.len = Some(len);
            return Ok(());
        }
        self.file.set_len(len).map_err(told("set the length of"))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.may_write()?;
        if self.kept.is_some() {
            return Ok(());
        }
        self.file.sync().map_err(|error| {
            self.state.sync_failed.store(true, Ordering::SeqCst);
            told("sync")(error)
        })
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.may_write()?;
        if let Some(mut kept) = self.kept() {
            return kept.write(&self.file, offset, bytes).map_err(told("read"));
        }
        self.file.write(offset, bytes).map_err(told("write"))
    }
}
