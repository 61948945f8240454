//! Which of the nodes that were added are removed ones: what was moved.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::diff::{Found, Place};
use crate::node::Node;

/// The children of so many nodes in a subtree, and of each so many, are looked at to know it again.
const NODES_MAX: usize = 128;
/// In all that was removed, and in all that was added, those of so many at most.
const NODES_IN_ALL_MAX: usize = 1 << 16;

/// Added nodes and the removed ones that they were, by their places in a list of differences.
#[derive(Default)]
pub(super) struct Moves {
    from: HashMap<usize, usize>,
    sources: HashSet<usize>,
}

impl Moves {
    pub(super) fn add(&mut self, to: usize, from: usize) {
        self.from.insert(to, from);
        self.sources.insert(from);
    }

    /// What an added node was.
    pub(super) fn from(&self, to: usize) -> Option<usize> {
        self.from.get(&to).copied()
    }

    /// Is this removed node one that was moved?
    pub(super) fn is_from(&self, from: usize) -> bool {
        self.sources.contains(&from)
    }
}

/// What is not known to be moved yet.
struct Unmatched<'a> {
    removed: Vec<(usize, Node<'a>)>,
    added: Vec<(usize, Node<'a>)>,
}

impl<'a> Unmatched<'a> {
    fn new(places: &[Place<'a>], known: &Moves) -> Unmatched<'a> {
        let mut unmatched = Unmatched { removed: Vec::new(), added: Vec::new() };
        for (at, place) in places.iter().enumerate() {
            match place.found {
                Found::Removed(node) if !known.is_from(at) => unmatched.removed.push((at, node)),
                Found::Added(node) if known.from(at).is_none() => unmatched.added.push((at, node)),
                _ => {}
            }
        }
        unmatched
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() || self.added.is_empty()
    }

    /// Pairs that are the same by some mark, in order; they are not unmatched any more.
    fn take_equal<I: Eq + Hash>(
        &mut self,
        mark: impl Fn(Node<'a>) -> Option<I>,
    ) -> Vec<(usize, usize)> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut removed: HashMap<I, VecDeque<usize>> = HashMap::new();
        for &(from, node) in &self.removed {
            mark(node)
                .into_iter()
                .for_each(|mark| removed.entry(mark).or_default().push_back(from));
        }
        let mut pairs = Vec::new();
        self.added.retain(|&(to, node)| {
            let same = mark(node).and_then(|mark| removed.get_mut(&mark)?.pop_front());
            same.inspect(|&from| pairs.push((to, from))).is_none()
        });
        let taken: HashSet<usize> = pairs.iter().map(|&(_, from)| from).collect();
        self.removed.retain(|(from, _)| !taken.contains(from));
        pairs
    }

    /// Pairs of which at least half the parts are the same: of one that might be several, the one
    /// it shares most with.
    fn alike(&self) -> Vec<(usize, usize)> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut owners: HashMap<Part, usize> = HashMap::new();
        let mut left = NODES_IN_ALL_MAX;
        let mut sizes = HashMap::new();
        for &(from, node) in &self.removed {
            let parts = parts(node, &mut left);
            sizes.insert(from, parts.len());
            for part in parts {
                owners.entry(part).or_insert(from);
            }
        }
        let mut left = NODES_IN_ALL_MAX;
        let mut pairs = Vec::new();
        for &(to, node) in &self.added {
            let parts = parts(node, &mut left);
            let mut shared: HashMap<usize, usize> = HashMap::new();
            for owner in parts.iter().filter_map(|part| owners.get(part)) {
                *shared.entry(*owner).or_default() += 1;
            }
            let best = shared.into_iter().max_by_key(|&(from, shared)| (shared, Reverse(from)));
            let is_half = |&(from, shared): &(usize, usize)| {
                let size = sizes.get(&from).copied().unwrap_or_default();
                shared * 2 >= size.min(parts.len())
            };
            if let Some((from, _)) = best.filter(is_half)
                && let Entry::Occupied(taken) = sizes.entry(from)
            {
                taken.remove();
                pairs.push((to, from));
            }
        }
        pairs
    }
}

/// By the memory that a node shares with what it was: its children or, if it has none, its
/// attributes; else by parts further down, as an edit below it has replaced only some.
pub(super) fn by_memory(places: &[Place<'_>], known: &Moves) -> Vec<(usize, usize)> {
    let mut unmatched = Unmatched::new(places, known);
    let mut pairs = unmatched.take_equal(Node::identity);
    pairs.append(&mut unmatched.alike());
    pairs
}

/// By all that it holds.
pub(super) fn by_content(places: &[Place<'_>], known: &Moves) -> Vec<(usize, usize)> {
    let is_bare = |node: Node<'_>| !node.has_children() && !node.has_attributes();
    Unmatched::new(places, known).take_equal(|node| (!is_bare(node)).then(|| node.content_hash()))
}

/// Something of a node by which it is known again, and where below the node it is (a hash of the
/// path): what merely went a level up or down is not taken for what it came from.
type Part = (u64, u64);

/// What of a node may be shared with what it was: its attributes, and the children and attributes
/// of what is below, the nearest first. `left` nodes may still be looked at.
fn parts(node: Node<'_>, left: &mut usize) -> Vec<Part> {
    // That its children are not the same is known.
    let mut parts: Vec<Part> = node.attributes_identity().map(|it| (0, it)).into_iter().collect();
    let mut nodes = VecDeque::from([(0, node)]);
    let most = NODES_MAX.min(*left);
    for _ in 0..most {
        let Some((place, next)) = nodes.pop_front() else { break };
        *left -= 1;
        for (key, child) in next.children().take(most.saturating_sub(nodes.len())) {
            let mut hasher = DefaultHasher::new();
            (place, key).hash(&mut hasher);
            let place = hasher.finish();
            let shared = [child.children_identity(), child.attributes_identity()];
            parts.extend(shared.into_iter().flatten().map(|it| (place, it)));
            nodes.push_back((place, child));
        }
    }
    parts
}
