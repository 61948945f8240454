//! Inputs: what code segments and threads wait for.

use std::fmt;

use crate::error::DeclareError;
use crate::failure::Given;
use crate::key::{Data, Key};
use crate::node::Node;
use crate::queue::Queue;
use crate::segment::Segment;
use crate::state::State;
use crate::sync::{AtomicU64, Ordering};

/// The queue of a key: by its key on the node where a code segment is, or the queue itself, which
/// may be on any node of the process.
///
/// ```
/// use alice::{Key, Node, Run, take};
///
/// const ORDERS: Key<&str> = Key::new("orders");
///
/// let (shop, kitchen) = (Node::new(), Node::new());
/// let orders = shop.queue(&ORDERS)?;
/// let cook = kitchen.code("cook").when(take(&orders)).run(Run::Here);
/// cook.repeatedly(|order, ()| assert_eq!(**order, "soup"))?;
/// shop.put(&ORDERS, "soup")?;
/// assert!(orders.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum Place<T: Data> {
    /// On the same node.
    Key(Key<T>),
    /// On any node.
    Queue(Queue<T>),
}

/// One data segment that is waited for: [`take`], [`peek`], [`newer`].
///
/// ```
/// use std::time::Duration;
/// use alice::{Input, Key, Node, take};
///
/// let node = Node::new();
/// let keys: Vec<Key<u32>> = (0..3).map(|part| Key::named(format!("part {part}"))).collect();
/// for (key, part) in keys.iter().zip([10, 20, 30]) {
///     node.put(key, part)?;
/// }
/// let all: Vec<Input<u32>> = keys.iter().map(take).collect();
/// let parts = node.wait_for(all, Duration::ZERO)?;
/// assert_eq!(parts.iter().map(|part| **part).sum::<u32>(), 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Input<T: Data> {
    place: Place<T>,
    mode: Mode,
}

/// Several data segments of one key that are waited for: [`take_many`].
///
/// ```
/// use std::time::Duration;
/// use alice::{Key, Node, WaitError, take_many};
///
/// const EGGS: Key<u32> = Key::new("eggs");
///
/// let node = Node::new();
/// (1..=7).try_for_each(|egg| node.put(&EGGS, egg).map(drop))?;
/// let box_of_six = node.wait_for(take_many(&EGGS, 6), Duration::ZERO)?;
/// assert_eq!(box_of_six.iter().map(|egg| **egg).sum::<u32>(), 21);
/// let error = node.wait_for(take_many(&EGGS, 6), Duration::ZERO).unwrap_err();
/// assert_eq!((error, node.queue(&EGGS)?.len()), (WaitError::TimedOut, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Many<T: Data> {
    place: Place<T>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    Take,
    Peek,
    Newer(u64),
}

/// The head of a queue, which is removed.
///
/// ```
/// use alice::{Key, Node, Run, peek, take};
///
/// const ORDERS: Key<u32> = Key::new("orders");
/// const PRICE: Key<u32> = Key::new("price");
/// const BILLS: Key<u32> = Key::new("bills");
///
/// let shop = Node::new();
/// shop.put(&PRICE, 3)?;
/// let bill = shop.code("bill").when((take(&ORDERS), peek(&PRICE))).to(&BILLS).run(Run::Here);
/// bill.repeatedly(|(order, price), bills| bills.put(**order * **price))?;
/// (shop.put(&ORDERS, 2)?, shop.put(&ORDERS, 5)?);
/// assert_eq!((*shop.take(&BILLS)?, *shop.take(&BILLS)?), (6, 15));
/// // The price is still there, the orders are not.
/// assert_eq!((shop.queue(&PRICE)?.len(), shop.queue(&ORDERS)?.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn take<T: Data>(place: impl Into<Place<T>>) -> Input<T> {
    Input { place: place.into(), mode: Mode::Take }
}

/// The head of a queue, which stays. A code segment that repeats needs another input besides, since
/// it would never rest: [`take`] has an example.
pub fn peek<T: Data>(place: impl Into<Place<T>>) -> Input<T> {
    Input { place: place.into(), mode: Mode::Peek }
}

/// The oldest data segment of a queue whose [index](Segment::index) is greater than `seen`; it
/// stays. For a code segment that repeats, what it got counts as seen from then on.
///
/// ```
/// use alice::{Key, Node, Run, newer};
///
/// const RATE: Key<f64> = Key::new("rate");
/// const SEEN: Key<f64> = Key::new("seen");
///
/// let node = Node::new();
/// node.update(&RATE, 0.5)?;
/// let watch = node.code("watch").when(newer(&RATE, 0)).to(&SEEN).run(Run::Here);
/// watch.repeatedly(|rate, seen| seen.put(**rate))?;
/// node.update(&RATE, 0.75)?;
/// assert_eq!((*node.take(&SEEN)?, *node.take(&SEEN)?), (0.5, 0.75));
/// assert_eq!(*node.peek(&RATE)?, 0.75);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn newer<T: Data>(place: impl Into<Place<T>>, seen: u64) -> Input<T> {
    Input { place: place.into(), mode: Mode::Newer(seen) }
}

