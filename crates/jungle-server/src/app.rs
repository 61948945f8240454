//! What all requests share.

use std::sync::Arc;

use jungle::CheckpointStatus;
use jungle_cluster::Cluster;
use tokio::sync::{Semaphore, watch};

use crate::access::{Gate, Trees, Whose};
use crate::acknowledge::Acknowledger;
use crate::api::Compared;
use crate::audit::Audit;
use crate::board::{Cache, Level};
use crate::cluster::Faults;
use crate::committer::Committer;
use crate::etag::Mark;
use crate::guard::Hosts;
use crate::hub::Hubs;
use crate::limits::line::Line;
use crate::limits::places::Places;
use crate::limits::rate::Rate;
use crate::metrics::Metrics;
use crate::once::Once;
use crate::options::Options;
use crate::problem::{Kind, Problem};
use crate::status::Samples;
use crate::tls::Encryption;
use crate::upkeep::Upkeep;

/// What all requests share.
pub(crate) struct App {
    pub(crate) trees: Trees,
    /// Where there is an access file.
    pub(crate) gate: Option<Gate>,
    /// Where commits wait for a disk.
    pub(crate) disk: Option<Acknowledger>,
    /// Where there is a folder: how its checkpoints are.
    pub(crate) checkpoints: Option<CheckpointStatus>,
    /// There, what is done with it while it is served.
    pub(crate) upkeep: Option<Arc<Upkeep>>,
    /// Where it is one server of several.
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// There, whether it is that still.
    pub(crate) faults: Faults,
    /// There, who commits.
    pub(crate) committer: Option<Committer>,
    /// At which level messages of boards are committed.
    pub(crate) boards: Level,
    pub(crate) options: Options,
    /// What encrypts, where that is asked for.
    pub(crate) encryption: Option<Encryption>,
    pub(crate) hosts: Hosts,
    pub(crate) metrics: Metrics,
    pub(crate) samples: Samples,
    pub(crate) rate: Rate,
    pub(crate) audit: Audit,
    pub(crate) hubs: Hubs,
    pub(crate) once: Arc<Once>,
    pub(crate) mark: Mark,
    pub(crate) pages: Cache,
    pub(crate) compared: Compared,
    /// A permit for each commit that is under way and may take long.
    pub(crate) writers: Arc<Semaphore>,
    /// Who looks at much.
    pub(crate) line: Arc<Line>,
    /// Where exports and imports take place.
    pub(crate) documents: Arc<Places<Whose>>,
    /// Where streams watch.
    pub(crate) watchers: Arc<Places<Whose>>,
    /// A permit for each who asks other clusters for a tree.
    pub(crate) seekers: Semaphore,
    /// Where it is waited for what this server has not followed yet.
    pub(crate) waiters: Arc<Places<Whose>>,
    pub(crate) stopping: Stopping,
}

impl App {
    /// How many steps a request may take to compare what it asks for.
    pub(crate) fn steps_max(&self) -> u64 {
        self.options.limits.compare_steps_max as u64
    }
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
    done.unwrap_or_else(|ended| match ended.is_panic() {
        true => Err(Problem::bug()),
        false => Err(Problem::new(Kind::Failed, "the request was given up")),
    })
}

/// The same, with something that is given back when it is done: not when the client goes away,
/// since it goes on then.
pub(crate) async fn aside_with<T: Send + 'static>(
    permit: impl Send + 'static,
    f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    aside(move || {
        let done = f();
        drop(permit);
        done
    })
    .await
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;
    use crate::problem::Bug;

    #[tokio::test]
    async fn bug_on_another_thread_is_told_from_other_failures() {
        let is_bug = |problem: Problem| {
            assert_eq!(problem.status(), 500);
            problem.into_response().extensions().get::<Bug>().is_some()
        };
        let ended = aside(|| -> Result<(), Problem> { panic!("a bug") }).await;
        assert!(is_bug(ended.unwrap_err()));
        let failed = aside(|| Err::<(), _>(Problem::new(Kind::Failed, "a disk"))).await;
        assert!(!is_bug(failed.unwrap_err()));
    }
}
