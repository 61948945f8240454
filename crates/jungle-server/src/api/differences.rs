//! What differs between two versions as documents: a line of JSON for each difference.

use std::io::Write;

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use jungle::json::value_at;
use jungle::{ArchiveError, ChangeSet, Path, Snapshot, Tree, TreeSnapshot};
use jungle_words::differences::{Difference, What, differences_by, write_json};
use jungle_words::{Found, Info, Tags};
use serde::Serialize;

use super::diff::changes;
use super::document::sent;
use crate::access::{View, Visitor};
use crate::problem::Problem;

/// The first line.
#[derive(Serialize)]
struct Head {
    /// Of the version that they lead to.
    #[serde(flatten)]
    info: Info,
    /// The other version; without one it is a bare node.
    from: Option<u64>,
    /// Has either of them something at the path?
    exists: bool,
}

/// Which versions are compared, and where.
pub(super) struct Wanted {
    pub(super) from: Option<Snapshot>,
    pub(super) to: Found,
    pub(super) path: Path,
    /// What may be told.
    pub(super) view: View,
}

/// Differences take as much as what differs: they are sent as documents are.
pub(super) fn tell(app: &Visitor, wanted: Wanted) -> Result<Response, Problem> {
    let mut info = Tags::of(&wanted.to.tree).info(&wanted.to.info()?);
    let body = sent(app, move |out| {
        let Wanted { from, to, path, view } = wanted;
        if !concerns(&to, &path, &view)? {
            (info.author, info.message) = (None, None);
        }
        let to: &TreeSnapshot = &to.snapshot;
        let bare;
        let before: &TreeSnapshot = match &from {
            Some(from) => from,
            None => {
                bare = Tree::new(&to.arena()).snapshot();
                &bare
            }
        };
        let differences = found(before, to, &path, &view);
        let from = from.as_ref().map(|from| from.revision().number());
        serde_json::to_writer(&mut *out, &Head { info, from, exists: differences.is_some() })?;
        for difference in differences.iter().flatten() {
            out.write_all(b"\n")?;
            write_json(out, difference)?;
        }
        Ok(out.write_all(b"\n")?)
    })?;
    let head = [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, "attachment")];
    Ok((head, body).into_response())
}

/// May be told who made a revision, and why? Whoever may not read the rest is told that of those
/// that did something there, as who watches is.
fn concerns(to: &Found, path: &Path, view: &View) -> Result<bool, ArchiveError> {
    if view.is_whole() {
        return Ok(true);
    }
    let before = to.before()?;
    let did = before.map(|before| known(&before.snapshot, &to.snapshot, path, view));
    Ok(did.is_some_and(|changes| !changes.is_empty()))
}

/// What differs at the path and below; nothing if neither has something there.
fn found<'a>(
    before: &'a TreeSnapshot,
    after: &'a TreeSnapshot,
    path: &Path,
    view: &View,
) -> Option<Vec<Difference<'a>>> {
    let is_top = path.parent().is_some_and(|parent| !view.reads(&parent));
    let is_node = [before, after].map(|version| version.root().at(path).is_ok());
    // An attribute of that name is of the node above, which they may not read.
    let what = match is_node {
        [true, false] if is_top => What::Removed(value_at(before.root(), path)?),
        [false, true] if is_top => What::Added(value_at(after.root(), path)?),
        [false, false] if is_top => return None,
        _ => return differences_by(|| known(before, after, path, view), before, after, path),
    };
    Some(vec![Difference { path: path.clone(), what }])
}

/// The changes by which it is known what was moved: whoever may not read the rest is told of those
/// in the node at the path, or in the one that it is an attribute of.
fn known(from: &TreeSnapshot, to: &TreeSnapshot, path: &Path, view: &View) -> ChangeSet {
    if view.is_whole() {
        return jungle::diff(from, to);
    }
    let is_node = [from, to].iter().any(|version| version.root().at(path).is_ok());
    let around = path.parent().filter(|parent| !is_node && view.reads(parent));
    changes(from, to, around.as_ref().unwrap_or(path), false).into()
}
