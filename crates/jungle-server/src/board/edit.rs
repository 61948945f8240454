//! A single message: its versions, and editing it.

use askama::Template;
use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use jungle::{CommitError, CommitMeta, CommitOptions, Key, Path, TreeHandle};

use super::create::form;
use super::message::{Message, Words};
use super::sorry::{Sorry, render, written};
use super::{open, place};
use crate::access::{Need, Visitor};
use crate::api::Named;
use crate::app::{App, aside};
use crate::problem::{Kind, Problem};
use crate::query::Query;

#[derive(Template)]
#[template(path = "message.html")]
struct Page<'a> {
    has_accounts: bool,
    name: &'a str,
    place: String,
    message: Message,
    /// What is in the field.
    draft: String,
    versions: Vec<Message>,
    is_complete: bool,
    /// Why an edit was not done.
    refused: Option<&'a str>,
}

pub(super) async fn view(
    app: Visitor,
    Named((name, key)): Named<(String, String)>,
    uri: Uri,
) -> Result<Response, Sorry> {
    Query::of(&uri, &[])?;
    let path = path(&key)?;
    let board = open(&app, &name, Need::read(&path))?;
    let page = aside(move || page(&app, &board, &path, None)).await?;
    Ok(written(page))
}

fn path(key: &str) -> Result<Path, Problem> {
    let key: Key = key.parse().map_err(Problem::from)?;
    Ok(Path::root().join(key))
}

fn page(
    app: &App,
    board: &TreeHandle,
    path: &Path,
    refused: Option<&Refused>,
) -> Result<String, Problem> {
    let name = board.name();
    let message = current(board, path)?;
    let (versions, is_complete) = message.versions(board, path);
    render(&Page {
        has_accounts: app.gate.is_some(),
        name: &name,
        place: place(&name),
        draft: refused.map_or_else(|| message.text.clone(), |refused| refused.text.clone()),
        message,
        versions,
        is_complete,
        refused: refused.map(|refused| refused.why),
    })
}

fn current(board: &TreeHandle, path: &Path) -> Result<Message, Problem> {
    let snapshot = board.snapshot();
    let key = path.last().expect("a message is below the root").as_ref();
    let node = snapshot.root().at(path).ok();
    let message = node.and_then(|node| Message::of(&board.name(), key, node));
    message.ok_or_else(|| Problem::new(Kind::NoSuchNode, "there is no such message"))
}

/// An edit that was not done, with what was written.
struct Refused {
    why: &'static str,
    text: String,
}

pub(super) async fn edit(
    app: Visitor,
    Named((name, key)): Named<(String, String)>,
    request: Request<Body>,
) -> Result<Response, Sorry> {
    Query::of(request.uri(), &[])?;
    let path = path(&key)?;
    let board = open(&app, &name, Need::write(&path))?;
    let form = form(&app, request, &["author", "text", "edits"]).await?;
    let words = Words::of(&app, &form)?;
    let seen = form.parsed("edits")?.unwrap_or(0);
    let done = app.write(move |app| {
        let Err(refused) = save(&board, &path, &words, seen)? else {
            return Ok(None);
        };
        page(app, &board, &path, Some(&refused)).map(Some)
    });
    Ok(match done.await? {
        None => Redirect::to(&place(&name)).into_response(),
        Some(page) => (StatusCode::CONFLICT, written(page)).into_response(),
    })
}

/// Makes a message say something else, unless it was edited since it was `seen` to have so many
/// edits.
fn save(
    board: &TreeHandle,
    path: &Path,
    words: &Words,
    seen: i64,
) -> Result<Result<(), Refused>, Problem> {
    let refused = || Refused {
        why: "Somebody edited this message meanwhile. What you wrote is below; save it again to \
              replace what is there now.",
        text: words.text.clone(),
    };
    let message = current(board, path)?;
    let meta = CommitMeta::new().author(&words.author).message("an edited message");
    let mut tx = board.begin(CommitOptions::from(&meta));
    let edits = tx.attribute(path, "edits")?.and_then(|edits| edits.as_int()).unwrap_or(0);
    if edits != seen {
        return Ok(Err(refused()));
    }
    if message.text == words.text && message.author == words.author {
        return Ok(Ok(()));
    }
    let began_at = i64::try_from(tx.began_at().number()).unwrap_or(i64::MAX);
    words.put(&mut tx, path)?;
    tx.put_attribute(path, "edits", edits.saturating_add(1))?;
    // Where the version lies that this one replaces.
    tx.put_attribute(path, "before", began_at)?;
    match tx.commit() {
        Ok(_) => Ok(Ok(())),
        Err(CommitError::Conflict(_)) => Ok(Err(refused())),
        Err(error) => Err(error.into()),
    }
}
