//! A page of a board's messages.

use askama::Template;
use axum::http::Uri;
use axum::http::header::HeaderMap;
use axum::response::Response;
use jungle::{Key, Node, Snapshot};

use super::cache::View;
use super::level::Shown;
use super::message::{Message, characters_max};
use super::pager::{Paged, Turn, paged};
use super::sorry::{Sorry, render, written};
use super::{limit, open, part, place};
use crate::access::{Need, Role, Visitor};
use crate::api::Named;
use crate::api::seen::Seen;
use crate::app::App;
use crate::etag::Of;
use crate::problem::Problem;
use crate::query::Query;

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    /// Is it known who writes?
    has_accounts: bool,
    may_post: bool,
    characters_max: usize,
    name: &'a str,
    place: String,
    watch: String,
    total: u64,
    messages: Vec<Message>,
    newer: Option<String>,
    older: Option<String>,
}

/// Which messages are asked for.
enum Which {
    Newest,
    Oldest,
    /// Those that are older than one.
    Before(Key),
    /// Those that are newer than one.
    After(Key),
}

impl Which {
    fn of(query: &Query) -> Result<Which, Problem> {
        let given = ["before", "after", "first"].map(|name| query.long_text(name));
        Ok(match given {
            [None, None, None] => Which::Newest,
            [Some(_), None, None] => Which::Before(query.parsed("before")?.expect("given")),
            [None, Some(_), None] => Which::After(query.parsed("after")?.expect("given")),
            [None, None, Some(_)] => Which::Oldest,
            _ => return Err(Problem::bad("at most one of before, after and first")),
        })
    }

    /// The newest first.
    fn find(&self, of_board: (&str, usize), root: Node<'_>, limit: usize) -> Paged<Message> {
        let (children, skipped, is_backward) = match self {
            Which::Newest => (root.children_backward(), None, false),
            Which::Before(key) => (root.children_backward_from(key), Some(key), false),
            Which::Oldest => (root.children(), None, true),
            Which::After(key) => (root.children_from(key), Some(key), true),
        };
        let skipped = skipped.map(Key::as_ref);
        let turn = Turn { limit, is_inner: skipped.is_some(), is_backward };
        let children = children.skip_while(|(key, _)| skipped == Some(*key));
        let of = |(key, node)| {
            let message = Message::of(of_board, key, node)?;
            let bytes = message.bytes();
            Some((message, bytes))
        };
        paged(children, &turn, of, |(key, _)| part(&key.to_string()))
    }
}

pub(super) async fn view(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Sorry> {
    let board = open(&app, &name, Need::whole(Role::Read))?;
    let Shown { snapshot, edition } = app.boards.look(&board)?;
    let may_post = app.may(&name, Need::whole(Role::Write));
    let of_readers = if may_post { "" } else { ".read" };
    let tag = format_args!("{edition}{of_readers}");
    let tag = Of(board.branch_id(), tag);
    if let Some(unchanged) = app.mark.unchanged(&headers, tag) {
        return Ok(unchanged);
    }
    let text = uri.query().unwrap_or_default();
    let make = || {
        let query = Query::parse(text, &["before", "after", "first", "limit"])?;
        let seen = match app.boards.outbox() {
            Some(_) => edition.to_string(),
            None => Seen::up_to(&board, snapshot.revision())?.to_string(),
        };
        page(&app, &name, (&snapshot, &seen), may_post, &query)
    };
    let view = View { board: board.branch_id(), name: name.as_str().into(), may_post };
    let page = app.pages.page((view, text), edition, make)?;
    Ok(app.mark.show(tag, written(page)))
}

fn page(
    app: &App,
    name: &str,
    (snapshot, seen): (&Snapshot, &str),
    may_post: bool,
    query: &Query,
) -> Result<String, Problem> {
    let limit = limit(query)?;
    let (root, bytes_max) = (snapshot.root(), app.options.limits.board_message_bytes_max);
    let Paged { items: messages, before: newer, behind: older } =
        Which::of(query)?.find((name, bytes_max), root, limit);
    let watch = if app.boards.outbox().is_some() { "local" } else { "watch" };
    render(&Page {
        has_accounts: app.gate.is_some(),
        may_post,
        characters_max: characters_max(app),
        name,
        place: place(name),
        watch: format!("/api/v1/trees/{}/{watch}?after={seen}", part(name)),
        total: root.child_count(),
        messages,
        newer,
        older,
    })
}
