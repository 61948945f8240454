//! Graphs: named members, and who knows whom under which label.

use std::collections::BTreeSet;
use std::fmt;

use super::dot::{self, DotError};
use crate::name::{NameError, token};

/// The most members of a graph.
pub const MEMBERS_MAX: usize = 1000;
/// The most edges of a graph.
pub const EDGES_MAX: usize = 10_000;

/// That somebody knows somebody else, under a label that means something to the former only.
///
/// ```
/// use alice_nats::{Edge, Graph};
///
/// let helps = Edge { from: "ana".into(), label: "helper".into(), to: "ben".into() };
/// let graph = Graph::new(["ana".into(), "ben".into()], [helps.clone()])?;
/// assert_eq!(graph.edges(), [helps]);
/// assert_eq!(Graph::parse(&graph.to_string())?, graph);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Who knows.
    pub from: String,
    /// Under which label.
    pub label: String,
    /// Whom.
    pub to: String,
}

/// Named members, and who knows whom: from a file in Graphviz's language, or a
/// [`Shape`](crate::Shape).
///
/// ```
/// use alice_nats::Graph;
///
/// let graph = Graph::parse(r#"digraph { ana -> ben [label="helper"]; ben -> ana }"#)?;
/// assert_eq!(graph.names(), ["ana", "ben"]);
/// assert_eq!(graph.neighbours("ana").next().unwrap().label, "helper");
/// // An edge without a label has the name of whom it leads to.
/// assert_eq!(graph.neighbours("ben").next().unwrap().label, "ana");
/// # Ok::<(), alice_nats::DotError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    names: Vec<String>,
    edges: Vec<Edge>,
}

/// What cannot be a graph.
///
/// ```
/// use alice_nats::{DotError, Graph, GraphError};
///
/// let twice = Graph::new(["ana".into(), "ana".into()], []);
/// assert_eq!(twice.unwrap_err(), GraphError::NameTwice { name: "ana".into() });
/// let error = Graph::parse("digraph { ana -> ben; ana -> ben }").unwrap_err();
/// assert_eq!(error.to_string(), "`ana` has two neighbours with the label `ben`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Nobody is in it.
    #[error("nobody is in the graph")]
    Empty,
    /// A member's name cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Two members have one name.
    #[error("the name `{name}` is there twice")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// Somebody would know two others under one label.
    #[error("`{from}` has two neighbours with the label `{label}`")]
    LabelTwice {
        /// Who.
        from: String,
        /// The label.
        label: String,
    },
    /// An edge leads to or from somebody who is not in the graph.
    #[error("`{name}` has an edge, and is not in the graph")]
    Unknown {
        /// Who is not.
        name: String,
    },
    /// There are more than [`MEMBERS_MAX`].
    #[error("more than {MEMBERS_MAX} are in the graph")]
    TooManyMembers,
    /// There are more than [`EDGES_MAX`].
    #[error("the graph has more than {EDGES_MAX} edges")]
    TooManyEdges,
}

impl Graph {
    /// A graph of these members and edges.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn new(
        names: impl IntoIterator<Item = String>,
        edges: impl IntoIterator<Item = Edge>,
    ) -> Result<Graph, GraphError> {
        let names: Vec<String> = names.into_iter().take(MEMBERS_MAX + 1).collect();
        let edges: Vec<Edge> = edges.into_iter().take(EDGES_MAX + 1).collect();
        match (names.len(), edges.len()) {
            (0, _) => return Err(GraphError::Empty),
            (1..=MEMBERS_MAX, 0..=EDGES_MAX) => {}
            (1..=MEMBERS_MAX, _) => return Err(GraphError::TooManyEdges),
            _ => return Err(GraphError::TooManyMembers),
        }
        let mut known = BTreeSet::new();
        for name in &names {
            token(name)?;
            if !known.insert(name) {
                return Err(GraphError::NameTwice { name: name.clone() });
            }
        }
        let mut labels = BTreeSet::new();
        for Edge { from, label, to } in &edges {
            if let Some(name) = [from, to].into_iter().find(|name| !known.contains(name)) {
                return Err(GraphError::Unknown { name: name.clone() });
            }
            if !labels.insert((from, label)) {
                return Err(GraphError::LabelTwice { from: from.clone(), label: label.clone() });
            }
        }
        Ok(Graph { names, edges })
    }

    /// Reads a graph in Graphviz's language, as far as it says who knows whom: nodes, edges with
    /// `label`, chains of them (`a -> b -> c`); `a -- b` is an edge each way. What is only for the
    /// eye is passed over. Groups (`subgraph`, `{a b} -> c`), ports and HTML are refused.
    ///
    /// # Errors
    /// Says in which line what is wrong.
    ///
    /// ```
    /// use alice_nats::Graph;
    ///
    /// let graph = Graph::parse("graph { ana -- ben -- cleo [color=red] }")?;
    /// let known: Vec<&str> = graph.neighbours("ben").map(|edge| &*edge.label).collect();
    /// assert_eq!(known, ["ana", "cleo"]);
    /// # Ok::<(), alice_nats::DotError>(())
    /// ```
    pub fn parse(dot: &str) -> Result<Graph, DotError> {
        dot::parse(dot)
    }

    /// The members, in the order in which they were named.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Who knows whom.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whom this one knows.
    pub fn neighbours<'g>(&'g self, name: &'g str) -> impl Iterator<Item = &'g Edge> {
        self.edges.iter().filter(move |edge| edge.from == name)
    }
}

/// In Graphviz's language, so that [`Graph::parse`] gives the same.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "digraph {{")?;
        for name in &self.names {
            writeln!(f, "  {};", Quoted(name))?;
        }
        for Edge { from, label, to } in &self.edges {
            writeln!(f, "  {} -> {} [label={}];", Quoted(from), Quoted(to), Quoted(label))?;
        }
        writeln!(f, "}}")
    }
}

struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
