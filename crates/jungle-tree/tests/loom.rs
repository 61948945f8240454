//! The protocol of pins and publications, in every interleaving and with every order of memory
//! that the orderings used allow.
//!
//! This is a model: it repeats `src/line.rs` and `src/pin.rs` line by line with loom's atomics,
//! and stands for all of memory by a few blocks with a birth and a payload. The real code reads
//! births from a mapped region, which loom cannot see. A change to the protocol there must be
//! made here; the names are the same, so that the two can be read side by side. Each model with
//! a line left out must fail: that is how we know that it sees anything. (What loom does not show
//! is a relaxed store of the head, as it never stops between a store and the barrier behind it.)
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p jungle-tree --test loom`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};

const BLOCKS: usize = 4;
const SLOTS: usize = 3;

/// What is left out of the protocol.
#[derive(Clone, Copy, Default)]
struct Broken {
    no_barrier_after_pin: bool,
    no_barrier_after_publish: bool,
    no_second_look: bool,
    newest_pin_ignored: bool,
    pins_ignored: bool,
    moves_ignored: bool,
}

/// The root cell, the pins and the memory of an arena.
struct Cell {
    head: AtomicU64,
    newest_pin: AtomicU64,
    slots: [AtomicU64; SLOTS],
    moves: AtomicU64,
    birth: [AtomicU64; BLOCKS],
    /// Whoever reads version `v` must find `v` here, all the time.
    payload: [AtomicU64; BLOCKS],
    broken: Broken,
}

#[derive(Clone, Copy)]
struct Pinned {
    slot: usize,
    handle: usize,
    version: u64,
}

fn head_word(handle: usize, version: u64) -> u64 {
    handle as u64 | version << 32
}

impl Cell {
    /// A line whose head is version 1, in block 0.
    fn new(broken: Broken) -> Arc<Cell> {
        let first = |index: usize| AtomicU64::new(u64::from(index == 0));
        Arc::new(Cell {
            head: AtomicU64::new(head_word(0, 1)),
            newest_pin: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
            moves: AtomicU64::new(0),
            birth: std::array::from_fn(first),
            payload: std::array::from_fn(first),
            broken,
        })
    }

    /// `LineCell::pin`; `None` where the real one would try once more.
    fn pin(&self, hint: usize) -> Option<Pinned> {
        let word = self.head.load(Ordering::Acquire);
        let handle = word as u32 as usize;
        let version = self.birth[handle].load(Ordering::Relaxed);
        if version != word >> 32 {
            return None;
        }
        if self.newest_pin.load(Ordering::Relaxed) < version {
            self.newest_pin.fetch_max(version, Ordering::Relaxed);
        }
        let slot = self.set(version, hint);
        if !self.broken.no_barrier_after_pin {
            fence(Ordering::SeqCst);
        }
        if self.broken.no_second_look || self.head.load(Ordering::Relaxed) == word {
            return Some(Pinned { slot, handle, version });
        }
        self.clear(slot);
        None
    }

    /// `LineCell::pin_held`, for a clone that goes to `slot`.
    fn pin_held(&self, pinned: Pinned, slot: usize) -> Pinned {
        self.newest_pin.fetch_max(pinned.version, Ordering::Relaxed);
        let slot = self.set(pinned.version, slot);
        self.moves.fetch_add(1, Ordering::Release);
        Pinned { slot, ..pinned }
    }

    /// `Pins::set`, where the slot tried first is free.
    fn set(&self, version: u64, slot: usize) -> usize {
        // Loom has no more than acquire and release for a SeqCst exchange; the fence does it all.
        let set =
            self.slots[slot].compare_exchange(0, version, Ordering::SeqCst, Ordering::Relaxed);
        assert!(set.is_ok(), "each reader has slots of its own here");
        slot
    }

    /// `Pins::clear`.
    fn clear(&self, slot: usize) {
        self.slots[slot].store(0, Ordering::Release);
    }

    /// What a reader sees while it holds a version.
    fn look(&self, pinned: Pinned) {
        let seen = self.payload[pinned.handle].load(Ordering::Relaxed);
        assert_eq!(seen, pinned.version, "a block was reused while it was held");
    }
}

/// `Line`: what the one writer knows.
struct Line {
    next: u64,
    current: usize,
    unused: Vec<usize>,
    /// Handle, birth, death.
    queue: Vec<(usize, u64, u64)>,
}

impl Line {
    fn new() -> Line {
        Line { next: 2, current: 0, unused: (1..BLOCKS).collect(), queue: Vec::new() }
    }

    /// An edit: takes a block, reusing the one freed last, and publishes it.
    fn publish(&mut self, cell: &Cell) {
        let (version, new) = (self.next, self.unused.pop().expect("there are enough"));
        self.next += 1;
        cell.payload[new].store(version, Ordering::Relaxed);
        cell.birth[new].store(version, Ordering::Relaxed);
        cell.head.store(head_word(new, version), Ordering::Release);
        if !cell.broken.no_barrier_after_publish {
            fence(Ordering::SeqCst);
        }
        let mut newest_pin = cell.newest_pin.load(Ordering::Relaxed);
        if cell.broken.newest_pin_ignored {
            newest_pin = 0;
        }
        let dead = std::mem::replace(&mut self.current, new);
        let birth = version - 1;
        if birth > newest_pin {
            self.free(cell, dead);
        } else {
            self.queue.push((dead, birth, version));
        }
    }

    fn free(&mut self, cell: &Cell, handle: usize) {
        cell.birth[handle].store(0, Ordering::Relaxed);
        cell.payload[handle].store(0xdd, Ordering::Relaxed);
        self.unused.push(handle);
    }

    /// `Line::reclaim`.
    fn reclaim(&mut self, cell: &Cell) {
        let before = cell.moves.load(Ordering::Acquire);
        let mut pins: Vec<u64> = Vec::new();
        if !cell.broken.pins_ignored {
            pins.extend(cell.slots.iter().map(|slot| slot.load(Ordering::Acquire)));
        }
        if cell.moves.load(Ordering::Acquire) != before && !cell.broken.moves_ignored {
            return;
        }
        for (handle, birth, death) in std::mem::take(&mut self.queue) {
            if pins.iter().any(|pin| (birth..death).contains(pin)) {
                self.queue.push((handle, birth, death));
            } else {
                self.free(cell, handle);
            }
        }
    }
}

fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

fn reader(cell: &Arc<Cell>, slot: usize) -> loom::thread::JoinHandle<()> {
    let cell = Arc::clone(cell);
    loom::thread::spawn(move || {
        if let Some(pinned) = cell.pin(slot) {
            cell.look(pinned);
            cell.look(pinned);
            cell.clear(slot);
        }
    })
}

/// A reader beside a writer that publishes, reclaims and reuses: every interleaving.
fn one_reader(broken: Broken) {
    explore(None, move || {
        let cell = Cell::new(broken);
        let reader = reader(&cell, 0);
        let mut line = Line::new();
        line.publish(&cell);
        line.reclaim(&cell);
        line.publish(&cell);
        reader.join().expect("it said why already");
    });
}

/// A reader's pin moves to another slot while the writer looks at one after the other.
fn moved_pin(broken: Broken) {
    explore(None, move || {
        let cell = Cell::new(broken);
        let held = cell.pin(1).expect("nobody else is there yet");
        let mut line = Line::new();
        line.publish(&cell);
        let other = Arc::clone(&cell);
        let reader = loom::thread::spawn(move || {
            let clone = other.pin_held(held, 0);
            other.clear(held.slot);
            other.look(clone);
            other.clear(clone.slot);
        });
        line.reclaim(&cell);
        reader.join().expect("it said why already");
    });
}

#[test]
fn a_pinned_version_is_not_reused() {
    one_reader(Broken::default());
}

#[test]
fn two_readers_do_not_hide_each_other() {
    explore(Some(2), || {
        let cell = Cell::new(Broken::default());
        let readers = [reader(&cell, 0), reader(&cell, 1)];
        let mut line = Line::new();
        line.publish(&cell);
        line.reclaim(&cell);
        line.publish(&cell);
        for reader in readers {
            reader.join().expect("it said why already");
        }
    });
}

#[test]
fn a_pin_that_moves_is_not_missed() {
    moved_pin(Broken::default());
}

#[test]
#[should_panic]
fn without_the_barrier_after_the_pin_it_fails() {
    one_reader(Broken { no_barrier_after_pin: true, ..Broken::default() });
}

#[test]
#[should_panic]
fn without_the_barrier_after_the_publication_it_fails() {
    one_reader(Broken { no_barrier_after_publish: true, ..Broken::default() });
}

#[test]
#[should_panic]
fn without_the_second_look_it_fails() {
    one_reader(Broken { no_second_look: true, ..Broken::default() });
}

#[test]
#[should_panic]
fn without_the_newest_pin_it_fails() {
    one_reader(Broken { newest_pin_ignored: true, ..Broken::default() });
}

#[test]
#[should_panic]
fn without_the_pins_it_fails() {
    one_reader(Broken { pins_ignored: true, ..Broken::default() });
}

#[test]
#[should_panic]
fn without_counting_moves_it_fails() {
    moved_pin(Broken { moves_ignored: true, ..Broken::default() });
}
