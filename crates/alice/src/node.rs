//! Nodes: where keys have their queues.

use std::any::{Any, type_name};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock, Weak};

use crate::bound::{Bound, WhenFull};
use crate::declare::Declare;
use crate::error::{DeclareError, NotPut, PutError, WaitError};
use crate::failure::{FAILURES, FAILURES_MAX};
use crate::inputs::{Inputs, Ports};
use crate::key::{Data, Hashed, Key, Name};
use crate::line::{Stop, Waiter};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::segment::Segment;
use crate::status::{NodeStatus, QueueStatus, WaitingStatus, each_once};
use crate::sync::{RwLock, UNPOISONED};
use crate::wait::{Cancel, Wait, wait_until};

/// A node: a set of keyed queues, and the code segments that wait for them.
///
/// A process may have many; they know each other by labels ([`connect`](Node::connect)). Clones are
/// the same node. When the last one is dropped, the node is [closed](Node::close).
///
/// ```
/// use std::time::Duration;
/// use alice::{Key, Node, WaitError};
///
/// const NEWS: Key<&str> = Key::new("news");
/// const WEATHER: Key<&str> = Key::new("weather");
///
/// let node = Node::new();
/// node.put(&NEWS, "rain")?;
/// let news = node.take(&NEWS)?;
/// node.flip(&WEATHER, &news)?;
/// let index = node.update(&WEATHER, "sun")?;
/// assert_eq!(*node.peek_newer(&WEATHER, index - 1)?, "sun");
/// node.close();
/// assert_eq!(node.take_within(&WEATHER, Duration::ZERO).unwrap_err(), WaitError::Closed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    queues: RwLock<Queues>,
    neighbours: RwLock<HashMap<Box<str>, Weak<Inner>>>,
    /// Stops what waits for queues of other nodes, in whose lines a closing node does not look.
    ends: Cancel,
    pool: Pool,
}

#[derive(Default)]
struct Queues {
    by_name: HashMap<Name, Arc<dyn AnyQueue>, BuildHasherDefault<Hashed>>,
    /// What is made from now on is closed as well.
    is_closed: bool,
}

trait AnyQueue: Any + Send + Sync {
    fn holds(&self) -> &'static str;

    fn close(&self);

    fn status(&self, waiters: &mut Vec<Arc<dyn Waiter>>) -> QueueStatus;
}

impl<T: Data> AnyQueue for Queue<T> {
    fn holds(&self) -> &'static str {
        type_name::<T>()
    }

    fn close(&self) {
        Queue::close(self);
    }

    fn status(&self, waiters: &mut Vec<Arc<dyn Waiter>>) -> QueueStatus {
        Queue::status(self, waiters)
    }
}

/// There is no such neighbour, or it is gone: see [`Node::connect`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node has no neighbour `{label}`")]
pub struct NoSuchNeighbour {
    /// The label.
    pub label: String,
}

impl Node {
    /// A node whose code segments run on the [pool of the process](Pool::of_process).
    #[must_use]
    pub fn new() -> Node {
        static POOL: OnceLock<Pool> = OnceLock::new();
        Node::on(POOL.get_or_init(Pool::of_process))
    }

