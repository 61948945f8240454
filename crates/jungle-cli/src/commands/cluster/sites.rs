//! Where the servers of a cluster are, and through whom each reaches the engine.

use std::collections::{BTreeMap, VecDeque};

use alice_nats::{Graph, Shape};

use crate::commands::alice::graph_in;
use crate::failure::{Exit, Failure, failed};

/// A place with one server. The engine is at the first; each other one has a leaf node, which keeps
/// nothing and passes everything on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) name: String,
    /// The site that its leaf node is connected to, by its place in the list; it comes earlier.
    pub(super) through: Option<usize>,
}

/// Sites of these names in a shape, or those in a graph of a file. Each is connected with the
/// neighbour through whom it is nearest to the first one, since leaf nodes must not be connected in
/// a circle: a ring is open where it is farthest from the engine.
pub(super) fn sites(topology: &str, names: &[&str]) -> Result<Vec<Site>, Failure> {
    let graph = match topology.parse::<Shape>() {
        Ok(shape) => shape.graph(names).map_err(failed)?,
        Err(_) => graph_in(topology)?,
    };
    spread(&graph)
}

/// From the first member over all of them, the nearest first.
fn spread(graph: &Graph) -> Result<Vec<Site>, Failure> {
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in graph.edges() {
        known.entry(&edge.from).or_default().push(&edge.to);
        known.entry(&edge.to).or_default().push(&edge.from);
    }
    let (mut sites, mut left) = (Vec::new(), graph.names().to_vec());
    let mut next = VecDeque::from([(left[0].as_str().to_owned(), None)]);
    while let Some((name, through)) = next.pop_front() {
        let Some(at) = left.iter().position(|other| *other == name) else { continue };
        left.remove(at);
        let neighbours = known.get(name.as_str()).into_iter().flatten();
        next.extend(neighbours.map(|other| ((*other).to_owned(), Some(sites.len()))));
        sites.push(Site { name, through });
    }
    match left.first() {
        None => Ok(sites),
        Some(alone) => {
            let (first, none) = (&sites[0].name, "no way leads from");
            Err(Failure::new(Exit::Usage, format_args!("{none} {first:?} to {alone:?}"))
                .with_hint("the engine is at the first member of the graph, and all must reach it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(topology: &str, count: u16, expected: &str) {
        let names: Vec<String> = (0..count).map(|number| format!("s{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sites = sites(topology, &names).unwrap_or_else(|error| panic!("{error:?}"));
        let told = |site: &Site| match site.through {
            None => site.name.clone(),
            Some(at) => format!("{}<{}", site.name, sites[at].name),
        };
        assert_eq!(sites.iter().map(told).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn each_is_connected_where_it_is_nearest_to_the_first() {
        check("star", 4, "s0 s1<s0 s2<s0 s3<s0");
        check("mesh", 3, "s0 s1<s0 s2<s0");
        check("tree", 7, "s0 s1<s0 s2<s0 s3<s1 s4<s1 s5<s2 s6<s2");
        check("tree:1", 3, "s0 s1<s0 s2<s1");
        check("ring", 1, "s0");
        check("ring", 5, "s0 s4<s0 s1<s0 s3<s4 s2<s1");
    }

    #[test]
    fn a_graph_in_which_somebody_is_alone_is_refused() {
        let graph = Graph::parse("graph { a -- b; c -- d }").unwrap();
        let error = format!("{:?}", spread(&graph).unwrap_err());
        assert!(error.contains(r#"no way leads from \"a\" to \"c\""#), "{error}");
        let one_way = Graph::parse("digraph { a; b -> a }").unwrap();
        assert_eq!(spread(&one_way).unwrap().len(), 2);
    }
}
