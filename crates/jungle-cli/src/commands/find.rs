//! `jungle find`: the nodes for which an expression is true.

use std::io::Write;
use std::ops::ControlFlow::{Break, Continue};

use jungle_tree::{Key, Path};
use jungle_words::Expr;

use crate::args;
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::interrupt;
use crate::output::{Format, stdout};
use crate::source::{Choice, Source, usage};

const FORMS: &str = "jungle find FILE EXPR, or jungle find DIR TREE EXPR";

/// Print the paths of the nodes for which an expression is true
#[derive(clap::Args)]
#[command(override_usage = FORMS, after_help = jungle_words::EXPRESSION_HELP)]
pub(crate) struct Args {
    /// The document, `-` for standard input; or a folder
    #[arg(value_name = "FILE|DIR")]
    place: String,
    /// Of a folder the tree; then what must be true of a node:
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
    let expr = Expr::parse(expression).map_err(|error| {
        Failure::usage(error.show(expression))
            .with_hint("`jungle find --help` shows what expressions look like")
    })?;
    let source = Source::open(context, &args.place, &args.rest, &args.choice)?;
    if source.rest.len() != 1 {
        return Err(usage(&args.place, FORMS));
    }
    let mut out = stdout();
    let mut found = 0;
    let limit = args.limit.unwrap_or(u64::MAX);
    let each = |path: Path| -> Result<bool, Failure> {
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
    find(&source, &expr, each)?;
    out.flush()?;
    if found == 0 && limit > 0 {
        return Err(Failure::silent(Exit::NotFound));
    }
    Ok(())
}

/// Gives what is found in document order, for as long as more is wanted: by indexes where there are
/// some that help.
fn find(
    source: &Source<'_>,
    expr: &Expr,
    mut each: impl FnMut(Path) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let root = source.snapshot.root();
    let given_up = interrupt::flag();
    let go_on = || match interrupt::flow(&given_up) {
        Continue(()) => Ok(()),
        Break(()) => Err(interrupt::given_up()),
    };
    let candidates = match &source.found {
        Some(found) => expr.candidates(&found.tree, &found.snapshot).map_err(failed)?,
        None => None,
    };
    if let Some(candidates) = candidates {
        for path in candidates {
            go_on()?;
            let node = root.at(&path).map_err(failed)?;
            if expr.is_true(node, path.last().map(Key::as_ref)) && !each(path)? {
                break;
            }
        }
        return Ok(());
    }
    let mut walk = root.walk();
    while let Some(node) = walk.next() {
        go_on()?;
        if expr.is_true(node, walk.key()) && !each(walk.path())? {
            break;
        }
    }
    Ok(())
}
