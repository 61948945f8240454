//! Making a board.

use axum::body::Body;
use axum::http::Request;
use axum::response::Redirect;
use jungle::{CommitOptions, TreeHandle};

use super::sorry::Sorry;
use super::{BOARD, place};
use crate::access::{Need, Role, Visitor};
use crate::app::App;
use crate::body;
use crate::problem::{Kind, Problem};
use crate::query::{self, Query};

pub(super) async fn create(app: Visitor, request: Request<Body>) -> Result<Redirect, Sorry> {
    Query::of(request.uri(), &[])?;
    app.check_creates()?;
    let form = form(&app, request, &["name"]).await?;
    let name = form.text("name")?.unwrap_or_default().trim().to_owned();
    query::name(&name)?;
    let place = place(&name);
    app.write(move |app| {
        let tree = app.create_tree(&name).or_else(|problem| match problem.kind() {
            Kind::Exists => bare(app, &name).ok_or(problem),
            _ => Err(problem),
        })?;
        let options = CommitOptions::from(&app.meta(None, Some("a new board"))?);
        Ok(tree.update_with(&options, |tx| tx.put_attribute(&[], BOARD, &*name))?)
    })
    .await?;
    Ok(Redirect::to(&place))
}

/// The tree of this name, if nothing is in it: it may be a board of which no more was made, since
/// that takes two commits.
fn bare(app: &Visitor, name: &str) -> Option<TreeHandle> {
    let tree = app.tree(name, Need::whole(Role::Admin)).ok()?;
    let snapshot = tree.snapshot();
    let root = snapshot.root();
    (!root.has_children() && !root.has_attributes()).then_some(tree)
}

/// What a form sends.
pub(crate) async fn form(
    app: &App,
    request: Request<Body>,
    known: &[&str],
) -> Result<Query, Problem> {
    form_within(app, request, known, app.options.limits.body_bytes_max).await
}

/// The same, where less will do.
pub(crate) async fn form_within(
    app: &App,
    request: Request<Body>,
    known: &[&str],
    bytes_max: usize,
) -> Result<Query, Problem> {
    body::must_be(request.headers(), "application/x-www-form-urlencoded")?;
    let body = body::within(request, &app.options.limits, bytes_max).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::bad("the form is not UTF-8"))?;
    Query::parse(text, known)
}
