//! Level `local` of a cluster: commits that are done on this server at once, and get their places
//! later.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jungle::{CommitOptions, Durability, Path};
use jungle_cluster::{Local, LocalError, LocalId, LocalOutcome, Refused};
use serde_json::{Value, json};

use super::commit::{Batch, renamed};
use super::document;
use super::edit::Edits;
use super::form::read_as;
use super::revert::Wanted;
use super::status::of_all;
use super::{Named, json};
use crate::access::{Need, Role, Visitor};
use crate::app::aside;
use crate::body;
use crate::problem::{Kind, Problem};
use crate::query::Query;

pub(crate) async fn commit(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["branch"])?;
    let branch = app.branch(&name, &query, Need::part(Role::Write))?;
    let local = outbox(&app)?;
    body::must_be(request.headers(), "application/json")?;
    let body = body::whole(request, &app.options.limits).await?;
    kept(&app, move |app| {
        let batch: Batch = body::json(&body)?;
        let options = CommitOptions { durability: batch.durability(), ..batch.options(app)? };
        let edits = Edits { batch: &batch.edits, app, tree: &branch.name() };
        let kept = local.update(&branch, &options, |draft| edits.apply(draft))?;
        let created = kept.value.iter().map(|made| made.as_ref().map(Path::to_string));
        let mut told = of_entry(kept.id);
        told["created"] = created.collect::<Vec<_>>().into();
        Ok(told)
    })
    .await
}

/// Imports a document. All of it is there before anybody is kept out: as an entry it may not be
/// long anyhow, and nor may the JSON that it stands for.
pub(crate) async fn import(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["path", "branch", "author", "message"])?;
    let path = query.path()?;
    let branch = app.branch(&name, &query, Need::write(&path))?;
    let meta = app.meta(query.text("author")?, query.long_text("message"))?;
    let local = outbox(&app)?;
    let (_, form) = read_as(request.headers())?;
    let body = body::whole(request, &app.options.limits).await?;
    kept(&app, move |app| {
        let mut options = document::within(&app.options.limits);
        options.limits.bytes_max = app.options.limits.body_bytes_max as u64;
        let kept = local.update(&branch, &CommitOptions::from(&meta), |draft| {
            draft.keys_max(app.keys_max());
            draft.bulk(|editor| {
                let json = document::as_json(form, &body[..], &options);
                let read = jungle::json::import(json, editor, &path, &options, &mut |_| ());
                read.map_err(|error| document::not_read(error, form, None).full(&branch.name()))
            })
        });
        Ok(of_entry(kept?.id))
    })
    .await
}

/// Takes back a revision, or goes back to one, on top of all that was done on this server.
pub(crate) async fn revert(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    let tree = app.tree(&name, Need::whole(Role::Write))?;
    let local = outbox(&app)?;
    let wanted: Wanted = body::asked(request, &app.options.limits).await?;
    let (branch, meta) = (wanted.branch(tree)?, wanted.meta(&app)?);
    let revision = wanted.revision_alone()?;
    let told = app.in_line_to_commit(move |turn| {
        let kept = turn.compare(|| {
            // While an entry is settled what is shown may be older than what is there: nothing of a
            // revision that is not in it can be taken back from it.
            if branch.at(revision).is_ok() && local.snapshot(&branch)?.revision() < revision {
                let detail = "what was committed here is not on top of that revision yet";
                return Err(Problem::new(Kind::Conflict, detail).hint("send it again in a moment"));
            }
            // The disk is waited for without a turn.
            let durability = Some(Durability::Memory);
            let options = CommitOptions { durability, ..CommitOptions::from(&meta) };
            let kept = local.update(&branch, &options, |draft| {
                wanted.apply(&branch, draft, revision).map_err(Problem::from)
            });
            Ok(kept?)
        })?;
        local.wait_until(kept.revision, local.durability()).map_err(LocalError::Outbox)?;
        let mut told = of_entry(kept.id);
        told["renamed"] = renamed(&kept.value).into();
        Ok(told)
    });
    Ok(published(&app, &told.await?))
}

