//! `jungle get`: the value at a path.

use std::io::Write;

use jungle_json::{ExportOptions, Layout, Member, export, value_at};
use jungle_tree::{Key, Node, Path, Snapshot};

use crate::context::Context;
use crate::document::path;
use crate::failure::Failure;
use crate::folder::is_folder;
use crate::near;
use crate::output::{document, json};
use crate::place::{Part, Purpose, is_url};
use crate::source::{Choice, Source, usage};

const FORMS: &str = "jungle get FILE PATH, or jungle get DIR TREE [PATH]";

/// Print the JSON value at a path
#[derive(clap::Args)]
#[command(override_usage = FORMS)]
pub(crate) struct Args {
    /// The document, `-` for standard input; or a folder, or the URL of a server
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// Of a folder or server the tree; then keys with slashes between them: `/features/3/name`;
    /// `/@name` is an attribute for sure
    #[arg(value_name = "PATH", required = true, num_args = 1..=2)]
    rest: Vec<String>,
    /// A line for each value
    #[arg(long)]
    pretty: bool,
    #[command(flatten)]
    choice: Choice,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let (snapshot, path) = look(args, context)?;
    let root = snapshot.root();
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

/// What is looked at, and where in it.
fn look(args: &Args, context: &Context<'_>) -> Result<(Snapshot, Path), Failure> {
    if (is_folder(&args.place) || is_url(&args.place))
        && let [tree, rest @ ..] = &args.rest[..]
    {
        let below = path(rest.first().map_or("/", String::as_str))?;
        let place = context.place(&args.place, Purpose::Read)?;
        let snapshot = place.look(tree, args.choice.at.at.as_deref(), Part::Whole(&below))?;
        return Ok((snapshot, below));
    }
    let source = Source::open(context, &args.place, &args.rest, &args.choice)?;
    match source.rest {
        [below] => Ok((source.snapshot, path(below)?)),
        _ => Err(usage(&args.place, FORMS)),
    }
}

/// The attribute that a last key `@name` asks for; a member with that very name comes first.
fn attribute<'a>(root: Node<'a>, path: &[Key]) -> Option<Member<'a>> {
    let (Key::Name(name), parent) = path.split_last()? else {
        return None;
    };
    let value = root.at(parent).ok()?.attribute(name.strip_prefix('@')?)?;
    Some(Member::Value(value))
}
