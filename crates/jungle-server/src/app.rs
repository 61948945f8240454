//! What all requests share.

use std::sync::Arc;

use jungle::{Jungle, TreeHandle};
use jungle_words::Found;
use tokio::sync::{Semaphore, watch};

use crate::board::Cache;
use crate::guard::Hosts;
use crate::hub::Hubs;
use crate::metrics::Metrics;
use crate::once::Once;
use crate::options::Options;
use crate::problem::{Kind, Problem};
use crate::query::Query;
use crate::rate::Rate;
use crate::tag::Mark;

/// What all requests share.
pub(crate) struct App {
    pub(crate) jungle: Jungle,
    /// Do commits wait for a disk?
    pub(crate) is_durable: bool,
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

pub(crate) type State = axum::extract::State<Arc<App>>;

impl App {
    /// The tree of this name.
    pub(crate) fn tree(&self, name: &str) -> Result<TreeHandle, Problem> {
        Ok(self.jungle.open_tree(name)?)
    }

    /// The tree of this name, on the branch that the query says.
    pub(crate) fn branch(&self, name: &str, query: &Query) -> Result<TreeHandle, Problem> {
        let tree = self.tree(name)?;
        match query.text("branch")? {
            Some(branch) => Ok(tree.on_branch(branch)?),
            None => Ok(tree),
        }
    }

    /// The version that the query says.
    pub(crate) fn version(&self, name: &str, query: &Query) -> Result<Found, Problem> {
        let tree = self.branch(name, query)?;
        Ok(jungle_words::find_or_newest(&tree, query.text("at")?)?)
    }

    /// Does something that commits. Where that waits for a disk, it is kept off the threads that
    /// serve; once begun it is done, whether or not the client stays.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        f: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        if !self.is_durable {
            return f(self);
        }
        // Never closed; and whoever waits here has not begun.
        let permit = self.writers.acquire().await;
        let app = Arc::clone(self);
        let done = aside(move || f(&app)).await;
        drop(permit);
        done
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
