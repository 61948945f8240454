//! What a command reads: a document, or a tree of a folder.

use jungle_tree::Snapshot;

use crate::args;
use crate::context::Context;
use crate::document;
use crate::failure::Failure;
use crate::folder::{is_folder, tree};
use crate::place::no_server;
use crate::revision::find_or_newest;

/// A version to read, and the arguments that are left.
pub(crate) struct Source<'a> {
    pub(crate) snapshot: Snapshot,
    pub(crate) rest: &'a [String],
}

/// How a version is chosen.
#[derive(clap::Args)]
pub(crate) struct Choice {
    #[command(flatten)]
    pub(crate) at: args::At,
    #[command(flatten)]
    pub(crate) read: args::Read,
}

impl Source<'_> {
    /// Reads the document `place`, or, if that is a folder, the tree that `rest` begins with.
    pub(crate) fn open<'a>(
        context: &Context<'_>,
        place: &str,
        rest: &'a [String],
        choice: &Choice,
    ) -> Result<Source<'a>, Failure> {
        no_server(place)?;
        if !is_folder(place) {
            if choice.at.at.is_some() {
                let failure = Failure::usage(format_args!("{place} is not a folder"));
                return Err(failure.with_hint("--at chooses a revision of a tree in a folder"));
            }
            let tree = document::open(place, &choice.read)?;
            return Ok(Source { snapshot: tree.snapshot(), rest });
        }
        let Some((name, rest)) = rest.split_first() else {
            return Err(Failure::usage(format_args!("{place} is a folder: which tree of it?"))
                .with_hint(format_args!("`jungle trees {place}` lists them")));
        };
        let folder = context.read(place)?;
        let tree = tree(&folder, name, None)?;
        let found = find_or_newest(&tree, choice.at.at.as_deref())?;
        Ok(Source { snapshot: (*found.snapshot).clone(), rest })
    }
}

/// Too many or too few arguments: what the command takes.
pub(crate) fn usage(place: &str, forms: &str) -> Failure {
    if let Err(asks_none) = no_server(place) {
        return asks_none;
    }
    let what = if is_folder(place) { "a folder" } else { "not a folder" };
    Failure::usage(format_args!("{place} is {what}, so these arguments do not fit"))
        .with_hint(forms)
}
