//! `jungle repair`: what can be saved of a damaged folder, in a new one.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use jungle::{
    Lost, LostCommits, OpenOptions, RepairError, RepairProgress, RepairReport, RepairSource, Spill,
    Store,
};
use jungle_server::verify::Damage;
use serde::Serialize;

use super::restore::put_in_place;
use super::verify::survey::print_damages;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::folder::not_opened;
use crate::interrupt;
use crate::output::bar::Bar;
use crate::output::{Format, count, json_line, stdout};

const HELP: &str = "\
It reads the log from its first commit on, and the checkpoint with what the log says since, and \
goes by whichever gets further. Trees, branches, revisions and tags keep their names, numbers, \
authors, messages and times. A revision is saved as a whole or not at all: all that is read is \
held against its checksum. Where the newest revision of a branch cannot be read as a whole, what \
can be read of it becomes a revision of its own behind all others, by `jungle repair`, whose \
message names what is missing. Commits behind a hole in the log cannot be made again. The \
damaged folder is only read. Until all is there and was read back, the copy is in the folder \
`repairing` within the new one, which is no Jungle before. The access file and certificates are \
not copied. If anything was lost, the exit code is 6; a backup has more, if there is one.";

/// Where the copy is made, within the new folder: that may be all of a disk.
const REPAIRING: &str = "repairing";

/// Save what can be saved of a damaged folder, into a new one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The damaged folder, which is only read
    dir: String,
    /// The folder to make: new or empty
    new: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if context.held.is_some_and(|(held, _)| held == args.dir) {
        return Err(Failure::new(
            Exit::Error,
            "the shell has the folder open, so it is not damaged",
        )
        .with_hint("`backup` copies it"));
    }
    let new = Path::new(&args.new);
    may_be_made(new, Path::new(&args.dir))?;
    let is_new = !new.exists();
    let repairing = new.join(REPAIRING);
    // Whoever makes it has it: another repair into the same folder is refused.
    let made = fs::create_dir_all(new).and_then(|()| fs::create_dir(&repairing));
    made.map_err(|error| {
        let message = format_args!("cannot make {}: {error}", repairing.display());
        Failure::new(Exit::Error, message)
    })?;
    let (reading, saving) = (Bar::of_revisions("reading"), Bar::of_revisions("saving"));
    let progress = RepairProgress { reading, saving, checking: Bar::of_revisions("checking") };
    let progress = progress.until(&interrupt::flag());
    let saved = OpenOptions::new().spill(Spill::Always).repair(&args.dir, &repairing, &progress);
    let report = saved.map_err(|error| {
        // It is of no use, and this has made it.
        let _ = fs::remove_dir_all(&repairing);
        if is_new {
            let _ = fs::remove_dir(new);
        }
        not_saved(&error, context.format)
    })?;
    put_in_place(new, REPAIRING).map_err(|error| {
        Failure::new(Exit::Error, format_args!("cannot finish {}: {error}", args.new))
            .with_hint("remove it, and repair again")
    })?;
    let opened = context.opening.clone().read_only().open(new);
    let store = opened.map_err(|error| not_opened(&error))?;
    print(&report, &store, context.format)?;
    match report.is_all() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Damaged, "not all of it could be saved").with_hint(
            "`jungle restore BACKUP DIR` makes a new folder from a backup, which may have more",
        )),
    }
}

/// Refuses a place in which anything is, or that is within the damaged folder.
fn may_be_made(new: &Path, dir: &Path) -> Result<(), Failure> {
    must_be_outside(new, dir)?;
    let there = fs::read_dir(new).map(|files| files.flatten().map(|file| file.file_name()));
    let mut there = match there {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let message = format_args!("cannot look into {}: {error}", new.display());
            return Err(Failure::new(Exit::Error, message));
        }
    };
    let Some(first) = there.next() else { return Ok(()) };
    let failure = Failure::new(Exit::Error, format_args!("{} is not empty", new.display()));
    Err(match first == REPAIRING {
        true => failure.with_hint("a repair was interrupted there: remove it, and begin again"),
        false => failure.with_hint("give a new folder; nothing is ever written over"),
    })
}

