//! Looking for the nodes for which an expression is true.

use std::ops::ControlFlow::{Break, Continue};

use jungle_tree::{Key, Path, Snapshot};
use jungle_words::{Expr, Found, Part};

use crate::failure::{Failure, failed};
use crate::interrupt;

/// What must be true of a node.
pub(crate) fn parse(expression: &str) -> Result<Expr, Failure> {
    Expr::parse(expression).map_err(|error| {
        Failure::usage(error.show(expression))
            .with_hint("`jungle find --help` shows what expressions look like")
    })
}

/// Gives what is found in document order, for as long as more is wanted: by indexes where there are
/// some that help, which a version that was found in its tree may have.
pub(crate) fn search(
    snapshot: &Snapshot,
    found: Option<&Found>,
    expr: &Expr,
    each: &mut dyn FnMut(Path) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let root = snapshot.root();
    let given_up = interrupt::flag();
    let go_on = || match interrupt::flow(&given_up) {
        Continue(()) => Ok(()),
        Break(()) => Err(interrupt::given_up()),
    };
    let candidates = match found {
        Some(found) => expr.candidates(&found.tree, &found.snapshot, Part::ALL).map_err(failed)?,
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
