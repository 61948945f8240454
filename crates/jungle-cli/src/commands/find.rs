//! `jungle find`: the nodes for which an expression is true.

use std::io::Write;

use jungle_tree::Path;

use crate::args;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::folder::is_folder;
use crate::output::{Format, stdout};
use crate::place::{Purpose, is_url};
use crate::search::{parse, search};
use crate::source::{Choice, Source, usage};

const FORMS: &str = "jungle find FILE EXPR, or jungle find DIR TREE EXPR";

/// Print the paths of the nodes for which an expression is true
#[derive(clap::Args)]
#[command(override_usage = FORMS, after_help = jungle_words::EXPRESSION_HELP)]
pub(crate) struct Args {
    /// The document, `-` for standard input; or a folder, or the URL of a server
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// Of a folder or server the tree; then what must be true of a node:
    /// `status = "open" and not priority < 3`
    #[arg(value_name = "EXPR", required = true, num_args = 1..=2)]
    rest: Vec<String>,
    /// Stop after this many
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    pub(crate) listing: args::Listing,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    // Before anything is opened, which may take long.
    let expression = args.rest.last().expect("one is required");
    let expr = parse(expression)?;
    let mut out = stdout();
    let mut found = 0;
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut each = |path: Path| -> Result<bool, Failure> {
        if found < limit {
            found += 1;
            match context.format {
                Format::Text => writeln!(out, "{path}")?,
                Format::Json => {
                    let path = serde_json::Value::from(path.to_string());
                    writeln!(out, "{{\"path\":{path}}}")?;
                }
            }
        }
        Ok(found < limit)
    };
    match &args.rest[..] {
        [tree, _] if is_folder(&args.place) || is_url(&args.place) => {
            let place = context.place(&args.place, Purpose::Read)?;
            place.find(tree, args.choice.at.at.as_deref(), expression, &mut each)?;
        }
        _ if is_url(&args.place) => {
            return Err(Failure::usage("which tree of the server?").with_hint(FORMS));
        }
        rest => {
            let source = Source::open(context, &args.place, rest, &args.choice)?;
            if source.rest.len() != 1 {
                return Err(usage(&args.place, FORMS));
            }
            search(&source.snapshot, None, &expr, &mut each)?;
        }
    }
    out.flush()?;
    if found == 0 && limit > 0 {
        return Err(Failure::silent(Exit::NotFound));
    }
    Ok(())
}
