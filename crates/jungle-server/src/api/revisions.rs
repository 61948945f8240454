//! The history of a branch.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{ArchiveError, Revision, RevisionInfo};
use jungle_words::{Info, Tags};
use serde::Serialize;

use super::Named;
use crate::access::{Need, Role, Visitor};
use crate::etag;
use crate::problem::Problem;
use crate::query::Query;

#[derive(Serialize)]
struct Page {
    branch: String,
    revisions: Vec<Info>,
    next: Option<u64>,
}

pub(crate) async fn list(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch", "order", "after", "limit"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    let (after, limit) = (query.parsed::<u64>("after")?, query.limit()?);
    let tags = Tags::of(&tree);
    let told = |info: Result<RevisionInfo, ArchiveError>| Ok(tags.info(&info?));
    let is_forward = query.one_of("order", &["backward", "forward"])? == 1;
    let revisions: Result<Vec<Info>, ArchiveError> = if is_forward {
        let from = Revision::new(after.map_or(0, |after| after.saturating_add(1)));
        tree.history(from..).rev().take(limit + 1).map(told).collect()
    } else {
        let to = Revision::new(after.unwrap_or(u64::MAX));
        tree.history(..to).take(limit + 1).map(told).collect()
    };
    let mut page =
        Page { branch: tree.branch_name().to_owned(), revisions: revisions?, next: None };
    if page.revisions.len() > limit {
        page.revisions.pop();
        page.next = page.revisions.last().map(|info| info.revision);
    }
    Ok(etag::told(&headers, &page))
}

pub(crate) async fn show(
    app: Visitor,
    Named((name, revision)): Named<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    let found = app.find(&tree, Some(&revision)).await?;
    Ok(etag::told(&headers, &Tags::of(&tree).info(&found.info()?)))
}
