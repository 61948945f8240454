//! `jungle undo` and `jungle redo`: back to what a tree was, step by step, and forward again.

use std::io::Write;

use jungle::{CommitMeta, Committed, Revision, TreeHandle, UndoError};
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder::{Written, tree};
use crate::output::{Format, json_line, notice};

const UNDO_HELP: &str = "\
It goes as in an editor: undo goes back to what the tree was before the newest commit that is not \
undone, whoever made it, and undo again goes further; redo goes forward again, until somebody \
commits something else. Each makes a new revision; nothing is taken out of the history. What can \
be undone follows from that alone, so it can go on tomorrow, or elsewhere. In short, each revision \
stands at one: that of an undo or a redo at the one it went to, any other at itself; and undo goes \
from where the newest stands to where the one before that stood. What a branch began with is not \
undone on it. `jungle revert` takes back a single revision, whatever came after it.";

const REDO_HELP: &str = "\
`jungle undo --help` says how both go.";

/// Go back to what a tree was before its newest commit that is not undone, as a new revision
#[derive(clap::Args)]
#[command(after_help = UNDO_HELP)]
pub(crate) struct Undo {
    #[command(flatten)]
    step: Step,
}

/// Do again what was undone last, as a new revision
#[derive(clap::Args)]
#[command(after_help = REDO_HELP)]
pub(crate) struct Redo {
    #[command(flatten)]
    step: Step,
}

#[derive(clap::Args)]
struct Step {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// So many steps, in one revision; if there are not so many, nothing is done
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    steps: usize,
    #[command(flatten)]
    branch: args::Branch,
    #[command(flatten)]
    meta: args::Meta,
}

/// What is told: of which revisions the doing was taken back, or done again, in that order.
#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    written: Written,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redone: Option<Vec<u64>>,
}

type Done = Result<Committed<Vec<Revision>>, UndoError>;

pub(crate) fn undo(args: &Undo, context: &Context<'_>) -> Result<(), Failure> {
    run(&args.step, context, TreeHandle::undo, |written, past| Told {
        written,
        undone: Some(past),
        redone: None,
    })
}

pub(crate) fn redo(args: &Redo, context: &Context<'_>) -> Result<(), Failure> {
    run(&args.step, context, TreeHandle::redo, |written, past| Told {
        written,
        undone: None,
        redone: Some(past),
    })
}

fn run(
    step: &Step,
    context: &Context<'_>,
    go: impl FnOnce(&TreeHandle, usize, &CommitMeta) -> Done,
    told: impl FnOnce(Written, Vec<u64>) -> Told,
) -> Result<(), Failure> {
    let folder = context.write(&step.dir)?;
    let tree = tree(&folder, &step.tree, step.branch.branch.as_deref())?;
    let done = go(&tree, step.steps, &step.meta.commit()).map_err(not_done)?;
    let written = Written { revision: done.revision.number(), changed: true };
    let past = done.value.iter().map(|revision| revision.number()).collect();
    let told = told(written, past);
    let mut out = notice();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => told.print(&mut out)?,
    }
    Ok(out.flush()?)
}

impl Told {
    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "revision {}", self.written.revision)?;
        for (past, did) in [(&self.undone, "undid"), (&self.redone, "did again")] {
            match past.as_deref() {
                Some([first, .., last]) => write!(out, " {did} revisions {first} to {last}")?,
                Some([only]) => write!(out, " {did} revision {only}")?,
                _ => {}
            }
        }
        writeln!(out)
    }
}

fn not_done(error: UndoError) -> Failure {
    match error {
        UndoError::NothingToUndo { possible: 0 } => Failure::of(Exit::NotFound, &error)
            .with_hint("the tree is as the branch began; `jungle log` lists its revisions"),
        UndoError::NothingToRedo { possible: 0 } => Failure::of(Exit::NotFound, &error)
            .with_hint("the newest commit is no undo, so nothing is ahead of it"),
        UndoError::NothingToUndo { possible } | UndoError::NothingToRedo { possible } => {
            Failure::of(Exit::NotFound, &error)
                .with_hint(format_args!("nothing was done; -n {possible} is as far as it goes"))
        }
        UndoError::NotKept { .. } => Failure::of(Exit::NotFound, &error)
            .with_hint("`jungle keep DIR TREE` says how much of a history is kept"),
        error => failed(error),
    }
}
