//! What JSON a node stands for.

use std::fmt;
use std::iter::Peekable;

use jungle_tree::{Attributes, Children, Key, KeyRef, Node, ValueRef};

use crate::{ARRAY_KEY, ORDER_KEY, VALUE_KEY, order};

/// `Debug` shows no more members.
const SHOWN_MAX: usize = 16;

/// What JSON a node stands for.
///
/// ```
/// use jungle_json::{ImportOptions, Shape, import, shape};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.edit(|editor| {
///     import(&b"[1,{}]"[..], editor, &[], &ImportOptions::default(), &mut |_| ())
/// })?;
/// let snapshot = tree.snapshot();
/// let Shape::Array(elements) = shape(snapshot.root()) else { panic!() };
/// assert_eq!(elements.count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Shape<'a> {
    /// Null, a truth value, a number or a string.
    Scalar(ValueRef<'a>),
    /// An array, and its elements.
    Array(Children<'a>),
    /// An object, and its members.
    Object(Members<'a>),
    /// Nothing that comes from JSON: positions beside names or attributes, a child and an
    /// attribute of one name, or a value beside other things.
    Mixed,
}

/// What an object or array has in it: see [`Members`].
#[derive(Clone, Copy, Debug)]
pub enum Member<'a> {
    /// A scalar.
    Value(ValueRef<'a>),
    /// Anything else.
    Node(Node<'a>),
}

/// The members of an object with their names, in the order of the document.
///
/// ```
/// use jungle_json::{ImportOptions, Member, Shape, import, shape};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let text = br#"{"tags":["tree"],"name":"jungle"}"#;
/// tree.edit(|editor| {
///     import(&text[..], editor, &[], &ImportOptions::default(), &mut |_| ())
/// })?;
/// let snapshot = tree.snapshot();
/// let Shape::Object(members) = shape(snapshot.root()) else { panic!("it is an object") };
/// let names: Vec<&str> = members.clone().map(|(name, _)| name).collect();
/// assert_eq!(names, ["tags", "name"]);
/// assert!(members.into_iter().any(|(_, member)| matches!(member, Member::Value(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Members<'a>(Order<'a>);

#[derive(Clone)]
enum Order<'a> {
    Sorted(Box<Sorted<'a>>),
    Given(std::vec::IntoIter<(&'a str, Member<'a>)>),
}

/// Attributes and children, both in the order of their names, as one list in that order.
#[derive(Clone)]
struct Sorted<'a> {
    attributes: Peekable<Attributes<'a>>,
    children: Peekable<Children<'a>>,
}

/// What JSON a node stands for.
///
/// ```
/// use jungle_json::{Shape, shape};
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.add_child(&[])?;
/// assert!(matches!(shape(tree.snapshot().root()), Shape::Array(_)));
/// // A name beside a position: no JSON has that.
/// tree.put_attribute(&[], "title", "a list")?;
/// assert!(matches!(shape(tree.snapshot().root()), Shape::Mixed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn shape(node: Node<'_>) -> Shape<'_> {
    let first = node.children().next().map(|(key, _)| key);
    let is_array = match first {
        Some(KeyRef::Position(..)) => true,
        Some(KeyRef::Name(_)) => false,
        None => node.attribute(ARRAY_KEY).is_some(),
    };
    if is_array {
        let last = node.children_backward().next().map(|(key, _)| key);
        let is_mixed = matches!(last, Some(KeyRef::Name(_)))
            || node.attributes().any(|(key, _)| key != ARRAY_KEY);
        return if is_mixed { Shape::Mixed } else { Shape::Array(node.children()) };
    }
    if node.has_attributes() {
        if let Some(value) = node.attribute(VALUE_KEY) {
            let is_alone = first.is_none() && node.attributes().nth(1).is_none();
            return if is_alone { Shape::Scalar(value) } else { Shape::Mixed };
        }
        let is_twice = |(key, value): (&str, ValueRef<'_>)| {
            !is_order(key, value) && node.child(KeyRef::Name(key)).is_some()
        };
        if first.is_some() && node.attributes().any(is_twice) {
            return Shape::Mixed;
        }
    }
    Shape::Object(Members::new(node))
}

/// What is at a path below a node: a node, or, where the last key names one, an attribute.
///
/// ```
/// use jungle_json::{ImportOptions, Member, import, value_at};
/// use jungle_tree::{Arena, Path, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let text = br#"{"a":[7,{"b":true}]}"#;
/// tree.edit(|editor| {
///     import(&text[..], editor, &[], &ImportOptions::default(), &mut |_| ())
/// })?;
/// let snapshot = tree.snapshot();
/// let at = |path: &str| value_at(snapshot.root(), &path.parse::<Path>().unwrap());
/// assert!(matches!(at("/a/0"), Some(Member::Value(seven)) if seven.as_int() == Some(7)));
/// assert!(matches!(at("/a/1"), Some(Member::Node(_))));
/// assert!(matches!(at("/a/1/b"), Some(Member::Value(yes)) if yes.as_bool() == Some(true)));
/// assert!(at("/a/1/c").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn value_at<'a>(node: Node<'a>, path: &[Key]) -> Option<Member<'a>> {
    let error = match node.at(path) {
        Ok(node) => return Some(member(node)),
        Err(error) => error,
    };
    // Only the last key may name an attribute.
    let (Key::Name(name), parent) = path.split_last()? else {
        return None;
    };
    if error.path.len() < path.len() || **name == *VALUE_KEY {
        return None;
    }
    let value = node.at(parent).ok()?.attribute(name)?;
    // What tells the order of members is none of them.
    (!is_order(name, value)).then_some(Member::Value(value))
}

