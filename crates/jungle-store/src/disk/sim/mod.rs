//! A disk in memory that can lose power, fail and lie.
//!
//! What is written is seen at once and lasts when it is synced, a file's name when its folder is.
//! A [`crash`](World::crash) makes the disk that would be found afterwards: of what was not synced
//! nothing, all, a prefix in time, or any sectors of 512 bytes may be there.

mod calls;
mod world;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::world::World;
use self::world::{Content, Entry};

/// A disk in memory. Cloning the handle is cheap; all clones are the same disk.
///
/// ```
/// use std::sync::Arc;
/// use jungle_store::{OpenOptions, disk::sim::{Keep, SimDisk}};
/// let disk = SimDisk::new();
/// let store = OpenOptions::new().segment_bytes(4096).open_on(Arc::new(disk.clone()))?;
/// store.create_tree("board")?;
/// let after_power_loss = disk.world().crash(Keep::Nothing, &mut |_| 0);
/// let store = OpenOptions::new().open_on(Arc::new(after_power_loss))?;
/// assert!(store.open_tree("board").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimDisk").finish_non_exhaustive()
    }
}

/// One call of a [`Disk`](super::Disk) or [`DiskFile`](super::DiskFile), before it is carried out.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is called.
    pub kind: CallKind,
    /// The file or folder.
    pub name: &'a str,
    /// How many bytes, where it is about bytes.
    pub len: usize,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CallKind {
    Open,
    CreateFolder,
    List,
    Rename,
    Remove,
    SyncFolder,
    Len,
    Read,
    Write,
    SetLen,
    Sync,
    Lock,
}

impl CallKind {
    /// Whether the disk is another after it.
    #[must_use]
    pub fn changes(self) -> bool {
        !matches!(self, CallKind::List | CallKind::Len | CallKind::Read | CallKind::Lock)
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out.
    Go,
    /// It fails with this error number. A failed sync of a file loses what it was to make last, and
    /// shows it still, as systems do; names are journaled, so those only stay undecided.
    Fail(i32),
    /// Only so many bytes are read or written, and that is told.
    Short(usize),
    /// Only so many bytes are written, and then it fails with this error number; of what a sync of
    /// a file was to make last, so many bytes last, the oldest first, and the rest is lost.
    PartThenFail(usize, i32),
    /// A sync or a write says that it was done, and was not.
    Lie,
}

/// What a crash keeps of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// All.
    All,
    /// All up to a moment, and some sectors of what was written then.
    Prefix,
    /// Any sectors of any writes, in any order; names in their order, folder by folder.
    Random,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    /// A disk with these files, all of it synced.
    #[must_use]
    pub fn with_files(files: &BTreeMap<String, Vec<u8>>) -> SimDisk {
        let mut world = World::default();
        for (name, bytes) in files {
            let file = world.files.len();
            let durable = Arc::new(bytes.clone());
            let now = Arc::clone(&durable);
            world.files.push(Content { now, durable, ..Content::default() });
            let (folder, name) = split(name);
            if !folder.is_empty() {
                world.root.durable.insert(folder.to_owned(), Entry::Folder);
            }
            let folder = match folder {
                "" => &mut world.root,
                _ => world.folders.entry(folder.to_owned()).or_default(),
            };
            folder.durable.insert(name.to_owned(), Entry::File(file));
        }
        for folder in world.folders.values_mut().chain([&mut world.root]) {
            folder.now.clone_from(&folder.durable);
        }
        SimDisk { world: Arc::new(Mutex::new(world)) }
    }

