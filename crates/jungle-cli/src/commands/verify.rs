//! `jungle verify`: whether a folder is whole.

use std::io::Write;

use jungle::{OpenError, OpenOptions, Store, VerifyError};
use serde::Serialize;

use crate::bar::Bar;
use crate::context::{Context, Folder};
use crate::failure::{Exit, Failure};
use crate::folder::{is_damage, not_opened, reading};
use crate::output::{Format, count, grouped, json_line, size, stdout};

const HELP: &str = "\
It opens the folder without changing it, reads every byte of the log and the checkpoint, holds \
them against their checksums, does all commits again, and checks that what comes out is well \
formed and what the checkpoint has. A torn end is no damage: it was never acknowledged, and is cut \
off when the folder is opened to write. A damaged checkpoint loses nothing while the log is whole: \
opening the folder to write makes a new one.";

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
    /// The newest revision that is in the checkpoint.
    checkpoint: Option<u64>,
    /// Does the log go back to the first revision?
    log_is_complete: bool,
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
        None => OpenOptions::new()
            .read_only()
            .progress(reading())
            .open(&args.dir)
            .map(|s| Folder::Own(s.into())),
    };
    let told = match opened {
        Ok(store) => look(&store),
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

fn look(store: &Store) -> Told {
    let report = store.report();
    let checkpoint = Some(store.checkpointed().number()).filter(|&newest| newest > 0);
    let was_closed = report.was_closed;
    if let Some(reason) = &report.ignored {
        let message = format!("the checkpoint: {reason}");
        let damage = Some(Damage { message, file: Some("pages".into()), offset: None });
        let revision = Some(store.revision().number());
        return Told { revision, was_closed, damage, ..Told::default() };
    }
    match store.verify_telling(&Bar::of_revisions("checking")) {
        Ok(found) => Told {
            whole: true,
            revision: Some(found.revision.number()),
            checkpoint,
            log_is_complete: found.log_is_complete,
            segments: found.segments,
            log_bytes: found.log_bytes,
            was_closed,
            torn_bytes: found.cut.map_or(0, |cut| cut.bytes),
            trees: found.trees,
            branches: found.branches,
            nodes: found.nodes,
            damage: None,
        },
        Err(VerifyError::Open(error)) => damaged(&error),
        Err(error) => {
            let damage = Damage { message: error.to_string(), file: None, offset: None };
            Told { was_closed, checkpoint, damage: Some(damage), ..Told::default() }
        }
    }
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
    match told.checkpoint {
        Some(revision) => writeln!(out, "pages   a checkpoint of revision {revision}")?,
        None => writeln!(out, "pages   none yet")?,
    }
    if !told.log_is_complete {
        writeln!(out, "        the only copy of what was before the log")?;
    }
    let (trees, branches) = (count(told.trees, "tree"), grouped(told.branches));
    writeln!(out, "trees   {trees}, branches {branches}, {}", count(told.nodes, "node"))?;
    match (told.was_closed, told.torn_bytes) {
        (true, _) => writeln!(out, "closed  yes"),
        (false, 0) => writeln!(out, "closed  no, but nothing is torn"),
        (false, torn) => writeln!(out, "closed  no; {} torn, never acknowledged", size(torn)),
    }
}
