//! Commits of a server of a cluster: two threads work them out, on behalf of all who ask, and wait
//! for their places in the log. So a commit needs no thread that sleeps; while the one waits for an
//! answer, the other works out what has come meanwhile.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, yield_now};

use jungle::{
    CommitOptions, Committed, Draft, Jungle, NotWritten, Placed, Revision, Series, TreeHandle,
};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::app::aside_with;
use crate::problem::Problem;

/// How many wait for the log, or work out what is to come.
const THREADS: usize = 2;
/// So often others are let go first before something is worked out: those who were just answered
/// ask again, most of them.
const GATHER_TURNS: usize = 64;
/// So many are tried by themselves at once, with a thread each: where they contradict what has no
/// place yet, they wait for the log, and whoever only reads needs threads meanwhile.
const ALONE_MAX: usize = 32;

/// Where commits are asked for.
pub(crate) struct Committer {
    send: mpsc::UnboundedSender<Box<dyn Job>>,
    /// A permit for each that is tried by itself.
    alone: Arc<Semaphore>,
}

/// What became of a commit.
enum Outcome<T, F> {
    /// It has its place.
    Done(Committed<T>),
    /// It fails, or changes nothing, on top of what may come to nothing yet: so it is tried by
    /// itself, which tells.
    Alone(F),
    NotWritten(NotWritten),
}

/// A commit that was asked for.
trait Job: Send {
    fn branch(&self) -> &TreeHandle;

    fn work_out(&mut self, series: &mut Series<'_>);

    /// Of the commits that were added together, so many have their places, from this revision on.
    fn end(self: Box<Self>, placed: &Result<Placed<()>, NotWritten>) -> Option<Box<dyn Job>>;
}

struct Asked<T, F> {
    branch: TreeHandle,
    options: CommitOptions,
    f: F,
    worked_out: WorkedOut<T>,
    done: oneshot::Sender<Outcome<T, F>>,
}

enum WorkedOut<T> {
    NotYet,
    /// What it came to, and how many commits were added before it.
    Added(Committed<T>, usize),
    Refused,
}

impl Committer {
    /// Starts the threads, which end with this.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start(jungle: &Jungle) -> std::io::Result<Committer> {
        let (send, asked) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue { asked: Mutex::new(asked), expected: AtomicUsize::new(0) });
        for _ in 0..THREADS {
            let (jungle, queue) = (jungle.clone(), Arc::clone(&queue));
            Builder::new().name("commit".to_owned()).spawn(move || run(&jungle, &queue))?;
        }
        Ok(Committer { send, alone: Arc::new(Semaphore::new(ALONE_MAX)) })
    }

    /// Commits on top of whatever others do, and waits until that has its place. Once begun it is
    /// done, whether or not the caller stays.
    pub(crate) async fn update<T, F>(
        &self,
        branch: &TreeHandle,
        options: &CommitOptions,
        f: F,
    ) -> Result<Committed<T>, Problem>
    where
        T: Send + 'static,
        F: FnMut(&mut Draft) -> Result<T, Problem> + Send + 'static,
    {
        let (done, waited) = oneshot::channel();
        let asked = Asked {
            branch: branch.clone(),
            options: options.clone(),
            f,
            worked_out: WorkedOut::NotYet,
            done,
        };
        // That nobody takes it means that nobody says it is done.
        let _ = self.send.send(Box::new(asked));
        match waited.await {
            Ok(Outcome::Done(committed)) => Ok(committed),
            Ok(Outcome::NotWritten(error)) => Err(error.into()),
            Ok(Outcome::Alone(f)) => {
                let (branch, options) = (branch.clone(), options.clone());
                // Never closed; and whoever waits here has not begun.
                let permit = Arc::clone(&self.alone).acquire_owned().await;
                aside_with(permit, move || Ok(branch.update_with(&options, f)?)).await
            }
            // It was let go unanswered.
            Err(_) => Err(Problem::bug()),
        }
    }
}

