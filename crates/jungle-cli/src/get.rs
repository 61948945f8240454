//! `jungle get`: the value at a path.

use std::io::Write;

use jungle_json::{ExportOptions, Layout, Member, export, value_at};
use jungle_tree::{Key, Node};

use crate::args;
use crate::document::{open, path};
use crate::failure::Failure;
use crate::near;
use crate::output::{json, stdout};

pub(crate) fn run(args: &args::Get) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let tree = open(&args.file, &args.read)?;
    let snapshot = tree.snapshot();
    let root = snapshot.root();
    let found = value_at(root, &path).or_else(|| attribute(root, &path));
    let Some(member) = found else {
        return Err(near::not_found(root, &path));
    };
    let layout = if args.pretty { Layout::Pretty } else { Layout::Compact };
    let mut out = stdout();
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
