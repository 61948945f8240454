//! What an import would do, tried on a tree of its own that nobody keeps.

use std::cell::RefCell;
use std::io::{self, Write};

use jungle::{Editor, Jungle, TreeHandle};
use jungle_tree::{Path, Tree};
use jungle_words::differences::differences;
use serde::Serialize;

use super::again::Tagged;
use crate::args;
use crate::context::{Context, Folder};
use crate::document::new_tree;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{self, is_folder};
use crate::output::{Format, count, json_line, size};

/// The tree as it would be after what was read so far.
pub(super) struct Preview<'s> {
    tree: RefCell<Tree>,
    /// The one that would be imported into, if it is there; and the folder that it is in.
    into: Option<(TreeHandle, Folder<'s>)>,
}

/// What is told of each revision that would be made; the names of the fields are those of the JSON
/// form.
#[derive(Serialize)]
pub(super) struct Told<'f> {
    file: &'f str,
    changed: bool,
    differences: u64,
    nodes: u64,
    bytes: u64,
    tags: &'f [String],
}

impl<'s> Preview<'s> {
    pub(super) fn begin(
        (dir, name): (&str, &str),
        branch: &args::Branch,
        context: &Context<'s>,
    ) -> Result<Preview<'s>, Failure> {
        let folder = is_folder(dir).then(|| context.read(dir)).transpose()?;
        let is_there = folder.as_ref().is_some_and(|folder| folder.open_tree(name).is_ok());
        let into = match folder {
            Some(folder) if is_there => {
                Some((folder::tree(&folder, name, branch.branch.as_deref())?, folder))
            }
            _ => None,
        };
        if into.is_none() {
            // As making it would find out.
            let memory = Jungle::new().map_err(failed)?;
            memory.create_tree(name).map_err(failed)?;
        }
        let tree = match &into {
            Some((tree, _)) => Tree::from_snapshot(&tree.snapshot()),
            None => new_tree()?,
        };
        if let (None, Some(branch)) = (&into, &branch.branch) {
            let message = format_args!("there is no tree {name:?}, so no branch {branch:?} of it");
            return Err(Failure::new(Exit::NotFound, message));
        }
        Ok(Preview { tree: RefCell::new(tree), into })
    }

    /// The tree that would be imported into, if it is there.
    pub(super) fn handle(&self) -> Option<&TreeHandle> {
        self.into.as_ref().map(|(tree, _)| tree)
    }

    /// Tries one revision, or holds what is read against one that is there; `f` gives the bytes
    /// that were read.
    pub(super) fn try_out<'f>(
        &self,
        (file, tags): (&'f str, &'f [String]),
        tagged: Option<&Tagged>,
        f: impl FnOnce(&mut Editor) -> Result<u64, Failure>,
    ) -> Result<Told<'f>, Failure> {
        if let Some(tagged) = tagged {
            let (bytes, nodes) = (tagged.read(f)?, tagged.snapshot.root().subtree_count());
            return Ok(Told { file, changed: false, differences: 0, nodes, bytes, tags });
        }
        let mut tree = self.tree.borrow_mut();
        let before = tree.snapshot();
        let (bytes, changed) = tree.edit(|editor| {
            let bytes = f(editor)?;
            Ok::<_, Failure>((bytes, editor.is_changed()))
        })?;
        let after = tree.snapshot();
        let found = differences(&before, &after, &Path::root());
        let differences = found.map_or(0, |found| found.len() as u64);
        let nodes = after.root().subtree_count();
        Ok(Told { file, changed, differences, nodes, bytes, tags })
    }
}

impl Told<'_> {
    pub(super) fn print(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        match format {
            Format::Json => json_line(out, self),
            Format::Text => self.print_text(out),
        }
    }

    fn print_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Told { file, differences, nodes, bytes, .. } = self;
        let (nodes, bytes) = (count(*nodes, "node"), size(*bytes));
        match self.changed {
            true => {
                let differences = count(*differences, "difference");
                write!(out, "would be a revision: {file}, {bytes}, {nodes}, {differences}")?;
            }
            false => write!(out, "no revision: it is {file} already")?,
        }
        for tag in self.tags {
            write!(out, " [{tag}]")?;
        }
        writeln!(out)
    }
}
