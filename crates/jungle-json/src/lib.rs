//! JSON into trees and back, without loss, streaming, within limits.
//!
//! ```
//! use jungle_json::{ExportOptions, ImportOptions, export, import};
//! use jungle_tree::{Arena, Tree};
//!
//! let text = r#"{"name":"jungle","tags":["tree",1.50],"empty":{}}"#;
//! let mut tree = Tree::new(&Arena::new()?);
//! tree.edit(|editor| {
//!     import(text.as_bytes(), editor, &[], &ImportOptions::default(), &mut |_| ())
//! })?;
//! let snapshot = tree.snapshot();
//! assert_eq!(snapshot.root().attribute("name").unwrap().as_text(), Some("jungle"));
//!
//! let mut out = Vec::new();
//! export(snapshot.root(), &mut out, &ExportOptions::default())?;
//! assert_eq!(String::from_utf8(out)?, text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a document becomes a tree
//!
//! | JSON | in the tree |
//! |---|---|
//! | object | a node without a marker |
//! | member that is a scalar | an attribute of the node, under the member's name |
//! | member that is an object or array | a child, under the member's name |
//! | array | a node whose children have the positions 0, 1, 2 … |
//! | empty array | a node with the attribute [`ARRAY_KEY`], which is null |
//! | scalar that is an element, or the whole document | a node with the attribute [`VALUE_KEY`] |
//! | number | an integer or float that comes out the same; else its text, as bytes |
//!
//! A scalar member is a child with the attribute [`VALUE_KEY`] rather than an attribute
//!
//! - if its name is empty or begins with U+0000, so that such attribute keys are the mapping's own;
//! - if its object has more than [`SCALARS_MAX`] scalar members: a dictionary's names are data, not
//!   a vocabulary, and children are found and changed in logarithmic time whatever their number.
//!
//! Names in a tree are sorted. Where the members of an object are not, the attribute [`ORDER_KEY`]
//! names those that are out of order and what they follow; [`MemberOrder::Ignore`] leaves it out.
//!
//! What is kept: every value, the text of every number, the order of members. What is not: white
//! space between tokens, and how a character of a string was escaped. What is refused, because it
//! could not be kept: a name twice in an object, text that is not UTF-8, half a surrogate pair.

pub mod base64;
mod build;
mod error;
mod export;
mod import;
mod number;
mod options;
mod order;
mod shape;
mod stacks;
mod target;
mod token;

pub use error::{ImportError, Limit, Place, Syntax};
pub use export::{ExportError, ExportOptions, Layout, export, write_value};
pub use import::{ImportSummary, import};
pub use options::{ImportOptions, Limits, MemberOrder};
pub use shape::{Member, Members, Shape, shape, value_at};

/// The attribute of a node that stands for a scalar: its value.
///
/// ```
/// use jungle_json::{ImportOptions, VALUE_KEY, import};
/// use jungle_tree::{Arena, Key, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.edit(|editor| {
///     import(&b"[true]"[..], editor, &[], &ImportOptions::default(), &mut |_| ())
/// })?;
/// let snapshot = tree.snapshot();
/// let first = snapshot.root().at(&[Key::position(0)])?;
/// assert_eq!(first.attribute(VALUE_KEY).and_then(|value| value.as_bool()), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const VALUE_KEY: &str = "";

/// The attribute that says that a node without children is an array. Its value is null.
///
/// ```
/// use jungle_json::{ARRAY_KEY, ExportOptions, export};
/// use jungle_tree::{Arena, Tree, ValueRef};
/// let mut tree = Tree::new(&Arena::new()?);
/// tree.put_attribute(&[], ARRAY_KEY, ValueRef::Null)?;
/// let mut out = Vec::new();
/// export(tree.snapshot().root(), &mut out, &ExportOptions::default())?;
/// assert_eq!(out, b"[]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const ARRAY_KEY: &str = "\0array";

/// The attribute that says in which order the members of an object come, where it is not that of
/// their names. Its value is bytes.
///
/// ```
/// use jungle_json::{ImportOptions, ORDER_KEY, import};
/// use jungle_tree::{Arena, Tree};
/// let has_order = |text: &str| {
///     let mut tree = Tree::new(&Arena::new()?);
///     tree.edit(|editor| {
///         import(text.as_bytes(), editor, &[], &ImportOptions::default(), &mut |_| ())
///     })?;
///     Ok::<_, Box<dyn std::error::Error>>(tree.snapshot().root().attribute(ORDER_KEY).is_some())
/// };
/// assert!(!has_order(r#"{"a":1,"b":2}"#)? && has_order(r#"{"b":2,"a":1}"#)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const ORDER_KEY: &str = "\0order";

/// An object with more scalar members than this has them as children.
///
/// ```
/// use jungle_json::{ImportOptions, SCALARS_MAX, import};
/// use jungle_tree::{Arena, Tree};
/// for (scalars, children) in [(SCALARS_MAX, 0), (SCALARS_MAX + 1, SCALARS_MAX + 1)] {
///     let members: Vec<String> = (0..scalars).map(|at| format!("\"{at}\":{at}")).collect();
///     let text = format!("{{{}}}", members.join(","));
///     let mut tree = Tree::new(&Arena::new()?);
///     tree.edit(|editor| {
///         import(text.as_bytes(), editor, &[], &ImportOptions::default(), &mut |_| ())
///     })?;
///     assert_eq!(tree.snapshot().root().children().count(), children);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const SCALARS_MAX: usize = 64;
