//! Who looks at which version: a reader writes the version it reads into a slot of its own.
//!
//! A slot is a cache line that no other reader writes, so readers share nothing (the idea of
//! hazard pointers: Michael, 2004; and of LMDB's reader table). `root.rs` says how a pin and the
//! publication of a new version stay out of each other's way.

use std::cell::Cell;

use crate::arena::thread_number;
use crate::sync::{AtomicU64, OnceLock, Ordering, thread_local};

/// Slots of the first chunk; each later chunk has twice as many. Few for loom, which tries every
/// order of all that is done, so that it gets to the second chunk.
const FIRST: usize = if cfg!(loom) { 2 } else { 32 };
const CHUNKS: usize = 17;

/// A place to write a pinned version into.
#[repr(align(64))]
pub(crate) struct Slot {
    /// 0 when the slot is free.
    version: AtomicU64,
    /// The block that holds the version's root; 0 while not yet known.
    handle: AtomicU64,
}

/// The slots of an arena. They grow in number and are never taken away.
pub(crate) struct Pins {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    /// Counts versions pinned once more, from where the other pin may go: see `each_at_once`.
    moves: AtomicU64,
}

impl Default for Pins {
    fn default() -> Self {
        Pins { chunks: std::array::from_fn(|_| OnceLock::new()), moves: AtomicU64::new(0) }
    }
}

fn place(index: usize) -> (usize, usize) {
    let n = index + FIRST;
    let chunk = (n / FIRST).ilog2() as usize;
    (chunk, n - (FIRST << chunk))
}

thread_local! {
    /// Where this thread last freed a slot: nearly always free again when it needs one.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl Pins {
    fn slot(&self, index: usize) -> &Slot {
        let (chunk, at) = place(index);
        let new = || Slot { version: AtomicU64::new(0), handle: AtomicU64::new(0) };
        &self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| new()).collect())[at]
    }

    /// Writes a version into a free slot and tells which.
    ///
    /// # Panics
    /// When four million versions are pinned at the same time.
    #[inline]
    pub(crate) fn set(&self, version: u64, handle: u32) -> usize {
        let mut index = HINT.with(Cell::get);
        if index == usize::MAX {
            index = thread_number() * 5 % FIRST;
        }
        let mut tried = 0;
        loop {
            let slot = self.slot(index);
            // SeqCst: a full barrier between this and the second look at the root (root.rs).
            let free = slot.version.load(Ordering::Relaxed) == 0
                && (slot.version)
                    .compare_exchange(0, version, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok();
            if free {
                slot.handle.store(u64::from(handle), Ordering::Release);
                return index;
            }
            // First the same chunk, then one after the other from the beginning.
            index = if tried == 0 { 0 } else { index + 1 };
            tried += 1;
            assert!(index < (FIRST << CHUNKS) - FIRST, "too many versions are pinned at once");
        }
    }

    /// As [`Pins::set`], for a version that another slot holds until this returns.
    pub(crate) fn set_again(&self, version: u64, handle: u32) -> usize {
        let slot = self.set(version, handle);
        // Release: whoever sees the other slot freed, later, sees this too.
        self.moves.fetch_add(1, Ordering::Release);
        slot
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn clear(&self, index: usize) {
        let slot = self.slot(index);
        slot.handle.store(0, Ordering::Relaxed);
        // Release: whatever the reader read happened before a writer sees the slot free.
        slot.version.store(0, Ordering::Release);
        HINT.with(|hint| hint.set(index));
    }

    /// All versions pinned now, or `None` while pins move from slot to slot: one that moves back
    /// over the slot being looked at would not be seen.
    pub(crate) fn each_at_once(&self) -> Option<Vec<u64>> {
        const TRIES: usize = 4;
        (0..TRIES).find_map(|_| {
            let before = self.moves.load(Ordering::Acquire);
            let mut pins = Vec::new();
            self.each(|version, _| pins.push(version));
            // A slot read as free was freed after its move was counted, and `each` has acquired
            // that; a move counted before is in a slot that was still to be read.
            (self.moves.load(Ordering::Acquire) == before).then_some(pins)
        })
    }

    /// All versions pinned now with their root blocks, in no order.
    pub(crate) fn each(&self, mut seen: impl FnMut(u64, u32)) {
        for slot in self.chunks.iter().map_while(OnceLock::get).flatten() {
            // Acquire pairs with the release of `clear`; the barrier that pairs with `set` stands
            // at the caller, after the publication.
            let version = slot.version.load(Ordering::Acquire);
            if version != 0 {
                seen(version, slot.handle.load(Ordering::Acquire) as u32);
            }
        }
    }
}
