//! Trees that other clusters have.
//!
//! Several clusters may share an engine, each with a name and a log of its own: so trees are spread
//! over logs, and a server has those of its cluster only. Who has a tree that is not here is asked
//! of all servers of the engine; nobody keeps a list.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use bytes::Bytes;
use jungle_db::Jungle;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::engine::log::LogError;
use crate::engine::nats::questions::Answers;

/// On which all servers of an engine are asked, of whichever cluster.
pub(crate) const SUBJECT: &str = "jungle-trees";

/// More trees are not told at once.
const TREES_MAX: usize = 1_000;
/// More servers are not listed.
const SERVERS_MAX: usize = 1_000;
/// Whoever has a tree has mostly answered so soon after the first one.
const SOON: Duration = Duration::from_millis(20);

/// A server of another cluster of the same engine, and trees that it has; the names of the fields
/// are those of the JSON form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Elsewhere {
    /// The name of its cluster.
    pub cluster: String,
    /// Its own name.
    pub server: String,
    /// Where it serves, if it does: see [`Cluster::set_address`](crate::Cluster::set_address).
    pub address: Option<String>,
    /// The tree that was asked for, or else the first 1,000 by their names.
    pub trees: Vec<String>,
    /// Whether it has more than those.
    pub more: bool,
}

/// What is asked.
#[derive(Serialize, Deserialize)]
pub(crate) struct Question {
    /// The cluster that asks: its own servers have nothing to say.
    of: String,
    /// `None`: which trees there are.
    tree: Option<String>,
}

/// Says which trees a server has: the one that is asked for, if it has it, or all.
pub type TellTrees = Arc<dyn Fn(Option<&str>) -> Option<Elsewhere> + Send + Sync>;

impl Elsewhere {
    /// What a server of a cluster says of its trees.
    pub(crate) fn tell(
        (cluster, server): (&str, &str),
        address: Option<&String>,
        jungle: &Jungle,
        tree: Option<&str>,
    ) -> Option<Elsewhere> {
        let (trees, more) = match tree {
            Some(tree) => (vec![jungle.open_tree(tree).ok().map(|_| tree.to_owned())?], false),
            None => {
                let all = jungle.list_trees();
                let first = all.iter().take(TREES_MAX).map(|name| name.as_ref().to_owned());
                (first.collect(), all.len() > TREES_MAX)
            }
        };
        let (cluster, server) = (cluster.to_owned(), server.to_owned());
        Some(Elsewhere { cluster, server, address: address.cloned(), trees, more })
    }
}

impl Question {
    pub(crate) fn new(of: &str, tree: Option<&str>) -> Question {
        Question { of: of.to_owned(), tree: tree.map(str::to_owned) }
    }

    /// What a server of this cluster answers, if anything.
    pub(crate) fn answer(bytes: &[u8], cluster: &str, tell: &TellTrees) -> Option<Vec<u8>> {
        let Question { of, tree } = serde_json::from_slice(bytes).ok()?;
        let told = if of == cluster { None } else { tell(tree.as_deref()) };
        serde_json::to_vec(&told?).ok()
    }

    /// Asks all servers, and takes what comes in time; of one tree, what comes soon after the
    /// first answer.
    pub(crate) async fn ask(
        self,
        client: Client,
        within: Duration,
    ) -> Result<Vec<Elsewhere>, LogError> {
        let mut deadline = Instant::now() + within;
        let question = serde_json::to_vec(&self).map_err(crate::engine::nats::no_answer)?;
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
