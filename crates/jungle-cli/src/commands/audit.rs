//! `jungle audit`: who made, renamed and deleted what.

use std::collections::VecDeque;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use jungle::Timestamp;
use jungle::json::VALUE_KEY;
use jungle_words::audit::Done;
use jungle_words::time;

use super::index::VALUE;
use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::info::one_line;
use crate::output::{Format, json_line, say, stdout};
use crate::place::{Audited, Purpose};

const HELP: &str = "\
What was made, renamed and deleted stays here when histories do not: the last 100,000, or 64 MiB \
of them. From which revision on nothing is missing is said where that is not the first. Edits are \
told by `jungle log`. Of a server those may ask who administer all trees; a folder that a server \
has is asked by the server's URL.";

/// List who made, renamed and deleted trees, branches, tags and indexes, and said what is kept
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder, or the URL of a server
    dir: String,
    /// Only what was done to the tree that has this name now, or to one that had it then
    #[arg(long, value_name = "NAME")]
    tree: Option<String>,
    /// Only from the revision of this number on, or from a time on: `2026-11-22`, `'2 hours ago'`
    #[arg(long, value_name = "REV|TIME", value_parser = since)]
    since: Option<Since>,
    /// Only the newest, this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

#[derive(Clone, Copy)]
enum Since {
    Revision(u64),
    Time(Timestamp),
}

fn since(text: &str) -> Result<Since, String> {
    if let Ok(number) = text.parse() {
        return Ok(Since::Revision(number));
    }
    let time = time::parse(text).map(Since::Time);
    time.ok_or_else(|| "it is neither the number of a revision nor a time".to_owned())
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let place = context.place(&args.dir, Purpose::ReadAlone)?;
    let (first, since) = match args.since {
        Some(Since::Revision(first)) => (first, None),
        Some(Since::Time(time)) => (0, Some(time)),
        None => (0, None),
    };
    let asked = Audited { tree: args.tree.as_deref(), since };
    let mut after = Some(first.saturating_sub(1));
    let mut is_begun = false;
    let (mut out, mut newest) = (stdout(), VecDeque::new());
    while let Some(behind) = after {
        let page = place.audit(&asked, behind)?;
        if !is_begun && page.complete_from > first.max(1) {
            let from = page.complete_from;
            say(format_args!("Note: what was done before revision {from} is not all there"));
        }
        is_begun = true;
        for done in page.events {
            let Some(limit) = args.limit else {
                print(&mut out, &done, context.format)?;
                continue;
            };
            newest.push_back(done);
            if newest.len() > limit {
                newest.pop_front();
            }
        }
        after = page.next;
    }
    for done in &newest {
        print(&mut out, done, context.format)?;
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, done: &Done, format: Format) -> io::Result<()> {
    if format == Format::Json {
        return json_line(out, done);
    }
    let number = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    write!(out, "{number}{:>6}{number:#}  {}", done.revision, one_line(&done.time))?;
    let author = done.author.as_deref().unwrap_or("-");
    write!(out, "  {}  {}", one_line(author), one_line(&text(done)))?;
    match &done.message {
        Some(message) => writeln!(out, ": {}", one_line(message)),
        None => writeln!(out),
    }
}

/// What was done, for people.
fn text(done: &Done) -> String {
    let number = format!("number {}", done.tree_id);
    let tree = done.tree.as_ref().unwrap_or(&number);
    let branch = done.branch.as_deref().unwrap_or("?");
    let name = done.name.as_deref().unwrap_or_default();
    let key = if name == VALUE_KEY { VALUE } else { name };
    let at = done.at.map_or_else(String::new, |at| format!(" at revision {at}"));
    let keep = done.keep.as_deref().unwrap_or_default();
    match &*done.what {
        "tree_created" => format!("made the tree {tree}"),
        "tree_renamed" => format!("renamed the tree {tree} to {name}"),
        "tree_deleted" => format!("deleted the tree {tree}"),
        "branch_created" => format!("made the branch {branch} of {tree}{at}"),
        "branch_deleted" => format!("deleted the branch {branch} of {tree}"),
        "tag_created" => format!("made the tag {name} of {tree}{at}"),
        "tag_deleted" => format!("deleted the tag {name} of {tree}"),
        "index_created" => format!("made the index {key} of {tree}"),
        "index_dropped" => format!("dropped the index {key} of {tree}"),
        "keep_set" => format!("had the branch {branch} of {tree} keep {keep}"),
        // A server that is newer has more to tell.
        other => format!("{other} {tree}"),
    }
}
