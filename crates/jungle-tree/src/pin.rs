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
    /// Where this thread last freed a slot, nearly always free again when it needs one; or where
    /// it last had to look for one.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl Pins {
    fn slot(&self, index: usize) -> &Slot {
        let (chunk, at) = place(index);
        let new = || Slot { version: AtomicU64::new(0), handle: AtomicU64::new(0) };
        &self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| new()).collect())[at]
    }

    /// Is this a slot that there is already?
    fn has(&self, index: usize) -> bool {
        self.chunks.get(place(index).0).is_some_and(|chunk| chunk.get().is_some())
    }

    /// Writes a version into a free slot and tells which.
    ///
    /// # Panics
    /// When four million versions are pinned at the same time.
    #[inline]
    pub(crate) fn set(&self, version: u64, handle: u32) -> usize {
        let mut index = HINT.with(Cell::get);
        // It may be of another arena, which has more slots. Chunks are made one after the other
        // only, or `each` would not see those behind one that is missing.
        if index >= FIRST && (index == usize::MAX || !self.has(index)) {
            index = thread_number() * 5 % FIRST;
        }
        let (mut is_first, mut is_round) = (true, false);
        loop {
            let slot = self.slot(index);
            // SeqCst: a full barrier between this and the second look at the root (root.rs).
            let free = slot.version.load(Ordering::Relaxed) == 0
                && (slot.version)
                    .compare_exchange(0, version, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok();
            if free {
                slot.handle.store(u64::from(handle), Ordering::Release);
                if !is_first {
                    // Who holds many asks next for one behind this, not for those that are taken.
                    HINT.with(|hint| hint.set(index));
                }
                return index;
            }
            (is_first, index) = (false, index + 1);
            // From the end of the slots that there are, once round; only then there are more.
            if !is_round && !self.has(index) {
                (is_round, index) = (true, 0);
            }
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
        // There is none behind the first that is missing: see `set`.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// So many slots are in the first two chunks.
    const TWO_CHUNKS: usize = 3 * FIRST;

    /// What is not seen would be used again while somebody reads it.
    #[test]
    fn a_pin_is_seen_though_its_thread_holds_many_of_another_arena() {
        let (many, other) = (Pins::default(), Pins::default());
        let held: Vec<usize> = (0..TWO_CHUNKS + 1).map(|_| many.set(1, 1)).collect();
        many.clear(held[TWO_CHUNKS]);
        let mut seen = Vec::new();
        for version in [7, 8] {
            other.set(version, 1);
        }
        other.each(|version, _| seen.push(version));
        seen.sort_unstable();
        assert_eq!(seen, [7, 8]);
        assert!(!other.has(FIRST), "more slots than are needed");
    }

    /// Who held many paid for each new one with a look at all of them.
    #[test]
    fn one_more_is_found_behind_the_last_and_there_are_more_only_when_all_are_taken() {
        let pins = Pins::default();
        pins.slot(TWO_CHUNKS - 1);
        // Freed by another thread, so that nothing is known of it here.
        let free = |index| std::thread::scope(|scope| drop(scope.spawn(|| pins.clear(index))));
        let mut next = vec![pins.set(1, 1), pins.set(1, 1)];
        let first = next[0];
        free(first);
        next.extend((first + 2..TWO_CHUNKS).map(|_| pins.set(1, 1)));
        assert_eq!(next, (first..TWO_CHUNKS).collect::<Vec<_>>());
        let round: Vec<usize> = (0..=first).map(|_| pins.set(1, 1)).collect();
        assert_eq!(round, (0..=first).collect::<Vec<_>>(), "those in front come before new ones");
        assert_eq!(pins.set(1, 1), TWO_CHUNKS);
    }
}
