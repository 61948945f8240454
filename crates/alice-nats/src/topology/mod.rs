//! Topologies: who is whose neighbour, under which label.
//!
//! Nobody manages one. What it is, and who has which place, is kept in a bucket of the engine, and
//! changed by compare-and-set; each member follows it, and the labels, and knows what it needs.

mod dot;
mod follow;
mod graph;
mod part;
mod places;
mod shape;
mod view;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use dot::{DOT_BYTES_MAX, DotError};
pub use graph::{EDGES_MAX, Edge, Graph, GraphError, MEMBERS_MAX};
pub use part::{Event, Part};
pub(crate) use places::Places;
pub use shape::{NoShape, Shape};
pub use view::{Seen, View};

/// Who is whose neighbour: a fixed graph of named members, or a shape that grows and shrinks.
/// [`Engine::take_part`](crate::Engine::take_part) has a node take part in one.
///
/// ```no_run
/// use std::time::Duration;
/// use alice::{Key, Node};
/// use alice_nats::{Engine, Options, Shape, Topology};
///
/// const TOKEN: Key<u64> = Key::new("token");
///
/// let engine = Engine::connect("localhost", Options::default())?;
/// let node = Node::new();
/// let part = engine.take_part(&Topology::growing("fish", Shape::Ring), "ana", &node)?;
/// part.member().serve(&TOKEN)?;
/// part.wait_for(3, Duration::from_secs(60))?;
/// let token = *node.take(&TOKEN)?;
/// part.peer("right")?.put(&TOKEN, token + 1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// All who take part must mean the same by a topology's name, or are refused, for as long as
/// anybody of it is there.
#[derive(Clone, Debug)]
pub struct Topology {
    pub(crate) name: String,
    pub(crate) plan: Plan,
    pub(crate) keep: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Fixed(Arc<Graph>),
    Growing(Shape),
}

/// How long a place is kept for one who is gone, if nothing else is said.
const KEEP: Duration = Duration::from_secs(10);

impl Topology {
    /// These members and no others. Who is gone is missing, until it returns under its name.
    ///
    /// ```
    /// use alice_nats::{Graph, Topology};
    ///
    /// let graph = Graph::parse(r#"digraph { ana -> ben [label="helper"] }"#)?;
    /// let shop = Topology::fixed("shop", graph);
    /// assert_eq!(shop.name(), "shop");
    /// # Ok::<(), alice_nats::DotError>(())
    /// ```
    #[must_use]
    pub fn fixed(name: &str, graph: Graph) -> Topology {
        Topology { name: name.to_owned(), plan: Plan::Fixed(Arc::new(graph)), keep: KEEP }
    }

    /// Whoever comes gets the first free place, and at once. Who is gone can return to its place
    /// for some time ([`keep_places_for`](Topology::keep_places_for)); then the last member moves
    /// there, so that the shape stays whole.
    #[must_use]
    pub fn growing(name: &str, shape: Shape) -> Topology {
        Topology { name: name.to_owned(), plan: Plan::Growing(shape), keep: KEEP }
    }

    /// How long a place is kept for one who is gone: 10 seconds, if nothing else is said. Let it be
    /// longer than a [lease](crate::Options::lease), or the engine's choice of a new leader may be
    /// taken for the death of members.
    #[must_use]
    pub fn keep_places_for(self, time: Duration) -> Topology {
        Topology { keep: time, ..self }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

const FIXED: &str = "fixed\n";
const GROWING: &str = "growing\n";

/// As the bucket has it.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::Fixed(graph) => write!(f, "{FIXED}{graph}"),
            Plan::Growing(shape) => write!(f, "{GROWING}{shape}"),
        }
    }
}

impl Plan {
    /// `None` when it was not written by [`Display`](fmt::Display).
    fn read(bytes: &[u8]) -> Option<Plan> {
        let text = std::str::from_utf8(bytes).ok()?;
        if let Some(dot) = text.strip_prefix(FIXED) {
            return Some(Plan::Fixed(Arc::new(Graph::parse(dot).ok()?)));
        }
        text.strip_prefix(GROWING)?.parse().ok().map(Plan::Growing)
    }
}
