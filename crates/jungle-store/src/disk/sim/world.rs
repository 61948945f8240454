//! What is on the disk: what is seen, what lasts, and what a crash leaves of the rest.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};

use super::{Call, Fate, Keep, SimDisk};

/// What a disk writes wholly or not at all.
pub(super) const SECTOR: usize = 512;

type Watcher = Box<dyn FnMut(&Call<'_>, &World) -> Fate + Send>;

/// The state of a disk.
#[derive(Default)]
pub struct World {
    pub(super) root: Folder,
    /// There is one level of folders.
    pub(super) folders: BTreeMap<String, Folder>,
    pub(super) files: Vec<Content>,
    /// Counts what is written and named.
    time: u64,
    pub(super) watcher: Option<Watcher>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
pub(super) struct Folder {
    pub(super) now: BTreeMap<String, Entry>,
    pub(super) durable: BTreeMap<String, Entry>,
    pub(super) pending: Vec<(u64, NameChange)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    File(usize),
    Folder,
}

#[derive(Clone)]
pub(super) enum NameChange {
    Add(String, Entry),
    Remove(String),
    Rename(String, String),
}

/// Bytes are shared, with each other and with those of other disks, until they are written to: most
/// of what a crash leaves never is.
#[derive(Default)]
pub(super) struct Content {
    pub(super) now: Arc<Vec<u8>>,
    pub(super) durable: Arc<Vec<u8>>,
    pub(super) pending: Vec<PendingWrite>,
    pub(super) shared: usize,
    pub(super) exclusive: bool,
}

pub(super) struct PendingWrite {
    time: u64,
    offset: usize,
    bytes: Vec<u8>,
    /// The file then ends at the offset: what was cut off became zeros first.
    is_end: bool,
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, Entry>) {
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

impl World {
    pub(super) fn folder(&mut self, folder: &str) -> io::Result<&mut Folder> {
        match folder {
            "" => Ok(&mut self.root),
            _ => self.folders.get_mut(folder).ok_or_else(|| ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn change(&mut self, folder: &str, change: NameChange) -> io::Result<()> {
        self.time += 1;
        let time = self.time;
        self.folder(folder)?.change(time, change);
        Ok(())
    }

    pub(super) fn write(&mut self, file: usize, offset: usize, bytes: Vec<u8>, is_end: bool) {
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
    pub(super) fn lose_all_but(&mut self, mut len: usize) {
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
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
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