/// A node, or the scalar that it stands for.
pub(crate) fn member(node: Node<'_>) -> Member<'_> {
    let is_scalar = !node.has_children() && node.attributes().nth(1).is_none();
    match node.attribute(VALUE_KEY) {
        Some(value) if is_scalar => Member::Value(value),
        _ => Member::Node(node),
    }
}

/// Does this attribute tell the order of members?
fn is_order(key: &str, value: ValueRef<'_>) -> bool {
    key == ORDER_KEY && matches!(value, ValueRef::Bytes(_))
}

impl<'a> Members<'a> {
    fn new(node: Node<'a>) -> Members<'a> {
        let sorted = Sorted {
            attributes: node.attributes().peekable(),
            children: node.children().peekable(),
        };
        match node.attribute(ORDER_KEY) {
            Some(ValueRef::Bytes(bytes)) => {
                let members = sorted.map(|(name, member)| (name, (name, member)));
                Members(Order::Given(order::apply(bytes, members.collect()).into_iter()))
            }
            _ => Members(Order::Sorted(Box::new(sorted))),
        }
    }
}

impl fmt::Debug for Members<'_> {
    /// The names of those that are left, up to a limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.clone();
        let mut shown = f.debug_list();
        shown.entries(rest.by_ref().take(SHOWN_MAX).map(|(name, _)| name));
        if rest.next().is_some() { shown.finish_non_exhaustive() } else { shown.finish() }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Member<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Order::Sorted(sorted) => sorted.next(),
            Order::Given(given) => given.next(),
        }
    }
}

impl<'a> Iterator for Sorted<'a> {
    type Item = (&'a str, Member<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.attributes.next_if(|&(key, value)| is_order(key, value));
        let attribute = self.attributes.peek().map(|&(key, _)| key);
        let child = match self.children.peek() {
            Some(&(KeyRef::Name(name), _)) => Some(name),
            _ => None,
        };
        match (attribute, child) {
            (Some(attribute), child) if child.is_none_or(|child| attribute < child) => {
                let (key, value) = self.attributes.next()?;
                Some((key, Member::Value(value)))
            }
            (_, Some(name)) => {
                let (_, node) = self.children.next()?;
                Some((name, member(node)))
            }
            (_, None) => None,
        }
    }
}
