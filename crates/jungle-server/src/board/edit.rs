//! A single message: its versions, and editing it.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use jungle::{
    Clock, CommitError, CommitMeta, CommitOptions, Draft, Key, Node, Path, Revision, Snapshot,
    SystemClock, TreeHandle, ValueRef,
};

use super::create::form;
use super::level::Outbox;
use super::message::{Message, Words, characters_max};
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
    may_edit: bool,
    characters_max: usize,
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
    let message = current(&app, &app.boards.look(&board)?.snapshot, &name, &path)?;
    let visitor = app.clone();
    let page = move || page(&visitor, &board, &path, None);
    // Each version is in a revision of its own, which may have to be read from the folder.
    let page = if message.has_versions() { app.in_line(page).await? } else { aside(page).await? };
    Ok(written(page))
}

fn path(key: &str) -> Result<Path, Problem> {
    let key: Key = key.parse().map_err(Problem::from)?;
    Ok(Path::root().join(key))
}

fn page(
    app: &Visitor,
    board: &TreeHandle,
    path: &Path,
    draft: Option<&str>,
) -> Result<String, Problem> {
    let name = board.name();
    let message = current(app, &app.boards.look(board)?.snapshot, &name, path)?;
    let bytes_max = app.options.limits.board_message_bytes_max;
    let (versions, is_complete) = message.versions(board, path, bytes_max);
    // Whoever saved a part would lose the rest.
    let is_editable = draft.is_some() || message.whole.is_none();
    render(&Page {
        has_accounts: app.gate.is_some(),
        may_edit: is_editable && app.may(&name, Need::write(path)),
        characters_max: characters_max(app),
        name: &name,
        place: place(&name),
        draft: draft.unwrap_or(&message.text).to_owned(),
        message,
        versions,
        is_complete,
        refused: draft.map(|_| REFUSED),
    })
}

fn current(app: &App, snapshot: &Snapshot, board: &str, path: &Path) -> Result<Message, Problem> {
    let bytes_max = app.options.limits.board_message_bytes_max;
    let key = path.last().expect("a message is below the root").as_ref();
    let node = snapshot.root().at(path).ok();
    let message = node.and_then(|node| Message::of((board, bytes_max), key, node));
    message.ok_or_else(|| Problem::new(Kind::NoSuchNode, "there is no such message"))
}

/// An edit that was not done.
struct Refused;

const REFUSED: &str = "Somebody edited this message meanwhile. What you wrote is below; save it \
                       again to replace what is there now.";

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
    let edit = Arc::new(Edit { board, path, words, seen });
    let saved = match app.boards.outbox() {
        Some(outbox) => {
            let (saved, kept) = edit.keep(&app, outbox)?;
            outbox.wait(kept).await?;
            saved
        }
        None => {
            let edit = Arc::clone(&edit);
            app.write(move |app| edit.commit(app)).await?
        }
    };
    if saved.is_ok() {
        return Ok(Redirect::to(&place(&name)).into_response());
    }
    let page = move || page(&app, &edit.board, &edit.path, Some(&edit.words.text));
    Ok((StatusCode::CONFLICT, written(aside(page).await?)).into_response())
}

/// Makes a message say something else, unless it was edited since it was `seen` to have so many
/// edits.
struct Edit {
    board: TreeHandle,
    path: Path,
    words: Words,
    seen: i64,
}

impl Edit {
    fn meta(&self) -> CommitMeta {
        CommitMeta::new().author(&self.words.author).message("an edited message")
    }

    /// At level quorum.
    fn commit(&self, app: &App) -> Result<Result<(), Refused>, Problem> {
        current(app, &app.boards.look(&self.board)?.snapshot, &self.board.name(), &self.path)?;
        let mut tx = self.board.begin(CommitOptions::from(&self.meta()));
        let began_at = tx.began_at();
        if self.rewrite(&mut tx, Some(began_at))?.is_err() {
            return Ok(Err(Refused));
        }
        match tx.commit() {
            Ok(_) => Ok(Ok(())),
            Err(CommitError::Conflict(_)) => Ok(Err(Refused)),
            Err(error) => Err(error.into()),
        }
    }

    /// At level local; it is to be waited for.
    fn keep(&self, app: &App, outbox: &Outbox) -> Result<(Result<(), Refused>, Revision), Problem> {
        let shown = app.boards.look(&self.board)?.snapshot;
        let revision = shown.revision();
        current(app, &shown, &self.board.name(), &self.path)?;
        // A version that has no place yet has no revision either: it is not found again.
        let edits = |root: Node<'_>| {
            let node = root.at(&self.path).ok()?;
            Some(node.attribute("edits").and_then(ValueRef::as_int).unwrap_or(0))
        };
        let is_placed = |tree: &Snapshot| edits(tree.root()) == Some(self.seen);
        let before = self.board.at(revision).is_ok_and(|tree| is_placed(&tree)).then_some(revision);
        outbox.edit(&self.board, &self.meta(), |draft| self.rewrite(draft, before))
    }

    /// The version that this one replaces is found at revision `before`.
    fn rewrite(
        &self,
        draft: &mut Draft,
        before: Option<Revision>,
    ) -> Result<Result<(), Refused>, Problem> {
        let Edit { path, words, seen, .. } = self;
        let edits = draft.attribute(path, "edits")?.and_then(ValueRef::as_int).unwrap_or(0);
        if edits != *seen {
            return Ok(Err(Refused));
        }
        let says = draft.attribute(path, "text")?.and_then(ValueRef::as_text);
        if says == Some(&words.text) {
            return Ok(Ok(()));
        }
        words.replace(draft, path, (edits, before), SystemClock.now())?;
        Ok(Ok(()))
    }
}
