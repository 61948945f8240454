//! Posting a message.

use axum::body::Body;
use axum::http::Request;
use axum::response::Redirect;
use jungle::{Clock, CommitMeta, CommitOptions, SystemClock, TreeHandle};

use super::create::form;
use super::message::Words;
use super::sorry::Sorry;
use super::{open, place};
use crate::access::{Need, Role, Visitor};
use crate::api::Named;
use crate::problem::Problem;
use crate::query::Query;

pub(super) async fn post(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Redirect, Sorry> {
    Query::of(request.uri(), &[])?;
    let board = open(&app, &name, Need::whole(Role::Write))?;
    let words = Words::of(&app, &form(&app, request, &["author", "text"]).await?)?;
    add(&app, &board, &words).await?;
    Ok(Redirect::to(&place(&name)))
}

/// Adds a message to a board, and waits until it is as safe as it has to be.
pub(super) async fn add(app: &Visitor, board: &TreeHandle, words: &Words) -> Result<(), Problem> {
    let meta = CommitMeta::new().author(&words.author).message("a message");
    if let Some(outbox) = app.boards.outbox() {
        let kept = outbox.add(board, &meta, |tx| Ok(words.post(tx, SystemClock.now())?))?;
        return outbox.wait(kept).await;
    }
    let words = words.clone();
    app.update(board, CommitOptions::from(&meta), move |tx| Ok(words.post(tx, SystemClock.now())?))
        .await?;
    Ok(())
}
