//! From tokens to edits: only what differs from what was there before is edited, and the cursor
//! goes nowhere before there is something to edit.

mod end;

use jungle_tree::{EditError, Key, Node, ValueRef};

use crate::error::{ImportError, Limit, Place};
use crate::import::ImportSummary;
use crate::options::{ImportOptions, MemberOrder};
use crate::stacks::{Names, Scalars};
use crate::target::{Content, Kind, Target, kind};
use crate::{SCALARS_MAX, VALUE_KEY};

/// An object or array that is being read.
struct Frame<'b> {
    kind: Kind,
    /// The node as it was before, if it stays.
    was: Option<Node<'b>>,
    /// How many of its children are still there.
    kept: u64,
    /// Elements of an array so far.
    elements: u64,
    /// Where the names and scalars of an object begin in the stacks.
    names_from: usize,
    scalars_from: usize,
    /// Are the names in order so far?
    is_sorted: bool,
    /// Are scalars children?
    is_dictionary: bool,
}

/// Builds the tree of a document.
pub(crate) struct Build<'e, 'b> {
    target: Target<'e>,
    /// The node that the document goes to, as it was.
    was: Option<Node<'b>>,
    frames: Vec<Frame<'b>>,
    /// How far down the frames the target has gone: the index of the one it is at.
    reached: usize,
    names: Names,
    scalars: Scalars,
    /// For sorting: the indexes of an object's names in the order of names.
    sorted: Vec<u32>,
    member_order: MemberOrder,
    nodes_max: u64,
    summary: ImportSummary,
    /// Where in the document the token is that is being handled.
    pub(crate) at: Place,
}

impl<'e, 'b> Build<'e, 'b> {
    pub(crate) fn new(
        target: Target<'e>,
        was: Option<Node<'b>>,
        options: &ImportOptions,
    ) -> Build<'e, 'b> {
        Build {
            target,
            was,
            frames: Vec::new(),
            reached: 0,
            names: Names::default(),
            scalars: Scalars::default(),
            sorted: Vec::new(),
            member_order: options.member_order,
            nodes_max: options.limits.nodes_max,
            summary: ImportSummary::default(),
            at: Place { offset: 0, line: 1, column: 1 },
        }
    }

    pub(crate) fn summary(&self) -> ImportSummary {
        ImportSummary { edits: self.target.edits, ..self.summary }
    }

    /// An object or array begins.
    pub(crate) fn begin(&mut self, kind: Kind) -> Result<(), ImportError> {
        let was = match self.child_key() {
            None => self.root(kind)?,
            Some(key) => self.child(key, kind)?,
        };
        self.count_node()?;
        self.frames.push(Frame {
            kind,
            was,
            kept: 0,
            elements: 0,
            names_from: self.names.len(),
            scalars_from: self.scalars.len(),
            is_sorted: true,
            is_dictionary: false,
        });
        self.summary.depth = self.summary.depth.max(self.frames.len());
        Ok(())
    }