impl<T, F> Job for Asked<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut Draft) -> Result<T, Problem> + Send + 'static,
{
    fn branch(&self) -> &TreeHandle {
        &self.branch
    }

    fn work_out(&mut self, series: &mut Series<'_>) {
        let before = series.commits();
        let update = || series.update(&self.branch, &self.options, &mut self.f);
        // One that panics does so again by itself.
        self.worked_out = match catch_unwind(AssertUnwindSafe(update)) {
            Ok(Ok(committed)) if series.commits() > before => WorkedOut::Added(committed, before),
            _ => WorkedOut::Refused,
        };
    }

    fn end(mut self: Box<Self>, placed: &Result<Placed<()>, NotWritten>) -> Option<Box<dyn Job>> {
        let outcome = match (std::mem::replace(&mut self.worked_out, WorkedOut::NotYet), placed) {
            (WorkedOut::Refused, _) | (_, Err(NotWritten::Deleted)) => Outcome::Alone(self.f),
            (WorkedOut::NotYet, Err(_)) => return Some(self),
            (WorkedOut::Added(..), Err(error)) => Outcome::NotWritten(error.clone()),
            (WorkedOut::Added(mut committed, before), Ok(placed)) if before < placed.commits => {
                // It may have come behind what others did.
                committed.revision = Revision::new(placed.first.number() + before as u64);
                Outcome::Done(committed)
            }
            (WorkedOut::Added(_, 0), Ok(placed)) if placed.is_too_long => Outcome::Alone(self.f),
            // Others came first.
            (WorkedOut::Added(..) | WorkedOut::NotYet, Ok(_)) => return Some(self),
        };
        // Some have gone meanwhile.
        let _ = self.done.send(outcome);
        None
    }
}

/// What was asked for.
struct Queue {
    asked: Mutex<mpsc::UnboundedReceiver<Box<dyn Job>>>,
    /// How many there were the last time: as many are likely to ask again.
    expected: AtomicUsize,
}

impl Queue {
    /// Adds what was asked for; waits for it where there is nothing yet. `false` when nothing
    /// more is asked for.
    fn take(&self, jobs: &mut Vec<Box<dyn Job>>) -> bool {
        let mut asked = if jobs.is_empty() {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(job) = asked.blocking_recv() else { return false };
            jobs.push(job);
            asked
        } else {
            // What came too late does not wait for what is to come.
            let Ok(asked) = self.asked.try_lock() else { return true };
            asked
        };
        for _ in 0..GATHER_TURNS {
            while let Ok(job) = asked.try_recv() {
                jobs.push(job);
            }
            if jobs.len() >= self.expected.load(Ordering::Relaxed) {
                break;
            }
            yield_now();
        }
        self.expected.store(jobs.len(), Ordering::Relaxed);
        true
    }
}

fn run(jungle: &Jungle, queue: &Queue) {
    let mut jobs = Vec::new();
    while queue.take(&mut jobs) {
        // A bug ends what was asked for together, and not what others ask for later.
        let Ok(placed) = catch_unwind(AssertUnwindSafe(|| place(jungle, &mut jobs))) else {
            jobs.clear();
            continue;
        };
        jobs = jobs.into_iter().filter_map(|job| job.end(&placed)).collect();
    }
}

/// Works them out, and waits for their places.
fn place(jungle: &Jungle, jobs: &mut [Box<dyn Job>]) -> Result<Placed<()>, NotWritten> {
    let branches: BTreeMap<_, _> =
        jobs.iter().map(|job| (job.branch().branch_id(), job.branch().clone())).collect();
    let branches: Vec<&TreeHandle> = branches.values().collect();
    let work_out = |series: &mut Series<'_>| {
        for job in jobs {
            if series.is_full() {
                break;
            }
            job.work_out(series);
        }
    };
    let placed = jungle.in_series(&branches, work_out)?;
    Ok(placed.expect("a server of a cluster has a log"))
}