fn must_be_outside(new: &Path, dir: &Path) -> Result<(), Failure> {
    let here = Path::new(".");
    let above = new.ancestors().filter(|place| !place.as_os_str().is_empty());
    let above = above.chain([here]).find(|place| place.exists()).unwrap_or(here);
    let within = above.canonicalize().and_then(|above| Ok((above, dir.canonicalize()?)));
    match within {
        Ok((above, dir)) if above.starts_with(&dir) => {
            let message = format_args!("{} is within the damaged folder", new.display());
            Err(Failure::usage(message).with_hint("that is only read: give another place"))
        }
        _ => Ok(()),
    }
}

fn not_saved(error: &RepairError, format: Format) -> Failure {
    match error {
        error if error.is_given_up() => interrupt::given_up(),
        RepairError::Nothing { survey, .. } => {
            let mut out = stdout();
            let told = match format {
                Format::Json => survey.damages.iter().try_for_each(|damage| {
                    json_line(&mut out, &Line::Damage(Damage::from(damage)))
                }),
                Format::Text => print_damages(&mut out, survey),
            };
            match told.and_then(|()| out.flush()) {
                Err(error) => error.into(),
                Ok(()) => Failure::of(Exit::Damaged, error).with_hint(
                    "`jungle restore BACKUP DIR` makes a new folder from a backup; \
                     `jungle backup` makes those",
                ),
            }
        }
        RepairError::Open(error) => not_opened(error),
        error => Failure::of(Exit::Error, error),
    }
}

/// What is told; the names are those of the JSON form.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Line<'t> {
    Damage(Damage<'t>),
    Saved(SavedTree<'t>),
    Lost(LostThing<'t>),
    Repaired(Repaired),
}

#[derive(Serialize)]
struct SavedTree<'t> {
    tree: &'t str,
    branches: u64,
    /// Those of all branches that are kept.
    revisions: u64,
    tags: u64,
}

#[derive(Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
enum LostThing<'t> {
    Tree {
        tree: &'t str,
    },
    Branch {
        tree: &'t str,
        branch: &'t str,
    },
    Revisions {
        tree: &'t str,
        branch: &'t str,
        count: u64,
        first: u64,
        last: u64,
    },
    Part {
        tree: &'t str,
        branch: &'t str,
        revision: u64,
        saved_as: u64,
        path: String,
        children: Option<u64>,
    },
    Tag {
        tree: &'t str,
        tag: &'t str,
        revision: u64,
    },
    Base {
        tree: &'t str,
        revision: u64,
    },
    /// All behind a revision; the last one that is known.
    Commits {
        first: u64,
        last: Option<u64>,
    },
}

#[derive(Serialize)]
struct Repaired {
    /// The newest revision that was saved.
    revision: u64,
    /// The newest one of the new folder: parts of others come behind.
    newest: u64,
    source: &'static str,
    /// Was everything saved?
    all: bool,
    damages: u64,
    lost: u64,
}

impl<'t> From<&'t Lost> for LostThing<'t> {
    fn from(lost: &'t Lost) -> LostThing<'t> {
        match lost {
            Lost::Tree { tree } => LostThing::Tree { tree },
            Lost::Branch { tree, branch } => LostThing::Branch { tree, branch },
            Lost::Revisions { tree, branch, count, first, last } => {
                let (count, first, last) = (*count, first.number(), last.number());
                LostThing::Revisions { tree, branch, count, first, last }
            }
            Lost::Part { tree, branch, revision, saved_as, path, children } => LostThing::Part {
                tree,
                branch,
                revision: revision.number(),
                saved_as: saved_as.number(),
                path: path.to_string(),
                children: *children,
            },
            Lost::Tag { tree, tag, revision } => {
                LostThing::Tag { tree, tag, revision: revision.number() }
            }
            Lost::Base { tree, revision } => LostThing::Base { tree, revision: revision.number() },
            _ => unreachable!("these are all kinds"),
        }
    }
}

impl From<LostCommits> for LostThing<'_> {
    fn from(lost: LostCommits) -> Self {
        let (first, last) = (lost.first.number(), lost.last.map(|last| last.number()));
        LostThing::Commits { first, last }
    }
}

