//! `jungle du`: what takes up space, and what a rule would give back.

use std::io::Write;

use jungle::{
    DiskUsage, Measured, Retention, Revision, Space, SpaceError, SpaceQuery, Store, TreeSpace,
};
use jungle_words::keep;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::{Failure, failed};
use crate::folder::tree;
use crate::interrupt;
use crate::output::bar::Bar;
use crate::output::{Format, count, json_line, size, stdout};
use crate::revision::find;

const HELP: &str = "\
Memory is what a tree takes up when all of it is loaded; in the checkpoint it is compressed. What \
several revisions have is counted once, with the newest of them: first with the newest versions of \
the branches, then with tags (and what branches began with or were merged at), then with the \
older revisions from the newest on. So the figures add up, and what is told of the revisions up to \
some number is what goes when these are dropped. What several trees have is told once, as shared.

--policy takes what `jungle keep` takes, and tells what would come back if all branches of the \
tree, or of all trees, kept that: memory, of which a folder's checkpoint uses the place again; and \
on the disk the segments of the log that `jungle gc` would remove, and by how much, about, `jungle \
gc --compact` would make the checkpoint smaller. All that is kept has to be \
looked at, and loaded.";

/// Tell what takes up space, and what keeping less would give back
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// Only this tree
    tree: Option<String>,
    /// What the revisions from A to B take up; without A or B from the first, to the newest
    #[arg(long, value_name = "A..B")]
    revisions: Option<String>,
    /// What would come back if this was kept: `all`, a number of revisions, or an age like `30d`
    #[arg(long, value_name = "WHAT", value_parser = keep::parse)]
    policy: Option<Retention>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told<'s> {
    revision: u64,
    trees: Vec<TreeTold<'s>>,
    /// What several trees have, and what only snapshots hold.
    shared_bytes: u64,
    snapshots_bytes: u64,
    /// Memory that the arena has taken, with what is free in it or waits for `jungle gc`.
    arena_bytes: u64,
    /// Files.
    log_bytes: u64,
    segments: u64,
    pages_bytes: u64,
    other_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Policy>,
}

#[derive(Serialize)]
struct TreeTold<'s> {
    tree: &'s str,
    branches: u64,
    revisions: u64,
    newest_bytes: u64,
    named_bytes: u64,
    older_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revisions_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_bytes: Option<u64>,
}

/// What a rule would give back.
#[derive(Serialize)]
struct Policy {
    keep: String,
    freed_bytes: u64,
    freed_log_bytes: u64,
    /// About, since what is kept is compressed as well or worse than the rest.
    freed_checkpoint_bytes: u64,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let folder = context.read(&args.dir)?;
    let query = query(args, &folder)?;
    let mut bar: Option<Bar<'_>> = None;
    let given_up = interrupt::flag();
    let space = folder.space(&query, |done, total| {
        bar.get_or_insert_with(|| Bar::of_steps("versions", total)).set(done);
        interrupt::flow(&given_up)
    });
    let space = space.map_err(|error| match error {
        SpaceError::History(error) => error.into(),
        error => interrupt::or_failed(error == SpaceError::GivenUp, error),
    })?;
    if let Some(bar) = bar {
        bar.end();
    }
    let disk = folder.disk_usage().map_err(failed)?;
    let usage = folder.arena().usage();
    let arena_bytes = (usage.structure_bytes + usage.payload_bytes) as u64;
    let told = Told::new(args, &space, disk, arena_bytes);
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => print(&mut out, &told)?,
    }
    Ok(out.flush()?)
}

fn query(args: &Args, folder: &Store) -> Result<SpaceQuery, Failure> {
    let mut query = SpaceQuery::new();
    if let Some(name) = &args.tree {
        tree(folder, name, None)?;
        query = query.tree(name);
    }
    if let Some(policy) = args.policy {
        query = query.policy(policy);
    }
    let Some(range) = &args.revisions else { return Ok(query) };
    let Some((from, to)) = range.split_once("..") else {
        return Err(Failure::usage(format_args!("{range:?} is no range of revisions"))
            .with_hint("--revisions A..B is from A to B; `..B` is up to B"));
    };
    let from = revision(args, folder, from)?.unwrap_or_default();
    Ok(match revision(args, folder, to)? {
        Some(to) if to < from => {
            return Err(Failure::usage(format_args!("{to} is before {from}"))
                .with_hint(format_args!("--revisions {to}..{from} is from one to the other")));
        }
        Some(to) => query.revisions(from..=to),
        None => query.revisions(from..),
    })
}

