//! Slabs: the region is handed out in pieces of one size, each cut into records of one class.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::image::{Lazy, SlabId};
use super::region::Region;

/// Words of a slab (64 KiB).
pub(crate) const SLAB_WORDS: usize = 8192;
/// Small arenas stay on small pages; from here on a region asks for huge ones.
const HUGE_FROM_WORDS: usize = 1 << 18;
/// How far ahead huge pages are asked for at a time.
const HUGE_STEP_WORDS: usize = 1 << 22;
/// How many slabs of a region that may be in a file are backed at a time, at least.
const BACKED_STEP: usize = 64;
/// Among how many slabs, the last of an image, those are that were put into last.
const NEWEST: usize = 64;

/// The epoch an arena begins in.
pub(crate) const EPOCH_FIRST: u64 = 1;

/// What a slab is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlabUse {
    /// Nobody's: zero-filled.
    Free,
    /// Records of one size class.
    Class(u8),
    /// The first of a run of slabs that hold one large record.
    Large(u32),
    /// A later slab of such a run.
    LargeTail,
}

/// A region and who has which slab of it.
pub(crate) struct Slabs {
    pub(crate) region: Region,
    limit: usize,
    /// Slabs that can be taken at once: backed ones, if the region may be in a file.
    left: AtomicUsize,
    table: Mutex<Table>,
    /// Of a reopened image: what is not loaded yet.
    lazy: Option<Lazy>,
    /// Free records that nobody has in a list, by class: found as a slab was loaded.
    spare: Mutex<Vec<Vec<u32>>>,
    /// By the number of a slab: the epoch in which something was last taken from it.
    marks: Region,
    /// Each image begins one: a slab that was not marked since is as it was.
    epoch: AtomicU64,
}

#[derive(Default)]
struct Table {
    uses: Vec<SlabUse>,
    /// Free runs below `uses.len()`: first slab → number of slabs.
    free: BTreeMap<usize, usize>,
    /// Likewise, those that are not backed.
    bare: BTreeMap<usize, usize>,
    /// From `uses.len()` up to here slabs are backed.
    backed_to: usize,
    huge_to: usize,
}

impl Slabs {
    /// Slabs of a region, with a word for each.
    pub(crate) fn new(region: Region, marks: Region) -> Slabs {
        let limit = region.words() / SLAB_WORDS;
        let backed_to = if region.is_spilled() { 1 } else { limit };
        // Slab 0 is never given out, so that handle 0 can mean "none".
        let table = Table { uses: vec![SlabUse::LargeTail], backed_to, ..Table::default() };
        Slabs {
            region,
            limit,
            left: AtomicUsize::new(backed_to - 1),
            table: Mutex::new(table),
            lazy: None,
            spare: Mutex::default(),
            marks,
            epoch: AtomicU64::new(EPOCH_FIRST),
        }
    }

    /// A region whose slabs are used like this, and loaded when they are first looked at; `None`
    /// when there are more than it has room for.
    pub(crate) fn reopen(
        (region, marks): (Region, Region),
        uses: Vec<SlabUse>,
        lazy: Lazy,
    ) -> Option<Slabs> {
        let mut slabs = Slabs::new(region, marks);
        if uses.len() > slabs.limit {
            return None;
        }
        let mut free = BTreeMap::new();
        for (at, _) in uses.iter().enumerate().filter(|(_, used)| **used == SlabUse::Free) {
            match free.last_entry() {
                Some(mut run) if run.key() + run.get() == at => *run.get_mut() += 1,
                _ => drop(free.insert(at, 1)),
            }
        }
        // What is loaded stays on small pages: on huge ones each slab would take 2 MiB.
        let huge_to = uses.len() * SLAB_WORDS;
        let mut table = Table { uses, huge_to, ..Table::default() };
        if slabs.region.is_spilled() {
            table.backed_to = table.uses.len();
            table.bare = free;
        } else {
            let used = table.uses.iter().filter(|used| **used != SlabUse::Free).count();
            slabs.left = AtomicUsize::new(slabs.limit - used);
            table.backed_to = slabs.limit;
            table.free = free;
        }
        slabs.table = Mutex::new(table);
        slabs.lazy = Some(lazy);
        Some(slabs)
    }

    /// Makes sure that what lies at this word is loaded.
    #[inline(always)]
    pub(crate) fn ensure(&self, word: usize) {
        if let Some(lazy) = &self.lazy {
            self.ensure_slab(lazy, word / SLAB_WORDS);
        }
    }

    /// Apart, so that arenas that were not reopened do not pay for it in every loop.
    #[inline(never)]
    fn ensure_slab(&self, lazy: &Lazy, slab: usize) {
        if lazy.is_absent(slab) {
            lazy.load(self, slab);
        }
    }

