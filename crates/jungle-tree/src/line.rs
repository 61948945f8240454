//! A line of versions, each made from the one before: publishing the next, and reusing what the
//! ones that nobody can see any more held alone.
//!
//! `root.rs` says how readers pin a version while a writer publishes the next.
//!
//! # Reuse
//! A block that the new version no longer uses, born in version `b` and dead in version `d`, can
//! be seen from the versions `b <= v < d` of this line. It is
//! - reused at once, when no reader ever pinned a version since `b` (`newest_pin`, which is not
//!   noted while a history is kept);
//! - else queued, and reused when no pin is in `b..d`;
//! - kept, when the history of the line is kept (`History`);
//! - left to [`Arena::collect`](crate::Arena::collect), when it may be shared with other lines or
//!   older versions in a way the line does not know: born not after the `floor`. A subtree put in
//!   from elsewhere, and a version that became the beginning of another line, raise the floor.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::arena::{Allocator, ArenaInner, BIRTH_QUEUED, Memory, WORD_BYTES, lock};
use crate::block;
use crate::planted::{Bug, is_awake};
use crate::root::{Pinned, RootCell};
use crate::tree::VersionId;

/// What all users of a line share. Root and newest pin are in one cache line of their own: readers
/// load both, and a publication writes it anyway.
#[repr(align(128))]
pub(crate) struct LineCell {
    root: RootCell,
    /// Blocks born up to here may be visible from elsewhere.
    floor: AtomicU64,
    /// Under which number the attribute keys are counted that its editors bring in; 0 for none.
    owner: AtomicU64,
    pub(crate) arena: Arc<ArenaInner>,
}

impl LineCell {
    /// Do both lie in the same arena?
    pub(crate) fn shares_arena(&self, other: &LineCell) -> bool {
        Arc::ptr_eq(&self.arena, &other.arena)
    }

    /// The memory its versions lie in.
    #[inline(always)]
    pub(crate) fn memory(&self) -> Memory<'_> {
        self.arena.memory()
    }

    /// A line that begins with the version whose root lies in `handle`.
    pub(crate) fn new(arena: Arc<ArenaInner>, handle: u32, version: u64, floor: u64) -> Arc<Self> {
        let cell = Arc::new(LineCell {
            root: RootCell::new(handle, version),
            floor: AtomicU64::new(floor),
            owner: AtomicU64::new(0),
            arena,
        });
        let mut lines = lock(&cell.arena.lines);
        if lines.len() == lines.capacity() {
            lines.retain(|line| line.strong_count() > 0);
        }
        lines.push(Arc::downgrade(&cell));
        drop(lines);
        cell
    }

    pub(crate) fn owner(&self) -> u64 {
        self.owner.load(Ordering::SeqCst)
    }

    pub(crate) fn set_owner(&self, owner: u64) {
        self.owner.store(owner, Ordering::SeqCst);
    }

    /// The block of the newest root. It may be replaced at any time: pin it before reading.
    pub(crate) fn head(&self) -> u32 {
        self.root.head()
    }

    /// Pins the newest version.
    #[inline]
    pub(crate) fn pin(&self) -> Pinned {
        self.root.pin(&self.arena.pins, |handle| block::birth(self.memory(), handle))
    }

    /// Pins versions that are held already: by other pins, or by the history of the line.
    pub(crate) fn pin_held<const N: usize>(&self, versions: [VersionId; N]) -> [Pinned; N] {
        // A collection scans slots in order and could miss a pin that moves; it waits for lanes.
        let _lane = self.arena.hold_lane();
        let pins = &self.arena.pins;
        versions.map(|VersionId { handle, version }| self.root.pin_held(pins, handle, version))
    }

    /// From now on what is visible now may be visible from elsewhere for ever.
    pub(crate) fn share(&self) {
        // Pinned, since the block of a head that is being replaced may be reused meanwhile.
        let newest = self.pin();
        self.floor.fetch_max(newest.version, Ordering::SeqCst);
        self.arena.pins.clear(newest.slot);
    }
}

/// Which old versions of a line are kept besides the pinned ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum History {
    /// None.
    #[default]
    None,
    /// All: nothing is queued, since nothing can be reused.
    All,
    /// This one and the newer ones.
    From(u64),
}

/// Something that the newest version no longer uses.
#[derive(Clone, Copy)]
pub(crate) struct Dead {
    pub(crate) birth: u64,
    pub(crate) handle: u32,
    /// Its words, and below them: is it payload?
    size: u32,
}

impl Dead {
    #[inline(always)]
    pub(crate) fn new(handle: u32, words: usize, is_payload: bool, birth: u64) -> Dead {
        Dead { birth, handle, size: (words as u32) << 1 | u32::from(is_payload) }
    }

    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        (self.size >> 1) as usize
    }

    #[inline(always)]
    pub(crate) fn is_payload(self) -> bool {
        self.size & 1 == 1
    }

    pub(crate) fn bytes(self) -> u64 {
        (self.words() * WORD_BYTES) as u64
    }
}

