//! The list of boards, and making one.

use askama::Template;
use axum::body::Body;
use axum::http::{Request, Uri};
use axum::response::{Redirect, Response};
use jungle::CommitOptions;

use super::sorry::{Sorry, html};
use super::{BOARD, place};
use crate::access::{Need, Role, Visitor};
use crate::app::App;
use crate::body;
use crate::problem::Problem;
use crate::query::{self, Query};

/// Boards that are listed.
const BOARDS_MAX: usize = 1000;

#[derive(Template)]
#[template(path = "boards.html")]
struct Page {
    has_accounts: bool,
    boards: Vec<Board>,
    has_more: bool,
}

struct Board {
    name: String,
    place: String,
    messages: u64,
}

pub(super) async fn list(app: Visitor, uri: Uri) -> Result<Response, Sorry> {
    Query::of(&uri, &[])?;
    let names = app.names();
    let boards = names.iter().filter_map(|name| {
        let tree = super::open(&app, name, Need::whole(Role::Read)).ok()?;
        let messages = app.boards.look(&tree).ok()?.snapshot.root().child_count();
        Some(Board { name: name.to_string(), place: place(name), messages })
    });
    let mut boards: Vec<Board> = boards.take(BOARDS_MAX + 1).collect();
    let has_more = boards.len() > BOARDS_MAX;
    boards.truncate(BOARDS_MAX);
    Ok(html(&Page { has_accounts: app.gate.is_some(), boards, has_more })?)
}

pub(super) async fn create(app: Visitor, request: Request<Body>) -> Result<Redirect, Sorry> {
    Query::of(request.uri(), &[])?;
    let form = form(&app, request, &["name"]).await?;
    let name = form.text("name")?.unwrap_or_default().trim().to_owned();
    query::name(&name)?;
    let place = place(&name);
    app.write(move |app| {
        let tree = app.create_tree(&name)?;
        let options = CommitOptions::from(&app.meta(None, Some("a new board"))?);
        Ok(tree.update_with(&options, |tx| tx.put_attribute(&[], BOARD, &*name))?)
    })
    .await?;
    Ok(Redirect::to(&place))
}

/// What a form sends.
pub(crate) async fn form(
    app: &App,
    request: Request<Body>,
    known: &[&str],
) -> Result<Query, Problem> {
    body::must_be(request.headers(), "application/x-www-form-urlencoded")?;
    let body = body::whole(request, &app.options.limits).await?;
    let text = std::str::from_utf8(&body).map_err(|_| Problem::bad("the form is not UTF-8"))?;
    Query::parse(text, known)
}
