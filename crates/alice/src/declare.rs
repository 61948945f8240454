//! Declaring code segments.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::code::{Code, Task, Work};
use crate::error::DeclareError;
use crate::failure::{FAILURES, Reason};
use crate::gate::Gate;
use crate::hand::Hand;
use crate::inputs::{Inputs, Ports};
use crate::line::Waiter;
use crate::node::Node;
use crate::outputs::Outputs;
use crate::sync::{AtomicBool, Mutex};
use crate::timer;
use crate::turn::Run;
use crate::wait::Cancel;

/// A code segment that is being declared: [`Node::code`] begins one, [`once`](Declare::once) or
/// [`repeatedly`](Declare::repeatedly) ends it.
///
/// ```
/// use alice::{Cancel, Key, Node, Run, take};
///
/// const ORDERS: Key<&str> = Key::new("orders");
/// const DONE: Key<String> = Key::new("done");
///
/// let node = Node::new();
/// let closing = Cancel::new();
/// let worker = |name| {
///     node.code(name).when(take(&ORDERS)).to(&DONE).run(Run::Here).until(&closing)
/// };
/// worker("apprentice").once(|order, done| done.put(format!("{} by the youngest", **order)))?;
/// worker("master").priority(9).once(|order, done| done.put(format!("{} by her", **order)))?;
/// node.put(&ORDERS, "chair")?;
/// assert_eq!(*node.take(&DONE)?, "chair by her");
/// closing.cancel();
/// node.put(&ORDERS, "table")?;
/// assert_eq!(node.queue(&ORDERS)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it is no code segment before `once` or `repeatedly`"]
pub struct Declare<'n, I, Q> {
    node: &'n Node,
    name: &'n str,
    inputs: I,
    outputs: Result<Q, DeclareError>,
    settings: Settings,
}

impl<I, Q> fmt::Debug for Declare<'_, I, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declare").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
struct Settings {
    priority: u8,
    run: Run,
    cancel: Option<Cancel>,
}

/// What a code segment may return: nothing, or any result; an error is reported in
/// [`FAILURES`](crate::FAILURES).
///
/// ```
/// use alice::{FAILURES, Key, Node, take};
///
/// const TEXT: Key<&str> = Key::new("text");
/// const NUMBER: Key<u32> = Key::new("number");
///
/// let node = Node::new();
/// node.code("parse").when(take(&TEXT)).to(&NUMBER).repeatedly(|text, number| {
///     number.put(text.parse()?)?;
///     Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// })?;
/// node.put(&TEXT, "seven")?;
/// assert_eq!(node.take(&FAILURES)?.message(), "invalid digit found in string");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Outcome {
    /// The error.
    fn failure(self) -> Option<Box<dyn Error + Send + Sync>>;
}

impl Outcome for () {
    fn failure(self) -> Option<Box<dyn Error + Send + Sync>> {
        None
    }
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Outcome for Result<T, E> {
    fn failure(self) -> Option<Box<dyn Error + Send + Sync>> {
        self.err().map(Into::into)
    }
}

impl<'n> Declare<'n, (), ()> {
    pub(crate) fn new(node: &'n Node, name: &'n str) -> Declare<'n, (), ()> {
        Declare { node, name, inputs: (), outputs: Ok(()), settings: Settings::default() }
    }
}

impl<'n, I, Q> Declare<'n, I, Q> {
    /// What it waits for: [`take`](crate::take), [`peek`](crate::peek), [`newer`](crate::newer),
    /// [`take_many`](crate::take_many), one or a tuple or a vector of them.
    pub fn when<J: Inputs>(self, inputs: J) -> Declare<'n, J, Q> {
        let Declare { node, name, outputs, settings, .. } = self;
        Declare { node, name, inputs, outputs, settings }
    }

    /// What it puts into.
    pub fn to<P: Outputs>(self, outputs: P) -> Declare<'n, I, P::Queues> {
        let Declare { node, name, inputs, settings, .. } = self;
        let outputs = outputs.find(node);
        Declare { node, name, inputs, outputs, settings }
    }

    /// 0, the usual one, to 255: of several code segments that wait for the same data segment, the
    /// one with the higher priority gets it; of several that are ready, it runs first.
    pub fn priority(mut self, priority: u8) -> Self {
        self.settings.priority = priority;
        self
    }

    /// Where it runs: [`Run::Next`], if nothing else is said.
    pub fn run(mut self, run: Run) -> Self {
        self.settings.run = run;
        self
    }

    /// Cancelled by this, besides [`Code::cancel`].
    pub fn until(mut self, cancel: &Cancel) -> Self {
        self.settings.cancel = Some(cancel.clone());
        self
    }
}

impl<I: Inputs> Declare<'_, I, ()> {
    /// For who waits in a way of his own, such as an async function: gives him the inputs once, as
    /// soon as all are there. No thread has to be free for that, since it happens within the call
    /// that brought the last one, whatever code runs there and for however long. So this must be
    /// quick, must not panic, and must not use a queue; dropping it says that nothing will come.
    ///
    /// # Errors
    /// As [`once`](Declare::once).
    #[doc(hidden)]
    pub fn hand<F>(self, hand: F) -> Result<Code, DeclareError>
    where
        F: FnOnce(<I::Ports as Ports>::Values) + Send + 'static,
    {
        let Declare { node, name, inputs, settings, .. } = self;
        let ports = inputs.find(node)?;
        let ends = node.ends_of(&ports);
        let waiter = Arc::new(Hand::new(name, Gate::new(ports, settings.priority), hand));
        stopped_by(ends, settings.cancel.as_ref(), &waiter)?;
        waiter.begin()
    }
}

