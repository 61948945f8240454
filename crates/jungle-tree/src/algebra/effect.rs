//! What a list of changes does, all in all: the part of a tree that it speaks of.
//!
//! Nodes of the base are known by identity: one is found by the path it had in the base, and tells
//! where it is now. So two lists can be compared wherever each has put things.

use std::collections::BTreeMap;

use super::kids::{Id, Kids, NONE};
use super::{Change, Subtree};
use crate::key::Key;
use crate::node::Node;
use crate::path::Path;
use crate::value::Value;

mod around;

/// Which of their changes.
pub(super) type Index = usize;

/// What a node held before the changes below it that are told.
#[derive(Debug, Default)]
pub(super) enum Content {
    /// What it held in the base.
    #[default]
    Base,
    /// Nothing.
    Bare,
    /// This.
    Set(Subtree),
}

/// An attribute that changes speak of.
#[derive(Debug, Default)]
struct Attribute {
    theirs: Option<Index>,
    said: Option<Value>,
    now: Option<Value>,
}

#[derive(Debug)]
struct Item {
    /// Where it is; [`NONE`] when it is not there.
    parent: Id,
    key: Key,
    kids: Kids,
    more: Option<Box<More>>,
}

/// What is seldom to be told of a node.
#[derive(Debug, Default)]
pub(super) struct More {
    pub(super) content: Content,
    /// Not in the base.
    is_new: bool,
    /// Where it was in the base, when it is not there now.
    home: Option<(Id, Key)>,
    /// The children it had in the base that are elsewhere or gone.
    away: Kids,
    attributes: BTreeMap<Box<str>, Attribute>,
    /// Which of their changes added, moved, removed or set it.
    pub(super) added: Option<Index>,
    pub(super) moved: Option<Index>,
    pub(super) removed: Option<Index>,
    pub(super) set: Option<Index>,
    /// We have moved it, too, but it is where they have moved it.
    pub(super) moved_by_both: bool,
    /// Which of them moved it last, of a node that they have added themselves.
    pub(super) carried: Option<Index>,
}

/// The part of a tree that changes speak of; the root is 0.
pub(super) struct Effect<'b> {
    items: Vec<Item>,
    base: Option<Node<'b>>,
}

const NOTHING: &More = &More {
    content: Content::Base,
    is_new: false,
    home: None,
    away: Kids::Few(Vec::new()),
    attributes: BTreeMap::new(),
    added: None,
    moved: None,
    removed: None,
    set: None,
    moved_by_both: false,
    carried: None,
};

