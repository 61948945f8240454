//! Where and when ready code segments run.
//!
//! A code segment never runs within another, or within the call that brought its last input: it
//! runs when that one is done, so a chain of any length needs no stack, and a code segment may put
//! whatever it holds locked.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::pool::{Pool, Urgent};
use crate::sync::thread_local;

/// Where a code segment runs when its last input arrives.
///
/// ```
/// use std::thread;
/// use alice::{Key, Node, Run, take};
///
/// const NAME: Key<&str> = Key::new("name");
/// const THREAD: Key<thread::ThreadId> = Key::new("thread");
///
/// let node = Node::new();
/// for (run, is_here) in [(Run::Here, true), (Run::Pool, false)] {
///     let tell = node.code("tell").when(take(&NAME)).to(&THREAD).run(run);
///     tell.once(|_, thread| thread.put(thread::current().id()))?;
///     node.put(&NAME, "somebody")?;
///     assert_eq!(*node.take(&THREAD)? == thread::current().id(), is_here);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// When a code segment brought the last input: next, on the same worker, without a hop, unless
    /// another one is next already. The pool takes all others, and what threads outside brought.
    #[default]
    Next,
    /// On the thread that brought the last input, whichever it is, before its call returns (inside
    /// a code segment: when that is done). Several that are ready run one after the other, in the
    /// order of their priority. Hold no lock that the code segment needs.
    Here,
    /// On any thread of the pool.
    Pool,
}

/// A worker runs so many in a row before it lets the pool choose: others wait there too.
const RUNS_MAX: u32 = 128;

/// A code segment that has its inputs.
pub(crate) trait Runnable: Send + Sync {
    /// Must not panic.
    fn run(self: Arc<Self>);

    fn priority(&self) -> u8;

    fn pool(&self) -> &Pool;
}

pub(crate) type Ready = Arc<dyn Runnable>;

/// What a thread is about to run.
#[derive(Default)]
struct Turn {
    is_inside: Cell<bool>,
    /// Which pool's worker this thread is at the moment, by where what is urgent there waits.
    worker_of: Cell<Option<usize>>,
    /// That itself, kept from one job to the next: all workers would fight for its count.
    urgent: Cell<Option<Arc<Urgent>>>,
    /// How many code segments it has run in this job.
    runs: Cell<u32>,
    /// To be run here, by falling priority.
    here: RefCell<VecDeque<Ready>>,
    /// To be run next by this worker, if none of the above is left.
    next: RefCell<Option<Ready>>,
}

thread_local! {
    static TURN: Turn = Turn::default();
}

/// Whether a code segment runs on this thread.
pub(crate) fn is_inside() -> bool {
    TURN.with(|turn| turn.is_inside.get())
}

/// Takes on a code segment that has all its inputs.
pub(crate) fn schedule(ready: Ready, run: Run) {
    let for_pool = TURN.with(|turn| match run {
        Run::Here => {
            let mut here = turn.here.borrow_mut();
            let at = here.partition_point(|other| other.priority() >= ready.priority());
            here.insert(at, ready);
            None
        }
        Run::Next if turn.is_worker_of(ready.pool()) => turn.line_up(ready),
        Run::Next | Run::Pool => Some(ready),
    });
    if let Some(ready) = for_pool {
        Pool::run(ready);
    }
}

/// Whether one that runs, and has its next inputs, may go on with them: nothing else waits for this
/// thread, and it is still its turn.
pub(crate) fn goes_on(running: &dyn Runnable, run: Run) -> bool {
    TURN.with(|turn| {
        let is_alone = || {
            let nothing_here = turn.here.borrow().is_empty() && turn.next.borrow().is_none();
            nothing_here && !running.pool().urgent().is_there()
        };
        match run {
            Run::Here => is_alone(),
            Run::Next => turn.is_worker_of(running.pool()) && turn.has_more_runs() && is_alone(),
            Run::Pool => false,
        }
    })
}

/// Runs what is to be run on this thread, unless something runs already and will see to it.
pub(crate) fn run_here() {
    TURN.with(|turn| {
        if turn.is_inside.get() || turn.here.borrow().is_empty() {
            return;
        }
        turn.is_inside.set(true);
        while let Some(ready) = turn.pop_here() {
            ready.run();
        }
        turn.is_inside.set(false);
    });
}

/// Whether this thread is a worker of the pool, in one of its jobs.
pub(crate) fn is_worker_of(pool: &Pool) -> bool {
    TURN.with(|turn| turn.is_worker_of(pool))
}

/// A job of its pool: runs this one, or a more urgent one that waits, and what follows from it.
pub(crate) fn work(ready: Ready) {
    TURN.with(|turn| {
        let kept = turn.urgent.take().filter(|kept| Arc::ptr_eq(kept, ready.pool().urgent()));
        let urgent = kept.unwrap_or_else(|| Arc::clone(ready.pool().urgent()));
        turn.work(urgent, Some(ready));
    });
}

/// A job of a pool: runs the most urgent one that waits, and what follows from it.
pub(crate) fn work_urgent(urgent: Arc<Urgent>) {
    let most = urgent.pop();
    TURN.with(|turn| turn.work(urgent, most));
}

impl Turn {
    fn is_worker_of(&self, pool: &Pool) -> bool {
        self.worker_of.get() == Some(Arc::as_ptr(pool.urgent()).addr())
    }

    fn work(&self, urgent: Arc<Urgent>, mut ready: Option<Ready>) {
        // Code that waits inside rayon may be given another job meanwhile.
        let was_inside = self.is_inside.replace(true);
        let was_worker_of = self.worker_of.replace(Some(Arc::as_ptr(&urgent).addr()));
        self.runs.set(0);
        while let Some(this) = self.choose(&urgent, &mut ready) {
            this.run();
            ready = ready.or_else(|| self.next.take());
            if !self.has_more_runs() {
                ready.take().into_iter().chain(self.next.take()).for_each(Pool::run);
            }
        }
        self.worker_of.set(was_worker_of);
        self.is_inside.set(was_inside);
        self.urgent.set(Some(urgent));
    }

    /// Counts one more run; false when others should have their turn.
    fn has_more_runs(&self) -> bool {
        self.runs.set(self.runs.get() + 1);
        self.runs.get() < RUNS_MAX
    }

    /// Makes it the next one; gives back the less urgent, or older, of two.
    fn line_up(&self, ready: Ready) -> Option<Ready> {
        let mut next = self.next.borrow_mut();
        match &*next {
            Some(first) if first.priority() > ready.priority() => Some(ready),
            _ => next.replace(ready),
        }
    }

    fn pop_here(&self) -> Option<Ready> {
        self.here.borrow_mut().pop_front()
    }

    /// What must be run here, then what is ready, or something more urgent in its place.
    fn choose(&self, urgent: &Urgent, ready: &mut Option<Ready>) -> Option<Ready> {
        self.pop_here().or_else(|| ready.take().map(|ready| urgent.most_of(ready)))
    }
}