impl<I: Inputs, Q: Send + Sync + 'static> Declare<'_, I, Q> {
    /// Runs the code once, when all its inputs are there.
    ///
    /// ```
    /// use alice::{Key, Node, take};
    ///
    /// const STONE: Key<&str> = Key::new("stone");
    ///
    /// let node = Node::new();
    /// let (told, hears) = std::sync::mpsc::channel();
    /// node.code("first stone").when(take(&STONE)).once(move |stone, ()| told.send(**stone))?;
    /// node.put(&STONE, "granite")?;
    /// node.put(&STONE, "slate")?;
    /// assert_eq!(hears.recv()?, "granite");
    /// assert_eq!(*node.take(&STONE)?, "slate");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a key has another type on this node or is an input twice, or the node is closed.
    pub fn once<F, R>(self, code: F) -> Result<Code, DeclareError>
    where
        F: FnOnce(&mut <I::Ports as Ports>::Values, &Q) -> R + Send + 'static,
        R: Outcome,
    {
        let mut code = Some(code);
        self.declare(false, move |inputs, outputs| code.take()?(inputs, outputs).failure())
    }

    /// As [`once`](Declare::once), if the inputs are all there within this time. Else it never
    /// runs, has taken nothing, and is reported in [`FAILURES`](crate::FAILURES).
    ///
    /// ```
    /// use std::time::Duration;
    /// use alice::{FAILURES, Key, Node, take};
    ///
    /// let node = Node::new();
    /// let late = node.code("late").when(take(&Key::<u8>::new("never put")));
    /// late.once_within(Duration::from_millis(1), |_, ()| ())?;
    /// assert_eq!(node.take(&FAILURES)?.message(), "its inputs were not all there in time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`once`](Declare::once).
    pub fn once_within<F, R>(self, timeout: Duration, code: F) -> Result<Code, DeclareError>
    where
        F: FnOnce(&mut <I::Ports as Ports>::Values, &Q) -> R + Send + 'static,
        R: Outcome,
    {
        let code = self.once(code)?;
        if let Some(end) = Instant::now().checked_add(timeout) {
            timer::stop_at(end, &code.0);
        }
        Ok(code)
    }

    /// Runs the code whenever all its inputs are there; never twice at a time, so data segments of
    /// one key are worked on in their order. After each run it stands at the end of the line again,
    /// also when it failed. For more at a time, declare it several times.
    ///
    /// # Errors
    /// As [`once`](Declare::once); and when it consumes none of its inputs.
    ///
    /// ```
    /// use alice::{Key, Node, take};
    ///
    /// const PARTS: Key<u32> = Key::new("parts");
    /// const TOTAL: Key<u32> = Key::new("total");
    ///
    /// let node = Node::new();
    /// let mut total = 0;
    /// node.code("add up").when(take(&PARTS)).to(&TOTAL).repeatedly(move |part, totals| {
    ///     total += **part;
    ///     totals.update(total)
    /// })?;
    /// (1..=4).try_for_each(|part| node.put(&PARTS, part).map(drop))?;
    /// while *node.peek(&TOTAL)? < 10 {
    ///     std::thread::yield_now();
    /// }
    /// assert!(node.queue(&PARTS)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repeatedly<F, R>(self, mut code: F) -> Result<Code, DeclareError>
    where
        F: FnMut(&mut <I::Ports as Ports>::Values, &Q) -> R + Send + 'static,
        R: Outcome,
    {
        self.declare(true, move |inputs, outputs| code(inputs, outputs).failure())
    }

    fn declare<F>(self, repeats: bool, body: F) -> Result<Code, DeclareError>
    where
        F: FnMut(&mut <I::Ports as Ports>::Values, &Q) -> Option<Reason> + Send + 'static,
    {
        let Declare { node, name, inputs, outputs, settings } = self;
        let ports = inputs.find(node)?;
        if repeats && !ports.consumes() {
            return Err(DeclareError::NeverRests { name: name.to_owned() });
        }
        let ends = node.ends_of(&ports);
        let task = Arc::new(Task {
            name: name.into(),
            gate: Gate::new(ports, settings.priority),
            outputs: outputs?,
            run: settings.run,
            repeats,
            work: Mutex::new(Work { inputs: None, body }),
            is_over: AtomicBool::new(false),
            pool: node.pool().clone(),
            failures: node.queue(&FAILURES)?,
        });
        stopped_by(ends, settings.cancel.as_ref(), &task)?;
        task.begin()
    }
}

/// Before it looks for its inputs, so that what is stopped already takes nothing.
fn stopped_by(
    ends: Option<&Cancel>,
    cancel: Option<&Cancel>,
    waiter: &Arc<impl Waiter + 'static>,
) -> Result<(), DeclareError> {
    if ends.is_some_and(Cancel::is_cancelled) {
        return Err(DeclareError::Closed);
    }
    for cancel in ends.into_iter().chain(cancel) {
        cancel.stops(Arc::clone(waiter) as Arc<dyn Waiter>);
    }
    Ok(())
}
