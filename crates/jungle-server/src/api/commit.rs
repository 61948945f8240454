//! Commits: edits in one step, all or none.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Request};
use axum::response::Response;
use bytes::Bytes;
use jungle::{
    CommitError, CommitOptions, Committed, Durability, NotWritten, Path, RequestId, Revision,
    TreeHandle, UpdateError,
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::edit::{Created, Edit, Edits};
use super::{Named, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::limits::EDITS_MAX;
use crate::once::{self, Answer, Turn};
use crate::problem::Problem;
use crate::query::Query;
use crate::tag::{changed, check, expected};

/// Bytes of a batch that is so short that it is done at once.
const SHORT_BYTES_MAX: usize = 8 << 10;

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    author: Option<String>,
    message: Option<String>,
    durability: Option<Level>,
    pub(super) edits: Vec<Edit>,
}

/// What the commit has to survive.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Memory,
    Buffered,
    Sync,
}

impl Batch {
    pub(super) fn options(&self, app: &Visitor) -> Result<CommitOptions, Problem> {
        if self.edits.is_empty() || self.edits.len() > EDITS_MAX {
            let count = self.edits.len();
            let detail = format_args!("{count} edits; from 1 to {EDITS_MAX} make a commit");
            return Err(Problem::bad(detail));
        }
        let meta = app.meta(self.author.as_deref(), self.message.as_deref())?;
        Ok(CommitOptions::from(&meta))
    }

    pub(super) fn durability(&self) -> Option<Durability> {
        self.durability.map(|level| match level {
            Level::Memory => Durability::Memory,
            Level::Buffered => Durability::Buffered,
            Level::Sync => Durability::Sync,
        })
    }
}

pub(crate) async fn commit(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["branch"])?;
    let tree = app.branch(&name, &query, Need::part(Role::Write))?;
    body::must_be(request.headers(), "application/json")?;
    let expected = expected(request.headers())?;
    let key = idempotency_key(request.headers())?;
    let body = body::whole(request, &app.options.limits).await?;
    let answer = match key {
        None if body.len() <= SHORT_BYTES_MAX => short(&app, &tree, &body, expected).await?,
        None => app.write(move |app| parse_and_do(app, &tree, &body, expected, None)).await?,
        Some(key) => once(&app, key, tree, body, expected).await?,
    };
    Ok(app.mark.show(answer.revision, written(answer.body)))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let key = key.to_str().map_err(|_| Problem::bad("Idempotency-Key has odd characters"))?;
    Ok(Some(key.to_owned()))
}

/// Does it if it was not done before. The answer is remembered even if the client goes away.
async fn once(
    app: &Visitor,
    key: String,
    tree: TreeHandle,
    body: Bytes,
    expected: Option<Revision>,
) -> Result<Answer, Problem> {
    let request = once::request((app.name(), tree.branch_id(), &key), &body, expected);
    let first = match app.once.begin(app.name(), &key, (tree.branch_id(), request.fingerprint))? {
        Turn::Done(answer) => return Ok(answer),
        Turn::First(first) => first,
    };
    app.write(move |app| {
        let answer = parse_and_do(app, &tree, &body, expected, Some(request))?;
        first.answered(&answer);
        Ok(answer)
    })
    .await
}

/// What a commit came to.
pub(crate) struct Done {
    pub(crate) revision: Revision,
    pub(crate) is_changed: bool,
    pub(crate) renamed: Vec<(Path, Path)>,
}

impl Done {
    /// With what was made, and whether anything was changed.
    fn of(committed: Committed<(Created, bool)>) -> (Created, Done) {
        let Committed { revision, renamed, value: (created, is_changed), .. } = committed;
        (created, Done { revision, is_changed, renamed })
    }

    pub(crate) fn json(&self) -> Json {
        let renamed = self.renamed.iter();
        let renamed =
            renamed.map(|(from, to)| json!({"from": from.to_string(), "to": to.to_string()}));
        json!({
            "revision": self.revision.number(),
            "changed": self.is_changed,
            "renamed": renamed.collect::<Vec<_>>(),
        })
    }

    /// Where a node that was made is after all.
    fn place(&self, made: &Path) -> Path {
        let moved = self.renamed.iter().find(|(from, _)| made.starts_with(from));
        let Some((from, to)) = moved else {
            return made.clone();
        };
        to.iter().chain(&made[from.depth()..]).cloned().collect()
    }
}