/// One end of the range. A number need not be one of this tree's.
fn revision(args: &Args, folder: &Store, text: &str) -> Result<Option<Revision>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = text.parse() {
        return Ok(Some(Revision::new(number)));
    }
    let Some(name) = &args.tree else {
        return Err(Failure::usage(format_args!("{text:?} is no number"))
            .with_hint("revisions have names within a tree: say which"));
    };
    let found = find(&tree(folder, name, None)?, text)?;
    Ok(Some(found.snapshot.revision()))
}

impl<'s> Told<'s> {
    fn new(args: &Args, space: &'s Space, disk: DiskUsage, arena_bytes: u64) -> Told<'s> {
        let is_asked = |tree: &&TreeSpace| args.tree.as_deref().is_none_or(|n| n == &*tree.name);
        let policy = args.policy.map(|policy| Policy {
            keep: keep::text(policy),
            freed_bytes: space.freed().bytes(),
            freed_checkpoint_bytes: {
                let kept = space.total().bytes().saturating_sub(space.freed().bytes());
                let kept = kept as f64 / (arena_bytes as f64).max(1.0);
                (disk.pages_bytes as f64 * (1.0 - kept).max(0.0)) as u64
            },
            freed_log_bytes: if policy == Retention::All { 0 } else { disk.older_log_bytes },
        });
        Told {
            revision: space.revision.number(),
            trees: space.trees.iter().filter(is_asked).map(TreeTold::new).collect(),
            shared_bytes: space.shared.bytes(),
            snapshots_bytes: space.snapshots.bytes(),
            arena_bytes,
            log_bytes: disk.log_bytes,
            segments: disk.segments,
            pages_bytes: disk.pages_bytes,
            other_bytes: disk.other_bytes,
            policy,
        }
    }
}

impl<'s> TreeTold<'s> {
    fn new(space: &'s TreeSpace) -> TreeTold<'s> {
        TreeTold {
            tree: &space.name,
            branches: space.branches,
            revisions: space.revisions,
            newest_bytes: space.newest.bytes(),
            named_bytes: space.named.bytes(),
            older_bytes: space.older.bytes(),
            revisions_bytes: space.in_range.map(Measured::bytes),
            freed_bytes: space.freed.map(Measured::bytes),
        }
    }
}

fn print(out: &mut impl Write, told: &Told<'_>) -> std::io::Result<()> {
    writeln!(out, "memory, when all is loaded: {} are taken", size(told.arena_bytes))?;
    for tree in &told.trees {
        let revisions = count(tree.revisions, "revision");
        writeln!(out, "  {}, {revisions}", tree.tree)?;
        writeln!(out, "    newest     {}", size(tree.newest_bytes))?;
        writeln!(out, "    tags       {}", size(tree.named_bytes))?;
        writeln!(out, "    older      {}", size(tree.older_bytes))?;
        if let Some(bytes) = tree.revisions_bytes {
            writeln!(out, "    asked for  {}", size(bytes))?;
        }
        if let Some(bytes) = tree.freed_bytes {
            writeln!(out, "    freed      {}", size(bytes))?;
        }
    }
    writeln!(out, "  shared       {}", size(told.shared_bytes))?;
    if told.snapshots_bytes > 0 {
        writeln!(out, "  in use       {}", size(told.snapshots_bytes))?;
    }
    writeln!(out, "disk")?;
    writeln!(
        out,
        "  log          {} in {}",
        size(told.log_bytes),
        count(told.segments, "segment")
    )?;
    writeln!(out, "  checkpoint   {}", size(told.pages_bytes))?;
    if let Some(policy) = &told.policy {
        let Policy { keep, freed_bytes, freed_log_bytes, freed_checkpoint_bytes } = policy;
        writeln!(out, "keeping {keep} would give back")?;
        writeln!(out, "  memory       {}", size(*freed_bytes))?;
        writeln!(out, "  disk         {} of the log", size(*freed_log_bytes))?;
        let bytes = size(*freed_checkpoint_bytes);
        writeln!(out, "               about {bytes} of the checkpoint, with `gc --compact`")?;
    }
    Ok(())
}
