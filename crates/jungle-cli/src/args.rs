//! What can be said on the command line.

use anstream::ColorChoice;
use clap::{Parser, Subcommand, ValueEnum};

use crate::output::Format;

const AFTER: &str = "Exit codes: 0 done, 1 error, 2 wrong usage, 3 the reader of the output went \
                     away, 4 not found.";

/// Trees that remember every version.
#[derive(Parser)]
#[command(name = "jungle", version, after_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
}

impl Args {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        let choice = match self {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Tell the size and shape of a JSON document as a tree
    Stat(Stat),
    /// Print the JSON value at a path
    Get(Get),
    /// Print the paths of the nodes for which an expression is true
    #[command(after_help = crate::expr::HELP)]
    Find(Find),
    /// Tell what differs between two JSON documents
    Diff(Diff),
    /// Keep published versions of a large document as revisions of one tree, and look at them
    Demo(Demo),
}

#[derive(clap::Args)]
pub(crate) struct Read {
    /// Accept at most this many objects and arrays in one another
    #[arg(long, value_name = "LEVELS", default_value_t = 512)]
    pub(crate) depth_max: usize,
}

#[derive(clap::Args)]
pub(crate) struct Stat {
    /// The document; `-` for standard input
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) read: Read,
}

#[derive(clap::Args)]
pub(crate) struct Get {
    /// The document; `-` for standard input
    pub(crate) file: String,
    /// Keys with slashes between them: `/features/3/name`; `/@name` is an attribute for sure
    pub(crate) path: String,
    /// A line for each value
    #[arg(long)]
    pub(crate) pretty: bool,
    #[command(flatten)]
    pub(crate) read: Read,
}

#[derive(clap::Args)]
pub(crate) struct Find {
    /// The document; `-` for standard input
    pub(crate) file: String,
    /// What must be true of a node: `status = "open" and not priority < 3`
    pub(crate) expression: String,
    /// Stop after this many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) read: Read,
}

#[derive(clap::Args)]
pub(crate) struct Demo {
    /// How many versions, the newest ones
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) versions: usize,
    /// Where the documents are kept
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    pub(crate) dir: String,
}

#[derive(clap::Args)]
pub(crate) struct Diff {
    /// The document before; `-` for standard input
    pub(crate) before: String,
    /// The document after; `-` for standard input
    pub(crate) after: String,
    /// Look only below this path
    pub(crate) path: Option<String>,
    /// Count the differences below each member of the top level
    #[arg(long)]
    pub(crate) stat: bool,
    #[command(flatten)]
    pub(crate) read: Read,
}
