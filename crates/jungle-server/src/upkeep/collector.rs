//! Who gives back what nobody can see any more, while others are served. In a cluster somebody
//! else does (`jungle-cluster`'s `collector.rs`).

use std::error::Error;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use jungle::{ArchiveError, CollectError, Collector, Jungle, loading};

use crate::metrics::{Collections, Metrics};

/// It rests so many times as long as it worked, at least.
const REST: u32 = 20;

/// A thread that looks now and then. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Collecting {
    thread: Option<JoinHandle<()>>,
    over: Arc<Over>,
}

/// Whether it shall end.
#[derive(Debug, Default)]
struct Over {
    is_over: Mutex<bool>,
    changed: Condvar,
    /// The same, for a collection that is under way.
    given_up: AtomicBool,
}

type DropOld = dyn Fn(&Jungle) -> Result<(), ArchiveError>;

impl Collecting {
    /// Starts it; it looks so often, and drops what has become too old if it may. What is there now
    /// is taken to be alive.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start(
        jungle: Jungle,
        (every, drops_by_age): (Duration, bool),
        metrics: &Metrics,
    ) -> std::io::Result<Collecting> {
        let over = Arc::new(Over::default());
        let until = Arc::clone(&over);
        let mut collector = Collector::new();
        collector.look(&jungle).map_err(std::io::Error::other)?;
        let drop_old = move |jungle: &Jungle| match drops_by_age {
            true => jungle.apply_retention(),
            false => Ok(()),
        };
        let (collections, panics) = (Arc::clone(&metrics.collections), Arc::clone(&metrics.panics));
        let run = move || {
            let _watched = panics.on_unwind();
            run(&jungle, (collector, every, &drop_old), &collections, &until);
        };
        let thread = Builder::new().name("collector".to_owned()).spawn(run)?;
        Ok(Collecting { thread: Some(thread), over })
    }

    /// Has it end, without waiting for that: a collection is given up, but that takes a moment.
    pub(crate) fn end(&self) {
        self.over.given_up.store(true, Ordering::SeqCst);
        *self.over.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.changed.notify_all();
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        self.end();
        // A bug in it was told where it was.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Over {
    fn flow(&self) -> ControlFlow<()> {
        match self.given_up.load(Ordering::SeqCst) {
            true => Break(()),
            false => Continue(()),
        }
    }

    /// Waits for so long; tells whether it shall end.
    fn comes_within(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_over, time, |is_over| !*is_over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn run(
    jungle: &Jungle,
    (mut collector, every, drop_old): (Collector, Duration, &DropOld),
    collections: &Collections,
    until: &Over,
) {
    let mut rest = every;
    while !until.comes_within(rest) {
        let began = Instant::now();
        let looked = loading(|| {
            // Where nothing is committed, nothing else notices that something became too old.
            drop_old(jungle)?;
            collector.look_while(jungle, || until.flow())
        });
        match looked {
            Ok(Ok(None) | Err(CollectError::GivenUp)) => {}
            Ok(Ok(Some(collected))) => collections.count(&Ok::<_, ()>(collected)),
            Ok(Err(error)) => failed(&error, collections),
            Err(error) => failed(&error, collections),
        }
        rest = every.max(began.elapsed() * REST);
    }
}

fn failed(error: &(dyn Error + 'static), collections: &Collections) {
    tracing::warn!(error, "what nobody uses was not given back");
    collections.count(&Err(()));
}
