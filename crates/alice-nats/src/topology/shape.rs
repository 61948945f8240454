//! Shapes: who knows whom, and under which label, by places alone.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::graph::{Edge, Graph, GraphError};

/// A shape that has a place for any number of members. Places are numbered from 0.
///
/// ```
/// use alice_nats::Shape;
///
/// let ring = Shape::Ring.graph(&["ana", "ben", "cleo"])?;
/// let right = ring.neighbours("ana").find(|edge| edge.label == "right").unwrap();
/// assert_eq!(right.to, "ben");
/// assert_eq!("tree:3".parse::<Shape>()?.to_string(), "tree:3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Place 0 knows each other one as `spoke` and its place, such as `spoke3`; they know it as
    /// `hub`, and nobody else.
    Star,
    /// Each knows the one before it as `left` and the one after it as `right`.
    Ring,
    /// Each knows the one above it as `parent`, and those below it as `child0`, `child1` and so on.
    Tree {
        /// How many each has at most.
        children_max: NonZeroUsize,
    },
    /// Each knows each other one as `member` and its place, such as `member3`.
    Mesh,
}

/// Children of each in a tree, if nothing else is said.
const CHILDREN_MAX: NonZeroUsize = NonZeroUsize::new(2).expect("it is 2");

impl Shape {
    /// This shape with these members, each at the place that it has in the list.
    ///
    /// # Errors
    /// When there are none or too many, or a name is there twice.
    ///
    /// ```
    /// use alice_nats::Shape;
    ///
    /// let star = Shape::Star.graph(&["ana", "ben", "cleo"])?;
    /// let known = |name| star.neighbours(name).map(|edge| &*edge.label).collect::<Vec<_>>();
    /// assert_eq!((known("ana"), known("cleo")), (vec!["spoke1", "spoke2"], vec!["hub"]));
    /// # Ok::<(), alice_nats::GraphError>(())
    /// ```
    pub fn graph(self, names: &[&str]) -> Result<Graph, GraphError> {
        let taken: BTreeSet<usize> = (0..names.len()).collect();
        let edges = taken.iter().flat_map(|&place| {
            let from = names[place];
            self.neighbours(place, &taken).into_iter().map(move |(label, to)| Edge {
                from: from.to_owned(),
                label,
                to: names[to].to_owned(),
            })
        });
        Graph::new(names.iter().map(|name| (*name).to_owned()), edges)
    }

    /// Whom the one at this place knows, by label and place, when these are taken.
    pub(crate) fn neighbours(self, place: usize, taken: &BTreeSet<usize>) -> Vec<(String, usize)> {
        let others = || taken.iter().copied().filter(move |&other| other != place);
        match self {
            Shape::Star if place == 0 => others().map(|at| (format!("spoke{at}"), at)).collect(),
            Shape::Star => taken.get(&0).map(|&hub| ("hub".to_owned(), hub)).into_iter().collect(),
            Shape::Ring => {
                let right = others().find(|&other| other > place).or_else(|| others().next());
                let left =
                    taken.range(..place).next_back().copied().or_else(|| others().next_back());
                let named = |label: &str, at: Option<usize>| at.map(|at| (label.to_owned(), at));
                [named("left", left), named("right", right)].into_iter().flatten().collect()
            }
            Shape::Tree { children_max } => {
                let max = children_max.get();
                let parent = place.checked_sub(1).map(|above| ("parent".to_owned(), above / max));
                let first = place.saturating_mul(max).saturating_add(1);
                // By those that are there: a tree may be declared with any number of children.
                let children = taken.range(first..first.saturating_add(max));
                let children = children.map(|&at| (format!("child{}", at - first), at));
                let parent = parent.filter(|(_, at)| taken.contains(at));
                parent.into_iter().chain(children).collect()
            }
            Shape::Mesh => others().map(|at| (format!("member{at}"), at)).collect(),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Star => f.write_str("star"),
            Shape::Ring => f.write_str("ring"),
            Shape::Tree { children_max } => write!(f, "tree:{children_max}"),
            Shape::Mesh => f.write_str("mesh"),
        }
    }
}

/// A text that names no shape.
///
/// ```
/// use alice_nats::Shape;
///
/// let error = "square".parse::<Shape>().unwrap_err();
/// assert_eq!(error.text, "square");
/// assert!("tree:0".parse::<Shape>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no shape: there are star, ring, tree, tree:3 and so on, and mesh")]
pub struct NoShape {
    /// The text.
    pub text: String,
}

impl FromStr for Shape {
    type Err = NoShape;

    fn from_str(text: &str) -> Result<Shape, NoShape> {
        let no_shape = || NoShape { text: text.chars().take(40).collect() };
        match text {
            "star" => Ok(Shape::Star),
            "ring" => Ok(Shape::Ring),
            "tree" => Ok(Shape::Tree { children_max: CHILDREN_MAX }),
            "mesh" => Ok(Shape::Mesh),
            other => {
                let children = other.strip_prefix("tree:").and_then(|count| count.parse().ok());
                Ok(Shape::Tree { children_max: children.ok_or_else(no_shape)? })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shape: &str, taken: &[usize], place: usize, expected: &str) {
        let shape: Shape = shape.parse().unwrap();
        let found = shape.neighbours(place, &taken.iter().copied().collect());
        let found: Vec<String> = found.iter().map(|(label, at)| format!("{label}={at}")).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn star_has_a_hub_and_spokes() {
        check("star", &[0, 1, 2], 0, "spoke1=1 spoke2=2");
        check("star", &[0, 1, 2], 2, "hub=0");
        check("star", &[1, 2], 2, "");
    }

    #[test]
    fn ring_closes_over_holes() {
        check("ring", &[0], 0, "");
        check("ring", &[0, 1], 0, "left=1 right=1");
        check("ring", &[0, 1, 2, 3], 0, "left=3 right=1");
        check("ring", &[0, 1, 3], 3, "left=1 right=0");
        check("ring", &[1, 3], 1, "left=3 right=3");
    }

    #[test]
    fn tree_has_parents_and_children() {
        check("tree", &[0, 1, 2, 3, 4], 0, "child0=1 child1=2");
        check("tree", &[0, 1, 2, 3, 4], 1, "parent=0 child0=3 child1=4");
        check("tree", &[0, 1, 2, 4], 1, "parent=0 child1=4");
        check("tree:3", &[0, 1, 2, 3, 4], 4, "parent=1");
        check("tree:18446744073709551615", &[0, 1], 0, "child0=1");
        check("tree:18446744073709551615", &[0, 1], 1, "parent=0");
    }

    #[test]
    fn mesh_knows_all() {
        check("mesh", &[0, 2, 3], 2, "member0=0 member3=3");
    }

    #[test]
    fn other_texts_are_no_shapes() {
        for text in ["", "tree:", "tree:0", "tree:-1", "circle", "Ring"] {
            assert_eq!(text.parse::<Shape>(), Err(NoShape { text: text.to_owned() }));
        }
    }
}
