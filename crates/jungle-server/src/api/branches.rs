//! Branches and tags.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jungle::{MAIN_BRANCH, TreeHandle};
use jungle_words::time;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Named, json as answer};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag;
use crate::limits::PAGE_MAX;
use crate::problem::Problem;
use crate::query::{self, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    at: Option<String>,
}

async fn new(app: &Visitor, request: Request<Body>) -> Result<New, Problem> {
    Query::of(request.uri(), &[])?;
    let new: New = body::asked(request, &app.options.limits).await?;
    query::name(&new.name)?;
    Ok(new)
}

fn branch(tree: &TreeHandle) -> Json {
    let revision = tree.snapshot().revision();
    let info = tree.history(revision..=revision).next();
    let time = time::text(info.and_then(Result::ok).map(|info| info.time).unwrap_or_default());
    json!({"name": tree.branch_name(), "revision": revision.number(), "time": time})
}

/// Those of a list that are on a page, and what the next one follows, where there is more.
fn page<'m, T>(
    query: &Query,
    all: &'m [T],
    name: impl Fn(&T) -> &str,
) -> Result<(&'m [T], Option<&'m str>), Problem> {
    // Who does not ask for a page expects them all: a tree has seldom more than are on one.
    let limit = if query.text("limit")?.is_some() { query.limit()? } else { PAGE_MAX };
    let start = match query.text("after")? {
        Some(after) => all.partition_point(|mark| place(name(mark)) <= place(after)),
        None => 0,
    };
    let rest = &all[start..];
    let page = &rest[..rest.len().min(limit)];
    let last = page.last().filter(|_| page.len() < rest.len());
    Ok((page, last.map(name)))
}

/// Where a name is in a list: the main branch is the first, and no tag is called so. What begins
/// with the page behind nothing is told that one, too.
fn place(name: &str) -> (bool, &str) {
    (!matches!(name, "" | MAIN_BRANCH), name)
}

/// A page as JSON.
fn listed(what: &str, marks: Vec<Json>, next: Option<&str>) -> Json {
    let mut told = json!({what: marks});
    if let Some(next) = next {
        told["next"] = next.into();
    }
    told
}

pub(crate) async fn list(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["after", "limit"])?;
    let tree = app.tree(&name, Need::part(Role::Read))?;
    let names = tree.list_branches();
    let (names, next) = page(&query, &names, |name| name.as_ref())?;
    // One that was deleted meanwhile is left out.
    let branches = names.iter().filter_map(|name| tree.on_branch(name).ok());
    let branches = branches.map(|tree| branch(&tree)).collect();
    Ok(etag::told(&headers, &listed("branches", branches, next)))
}

pub(crate) async fn create(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let tree = app.tree(&name, Need::whole(Role::Write))?;
    let new = new(&app, request).await?;
    jungle_words::check_name(&new.name)?;
    let made = app.write_from(tree, new.at, move |from| {
        Ok(from.tree.branch(&new.name, from.snapshot.revision())?)
    });
    Ok((StatusCode::CREATED, answer(&branch(&made.await?))).into_response())
}

pub(crate) async fn delete(
    app: Visitor,
    Named((name, branch)): Named<(String, String)>,
    uri: Uri,
) -> Result<Response, Problem> {
    Query::of(&uri, &[])?;
    let tree = app.tree(&name, Need::whole(Role::Admin))?;
    app.write(move |_| Ok(tree.delete_branch(&branch)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn list_tags(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["after", "limit"])?;
    let tags = app.tree(&name, Need::part(Role::Read))?.list_tags();
    let (tags, next) = page(&query, &tags, |(name, _)| name.as_ref())?;
    let tags = tags.iter().map(|(name, revision)| {
        let (name, revision) = (&**name, revision.number());
        json!({"name": name, "revision": revision})
    });
    Ok(etag::told(&headers, &listed("tags", tags.collect(), next)))
}

pub(crate) async fn create_tag(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let tree = app.tree(&name, Need::whole(Role::Write))?;
    let new = new(&app, request).await?;
    jungle_words::check_name(&new.name)?;
    let made = app.write_from(tree, new.at, move |from| {
        let revision = from.snapshot.revision();
        from.tree.tag(&new.name, revision)?;
        Ok(json!({"name": new.name, "revision": revision.number()}))
    });
    Ok((StatusCode::CREATED, answer(&made.await?)).into_response())
}

pub(crate) async fn delete_tag(
    app: Visitor,
    Named((name, tag)): Named<(String, String)>,
    uri: Uri,
) -> Result<Response, Problem> {
    Query::of(&uri, &[])?;
    let tree = app.tree(&name, Need::whole(Role::Admin))?;
    app.write(move |_| Ok(tree.delete_tag(&tag)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