/// Keeps something in the outbox, and has it published.
async fn kept(
    app: &Visitor,
    f: impl FnOnce(&Visitor) -> Result<Value, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    Ok(published(app, &app.write(f).await?))
}

/// Has what was kept published, and tells of it.
fn published(app: &Visitor, told: &Value) -> Response {
    if let Some(outbox) = app.boards.outbox() {
        outbox.tell();
    }
    (StatusCode::ACCEPTED, json(told)).into_response()
}

fn of_entry(id: Option<LocalId>) -> Value {
    json!({"entry": id.map(|id| id.to_string())})
}

/// How the outbox stands, and what was refused.
pub(crate) async fn list(app: Visitor, uri: Uri) -> Result<Response, Problem> {
    of_all(&app, "the outbox is")?;
    Query::of(&uri, &[])?;
    let (local, visitor) = (outbox(&app)?, app.clone());
    let told = aside(move || {
        let refused = local.refused()?;
        let status = local.status();
        Ok(json!({
            "writer": status.writer,
            "pending": status.pending,
            "oldest": status.oldest.map(jungle_words::time::text),
            "error": status.error.map(|error| error.to_string()),
            "refused": refused.iter().map(|refused| tell(&visitor, refused)).collect::<Vec<_>>(),
        }))
    });
    Ok(json(&told.await?))
}

/// What became of an entry, of any server.
pub(crate) async fn show(
    app: Visitor,
    Named(entry): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    of_all(&app, "the outbox is")?;
    Query::of(&uri, &[])?;
    let (local, id, visitor) = (outbox(&app)?, id(&entry)?, app.clone());
    let told = aside(move || {
        let outcome = local.outcome(id)?;
        let mut told = json!({"entry": id.to_string(), "outcome": word(outcome)});
        if outcome == LocalOutcome::Refused
            && let Some(refused) = local.refused()?.iter().find(|refused| refused.id == id)
        {
            told["refused"] = tell(&visitor, refused);
            told["changes"] = refused.edit.changes.to_string().into();
        }
        Ok(told)
    });
    Ok(json(&told.await?))
}

/// Forgets a refused entry.
pub(crate) async fn forget(
    app: Visitor,
    Named(entry): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    of_all(&app, "the outbox is")?;
    Query::of(&uri, &[])?;
    let (local, id) = (outbox(&app)?, id(&entry)?);
    app.write(move |app| {
        let all = local.refused()?;
        let refused = all.iter().find(|refused| refused.id == id).ok_or_else(|| {
            Problem::new(Kind::NoSuchAddress, format_args!("no entry {id} was refused here"))
        })?;
        match name_of(app, refused) {
            Some(tree) => app.check(&tree, Need::whole(Role::Admin))?,
            None => app.administer_trees("entries of trees that are no more are forgotten by")?,
        }
        Ok(local.forget(id)?)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn outbox(app: &Visitor) -> Result<Arc<Local>, Problem> {
    let local = app.cluster.as_ref().and_then(|cluster| cluster.opened_local());
    local.cloned().ok_or_else(|| {
        Problem::new(Kind::NoSuchAddress, "this server commits nothing by itself")
            .hint("start it with `jungle serve --cluster ADDRESSES --local`")
    })
}

fn id(text: &str) -> Result<LocalId, Problem> {
    text.parse().map_err(|error| Problem::bad(format_args!("{text:?}: {error}")))
}

fn word(outcome: LocalOutcome) -> &'static str {
    match outcome {
        LocalOutcome::Refused => "refused",
        LocalOutcome::Settled => "settled",
        LocalOutcome::Unknown => "unknown",
        _ => "pending",
    }
}

fn name_of(app: &Visitor, refused: &Refused) -> Option<Arc<str>> {
    let edit = &refused.edit;
    Some(app.everything()?.branch_with_id(edit.tree, edit.branch)?.name())
}

fn tell(app: &Visitor, refused: &Refused) -> Value {
    json!({
        "entry": refused.id.to_string(),
        "why": refused.why,
        "time": jungle_words::time::text(refused.time),
        "author": refused.meta.author_name(),
        "message": refused.meta.message_text(),
        "tree": name_of(app, refused).as_deref(),
        "edits": refused.edit.changes.iter().count(),
    })
}
