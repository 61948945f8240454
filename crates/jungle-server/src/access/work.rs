//! How what a visitor asks for is done: at once, off the threads that serve, or in line.

use std::sync::Arc;

use axum::http::header::{HeaderValue, RETRY_AFTER};
use jungle::{CommitOptions, Committed, Draft, Durability, Revision, TreeHandle};
use jungle_words::Found;
use tokio::time::timeout;

use super::visitor::Visitor;
use crate::app::{aside, aside_with};
use crate::limits::line::Turn;
use crate::problem::{Kind, Problem};

/// Further back than this it takes long to count.
const STEPS_NEAR: usize = 1_000;

impl Visitor {
    /// The version of a tree that has this name; without one the newest. Those between are gone
    /// through: where they are many, in line with all who look at much.
    pub(crate) async fn find(&self, tree: &TreeHandle, at: Option<&str>) -> Result<Found, Problem> {
        match at.filter(|at| is_far_back(at)) {
            Some(at) => {
                let (tree, at) = (tree.clone(), at.to_owned());
                self.in_line(move || Ok(jungle_words::find(&tree, &at)?)).await
            }
            None => Ok(jungle_words::find_or_newest(tree, at)?),
        }
    }

    /// Commits something short on top of whatever others do, and waits until that survives what it
    /// has to.
    pub(crate) async fn update<T: Send + 'static>(
        &self,
        tree: &TreeHandle,
        options: CommitOptions,
        mut f: impl FnMut(&mut Draft) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Committed<T>, Problem> {
        let durability = options.durability;
        let at_once = CommitOptions { durability: Some(Durability::Memory), ..options };
        if let Some(committer) = &self.committer {
            return committer.update(tree, &at_once, f).await;
        }
        let committed = tree.update_with(&at_once, &mut f)?;
        if let Some(disk) = &self.disk {
            disk.wait(committed.revision, durability).await?;
        }
        Ok(committed)
    }

    /// Does something short that commits with [`Durability::Memory`], at once, and waits then until
    /// the revision it made survives what is asked for.
    pub(crate) async fn commit<T>(
        &self,
        durability: Option<Durability>,
        f: impl FnOnce() -> Result<(T, Revision), Problem>,
    ) -> Result<T, Problem> {
        let (value, revision) = match self.cluster {
            // It waits for its place in the log.
            Some(_) => tokio::task::block_in_place(f)?,
            None => f()?,
        };
        if let Some(disk) = &self.disk {
            disk.wait(revision, durability).await?;
        }
        Ok(value)
    }

    /// Does what looks at much, off the threads that serve: so many at a time, and of these half at
    /// most, rounded up, for one client. Who is refused has not begun.
    pub(crate) async fn in_line<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        aside_with(self.turn().await?, f).await
    }

    /// The same for what compares and commits: it has no turn while it waits for a disk or a log,
    /// but counts as a commit that takes long. Once begun it is done, whether or not the client
    /// stays.
    pub(crate) async fn in_line_to_commit<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Arc<Turn>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::new(self.turn().await?);
        aside(move || f(&turn)).await
    }

    async fn turn(&self) -> Result<Turn, Problem> {
        let turn = timeout(self.options.limits.line_time, self.line.turn(self.whose())).await;
        turn.map_err(|_| {
            let detail = "too much is being searched and compared here";
            Problem::new(Kind::TooMany, detail).header(RETRY_AFTER, HeaderValue::from_static("5"))
        })
    }

    /// Does something that commits and may take long. Where it waits, for a disk or a log, it is
    /// kept off the threads that serve; once begun it is done, whether or not the client stays.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Visitor) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        if self.disk.is_none() && self.cluster.is_none() {
            return f(self);
        }
        // Never closed; and whoever waits here has not begun.
        let permit = Arc::clone(&self.writers).acquire_owned().await;
        let visitor = self.clone();
        aside_with(permit, move || f(&visitor)).await
    }

    /// The same with the version that [`find`](Visitor::find) finds. That is looked for when it
    /// is written, since it may not be kept for long.
    pub(crate) async fn write_from<T: Send + 'static>(
        &self,
        tree: TreeHandle,
        at: Option<String>,
        f: impl FnOnce(Found) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let is_far = at.as_deref().is_some_and(is_far_back);
        let find = move || jungle_words::find_or_newest(&tree, at.as_deref());
        match is_far {
            true => self.in_line_to_commit(move |turn| f(turn.compare(find)?)).await,
            false => self.write(move |_| f(find()?)).await,
        }
    }
}

/// Does it say many steps back, as `main~5000` does?
fn is_far_back(at: &str) -> bool {
    let steps = at.rsplit_once('~').and_then(|(_, steps)| steps.parse().ok());
    steps.is_some_and(|steps: usize| steps > STEPS_NEAR)
}
