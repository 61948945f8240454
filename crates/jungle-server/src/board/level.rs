//! At which level messages are committed, and what is read then.

use std::sync::Arc;

use jungle::{CommitMeta, CommitOptions, Draft, Durability, Revision, Snapshot, TreeHandle};
use jungle_cluster::Local;
use tokio::sync::watch;

use crate::acknowledge::Acknowledger;
use crate::etag::Edition;
use crate::metrics::Counter;
use crate::problem::Problem;

/// At which level messages are committed.
pub(crate) enum Level {
    Quorum,
    Local(Outbox),
}

/// Where messages are kept until they have their places.
pub(crate) struct Outbox {
    local: Arc<Local>,
    disk: Acknowledger,
    /// Something was kept.
    news: watch::Sender<()>,
}

/// A board as it is shown here.
pub(crate) struct Shown {
    pub(crate) snapshot: Snapshot,
    pub(crate) edition: Edition,
}

impl Level {
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn local(local: &Arc<Local>, panics: Arc<Counter>) -> std::io::Result<Level> {
        let disk = Acknowledger::of_outbox(Arc::clone(local), panics)?;
        let (local, news) = (Arc::clone(local), watch::Sender::new(()));
        Ok(Level::Local(Outbox { local, disk, news }))
    }

    pub(crate) fn outbox(&self) -> Option<&Outbox> {
        match self {
            Level::Quorum => None,
            Level::Local(outbox) => Some(outbox),
        }
    }

    /// What is newest of a board here.
    pub(crate) fn look(&self, board: &TreeHandle) -> Result<Shown, Problem> {
        match self.outbox() {
            None => {
                let snapshot = board.snapshot();
                Ok(Shown { edition: snapshot.revision().into(), snapshot })
            }
            Some(outbox) => {
                let (snapshot, newest) = outbox.local.look(board)?;
                Ok(Shown { edition: Edition::new(snapshot.revision(), newest), snapshot })
            }
        }
    }
}

impl Outbox {
    /// Adds to a board; it is to be [waited for](Outbox::wait).
    pub(super) fn add<T>(
        &self,
        board: &TreeHandle,
        meta: &CommitMeta,
        f: impl FnOnce(&mut Draft) -> Result<T, Problem>,
    ) -> Result<Revision, Problem> {
        let kept = self.local.extend(board, &unsynced(meta), f)?;
        self.tell();
        Ok(kept.revision)
    }

    /// Edits what is there, as [`add`](Outbox::add).
    pub(super) fn edit<T>(
        &self,
        board: &TreeHandle,
        meta: &CommitMeta,
        f: impl FnOnce(&mut Draft) -> Result<T, Problem>,
    ) -> Result<(T, Revision), Problem> {
        let kept = self.local.update(board, &unsynced(meta), f)?;
        self.tell();
        Ok((kept.value, kept.revision))
    }

    /// Waits until what was kept survives what it has to.
    pub(super) async fn wait(&self, kept: Revision) -> Result<(), Problem> {
        self.disk.wait(kept, None).await
    }

    /// Tells that something was kept here.
    pub(crate) fn tell(&self) {
        self.news.send_replace(());
    }

    /// Tells when something is kept here from now on.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }
}

/// It is waited for afterwards, by one for all.
fn unsynced(meta: &CommitMeta) -> CommitOptions {
    CommitOptions { durability: Some(Durability::Memory), ..CommitOptions::from(meta) }
}
