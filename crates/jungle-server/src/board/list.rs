//! A page of the list of boards.

use std::sync::Arc;

use askama::Template;
use axum::http::Uri;
use axum::response::Response;

use super::sorry::{Sorry, html};
use super::{limit, part, place};
use crate::access::{Need, Role, Visitor};
use crate::problem::Problem;
use crate::query::Query;

#[derive(Template)]
#[template(path = "boards.html")]
struct Page {
    has_accounts: bool,
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

    /// The boards, and whether there are some before and behind them. Trees are looked at until
    /// there are enough.
    fn find(&self, app: &Visitor, names: &[Arc<str>], limit: usize) -> (Vec<Board>, bool, bool) {
        let (names, is_backward) = match self {
            Which::First => (names, false),
            Which::After(name) => (&names[names.partition_point(|it| **it <= **name)..], false),
            Which::Last => (names, true),
            Which::Before(name) => (&names[..names.partition_point(|it| **it < **name)], true),
        };
        let is_inner = matches!(self, Which::After(_) | Which::Before(_));
        let board = |name: &Arc<str>| Board::of(app, name);
        let mut boards: Vec<Board> = match is_backward {
            false => names.iter().filter_map(board).take(limit + 1).collect(),
            true => names.iter().rev().filter_map(board).take(limit + 1).collect(),
        };
        let has_more = boards.len() > limit;
        boards.truncate(limit);
        if is_backward {
            boards.reverse();
            return (boards, has_more, is_inner);
        }
        (boards, is_inner, has_more)
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
    let (boards, has_previous, has_next) = which.find(&app, &app.names(), limit);
    let name = |board: Option<&Board>| board.map(|board| part(&board.name));
    let previous = name(boards.first()).filter(|_| has_previous);
    let next = name(boards.last()).filter(|_| has_next);
    Ok(html(&Page { has_accounts: app.gate.is_some(), boards, previous, next })?)
}
