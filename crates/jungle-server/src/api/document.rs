//! Documents: subtrees as JSON or in other forms, streamed out and in, and histories, out only.

use std::error::Error;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use axum::body::Body;
use axum::http::header::HeaderMap;
use axum::http::{Request, Uri};
use axum::response::Response;
use jungle::json::{
    ExportOptions, ImportError, ImportOptions, ImportSummary, Limits as JsonLimits, Member,
};
use jungle::{CommitError, CommitOptions, Path, Revision, TreeHandle};
use jungle_formats::{ReadForm, WriteForm, fits, ndjson, wrong};
use jungle_words::Found;
use serde_json::json;

use super::form::{Asked, Form, read_as};
use super::repeat::{Keyed, once};
use super::{Named, written};
use crate::access::{Need, Visitor, Whose, share};
use crate::app::{aside, aside_with};
use crate::body::{Incoming, Outgoing};
use crate::etag::{Expected, Of, changed, check, expected};
use crate::limits::Limits;
use crate::limits::places::Place;
use crate::once::Answer;
use crate::problem::{Kind, Problem};
use crate::query::Query;

/// An import may be compared for so many steps more for each edit that it has made: about as many
/// as it takes to find one again ten levels down.
const STEPS_OF_EDIT: u64 = 16;

pub(crate) async fn export(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["path", "branch", "at", "format", "layout"])?;
    let path = query.path()?;
    let asked = Asked::of(&query)?;
    let is_history = matches!(asked.form, Form::Ndjson);
    if is_history && !path.is_empty() {
        let problem = Problem::bad("all revisions are of the whole tree, and path is a part");
        return Err(problem.hint("other forms have a part of one revision"));
    }
    let found = app.version(&name, &query, &path).await?;
    let revision = found.snapshot.revision();
    let version = Of(found.tree.branch_id(), revision);
    found.snapshot.root().at(&path)?;
    // Tags come and go without a revision.
    if !is_history && let Some(unchanged) = app.mark.unchanged(&headers, version) {
        return Ok(unchanged);
    }
    let body = match asked.form {
        Form::Json(layout) => sent(&app, move |out| {
            let node = found.snapshot.root().at(&path)?;
            Ok(jungle::json::export(node, out, &ExportOptions { layout })?)
        })?,
        Form::Ndjson => {
            let body = sent(&app, move |out| Ok(ndjson::write(&found.tree, revision, out)?))?;
            return Ok(asked.answer(body));
        }
        Form::Other(form) => fitting(&app, form, found, path).await?,
    };
    Ok(app.mark.show(version, asked.answer(body)))
}

/// What is there in a form, which is known to have a place for it before the head is sent: it could
/// only break off then.
async fn fitting(
    app: &Visitor,
    form: WriteForm,
    found: Found,
    path: Path,
) -> Result<Body, Problem> {
    let place = place(app)?;
    let (place, found, path) = aside(move || {
        fits(form, Member::Node(found.snapshot.root().at(&path)?), &path)?;
        Ok((place, found, path))
    })
    .await?;
    Ok(sent_in(place, app, move |out| {
        let node = found.snapshot.root().at(&path)?;
        Ok(jungle_formats::write(form, Member::Node(node), &path, out)?)
    }))
}

/// What is written there, as the body of an answer, in one of the places for documents.
pub(super) fn sent(
    app: &Visitor,
    write: impl FnOnce(&mut Outgoing) -> Result<(), Box<dyn Error>> + Send + 'static,
) -> Result<Body, Problem> {
    Ok(sent_in(place(app)?, app, write))
}