/// Does a birth say that another line has the thing in its queue?
pub(crate) fn is_queued(birth: u64) -> bool {
    birth == BIRTH_QUEUED
}

/// A dead thing that someone may still see.
#[derive(Clone, Copy)]
struct Retired {
    dead: Dead,
    death: u64,
}

/// What the one writer of a line knows besides; every call gets the line's cell.
#[derive(Default)]
pub(crate) struct Line {
    history: History,
    /// Version numbers reserved for this line.
    next: u64,
    end: u64,
    reserved: u64,
    /// When they were reserved.
    generation: u64,
    queue: VecDeque<Retired>,
    /// What waits for one pinned version to be let go.
    blocked: BTreeMap<u64, VecDeque<Retired>>,
    unscanned: u32,
}

/// Scanning the pins costs a cache miss a slot, so it is done once for many retired things.
const SCAN_EVERY: u32 = 256;
/// A long line reserves its version numbers by this many.
const VERSIONS_MAX: u64 = 256;

impl Line {
    /// A number for the next version.
    #[inline(always)]
    pub(crate) fn next_version(&mut self, cell: &LineCell) -> u64 {
        let generation = cell.arena.generation();
        if self.next == self.end || self.generation != generation {
            self.generation = generation;
            // Twice as many as last time: a short line wastes few, a long one asks seldom.
            self.reserved = (self.reserved * 2).clamp(1, VERSIONS_MAX);
            self.next = cell.arena.draw_versions(self.reserved);
            self.end = self.next + self.reserved;
        }
        self.next
    }

    /// The version of the head, if nobody has looked at it and nobody can until the caller is
    /// done: then it need not be copied to be edited. Copying only what can be seen makes single
    /// edits of a tree that is being built as cheap as those of an editor.
    #[inline(always)]
    pub(crate) fn unseen_version(&self, cell: &Arc<LineCell>) -> Option<u64> {
        // No reader, no snapshot; no history.
        let is_alone = Arc::strong_count(cell) == 1 && self.history == History::None;
        if !is_alone {
            return None;
        }
        let version = block::birth(cell.memory(), cell.head());
        // Nor an image or a collection. Relaxed: who raises it holds all lanes, of which the caller
        // has one, or made this line.
        let is_known = version < cell.arena.seen_before.load(Ordering::Relaxed);
        (version > cell.root.newest_pin() && !is_known).then_some(version)
    }

    /// Numbers reserved before now must not be used any more.
    pub(crate) fn skip_versions(&mut self) {
        self.next = self.end;
    }

    /// Publishes the root in block `handle` as `version`, and deals with what it replaced.
    #[inline]
    pub(crate) fn publish(
        &mut self,
        cell: &LineCell,
        handle: u32,
        version: u64,
        dead: &mut Vec<Dead>,
        allocator: &mut Allocator,
    ) {
        let newest_pin = cell.root.publish(handle, version);
        // A collection that runs looks at all that was born before it: as if it were pinned.
        let newest_pin = newest_pin.max(cell.arena.frozen.load(Ordering::Relaxed));
        let floor = cell.floor.load(Ordering::SeqCst);
        if version == self.next && self.next != self.end {
            self.next += 1;
        } else if version > self.next {
            self.skip_versions(); // Numbers of a line go up, and this one was drawn later.
        }
        if self.history == History::All {
            dead.clear();
            return;
        }
        let visible_to = match self.history {
            _ if is_awake(Bug::PublishIgnoresPins) => floor,
            History::None => floor.max(newest_pin),
            _ => u64::MAX,
        };
        // One comparison for both: not visible, and not that of what is queued, which is the last.
        let first = visible_to.wrapping_add(1);
        let unseen = (BIRTH_QUEUED - 1).saturating_sub(visible_to);
        let is_unseen = |birth: u64| birth.wrapping_sub(first) < unseen;
        let memory = cell.memory();
        for dead in &**dead {
            if is_unseen(dead.birth) {
                allocator.free(memory, *dead);
            } else {
                self.retire(cell, *dead, version, floor);
            }
        }
        dead.clear();
        if self.unscanned >= SCAN_EVERY {
            self.reclaim(cell, allocator);
        }
    }

    /// Waits with something that died at `death` until nobody can see it.
    fn retire(&mut self, cell: &LineCell, dead: Dead, death: u64, floor: u64) {
        if dead.birth <= floor || is_queued(dead.birth) {
            return cell.arena.add_garbage(dead.bytes());
        }
        dead.set_birth(cell.memory(), BIRTH_QUEUED);
        self.queue.push_back(Retired { dead, death });
        self.unscanned += 1;
    }

    /// Sets which old versions are kept from now on. What is no longer kept waits to be reclaimed.
    pub(crate) fn set_history(&mut self, cell: &LineCell, history: History) {
        self.history = history;
        if history == History::None {
            cell.root.note_pins(|| block::birth(cell.memory(), cell.head()));
        } else {
            // Nothing is reused at once, so nobody asks for the newest pin.
            cell.root.take_all_for_pinned();
        }
    }

