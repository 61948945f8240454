//! Trees that other clusters have.
//!
//! Several clusters may share an engine, each with a name and a log of its own: so trees are spread
//! over logs, and a server has those of its cluster only. Who has a tree that is not here is asked
//! of all servers of the engine; nobody keeps a list.

use std::sync::Arc;

use jungle_db::Jungle;
use serde::{Deserialize, Serialize};

/// More trees are not told at once.
const TREES_MAX: usize = 1_000;

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