/// The first `count` data segments of a queue, which are removed all at once; at least one.
/// [`Many`] has an example.
pub fn take_many<T: Data>(place: impl Into<Place<T>>, count: usize) -> Many<T> {
    Many { place: place.into(), count: count.max(1) }
}

impl<T: Data> From<&Key<T>> for Place<T> {
    fn from(key: &Key<T>) -> Place<T> {
        Place::Key(key.clone())
    }
}

impl<T: Data> From<&Queue<T>> for Place<T> {
    fn from(queue: &Queue<T>) -> Place<T> {
        Place::Queue(queue.clone())
    }
}

impl<T: Data> Place<T> {
    pub(crate) fn find(self, node: &Node) -> Result<Queue<T>, DeclareError> {
        match self {
            Place::Key(key) => node.queue(&key),
            Place::Queue(queue) => Ok(queue),
        }
    }
}

/// An input that is one queue's, declared.
pub trait OneInput {
    /// The same, found.
    type Port: OnePort;

    /// Finds its queue.
    fn find(self, node: &Node) -> Result<Self::Port, DeclareError>;
}

/// An input that is one queue's, found: what it needs of the queue while that is locked.
pub trait OnePort: Send + Sync + 'static {
    /// What is in the queue.
    type Data: Data;
    /// What the code segment gets.
    type Value: Send + 'static;

    fn queue(&self) -> &Queue<Self::Data>;

    fn has(&self, state: &State<Self::Data>) -> bool;

    /// Must be there.
    fn pick(&self, state: &mut State<Self::Data>) -> Self::Value;

    /// False when the same value would be there again at once.
    fn uses_up(&self) -> bool;

    fn tell(&self, value: Self::Value, into: &mut Vec<Given>);
}

/// Looked for under the same lock.
const IS_THERE: &str = "it is picked when it is there";

/// An [`Input`], found.
pub struct Port<T: Data> {
    queue: Queue<T>,
    mode: Mode,
    seen: AtomicU64,
}

impl<T: Data> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("key", &self.queue.name()).finish_non_exhaustive()
    }
}

impl<T: Data> Port<T> {
    pub(crate) fn new(queue: &Queue<T>, mode: Mode) -> Port<T> {
        let seen = if let Mode::Newer(seen) = mode { seen } else { 0 };
        Port { queue: queue.clone(), mode, seen: AtomicU64::new(seen) }
    }

    fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }
}

impl<T: Data> OneInput for Input<T> {
    type Port = Port<T>;

    fn find(self, node: &Node) -> Result<Port<T>, DeclareError> {
        Ok(Port::new(&self.place.find(node)?, self.mode))
    }
}

impl<T: Data> OnePort for Port<T> {
    type Data = T;
    type Value = Segment<T>;

    fn queue(&self) -> &Queue<T> {
        &self.queue
    }

    fn has(&self, state: &State<T>) -> bool {
        match self.mode {
            Mode::Take | Mode::Peek => !state.segments.is_empty(),
            Mode::Newer(_) => state.newer(self.seen()).is_some(),
        }
    }

    fn pick(&self, state: &mut State<T>) -> Segment<T> {
        let found = match self.mode {
            Mode::Take => {
                self.queue.note_room(state);
                state.segments.pop_front()
            }
            Mode::Peek => state.segments.front().cloned(),
            Mode::Newer(_) => state.newer(self.seen()).cloned(),
        };
        let found = found.expect(IS_THERE);
        if let Mode::Newer(_) = self.mode {
            self.seen.store(found.index(), Ordering::SeqCst);
        }
        found
    }

    fn uses_up(&self) -> bool {
        !matches!(self.mode, Mode::Peek)
    }

    fn tell(&self, value: Segment<T>, into: &mut Vec<Given>) {
        into.push(Given::new(&self.queue, &value, matches!(self.mode, Mode::Take)));
    }
}

/// A [`Many`], found.
pub struct ManyPort<T: Data> {
    queue: Queue<T>,
    count: usize,
}

impl<T: Data> fmt::Debug for ManyPort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ManyPort");
        shown.field("key", &self.queue.name()).field("count", &self.count).finish()
    }
}

impl<T: Data> OneInput for Many<T> {
    type Port = ManyPort<T>;

    fn find(self, node: &Node) -> Result<ManyPort<T>, DeclareError> {
        Ok(ManyPort { queue: self.place.find(node)?, count: self.count })
    }
}

impl<T: Data> OnePort for ManyPort<T> {
    type Data = T;
    type Value = Vec<Segment<T>>;

    fn queue(&self) -> &Queue<T> {
        &self.queue
    }

    fn has(&self, state: &State<T>) -> bool {
        state.segments.len() >= self.count
    }

    fn pick(&self, state: &mut State<T>) -> Vec<Segment<T>> {
        self.queue.note_room(state);
        state.segments.drain(..self.count).collect()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn tell(&self, values: Vec<Segment<T>>, into: &mut Vec<Given>) {
        into.extend(values.iter().map(|value| Given::new(&self.queue, value, true)));
    }
}