/// The same, in a place that is taken.
pub(super) fn sent_in(
    place: Place<Whose>,
    app: &Visitor,
    write: impl FnOnce(&mut Outgoing) -> Result<(), Box<dyn Error>> + Send + 'static,
) -> Body {
    let (mut out, body) = Outgoing::new(&app.options.limits, app.who());
    let watched = app.clone();
    tokio::task::spawn_blocking(move || {
        let _watched = watched.metrics.panics.on_unwind();
        let written = jungle::loading(|| {
            write(&mut out)?;
            Ok::<(), Box<dyn Error>>(out.finish()?)
        });
        // The head was sent long ago: an answer that breaks off is all that a client can be told.
        match written {
            Err(error) => tracing::error!(%error, "an export broke off"),
            Ok(Err(error)) => tracing::debug!(%error, "an export broke off"),
            Ok(Ok(())) => {}
        }
        drop(place);
    });
    body
}

/// Exports and imports take a thread each for as long as the client likes.
pub(super) fn place(app: &Visitor) -> Result<Place<Whose>, Problem> {
    share(&app.documents, app.whose(), "exports and imports")
}

pub(crate) async fn import(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["path", "branch", "author", "message"])?;
    let path = query.path()?;
    let tree = app.branch(&name, &query, Need::write(&path))?;
    let meta = app.meta(query.text("author")?, query.long_text("message"))?;
    let (media, form) = read_as(request.headers())?;
    let expected = expected(&app, request.headers())?;
    let said = request.uri().query().unwrap_or_default();
    let keyed = Keyed::of(request.headers(), expected)?;
    // That it is JSON is not said: it was all that there was, and answers to it outlast the server.
    let media = form.map_or_else(String::new, |_| format!("{media}\n"));
    let keyed = keyed.map(|keyed| keyed.and(format!("{said}\n{media}").as_bytes()));
    let place = place(&app)?;
    let limits = app.options.limits.clone();
    let (head, body) = request.into_parts();
    let body = Incoming::new(body, &limits);
    let options = within(&limits);
    let commit = CommitOptions { meta, ..CommitOptions::default() };
    // It may have come for hours.
    let may = {
        let (visitor, path, tree) = (app.clone(), path.clone(), tree.clone());
        // By the name that the tree has by then: there may be other rules for that.
        move || visitor.asked_again(&head.headers)?.check(&tree.name(), Need::write(&path))
    };
    let branch = tree.branch_id();
    let import = Import { tree, path, form, expected, keyed, commit };
    let visitor = app.clone();
    let answer = aside_with(place, move || import.read(&visitor, (body, &options), may)).await?;
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

/// How a document is read here.
pub(super) fn within(limits: &Limits) -> ImportOptions {
    ImportOptions {
        limits: JsonLimits {
            bytes_max: limits.document_bytes_max,
            value_bytes_max: limits.value_bytes_max.min(jungle::VALUE_BYTES_MAX),
            ..JsonLimits::default()
        },
        ..ImportOptions::default()
    }
}

/// The JSON that stands for a document of this form, to be read.
pub(super) fn as_json<'r>(
    form: Option<ReadForm>,
    document: impl BufRead + 'r,
    options: &ImportOptions,
) -> Box<dyn Read + 'r> {
    match form {
        None => Box::new(document),
        // Deeper by one, so that it is the import that refuses what is too deep.
        Some(form) => jungle_formats::json(form, document, options.limits.depth_max + 1),
    }
}

struct Import {
    tree: TreeHandle,
    path: Path,
    /// Where it is not JSON.
    form: Option<ReadForm>,
    expected: Option<Expected>,
    keyed: Option<Keyed>,
    commit: CommitOptions,
}

