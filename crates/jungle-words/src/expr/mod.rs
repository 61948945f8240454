//! Expressions about nodes.

mod indexed;
mod parse;
mod token;

use std::cmp::Ordering;

use jungle_json::{VALUE_KEY, write_value};
use jungle_tree::{Key, KeyRef, Node, ValueRef};

pub use indexed::{Part, create_index, with_attribute};
pub use parse::ParseError;

/// What help says about expressions.
pub const HELP: &str = r#"Expressions:
  key = value     equal; a number, "text", word, true, false or null
  key != value    there, and not equal
  key < value     also <= > >=, among numbers and among texts
  key ~ text      contains the text; with * in it, the whole is like it
  exists key      there, whatever its value
  and or not ( )  `not` binds closest, then `and`

A key is the name of a member with a scalar value, in quotes if it is not a word. @name is the
node's own key and @value the value of an element.

  jungle find data.json 'version_added = preview or version_added ~ "≤*"'
  jungle find data.json '@name ~ "Web*" and not exists status'"#;

/// What must be true of a node: [`HELP`](crate::EXPRESSION_HELP) says how it is written.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// use jungle_words::Expr;
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], "title", "Hello")?;
/// assert!(Expr::parse("title ~ \"H*o\"")?.is_true(tree.snapshot().root(), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Expr(Term);

/// An expression, or a part of one.
#[derive(Debug)]
pub(crate) enum Term {
    All(Vec<Term>),
    Any(Vec<Term>),
    Not(Box<Term>),
    Exists(Field),
    Compare(Field, Test),
}

/// What of a node is looked at.
#[derive(Debug)]
pub(crate) enum Field {
    /// The key under which its parent has it.
    Name,
    /// A member with a scalar value; the key is a name, for looking up children.
    Member(Key),
}

/// What must be true of it.
#[derive(Debug)]
pub(crate) enum Test {
    Equal(Literal),
    NotEqual(Literal),
    /// The order must be one of two.
    Order(Literal, [Ordering; 2]),
    Like(Pattern),
}

#[derive(Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

#[derive(Debug)]
pub(crate) enum Pattern {
    Contains(String),
    /// The pieces between the stars.
    Glob(Vec<String>),
}

impl Expr {
    /// Reads an expression. It may be of any length, with a hundred parentheses and `not`s in one
    /// another.
    ///
    /// # Errors
    /// When it is none.
    ///
    /// ```
    /// use jungle_words::Expr;
    /// assert!(Expr::parse(r#"(stars > 3 or name ~ "jung*") and not exists hidden"#).is_ok());
    /// assert!(Expr::parse(&"(".repeat(101)).is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Expr, ParseError> {
        parse::parse(text).map(Expr)
    }

    /// Is it true of this node, which its parent has under `key`?
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// use jungle_words::Expr;
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for stars in [5, 2, 4] {
    ///     let post = [tree.add_child(&[])?];
    ///     tree.put_attribute(&post, "stars", stars)?;
    /// }
    /// let (expr, snapshot) = (Expr::parse("stars > 3")?, tree.snapshot());
    /// let found = snapshot.root().children().filter(|&(key, node)| expr.is_true(node, Some(key)));
    /// let keys: Vec<String> = found.map(|(key, _)| key.to_string()).collect();
    /// assert_eq!(keys, ["0", "2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_true(&self, node: Node<'_>, key: Option<KeyRef<'_>>) -> bool {
        self.0.is_true(node, key)
    }
}

impl Term {
    /// Recurses by the depth of the expression, which is limited.
    fn is_true(&self, node: Node<'_>, key: Option<KeyRef<'_>>) -> bool {
        match self {
            Term::All(all) => all.iter().all(|term| term.is_true(node, key)),
            Term::Any(any) => any.iter().any(|term| term.is_true(node, key)),
            Term::Not(term) => !term.is_true(node, key),
            Term::Exists(Field::Name) => key.is_some(),
            Term::Exists(Field::Member(member)) => {
                value(node, member).is_some() || node.child(member).is_some()
            }
            Term::Compare(Field::Name, test) => match key {
                None => false,
                Some(KeyRef::Name(name)) => test.is_true(ValueRef::Text(name)),
                Some(KeyRef::Position(index, [])) => test.is_true(ValueRef::Int(index)),
                Some(fraction) => test.is_true(ValueRef::Text(&fraction.to_string())),
            },
            Term::Compare(Field::Member(member), test) => {
                value(node, member).is_some_and(|value| test.is_true(value))
            }
        }
    }
}

/// The scalar member of this name, be it an attribute or, in a dictionary, a child.
fn value<'a>(node: Node<'a>, member: &Key) -> Option<ValueRef<'a>> {
    let Key::Name(name) = member else {
        return None;
    };
    let child = || node.has_children().then(|| node.child(member)).flatten();
    node.attribute(name).or_else(|| child()?.attribute(VALUE_KEY))
}

impl Test {
    fn is_true(&self, value: ValueRef<'_>) -> bool {
        match self {
            Test::Equal(literal) => literal.order(value) == Some(Ordering::Equal),
            Test::NotEqual(literal) => literal.order(value) != Some(Ordering::Equal),
            Test::Order(literal, wanted) => {
                literal.order(value).is_some_and(|order| wanted.contains(&order))
            }
            Test::Like(pattern) => match value {
                ValueRef::Text(text) => pattern.fits(text),
                value => pattern.fits(&shown(value)),
            },
        }
    }
}

impl Literal {
    /// How a value compares with this, if it does.
    fn order(&self, value: ValueRef<'_>) -> Option<Ordering> {
        match (value, self) {
            (ValueRef::Null, Literal::Null) => Some(Ordering::Equal),
            (ValueRef::Bool(left), Literal::Bool(right)) => Some(left.cmp(right)),
            (ValueRef::Text(left), Literal::Text(right)) => Some(left.cmp(right)),
            (value, Literal::Int(right)) => match integer(value) {
                Some(left) => Some(left.cmp(right)),
                None => float(value)?.partial_cmp(&(*right as f64)),
            },
            (value, Literal::Float(right)) => float(value)?.partial_cmp(right),
            _ => None,
        }
    }
}

/// The integer that a value is, a kept text of one too. As floats, large ones that are near to each
/// other would be equal.
fn integer(value: ValueRef<'_>) -> Option<i128> {
    match value {
        ValueRef::Int(int) => Some(int.into()),
        ValueRef::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        _ => None,
    }
}

/// The number that a value is, a kept text of one too.
fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Int(int) => Some(int as f64),
        ValueRef::Float(float) => Some(float),
        ValueRef::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        _ => None,
    }
}

/// What is no text, as one: a number as it is written, also where that is kept as bytes.
fn shown(value: ValueRef<'_>) -> String {
    if let ValueRef::Bytes(_) = value {
        let mut number = String::new();
        write_value(value, &mut number);
        // Bytes that are no number are an object there.
        if !number.starts_with('{') {
            return number;
        }
    }
    value.to_string()
}

impl Pattern {
    fn new(text: String) -> Pattern {
        if text.contains('*') {
            Pattern::Glob(text.split('*').map(str::to_owned).collect())
        } else {
            Pattern::Contains(text)
        }
    }

    fn fits(&self, text: &str) -> bool {
        let pieces = match self {
            Pattern::Contains(part) => return text.contains(part.as_str()),
            Pattern::Glob(pieces) => pieces,
        };
        let [first, middle @ .., last] = pieces.as_slice() else {
            return false;
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        // The first place that fits leaves the most for the others.
        for piece in middle {
            let Some(at) = rest.find(piece.as_str()) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests;