impl Display for LostThing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LostThing::Tree { tree } => write!(f, "{tree}: nothing of the tree can be read"),
            LostThing::Branch { tree, branch } => {
                write!(f, "{tree}, branch {branch}: nothing of it can be read")
            }
            LostThing::Revisions { tree, branch, count: 1, first, last } if first == last => {
                write!(f, "{tree}, branch {branch}: revision {first}")
            }
            LostThing::Revisions { tree, branch, count: so_many, first, last } => {
                let revisions = count(*so_many, "revision");
                write!(f, "{tree}, branch {branch}: {revisions} from {first} to {last}")
            }
            LostThing::Part { tree, branch, revision, saved_as, path, children } => {
                write!(f, "{tree}, branch {branch}, revision {revision}, {path}: ")?;
                match children {
                    None => write!(f, "some of its values")?,
                    Some(0) => write!(f, "what is below it")?,
                    Some(1) => write!(f, "1 of its children")?,
                    Some(children) => write!(f, "{children} of its children")?,
                }
                write!(f, "; the rest is revision {saved_as}")
            }
            LostThing::Tag { tree, tag, revision } => {
                write!(f, "{tree}, tag {tag}, of revision {revision}")
            }
            LostThing::Base { tree, revision } => {
                write!(f, "{tree}: that two branches have revision {revision} in common")
            }
            LostThing::Commits { first, last: Some(last) } if first == last => {
                write!(f, "the commit of revision {first}")
            }
            LostThing::Commits { first, last: Some(last) } => {
                write!(f, "the commits of revisions {first} to {last}")
            }
            LostThing::Commits { first, last: None } => {
                write!(f, "the commits from revision {first} on, if there were any")
            }
        }
    }
}

fn print(report: &RepairReport, store: &Store, format: Format) -> Result<(), Failure> {
    let lost = report.lost.iter().map(LostThing::from);
    let lost: Vec<LostThing<'_>> = lost.chain(report.lost_commits.map(LostThing::from)).collect();
    let repaired = Repaired {
        revision: report.revision.number(),
        newest: store.revision().number(),
        source: match report.source {
            RepairSource::Log => "log",
            _ => "checkpoint",
        },
        all: lost.is_empty(),
        damages: report.survey.count(),
        lost: lost.len() as u64,
    };
    let names = store.list_trees();
    let mut trees = Vec::with_capacity(names.len());
    for name in &names {
        trees.push(saved_tree(store, name)?);
    }
    let mut out = stdout();
    match format {
        Format::Json => {
            for damage in &report.survey.damages {
                json_line(&mut out, &Line::Damage(Damage::from(damage)))?;
            }
            for tree in trees {
                json_line(&mut out, &Line::Saved(tree))?;
            }
            for lost in lost {
                json_line(&mut out, &Line::Lost(lost))?;
            }
            json_line(&mut out, &Line::Repaired(repaired))?;
        }
        Format::Text => print_text(&mut out, report, &trees, &lost, &repaired)?,
    }
    Ok(out.flush()?)
}

fn saved_tree<'n>(store: &Store, name: &'n str) -> Result<SavedTree<'n>, Failure> {
    let main = crate::folder::tree(store, name, None)?;
    let names = main.list_branches();
    let mut revisions = 0;
    for branch in &names {
        for entry in crate::folder::on_branch(&main, branch)?.history(..) {
            entry?;
            revisions += 1;
        }
    }
    let (branches, tags) = (names.len() as u64, main.list_tags().len() as u64);
    Ok(SavedTree { tree: name, branches, revisions, tags })
}

fn print_text(
    out: &mut impl Write,
    report: &RepairReport,
    trees: &[SavedTree<'_>],
    lost: &[LostThing<'_>],
    repaired: &Repaired,
) -> io::Result<()> {
    match repaired.damages {
        0 => writeln!(out, "nothing is damaged")?,
        _ => print_damages(out, &report.survey)?,
    }
    let source = match report.source {
        RepairSource::Log => "from the log",
        _ => "from the checkpoint and the log since",
    };
    writeln!(out, "saved   up to revision {}, {source}", repaired.revision)?;
    for SavedTree { tree, branches, revisions, tags } in trees {
        let (revisions, tags) = (count(*revisions, "revision"), count(*tags, "tag"));
        let branches = match branches {
            1 => "1 branch".to_owned(),
            many => format!("{many} branches"),
        };
        writeln!(out, "        {tree}: {branches}, {revisions}, {tags}")?;
    }
    if lost.is_empty() {
        return writeln!(out, "lost    nothing");
    }
    for (at, lost) in lost.iter().enumerate() {
        writeln!(out, "{}{lost}", if at == 0 { "lost    " } else { "        " })?;
    }
    Ok(())
}
