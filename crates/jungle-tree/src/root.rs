//! The word that tells the newest version of a line, and how readers hold on to it.
//!
//! The head is one word: the handle of the block that holds the root, and the low half of its
//! version. A reader loads it, writes the version into a pin slot and looks again; if the head is
//! still the same word, the pin was there before any later publication, and holds. A writer
//! stores the new head, passes a full barrier, and only then reads the pins: it sees each pin
//! that holds (Dekker's argument, as for hazard pointers). `tests/loom.rs` checks it exhaustively:
//! this file and `pin.rs` as they are, so all that they share goes through `sync.rs`; and this one
//! also beside other pins, so it names both by where they lie.

use super::pin::Pins;
use super::sync::{AtomicU64, Ordering, fence};

/// The newest root of a line, and the newest version that a reader ever pinned; or all, while a
/// history is kept.
pub(crate) struct RootCell {
    head: AtomicU64,
    newest_pin: AtomicU64,
}

/// A version that cannot go away: the slot, the block of its root, its number.
#[derive(Clone, Copy)]
pub(crate) struct Pinned {
    pub(crate) slot: usize,
    pub(crate) handle: u32,
    pub(crate) version: u64,
}

/// The word of a root cell: handle below, the low half of the version above.
#[inline(always)]
fn head_word(handle: u32, version: u64) -> u64 {
    u64::from(handle) | version << 32
}

impl RootCell {
    pub(crate) fn new(handle: u32, version: u64) -> RootCell {
        let head = AtomicU64::new(head_word(handle, version));
        RootCell { head, newest_pin: AtomicU64::new(0) }
    }

    /// The block of the newest root. It may be replaced at any time: pin it before reading.
    pub(crate) fn head(&self) -> u32 {
        self.head.load(Ordering::Acquire) as u32
    }

    /// Exact only while nobody pins.
    #[inline(always)]
    pub(crate) fn newest_pin(&self) -> u64 {
        self.newest_pin.load(Ordering::Relaxed)
    }

    /// From now on readers note nothing in the line of the head, which each of them loads: all that
    /// there is and will be is as if it had been pinned. For the writer alone, while it reuses
    /// nothing without a look at the pins.
    pub(crate) fn take_all_for_pinned(&self) {
        // Relaxed: only the writer goes by it, and what readers do to it leaves it as it is.
        if self.newest_pin.load(Ordering::Relaxed) != u64::MAX {
            self.newest_pin.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// From now on readers note what they pin again. For the writer alone, which says what the
    /// newest version is now: any pin so far is of that, or of an older one.
    pub(crate) fn note_pins(&self, newest: impl FnOnce() -> u64) {
        // Relaxed: whoever pins a newer version has acquired it from the head, to which the writer
        // stores it after this, and so finds this or a later number here.
        if self.newest_pin.load(Ordering::Relaxed) == u64::MAX {
            self.newest_pin.store(newest(), Ordering::Relaxed);
        }
    }

    /// Pins the newest version. `birth` reads the version that a block was born in.
    // Always inline: what it gives goes through memory otherwise, 10 ns of a snapshot's 19.
    #[inline(always)]
    pub(crate) fn pin(&self, pins: &Pins, birth: impl Fn(u32) -> u64) -> Pinned {
        loop {
            if let Some(pinned) = self.try_pin(pins, &birth) {
                return pinned;
            }
        }
    }

    /// `None` when there is a newer version meanwhile.
    #[inline(always)]
    pub(crate) fn try_pin(&self, pins: &Pins, birth: impl Fn(u32) -> u64) -> Option<Pinned> {
        let (word, pinned) = self.write_pin(pins, birth)?;
        fence(Ordering::SeqCst);
        // The second look, without which a writer may have read the pins before this one.
        if self.head.load(Ordering::Relaxed) == word {
            return Some(pinned);
        }
        pins.clear(pinned.slot);
        None
    }

    /// The first look: the head, and the pin of what it showed, which need not hold.
    #[inline(always)]
    pub(crate) fn write_pin(
        &self,
        pins: &Pins,
        birth: impl Fn(u32) -> u64,
    ) -> Option<(u64, Pinned)> {
        let word = self.head.load(Ordering::Acquire);
        let handle = word as u32;
        let version = birth(handle);
        if version as u32 != (word >> 32) as u32 {
            return None; // The block was reused meanwhile, so there is a newer head.
        }
        // Before the barrier that follows, so that a writer that misses the slot sees this.
        if self.newest_pin.load(Ordering::Relaxed) < version {
            self.newest_pin.fetch_max(version, Ordering::Relaxed);
        }
        let slot = pins.set(version, handle);
        Some((word, Pinned { slot, handle, version }))
    }

    /// Pins a version that is held already, and stays so until this returns.
    pub(crate) fn pin_held(&self, pins: &Pins, handle: u32, version: u64) -> Pinned {
        // What is not below it now never is: it grows, but where a history is given up, and then it
        // becomes the number of the newest version, which is not below one that is held.
        if self.newest_pin.load(Ordering::Relaxed) < version {
            self.newest_pin.fetch_max(version, Ordering::Relaxed);
        }
        Pinned { slot: pins.set_again(version, handle), handle, version }
    }

    /// Makes this the newest version. Whoever reads the pins now sees each that holds; gives the
    /// newest version that was pinned so far, or a newer one.
    #[inline]
    pub(crate) fn publish(&self, handle: u32, version: u64) -> u64 {
        // Release: the blocks of the version are written before it can be seen.
        self.head.store(head_word(handle, version), Ordering::Release);
        fence(Ordering::SeqCst);
        self.newest_pin.load(Ordering::Relaxed)
    }
}
