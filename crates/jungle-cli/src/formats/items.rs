//! What is in a node, one after the other, whether JSON has a form for it or not.

use std::borrow::Cow;
use std::iter::Peekable;

use jungle_json::{Member, Members, Shape, shape};
use jungle_tree::{Attributes, Children, KeyRef, ValueRef};

/// What is at a place.
pub(super) enum Inside<'t> {
    Value(ValueRef<'t>),
    /// An array or object in which nothing is, as JSON.
    Nothing(&'static str),
    Items(Box<Peekable<Items<'t>>>),
}

/// The elements of an array, the members of an object, or what is in a node that is neither.
pub(super) enum Items<'t> {
    Elements(Children<'t>),
    Members(Members<'t>),
    /// Its attributes, and then its children.
    Mixed(Attributes<'t>, Children<'t>),
}

/// What is there, in the order of the document.
pub(super) fn inside(member: Member<'_>) -> Inside<'_> {
    let node = match member {
        Member::Value(value) => return Inside::Value(value),
        Member::Node(node) => node,
    };
    let (items, nothing) = match shape(node) {
        Shape::Scalar(value) => return Inside::Value(value),
        Shape::Array(elements) => (Items::Elements(elements), "[]"),
        Shape::Object(members) => (Items::Members(members), "{}"),
        Shape::Mixed => (Items::Mixed(node.attributes(), node.children()), "{}"),
    };
    let mut items = Box::new(items.peekable());
    match items.peek() {
        Some(_) => Inside::Items(items),
        None => Inside::Nothing(nothing),
    }
}

/// How many items there are below, those in items with them.
pub(super) fn count(items: Box<Peekable<Items<'_>>>) -> u64 {
    let (mut count, mut open) = (0, vec![items]);
    while let Some(innermost) = open.last_mut() {
        let Some((_, member)) = innermost.next() else {
            open.pop();
            continue;
        };
        count += 1;
        if let Inside::Items(items) = inside(member) {
            open.push(items);
        }
    }
    count
}

impl<'t> Iterator for Items<'t> {
    type Item = (Cow<'t, str>, Member<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self {
            Items::Elements(children) => keyed(children)?,
            Items::Members(members) => {
                let (name, member) = members.next()?;
                (name.into(), member)
            }
            Items::Mixed(attributes, children) => match attributes.next() {
                Some((name, value)) => (name.into(), Member::Value(value)),
                None => keyed(children)?,
            },
        })
    }
}

fn keyed<'t>(children: &mut Children<'t>) -> Option<(Cow<'t, str>, Member<'t>)> {
    let (key, node) = children.next()?;
    let name = match key {
        KeyRef::Name(name) => name.into(),
        position => position.to_string().into(),
    };
    Some((name, Member::Node(node)))
}