/// Does it on the thread that serves, or the one that commits for all.
async fn short(
    app: &Visitor,
    tree: &TreeHandle,
    body: &[u8],
    expected: Option<Revision>,
) -> Result<Answer, Problem> {
    let batch: Batch = body::json(body)?;
    let durability = batch.durability();
    if expected.is_some() {
        let quick = || {
            let at_once = Some(Durability::Memory);
            let options = CommitOptions { durability: at_once, ..batch.options(app)? };
            let answer = do_it(app, tree, &batch, options, expected)?;
            let revision = answer.revision;
            Ok((answer, revision))
        };
        return app.commit(durability, quick).await;
    }
    let options = CommitOptions { durability, ..batch.options(app)? };
    let (name, visitor) = (tree.name(), app.clone());
    let committed = app.update(tree, options, move |draft| {
        Edits { batch: &batch.edits, app: &visitor, tree: &name }.all(draft)
    });
    let (created, done) = Done::of(committed.await?);
    Ok(answer(&created, &done))
}

fn parse_and_do(
    app: &Visitor,
    tree: &TreeHandle,
    body: &[u8],
    expected: Option<Revision>,
    request: Option<RequestId>,
) -> Result<Answer, Problem> {
    let batch: Batch = body::json(body)?;
    let durability = batch.durability();
    let mut options = CommitOptions { durability, ..batch.options(app)? };
    let Some(request) = request else {
        return do_it(app, tree, &batch, options, expected);
    };
    // Also where what is committed now must not say so.
    let answer = match tree.find_request(request)? {
        Some(revision) => repeated(revision),
        None => {
            if app.cluster.as_ref().is_none_or(|cluster| cluster.reads_requests()) {
                options.meta = options.meta.asked_by(request);
            }
            do_it(app, tree, &batch, options, expected)?
        }
    };
    // Whoever committed it first may still wait for that.
    app.wait_until(answer.revision, durability)?;
    Ok(answer)
}

/// What is known of a request that was committed before: not what it made.
fn repeated(revision: Revision) -> Answer {
    let body = json!({
        "revision": revision.number(),
        "changed": true,
        "renamed": [],
        "repeated": true,
    });
    Answer { revision, body: body.to_string().into() }
}

fn do_it(
    app: &Visitor,
    tree: &TreeHandle,
    batch: &Batch,
    options: CommitOptions,
    expected: Option<Revision>,
) -> Result<Answer, Problem> {
    let edits = Edits { batch: &batch.edits, app, tree: &tree.name() };
    match expected {
        None => anywhere(tree, &options, &edits),
        Some(_) => compare_and_set(tree, options, &edits, expected),
    }
}

fn answer(created: &Created, done: &Done) -> Answer {
    let mut answer = done.json();
    let paths = created.iter().map(|made| made.as_ref().map(|made| done.place(made).to_string()));
    answer["created"] = paths.collect::<Vec<_>>().into();
    Answer { revision: done.revision, body: answer.to_string().into() }
}

/// Commits on top of whatever others did meanwhile.
fn anywhere(
    tree: &TreeHandle,
    options: &CommitOptions,
    edits: &Edits<'_>,
) -> Result<Answer, Problem> {
    match tree.update_with(options, |draft| edits.all(draft)) {
        Ok(committed) => {
            let (created, done) = Done::of(committed);
            Ok(answer(&created, &done))
        }
        Err(UpdateError::NotWritten(NotWritten::Repeated { revision })) => Ok(repeated(revision)),
        Err(error) => Err(error.into()),
    }
}

/// Commits if nobody has committed since the revision that is expected.
fn compare_and_set(
    tree: &TreeHandle,
    options: CommitOptions,
    edits: &Edits<'_>,
    expected: Option<Revision>,
) -> Result<Answer, Problem> {
    let mut tx = tree.begin(options);
    check(expected, tx.began_at())?;
    // From now on a change anywhere is a change to what was read.
    let _ = tx.root();
    let created = edits.apply(&mut tx)?;
    let is_changed = tx.is_changed();
    match tx.commit() {
        Ok(Committed { revision, renamed, .. }) => {
            Ok(answer(&created, &Done { revision, is_changed, renamed }))
        }
        Err(CommitError::NotWritten(NotWritten::Repeated { revision })) => Ok(repeated(revision)),
        Err(CommitError::Conflict(_)) => Err(changed(tree.snapshot().revision())),
        Err(error) => Err(error.into()),
    }
}
