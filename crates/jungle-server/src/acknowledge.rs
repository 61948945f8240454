//! Acknowledgements: one thread waits for the disk, on behalf of all who have committed meanwhile.
//! So a commit needs no thread that sleeps, and as many share a sync as come while the last one
//! runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::Builder;

use jungle::{Durability, Jungle, NotWritten, Revision};
use jungle_cluster::Local;
use tokio::sync::{mpsc, oneshot};

use crate::metrics::Counter;
use crate::problem::{Kind, Problem};

/// Where it is asked to wait.
pub(crate) struct Acknowledger {
    send: mpsc::UnboundedSender<Asked>,
    /// What is meant when nothing is said.
    usual: Durability,
}

struct Asked {
    revision: Revision,
    durability: Durability,
    done: oneshot::Sender<Result<(), NotWritten>>,
}

impl Acknowledger {
    /// Starts the thread, which ends with this.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start(jungle: Jungle, panics: Arc<Counter>) -> std::io::Result<Acknowledger> {
        let usual = jungle.durability();
        let wait = move |revision, durability| jungle.wait_until(revision, durability);
        Acknowledger::with(usual, wait, panics)
    }

    /// The same for an outbox and its revisions.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn of_outbox(
        local: Arc<Local>,
        panics: Arc<Counter>,
    ) -> std::io::Result<Acknowledger> {
        let usual = local.durability();
        let wait = move |revision, durability| local.wait_until(revision, durability);
        Acknowledger::with(usual, wait, panics)
    }

    fn with(
        usual: Durability,
        wait: impl Fn(Revision, Durability) -> Result<(), NotWritten> + Send + 'static,
        panics: Arc<Counter>,
    ) -> std::io::Result<Acknowledger> {
        let (send, asked) = mpsc::unbounded_channel();
        let run = move || {
            let watched = |revision: Revision, durability: Durability| {
                let _watched = panics.on_unwind();
                wait(revision, durability)
            };
            run(watched, asked);
        };
        Builder::new().name("acknowledge".to_owned()).spawn(run)?;
        Ok(Acknowledger { send, usual })
    }

    /// Waits until a revision survives what is asked for.
    pub(crate) async fn wait(
        &self,
        revision: Revision,
        durability: Option<Durability>,
    ) -> Result<(), Problem> {
        let durability = durability.unwrap_or(self.usual);
        if durability == Durability::Memory {
            return Ok(());
        }
        let (done, waited) = oneshot::channel();
        // That nobody takes it means that nobody says it is done.
        let _ = self.send.send(Asked { revision, durability, done });
        let given_up = |_| Problem::new(Kind::Failed, "waiting for the disk was given up");
        Ok(waited.await.map_err(given_up)??)
    }
}

/// Waits once for all who have asked since it began to wait for those before them.
fn run(
    wait: impl Fn(Revision, Durability) -> Result<(), NotWritten>,
    mut asked: mpsc::UnboundedReceiver<Asked>,
) {
    while let Some(first) = asked.blocking_recv() {
        let mut group = vec![first];
        while let Ok(next) = asked.try_recv() {
            group.push(next);
        }
        let newest = group.iter().map(|asked| asked.revision).max().unwrap_or_default();
        let is_synced = group.iter().any(|asked| asked.durability == Durability::Sync);
        let durability = if is_synced { Durability::Sync } else { Durability::Buffered };
        // A bug ends the waiting of those that it was for, who are let go, and not of others later.
        let waiting = || wait(newest, durability);
        let Ok(waited) = catch_unwind(AssertUnwindSafe(waiting)) else { continue };
        for asked in group {
            // Some have gone meanwhile.
            let _ = asked.done.send(waited.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_bug_ends_the_waiting_that_meets_it_only() {
        let (panics, is_broken) = (Arc::new(Counter::default()), AtomicBool::new(true));
        let wait = move |_: Revision, _: Durability| -> Result<(), NotWritten> {
            assert!(!is_broken.swap(false, Ordering::SeqCst), "as it waits");
            Ok(())
        };
        let disk = Acknowledger::with(Durability::Sync, wait, Arc::clone(&panics)).unwrap();
        let asked = || disk.wait(Revision::new(1), None);
        assert!(asked().await.is_err());
        assert_eq!(panics.get(), 1);
        assert!(asked().await.is_ok());
    }
}
