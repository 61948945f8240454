//! Documents: subtrees as JSON, streamed out and in.

use std::error::Error;
use std::io::{BufReader, ErrorKind};

use axum::body::Body;
use axum::http::header::HeaderMap;
use axum::http::{Request, Uri};
use axum::response::Response;
use jungle::json::{
    ExportOptions, ImportError, ImportOptions, ImportSummary, Layout, Limits as JsonLimits,
};
use jungle::{CommitError, CommitOptions, Path, Revision, TreeHandle};
use serde_json::json;

use super::{Named, written};
use crate::access::{Need, Visitor, Whose};
use crate::app::aside_with;
use crate::body::{self, Incoming, Outgoing};
use crate::places::{NoPlace, Place};
use crate::problem::{Kind, Problem};
use crate::query::Query;
use crate::tag::{changed, check, expected};

pub(crate) async fn export(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["path", "branch", "at", "layout"])?;
    let path = query.path()?;
    let layout =
        [Layout::Compact, Layout::Pretty][query.one_of("layout", &["compact", "pretty"])?];
    let found = app.version(&name, &query, &path)?;
    let revision = found.snapshot.revision();
    found.snapshot.root().at(&path)?;
    if let Some(unchanged) = app.mark.unchanged(&headers, revision) {
        return Ok(unchanged);
    }
    let place = place(&app)?;
    let (mut out, body) = Outgoing::new(&app.options.limits);
    let watched = app.clone();
    tokio::task::spawn_blocking(move || {
        let _watched = watched.metrics.panics.on_unwind();
        let options = ExportOptions { layout };
        let written = jungle::loading(|| {
            let node = found.snapshot.root().at(&path)?;
            jungle::json::export(node, &mut out, &options)?;
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
    Ok(app.mark.show(revision, written(body)))
}

/// Exports and imports take a thread each for as long as the client likes, so there are only so
/// many, and each has a quarter of them at most.
fn place(app: &Visitor) -> Result<Place<Whose>, Problem> {
    let all = app.options.limits.documents_max;
    let (whose, of_one) = match app.whose() {
        Some(whose) => (whose, all.div_ceil(4)),
        None => (Whose::Address(None), all),
    };
    app.documents.take(whose, of_one).map_err(|none| {
        let whose = match none {
            NoPlace::AtAll => format!("{all} exports and imports"),
            NoPlace::OfIts => format!("{of_one} of your exports and imports"),
        };
        Problem::new(Kind::TooMany, format_args!("{whose} are under way")).hint("try again later")
    })
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
    body::must_be(request.headers(), "application/json")?;
    let expected = expected(request.headers())?;
    let place = place(&app)?;
    let limits = app.options.limits.clone();
    let (head, body) = request.into_parts();
    let body = Incoming::new(body, &limits);
    let options = ImportOptions {
        limits: JsonLimits { bytes_max: limits.document_bytes_max, ..JsonLimits::default() },
        ..ImportOptions::default()
    };
    let commit = CommitOptions { meta, ..CommitOptions::default() };
    let visitor = app.clone();
    let at = path.clone();
    // It may have come for hours.
    let may = move || visitor.asked_again(&head.headers)?.check(&name, Need::write(&at));
    let import = move || read(&tree, &path, expected, (body, &options), commit, may);
    let done = aside_with(place, import);
    let (revision, is_changed, summary) = done.await?;
    let answer = json!({
        "revision": revision.number(),
        "changed": is_changed,
        "bytes": summary.bytes,
        "nodes": summary.nodes,
        "edits": summary.edits,
    });
    Ok(app.mark.show(revision, written(answer.to_string())))
}

fn read(
    tree: &TreeHandle,
    path: &Path,
    expected: Option<Revision>,
    (body, options): (Incoming, &ImportOptions),
    commit: CommitOptions,
    may: impl FnOnce() -> Result<(), Problem>,
) -> Result<(Revision, bool, ImportSummary), Problem> {
    let mut tx = tree.begin(commit);
    check(expected, tx.began_at())?;
    let body = BufReader::with_capacity(64 << 10, body);
    let summary = tx
        .bulk(|editor| jungle::json::import(body, editor, path, options, &mut |_| ()))
        .map_err(not_read)?;
    may()?;
    let is_changed = tx.is_changed();
    let committed = tx.commit().map_err(|error| match error {
        CommitError::Conflict(_) if expected.is_some() => changed(tree.snapshot().revision()),
        CommitError::Conflict(_) => {
            let detail = "others committed while the document came";
            Problem::new(Kind::Conflict, detail).hint("send it again")
        }
        error => error.into(),
    })?;
    Ok((committed.revision, is_changed, summary))
}

/// What went wrong with a body is told by the kind of the error that reading it gave.
fn not_read(error: ImportError) -> Problem {
    let ImportError::Read(cause) = &error else {
        return error.into();
    };
    match cause.kind() {
        ErrorKind::TimedOut => Problem::new(Kind::TimedOut, "the document came too slowly"),
        ErrorKind::FileTooLarge => Problem::new(Kind::TooLarge, "the document is too large"),
        _ => Problem::bad("the body ended early or is not what HTTP says"),
    }
}
