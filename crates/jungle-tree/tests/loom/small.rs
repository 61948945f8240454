//! The root cell with two readers. Here the pins are made up, a word for each reader: with the real
//! ones there are too many interleavings, and what those are to two readers is looked at alone.

use loom::sync::Arc;
use loom::thread::{JoinHandle, spawn};

use super::{arena, explore, sync};
use pin::Pins;
use root::RootCell;
use sync::{AtomicU64, Ordering};

#[allow(dead_code, reason = "what turns for ever, or is not asked for, is not in the model")]
#[path = "../../src/root.rs"]
mod root;

/// What the root cell finds in the place of `src/pin.rs`.
mod pin {
    use super::arena::thread_number;
    use super::sync::{AtomicU64, Ordering};

    pub(crate) struct Pins([AtomicU64; 2]);

    impl Pins {
        pub(crate) fn new() -> Pins {
            Pins(std::array::from_fn(|_| AtomicU64::new(0)))
        }

        pub(crate) fn set(&self, version: u64, _handle: u32) -> usize {
            let slot = thread_number();
            // A full barrier, as the real one has it.
            let taken = self.0[slot].swap(version, Ordering::SeqCst);
            assert_eq!(taken, 0, "each reader has its own");
            slot
        }

        pub(crate) fn set_again(&self, version: u64, handle: u32) -> usize {
            self.set(version, handle)
        }

        pub(crate) fn clear(&self, slot: usize) {
            self.0[slot].store(0, Ordering::Release);
        }

        pub(crate) fn has(&self, version: u64) -> bool {
            self.0.iter().any(|slot| slot.load(Ordering::Acquire) == version)
        }
    }
}

/// What is left out of what the writer looks at.
#[derive(Clone, Copy, PartialEq)]
enum LeftOut {
    Nothing,
    NewestPin,
    Pins,
}

/// A line, and its memory: a block for each of its versions, with the birth and the payload.
struct Shared {
    root: RootCell,
    pins: Pins,
    birth: [AtomicU64; 3],
    payload: [AtomicU64; 3],
}

impl Shared {
    /// A line whose head is version 1, in block 0.
    fn new() -> Arc<Shared> {
        let first = |index: usize| AtomicU64::new(u64::from(index == 0));
        let (birth, payload) = (std::array::from_fn(first), std::array::from_fn(first));
        Arc::new(Shared { root: RootCell::new(0, 1), pins: Pins::new(), birth, payload })
    }

    /// Makes a version, and tells up to which there may be pins.
    fn publish(&self, handle: u32, version: u64) -> u64 {
        self.payload[handle as usize].store(version, Ordering::Relaxed);
        self.birth[handle as usize].store(version, Ordering::Relaxed);
        self.root.publish(handle, version)
    }

    /// Uses the block of a version for something else.
    fn reuse(&self, handle: u32) {
        self.birth[handle as usize].store(0, Ordering::Relaxed);
        self.payload[handle as usize].store(0xdd, Ordering::Relaxed);
    }
}

/// Two threads that read the newest version.
fn readers(shared: &Arc<Shared>) -> [JoinHandle<()>; 2] {
    [0, 1].map(|number| {
        let shared = Arc::clone(shared);
        spawn(move || {
            arena::set_thread_number(number);
            let birth = |handle: u32| shared.birth[handle as usize].load(Ordering::Relaxed);
            if let Some(pinned) = shared.root.try_pin(&shared.pins, birth) {
                let seen = shared.payload[pinned.handle as usize].load(Ordering::Relaxed);
                assert_eq!(seen, pinned.version, "a block was reused while it was held");
                shared.pins.clear(pinned.slot);
            }
        })
    })
}

fn join(readers: [JoinHandle<()>; 2]) {
    for reader in readers {
        reader.join().expect("it said why already");
    }
}

/// Both pin one version, and whoever finds it noted as pinned notes nothing; the writer goes by the
/// note alone.
fn one_version(left_out: LeftOut) {
    explore(None, move || {
        let shared = Shared::new();
        let readers = readers(&shared);
        let newest_pin = shared.publish(1, 2);
        if newest_pin < 1 || left_out == LeftOut::NewestPin {
            shared.reuse(0);
        }
        join(readers);
    });
}

/// They may pin two versions. The writer looks for pins of the first, and goes by the note for the
/// second.
fn two_versions(left_out: LeftOut) {
    explore(Some(3), move || {
        let shared = Shared::new();
        let readers = readers(&shared);
        shared.publish(1, 2);
        if !shared.pins.has(1) || left_out == LeftOut::Pins {
            shared.reuse(0);
        }
        let newest_pin = shared.publish(2, 3);
        if newest_pin < 2 || left_out == LeftOut::NewestPin {
            shared.reuse(1);
        }
        join(readers);
    });
}

#[test]
fn two_readers_of_one_version_note_it_for_each_other() {
    one_version(LeftOut::Nothing);
}

#[test]
fn two_readers_of_two_versions_are_both_seen() {
    two_versions(LeftOut::Nothing);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_note_two_readers_of_one_version_fail() {
    one_version(LeftOut::NewestPin);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_note_two_readers_of_two_versions_fail() {
    two_versions(LeftOut::NewestPin);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_pins_two_readers_of_two_versions_fail() {
    two_versions(LeftOut::Pins);
}
