//! What differs between two versions as documents: a line of JSON for each difference.

use std::error::Error;
use std::io::Write;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use jungle::json::value_at;
use jungle::{ChangeSet, Path, Snapshot, Steps, Tree, TreeSnapshot, diff_within};
use jungle_words::differences::{Difference, What, differences_by, write_json};
use jungle_words::{Found, Info, Tags};
use serde::Serialize;
use serde_json::Value as Json;

use super::diff::changes;
use super::document::{place, sent_in};
use crate::access::{View, Visitor};
use crate::app::aside;
use crate::body::Outgoing;
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

/// Differences take as much as what differs: they are sent as documents are. What they follow from
/// is compared before the head is sent: that this takes too much can be told then.
pub(super) async fn tell(app: &Visitor, wanted: Wanted) -> Result<Response, Problem> {
    let info = Tags::of(&wanted.to.tree).info(&wanted.to.info()?);
    let (place, steps) = (place(app)?, Steps::new(app.steps_max()));
    let compared = aside(move || Ok((place, Between::of(wanted, info, steps)?)));
    let (place, compared) = compared.await?;
    let body = sent_in(place, app, move |out| compared.write(out));
    Ok(lines(body))
}

/// What would become of a version, which is told likewise to whoever may read all of it.
pub(super) struct Preview {
    /// The first line.
    pub(super) head: Json,
    pub(super) before: TreeSnapshot,
    pub(super) after: TreeSnapshot,
    /// What leads from the one to the other.
    pub(super) changes: ChangeSet,
}

/// Tells what is worked out in line.
pub(super) async fn tell_preview(
    app: &Visitor,
    work_out: impl FnOnce() -> Result<Preview, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let place = place(app)?;
    let (place, preview) = app.in_line(move || Ok((place, work_out()?))).await?;
    Ok(lines(sent_in(place, app, move |out| preview.write(out))))
}

fn lines(body: Body) -> Response {
    let head = [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, "attachment")];
    (head, body).into_response()
}

impl Preview {
    fn write(self, out: &mut Outgoing) -> Result<(), Box<dyn Error>> {
        let Preview { head, before, after, changes } = self;
        serde_json::to_writer(&mut *out, &head)?;
        let differences = differences_by(|| changes, &before, &after, &Path::root());
        write_each(out, differences.as_deref())
    }
}

/// Two versions, and what happened between them.
struct Between {
    info: Info,
    from: Option<u64>,
    before: TreeSnapshot,
    to: Found,
    path: Path,
    view: View,
    changes: ChangeSet,
}

impl Between {
    fn of(wanted: Wanted, mut info: Info, mut steps: Steps) -> Result<Between, Problem> {
        let Wanted { from, to, path, view } = wanted;
        if !concerns(&to, &path, &view, &mut steps)? {
            (info.author, info.message) = (None, None);
        }
        let before = match &from {
            Some(from) => (**from).clone(),
            None => Tree::new(&to.snapshot.arena()).snapshot(),
        };
        let is_there = |version: &TreeSnapshot| value_at(version.root(), &path).is_some();
        let changes = match is_there(&before) || is_there(&to.snapshot) {
            true => known(&before, &to.snapshot, &path, &view, &mut steps)?,
            false => ChangeSet::new(),
        };
        let from = from.map(|from| from.revision().number());
        Ok(Between { info, from, before, to, path, view, changes })
    }

    fn write(self, out: &mut Outgoing) -> Result<(), Box<dyn Error>> {
        let Between { info, from, before, to, path, view, changes } = self;
        let differences = found(changes, &before, &to.snapshot, &path, &view);
        serde_json::to_writer(&mut *out, &Head { info, from, exists: differences.is_some() })?;
        write_each(out, differences.as_deref())
    }
}

/// Ends the line before, and writes one for each.
fn write_each(
    out: &mut Outgoing,
    differences: Option<&[Difference<'_>]>,
) -> Result<(), Box<dyn Error>> {
    for difference in differences.unwrap_or_default() {
        out.write_all(b"\n")?;
        write_json(out, difference)?;
    }
    Ok(out.write_all(b"\n")?)
}

/// May be told who made a revision, and why? Whoever may not read the rest is told that of those
/// that did something there, as who watches is: what it did is compared for that, with the same
/// steps as what is told.
fn concerns(to: &Found, path: &Path, view: &View, steps: &mut Steps) -> Result<bool, Problem> {
    if view.is_whole() {
        return Ok(true);
    }
    let Some(before) = to.before()? else { return Ok(false) };
    Ok(!known(&before.snapshot, &to.snapshot, path, view, steps)?.is_empty())
}

/// What differs at the path and below; nothing if neither has something there.
fn found<'a>(
    changes: ChangeSet,
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
        _ => return differences_by(|| changes, before, after, path),
    };
    Some(vec![Difference { path: path.clone(), what }])
}

/// The changes by which it is known what was moved: whoever may not read the rest is told of those
/// in the node at the path, or in the one that it is an attribute of.
fn known(
    from: &TreeSnapshot,
    to: &TreeSnapshot,
    path: &Path,
    view: &View,
    steps: &mut Steps,
) -> Result<ChangeSet, Problem> {
    if view.is_whole() {
        return Ok(diff_within(from, to, &[], steps)?);
    }
    let is_node = [from, to].iter().any(|version| version.root().at(path).is_ok());
    let around = path.parent().filter(|parent| !is_node && view.reads(parent));
    Ok(changes(from, to, around.as_ref().unwrap_or(path), false, steps)?.into())
}
