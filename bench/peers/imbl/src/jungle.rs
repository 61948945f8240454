//! The original idea on an off-the-shelf persistent map: immutable nodes behind `Arc`, each tree
//! one atomically swapped root.
//!
//! Like the originals, an edit of a path that does not exist changes nothing.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use arc_swap::ArcSwap;
use imbl::OrdMap;

pub type Position = u64;
pub type Key = Arc<str>;
pub type Value = Arc<[u8]>;

#[derive(Clone, Default)]
pub struct Node {
    pub children: OrdMap<Position, Arc<Node>>,
    pub attributes: OrdMap<Key, Value>,
    pub next_position: Position,
}

#[allow(
    dead_code,
    reason = "the original calls are complete, also those no workload makes"
)]
impl Node {
    pub fn add_child_at(&self, path: &[Position]) -> Node {
        self.edit_at(path, |node| {
            // Each leaf is an allocation of its own: the reference count of a shared one would be
            // written by every thread.
            node.children
                .insert(node.next_position, Arc::new(Node::default()));
            node.next_position += 1;
        })
    }

    pub fn delete_child_at(&self, path: &[Position], position: Position) -> Node {
        self.edit_at(path, |node| {
            node.children.remove(&position);
        })
    }

    pub fn put_attribute(&self, path: &[Position], key: Key, value: Value) -> Node {
        self.edit_at(path, |node| {
            node.attributes.insert(key, value);
        })
    }

    pub fn delete_attribute(&self, path: &[Position], key: &str) -> Node {
        self.edit_at(path, |node| {
            node.attributes.remove(key);
        })
    }

    pub fn get_attributes(&self, path: &[Position], key: &str) -> Option<&Value> {
        self.node_at(path)?.attributes.get(key)
    }

    pub fn assoc_attribute(&self, path: &[Position]) -> Vec<(Key, Value)> {
        self.node_at(path)
            .map(|node| {
                node.attributes
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect()
            })
            .unwrap_or_default()
    }

    pub fn get_children(&self, path: &[Position]) -> Vec<Arc<Node>> {
        self.node_at(path)
            .map(|node| node.children.values().cloned().collect())
            .unwrap_or_default()
    }

    pub fn assoc_children(&self, path: &[Position]) -> Vec<(Position, Arc<Node>)> {
        self.node_at(path)
            .map(|node| {
                node.children
                    .iter()
                    .map(|(at, child)| (*at, child.clone()))
                    .collect()
            })
            .unwrap_or_default()
    }

    pub fn num_of_child(&self, path: &[Position]) -> usize {
        self.node_at(path).map_or(0, |node| node.children.len())
    }

    pub fn current_child(&self, path: &[Position]) -> Option<&Arc<Node>> {
        self.node_at(path)?
            .children
            .get_max()
            .map(|(_, child)| child)
    }

    /// Calls the visitor on this node and all below it, parents before children.
    pub fn visit<F: FnMut(&Node)>(&self, visitor: &mut F) {
        visitor(self);
        // Setting up an iterator of the map costs more than a visit, and most nodes are leaves.
        if !self.children.is_empty() {
            for child in self.children.values() {
                child.visit(visitor);
            }
        }
    }

    fn node_at(&self, path: &[Position]) -> Option<&Node> {
        path.iter().try_fold(self, |node, position| {
            node.children.get(position).map(|child| &**child)
        })
    }

    /// Copies the nodes along the path and applies the edit to the last copy.
    fn edit_at(&self, path: &[Position], edit: impl FnOnce(&mut Node)) -> Node {
        let mut copy = self.clone();
        match path {
            [] => edit(&mut copy),
            [position, rest @ ..] => {
                // `get_mut` copies the map's own blocks, which are still shared with `self`.
                if let Some(child) = copy.children.get_mut(position) {
                    *child = Arc::new(child.edit_at(rest, edit));
                }
            }
        }
        copy
    }
}

/// A tree of a jungle: the place where its newest root is published.
pub type Tree = ArcSwap<Node>;

#[derive(Default)]
pub struct Jungle {
    trees: RwLock<HashMap<String, Arc<Tree>>>,
}

#[allow(
    dead_code,
    reason = "the original calls are complete, also those no workload makes"
)]
impl Jungle {
    pub fn create_tree(&self, name: &str) -> Arc<Tree> {
        let tree = Arc::new(ArcSwap::from_pointee(Node::default()));
        let mut trees = self.trees.write().expect("no holder of this lock panics");
        trees.insert(name.to_owned(), tree.clone());
        tree
    }

    pub fn find_tree(&self, name: &str) -> Option<Arc<Tree>> {
        self.trees
            .read()
            .expect("no holder of this lock panics")
            .get(name)
            .cloned()
    }

    pub fn get_root_node(&self, name: &str) -> Option<Arc<Node>> {
        Some(self.find_tree(name)?.load_full())
    }

    pub fn update_root_node(&self, name: &str, root: Node) {
        if let Some(tree) = self.find_tree(name) {
            tree.store(Arc::new(root));
        }
    }

    pub fn update_root_node_with(&self, edit: impl Fn(&Node) -> Node, name: &str) {
        if let Some(tree) = self.find_tree(name) {
            update_tree_with(&tree, edit);
        }
    }
}

/// Reads, edits and publishes in one atomic step; a lost race does the edit again.
pub fn update_tree_with(tree: &Tree, edit: impl Fn(&Node) -> Node) {
    tree.rcu(|root| edit(root));
}
