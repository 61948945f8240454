//! What all requests share.

use std::sync::Arc;

use jungle_cluster::Cluster;
use tokio::sync::{Semaphore, watch};

use crate::access::{Gate, Trees};
use crate::acknowledge::Acknowledger;
use crate::board::{Cache, Level};
use crate::committer::Committer;
use crate::guard::Hosts;
use crate::hub::Hubs;
use crate::metrics::Metrics;
use crate::once::Once;
use crate::options::Options;
use crate::problem::{Kind, Problem};
use crate::rate::Rate;
use crate::tag::Mark;

/// What all requests share.
pub(crate) struct App {
    pub(crate) trees: Trees,
    /// Where there is an access file.
    pub(crate) gate: Option<Gate>,
    /// Where commits wait for a disk.
    pub(crate) disk: Option<Acknowledger>,
    /// Where it is one server of several.
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// There, who commits.
    pub(crate) committer: Option<Committer>,
    /// At which level messages of boards are committed.
    pub(crate) boards: Level,
    pub(crate) options: Options,
    pub(crate) hosts: Hosts,
    pub(crate) metrics: Metrics,
    pub(crate) rate: Rate,
    pub(crate) hubs: Hubs,
    pub(crate) once: Once,
    pub(crate) mark: Mark,
    pub(crate) pages: Cache,
    /// A permit for each commit that is under way.
    pub(crate) writers: Semaphore,
    /// A permit for each export and import.
    pub(crate) documents: Arc<Semaphore>,
    /// A permit for each stream that watches.
    pub(crate) watchers: Arc<Semaphore>,
    /// A permit for each who asks other clusters for a tree.
    pub(crate) seekers: Semaphore,
    pub(crate) stopping: Stopping,
}

/// Tells all who wait for it that the server stops: streams end then.
#[derive(Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    pub(crate) fn new(is_stopping: watch::Receiver<bool>) -> Stopping {
        Stopping(is_stopping)
    }

    pub(crate) async fn wait(&mut self) {
        // That nobody is left who could say so means the same.
        let _ = self.0.wait_for(|is_stopping| *is_stopping).await;
    }
}

/// Does something that takes long, off the threads that serve.
pub(crate) async fn aside<T: Send + 'static>(
    f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    // Part of a folder is read only when it is looked at.
    let done = tokio::task::spawn_blocking(|| jungle::loading(f)?).await;
    done.unwrap_or_else(|_| Err(Problem::new(Kind::Failed, "the request was given up")))
}
