//! The protocol of pins and publications, in every interleaving and with every order of memory
//! that the orderings used allow; with two readers, of which there are too many, in those
//! interleavings in which threads are interrupted at most twice where they could have gone on. What
//! two readers are to each other is in models of its own, in every interleaving: the note of the
//! newest pin (`loom/small.rs`), and the search for a slot (`two_pins`).
//!
//! The root cell and the pins are the real ones, compiled once more with loom's atomics. The rest
//! is a model: all of memory is a few blocks with a birth and a payload, since the real ones lie
//! in a mapped region, which loom cannot see; and the writer is `Line` without its books. Each
//! model with a part left out must fail: that is how we know that it sees anything. (What loom
//! does not show is a relaxed store of the head, as it never stops between a store and the barrier
//! behind it.)
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p jungle-tree --test loom`; with
//! `LOOM_MAX_PREEMPTIONS=3` threads are interrupted so often at most, whatever a model says here.
#![cfg(loom)]

#[path = "../src/pin.rs"]
mod pin;
#[allow(dead_code, reason = "what turns for ever, or is not asked for, is not in the model")]
#[path = "../src/root.rs"]
mod root;
#[path = "loom/small.rs"]
mod small;

/// What the two find in the place of `src/sync.rs`.
mod sync {
    use std::cell::Cell;

    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    /// Loom's knows no `const`.
    macro_rules! local {
        ($(#[$doc:meta])* static $name:ident: $type:ty = const $value:block;) => {
            loom::thread_local! { $(#[$doc])* static $name: $type = $value; }
        };
    }
    pub(crate) use local as thread_local;

    local! {
        static IS_FENCED: Cell<bool> = const { Cell::new(true) };
    }

    /// From now on, barriers of this thread are left out.
    pub(crate) fn leave_fences_out() {
        IS_FENCED.with(|is_fenced| is_fenced.set(false));
    }

    pub(crate) fn fence(ordering: Ordering) {
        if IS_FENCED.with(Cell::get) {
            loom::sync::atomic::fence(ordering);
        }
    }

    /// The real one, which loom does not see, behind a flag and a lock that it sees.
    pub(crate) struct OnceLock<T> {
        is_set: AtomicU64,
        setting: loom::sync::Mutex<()>,
        value: std::sync::OnceLock<T>,
    }

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> OnceLock<T> {
            let (setting, value) = (loom::sync::Mutex::new(()), std::sync::OnceLock::new());
            OnceLock { is_set: AtomicU64::new(0), setting, value }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            if self.is_set.load(Ordering::Acquire) == 0 {
                return None;
            }
            self.value.get()
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            if self.is_set.load(Ordering::Acquire) == 1 {
                return self.value.get().expect("it is set before the flag");
            }
            let _setting = self.setting.lock();
            let value = self.value.get_or_init(make);
            self.is_set.store(1, Ordering::Release);
            value
        }
    }
}

/// What the pins find in the place of `src/arena`.
mod arena {
    use std::cell::Cell;

    loom::thread_local! {
        static NUMBER: Cell<usize> = Cell::new(0);
    }

    /// Has this thread look for slots from the first one on, or from the second.
    pub(crate) fn set_thread_number(number: usize) {
        NUMBER.with(|place| place.set(number));
    }

    pub(crate) fn thread_number() -> usize {
        NUMBER.with(Cell::get)
    }
}

use loom::sync::Arc;
use loom::thread::{JoinHandle, spawn};

use pin::Pins;
use root::{Pinned, RootCell};
use sync::{AtomicU64, Ordering, fence, leave_fences_out};

const BLOCKS: usize = 4;

/// What is left out of the protocol.
#[derive(Clone, Copy, PartialEq)]
enum LeftOut {
    Nothing,
    BarrierAfterPin,
    BarrierAfterPublication,
    SecondLook,
    NewestPin,
    Pins,
    Moves,
}

/// `LineCell` and the arena.
struct Shared {
    root: RootCell,
    pins: Pins,
    birth: [AtomicU64; BLOCKS],
    /// Whoever reads version `v` must find `v` here, all the time.
    payload: [AtomicU64; BLOCKS],
    left_out: LeftOut,
}

impl Shared {
    /// A line whose head is version 1, in block 0.
    fn new(left_out: LeftOut) -> Arc<Shared> {
        let first = |index: usize| AtomicU64::new(u64::from(index == 0));
        Arc::new(Shared {
            root: RootCell::new(0, 1),
            pins: Pins::default(),
            birth: std::array::from_fn(first),
            payload: std::array::from_fn(first),
            left_out,
        })
    }

    /// One turn of `LineCell::pin`: loom would go on turning for ever.
    fn pin(&self) -> Option<Pinned> {
        let birth = |handle| self.birth[handle as usize].load(Ordering::Relaxed);
        if self.left_out != LeftOut::SecondLook {
            return self.root.try_pin(&self.pins, birth);
        }
        let (_, pinned) = self.root.write_pin(&self.pins, birth)?;
        fence(Ordering::SeqCst);
        Some(pinned)
    }

    /// What a reader sees while it holds a version.
    fn look(&self, pinned: Pinned) {
        let seen = self.payload[pinned.handle as usize].load(Ordering::Relaxed);
        assert_eq!(seen, pinned.version, "a block was reused while it was held");
    }
}

/// Something that the newest version no longer uses.
struct Dead {
    handle: u32,
    birth: u64,
    death: u64,
}

/// `Line`: what the one writer knows.
struct Line {
    next: u64,
    current: u32,
    unused: Vec<u32>,
    queue: Vec<Dead>,
}

impl Line {
    fn new() -> Line {
        Line { next: 2, current: 0, unused: (1..BLOCKS as u32).collect(), queue: Vec::new() }
    }

    /// An edit: takes a block, reusing the one freed last, and publishes it.
    fn publish(&mut self, shared: &Shared) {
        let (version, new) = (self.next, self.unused.pop().expect("there are enough"));
        self.next += 1;
        shared.payload[new as usize].store(version, Ordering::Relaxed);
        shared.birth[new as usize].store(version, Ordering::Relaxed);
        let mut newest_pin = shared.root.publish(new, version);
        if shared.left_out == LeftOut::NewestPin {
            newest_pin = 0;
        }
        let handle = std::mem::replace(&mut self.current, new);
        let dead = Dead { handle, birth: version - 1, death: version };
        if dead.birth > newest_pin {
            self.free(shared, dead.handle);
        } else {
            self.queue.push(dead);
        }
    }

    fn free(&mut self, shared: &Shared, handle: u32) {
        shared.birth[handle as usize].store(0, Ordering::Relaxed);
        shared.payload[handle as usize].store(0xdd, Ordering::Relaxed);
        self.unused.push(handle);
    }

    fn reclaim(&mut self, shared: &Shared) {
        let Some(pins) = pins_now(shared) else { return };
        for dead in std::mem::take(&mut self.queue) {
            if pins.iter().any(|pin| (dead.birth..dead.death).contains(pin)) {
                self.queue.push(dead);
            } else {
                self.free(shared, dead.handle);
            }
        }
    }
}

fn pins_now(shared: &Shared) -> Option<Vec<u64>> {
    let mut pins = Vec::new();
    match shared.left_out {
        LeftOut::Pins => {}
        LeftOut::Moves => shared.pins.each(|version, _| pins.push(version)),
        _ => return shared.pins.each_at_once(),
    }
    Some(pins)
}

/// Goes through all interleavings, or through those with so many interruptions at most, unless the
/// environment says how many.
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(preemptions);
    builder.check(model);
}

/// A thread that reads the newest version, and looks for a slot from where its number says.
fn reader(shared: &Arc<Shared>, number: usize) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    spawn(move || {
        arena::set_thread_number(number);
        if shared.left_out == LeftOut::BarrierAfterPin {
            leave_fences_out();
        }
        if let Some(pinned) = shared.pin() {
            shared.look(pinned);
            shared.look(pinned);
            shared.pins.clear(pinned.slot);
        }
    })
}

/// A writer that publishes, reclaims and reuses, until the readers are done.
fn write_beside(shared: &Shared, readers: impl IntoIterator<Item = JoinHandle<()>>) {
    if shared.left_out == LeftOut::BarrierAfterPublication {
        leave_fences_out();
    }
    let mut line = Line::new();
    line.publish(shared);
    line.reclaim(shared);
    line.publish(shared);
    for reader in readers {
        reader.join().expect("it said why already");
    }
}

/// A reader beside a writer: every interleaving.
fn one_reader(left_out: LeftOut) {
    explore(None, move || {
        let shared = Shared::new(left_out);
        let reader = reader(&shared, 0);
        write_beside(&shared, [reader]);
    });
}

/// A history that was kept is given up beside a reader: the writer says up to which version there
/// may be pins that nobody has noted.
fn history_given_up(newest: u64) {
    explore(None, move || {
        let shared = Shared::new(LeftOut::Nothing);
        shared.root.take_all_for_pinned();
        let reader = reader(&shared, 0);
        shared.root.note_pins(|| newest);
        write_beside(&shared, [reader]);
    });
}

/// A reader's pin moves to another slot while the writer looks at one after the other.
fn moved_pin(left_out: LeftOut) {
    explore(None, move || {
        let shared = Shared::new(left_out);
        arena::set_thread_number(1);
        let held = shared.pin().expect("nobody else is there yet");
        let mut line = Line::new();
        line.publish(&shared);
        let other = Arc::clone(&shared);
        let reader = spawn(move || {
            let clone = other.root.pin_held(&other.pins, held.handle, held.version);
            assert!(clone.slot < held.slot, "where the writer has looked already");
            other.pins.clear(held.slot);
            other.look(clone);
            other.pins.clear(clone.slot);
        });
        line.reclaim(&shared);
        reader.join().expect("it said why already");
    });
}

/// Two threads want a slot that is taken: one gets the next, the other one makes a new chunk. A pin
/// is seen from when its thread says that it has it.
fn two_pins() {
    explore(None, || {
        let pins = Arc::new(Pins::default());
        let held = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let of_another_line = u64::MAX;
        pins.set(of_another_line, 0);
        let threads = [0, 1].map(|number: usize| {
            let (pins, held) = (Arc::clone(&pins), Arc::clone(&held));
            spawn(move || {
                pins.set(number as u64 + 1, 0);
                held[number].store(1, Ordering::Release);
            })
        });
        let is_held = [0, 1].map(|number: usize| held[number].load(Ordering::Acquire) == 1);
        let seen = all(&pins);
        for (version, is_held) in [1, 2].into_iter().zip(is_held) {
            assert!(!is_held || seen.contains(&version), "a pin was missed");
        }
        for thread in threads {
            thread.join().expect("it said why already");
        }
        assert_eq!(all(&pins), [1, 2, of_another_line]);
    });
}

fn all(pins: &Pins) -> Vec<u64> {
    let mut all = Vec::new();
    pins.each(|version, _| all.push(version));
    all.sort_unstable();
    all
}

#[test]
fn two_pins_that_want_the_same_slot_are_both_seen() {
    two_pins();
}

#[test]
fn a_pinned_version_is_not_reused() {
    one_reader(LeftOut::Nothing);
}

#[test]
fn a_version_pinned_while_a_history_was_kept_is_not_reused() {
    history_given_up(1);
}

#[test]
fn two_readers_do_not_hide_each_other() {
    explore(Some(2), || {
        let shared = Shared::new(LeftOut::Nothing);
        let readers = [reader(&shared, 0), reader(&shared, 1)];
        write_beside(&shared, readers);
    });
}

/// The first slot is taken, so one of them has the second and the other one makes a new chunk.
#[test]
fn two_readers_that_want_the_same_slot_get_two() {
    explore(Some(2), || {
        let shared = Shared::new(LeftOut::Nothing);
        let of_another_line = u64::MAX;
        shared.pins.set(of_another_line, 0);
        let readers = [reader(&shared, 0), reader(&shared, 0)];
        write_beside(&shared, readers);
    });
}

#[test]
fn a_pin_that_moves_is_not_missed() {
    moved_pin(LeftOut::Nothing);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_barrier_after_the_pin_it_fails() {
    one_reader(LeftOut::BarrierAfterPin);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_barrier_after_the_publication_it_fails() {
    one_reader(LeftOut::BarrierAfterPublication);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_second_look_it_fails() {
    one_reader(LeftOut::SecondLook);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_newest_pin_it_fails() {
    one_reader(LeftOut::NewestPin);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_what_was_pinned_before_a_history_was_given_up_it_fails() {
    history_given_up(0);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_the_pins_it_fails() {
    one_reader(LeftOut::Pins);
}

#[test]
#[should_panic(expected = "a block was reused while it was held")]
fn without_counting_moves_it_fails() {
    moved_pin(LeftOut::Moves);
}
