//! `jungle find`: the nodes for which an expression is true.

use std::io::Write;

use crate::args;
use crate::document::open;
use crate::expr::Expr;
use crate::failure::{Exit, Failure};
use crate::output::{Format, stdout};

pub(crate) fn run(args: &args::Find, format: Format) -> Result<(), Failure> {
    let expr = Expr::parse(&args.expression).map_err(|error| error.failure(&args.expression))?;
    let tree = open(&args.file, &args.read)?;
    let snapshot = tree.snapshot();
    let mut out = stdout();
    let mut walk = snapshot.root().walk();
    let mut found = 0;
    let limit = args.limit.unwrap_or(u64::MAX);
    while found < limit {
        let Some(node) = walk.next() else {
            break;
        };
        if !expr.is_true(node, walk.key()) {
            continue;
        }
        found += 1;
        match format {
            Format::Text => writeln!(out, "{}", walk.path())?,
            Format::Json => {
                let path = serde_json::Value::from(walk.path().to_string());
                writeln!(out, "{{\"path\":{path}}}")?;
            }
        }
    }
    out.flush()?;
    if found == 0 && limit > 0 {
        return Err(Failure::silent(Exit::NotFound));
    }
    Ok(())
}