    /// All files with what is seen in them.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let world = self.world();
        let mut files = BTreeMap::new();
        let root = world.root.now.iter().map(|(name, entry)| (name.clone(), *entry));
        let below = world.folders.iter().flat_map(|(folder, names)| {
            names.now.iter().map(move |(name, entry)| (format!("{folder}/{name}"), *entry))
        });
        for (name, entry) in root.chain(below) {
            if let Entry::File(file) = entry {
                files.insert(name, world.files[file].now.to_vec());
            }
        }
        files
    }

    /// Has each call told, from now on, and its fate decided, before it is carried out. It must
    /// not call the disk it is of.
    pub fn watch(&self, watcher: impl FnMut(&Call<'_>, &World) -> Fate + Send + 'static) {
        self.world().watcher = Some(Box::new(watcher));
    }

    /// Tells nobody any more.
    pub fn unwatch(&self) {
        self.world().watcher = None;
    }

    /// Does something, during which nothing fails; tells each call with its file or folder. It
    /// [watches](SimDisk::watch), so nobody else does meanwhile.
    ///
    /// ```
    /// use jungle_store::disk::{Disk, sim::{CallKind, SimDisk}};
    /// let disk = SimDisk::new();
    /// let (synced, calls) = disk.record(|| disk.sync_folder(""));
    /// assert_eq!(calls, [(CallKind::SyncFolder, String::new())]);
    /// assert!(synced.is_ok());
    /// ```
    pub fn record<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<(CallKind, String)>) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        self.watch(move |call, _| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((call.kind, call.name.to_owned()));
            Fate::Go
        });
        let done = work();
        self.unwatch();
        let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
        (done, calls)
    }

    /// Does something, during which one call has this fate: the one in front of which there were
    /// `at`. It [watches](SimDisk::watch), so nobody else does meanwhile.
    ///
    /// # Panics
    /// When there are not so many calls.
    ///
    /// ```
    /// use jungle_store::disk::{Disk, sim::{Fate, SimDisk}};
    /// let disk = SimDisk::new();
    /// let sync_all = || [0, 1, 2].map(|_| disk.sync_folder("").is_ok());
    /// assert_eq!(disk.inject(1, Fate::Fail(5), sync_all), [true, false, true]);
    /// ```
    #[track_caller]
    pub fn inject<T>(&self, at: u64, fate: Fate, work: impl FnOnce() -> T) -> T {
        let (done, is_met) = self.inject_among(|_| true, at, fate, work);
        assert!(is_met, "call {at} is made each time");
        done
    }

    /// The same of the calls of which this is so; tells whether there are so many.
    ///
    /// ```
    /// use jungle_store::disk::{Disk, sim::{Fate, SimDisk}};
    /// let disk = SimDisk::new();
    /// let sync_both = || ["log", ""].map(|folder| disk.sync_folder(folder).is_ok());
    /// disk.create_folder("log")?;
    /// let fail = |at| {
    ///     disk.inject_among(|call| call.name == "log", at, Fate::Fail(5), sync_both)
    /// };
    /// assert_eq!(fail(0), ([false, true], true));
    /// assert_eq!(fail(1), ([true, true], false));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn inject_among<T>(
        &self,
        among: impl Fn(&Call<'_>) -> bool + Send + 'static,
        at: u64,
        fate: Fate,
        work: impl FnOnce() -> T,
    ) -> (T, bool) {
        let is_met = Arc::new(AtomicBool::new(false));
        let (met, mut count) = (Arc::clone(&is_met), 0);
        self.watch(move |call, _| {
            count += u64::from(among(call));
            // Those behind it that are not among them find the same number.
            if count != at + 1 || met.swap(true, Ordering::SeqCst) {
                return Fate::Go;
            }
            fate
        });
        let done = work();
        self.unwatch();
        (done, is_met.load(Ordering::SeqCst))
    }

    /// The state; nobody else can call the disk while it is held.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a call that may go on.
    fn call(
        &self,
        kind: CallKind,
        name: &str,
        len: usize,
    ) -> io::Result<(MutexGuard<'_, World>, Fate)> {
        let mut world = self.world();
        let mut fate = Fate::Go;
        if let Some(mut watcher) = world.watcher.take() {
            fate = watcher(&Call { kind, name, len }, &world);
            world.watcher = Some(watcher);
        }
        match (fate, kind) {
            // These leave something behind.
            (Fate::Fail(_), CallKind::Sync | CallKind::SyncFolder) => {}
            (Fate::Fail(code), _) => return Err(io::Error::from_raw_os_error(code)),
            _ => {}
        }
        Ok((world, fate))
    }
}

/// The folder and the name in it.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::world::SECTOR;
    use super::*;
    use crate::disk::{Disk, Mode};

    /// What lasts of two sectors when their sync fails, and the next one does not.
    fn left(fate: Fate) -> Vec<u8> {
        let disk = SimDisk::new();
        let file = disk.open("a", Mode::CreateNew).unwrap();
        disk.sync_folder("").unwrap();
        file.write_at(&[1; 2 * SECTOR], 0).unwrap();
        assert!(disk.inject(0, fate, || file.sync_data()).is_err());
        file.sync_data().unwrap();
        let found = disk.world().crash(Keep::All, &mut |_| 0);
        found.files().remove("a").unwrap()
    }

    #[test]
    fn failed_sync_makes_nothing_some_or_all_last() {
        assert_eq!(left(Fate::Fail(5)), [0_u8; 0]);
        assert_eq!(left(Fate::PartThenFail(SECTOR + 9, 5)), [1_u8; SECTOR]);
        assert_eq!(left(Fate::PartThenFail(usize::MAX, 5)), [1_u8; 2 * SECTOR]);
    }
}
