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
pub(crate) const PAGES: &str = "pages";

/// A file for the engine. It locks nothing: the folder is locked by whoever has it open.
#[derive(Clone)]
pub(super) struct Backend(Arc<Inner>);

struct Inner {
    file: Blocks,
    state: BackendState,
    /// What the engine has written, beside the file, until it is [written down][write_down].
    ///
    /// [write_down]: Backend::write_down
    kept: Mutex<Option<Kept>>,
}

/// What was written and is not in the file.
#[derive(Debug, Default)]
struct Kept {
    blocks: BTreeMap<u64, Box<[u8; KEPT_BLOCK]>>,
    len: Option<u64>,
    /// How it came about.
    steps: Vec<Step<Box<[u8]>>>,
}

/// A call that changes the file.
#[derive(Debug)]
enum Step<B> {
    Write(u64, B),
    SetLen(u64),
    Sync,
}

/// Bytes of a block that is kept.
const KEPT_BLOCK: usize = 4096;

/// What is known of a file beside the engine.
#[derive(Clone, Debug, Default)]
pub(super) struct BackendState {
    /// This engine has failed, and must not write any more: another one may have the file.
    pub(super) is_cut: Arc<AtomicBool>,
    /// A sync of the file, or of its name, has failed, by this engine or one before it.
    pub(super) sync_failed: Arc<AtomicBool>,
}

/// When what the engine writes is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    Now,
    /// The engine puts its file in order as it opens it, which needs two syncs; who only reads can
    /// do without.
    Later,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&PAGES).finish()
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

    /// Notes a step, and what is to be read after it.
    fn note(&mut self, file: &Blocks, step: &Step<&[u8]>) -> io::Result<()> {
        let step = match *step {
            Step::Write(offset, bytes) => {
                self.write(file, offset, bytes)?;
                Step::Write(offset, bytes.into())
            }
            Step::SetLen(len) => {
                self.len = Some(len);
                Step::SetLen(len)
            }
            Step::Sync => Step::Sync,
        };
        self.steps.push(step);
        Ok(())
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
    /// A file that is written to at once, or when it is [written down](Backend::write_down).
    pub(super) fn new(file: Blocks, state: BackendState, writes: Writes) -> Backend {
        let kept = (writes == Writes::Later).then(Kept::default);
        Backend(Arc::new(Inner { file, state, kept: Mutex::new(kept) }))
    }

    /// Has the engine write nothing any more.
    pub(super) fn cut(&self) {
        self.0.state.is_cut.store(true, Ordering::SeqCst);
    }

    /// Does to the file what was kept until now, in the same order, and writes to it from then on.
    pub(super) fn write_down(&self) -> io::Result<()> {
        self.may_write()?;
        let mut kept = self.kept();
        let steps = kept.iter().flat_map(|kept| &kept.steps);
        steps.into_iter().try_for_each(|step| self.do_now(step))?;
        *kept = None;
        Ok(())
    }

    fn may_write(&self) -> io::Result<()> {
        match self.0.state.is_cut.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the engine has failed before")),
            false => Ok(()),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, step: &Step<&[u8]>) -> io::Result<()> {
        self.may_write()?;
        if let Some(kept) = &mut *self.kept() {
            return kept.note(&self.0.file, step).map_err(told("read"));
        }
        // Without the lock: others read meanwhile.
        self.do_now(step)
    }

    fn do_now<B: AsRef<[u8]>>(&self, step: &Step<B>) -> io::Result<()> {
        let Inner { file, state, .. } = &*self.0;
        match step {
            Step::Write(offset, bytes) => {
                file.write(*offset, bytes.as_ref()).map_err(told("write"))
            }
            Step::SetLen(len) => file.set_len(*len).map_err(told("set the length of")),
            Step::Sync => file.sync().map_err(|error| {
                state.sync_failed.store(true, Ordering::SeqCst);
                told("sync")(error)
            }),
        }
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        match self.kept().as_ref().and_then(|kept| kept.len) {
            Some(len) => Ok(len),
            None => self.0.file.len().map_err(told("ask the length of")),
        }
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let file = &self.0.file;
        let guard = self.kept();
        let Some(kept) = guard.as_ref() else {
            drop(guard);
            return file.read(offset, bytes).map_err(told("read"));
        };
        let there = file.len().map_err(told("ask the length of"))?.saturating_sub(offset);
        let (there, behind) = bytes.split_at_mut(bytes.len().min(there as usize));
        behind.fill(0);
        file.read(offset, there).map_err(told("read"))?;
        kept.read(offset, bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(&Step::SetLen(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(&Step::Sync)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(&Step::Write(offset, bytes))
    }
}
