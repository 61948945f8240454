//! Asking the servers of other clusters which trees they have.

use std::time::Duration;

use async_nats::Client;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::no_answer;
use super::questions::Answers;
use crate::cluster::elsewhere::{Elsewhere, TellTrees};
use crate::engine::log::LogError;

/// On which all servers of an engine are asked, of whichever cluster.
pub(super) const SUBJECT: &str = "jungle-trees";

/// More servers are not listed.
const SERVERS_MAX: usize = 1_000;
/// Whoever has a tree has mostly answered so soon after the first one.
const SOON: Duration = Duration::from_millis(20);

/// What is asked.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    /// The cluster that asks: its own servers have nothing to say.
    of: String,
    /// `None`: which trees there are.
    tree: Option<String>,
}

impl Question {
    pub(super) fn new(of: &str, tree: Option<&str>) -> Question {
        Question { of: of.to_owned(), tree: tree.map(str::to_owned) }
    }

    /// What a server of this cluster answers, if anything.
    pub(super) fn answer(bytes: &[u8], cluster: &str, tell: &TellTrees) -> Option<Vec<u8>> {
        let Question { of, tree } = serde_json::from_slice(bytes).ok()?;
        let told = if of == cluster { None } else { tell(tree.as_deref()) };
        serde_json::to_vec(&told?).ok()
    }

    /// Asks all servers, and takes what comes in time; of one tree, what comes soon after the
    /// first answer.
    pub(super) async fn ask(
        self,
        client: Client,
        within: Duration,
    ) -> Result<Vec<Elsewhere>, LogError> {
        let mut deadline = Instant::now() + within;
        let question = serde_json::to_vec(&self).map_err(no_answer)?;
        let mut answers = Answers::ask(&client, SUBJECT.to_owned(), Bytes::from(question)).await?;
        let mut found: Vec<Elsewhere> = Vec::new();
        while found.len() < SERVERS_MAX
            && let Some(told) = answers.next::<Elsewhere>(deadline).await
        {
            if self.tree.is_some() {
                deadline = deadline.min(Instant::now() + SOON);
            }
            found.push(told);
        }
        found.sort_unstable();
        Ok(found)
    }
}