impl Import {
    fn read(
        self,
        app: &Visitor,
        (body, options): (Incoming, &ImportOptions),
        may: impl FnOnce() -> Result<(), Problem>,
    ) -> Result<Answer, Problem> {
        let Import { tree, path, form, expected, keyed, commit } = self;
        let mut tx = tree.begin(commit.clone());
        tx.keys_max(app.keys_max());
        if keyed.is_none() {
            check(expected, Of(tree.branch_id(), tx.began_at()))?;
        }
        let mut body = Heard { body, keyed, bytes: 0, failed: None };
        let json = as_json(form, BufReader::with_capacity(64 << 10, &mut body), options);
        let read =
            tx.bulk(|editor| jungle::json::import(json, editor, &path, options, &mut |_| ()));
        let summary = match read {
            Ok(summary) => Ok(summary),
            // What the tree refuses now may have been done before. Which request it is, is known
            // when all of it has come.
            Err(error @ (ImportError::NoSuchNode(_) | ImportError::Edit { .. }))
                if body.keyed.is_some() =>
            {
                io::copy(&mut body, &mut io::sink())
                    .map_err(|cause| not_read(ImportError::Read(cause), form, body.failed))?;
                Err(not_read(error, form, None).full(&tree.name()))
            }
            Err(error) => {
                return Err(not_read(error, form, body.failed).full(&tree.name()));
            }
        };
        let bytes = body.bytes;
        may()?;
        once(app, &[&tree], body.keyed, commit, |options| {
            let summary = summary?;
            check(expected, Of(tree.branch_id(), tx.began_at()))?;
            if let Some(request) = options.meta.request() {
                tx.asked_by(request);
            }
            // It has gone through what came and what is gone: that is not too much by itself.
            let own = summary.edits.saturating_mul(STEPS_OF_EDIT);
            tx.steps_max(app.steps_max().saturating_add(own));
            let is_changed = tx.is_changed();
            let committed = tx.commit().map_err(|error| refused(error, &tree, expected))?;
            Ok(answer(committed.revision, is_changed, bytes, &summary))
        })
    }
}

/// A body that is heard as it is read, where there is a key: it is known then what was said.
struct Heard {
    body: Incoming,
    keyed: Option<Keyed>,
    /// How many were read.
    bytes: u64,
    /// Why it could not be read further: what translates it passes on words only.
    failed: Option<ErrorKind>,
}

impl Read for Heard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer);
        let bytes = read.inspect_err(|error| self.failed = Some(error.kind()))?;
        self.bytes += bytes as u64;
        if let Some(keyed) = &mut self.keyed {
            keyed.hear(&buffer[..bytes]);
        }
        Ok(bytes)
    }
}

fn answer(revision: Revision, is_changed: bool, bytes: u64, summary: &ImportSummary) -> Answer {
    let body = json!({
        "revision": revision.number(),
        "changed": is_changed,
        "bytes": bytes,
        "nodes": summary.nodes,
        "edits": summary.edits,
    });
    Answer { revision, body: body.to_string().into() }
}

fn refused(error: CommitError, tree: &TreeHandle, expected: Option<Expected>) -> Problem {
    match error {
        CommitError::Conflict(_) if expected.is_some() => changed(tree.snapshot().revision()),
        CommitError::Conflict(_) => {
            let detail = "others committed while the document came";
            Problem::new(Kind::Conflict, detail).hint("send it again")
        }
        error => error.into(),
    }
}

/// What went wrong with a body is told by the kind of the error that reading it gave, if it did.
pub(super) fn not_read(
    error: ImportError,
    form: Option<ReadForm>,
    failed: Option<ErrorKind>,
) -> Problem {
    let (kind, detail) = match failed {
        Some(ErrorKind::TimedOut) => (Kind::TimedOut, "the document came too slowly"),
        Some(ErrorKind::FileTooLarge) => (Kind::TooLarge, "the document is too large"),
        Some(_) => (Kind::BadRequest, "the body ended early or is not what HTTP says"),
        None if form.is_some() => return not_translated(error),
        None => return error.into(),
    };
    Problem::new(kind, detail)
}

/// What translates a document has its places; those of the import are places in the JSON.
fn not_translated(error: ImportError) -> Problem {
    let detail = wrong(&error).to_string();
    let is_too_much = |cause: &io::Error| cause.kind() == ErrorKind::FileTooLarge;
    match error {
        ImportError::Read(cause) if is_too_much(&cause) => {
            let hint = "send it as JSON, of which less has to be held, or what is large in parts";
            Problem::new(Kind::TooLarge, detail).hint(hint)
        }
        // It has no place, and says what to do.
        ImportError::Edit { source, .. } => source.into(),
        error => Problem::new(Problem::from(error).kind(), detail),
    }
}
