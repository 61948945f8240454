//! The turn of an update that keeps losing: others wait until it is through.
//!
//! Nobody waits for a turn who holds one, but for those that are taken in one step, in the order
//! of the ids of their heads: so no two wait for each other.

use std::cell::Cell;

use crate::head::{Head, lock};
use crate::planted::{Bug, is_awake};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, thread_local};

/// An update that lost this often gets its turn.
const PATIENCE: u32 = 3;

/// Who has its turn at one head, and how many want one.
#[derive(Default)]
pub(crate) struct Queue {
    turn: Mutex<()>,
    starved: AtomicUsize,
}

thread_local! {
    /// An update inside of another's closure must not wait for the one that waits for it.
    static HOLDS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// The turn of an update, at all heads that it concerns.
pub(crate) struct Turn<'h> {
    heads: Vec<&'h Head>,
    outer: bool,
    _guards: Vec<MutexGuard<'h, ()>>,
}

/// Does an update that has lost so often take its turn?
pub(crate) fn is_due(overlaps: u32) -> bool {
    overlaps >= PATIENCE && !is_awake(Bug::TurnForgotten)
}

impl<'h> Turn<'h> {
    /// For an update that begins, or is about to commit: waits while others that keep losing have
    /// their turn at one of these heads.
    pub(crate) fn enter(heads: impl Iterator<Item = &'h Head> + Clone) -> Option<Turn<'h>> {
        let is_wanted = |head: &Head| head.queue.starved.load(Ordering::SeqCst) > 0;
        (heads.clone().any(is_wanted) && !HOLDS_TURN.with(Cell::get)).then(|| Turn::take(heads))
    }

    /// For an update that keeps losing: keeps new ones out until it is through. The heads are in
    /// the order of their ids.
    pub(crate) fn take(heads: impl Iterator<Item = &'h Head>) -> Turn<'h> {
        let heads: Vec<&Head> = heads.collect();
        for head in &heads {
            head.queue.starved.fetch_add(1, Ordering::SeqCst);
        }
        let guards = match HOLDS_TURN.with(Cell::get) {
            true => Vec::new(),
            false => heads.iter().map(|head| lock(&head.queue.turn)).collect(),
        };
        let outer = HOLDS_TURN.with(|holds| holds.replace(true));
        Turn { heads, outer, _guards: guards }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        HOLDS_TURN.with(|holds| holds.set(self.outer));
        for head in &self.heads {
            head.queue.starved.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
