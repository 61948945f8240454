//! A gate: inputs that are waited for by one code segment or thread.

use std::sync::Arc;

use crate::inputs::Ports;
use crate::line::Waiter;
use crate::status::InputStatus;
use crate::sync::{AtomicBool, Ordering};

pub(crate) struct Gate<P: Ports> {
    pub(crate) ports: P,
    pub(crate) priority: u8,
    /// Whether it stands in the lines of all its queues. Read and written only while all are
    /// locked, and these locks order it: it needs no order of its own.
    is_armed: AtomicBool,
}

/// What came of looking for the inputs.
pub(crate) enum Look<V> {
    Ready(V),
    NotYet,
    Closed,
}

impl<P: Ports> Gate<P> {
    pub(crate) fn new(ports: P, priority: u8) -> Gate<P> {
        Gate { ports, priority, is_armed: AtomicBool::new(false) }
    }

    /// Takes the inputs if all are there.
    pub(crate) fn look(&self) -> Look<P::Values> {
        self.look_or(|_| ())
    }

    /// Takes the inputs if all are there; else has the waiter stand in line for them. It must not
    /// stand there already.
    pub(crate) fn arm<W: Waiter + 'static>(&self, waiter: &Arc<W>) -> Look<P::Values> {
        self.look_or(|held| {
            self.ports.each_line(held, &mut |line| {
                line.enter(self.priority, Arc::clone(waiter) as Arc<dyn Waiter>);
            });
            self.is_armed.store(true, Ordering::Relaxed);
        })
    }

    fn look_or(&self, not_yet: impl FnOnce(&mut P::Held<'_>)) -> Look<P::Values> {
        let mut held = self.ports.lock();
        if self.ports.is_closed(&held) {
            return Look::Closed;
        }
        if self.ports.is_ready(&held) {
            return Look::Ready(self.ports.claim(&mut held));
        }
        not_yet(&mut held);
        Look::NotYet
    }

    /// Takes the inputs if the waiter stands in line and all are there; it leaves the line then.
    pub(crate) fn fire<W: Waiter>(&self, waiter: &Arc<W>) -> Option<P::Values> {
        let mut held = self.ports.lock();
        if !self.is_armed.load(Ordering::Relaxed) || !self.ports.is_ready(&held) {
            return None;
        }
        self.leave(&mut held, waiter);
        Some(self.ports.claim(&mut held))
    }

    /// Has the waiter leave the line; did it stand there?
    pub(crate) fn disarm<W: Waiter>(&self, waiter: &Arc<W>) -> bool {
        let mut held = self.ports.lock();
        let was_armed = self.is_armed.load(Ordering::Relaxed);
        if was_armed {
            self.leave(&mut held, waiter);
        }
        was_armed
    }

    pub(crate) fn inputs(&self) -> Vec<InputStatus> {
        let held = self.ports.lock();
        let mut inputs = Vec::new();
        self.ports.each_input(&held, &mut |name, is_there| {
            inputs.push(InputStatus { name: name.to_owned(), is_there });
        });
        inputs
    }

    fn leave<W: Waiter>(&self, held: &mut P::Held<'_>, waiter: &Arc<W>) {
        let address = Arc::as_ptr(waiter).cast();
        self.ports.each_line(held, &mut |line| line.leave(address));
        self.is_armed.store(false, Ordering::Relaxed);
    }
}
