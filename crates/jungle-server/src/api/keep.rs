//! How much of a history is kept.

use axum::body::Body;
use axum::http::{HeaderMap, Request, Uri};
use axum::response::Response;
use jungle::TreeHandle;
use jungle_words::keep::{parse, text};
use serde::{Deserialize, Serialize};

use super::{Named, json};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag;
use crate::problem::Problem;
use crate::query::Query;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    keep: String,
}

fn rule(tree: &TreeHandle) -> Rule {
    Rule { keep: text(tree.retention()) }
}

pub(crate) async fn show(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    Ok(etag::told(&headers, &rule(&tree)))
}

/// What is not kept is gone for everybody, so it is not for those who only write.
pub(crate) async fn set(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["branch"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Admin))?;
    let asked: Rule = body::asked(request, &app.options.limits).await?;
    let kept = parse(&asked.keep).map_err(|error| Problem::bad(error).within("keep"))?;
    app.write(move |_| {
        tree.set_retention(kept)?;
        Ok(json(&rule(&tree)))
    })
    .await
}
