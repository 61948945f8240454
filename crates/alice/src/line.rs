//! Who waits at a queue, in the order in which they are served.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::status::InputStatus;

/// One that waits at one or several queues: a code segment or a thread.
pub trait Waiter: Send + Sync {
    /// Takes its inputs if it still waits and all are there, and goes on.
    fn try_fire(self: Arc<Self>);

    /// Stops waiting.
    fn stop(self: Arc<Self>, why: Stop);

    /// What it is called where it is shown.
    fn name(&self) -> &str;

    /// What it waits for, and what of that is there.
    fn inputs(&self) -> Vec<InputStatus> {
        Vec::new()
    }
}

/// Why somebody stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    Closed,
    TimedOut,
}

/// A place in the line: urgent ones first, then those who came first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(Reverse<u8>, u64);

/// One that stands in the line.
#[derive(Clone)]
pub(crate) struct InLine {
    pub(crate) place: Place,
    pub(crate) waiter: Arc<dyn Waiter>,
}

/// The line itself, sorted by place.
#[derive(Default)]
pub struct Line {
    waiters: VecDeque<InLine>,
    arrivals: u64,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Line");
        shown.field("waiters", &self.waiters.len());
        shown.finish_non_exhaustive()
    }
}

impl Line {
    pub(crate) fn enter(&mut self, priority: u8, waiter: Arc<dyn Waiter>) {
        self.arrivals += 1;
        let place = Place(Reverse(priority), self.arrivals);
        let at = self.waiters.partition_point(|other| other.place < place);
        self.waiters.insert(at, InLine { place, waiter });
    }

    /// Takes out the one at this address.
    pub(crate) fn leave(&mut self, waiter: *const ()) {
        let is_it = |other: &InLine| std::ptr::addr_eq(Arc::as_ptr(&other.waiter), waiter);
        if let Some(at) = self.waiters.iter().position(is_it) {
            self.waiters.remove(at);
        }
    }

    pub(crate) fn first(&self) -> Option<InLine> {
        self.waiters.front().cloned()
    }

    /// The next one behind a place, whether or not somebody still stands there.
    pub(crate) fn behind(&self, place: Place) -> Option<InLine> {
        let at = self.waiters.partition_point(|other| other.place <= place);
        self.waiters.get(at).cloned()
    }

    pub(crate) fn clear(&mut self) -> VecDeque<InLine> {
        std::mem::take(&mut self.waiters)
    }

    pub(crate) fn waiters(&self) -> impl Iterator<Item = &Arc<dyn Waiter>> {
        self.waiters.iter().map(|in_line| &in_line.waiter)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.waiters.iter().map(|in_line| in_line.waiter.name())
    }
}