    /// Reuses what nobody can see any more.
    pub(crate) fn reclaim(&mut self, cell: &LineCell, allocator: &mut Allocator) {
        self.reclaim_some(cell, allocator, usize::MAX);
    }

    /// Likewise, and goes through no more than `most` of what waits; tells whether it went through
    /// so many: then there may be more.
    pub(crate) fn reclaim_some(
        &mut self,
        cell: &LineCell,
        allocator: &mut Allocator,
        most: usize,
    ) -> bool {
        self.unscanned = 0;
        if self.queue.is_empty() && self.blocked.is_empty() {
            return false;
        }
        if cell.arena.frozen.load(Ordering::SeqCst) != 0 {
            return false; // A collection looks at it; the next call is soon enough.
        }
        let kept_from = match self.history {
            _ if is_awake(Bug::ReuseIgnoresHistory) => u64::MAX,
            History::None => u64::MAX,
            History::All => 0,
            History::From(version) => version,
        };
        let Some(mut pins) = cell.arena.pins.each_at_once() else {
            return false; // The next call is soon enough.
        };
        pins.sort_unstable();
        if is_awake(Bug::ReuseIgnoresPins) {
            pins.clear();
        }
        let floor = cell.floor.load(Ordering::SeqCst);
        let again = self.take_waiting(&pins, kept_from, most);
        let may_be_more = again.len() >= most;
        for retired in again {
            let Retired { dead, death } = retired;
            if death > kept_from {
                self.queue.push_back(retired); // Let go by a pin, but kept by the history again.
                continue;
            }
            // The newest pin before its death is the last to let it go.
            let newest = pins.partition_point(|&pin| pin < death).checked_sub(1).map(|i| pins[i]);
            if dead.birth <= floor {
                cell.arena.add_garbage(dead.bytes());
                lock(&cell.arena.orphans).push(dead);
            } else if let Some(pin) = newest.filter(|&pin| pin >= dead.birth) {
                self.blocked.entry(pin).or_default().push_back(retired);
            } else {
                allocator.free(cell.memory(), dead);
            }
        }
        may_be_more
    }

    /// What waits neither for one of these pins nor for the history, at most so much of it.
    fn take_waiting(&mut self, pins: &[u64], kept_from: u64, most: usize) -> Vec<Retired> {
        let mut taken = Vec::new();
        let free: Vec<u64> =
            self.blocked.keys().copied().filter(|p| pins.binary_search(p).is_err()).collect();
        for pin in free {
            let Some(waiting) = self.blocked.get_mut(&pin) else { continue };
            let count = waiting.len().min(most - taken.len());
            taken.extend(waiting.drain(..count));
            if waiting.is_empty() {
                self.blocked.remove(&pin);
            }
        }
        while let Some(first) = self.queue.front().filter(|first| first.death <= kept_from)
            && taken.len() < most
        {
            taken.push(*first);
            self.queue.pop_front();
        }
        taken
    }

    /// The line took something in that others see too: what is visible now is not only its own.
    pub(crate) fn raise_floor(&mut self, cell: &LineCell) {
        self.skip_versions();
        if is_awake(Bug::FloorStaysDown) {
            return;
        }
        let fresh = cell.arena.draw_versions(1);
        cell.floor.fetch_max(fresh, Ordering::SeqCst);
    }

    /// Leaves to the next collection what waits for a pin, but no more than `most`, and tells
    /// whether it was so much. Any version of the arena may be that pin: it takes tracing to know
    /// whether that has anything of this line.
    pub(crate) fn leave_blocked(&mut self, cell: &LineCell, most: usize) -> bool {
        // Keeps a collection from starting.
        let _lane = cell.arena.hold_lane();
        if cell.arena.frozen.load(Ordering::SeqCst) != 0 {
            return false; // One looks at it; the next call is soon enough.
        }
        let mut room = most;
        while room > 0
            && let Some(mut first) = self.blocked.first_entry()
        {
            let waiting = first.get_mut();
            let count = waiting.len().min(room);
            for Retired { dead, .. } in waiting.drain(..count) {
                cell.arena.add_garbage(dead.bytes());
                // Now, and not as that of orphans when a collection starts: writers wait then.
                dead.set_birth(cell.memory(), dead.birth);
            }
            room -= count;
            if waiting.is_empty() {
                first.remove();
            }
        }
        room == 0
    }

    /// Ends the writing: what waited belongs to nobody now, so the collection gets it back.
    pub(crate) fn end(&mut self, cell: &LineCell) {
        let blocked = std::mem::take(&mut self.blocked).into_values().flatten();
        let mut orphans = lock(&cell.arena.orphans);
        for Retired { dead, .. } in self.queue.drain(..).chain(blocked) {
            cell.arena.add_garbage(dead.bytes());
            orphans.push(dead);
        }
    }
}
