//! The threads that code segments run on: rayon's.

use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::sync::{AtomicUsize, Mutex, Ordering, UNPOISONED};
use crate::turn::{self, Ready};

/// Threads that run code segments and steal work from each other. Clones are the same pool.
///
/// ```
/// use alice::{Key, Node, Pool, take};
///
/// let pool = Pool::new(2)?;
/// let (node, sum) = (Node::on(&pool), Key::<u32>::new("sum"));
/// node.code("add")
///     .when((take(&Key::<u32>::new("a")), take(&Key::<u32>::new("b"))))
///     .to(&sum)
///     .once(|(a, b), sum| sum.put(**a + **b))?;
/// node.put(&Key::new("a"), 3u32)?;
/// node.put(&Key::new("b"), 4u32)?;
/// assert_eq!(*node.take(&sum)?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    /// Rayon's own for the process, if none.
    threads: Option<ThreadPool>,
    /// Shared with its workers, which must not keep the pool itself.
    urgent: Arc<Urgent>,
}

/// Ready code segments with a priority, and what they overtook. The pool's own queues know none, so
/// a job that is about to run something looks here first.
///
/// Each that waits here has a job of the pool that will take one out: no job finds nothing, and no
/// job has to go on until nothing is left, which might be never.
#[derive(Default)]
pub(crate) struct Urgent {
    waiting: Mutex<Waiting>,
    count: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    heap: BinaryHeap<Ranked>,
    arrivals: u64,
}

/// By priority, then by arrival.
struct Ranked {
    priority: u8,
    arrival: u64,
    ready: Ready,
}

/// Why a pool could not be made: [`Pool::new`]. Fewer threads may do.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {threads} threads: {why}")]
pub struct PoolError {
    threads: usize,
    why: String,
}

impl Pool {
    /// The pool of the whole process, which rayon makes when it is first used, with as many threads
    /// as there are processors.
    ///
    /// ```
    /// use alice::{Node, Pool};
    ///
    /// // The same threads as `Node::new()` has.
    /// let node = Node::on(&Pool::of_process());
    /// # drop(node);
    /// ```
    #[must_use]
    pub fn of_process() -> Pool {
        Pool::from(None)
    }

    /// A pool of so many threads, at least one.
    ///
    /// # Errors
    /// When the system gives no more threads.
    pub fn new(threads: usize) -> Result<Pool, PoolError> {
        let builder = ThreadPoolBuilder::new().num_threads(threads.max(1));
        let built = builder.thread_name(|number| format!("alice {number}")).build();
        built
            .map(|built| Pool::from(Some(built)))
            .map_err(|error| PoolError { threads, why: error.to_string() })
    }

    fn from(threads: Option<ThreadPool>) -> Pool {
        Pool(Arc::new(Inner { threads, urgent: Arc::default() }))
    }

    /// What of its code segments is urgent; also what tells it from other pools.
    pub(crate) fn urgent(&self) -> &Arc<Urgent> {
        &self.0.urgent
    }

    /// Has a thread of its pool run it.
    pub(crate) fn run(ready: Ready) {
        // A worker is where it is already, and spares the count of the pool's owners, for which
        // all workers would fight.
        let pool = (!turn::is_worker_of(ready.pool())).then(|| ready.pool().clone());
        if ready.priority() == 0 {
            spawn(pool.as_ref(), move || turn::work(ready));
        } else {
            let urgent = Arc::clone(ready.pool().urgent());
            urgent.push(ready);
            spawn(pool.as_ref(), move || turn::work_urgent(urgent));
        }
    }
}

/// First come, first served: the newest first would let a chain starve what waits beside it.
fn spawn(pool: Option<&Pool>, job: impl FnOnce() + Send + 'static) {
    match pool.and_then(|pool| pool.0.threads.as_ref()) {
        Some(threads) => threads.spawn_fifo(job),
        None => rayon_core::spawn_fifo(job),
    }
}

impl Urgent {
    /// A job that takes one out must follow.
    fn push(&self, ready: Ready) {
        let mut waiting = self.waiting.lock().expect(UNPOISONED);
        waiting.push(ready);
        self.count.store(waiting.heap.len(), Ordering::SeqCst);
    }

    pub(crate) fn is_there(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// The most urgent that waits.
    pub(crate) fn pop(&self) -> Option<Ready> {
        let mut waiting = self.waiting.lock().expect(UNPOISONED);
        let popped = waiting.heap.pop();
        self.count.store(waiting.heap.len(), Ordering::SeqCst);
        popped.map(|ranked| ranked.ready)
    }

    /// This one, or one that waits and is more urgent, whose place it takes.
    pub(crate) fn most_of(&self, ready: Ready) -> Ready {
        if !self.is_there() {
            return ready;
        }
        let mut waiting = self.waiting.lock().expect(UNPOISONED);
        let is_more = |most: &Ranked| most.priority > ready.priority();
        if !waiting.heap.peek().is_some_and(is_more) {
            return ready;
        }
        let most = waiting.heap.pop().expect("it was looked at");
        waiting.push(ready);
        most.ready
    }
}

impl Waiting {
    fn push(&mut self, ready: Ready) {
        self.arrivals += 1;
        let (priority, arrival) = (ready.priority(), self.arrivals);
        self.heap.push(Ranked { priority, arrival, ready });
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = self.0.threads.as_ref().map(ThreadPool::current_num_threads);
        f.debug_struct("Pool").field("threads", &threads).finish_non_exhaustive()
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> std::cmp::Ordering {
        self.priority.cmp(&other.priority).then(other.arrival.cmp(&self.arrival))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
