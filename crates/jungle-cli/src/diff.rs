//! `jungle diff`: what differs between two documents.

mod changes;
mod print;

use std::io::Write;

use jungle_json::MemberOrder;
use jungle_tree::Tree;

use crate::args;
use crate::document::{import_file, new_tree, path};
use crate::failure::{Exit, Failure};
use crate::near;
use crate::output::{Format, stdout};

pub(crate) fn run(args: &args::Diff, format: Format) -> Result<(), Failure> {
    if args.before == "-" && args.after == "-" {
        return Err(Failure::new(Exit::Usage, "only one document can be on standard input"));
    }
    let below = path(args.path.as_deref().unwrap_or("/"))?;
    // The order of members is no difference.
    let order = MemberOrder::Ignore;
    let mut before = new_tree()?;
    import_file(&mut before, &args.before, &args.read, order)?;
    let before = before.snapshot();
    // The second is read over the first, so that what they share is skipped.
    let mut after = Tree::from_snapshot(&before);
    import_file(&mut after, &args.after, &args.read, order)?;
    let after = after.snapshot();
    let Some(differences) = changes::differences(&before, &after, &below) else {
        return Err(near::not_found(after.root(), &below));
    };
    let mut out = stdout();
    match (format, args.stat) {
        (Format::Text, false) => print::lines(&mut out, &differences)?,
        (Format::Text, true) => print::stat(&mut out, &differences, below.depth())?,
        (Format::Json, false) => print::json_lines(&mut out, &differences)?,
        (Format::Json, true) => print::json_stat(&mut out, &differences)?,
    }
    Ok(out.flush()?)
}