impl<'b> Effect<'b> {
    /// What their changes do.
    pub(super) fn new(base: Option<Node<'b>>, theirs: &[Change]) -> Effect<'b> {
        let mut effect = Effect { items: Vec::new(), base };
        effect.create(NONE, Key::from(0));
        for (index, change) in theirs.iter().enumerate() {
            effect.take(index, change);
        }
        effect
    }

    fn take(&mut self, index: Index, change: &Change) -> Option<()> {
        match change {
            Change::ChildAdded { path } => {
                let (parent, key) = self.place(path)?;
                let id = self.add(parent, key, Content::Bare);
                self.more(id).added = Some(index);
            }
            Change::ChildRemoved { path } => {
                let id = self.at(path)?;
                self.detach(id);
                self.more(id).removed = Some(index);
            }
            Change::AttributePut { path, key, value } => {
                let id = self.at(path)?;
                self.put(id, key, Some(value.clone()), Some(index));
            }
            Change::AttributeRemoved { path, key } => {
                let id = self.at(path)?;
                self.put(id, key, None, Some(index));
            }
            Change::Moved { from, to } => {
                let id = self.at(from)?;
                let (parent, key) = self.place(to)?;
                if self.is_within(parent, id) {
                    return None; // No tree does so: who looks upward from there would not end.
                }
                self.detach(id);
                self.attach(id, parent, key);
                let more = self.more(id);
                more.moved = more.home.is_some().then_some(index);
                more.carried = more.is_new.then_some(index);
            }
            Change::SubtreeSet { path, subtree } => self.take_set(index, path, subtree)?,
        }
        Some(())
    }

    fn take_set(&mut self, index: Index, path: &[Key], subtree: &Subtree) -> Option<()> {
        let id = match self.place(path) {
            None => 0,
            Some((parent, key)) if self.is_new_child(parent, &key) => {
                let id = self.add(parent, key, Content::Bare);
                self.more(id).added = Some(index);
                id
            }
            Some((parent, key)) => self.child(parent, &key)?,
        };
        self.set_content(id, subtree, Some(index));
        Some(())
    }

    pub(super) fn get(&self, id: Id) -> &More {
        self.items[id as usize].more.as_deref().unwrap_or(NOTHING)
    }

    pub(super) fn more(&mut self, id: Id) -> &mut More {
        self.items[id as usize].more.get_or_insert_default()
    }

    fn create(&mut self, parent: Id, key: Key) -> Id {
        let id = Id::try_from(self.items.len()).expect("fewer nodes than a tree has");
        self.items.push(Item { parent, key, kids: Kids::default(), more: None });
        id
    }

    /// The node at a path, as it is now.
    fn at(&mut self, path: &[Key]) -> Option<Id> {
        path.iter().try_fold(0, |id, key| self.child(id, key))
    }

    /// The parent and the key of a path.
    fn place(&mut self, path: &[Key]) -> Option<(Id, Key)> {
        let (key, parent) = path.split_last()?;
        Some((self.at(parent)?, key.clone()))
    }

    /// A child as it is now. One of the base that nobody has spoken of yet is believed to be.
    pub(super) fn child(&mut self, id: Id, key: &Key) -> Option<Id> {
        match self.items[id as usize].kids.get(key) {
            Some(NONE) => None,
            Some(child) => Some(child),
            None if matches!(self.get(id).content, Content::Base) => {
                let child = self.create(id, key.clone());
                self.items[id as usize].kids.set(key.clone(), child);
                Some(child)
            }
            None => self.occupant(id, key),
        }
    }

    /// Who is known to have this key now.
    pub(super) fn occupant(&mut self, id: Id, key: &Key) -> Option<Id> {
        match self.items[id as usize].kids.get(key) {
            Some(NONE) => None,
            Some(child) => Some(child),
            None => {
                let Content::Set(subtree) = &self.get(id).content else {
                    return None;
                };
                let subtree = subtree.child(key)?;
                let child = self.add(id, key.clone(), Content::Set(subtree));
                let set = self.get(id).set;
                self.more(child).set = set;
                Some(child)
            }
        }
    }

    /// The child that a node of the base had in the base; `None` when it is known to have had none.
    pub(super) fn base_child(&mut self, id: Id, key: &Key) -> Option<Id> {
        if let Some(away) = self.get(id).away.get(key) {
            return Some(away);
        }
        let kid = self.items[id as usize].kids.get(key);
        if let Some(child) = kid.filter(|&child| child != NONE && self.is_at_home(child)) {
            return Some(child);
        }
        match self.get(id).content {
            Content::Base if kid.is_none() => self.child(id, key),
            Content::Base | Content::Bare => None,
            Content::Set(_) => {
                // It went when the subtree was set.
                let child = self.create(NONE, key.clone());
                let set = self.get(id).set;
                let more = self.more(child);
                more.home = Some((id, key.clone()));
                more.removed = set;
                self.more(id).away.set(key.clone(), child);
                Some(child)
            }
        }
    }

    /// Is a child that is set here not one that the base has, as far as is known?
    pub(super) fn is_new_child(&self, id: Id, key: &Key) -> bool {
        match self.items[id as usize].kids.get(key) {
            Some(NONE) => return true,
            Some(_) => return false,
            None => {}
        }
        match &self.get(id).content {
            Content::Bare => true,
            Content::Set(subtree) => subtree.node().child(key).is_none(),
            Content::Base => self.base_node(id).is_some_and(|node| node.child(key).is_none()),
        }
    }

    /// Is the base known to have had no such child? What they have put there tells, too.
    pub(super) fn base_lacks(&self, id: Id, key: &Key) -> bool {
        let more = self.get(id);
        if more.away.get(key).is_some() {
            return false;
        }
        match self.items[id as usize].kids.get(key) {
            Some(child) => child == NONE || !self.is_at_home(child),
            None => {
                let lacks = |node: Node<'_>| node.child(key).is_none();
                more.is_new || self.base_node(id).is_some_and(lacks)
            }
        }
    }

    /// A subtree that they set turns out to be one that they added: ours added one, too.
    pub(super) fn was_added(&mut self, id: Id) {
        let more = self.more(id);
        if more.set.is_some() && more.home.is_none() && !more.is_new {
            more.is_new = true;
            more.added = more.set;
        }
    }

    /// Their set of a subtree that has this node in it.
    pub(super) fn set_with(&self, id: Id) -> Option<Index> {
        let more = self.get(id);
        more.set.filter(|_| more.is_new && more.added.is_none())
    }

    /// Is it where it was in the base?
    pub(super) fn is_at_home(&self, id: Id) -> bool {
        let more = self.get(id);
        !more.is_new && more.home.is_none()
    }

    /// Is it where ours has moved it?
    pub(super) fn is_moved_by_us(&self, id: Id) -> bool {
        let more = self.get(id);
        more.home.is_some() && more.moved.is_none()
    }

    pub(super) fn add(&mut self, parent: Id, key: Key, content: Content) -> Id {
        if let Some(old) = self.items[parent as usize].kids.get(&key)
            && old != NONE
        {
            self.detach(old);
        }
        let id = self.create(parent, key.clone());
        let more = self.more(id);
        more.is_new = true;
        more.content = content;
        self.items[parent as usize].kids.set(key, id);
        id
    }

    pub(super) fn detach(&mut self, id: Id) {
        let Item { parent, key, .. } = &self.items[id as usize];
        let (parent, key) = (*parent, key.clone());
        if parent == NONE {
            return;
        }
        if self.is_at_home(id) {
            self.more(parent).away.set(key.clone(), id);
            self.more(id).home = Some((parent, key.clone()));
        }
        self.items[parent as usize].kids.set(key, NONE);
        self.items[id as usize].parent = NONE;
    }

    pub(super) fn attach(&mut self, id: Id, parent: Id, key: Key) {
        if self.get(id).home.as_ref() == Some(&(parent, key.clone())) {
            self.more(id).home = None;
            self.more(parent).away.remove(&key);
        }
        self.items[parent as usize].kids.set(key.clone(), id);
        let item = &mut self.items[id as usize];
        item.parent = parent;
        item.key = key;
    }

    /// Replaces all that a node holds.
    pub(super) fn set_content(&mut self, id: Id, subtree: &Subtree, theirs: Option<Index>) {
        // Where they had removed it, what it held stays removed.
        let because = theirs.or(self.more(id).removed.take());
        for kid in self.kids(id) {
            self.detach(kid);
            self.more(kid).removed = because;
        }
        self.items[id as usize].kids = Kids::default();
        let more = self.more(id);
        more.attributes.clear();
        more.content = Content::Set(subtree.clone());
        more.set = theirs;
    }

    /// May a node that was set be another by now? One in which something was looked for is
    /// believed to be.
    pub(super) fn may_be_changed(&self, id: Id) -> bool {
        let has_kids = !self.items[id as usize].kids.ids().is_empty();
        has_kids || !self.get(id).attributes.is_empty()
    }

    /// Was all that it holds set by us?
    pub(super) fn is_set_by_us(&self, id: Id) -> bool {
        let more = self.get(id);
        matches!(more.content, Content::Set(_)) && more.set.is_none()
    }

    /// The attributes that changes speak of, with what they left.
    pub(super) fn attributes_told(&self, id: Id) -> Vec<(Box<str>, Option<Value>)> {
        let keys = self.get(id).attributes.keys();
        keys.map(|key| (key.clone(), self.theirs_attribute(id, key))).collect()
    }

    pub(super) fn put(&mut self, id: Id, key: &str, now: Option<Value>, theirs: Option<Index>) {
        let attribute = self.more(id).attributes.entry(key.into()).or_default();
        if theirs.is_some() {
            attribute.said = now.clone();
            attribute.theirs = theirs;
        }
        attribute.now = now;
    }

    /// An attribute as it is now, where that is known.
    pub(super) fn attribute(&self, id: Id, key: &str) -> Option<Option<Value>> {
        let more = self.get(id);
        if let Some(attribute) = more.attributes.get(key) {
            return Some(attribute.now.clone());
        }
        match &more.content {
            Content::Base => None,
            Content::Bare => Some(None),
            Content::Set(_) => Some(self.attribute_set(id, key)),
        }
    }

    /// An attribute as they left it, where they say so.
    pub(super) fn theirs_attribute(&self, id: Id, key: &str) -> Option<Value> {
        match self.get(id).attributes.get(key) {
            Some(attribute) if attribute.theirs.is_some() => attribute.said.clone(),
            _ => self.attribute_set(id, key),
        }
    }

    fn attribute_set(&self, id: Id, key: &str) -> Option<Value> {
        let Content::Set(subtree) = &self.get(id).content else {
            return None;
        };
        Some(subtree.node().attribute(key)?.to_value())
    }

    /// Which of their changes said what an attribute is.
    pub(super) fn attribute_theirs(&self, id: Id, key: &str) -> Option<Index> {
        let more = self.get(id);
        match more.attributes.get(key) {
            Some(Attribute { theirs: Some(index), .. }) => Some(*index),
            _ => more.set,
        }
    }

    /// An attribute as it was in the base; the outer `None` when that is not known.
    pub(super) fn base_attribute(&self, id: Id, key: &str) -> Option<Option<Value>> {
        if self.get(id).is_new {
            return Some(None);
        }
        let node = self.base_node(id)?;
        Some(node.attribute(key).map(|value| value.to_value()))
    }

    /// A node as it was in the base, where that is known.
    fn base_node(&self, id: Id) -> Option<Node<'b>> {
        let base = self.base?;
        let mut keys = Vec::new();
        let mut id = id;
        while id != 0 {
            let (item, more) = (&self.items[id as usize], self.get(id));
            if more.is_new {
                return None;
            }
            let (parent, key) = match &more.home {
                Some((parent, key)) => (*parent, key),
                None => (item.parent, &item.key),
            };
            keys.push(key.clone());
            id = parent;
        }
        keys.reverse();
        base.at(&keys).ok()
    }