    /// The name of an object's next member.
    pub(crate) fn name(&mut self, name: &str) -> Result<(), ImportError> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        if frame.is_sorted && self.names.len() > frame.names_from {
            let before = self.names.get(self.names.len() - 1);
            if before == name {
                return Err(duplicate(self.at, name));
            }
            frame.is_sorted = before < name;
        }
        self.names.push(name, self.at);
        Ok(())
    }

    /// A scalar.
    pub(crate) fn scalar(&mut self, value: ValueRef<'_>) -> Result<(), ImportError> {
        self.summary.scalars += 1;
        let Some(frame) = self.frames.last() else {
            return self.root_scalar(value);
        };
        if frame.kind == Kind::Array || frame.is_dictionary {
            return self.scalar_child(value);
        }
        let index = self.names.len() - 1;
        let name = self.names.get(index);
        if name.is_empty() || name.starts_with('\0') {
            return self.scalar_child(value);
        }
        self.scalars.push(index, value);
        if self.scalars.len() - frame.scalars_from > SCALARS_MAX {
            return self.become_dictionary();
        }
        Ok(())
    }

    /// Goes up to what the completed object or array is in.
    fn leave(&mut self) {
        self.frames.pop();
        if self.reached > 0 && self.reached == self.frames.len() {
            self.target.leave();
            self.reached -= 1;
        }
    }

    /// Takes the target to the innermost frame.
    fn reach(&mut self) -> Result<(), ImportError> {
        while self.reached + 1 < self.frames.len() {
            let frame = &self.frames[self.reached];
            let key = match frame.kind {
                Kind::Array => Key::from(frame.elements - 1),
                _ => {
                    let name = self.frames[self.reached + 1].names_from - 1;
                    Key::from(self.names.get(name))
                }
            };
            let entered = self.target.enter(&key);
            self.edited(entered)?;
            self.reached += 1;
        }
        Ok(())
    }

    /// The key of the child that comes next in the innermost frame, if there is a frame.
    fn child_key(&mut self) -> Option<Key> {
        let frame = self.frames.last_mut()?;
        if frame.kind == Kind::Array {
            frame.elements += 1;
            return Some(Key::from(frame.elements - 1));
        }
        let index = self.names.len() - 1;
        self.names.set_child(index);
        Some(Key::from(self.names.get(index)))
    }

    /// Makes sure that there is a child for something of this kind; gives it as it was.
    fn child(&mut self, key: Key, new: Kind) -> Result<Option<Node<'b>>, ImportError> {
        let frame = self.frames.last_mut().expect("a child has a parent");
        let was = frame.was.and_then(|node| node.child(&key));
        if was.is_some_and(|node| kind(node) == new) {
            frame.kept += 1;
            return Ok(was);
        }
        self.reach()?;
        if was.is_some() {
            let removed = self.target.remove_child(&key);
            self.edited(removed)?;
        }
        match self.target.insert_child(&key) {
            Err(EditError::ChildExists { .. }) => Err(self.exists(&key)),
            result => self.edited(result).map(|()| None),
        }
    }

    /// There is a child of this key already: a second member of this name.
    fn exists(&self, key: &Key) -> ImportError {
        let Key::Name(name) = key else {
            unreachable!("elements are counted");
        };
        let from = self.frames.last().map_or(0, |frame| frame.names_from);
        let mut same = (from..self.names.len()).filter(|&index| *self.names.get(index) == **name);
        let second = same.nth(1).map_or(self.at, |index| self.names.place(index));
        duplicate(second, name)
    }

    /// The node that the document goes to, cleared if it cannot stay.
    fn root(&mut self, new: Kind) -> Result<Option<Node<'b>>, ImportError> {
        let Some(was) = self.was.filter(|was| kind(*was) != new) else {
            return Ok(self.was);
        };
        let cleared = self.target.clear(&Content::of(was));
        self.edited(cleared).map(|()| None)
    }

    fn root_scalar(&mut self, value: ValueRef<'_>) -> Result<(), ImportError> {
        self.count_node()?;
        let was = self.root(Kind::Scalar)?;
        self.put_attribute(was, VALUE_KEY, value)?;
        self.remove_beside_value(was)
    }

    /// A scalar that is a child of its own.
    fn scalar_child(&mut self, value: ValueRef<'_>) -> Result<(), ImportError> {
        self.count_node()?;
        let key = self.child_key().expect("a child has a parent");
        self.scalar_child_at(key, value)
    }

    fn scalar_child_at(&mut self, key: Key, value: ValueRef<'_>) -> Result<(), ImportError> {
        let was = self.child(key.clone(), Kind::Scalar)?;
        if let Some(was) = was {
            let is_plain = !was.has_children() && was.attributes().nth(1).is_none();
            if is_plain && was.attribute(VALUE_KEY) == Some(value) {
                return Ok(());
            }
            self.reach()?;
            if !is_plain {
                let entered = self.target.enter(&key);
                self.edited(entered)?;
                self.remove_beside_value(Some(was))?;
                self.target.leave();
            }
        }
        let put = self.target.put_scalar(&key, value);
        self.edited(put)
    }

    /// Takes away what a scalar's node, where the target is, had beside its value.
    fn remove_beside_value(&mut self, was: Option<Node<'_>>) -> Result<(), ImportError> {
        for (key, _) in was.into_iter().flat_map(Node::children) {
            let removed = self.target.remove_child(&key.to_key());
            self.edited(removed)?;
        }
        for (key, _) in was.into_iter().flat_map(Node::attributes) {
            if key != VALUE_KEY {
                let removed = self.target.remove_attribute(key);
                self.edited(removed)?;
            }
        }
        Ok(())
    }

    /// Too many scalars for attributes: those that waited become children, and so will the others.
    fn become_dictionary(&mut self) -> Result<(), ImportError> {
        let frame = self.frames.last_mut().expect("a member has a parent");
        frame.is_dictionary = true;
        let from = frame.scalars_from;
        let scalars = std::mem::take(&mut self.scalars);
        for index in from..scalars.len() {
            let (name, value) = scalars.get(index);
            self.names.set_child(name);
            self.count_node()?;
            self.scalar_child_at(Key::from(self.names.get(name)), value)?;
        }
        self.scalars = scalars;
        self.scalars.truncate(from);
        Ok(())
    }

    /// Puts a scalar that waited; 1 if the node had an attribute of this key.
    fn put_scalar_attribute(
        &mut self,
        was: Option<Node<'_>>,
        index: usize,
    ) -> Result<usize, ImportError> {
        let (name, value) = self.scalars.get(index);
        let had = was.and_then(|was| was.attribute(self.names.get(name)));
        if had != Some(value) {
            self.reach()?;
            let (name, value) = self.scalars.get(index);
            let put = self.target.put(self.names.get(name), value);
            self.edited(put)?;
        }
        Ok(usize::from(had.is_some()))
    }

    /// Puts an attribute; 1 if the node had one of this key.
    fn put_attribute(
        &mut self,
        was: Option<Node<'_>>,
        key: &str,
        value: ValueRef<'_>,
    ) -> Result<usize, ImportError> {
        let had = was.and_then(|was| was.attribute(key));
        if had != Some(value) {
            self.reach()?;
            let put = self.target.put(key, value);
            self.edited(put)?;
        }
        Ok(usize::from(had.is_some()))
    }

    fn count_node(&mut self) -> Result<(), ImportError> {
        self.summary.nodes += 1;
        if self.summary.nodes > self.nodes_max {
            let (at, limit) = (self.at, Limit::Nodes(self.nodes_max));
            return Err(ImportError::Limit { at, limit });
        }
        Ok(())
    }

    fn edited<T>(&self, result: Result<T, EditError>) -> Result<T, ImportError> {
        let at = self.at;
        result.map_err(|source| ImportError::Edit { at, source })
    }
}

fn duplicate(at: Place, name: &str) -> ImportError {
    let name = name.into();
    ImportError::DuplicateName { at, name }
}
