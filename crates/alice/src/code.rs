//! Code segments.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::error::DeclareError;
use crate::failure::{Failure, Given, Reason, panic_message};
use crate::gate::{Gate, Look};
use crate::inputs::Ports;
use crate::line::{Stop, Waiter};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::status::InputStatus;
use crate::sync::{AtomicBool, Mutex, Ordering, UNPOISONED};
use crate::turn::{self, Run, Runnable};

/// A declared code segment. Dropping this handle changes nothing; the code segment lives as long as
/// its node, or until it is done or cancelled, also if it waits for queues of other nodes.
///
/// ```
/// use alice::{Key, Node, Run, take};
///
/// const WORDS: Key<&str> = Key::new("words");
/// const LENGTHS: Key<usize> = Key::new("lengths");
///
/// let node = Node::new();
/// let measure = node.code("measure").when(take(&WORDS)).to(&LENGTHS).run(Run::Here);
/// let code = measure.repeatedly(|word, lengths| lengths.put(word.len()))?;
/// node.put(&WORDS, "seven")?;
/// code.cancel();
/// node.put(&WORDS, "never measured")?;
/// assert_eq!(code.name(), "measure");
/// assert_eq!((node.queue(&LENGTHS)?.len(), node.queue(&WORDS)?.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Code(pub(crate) Arc<dyn Waiter>);

impl Code {
    /// It will not run any more. If it runs now, it is not interrupted, and what it took is not
    /// given back; if it waits, it has taken nothing.
    pub fn cancel(&self) {
        Arc::clone(&self.0).stop(Stop::Cancelled);
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Code").field(&self.name()).finish()
    }
}

/// A code segment.
pub(crate) struct Task<P: Ports, O, F> {
    pub(crate) name: Box<str>,
    pub(crate) gate: Gate<P>,
    pub(crate) outputs: O,
    pub(crate) run: Run,
    pub(crate) repeats: bool,
    pub(crate) work: Mutex<Work<P::Values, F>>,
    pub(crate) is_over: AtomicBool,
    pub(crate) pool: Pool,
    pub(crate) failures: Queue<Failure>,
}

/// Locked by the one who fires, then by the one who runs: one follows the other.
pub(crate) struct Work<V, F> {
    pub(crate) inputs: Option<V>,
    pub(crate) body: F,
}

impl<P, O, F> Task<P, O, F>
where
    P: Ports,
    O: Send + Sync + 'static,
    F: FnMut(&mut P::Values, &O) -> Option<Reason> + Send + 'static,
{
    /// Runs, if the inputs are there already, or waits in line for them.
    pub(crate) fn begin(self: Arc<Self>) -> Result<Code, DeclareError> {
        match self.arm() {
            Look::Ready(inputs) => Arc::clone(&self).start(inputs),
            Look::NotYet => {}
            Look::Closed => return Err(DeclareError::Closed),
        }
        turn::run_here();
        Ok(Code(self))
    }

    /// Looks for the inputs, or waits in line for them, unless it is over.
    fn arm(self: &Arc<Self>) -> Look<P::Values> {
        if self.is_over() {
            return Look::NotYet;
        }
        let found = self.gate.arm(self);
        // Whoever stopped it before it was armed found nothing to disarm.
        if matches!(found, Look::NotYet) && self.is_over() {
            self.gate.disarm(self);
        }
        found
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn start(self: Arc<Self>, inputs: P::Values) {
        self.work.lock().expect(UNPOISONED).inputs = Some(inputs);
        self.schedule();
    }

    fn schedule(self: Arc<Self>) {
        let run = self.run;
        turn::schedule(self, run);
    }

    fn run_once(&self, body: &mut F, mut inputs: P::Values) {
        // An error may panic as it is put into words.
        let ran = catch_unwind(AssertUnwindSafe(|| {
            body(&mut inputs, &self.outputs).map(|reason| (reason.to_string(), reason))
        }));
        let failure = ran.unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Some((message.clone(), message.into()))
        });
        match failure {
            None => drop_quietly(inputs),
            Some((message, reason)) => self.report(message, reason, inputs),
        }
    }

    fn report(&self, message: String, reason: Reason, inputs: P::Values) {
        let mut given = Vec::new();
        self.gate.ports.give(inputs, &mut given);
        self.tell(message, reason, given);
    }

    fn tell(&self, message: String, reason: Reason, given: Vec<Given>) {
        // Refused by a closed node, or a bound that says so: then nobody wants to know.
        let _ = self.failures.put(Failure::new(&self.name, message, reason, given));
    }
}

/// The program's own `drop` may panic as well; nobody can be told, but the worker goes on.
fn drop_quietly<V>(values: V) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(values)));
}

impl<P, O, F> Waiter for Task<P, O, F>
where
    P: Ports,
    O: Send + Sync + 'static,
    F: FnMut(&mut P::Values, &O) -> Option<Reason> + Send + 'static,
{
    fn try_fire(self: Arc<Self>) {
        if let Some(inputs) = self.gate.fire(&self) {
            self.start(inputs);
        }
    }

    fn stop(self: Arc<Self>, why: Stop) {
        self.is_over.store(true, Ordering::SeqCst);
        if self.gate.disarm(&self) && why == Stop::TimedOut {
            let message = "its inputs were not all there in time";
            self.tell(message.to_owned(), message.into(), Vec::new());
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> Vec<InputStatus> {
        self.gate.inputs()
    }
}

impl<P, O, F> Runnable for Task<P, O, F>
where
    P: Ports,
    O: Send + Sync + 'static,
    F: FnMut(&mut P::Values, &O) -> Option<Reason> + Send + 'static,
{
    fn run(self: Arc<Self>) {
        let mut work = self.work.lock().expect(UNPOISONED);
        let mut inputs = work.inputs.take().expect("it was started with inputs");
        loop {
            self.run_once(&mut work.body, inputs);
            if !self.repeats {
                return;
            }
            match self.arm() {
                Look::Ready(next) if turn::goes_on(&*self, self.run) => inputs = next,
                Look::Ready(next) => {
                    work.inputs = Some(next);
                    drop(work);
                    return self.schedule();
                }
                Look::NotYet | Look::Closed => return,
            }
        }
    }

    fn priority(&self) -> u8 {
        self.gate.priority
    }

    fn pool(&self) -> &Pool {
        &self.pool
    }
}
