//! Indexes of a tree.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Named, json as answer};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag;
use crate::problem::Problem;
use crate::query::Query;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    key: String,
}

/// Their keys tell what there is in all of the tree.
pub(crate) async fn list(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    Query::of(&uri, &[])?;
    let keys = app.tree(&name, Need::whole(Role::Read))?.list_indexes();
    let indexes: Vec<Index> = keys.iter().map(|key| Index { key: (&**key).into() }).collect();
    Ok(etag::told(&headers, &json!({"indexes": indexes})))
}

/// They take memory, so they are not for those who only write.
pub(crate) async fn create(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    let tree = app.tree(&name, Need::whole(Role::Admin))?;
    let index: Index = body::asked(request, &app.options.limits).await?;
    let made = app.write(move |_| {
        jungle_words::create_index(&tree, &index.key)?;
        Ok(index)
    });
    Ok((StatusCode::CREATED, answer(&made.await?)).into_response())
}

pub(crate) async fn drop(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["key"])?;
    let key = query.text("key")?.ok_or_else(|| Problem::bad("say `key`"))?.to_owned();
    let tree = app.tree(&name, Need::whole(Role::Admin))?;
    app.write(move |_| Ok(tree.drop_index(&key)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
