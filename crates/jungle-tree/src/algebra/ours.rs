//! The nodes that our changes speak of, and which of the nodes after theirs they are.

use super::Subtree;
use super::effect::{Content, Effect, Index};
use super::kids::{Id, Kids, NONE};
use crate::key::Key;

/// Where one of our nodes is after their changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    /// It is this one; which may have been removed.
    At(Id),
    /// It came to nothing, because of this change of theirs.
    Lost(Index),
    /// It is this one, but holds not what we set, because of this change of theirs.
    Unset(Id, Index),
}

struct Node {
    kids: Kids,
    content: Content,
    there: There,
}

/// The tree as we have seen it, as far as our changes speak of it; the root is 0.
pub(super) struct Ours {
    nodes: Vec<Node>,
}

impl Ours {
    pub(super) fn new() -> Ours {
        let mut ours = Ours { nodes: Vec::new() };
        ours.create(There::At(0), Content::Base);
        ours
    }

    fn create(&mut self, there: There, content: Content) -> Id {
        let id = Id::try_from(self.nodes.len()).expect("fewer nodes than a tree has");
        let kids = Kids::default();
        self.nodes.push(Node { kids, content, there });
        id
    }

    pub(super) fn there(&self, id: Id) -> There {
        self.nodes[id as usize].there
    }

    /// The node at a path, as we have seen it; `None` when our changes contradict themselves.
    pub(super) fn at(&mut self, effect: &mut Effect<'_>, path: &[Key]) -> Option<Id> {
        path.iter().try_fold(0, |id, key| self.child(effect, id, key))
    }

    /// The parent and the key of a path.
    pub(super) fn place<'p>(
        &mut self,
        effect: &mut Effect<'_>,
        path: &'p [Key],
    ) -> Option<(Id, &'p Key)> {
        let (key, parent) = path.split_last()?;
        Some((self.at(effect, parent)?, key))
    }

    fn child(&mut self, effect: &mut Effect<'_>, id: Id, key: &Key) -> Option<Id> {
        let node = &self.nodes[id as usize];
        if let Some(child) = node.kids.get(key) {
            return (child != NONE).then_some(child);
        }
        let (content, there) = match (&node.content, node.there) {
            (Content::Bare, _) => return None,
            (Content::Base, There::Lost(index) | There::Unset(_, index)) => {
                (Content::Base, There::Lost(index))
            }
            (Content::Base, There::At(at)) => {
                (Content::Base, There::At(effect.base_child(at, key)?))
            }
            (Content::Set(subtree), there) => {
                let subtree = Content::Set(subtree.child(key)?);
                match there {
                    There::Lost(index) | There::Unset(_, index) => (subtree, There::Lost(index)),
                    There::At(at) => (subtree, There::At(effect.occupant(at, key)?)),
                }
            }
        };
        let child = self.create(there, content);
        self.nodes[id as usize].kids.set(key.clone(), child);
        Some(child)
    }

    /// Whether a child that we set is one that we have not seen before.
    pub(super) fn is_new_child(&self, effect: &Effect<'_>, id: Id, key: &Key) -> bool {
        let node = &self.nodes[id as usize];
        match node.kids.get(key) {
            Some(child) => child == NONE,
            None => match (&node.content, node.there) {
                (Content::Bare, _) => true,
                (Content::Set(subtree), _) => subtree.node().child(key).is_none(),
                (Content::Base, There::At(at)) => effect.base_lacks(at, key),
                (Content::Base, There::Lost(_) | There::Unset(..)) => false,
            },
        }
    }

    /// Have we removed a child from this key, or moved it away?
    pub(super) fn has_removed(&self, id: Id, key: &Key) -> bool {
        self.nodes[id as usize].kids.get(key).is_some()
    }

    pub(super) fn add(&mut self, parent: Id, key: &Key, there: There, set: Option<&Subtree>) {
        let content = set.map_or(Content::Bare, |subtree| Content::Set(subtree.clone()));
        let child = self.create(there, content);
        self.nodes[parent as usize].kids.set(key.clone(), child);
    }

    pub(super) fn set_content(&mut self, id: Id, there: There, subtree: &Subtree) {
        let node = &mut self.nodes[id as usize];
        node.kids = Kids::default();
        node.content = Content::Set(subtree.clone());
        node.there = there;
    }

    pub(super) fn remove(&mut self, parent: Id, key: &Key) {
        self.nodes[parent as usize].kids.set(key.clone(), NONE);
    }

    pub(super) fn attach(&mut self, id: Id, parent: Id, key: &Key) {
        self.nodes[parent as usize].kids.set(key.clone(), id);
    }
}
