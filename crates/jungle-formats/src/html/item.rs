//! What a node of a tree is in a page.

use std::collections::HashMap;

use jungle_json::{Member, Shape, shape};
use jungle_tree::{Children, Node, ValueRef};

use super::names::{CHILDREN, COMMENT, DOCTYPE, NAME, ORDER};

pub(super) enum Item<'t> {
    Text(&'t str),
    Comment(&'t str),
    Doctype(&'t str),
    Element(Element<'t>),
}

pub(super) struct Element<'t> {
    pub(super) name: &'t str,
    /// In their order.
    pub(super) attributes: Vec<(&'t str, &'t str)>,
    pub(super) children: Option<Children<'t>>,
}

impl<'t> Item<'t> {
    /// What a node is, if it is something of a page.
    pub(super) fn of(node: Node<'t>) -> Option<Item<'t>> {
        let members = match shape(node) {
            Shape::Scalar(ValueRef::Text(text)) => return Some(Item::Text(text)),
            Shape::Object(members) => members,
            _ => return None,
        };
        let (mut name, mut only, mut order, mut children) = (None, None, None, None);
        let mut attributes = Vec::new();
        for (key, member) in members {
            match (key, member) {
                (NAME, Member::Value(ValueRef::Text(text))) => name = Some(text),
                (ORDER, Member::Value(ValueRef::Text(text))) => order = Some(text),
                (COMMENT, Member::Value(ValueRef::Text(text))) => only = Some(Item::Comment(text)),
                (DOCTYPE, Member::Value(ValueRef::Text(text))) => only = Some(Item::Doctype(text)),
                (CHILDREN, Member::Node(node)) => match shape(node) {
                    Shape::Array(elements) => children = Some(elements),
                    _ => return None,
                },
                (key, Member::Value(ValueRef::Text(text))) => {
                    attributes.push((attribute(key)?, text));
                }
                _ => return None,
            }
        }
        if let Some(only) = only {
            // It has no other member.
            return (members_of(node) == 1).then_some(only);
        }
        let names = order.into_iter().flat_map(|all| all.split(' '));
        let ranks: HashMap<&str, usize> = names.enumerate().map(|(at, name)| (name, at)).collect();
        attributes.sort_by_key(|(key, _)| (ranks.get(key), *key));
        Some(Item::Element(Element { name: name?, attributes, children }))
    }
}

fn members_of(node: Node<'_>) -> usize {
    match shape(node) {
        Shape::Object(members) => members.count(),
        _ => 0,
    }
}

/// The name of an attribute: one that begins as our own names do has one such character more.
fn attribute(key: &str) -> Option<&str> {
    match key.strip_prefix('#') {
        None => Some(key),
        Some(name) => name.starts_with('#').then_some(name),
    }
}
