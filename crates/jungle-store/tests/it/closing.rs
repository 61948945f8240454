//! A log is closed while somebody still writes to it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jungle_store::disk::sim::SimDisk;
use jungle_store::disk::{Disk, DiskFile, Lock, Mode};
use jungle_store::{LogError, OpenOptions};

/// What has happened so far, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Begun,
    Armed,
    /// One fills the next segment, and will fail.
    Filling,
    /// Another one syncs what it has written.
    Syncing,
    /// The folder is free.
    Free,
}

#[derive(Default)]
struct Stages {
    now: Mutex<Stage>,
    changed: Condvar,
}

impl Stages {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on to the next, if it is this one's turn.
    fn goes_on(&self, from: Stage, to: Stage) -> bool {
        let mut now = self.lock();
        let is_next = *now == from;
        if is_next {
            *now = to;
            self.changed.notify_all();
        }
        is_next
    }

    /// Waits for a stage; tells whether it came within some time.
    fn comes(&self, stage: Stage, within: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), within, |now| *now < stage);
        *waited.unwrap_or_else(PoisonError::into_inner).0 >= stage
    }
}

const SOON: Duration = Duration::from_secs(60);

struct Staged(SimDisk, Arc<Stages>);

struct StagedFile {
    file: Box<dyn DiskFile>,
    name: String,
    stages: Arc<Stages>,
}

impl Disk for Staged {
    fn place(&self) -> String {
        self.0.place()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let (file, stages) = (self.0.open(name, mode)?, Arc::clone(&self.1));
        // The first segment, too, is begun as the next one.
        let is_first = name == "log/next" && *stages.lock() == Stage::Begun;
        let name = if is_first { "first.log" } else { name }.to_owned();
        Ok(Box::new(StagedFile { file, name, stages }))
    }

    fn create_folder(&self, name: &str) -> io::Result<()> {
        self.0.create_folder(name)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.0.list(folder)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.0.sync_folder(folder)
    }
}

impl DiskFile for StagedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if self.name == "log/next" && self.stages.goes_on(Stage::Armed, Stage::Filling) {
            assert!(self.stages.comes(Stage::Syncing, SOON), "nobody else writes");
            return Err(io::Error::other("the disk is gone"));
        }
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let is_log = self.name.ends_with(".log");
        if is_log && self.stages.goes_on(Stage::Filling, Stage::Syncing) {
            let is_free = self.stages.comes(Stage::Free, Duration::from_millis(100));
            assert!(!is_free, "the folder is free while somebody writes to it");
        }
        self.file.sync_data()
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        self.file.try_lock(lock)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if self.name == "LOCK" {
            self.stages.goes_on(Stage::Syncing, Stage::Free);
        }
    }
}

#[test]
fn a_folder_is_free_when_nobody_writes_to_it_though_its_log_has_failed() {
    let stages = Arc::new(Stages::default());
    let disk = Staged(SimDisk::new(), Arc::clone(&stages));
    let options = OpenOptions::new().segment_bytes(4096).checkpoint_every(u64::MAX);
    let store = options.open_on(Arc::new(disk)).unwrap();
    let (one, other) = (store.create_tree("one").unwrap(), store.create_tree("other").unwrap());
    assert!(stages.goes_on(Stage::Begun, Stage::Armed));
    let writing = thread::spawn(move || {
        assert!(stages.comes(Stage::Filling, SOON), "nobody fills the next segment");
        other.update(|tx| tx.append(&[])).unwrap();
    });
    // More than half of the segment: who wrote that fills the next one.
    let text = "x".repeat(2500);
    one.update(|tx| tx.put_attribute(&[], "text", text.as_str())).unwrap();
    assert!(matches!(store.close(), Err(LogError::Io(_))));
    writing.join().unwrap();
}
