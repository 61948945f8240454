//! `jungle ls`: what is at a place.

use std::io::{self, Write};

use jungle_json::{Member, Shape, shape, value_at};
use jungle_tree::{Key, Node};
use serde_json::Value;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::near;
use crate::output::{Format, count, json, short, stdout};
use crate::place::{Part, Purpose};

/// Longer values are cut on a line.
const VALUE_CHARS_MAX: usize = 100;

/// List the members of an object, the elements of an array, or the trees of a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// The tree; without it, trees are listed
    tree: Option<String>,
    /// Where in the tree
    #[arg(default_value = "/")]
    path: String,
    #[command(flatten)]
    at: args::At,
    /// Stop after this many
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let Some(name) = &args.tree else {
        return super::trees::list(&args.dir, context);
    };
    let path = path(&args.path)?;
    let place = context.place(&args.dir, Purpose::Read)?;
    let snapshot = place.look(name, args.at.at.as_deref(), Part::Members(&path))?;
    let root = snapshot.root();
    let mut out = stdout();
    let limit = args.limit.unwrap_or(usize::MAX);
    match value_at(root, &path) {
        None => return Err(near::not_found(root, &path)),
        Some(Member::Value(value)) => writeln!(out, "{}", json(Member::Value(value)))?,
        Some(Member::Node(node)) => {
            for (key, member) in members(node).take(limit) {
                print(&mut out, &key, member, context.format)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Whatever hangs on a node, in the order of the document.
pub(super) fn members(node: Node<'_>) -> Box<dyn Iterator<Item = (Key, Member<'_>)> + '_> {
    match shape(node) {
        Shape::Object(members) => Box::new(members.map(|(name, member)| (name.into(), member))),
        Shape::Scalar(value) => Box::new(std::iter::once(("".into(), Member::Value(value)))),
        Shape::Array(_) | Shape::Mixed => {
            let attributes = node.attributes();
            let values = attributes.map(|(key, value)| (key.into(), Member::Value(value)));
            let children = node.children().map(|(key, node)| (key.to_key(), plain(node)));
            Box::new(values.chain(children))
        }
    }
}

/// A node, or the scalar that it stands for.
fn plain(node: Node<'_>) -> Member<'_> {
    match shape(node) {
        Shape::Scalar(value) => Member::Value(value),
        _ => Member::Node(node),
    }
}

fn print(out: &mut impl Write, key: &Key, member: Member<'_>, format: Format) -> io::Result<()> {
    let kind = match member {
        Member::Value(_) => None,
        Member::Node(node) => Some(match shape(node) {
            Shape::Array(elements) => ("array", elements.count() as u64, "element"),
            Shape::Object(members) => ("object", members.count() as u64, "member"),
            _ => ("mixed", node.child_count(), "child node"),
        }),
    };
    match (format, kind) {
        (Format::Text, None) => writeln!(out, "{key}: {}", short(member, VALUE_CHARS_MAX)),
        (Format::Text, Some((kind, number, unit))) => {
            writeln!(out, "{key}: {kind} of {}", count(number, unit))
        }
        (Format::Json, None) => {
            let key = Value::from(key.to_string());
            writeln!(out, r#"{{"key":{key},"kind":"scalar","value":{}}}"#, json(member))
        }
        (Format::Json, Some((kind, number, _))) => {
            let key = Value::from(key.to_string());
            writeln!(out, r#"{{"key":{key},"kind":"{kind}","count":{number}}}"#)
        }
    }
}
