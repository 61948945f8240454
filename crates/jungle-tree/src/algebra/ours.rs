//! The nodes that our changes speak of, and which of the nodes after theirs they are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::effect::{Content, Effect, Index};
use super::kids::{Id, Kids, NONE};
use super::{Change, Renumbered, Subtree};
use crate::key::Key;
use crate::path::Path;

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
    /// The keys of nodes that have other ones in theirs.
    keys_there: HashMap<Id, Key>,
    /// Did nodes of the base have such keys?
    is_renumbered: bool,
}

/// Keys of nodes in theirs that have other ones in ours, by their parents in theirs.
pub(super) type KeysThere = HashMap<Id, HashSet<Key>>;

impl Ours {
    pub(super) fn new() -> Ours {
        let (nodes, keys_there) = (Vec::new(), HashMap::new());
        let mut ours = Ours { nodes, keys_there, is_renumbered: false };
        ours.create(There::At(0), Content::Base);
        ours
    }

    /// Takes note of nodes of the base that have other keys in theirs. They come in the order of
    /// their paths, and no two siblings have one key in ours, nor in theirs.
    pub(super) fn renumber(
        &mut self,
        effect: &mut Effect<'_>,
        renumbered: &[Renumbered],
    ) -> KeysThere {
        self.is_renumbered = !renumbered.is_empty();
        let mut keys = KeysThere::new();
        let mut parents = Vec::with_capacity(renumbered.len());
        for Renumbered { path, key: key_there } in renumbered {
            let Some((parent, key)) = self.place(effect, path) else { continue };
            let There::At(at) = self.there(parent) else { continue };
            let Some(child) = effect.base_child(at, key_there) else { continue };
            let id = self.create(There::At(child), Content::Base);
            self.nodes[parent as usize].kids.set(key.clone(), id);
            self.keys_there.insert(id, key_there.clone());
            keys.entry(at).or_default().insert(key_there.clone());
            parents.push((parent, key_there));
        }
        for (parent, key) in parents {
            // What has this key there is elsewhere here, and nothing else has it.
            let kids = &mut self.nodes[parent as usize].kids;
            if kids.get(key).is_none() {
                kids.set(key.clone(), NONE);
            }
        }
        keys
    }

    /// A node that we gave a place has another key there.
    pub(super) fn has_key_there(&mut self, id: Id, key: Key) {
        self.keys_there.insert(id, key);
    }

    /// Our nodes that have other keys in theirs, where they are now.
    pub(super) fn renumbered(&self) -> Vec<Renumbered> {
        let mut found = Vec::new();
        if self.keys_there.is_empty() {
            return found;
        }
        let mut path: Vec<Key> = Vec::new();
        let mut stack: Vec<(Id, usize, Option<&Key>)> = vec![(0, 0, None)];
        while let Some((id, depth, key)) = stack.pop() {
            path.truncate(depth);
            path.extend(key.cloned());
            if let Some(there) = self.keys_there.get(&id).filter(|there| Some(*there) != key) {
                found.push(Renumbered { path: path.clone().into(), key: there.clone() });
            }
            let depth = path.len();
            let kids = self.nodes[id as usize].kids.entries().into_iter();
            let kids = kids.filter(|(_, kid)| *kid != NONE);
            stack.extend(kids.map(|(key, kid)| (kid, depth, Some(key))));
        }
        found
    }

    /// A change of ours as a conflict tells it: where nodes of the base have other keys in theirs,
    /// with those.
    pub(super) fn told<'c>(&self, change: &'c Change) -> Cow<'c, Change> {
        if !self.is_renumbered {
            return Cow::Borrowed(change);
        }
        let there = self.path_there(change.path());
        if there == *change.path() && !matches!(change, Change::Moved { .. }) {
            return Cow::Borrowed(change);
        }
        let mut told = change.clone();
        match &mut told {
            Change::Moved { from, to } => {
                *from = self.path_there(from);
                *to = there;
            }
            Change::ChildAdded { path }
            | Change::ChildRemoved { path }
            | Change::AttributePut { path, .. }
            | Change::AttributeRemoved { path, .. }
            | Change::SubtreeSet { path, .. } => *path = there,
        }
        Cow::Owned(told)
    }

    fn path_there(&self, path: &[Key]) -> Path {
        let mut id: Option<Id> = Some(0);
        let keys = path.iter().map(|key| {
            let child = id.and_then(|id| self.nodes[id as usize].kids.get(key));
            id = child.filter(|&child| child != NONE);
            id.and_then(|id| self.keys_there.get(&id)).unwrap_or(key).clone()
        });
        keys.collect()
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

    pub(super) fn add(&mut self, parent: Id, key: &Key, there: There, set: Option<&Subtree>) -> Id {
        let content = set.map_or(Content::Bare, |subtree| Content::Set(subtree.clone()));
        let child = self.create(there, content);
        self.nodes[parent as usize].kids.set(key.clone(), child);
        child
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

    /// We moved a node: whatever key it had there, it is to get this one.
    pub(super) fn attach(&mut self, id: Id, parent: Id, key: &Key) {
        self.keys_there.remove(&id);
        self.nodes[parent as usize].kids.set(key.clone(), id);
    }
}
