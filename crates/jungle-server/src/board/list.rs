//! A page of the list of boards.

use std::sync::Arc;

use askama::Template;
use axum::http::Uri;
use axum::response::Response;

use super::pager::{Paged, Turn, paged};
use super::sorry::{Sorry, html};
use super::{limit, part, place};
use crate::access::{Need, Role, Visitor};
use crate::problem::Problem;
use crate::query::Query;

#[derive(Template)]
#[template(path = "boards.html")]
struct Page {
    has_accounts: bool,
    may_create: bool,
    boards: Vec<Board>,
    previous: Option<String>,
    next: Option<String>,
}

struct Board {
    name: Arc<str>,
    place: String,
    messages: u64,
}

/// Which boards are asked for, by their names, which are in order.
enum Which<'q> {
    First,
    Last,
    Before(&'q str),
    After(&'q str),
}

impl<'q> Which<'q> {
    fn of(query: &'q Query) -> Result<Which<'q>, Problem> {
        let given = (query.text("before")?, query.text("after")?, query.text("last")?);
        Ok(match given {
            (None, None, None) => Which::First,
            (Some(name), None, None) => Which::Before(name),
            (None, Some(name), None) => Which::After(name),
            (None, None, Some(_)) => Which::Last,
            _ => return Err(Problem::bad("at most one of before, after and last")),
        })
    }

    fn find(&self, app: &Visitor, names: &[Arc<str>], limit: usize) -> Paged<Board> {
        let (names, is_backward) = match self {
            Which::First => (names, false),
            Which::After(name) => (&names[names.partition_point(|it| **it <= **name)..], false),
            Which::Last => (names, true),
            Which::Before(name) => (&names[..names.partition_point(|it| **it < **name)], true),
        };
        let is_inner = matches!(self, Which::After(_) | Which::Before(_));
        let turn = Turn { limit, is_inner, is_backward };
        // Their names are short: many are no long page.
        let of = |name| Board::of(app, name).map(|board| (board, 0));
        let name = |name: &Arc<str>| part(name);
        match is_backward {
            false => paged(names.iter(), &turn, of, name),
            true => paged(names.iter().rev(), &turn, of, name),
        }
    }
}

impl Board {
    /// None if it is another tree, or one that was deleted meanwhile.
    fn of(app: &Visitor, name: &Arc<str>) -> Option<Board> {
        let tree = super::open(app, name, Need::whole(Role::Read)).ok()?;
        let messages = app.boards.look(&tree).ok()?.snapshot.root().child_count();
        Some(Board { name: Arc::clone(name), place: place(name), messages })
    }
}

pub(super) async fn list(app: Visitor, uri: Uri) -> Result<Response, Sorry> {
    let query = Query::of(&uri, &["before", "after", "last", "limit"])?;
    let (which, limit) = (Which::of(&query)?, limit(&query)?);
    let Paged { items: boards, before, behind } = which.find(&app, &app.names(), limit);
    let (has_accounts, may_create) = (app.gate.is_some(), app.creates());
    Ok(html(&Page { has_accounts, may_create, boards, previous: before, next: behind })?)
}