    pub(super) fn parent(&self, id: Id) -> Id {
        self.items[id as usize].parent
    }

    /// What is there below it, as far as changes speak of it.
    pub(super) fn kids(&self, id: Id) -> Vec<Id> {
        let mut kids = self.items[id as usize].kids.ids();
        kids.retain(|&kid| kid != NONE);
        kids
    }

    pub(super) fn key(&self, id: Id) -> &Key {
        &self.items[id as usize].key
    }

    pub(super) fn home(&self, id: Id) -> Option<(Id, Key)> {
        self.get(id).home.clone()
    }

    /// A node and those above it.
    pub(super) fn upward(&self, id: Id) -> impl Iterator<Item = Id> {
        let up = |&id: &Id| Some(self.parent(id)).filter(|&parent| parent != NONE);
        std::iter::successors(Some(id), up)
    }

    pub(super) fn is_there(&self, id: Id) -> bool {
        self.upward(id).last() == Some(0)
    }

    /// Is it this node, or below it?
    pub(super) fn is_within(&self, id: Id, above: Id) -> bool {
        self.upward(id).any(|id| id == above)
    }

    /// Where a node is.
    pub(super) fn path(&self, id: Id) -> Path {
        let mut keys = Vec::new();
        let mut id = id;
        while id != 0 && id != NONE {
            keys.push(self.key(id).clone());
            id = self.parent(id);
        }
        keys.reverse();
        keys.into()
    }
}
