//! `jungle verify`: whether a folder is whole.

use std::io::Write;

use jungle::{OpenError, OpenOptions, Store};
use serde::Serialize;

use crate::context::{Context, Folder};
use crate::failure::{Exit, Failure};
use crate::folder::{is_damage, not_opened, on_branch};
use crate::output::{Format, count, grouped, json_line, size, stdout};

const HELP: &str = "\
It opens the folder without changing it, reads every byte of the log, holds it against its \
checksums, does all commits again, and checks the trees that come out. A torn end is no damage: it \
was never acknowledged, and is cut off when the folder is opened to write.";

/// Check that a folder is whole, without changing it
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
}

/// What is told of a folder; the names of the fields are those of the JSON form.
#[derive(Default, Serialize)]
struct Told {
    whole: bool,
    /// The newest revision that can be read.
    revision: Option<u64>,
    segments: u64,
    log_bytes: u64,
    was_closed: bool,
    /// Bytes behind the end that were never acknowledged.
    torn_bytes: u64,
    trees: u64,
    branches: u64,
    nodes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<Damage>,
}

#[derive(Serialize)]
struct Damage {
    message: String,
    file: Option<String>,
    offset: Option<u64>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let held = context.held.filter(|(dir, _)| *dir == args.dir);
    let opened = match held {
        Some((_, store)) => Ok(Folder::Held(store)),
        None => OpenOptions::new().read_only().open(&args.dir).map(|s| Folder::Own(s.into())),
    };
    let told = match opened {
        Ok(store) => look(&store)?,
        Err(error) if is_damage(&error) => damaged(&error),
        Err(error) => return Err(not_opened(&error)),
    };
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => print(&mut out, &told)?,
    }
    out.flush()?;
    match &told.damage {
        None => Ok(()),
        Some(damage) => Err(Failure::new(Exit::Damaged, &damage.message)
            .with_hint("`jungle restore BACKUP DIR` makes a new folder from a backup")),
    }
}

fn look(store: &Store) -> Result<Told, Failure> {
    let report = store.report();
    let mut told = Told {
        whole: true,
        revision: Some(store.revision().number()),
        segments: report.segments,
        log_bytes: report.log_bytes,
        was_closed: report.was_closed,
        torn_bytes: report.cut.as_ref().map_or(0, |cut| cut.bytes),
        ..Told::default()
    };
    for name in store.list_trees() {
        let tree = crate::folder::tree(store, &name, None)?;
        told.trees += 1;
        for branch in tree.list_branches() {
            told.branches += 1;
            match on_branch(&tree, &branch)?.snapshot().check() {
                Ok(report) => told.nodes += report.nodes,
                Err(error) => {
                    let message = format!("the tree {name:?}, branch {branch:?}: {error}");
                    told.whole = false;
                    told.damage = Some(Damage { message, file: None, offset: None });
                    return Ok(told);
                }
            }
        }
    }
    Ok(told)
}

fn damaged(error: &OpenError) -> Told {
    let (file, offset, revision) = match error {
        OpenError::Damaged { file, offset, revision, .. } => {
            (Some(file), Some(*offset), revision.map(|newest| newest.number()))
        }
        OpenError::Record { file, offset, revision, .. }
        | OpenError::Replay { file, offset, revision, .. } => {
            (Some(file), Some(*offset), Some(revision.number() - 1))
        }
        OpenError::Missing { revision } => (None, None, Some(revision.number() - 1)),
        _ => (None, None, None),
    };
    let message = error.to_string();
    let damage = Damage { message, file: file.map(|file| file.to_string()), offset };
    Told { revision, damage: Some(damage), ..Told::default() }
}

fn print(out: &mut impl Write, told: &Told) -> std::io::Result<()> {
    if told.damage.is_some() {
        return match told.revision {
            Some(newest) => writeln!(out, "damaged; all up to revision {newest} can be read"),
            None => writeln!(out, "damaged"),
        };
    }
    writeln!(out, "whole, up to revision {}", told.revision.unwrap_or_default())?;
    writeln!(out, "log     {} in {}", size(told.log_bytes), count(told.segments, "segment"))?;
    let (trees, branches) = (count(told.trees, "tree"), grouped(told.branches));
    writeln!(out, "trees   {trees}, branches {branches}, {}", count(told.nodes, "node"))?;
    match (told.was_closed, told.torn_bytes) {
        (true, _) => writeln!(out, "closed  yes"),
        (false, 0) => writeln!(out, "closed  no, but nothing is torn"),
        (false, torn) => writeln!(out, "closed  no; {} torn, never acknowledged", size(torn)),
    }
}
