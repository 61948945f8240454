//! What happened between two revisions.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{Change, DiffError, Path, Snapshot, Steps, Subtree, TreeSnapshot, diff_within};
use serde_json::Value as Json;

use super::Named;
use super::change::Shown;
use super::compared::{Of, Row};
use super::differences::{self, Wanted};
use crate::access::{Need, View, Visitor};
use crate::etag;
use crate::limits::{PAGE, PAGE_BYTES};
use crate::problem::{Kind, Problem};
use crate::query::Query;

pub(crate) async fn diff(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch", "from", "to", "path", "after", "limit", "form"])?;
    let (path, limit) = (query.path()?, query.limit()?);
    let is_document = query.one_of("form", &["changes", "document"])? == 1;
    let tree = app.branch(&name, &query, Need::read(&path))?;
    let after = query.parsed::<usize>("after")?;
    let to = app.find(&tree, query.text("to")?).await?;
    let from = match query.text("from")? {
        Some(from) => Some(app.find(&tree, Some(from)).await?.snapshot),
        None => to.before()?.map(|before| before.snapshot),
    };
    let (view, visitor) = (app.view(&name), app.clone());
    if is_document {
        if after.is_some() || query.text("limit")?.is_some() {
            return Err(Problem::bad("after and limit are for changes, and a document is whole"));
        }
        return differences::tell(&app, Wanted { from, to, path, view }).await;
    }
    let after = after.unwrap_or(0);
    let from = from.ok_or_else(|| {
        let revision = to.snapshot.revision();
        let detail = format_args!("revision {revision} is the first that is kept");
        Problem::new(Kind::NoSuchRevision, detail).hint("say `from`")
    })?;
    let page = move || {
        let (from, to) = (&from, &to.snapshot);
        let (path, is_whole) = (&path, view.is_whole());
        let of = Of { from: from.version(), to: to.version(), path: path.clone(), is_whole };
        let mut steps = Steps::new(visitor.steps_max());
        let work_out = || changes(from, to, path, is_whole, &mut steps);
        // Of more than a few, there may be another page wherever this one ends.
        let rows = visitor.compared.rows(of, limit.min(PAGE), work_out)?;
        let begin = after.min(rows.len());
        let (changes, told) = written(&rows[begin..], limit, (from, to), &view);
        let (end, total) = (begin + told, rows.len());
        let next = Json::from((end < total).then_some(end));
        let (from, to, path) = (from.revision(), to.revision(), Json::from(path.to_string()));
        let head = format!(r#""from":{from},"to":{to},"path":{path},"total":{total}"#);
        Ok::<_, Problem>(format!(r#"{{{head},"changes":{changes},"next":{next}}}"#).into_bytes())
    };
    Ok(etag::told_text(&headers, app.in_line(page).await?))
}

/// So many changes at most as a JSON array, for whoever has this view, until it is long; and how
/// many these are. What they hold of a version is there for one at a time: all of them together may
/// hold much.
fn written(
    rows: &[Row],
    limit: usize,
    (from, to): (&Snapshot, &Snapshot),
    view: &View,
) -> (String, usize) {
    let (mut text, mut told) = (String::from("["), 0);
    for row in &rows[..rows.len().min(limit)] {
        if text.len() >= PAGE_BYTES {
            break;
        }
        if told > 0 {
            text.push(',');
        }
        let shown = Shown { change: &row.change(to), before: Some(from), view };
        text.push_str(&serde_json::to_string(&shown).expect("plain data"));
        told += 1;
    }
    text.push(']');
    (text, told)
}

/// What happened at a node and below. What was moved is found only where all is compared; for
/// whoever may not read the rest, that is neither worked out nor told.
pub(super) fn changes(
    from: &TreeSnapshot,
    to: &TreeSnapshot,
    path: &Path,
    is_whole: bool,
    steps: &mut Steps,
) -> Result<Vec<Change>, Problem> {
    if is_whole {
        let changes = diff_within(from, to, &[], steps)?.into_iter();
        return Ok(changes.filter(|change| change.concerns(path)).collect());
    }
    match diff_within(from, to, path, steps) {
        Err(DiffError::NoSuchNode(_)) => {}
        changes => return Ok(changes?.into_iter().collect()),
    }
    // It is not there on both sides.
    let was = from.root().at(path).map(|_| Change::ChildRemoved { path: path.clone() });
    let is = Subtree::new(to, path);
    let is = is.map(|subtree| Change::SubtreeSet { path: path.clone(), subtree });
    Ok(was.into_iter().chain(is).collect())
}