    /// Notes that something is taken from a slab.
    ///
    /// Relaxed is enough: short edits learn of an epoch by the lock of their lane. A long edit may
    /// learn of it late, so that it marks with one since it began; that counts as long as it runs.
    #[inline(always)]
    pub(crate) fn mark(&self, slab: usize) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        if self.marks.words_view().get(slab) < epoch {
            self.mark_anew(slab, epoch);
        }
    }

    /// Once for each slab and epoch. Another may have marked it meanwhile with a later one.
    #[cold]
    fn mark_anew(&self, slab: usize, epoch: u64) {
        self.marks.words_view().raise(slab, epoch);
    }

    /// In which epoch something was last taken from a slab; 0 is before the first.
    pub(crate) fn marked(&self, slab: usize) -> u64 {
        self.marks.words_view().get(slab)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Begins an epoch, while writers are stopped.
    pub(crate) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// May there be slabs that are not loaded yet?
    pub(crate) fn is_lazy(&self) -> bool {
        self.lazy.is_some()
    }

    /// Is this slab of a reopened image not loaded yet?
    pub(crate) fn is_absent(&self, slab: usize) -> bool {
        self.lazy.as_ref().is_some_and(|lazy| lazy.is_absent(slab))
    }

    /// What lies at this word of payload makes no sense. In memory that was loaded that is damage,
    /// which unwinds to [`loading`](super::loading) as what cannot be loaded does.
    ///
    /// # Panics
    /// In any other: then it is a bug.
    #[cold]
    pub(crate) fn malformed(&self, word: usize, what: &'static str) -> ! {
        let slab = word % self.region.words() / SLAB_WORDS;
        match &self.lazy {
            Some(lazy) => lazy.malformed(slab, what),
            None => panic!("slab {slab} of payload is damaged: {what}"),
        }
    }

    /// Reads a slab that is not loaded as its source has it, and does not load it; tells whether it
    /// is one.
    pub(crate) fn read_absent(&self, slab: SlabId, bytes: &mut [u8]) -> bool {
        let lazy = self.lazy.as_ref().filter(|lazy| lazy.is_absent(slab.index()));
        lazy.inspect(|lazy| lazy.read(slab, bytes)).is_some()
    }

    /// Where what was made last probably lies, so far as it is not loaded yet: of each class the
    /// last slab, the last ones first; at most so many.
    pub(crate) fn newest_absent(&self, most: usize) -> Vec<usize> {
        let Some(lazy) = &self.lazy else { return Vec::new() };
        let table = self.table();
        let (mut seen, mut newest) = (Vec::new(), Vec::new());
        for (slab, used) in table.uses.iter().enumerate().rev().take(NEWEST) {
            if matches!(used, SlabUse::Class(_)) && !seen.contains(used) {
                seen.push(*used);
                newest.extend(lazy.is_absent(slab).then_some(slab));
            }
        }
        newest.truncate(most);
        newest
    }

    /// Loads a slab, if that is not done yet, and lets others go on while it is read.
    pub(crate) fn load_ahead(&self, slab: usize, bytes: &mut [u8]) {
        if let Some(lazy) = &self.lazy {
            lazy.load_ahead(self, slab, bytes);
        }
    }

    /// Loads all that is not loaded yet.
    pub(crate) fn load_all(&self) {
        if let Some(lazy) = &self.lazy {
            (0..self.uses().len()).for_each(|slab| self.ensure_slab(lazy, slab));
        }
    }

    /// What one slab is used for now.
    pub(crate) fn used_for(&self, slab: usize) -> SlabUse {
        self.table().uses.get(slab).copied().unwrap_or(SlabUse::Free)
    }

    /// Free records of a class that nobody has in a list, at most so many.
    pub(crate) fn take_spare(&self, class: usize, most: usize) -> Vec<u32> {
        let mut spare = self.spare();
        let Some(list) = spare.get_mut(class) else { return Vec::new() };
        // Copied, so that who has them has no room for as many as there are.
        list.drain(list.len().saturating_sub(most)..).collect()
    }

    /// All free records that nobody has in a list.
    pub(crate) fn take_all_spare(&self) -> Vec<Vec<u32>> {
        std::mem::take(&mut self.spare())
    }

    /// Notes free records that nobody has in a list. They may be millions: a longer list than what
    /// is there stays where it is.
    pub(crate) fn add_spare(&self, class: usize, mut handles: Vec<u32>) {
        let mut spare = self.spare();
        if spare.len() <= class {
            spare.resize_with(class + 1, Vec::new);
        }
        if handles.len() > spare[class].len() {
            std::mem::swap(&mut spare[class], &mut handles);
        }
        spare[class].append(&mut handles);
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u32>>> {
        self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Can so many slabs be taken, and one more?
    #[inline]
    pub(crate) fn has_room(&self, count: usize) -> bool {
        self.left() > count || self.make_room(count)
    }

    #[cold]
    fn make_room(&self, count: usize) -> bool {
        let mut table = self.table();
        while self.left() <= count {
            if !self.back_more(&mut table, 1) {
                return false;
            }
        }
        true
    }

    /// Backs slabs that are not yet: this many at least, where nothing was so far. Tells whether
    /// there were any, and room for them on the disk.
    fn back_more(&self, table: &mut Table, count: usize) -> bool {
        let bare = table.bare.pop_first();
        let (at, all) = bare.unwrap_or((table.backed_to, self.limit - table.backed_to));
        let n = all.min(count.max(BACKED_STEP));
        if n == 0 || self.region.back(at * SLAB_WORDS, n * SLAB_WORDS).is_err() {
            table.bare.extend(bare);
            return false;
        }
        if bare.is_some() {
            add_run(&mut table.free, at, n);
            table.bare.extend((n < all).then_some((at + n, all - n)));
        } else {
            table.backed_to += n;
        }
        self.left.fetch_add(n, Ordering::Relaxed);
        true
    }

    /// Takes `count` slabs in a row for the given use; `None` when there are none, or fewer than
    /// `spare` would be left.
    pub(crate) fn take(&self, count: usize, used: SlabUse, spare: usize) -> Option<usize> {
        let mut table = self.table();
        let first = loop {
            if self.left() >= count + spare
                && let Some(first) = self.find(&mut table, count)
            {
                break first;
            }
            if !self.back_more(&mut table, count) {
                return None;
            }
        };
        table.uses[first] = used;
        table.uses[first + 1..first + count].fill(SlabUse::LargeTail);
        self.left.fetch_sub(count, Ordering::Relaxed);
        Some(first)
    }

    fn find(&self, table: &mut Table, count: usize) -> Option<usize> {
        let found = table.free.iter().find(|&(_, &n)| n >= count).map(|(&at, &n)| (at, n));
        if let Some((at, n)) = found {
            table.free.remove(&at);
            if n > count {
                table.free.insert(at + count, n - count);
            }
            return Some(at);
        }
        let at = table.uses.len();
        if at + count > table.backed_to {
            return None;
        }
        table.uses.resize(at + count, SlabUse::Free);
        self.advise(table);
        Some(at)
    }

    fn advise(&self, table: &mut Table) {
        let end = table.uses.len() * SLAB_WORDS;
        if end > HUGE_FROM_WORDS && end > table.huge_to {
            let from = table.huge_to.max(HUGE_FROM_WORDS);
            let to = (end + HUGE_STEP_WORDS).min(self.region.words());
            self.region.advise_huge(from, to - from);
            table.huge_to = to;
        }
    }

    /// Gives a large record's slabs back if they are used for one still that is dead; tells whether
    /// it was. Whoever wrote it may have given them back since, and somebody else may have them
    /// now: what lies there is no record's head then.
    pub(crate) fn give_back_if(
        &self,
        first: usize,
        count: u32,
        is_dead: impl FnOnce() -> bool,
    ) -> bool {
        let table = self.table();
        if table.uses.get(first) != Some(&SlabUse::Large(count)) || !is_dead() {
            return false;
        }
        // Nobody can see it, so nobody else gives it back.
        drop(table);
        self.give_back(first, count as usize);
        true
    }

    /// Gives slabs back, and their memory to the system.
    pub(crate) fn give_back(&self, first: usize, count: usize) {
        if !self.give_back_absent(first, count) {
            self.give_back_memory(first, count);
        }
    }

    /// Gives slabs back if they are not loaded, and tells whether they were not. They never are any
    /// more: somebody else will write there.
    pub(crate) fn give_back_absent(&self, first: usize, count: usize) -> bool {
        let is_absent = self.lazy.as_ref().is_some_and(|lazy| lazy.forget_absent(first, count));
        if is_absent && self.region.is_spilled() {
            // What was never loaded is not backed: writing zeros there may meet a full disk.
            let mut table = self.table();
            table.uses[first..first + count].fill(SlabUse::Free);
            add_run(&mut table.bare, first, count);
        } else if is_absent {
            self.give_back_memory(first, count);
        }
        is_absent
    }

    fn give_back_memory(&self, first: usize, count: usize) {
        self.region.give_back(first * SLAB_WORDS, count * SLAB_WORDS);
        let mut table = self.table();
        table.uses[first..first + count].fill(SlabUse::Free);
        add_run(&mut table.free, first, count);
        self.left.fetch_add(count, Ordering::Relaxed);
    }

    /// Slabs in use (the first, which is nobody's, counts).
    pub(crate) fn used(&self) -> usize {
        let table = self.table();
        let free = table.free.values().chain(table.bare.values()).sum::<usize>();
        table.uses.len() - free
    }

    #[inline]
    fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    /// What every slab is used for now.
    pub(crate) fn uses(&self) -> Vec<SlabUse> {
        self.table().uses.clone()
    }
}

/// Adds a run of free slabs to others.
fn add_run(free: &mut BTreeMap<usize, usize>, first: usize, count: usize) {
    let (mut at, mut n) = (first, count);
    if let Some((&before, &m)) = free.range(..first).next_back()
        && before + m == first
    {
        (at, n) = (before, n + m);
    }
    if let Some(after) = free.remove(&(first + count)) {
        n += after;
    }
    free.insert(at, n);
}
