//! `jungle export`: a tree, or a part of it, out of a folder.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path as FilePath;

use jungle_formats::ndjson;
use jungle_json::{ExportOptions, Layout, Member, export, value_at};
use jungle_words::Found;
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::document::path;
use crate::failure::{Exit, Failure};
use crate::folder::tree;
use crate::formats::{Writable, dot, drawing, folder, not_written};
use crate::near;
use crate::output::bar::Counted;
use crate::output::{Format, done, json, stdout};
use crate::replacing::Replacing;
use crate::revision::{HELP, find_or_newest};

/// Write a tree, or a part of it, as JSON, in another form, or as a drawing; or all its revisions
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// The tree
    tree: String,
    /// Where in the tree
    #[arg(default_value = "/")]
    path: String,
    #[command(flatten)]
    at: args::At,
    /// As what; `ndjson` writes all revisions up to the one that was chosen
    #[arg(long, value_enum, default_value = "json")]
    format: Writable,
    /// Where to, instead of standard output; `folder` needs it
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// A line for each value
    #[arg(long)]
    pretty: bool,
    /// Draw at most so many levels, for `tree` and `dot`
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
}

/// What is told of a file or folder that was written; the names of the fields are those of the JSON
/// form.
#[derive(Serialize)]
struct Told<'a> {
    file: &'a str,
    revision: u64,
    bytes: u64,
}

impl Args {
    /// Is it written to standard output?
    pub(crate) fn is_printed(&self) -> bool {
        self.output.is_none()
    }
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    if args.depth.is_some() && !matches!(args.format, Writable::Tree | Writable::Dot) {
        return Err(Failure::usage("--depth is for drawings")
            .with_hint("--format tree draws with lines, --format dot is a graph"));
    }
    let is_json = matches!(args.format, Writable::Json | Writable::Ndjson | Writable::Folder);
    if context.format == Format::Json && args.output.is_none() && !is_json {
        return Err(Failure::usage("--json is for lines of JSON, and this form is another")
            .with_hint("--output FILE writes it there, and tells that as JSON"));
    }
    let folder = context.read(&args.dir)?;
    let tree = tree(&folder, &args.tree, None)?;
    let found = find_or_newest(&tree, args.at.at.as_deref())?;
    let told = |file, bytes| {
        let revision = found.snapshot.revision().number();
        done(context.format, &Told { file, revision, bytes })
    };
    match (&args.output, args.format) {
        (Some(output), Writable::Folder) => {
            let path = path(&args.path)?;
            let root = found.snapshot.root();
            let node = root.at(&path).map_err(|_| near::not_found(root, &path))?;
            let bytes = folder::export(node, FilePath::new(output))?;
            Ok(told(output, bytes)?)
        }
        (None, Writable::Folder) => Err(Failure::usage("a folder of files has no place in a pipe")
            .with_hint("--output FOLDER says where to write it")),
        // What is written there is seen.
        (None, _) if io::stdout().is_terminal() => {
            let mut out = stdout();
            write(args, &found, &mut out)?;
            Ok(out.flush()?)
        }
        (None, _) => {
            // No colours are taken out of it: what looks like one is data.
            let mut out = buffered(Counted::new(io::stdout().lock(), &args.tree));
            write(args, &found, &mut out)?;
            Ok(out.flush()?)
        }
        (Some(output), _) => {
            let cannot = |error: std::io::Error| {
                Failure::new(Exit::Error, format_args!("cannot write {output}: {error}"))
            };
            let written = Replacing::begin(FilePath::new(output)).map_err(cannot)?;
            let mut out = buffered(Counted::new(written.file().map_err(cannot)?, output));
            write(args, &found, &mut out)?;
            out.flush().map_err(cannot)?;
            let bytes = out.get_ref().written();
            written.end().map_err(cannot)?;
            Ok(told(output, bytes)?)
        }
    }
}

/// In pieces that are worth counting.
fn buffered<W: Write>(out: W) -> BufWriter<W> {
    BufWriter::with_capacity(64 << 10, out)
}

fn write(args: &Args, found: &Found, out: &mut impl Write) -> Result<(), Failure> {
    let path = path(&args.path)?;
    let root = found.snapshot.root();
    if args.format == Writable::Ndjson {
        if !path.is_empty() {
            return Err(Failure::usage("all revisions are of the whole tree")
                .with_hint("`jungle watch` tells what happened below a path"));
        }
        return Ok(ndjson::write(&found.tree, found.snapshot.revision(), out)?);
    }
    let Some(member) = value_at(root, &path) else {
        return Err(near::not_found(root, &path));
    };
    if let Some(form) = args.format.document() {
        return jungle_formats::write(form, member, &path, out)
            .map_err(|error| not_written(form, error));
    }
    match (args.format, member) {
        (Writable::Tree | Writable::Dot, member) => {
            let name = if path.is_empty() { args.tree.clone() } else { path.to_string() };
            match args.format {
                Writable::Tree => drawing::write(&name, member, args.depth, out)?,
                _ => dot::write(&name, member, args.depth, out)?,
            }
            return Ok(());
        }
        (_, Member::Node(node)) => {
            let layout = if args.pretty { Layout::Pretty } else { Layout::Compact };
            export(node, &mut *out, &ExportOptions { layout })?;
        }
        (_, value) => out.write_all(json(value).as_bytes())?,
    }
    Ok(writeln!(out)?)
}
