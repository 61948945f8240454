//! What comes in goes out unchanged, what cannot is refused, and updates cost what changed.

// clippy.toml allows this in tests, but does not see that helpers beside them belong to them.
#![allow(clippy::unwrap_used)]

mod limits;
mod mapping;
mod refused;
mod round_trip;
mod update;

use jungle_json::{ExportOptions, ImportError, ImportOptions, ImportSummary, export, import};
use jungle_tree::{Arena, Node, Tree};

/// A tree in an arena of its own.
fn new_tree() -> Tree {
    Tree::new(&Arena::new().unwrap())
}

/// Imports to the root.
fn read_into(
    tree: &mut Tree,
    text: &str,
    options: &ImportOptions,
) -> Result<ImportSummary, ImportError> {
    tree.edit(|editor| import(text.as_bytes(), editor, &[], options, &mut |_| ()))
}

/// A tree of a document that must be accepted.
fn tree_of(text: &str) -> Tree {
    let mut tree = new_tree();
    read_into(&mut tree, text, &ImportOptions::default()).unwrap();
    tree
}

fn written(node: Node<'_>) -> String {
    let mut out = Vec::new();
    export(node, &mut out, &ExportOptions::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// The document that a tree stands for.
fn text_of(tree: &Tree) -> String {
    written(tree.read().root())
}
