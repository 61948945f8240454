//! What happened between two revisions.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{Change, Path, Snapshot, Subtree};
use serde::Serialize;

use super::Named;
use super::change::Shown;
use crate::access::{Need, View, Visitor};
use crate::etag;
use crate::problem::{Kind, Problem};
use crate::query::Query;

#[derive(Serialize)]
struct Page<'a> {
    from: u64,
    to: u64,
    path: String,
    total: usize,
    changes: Vec<Shown<'a>>,
    next: Option<usize>,
}

pub(crate) async fn diff(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch", "from", "to", "path", "after", "limit"])?;
    let (path, limit) = (query.path()?, query.limit()?);
    let tree = app.branch(&name, &query, Need::read(&path))?;
    let after = query.parsed::<usize>("after")?.unwrap_or(0);
    let to = app.find(&tree, query.text("to")?).await?;
    let from = match query.text("from")? {
        Some(from) => app.find(&tree, Some(from)).await?.snapshot,
        None => to.before()?.map(|before| before.snapshot).ok_or_else(|| {
            let revision = to.snapshot.revision();
            let detail = format_args!("revision {revision} is the first that is kept");
            Problem::new(Kind::NoSuchRevision, detail).hint("say `from`")
        })?,
    };
    let view = app.view(&name);
    let page = move || Ok(page((&from, &to.snapshot), &path, &view, (after, limit)));
    Ok(etag::told_text(&headers, app.in_line(page).await?))
}

fn page(
    (from, to): (&Snapshot, &Snapshot),
    path: &Path,
    view: &View,
    (after, limit): (usize, usize),
) -> Vec<u8> {
    let changes = changes(from, to, path, view);
    let shown = changes.iter().skip(after).take(limit);
    let shown: Vec<_> = shown.map(|change| Shown { change, before: Some(from), view }).collect();
    let end = after.saturating_add(shown.len());
    let page = Page {
        from: from.revision().number(),
        to: to.revision().number(),
        path: path.to_string(),
        total: changes.len(),
        changes: shown,
        next: (end < changes.len()).then_some(end),
    };
    serde_json::to_vec(&page).expect("plain data")
}

/// What happened at a node and below. What was moved is found only where all is compared; for
/// whoever may not read the rest, that is neither worked out nor told.
fn changes(from: &Snapshot, to: &Snapshot, path: &Path, view: &View) -> Vec<Change> {
    if view.is_whole() {
        let changes = jungle::diff(from, to).into_iter();
        return changes.filter(|change| change.concerns(path)).collect();
    }
    if let Ok(changes) = jungle::diff_at(from, to, path) {
        return changes.into_iter().collect();
    }
    // It is not there on both sides.
    let was = from.root().at(path).map(|_| Change::ChildRemoved { path: path.clone() });
    let is = Subtree::new(to, path);
    let is = is.map(|subtree| Change::SubtreeSet { path: path.clone(), subtree });
    was.into_iter().chain(is).collect()
}
