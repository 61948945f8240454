//! Who waits in a way of his own: [`Declare::hand`](crate::Declare::hand).

use std::sync::Arc;

use crate::code::Code;
use crate::error::DeclareError;
use crate::gate::{Gate, Look};
use crate::inputs::Ports;
use crate::line::{Stop, Waiter};
use crate::status::InputStatus;
use crate::sync::{AtomicBool, Mutex, Ordering, UNPOISONED};

/// Stands in line for somebody.
pub(crate) struct Hand<P: Ports, F> {
    name: Box<str>,
    gate: Gate<P>,
    is_over: AtomicBool,
    /// Taken by the one who fires it or has it leave the line: there is only one.
    hand: Mutex<Option<F>>,
}

impl<P: Ports, F: FnOnce(P::Values) + Send + 'static> Hand<P, F> {
    pub(crate) fn new(name: &str, gate: Gate<P>, hand: F) -> Hand<P, F> {
        let (is_over, hand) = (AtomicBool::new(false), Mutex::new(Some(hand)));
        Hand { name: name.into(), gate, is_over, hand }
    }

    /// Gives what is there already, or waits in line for it, unless it is over.
    pub(crate) fn begin(self: Arc<Self>) -> Result<Code, DeclareError> {
        if self.is_over.load(Ordering::SeqCst) {
            self.let_go();
            return Ok(Code(self));
        }
        match self.gate.arm(&self) {
            Look::Ready(values) => self.give(values),
            // Whoever stopped it before it was armed found nothing to disarm.
            Look::NotYet if self.is_over.load(Ordering::SeqCst) => self.leave(),
            Look::NotYet => {}
            Look::Closed => return Err(DeclareError::Closed),
        }
        Ok(Code(self))
    }

    fn give(&self, values: P::Values) {
        let hand = self.hand.lock().expect(UNPOISONED).take();
        hand.expect("it is given something once")(values);
    }

    fn leave(self: &Arc<Self>) {
        if self.gate.disarm(self) {
            self.let_go();
        }
    }

    fn let_go(&self) {
        let hand = self.hand.lock().expect(UNPOISONED).take();
        // With no lock held: it is the caller's own.
        drop(hand);
    }
}

impl<P: Ports, F: FnOnce(P::Values) + Send + 'static> Waiter for Hand<P, F> {
    fn try_fire(self: Arc<Self>) {
        if let Some(values) = self.gate.fire(&self) {
            self.give(values);
        }
    }

    fn stop(self: Arc<Self>, _: Stop) {
        self.is_over.store(true, Ordering::SeqCst);
        self.leave();
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> Vec<InputStatus> {
        self.gate.inputs()
    }
}
