//! The bulletin board: a board is a tree, a message is a child of its root.
//!
//! Pages are whole without script; with it, new messages come by themselves. A page follows from
//! the board's name and a revision alone, so it is kept by the server as long as the revision is
//! the newest, and browsers ask for it with its `ETag`. Where messages are posted at level local,
//! it follows from the newest entry of the outbox, too.

mod assets;
mod bench;
mod cache;
mod create;
mod edit;
mod embed;
mod level;
mod list;
mod message;
mod pager;
mod post;
mod sorry;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use jungle::TreeHandle;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::access::{Need, Role, Visitor};
use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::query::Query;

pub(crate) use cache::Cache;
pub(crate) use create::form_within;
pub use embed::{Board, BoardError};
pub(crate) use level::Level;
pub(crate) use sorry::{Sorry, html};

/// The attribute of a root that makes a tree a board.
const BOARD: &str = "board";

/// Messages or boards on a page, if nothing else is said.
const PAGE: usize = 50;

/// On a page at most.
const PAGE_MAX: usize = 200;

/// Children or trees that are looked at for a page. Where so many are no messages or boards, the
/// page ends there, and the next one goes on.
const VISITS_MAX: usize = 10_000;

/// What needs no escape in a part of an address.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/boards") }))
        .route("/boards", get(list::list).post(create::create))
        .route("/boards/{board}", get(view::view).post(post::post))
        .route("/boards/{board}/{key}", get(edit::view).post(edit::edit))
        .route("/assets/{name}", get(assets::asset))
}

/// For load tools, which only know `GET`.
pub(crate) fn bench_routes() -> Router<Arc<App>> {
    Router::new().route("/bench/hello", get(bench::hello)).route("/bench/post", get(bench::post))
}

/// The board of this name. A tree that is none is not told from one that is not there; nor is one
/// that may not be read.
fn open(app: &Visitor, name: &str, need: Need<'_>) -> Result<TreeHandle, Problem> {
    let none = || Problem::new(Kind::NoSuchTree, format_args!("there is no board {name:?}"));
    let tree = app.tree(name, Need::whole(Role::Read)).map_err(|why| why.instead(none()))?;
    if tree.read().root().attribute(BOARD).is_none() {
        return Err(none());
    }
    app.check(name, need)?;
    Ok(tree)
}

/// How much is on a page.
fn limit(query: &Query) -> Result<usize, Problem> {
    match query.parsed("limit")?.unwrap_or(PAGE) {
        limit @ 1..=PAGE_MAX => Ok(limit),
        _ => Err(Problem::bad(format_args!("limit is from 1 to {PAGE_MAX}"))),
    }
}

/// The address of a board.
fn place(board: &str) -> String {
    format!("/boards/{}", part(board))
}

/// A name as a part of an address.
fn part(name: &str) -> String {
    utf8_percent_encode(name, PART).to_string()
}
