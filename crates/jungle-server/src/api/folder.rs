//! What is done with the folder while it is served, for those who administer all of it.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use jungle::Revision;
use jungle_cluster::Cluster;
use jungle_words::keep;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json;
use crate::access::{Need, Role, Visitor};
use crate::app::{App, aside};
use crate::body::{self, Outgoing};
use crate::problem::{Kind, Problem};
use crate::query::Query;
use crate::upkeep::{self, Du, Gc, Sending, Told, Upkeep, Work};

/// So many seconds somebody may wait for the end of it.
const WAIT_SECONDS_MAX: u64 = 60;

/// What every kind of work has at its address.
pub(crate) fn of(work: Work) -> MethodRouter<Arc<App>> {
    get(async move |app: Visitor, uri: Uri| show(&app, work, &uri).await)
        .delete(async move |app: Visitor, uri: Uri| give_up(&app, work, &uri))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    name: String,
}

pub(crate) async fn back_up(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let asked: Backup = asked(&app, request, None).await?;
    let place = upkeep.backup_place(&asked.name)?;
    let work = move |store: &_, steps: &_| upkeep::back_up(store, &place, steps);
    begun(upkeep.begin(Work::Backup, json!(asked), work))
}

/// Which revision a copy has that is to be completed; 0 for all.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CopyAsked {
    #[serde(default)]
    since: u64,
}

/// A backup that the client keeps. The body ends when nothing is under way any more: whoever has
/// all of it may ask for the next one.
pub(crate) async fn copy(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let asked: CopyAsked = asked(&app, request, Some(CopyAsked::default())).await?;
    let since = Revision::new(asked.since);
    let (out, body) = Outgoing::copying(&app.options.limits, app.who());
    let (sending, begun) = Sending::new(out);
    let (sent, to_finish) = mpsc::channel();
    let work = move |store: &_, steps: &_| {
        sending.send(store, since, steps).map(|(told, out)| {
            let _ = sent.send(out);
            told
        })
    };
    let finish = move || {
        // A client that has gone away has not got it, and nobody asks.
        let _ = to_finish.try_recv().map(Outgoing::finish);
    };
    upkeep.begin_then(Work::Backup, json!(asked), work, finish)?;
    begun.await.unwrap_or_else(|_| Err(Problem::bug()))?;
    let media = HeaderValue::from_static("application/octet-stream");
    Ok(([(CONTENT_TYPE, media)], body).into_response())
}

pub(crate) async fn list_backups(app: Visitor, uri: Uri) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    Query::of(&uri, &[])?;
    Ok(json(&aside(move || upkeep.backups()).await?))
}

pub(crate) async fn verify(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let _: Nothing = asked(&app, request, Some(Nothing {})).await?;
    begun(upkeep.begin(Work::Verify, json!({}), upkeep::verify))
}

/// Nothing can be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(crate) async fn gc(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let asked: Gc = asked(&app, request, Some(Gc::default())).await?;
    let collections = Arc::clone(&app.metrics.collections);
    let drops_by_age = app.options.drops_by_age;
    let work =
        move |store: &_, steps: &_| upkeep::gc(store, (asked, drops_by_age), &collections, steps);
    begun(upkeep.begin(Work::Gc, json!(asked), work))
}

pub(crate) async fn du(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let asked: Du = asked(&app, request, Some(Du::default())).await?;
    if let Some(tree) = &asked.tree {
        app.tree(tree, Need::whole(Role::Read))?;
    }
    let policy = asked.policy.as_deref().map(keep::parse).transpose();
    let policy = policy.map_err(|error| Problem::bad(error).within("policy"))?;
    let told: Value = json!(asked);
    let work = move |store: &_, steps: &_| upkeep::du(store, asked.tree.as_deref(), policy, steps);
    begun(upkeep.begin(Work::Du, told, work))
}

/// How the last checkpoint of the cluster stands that somebody has asked for.
pub(crate) async fn checkpointed(app: Visitor, uri: Uri) -> Result<Response, Problem> {
    clustered(&app)?;
    show(&app, Work::Checkpoint, &uri).await
}

pub(crate) async fn checkpoint(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let (upkeep, cluster) = (upkeep(&app)?, clustered(&app)?);
    let _: Nothing = asked(&app, request, Some(Nothing {})).await?;
    let work = move |_: &_, _: &_| upkeep::checkpoint(&cluster);
    begun(upkeep.begin(Work::Checkpoint, json!({}), work))
}

async fn show(app: &Visitor, work: Work, uri: &Uri) -> Result<Response, Problem> {
    let upkeep = upkeep(app)?;
    let query = Query::of(uri, &["wait"])?;
    let seconds = query.parsed("wait")?.unwrap_or(0);
    if seconds > WAIT_SECONDS_MAX {
        return Err(Problem::bad(format_args!("wait is at most {WAIT_SECONDS_MAX} seconds")));
    }
    let wait = Duration::from_secs(seconds);
    Ok(json(&upkeep.look(work, wait, app.stopping.clone()).await))
}

fn give_up(app: &Visitor, work: Work, uri: &Uri) -> Result<Response, Problem> {
    let upkeep = upkeep(app)?;
    Query::of(uri, &[])?;
    begun(upkeep.give_up(work))
}

/// For those who administer all trees: a folder is all of them.
pub(super) fn upkeep(app: &Visitor) -> Result<Arc<Upkeep>, Problem> {
    app.administer("a folder is looked after by")?;
    app.upkeep.clone().ok_or_else(|| {
        Problem::new(Kind::NoSuchAddress, "the trees are in memory: there is no folder")
    })
}

/// As there, of a server that is one of several.
fn clustered(app: &Visitor) -> Result<Arc<Cluster>, Problem> {
    app.administer("a cluster is looked after by")?;
    app.cluster.clone().ok_or_else(|| {
        Problem::new(Kind::NoSuchAddress, "this server is alone: there is no cluster")
    })
}

/// What is asked for, as JSON, or as usual where nothing need be said.
async fn asked<T: DeserializeOwned>(
    app: &Visitor,
    request: Request<Body>,
    usual: Option<T>,
) -> Result<T, Problem> {
    Query::of(request.uri(), &[])?;
    let is_json = body::must_be(request.headers(), "application/json");
    let body = body::whole(request, &app.options.limits).await?;
    match usual {
        Some(usual) if body.is_empty() => Ok(usual),
        _ => is_json.and_then(|()| body::json(&body)),
    }
}

/// What goes on when it is answered.
fn begun(told: Result<Told, Problem>) -> Result<Response, Problem> {
    Ok((StatusCode::ACCEPTED, json(&told?)).into_response())
}
