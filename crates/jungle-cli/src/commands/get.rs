//! `jungle get`: the value at a path.

use std::io::Write;

use jungle_json::{ExportOptions, Layout, Member, export, value_at};
use jungle_tree::{Key, Node};

use crate::context::Context;
use crate::failure::Failure;
use crate::near;
use crate::output::{document, json};
use crate::source::{Choice, Source, usage};

const FORMS: &str = "jungle get FILE PATH, or jungle get DIR TREE [PATH]";

/// Print the JSON value at a path
#[derive(clap::Args)]
#[command(override_usage = FORMS)]
pub(crate) struct Args {
    /// The document, `-` for standard input; or a folder
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// Of a folder the tree; then keys with slashes between them: `/features/3/name`; `/@name` is
    /// an attribute for sure
    #[arg(value_name = "PATH", required = true, num_args = 1..=2)]
    rest: Vec<String>,
    /// A line for each value
    #[arg(long)]
    pretty: bool,
    #[command(flatten)]
    choice: Choice,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let source = Source::open(context, &args.place, &args.rest, &args.choice)?;
    let path = match source.rest {
        [path] => path,
        [] => "/",
        _ => return Err(usage(&args.place, FORMS)),
    };
    let path = crate::document::path(path)?;
    let root = source.snapshot.root();
    let found = value_at(root, &path).or_else(|| attribute(root, &path));
    let Some(member) = found else {
        return Err(near::not_found(root, &path));
    };
    let layout = if args.pretty { Layout::Pretty } else { Layout::Compact };
    let mut out = document();
    match member {
        Member::Node(node) => export(node, &mut out, &ExportOptions { layout })?,
        value => out.write_all(json(value).as_bytes())?,
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The attribute that a last key `@name` asks for; a member with that very name comes first.
fn attribute<'a>(root: Node<'a>, path: &[Key]) -> Option<Member<'a>> {
    let (Key::Name(name), parent) = path.split_last()? else {
        return None;
    };
    let value = root.at(parent).ok()?.attribute(name.strip_prefix('@')?)?;
    Some(Member::Value(value))
}
