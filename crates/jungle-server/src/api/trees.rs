//! Trees: listing, making, renaming and deleting them.

use axum::body::Body;
use axum::http::header::{HeaderMap, HeaderValue, LOCATION};
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jungle::{Snapshot, TreeHandle};
use jungle_words::time;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::{Named, json};
use crate::access::{Need, Role, View, Visitor};
use crate::body;
use crate::etag::{self, Of};
use crate::problem::Problem;
use crate::query::{self, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewName {
    name: String,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    revision: u64,
    time: String,
    /// How large all of it is: for those alone who may read that.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<u64>,
}

#[derive(Serialize)]
struct Page {
    trees: Vec<Shown>,
    next: Option<String>,
}

fn shown(tree: &TreeHandle, snapshot: &Snapshot, view: &View) -> Shown {
    let revision = snapshot.revision();
    let root = view.is_whole().then(|| snapshot.root());
    let info = tree.history(revision..=revision).next();
    Shown {
        name: tree.name().to_string(),
        revision: revision.number(),
        time: time::text(info.and_then(Result::ok).map(|info| info.time).unwrap_or_default()),
        nodes: root.map(|root| root.subtree_count()),
        children: root.map(|root| root.child_count()),
    }
}

pub(crate) async fn list(app: Visitor, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["after", "limit"])?;
    let (after, limit) = (query.text("after")?, query.limit()?);
    let names = app.names();
    let start = names.partition_point(|name| after.is_some_and(|after| **name <= *after));
    let page = &names[start..names.len().min(start + limit)];
    // One that was deleted meanwhile is left out.
    let trees = page.iter().filter_map(|name| {
        let tree = app.tree(name, Need::part(Role::Read)).ok()?;
        Some(shown(&tree, &tree.snapshot(), &app.view(name)))
    });
    let trees = trees.collect();
    let has_more = start + page.len() < names.len();
    let next = page.last().filter(|_| has_more).map(|name| name.to_string());
    Ok(etag::told(&headers, &Page { trees, next }))
}

pub(crate) async fn create(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    app.check_creates()?;
    let new: NewName = body::asked(request, &app.options.limits).await?;
    query::name(&new.name)?;
    let tree = app.write(move |app| app.create_tree(&new.name)).await?;
    let snapshot = tree.snapshot();
    let location = utf8_percent_encode(&tree.name(), NON_ALPHANUMERIC).to_string();
    let location = HeaderValue::try_from(format!("/api/v1/trees/{location}")).expect("ASCII");
    // Whoever makes or renames one may administer all of it.
    let answer = json(&shown(&tree, &snapshot, &View::WHOLE));
    let answer = (StatusCode::CREATED, [(LOCATION, location)], answer);
    Ok(app.mark.show(Of(tree.branch_id(), snapshot.revision()), answer))
}

pub(crate) async fn show(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    Query::of(&uri, &[])?;
    let tree = app.tree(&name, Need::part(Role::Read))?;
    let (snapshot, view) = (tree.snapshot(), app.view(&name));
    let revision = snapshot.revision();
    // Less is told of a part: who is granted all of it later has not seen that.
    let edition = if view.is_whole() { revision.to_string() } else { format!("{revision}.part") };
    let version = Of(tree.branch_id(), &edition);
    if let Some(unchanged) = app.mark.unchanged(&headers, version) {
        return Ok(unchanged);
    }
    Ok(app.mark.show(version, json(&shown(&tree, &snapshot, &view))))
}

pub(crate) async fn rename(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    app.check(&name, Need::whole(Role::Admin))?;
    let new: NewName = body::asked(request, &app.options.limits).await?;
    query::name(&new.name)?;
    let tree = app.write(move |app| app.rename_tree(&name, &new.name)).await?;
    let snapshot = tree.snapshot();
    let version = Of(tree.branch_id(), snapshot.revision());
    Ok(app.mark.show(version, json(&shown(&tree, &snapshot, &View::WHOLE))))
}

pub(crate) async fn delete(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    Query::of(&uri, &[])?;
    app.write(move |app| app.delete_tree(&name)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