    /// A node whose code segments run on this pool.
    ///
    /// ```
    /// use alice::{Key, Node, Pool, take};
    ///
    /// const NUMBERS: Key<u32> = Key::new("numbers");
    /// const THREADS: Key<String> = Key::new("threads");
    ///
    /// let node = Node::on(&Pool::new(1)?);
    /// node.code("tell").when(take(&NUMBERS)).to(&THREADS).once(|_, threads| {
    ///     threads.put(std::thread::current().name().unwrap_or_default().to_owned())
    /// })?;
    /// node.put(&NUMBERS, 7)?;
    /// assert_eq!(*node.take(&THREADS)?, "alice 0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on(pool: &Pool) -> Node {
        let (queues, neighbours) = (RwLock::default(), RwLock::default());
        let (ends, pool) = (Cancel::new(), pool.clone());
        let node = Node(Arc::new(Inner { queues, neighbours, ends, pool }));
        let failures = node.queue(&FAILURES).expect("the node is new");
        let segments_max = NonZeroUsize::new(FAILURES_MAX);
        failures.set_bound(
            segments_max
                .map(|segments_max| Bound { segments_max, when_full: WhenFull::DropOldest }),
        );
        node
    }

    /// The queue of a key, made if it is new.
    ///
    /// # Errors
    /// When the key was used with another type on this node.
    ///
    /// ```
    /// use alice::{DeclareError, Key, Node};
    ///
    /// let node = Node::new();
    /// let numbers = node.queue(&Key::<u32>::new("numbers"))?;
    /// numbers.put(7)?;
    /// assert_eq!(*node.take(&Key::<u32>::new("numbers"))?, 7);
    /// let of_texts = node.queue(&Key::<String>::new("numbers"));
    /// assert!(matches!(of_texts, Err(DeclareError::WrongType { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queue<T: Data>(&self, key: &Key<T>) -> Result<Queue<T>, DeclareError> {
        let found = {
            let queues = self.0.queues.read().expect(UNPOISONED);
            queues.by_name.get(key.hashed()).map(|queue| typed(&**queue, key))
        };
        found.unwrap_or_else(|| {
            let mut queues = self.0.queues.write().expect(UNPOISONED);
            let Queues { by_name, is_closed } = &mut *queues;
            let made = || {
                let queue = Queue::<T>::new(key.name(), self.address(), *is_closed);
                Arc::new(queue) as Arc<dyn AnyQueue>
            };
            typed(&**by_name.entry(key.hashed().clone()).or_insert_with(made), key)
        })
    }

    /// [`Queue::put`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn put<T: Data>(&self, key: &Key<T>, data: T) -> Result<u64, PutError<T>> {
        match self.queue(key) {
            Ok(queue) => queue.put(data),
            Err(error) => Err(PutError::new(data, NotPut::Declare(error))),
        }
    }

    /// [`Queue::update`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn update<T: Data>(&self, key: &Key<T>, data: T) -> Result<u64, PutError<T>> {
        match self.queue(key) {
            Ok(queue) => queue.update(data),
            Err(error) => Err(PutError::new(data, NotPut::Declare(error))),
        }
    }

    /// [`Queue::flip`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn flip<T: Data>(&self, key: &Key<T>, segment: &Segment<T>) -> Result<u64, PutError<T>> {
        match self.queue(key) {
            Ok(queue) => queue.flip(segment),
            Err(error) => Err(PutError::new(segment.clone(), NotPut::Declare(error))),
        }
    }

    /// [`Queue::take`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn take<T: Data>(&self, key: &Key<T>) -> Result<Segment<T>, WaitError> {
        self.queue(key)?.take()
    }

    /// [`Queue::take_within`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn take_within<T: Data>(
        &self,
        key: &Key<T>,
        wait: impl Into<Wait>,
    ) -> Result<Segment<T>, WaitError> {
        self.queue(key)?.take_within(wait)
    }

    /// [`Queue::peek`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn peek<T: Data>(&self, key: &Key<T>) -> Result<Segment<T>, WaitError> {
        self.queue(key)?.peek()
    }

    /// [`Queue::peek_newer`].
    ///
    /// # Errors
    /// As there; and when the key has another type here.
    pub fn peek_newer<T: Data>(&self, key: &Key<T>, seen: u64) -> Result<Segment<T>, WaitError> {
        self.queue(key)?.peek_newer(seen)
    }

    /// Waits for inputs as a code segment does: all of them, or none is taken.
    ///
    /// ```
    /// use std::time::Duration;
    /// use alice::{Key, Node, WaitError, newer, take};
    ///
    /// const FISH: Key<&str> = Key::new("fish");
    /// const CLOCK: Key<u32> = Key::new("clock");
    ///
    /// let node = Node::new();
    /// node.put(&FISH, "carp")?;
    /// let both = || (take(&FISH), newer(&CLOCK, 0));
    /// assert_eq!(node.wait_for(both(), Duration::ZERO).unwrap_err(), WaitError::TimedOut);
    /// let index = node.update(&CLOCK, 12)?;
    /// let (fish, clock) = node.wait_for(both(), Duration::ZERO)?;
    /// assert_eq!((*fish, *clock, clock.index()), ("carp", 12, index));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Queue::take_within`]; and when a key has another type here or is there twice.
    pub fn wait_for<I: Inputs>(
        &self,
        inputs: I,
        wait: impl Into<Wait>,
    ) -> Result<<I::Ports as Ports>::Values, WaitError> {
        let ports = inputs.find(self)?;
        let ends = self.ends_of(&ports);
        wait_until(ports, wait.into(), ends)
    }

    /// Begins to declare a code segment. Its name is for people.
    ///
    /// ```
    /// use alice::{Key, Node, take};
    ///
    /// const WORDS: Key<&str> = Key::new("words");
    /// const LENGTHS: Key<usize> = Key::new("lengths");
    ///
    /// let node = Node::new();
    /// let measure = node.code("measure").when(take(&WORDS)).to(&LENGTHS);
    /// measure.repeatedly(|word, lengths| lengths.put(word.len()))?;
    /// node.put(&WORDS, "seven")?;
    /// assert_eq!(*node.take(&LENGTHS)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code<'n>(&'n self, name: &'n str) -> Declare<'n, (), ()> {
        Declare::new(self, name)
    }

    /// Has this node know another one under a label, which means something here only. The other one
    /// is not kept from being dropped.
    ///
    /// ```
    /// use alice::{Key, Node};
    ///
    /// const LETTER: Key<&str> = Key::new("letter");
    ///
    /// let (ana, ben) = (Node::new(), Node::new());
    /// ana.connect("friend", &ben);
    /// ana.neighbour("friend")?.put(&LETTER, "hello")?;
    /// assert_eq!(*ben.take(&LETTER)?, "hello");
    /// drop(ben);
    /// let gone = ana.neighbour("friend").unwrap_err();
    /// assert_eq!(gone.to_string(), "this node has no neighbour `friend`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn connect(&self, label: &str, other: &Node) {
        let mut neighbours = self.0.neighbours.write().expect(UNPOISONED);
        neighbours.insert(label.into(), Arc::downgrade(&other.0));
    }

    /// The neighbour with this label.
    ///
    /// # Errors
    /// When there is none, or it is gone.
    pub fn neighbour(&self, label: &str) -> Result<Node, NoSuchNeighbour> {
        let neighbours = self.0.neighbours.read().expect(UNPOISONED);
        let found = neighbours.get(label).and_then(Weak::upgrade);
        found.map(Node).ok_or_else(|| NoSuchNeighbour { label: label.to_owned() })
    }

    /// Its queues, and who waits for what. Each queue is looked at by itself, one after the other.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        let found: Vec<Arc<dyn AnyQueue>> = {
            let queues = self.0.queues.read().expect(UNPOISONED);
            queues.by_name.values().cloned().collect()
        };
        let mut waiters = Vec::new();
        let mut queues: Vec<QueueStatus> =
            found.iter().map(|queue| queue.status(&mut waiters)).collect();
        queues.sort_by(|a, b| a.name.cmp(&b.name));
        each_once(&mut waiters);
        // With no lock held: one who waits looks at all its queues.
        let mut waiting: Vec<WaitingStatus> =
            waiters.iter().map(|waiter| WaitingStatus::of(&**waiter)).collect();
        waiting.sort_by(|a, b| a.name.cmp(&b.name));
        NodeStatus { queues, waiting }
    }

    /// Ends it: nothing can be put or taken any more, code segments that wait are cancelled,
    /// threads that wait get an error. What runs now is not interrupted.
    ///
    /// ```
    /// use alice::{Key, Node, NotPut, WaitError};
    ///
    /// const WORDS: Key<&str> = Key::new("words");
    ///
    /// let node = Node::new();
    /// let waited = std::thread::scope(|scope| {
    ///     let waiting = scope.spawn(|| node.take(&WORDS).unwrap_err());
    ///     node.close();
    ///     waiting.join().expect("it does not panic")
    /// });
    /// assert_eq!(waited, WaitError::Closed);
    /// assert_eq!(node.put(&WORDS, "late").unwrap_err().why, NotPut::Closed);
    /// ```
    pub fn close(&self) {
        self.0.close();
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    /// What ends with this node, if the closing of these queues does not end it: some are those of
    /// other nodes.
    pub(crate) fn ends_of(&self, ports: &impl Ports) -> Option<&Cancel> {
        let address = self.address();
        (!ports.all_are_of(address)).then_some(&self.0.ends)
    }

    /// Tells it from all nodes that are there.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

fn typed<T: Data>(queue: &dyn AnyQueue, key: &Key<T>) -> Result<Queue<T>, DeclareError> {
    match (queue as &dyn Any).downcast_ref::<Queue<T>>() {
        Some(queue) => Ok(queue.clone()),
        None => Err(DeclareError::WrongType {
            name: key.name().to_owned(),
            holds: queue.holds(),
            asked: type_name::<T>(),
        }),
    }
}

impl Inner {
    fn close(&self) {
        let queues: Vec<Arc<dyn AnyQueue>> = {
            let mut queues = self.queues.write().expect(UNPOISONED);
            queues.is_closed = true;
            queues.by_name.values().cloned().collect()
        };
        // With no lock held: what waited is dropped, which may run the program's own code.
        queues.iter().for_each(|queue| queue.close());
        self.ends.stop(Stop::Closed);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Default for Node {
    fn default() -> Node {
        Node::new()
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queues = self.0.queues.read().expect(UNPOISONED);
        let mut names: Vec<String> = queues.by_name.keys().map(Name::to_string).collect();
        names.sort_unstable();
        f.debug_struct("Node").field("queues", &names).finish_non_exhaustive()
    }
}
