//! What is known of the objects that are being read: stacks shared by all of them, so that an
//! object costs no allocation of its own.

use jungle_tree::ValueRef;

use crate::error::Place;

/// A member's name.
struct Name {
    /// Where its text ends; it begins where the one before ends.
    end: usize,
    at: Place,
    is_child: bool,
}

/// The names of the members read so far of every open object, the innermost last.
#[derive(Default)]
pub(crate) struct Names {
    text: String,
    names: Vec<Name>,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn push(&mut self, name: &str, at: Place) {
        self.text.push_str(name);
        let end = self.text.len();
        self.names.push(Name { end, at, is_child: false });
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        let from = index.checked_sub(1).map_or(0, |before| self.names[before].end);
        &self.text[from..self.names[index].end]
    }

    pub(crate) fn place(&self, index: usize) -> Place {
        self.names[index].at
    }

    /// This member is a child.
    pub(crate) fn set_child(&mut self, index: usize) {
        self.names[index].is_child = true;
    }

    pub(crate) fn is_child(&self, index: usize) -> bool {
        self.names[index].is_child
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        let end = len.checked_sub(1).map_or(0, |last| self.names[last].end);
        self.text.truncate(end);
        self.names.truncate(len);
    }
}

/// A value whose text, if it has one, is elsewhere.
#[derive(Clone, Copy)]
enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text,
    Bytes,
}

struct Scalar {
    /// The index of the member's name.
    name: usize,
    kind: Kind,
    end: usize,
}

/// The scalar members of every open object that may become attributes.
#[derive(Default)]
pub(crate) struct Scalars {
    text: String,
    scalars: Vec<Scalar>,
}

impl Scalars {
    pub(crate) fn len(&self) -> usize {
        self.scalars.len()
    }

    /// Adds the value of a member; bytes must be text, as those of a number are.
    pub(crate) fn push(&mut self, name: usize, value: ValueRef<'_>) {
        let (kind, text) = match value {
            ValueRef::Null => (Kind::Null, ""),
            ValueRef::Bool(bool) => (Kind::Bool(bool), ""),
            ValueRef::Int(int) => (Kind::Int(int), ""),
            ValueRef::Float(float) => (Kind::Float(float), ""),
            ValueRef::Text(text) => (Kind::Text, text),
            ValueRef::Bytes(bytes) => {
                let text = std::str::from_utf8(bytes).expect("the bytes of a number are text");
                (Kind::Bytes, text)
            }
        };
        self.text.push_str(text);
        let end = self.text.len();
        self.scalars.push(Scalar { name, kind, end });
    }

    /// The index of a member's name, and its value.
    pub(crate) fn get(&self, index: usize) -> (usize, ValueRef<'_>) {
        let from = index.checked_sub(1).map_or(0, |before| self.scalars[before].end);
        let Scalar { name, kind, end } = self.scalars[index];
        let value = match kind {
            Kind::Null => ValueRef::Null,
            Kind::Bool(bool) => ValueRef::Bool(bool),
            Kind::Int(int) => ValueRef::Int(int),
            Kind::Float(float) => ValueRef::Float(float),
            Kind::Text => ValueRef::Text(&self.text[from..end]),
            Kind::Bytes => ValueRef::Bytes(&self.text.as_bytes()[from..end]),
        };
        (name, value)
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        let end = len.checked_sub(1).map_or(0, |last| self.scalars[last].end);
        self.text.truncate(end);
        self.scalars.truncate(len);
    }
}
