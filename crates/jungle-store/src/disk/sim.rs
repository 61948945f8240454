//! A disk in memory that can lose power, fail and lie.
//!
//! What is written is seen at once and lasts when it is synced, a file's name when its folder is.
//! A [`crash`](World::crash) makes the disk that would be found afterwards: of what was not synced
//! nothing, all, a prefix in time, or any sectors of 512 bytes may be there.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile, Lock, Mode};

/// What a disk writes wholly or not at all.
const SECTOR: usize = 512;

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

/// One call of a [`Disk`] or [`DiskFile`], before it is carried out.
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

type Watcher = Box<dyn FnMut(&Call<'_>, &World) -> Fate + Send>;

/// The state of a disk.
#[derive(Default)]
pub struct World {
    root: Folder,
    /// There is one level of folders.
    folders: BTreeMap<String, Folder>,
    files: Vec<Content>,
    /// Counts what is written and named.
    time: u64,
    watcher: Option<Watcher>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
struct Folder {
    now: BTreeMap<String, Entry>,
    durable: BTreeMap<String, Entry>,
    pending: Vec<(u64, NameChange)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    File(usize),
    Folder,
}

#[derive(Clone)]
enum NameChange {
    Add(String, Entry),
    Remove(String),
    Rename(String, String),
}

/// Bytes are shared, with each other and with those of other disks, until they are written to: most
/// of what a crash leaves never is.
#[derive(Default)]
struct Content {
    now: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
    pending: Vec<PendingWrite>,
    shared: usize,
    exclusive: bool,
}

struct PendingWrite {
    time: u64,
    offset: usize,
    bytes: Vec<u8>,
    /// The file then ends at the offset: what was cut off became zeros first.
    is_end: bool,
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, Entry>) {
        match self {
            NameChange::Add(name, entry) => drop(names.insert(name.clone(), *entry)),
            NameChange::Remove(name) => drop(names.remove(name)),
            NameChange::Rename(from, to) => {
                if let Some(entry) = names.remove(from) {
                    names.insert(to.clone(), entry);
                }
            }
        }
    }
}

impl Folder {
    fn change(&mut self, time: u64, change: NameChange) {
        change.apply(&mut self.now);
        self.pending.push((time, change));
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
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
        let is_met = Arc::new(AtomicBool::new(false));
        let (met, mut count) = (Arc::clone(&is_met), 0);
        self.watch(move |_, _| {
            count += 1;
            if count != at + 1 {
                return Fate::Go;
            }
            met.store(true, Ordering::SeqCst);
            fate
        });
        let done = work();
        self.unwatch();
        assert!(is_met.load(Ordering::SeqCst), "call {at} is made each time");
        done
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

impl World {
    fn folder(&mut self, folder: &str) -> io::Result<&mut Folder> {
        match folder {
            "" => Ok(&mut self.root),
            _ => self.folders.get_mut(folder).ok_or_else(|| ErrorKind::NotFound.into()),
        }
    }

    fn change(&mut self, folder: &str, change: NameChange) -> io::Result<()> {
        self.time += 1;
        let time = self.time;
        self.folder(folder)?.change(time, change);
        Ok(())
    }

    fn write(&mut self, file: usize, offset: usize, bytes: Vec<u8>, is_end: bool) {
        self.time += 1;
        let write = PendingWrite { time: self.time, offset, bytes, is_end };
        let content = &mut self.files[file];
        write.apply(Arc::make_mut(&mut content.now));
        content.pending.push(write);
    }

    /// The disk as it is found after the power was lost now. `below` gives random numbers below
    /// its argument.
    pub fn crash(&self, keep: Keep, below: &mut dyn FnMut(u64) -> u64) -> SimDisk {
        let until = match keep {
            Keep::Nothing => 0,
            Keep::All | Keep::Random => u64::MAX,
            Keep::Prefix => self.some_pending_time(below),
        };
        let mut after = World::default();
        let mut names = |folder: &Folder, below: &mut dyn FnMut(u64) -> u64| {
            let mut kept = folder.pending.iter().filter(|(time, _)| *time < until).count();
            if keep == Keep::Random {
                kept = below(kept as u64 + 1) as usize;
            }
            let mut names = folder.durable.clone();
            folder.pending[..kept].iter().for_each(|(_, change)| change.apply(&mut names));
            for entry in names.values_mut() {
                if let Entry::File(file) = entry {
                    let durable = self.files[*file].after(keep, until, below);
                    *entry = Entry::File(after.files.len());
                    let now = Arc::clone(&durable);
                    after.files.push(Content { now, durable, ..Content::default() });
                }
            }
            Folder { now: names.clone(), durable: names, pending: Vec::new() }
        };
        let root = names(&self.root, below);
        let mut folders = BTreeMap::new();
        for (name, folder) in &self.folders {
            if root.now.contains_key(name) {
                folders.insert(name.clone(), names(folder, below));
            }
        }
        (after.root, after.folders) = (root, folders);
        SimDisk { world: Arc::new(Mutex::new(after)) }
    }

    /// Whether a crash would lose anything.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        let mut folders = self.folders.values().chain([&self.root]);
        folders.any(|folder| !folder.pending.is_empty())
            || self.files.iter().any(|file| !file.pending.is_empty())
    }

    fn some_pending_time(&self, below: &mut dyn FnMut(u64) -> u64) -> u64 {
        let folders = self.folders.values().chain([&self.root]);
        let named = folders.flat_map(|folder| folder.pending.iter().map(|(time, _)| *time));
        let written = self.files.iter().flat_map(|file| file.pending.iter().map(|it| it.time));
        let mut times: Vec<u64> = named.chain(written).collect();
        times.sort_unstable();
        times.push(u64::MAX);
        times[below(times.len() as u64) as usize]
    }
}

impl Content {
    /// A sync fails when so much has reached the disk, the oldest first; nobody sees to the rest.
    fn lose_all_but(&mut self, mut len: usize) {
        for write in std::mem::take(&mut self.pending) {
            if write.bytes.len() > len {
                for (from, to) in write.sectors().take(len / SECTOR) {
                    let bytes = &write.bytes[from - write.offset..to - write.offset];
                    put(Arc::make_mut(&mut self.durable), from, bytes);
                }
                return;
            }
            len -= write.bytes.len();
            write.apply(Arc::make_mut(&mut self.durable));
        }
    }

    /// What is in the file after a crash.
    fn after(&self, keep: Keep, until: u64, below: &mut dyn FnMut(u64) -> u64) -> Arc<Vec<u8>> {
        let mut after = Arc::clone(&self.durable);
        match keep {
            Keep::Nothing => {}
            Keep::All | Keep::Prefix => {
                for write in self.pending.iter().filter(|write| write.time < until) {
                    write.apply(Arc::make_mut(&mut after));
                }
                // What was being written at that moment; a length is set wholly or not at all.
                let at_it = |write: &&PendingWrite| write.time == until && !write.is_end;
                if let Some(write) = self.pending.iter().find(at_it) {
                    write.sectors().filter(|_| below(2) == 0).for_each(|(from, to)| {
                        let bytes = &write.bytes[from - write.offset..to - write.offset];
                        put(Arc::make_mut(&mut after), from, bytes);
                    });
                }
            }
            Keep::Random => self.any_sectors(&mut after, below),
        }
        after
    }

    /// A sector is written as the system saw it at some moment, so it has all writes up to that.
    fn any_sectors(&self, after: &mut Arc<Vec<u8>>, below: &mut dyn FnMut(u64) -> u64) {
        let mut sectors: BTreeMap<usize, Vec<(usize, &[u8])>> = BTreeMap::new();
        for write in &self.pending {
            for (from, to) in write.sectors() {
                let bytes = &write.bytes[from - write.offset..to - write.offset];
                sectors.entry(from / SECTOR).or_default().push((from, bytes));
            }
        }
        for parts in sectors.values() {
            let kept = below(parts.len() as u64 + 1) as usize;
            for (from, bytes) in &parts[..kept] {
                put(Arc::make_mut(after), *from, bytes);
            }
        }
        if below(2) == 0 && after.len() < self.now.len() {
            Arc::make_mut(after).resize(self.now.len(), 0);
        }
        let ends = self.pending.iter().filter(|write| write.is_end).map(|write| write.offset);
        let mut ends: Vec<usize> = ends.collect();
        if !ends.is_empty() {
            ends.extend([self.durable.len(), self.now.len()]);
            Arc::make_mut(after).resize(ends[below(ends.len() as u64) as usize], 0);
        }
    }
}

impl PendingWrite {
    fn apply(&self, content: &mut Vec<u8>) {
        put(content, self.offset, &self.bytes);
        if self.is_end {
            content.truncate(self.offset);
        }
    }

    /// Its parts, from where to where in the file, each within a sector.
    fn sectors(&self) -> impl Iterator<Item = (usize, usize)> {
        let (begin, end) = (self.offset, self.offset + self.bytes.len());
        (begin / SECTOR..end.div_ceil(SECTOR))
            .map(move |sector| (begin.max(sector * SECTOR), end.min((sector + 1) * SECTOR)))
    }
}

/// The folder and the name in it.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

impl Disk for SimDisk {
    fn place(&self) -> String {
        "a simulated disk".to_owned()
    }

    fn open(&self, name: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let (mut world, _) = self.call(CallKind::Open, name, 0)?;
        let (folder, short) = split(name);
        let file = match world.folder(folder)?.now.get(short) {
            Some(_) if mode == Mode::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Some(Entry::File(file)) => *file,
            Some(Entry::Folder) => return Err(ErrorKind::IsADirectory.into()),
            None if matches!(mode, Mode::Read | Mode::Write) => {
                return Err(ErrorKind::NotFound.into());
            }
            None => {
                let file = world.files.len();
                world.files.push(Content::default());
                world.change(folder, NameChange::Add(short.to_owned(), Entry::File(file)))?;
                file
            }
        };
        let disk = self.clone();
        let name = name.to_owned();
        Ok(Box::new(SimFile { disk, file, name, mode, held: Mutex::new(None) }))
    }

    fn create_folder(&self, name: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::CreateFolder, name, 0)?;
        if world.folders.contains_key(name) {
            return Ok(());
        }
        world.folders.insert(name.to_owned(), Folder::default());
        world.change("", NameChange::Add(name.to_owned(), Entry::Folder))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let (mut world, _) = self.call(CallKind::List, folder, 0)?;
        Ok(world.folder(folder)?.now.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::Rename, from, 0)?;
        let (folder, from) = split(from);
        if !world.folder(folder)?.now.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        world.change(folder, NameChange::Rename(from.to_owned(), split(to).1.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut world, _) = self.call(CallKind::Remove, name, 0)?;
        let (folder, name) = split(name);
        if !world.folder(folder)?.now.contains_key(name) {
            return Err(ErrorKind::NotFound.into());
        }
        world.change(folder, NameChange::Remove(name.to_owned()))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        let (mut world, fate) = self.call(CallKind::SyncFolder, folder, 0)?;
        let folder = world.folder(folder)?;
        match fate {
            Fate::Lie => return Ok(()),
            Fate::Fail(code) => return Err(io::Error::from_raw_os_error(code)),
            _ => {}
        }
        for (_, change) in std::mem::take(&mut folder.pending) {
            change.apply(&mut folder.durable);
        }
        Ok(())
    }
}

struct SimFile {
    disk: SimDisk,
    file: usize,
    name: String,
    mode: Mode,
    held: Mutex<Option<Lock>>,
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let (world, _) = self.disk.call(CallKind::Len, &self.name, 0)?;
        Ok(world.files[self.file].now.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let (world, fate) = self.disk.call(CallKind::Read, &self.name, bytes.len())?;
        let content = &world.files[self.file].now;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let mut len = rest.len().min(bytes.len());
        if let Fate::Short(short) = fate {
            len = len.min(short.max(1));
        }
        bytes[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if self.mode == Mode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let (mut world, fate) = self.disk.call(CallKind::Write, &self.name, bytes.len())?;
        if fate == Fate::Lie {
            return Ok(bytes.len());
        }
        let len = match fate {
            Fate::Short(len) => len.max(1).min(bytes.len()),
            Fate::PartThenFail(len, _) => len.min(bytes.len()),
            _ => bytes.len(),
        };
        world.write(self.file, offset as usize, bytes[..len].to_vec(), false);
        match fate {
            Fate::PartThenFail(_, code) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(len),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.mode == Mode::Read {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let (mut world, _) = self.disk.call(CallKind::SetLen, &self.name, 0)?;
        let cut = world.files[self.file].now.len().saturating_sub(len as usize);
        world.write(self.file, len as usize, vec![0; cut], true);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let (mut world, fate) = self.disk.call(CallKind::Sync, &self.name, 0)?;
        let content = &mut world.files[self.file];
        match fate {
            Fate::Lie => return Ok(()),
            Fate::Fail(code) => {
                content.pending.clear();
                return Err(io::Error::from_raw_os_error(code));
            }
            Fate::PartThenFail(len, code) => {
                content.lose_all_but(len);
                return Err(io::Error::from_raw_os_error(code));
            }
            _ => {}
        }
        for write in std::mem::take(&mut content.pending) {
            write.apply(Arc::make_mut(&mut content.durable));
        }
        Ok(())
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let (mut world, _) = self.disk.call(CallKind::Lock, &self.name, 0)?;
        let content = &mut world.files[self.file];
        if content.exclusive || (lock == Lock::Exclusive && content.shared > 0) {
            return Ok(false);
        }
        match lock {
            Lock::Exclusive => content.exclusive = true,
            Lock::Shared => content.shared += 1,
        }
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
        Ok(true)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let mut world = self.disk.world();
        match held {
            Some(Lock::Exclusive) => world.files[self.file].exclusive = false,
            Some(Lock::Shared) => world.files[self.file].shared -= 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
