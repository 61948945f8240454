//! A server that is one of several: how new its answers have to be, and whether it may answer.

pub(crate) mod elsewhere;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use axum::response::Response;
use jungle::Revision;
use jungle_cluster::{Cluster, LocalStatus, Role};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::access::{self, Who, Whose, share};
use crate::app::{App, Stopping, aside, aside_with};
use crate::metrics;
use crate::problem::{Kind, Problem};

/// `linearizable`: what is answered is at least as new as anything acknowledged anywhere before the
/// request. `local`, as without it: what is here. `own`: with what was committed here at level
/// local and has no place yet.
pub(crate) const CONSISTENCY: HeaderName = HeaderName::from_static("jungle-consistency");
/// A revision that the answer may not be older than: what the client has seen or written before.
const REVISION: HeaderName = HeaderName::from_static("jungle-revision");

/// So long a request waits for what it has to see.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// So many wait at once, with a thread each: all else that takes long finds one.
pub(crate) const WAITERS_MAX: usize = 128;

/// So long the other servers have to say how they stand.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// How often it is looked whether the log is followed still.
const LOOKED_EVERY: Duration = Duration::from_secs(1);

/// Tells streams that the server follows its cluster no further: who watches would wait for ever,
/// and believe that nothing happens.
#[derive(Default)]
pub(crate) struct Faults(watch::Sender<bool>);

impl Faults {
    /// Looks until there is one, or the server stops.
    pub(crate) async fn keep(&self, cluster: &Cluster, mut stopping: Stopping) {
        while cluster.fault().is_none() {
            tokio::select! {
                () = stopping.wait() => return,
                () = sleep(LOOKED_EVERY) => {}
            }
        }
        self.0.send_replace(true);
    }

    /// To be waited for.
    pub(crate) fn wait(&self) -> Stopping {
        Stopping::new(self.0.subscribe())
    }
}

/// What a request asks for.
pub(crate) struct Asked {
    /// It is of the server, not of its trees, and is answered in any case.
    is_of_server: bool,
    revision: Option<HeaderValue>,
    consistency: Option<HeaderValue>,
    whose: Option<Whose>,
}

impl Asked {
    pub(crate) fn of(request: &Request<Body>) -> Asked {
        let (headers, extensions) = (request.headers(), request.extensions());
        Asked {
            is_of_server: is_of_server(request.uri()),
            revision: headers.get(REVISION).cloned(),
            consistency: headers.get(CONSISTENCY).cloned(),
            whose: Whose::of(extensions.get().and_then(Who::name), extensions.get()),
        }
    }
}

/// A folder can be looked after, and it is told how the server is, whether or not it follows the
/// log; and for that one may have to log in. Whatever a stranger may ask for is the same before and
/// after any commit, so nobody has a thread wait for that without saying who it is.
fn is_of_server(uri: &Uri) -> bool {
    let path = uri.path();
    access::is_open(uri)
        || matches!(path, "/metrics" | "/status" | "/api/v1/cluster")
        || path.starts_with("/api/v1/folder/")
        || path.starts_with("/api/v1/cluster/")
}

/// Waits until this server has what a request asks for. One that does not follow its cluster any
/// more has nothing to say.
pub(crate) async fn fresh(app: &App, asked: Asked) -> Result<(), Problem> {
    let Some(cluster) = app.cluster.as_ref().filter(|_| !asked.is_of_server) else {
        return Ok(());
    };
    if cluster.fault().is_some() {
        // Why is for those who may read all trees: `/health` tells them.
        let detail = "this server follows its cluster no further";
        return Err(Problem::new(Kind::Stopped, detail).hint("ask another server of the cluster"));
    }
    if let Some(revision) = asked.revision {
        let number = revision.to_str().ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| Problem::bad("Jungle-Revision is not a revision"))?;
        wait_for((app, asked.whose.clone()), cluster, Revision::new(number)).await?;
    }
    match asked.consistency.as_ref().map(HeaderValue::as_bytes) {
        None | Some(b"local" | b"own") => Ok(()),
        Some(b"linearizable") => {
            let linearize = |cluster: &Cluster, time| match cluster.linearize(time) {
                Ok(_) => Ok(()),
                Err(error) => Err(behind(error)),
            };
            wait((app, asked.whose), cluster, linearize).await
        }
        Some(_) => Err(Problem::bad("Jungle-Consistency is neither local, own nor linearizable")),
    }
}

async fn wait_for(
    asks: (&App, Option<Whose>),
    cluster: &Arc<Cluster>,
    revision: Revision,
) -> Result<(), Problem> {
    if cluster.revision() >= revision {
        return Ok(());
    }
    let come = move |cluster: &Cluster, time| match cluster.wait_for(revision, time) {
        true => Ok(()),
        false => Err(behind(format_args!("revision {revision} has not come here in time"))),
    };
    wait(asks, cluster, come).await
}

/// Waits in one of the places for that.
async fn wait(
    (app, whose): (&App, Option<Whose>),
    cluster: &Arc<Cluster>,
    f: impl FnOnce(&Cluster, Duration) -> Result<(), Problem> + Send + 'static,
) -> Result<(), Problem> {
    let place = share(&app.waiters, whose, "requests that wait for what is newer")?;
    let cluster = Arc::clone(cluster);
    aside_with(place, move || f(&cluster, WAIT_MAX)).await
}

fn behind(why: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Stopped, why).hint("ask again, or another server of the cluster")
}

/// How the server stands in its cluster.
pub(crate) fn health(cluster: &Cluster) -> Value {
    let status = cluster.status();
    let mut health = json!({
        "followed": status.followed,
        "revision": status.revision.number(),
        "fault": status.fault.map(|fault| fault.to_string()),
        "checkpoint": status.checkpoint,
        "checkpoint_error": status.checkpoint_error.map(|error| error.to_string()),
        "outage_s": status.outage.map(|outage| outage.as_secs_f64()),
        "role": status.role,
    });
    if let Some(mirror) = status.mirror {
        health["mirror"] = json!(mirror);
    }
    if let Some(status) = outbox(cluster) {
        health["pending"] = status.pending.into();
        health["oldest"] = json!(status.oldest.map(jungle_words::time::text));
        health["refused"] = status.refused.into();
    }
    health
}

/// How the outbox stands. Whoever commits there keeps it locked until that is on disk: others are
/// served meanwhile.
fn outbox(cluster: &Cluster) -> Option<LocalStatus> {
    let local = cluster.opened_local()?;
    Some(tokio::task::block_in_place(|| local.status()))
}

/// Does a request want to see what has no place yet?
pub(crate) fn sees_own(headers: &HeaderMap) -> bool {
    headers.get(CONSISTENCY).is_some_and(|value| value == "own")
}

/// What has no place yet has no revision either: nothing may keep an answer that shows it.
pub(crate) fn unmark(answer: &mut Response) {
    let headers = answer.headers_mut();
    headers.remove(ETAG);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// What is counted of that.
pub(crate) fn metrics(cluster: &Cluster, text: &mut String) {
    let status = cluster.status();
    let gauges = [
        ("jungle_cluster_message", "The newest message of the log followed.", status.followed),
        (
            "jungle_cluster_checkpoint",
            "The newest message in the newest checkpoint.",
            status.checkpoint,
        ),
        (
            "jungle_cluster_checkpoint_failed",
            "Whether this server could not write the last one that was due.",
            status.checkpoint_error.is_some().into(),
        ),
        (
            "jungle_cluster_mirror_passed_over",
            "Whether the log is followed where a copy nearby should be.",
            status.mirror.is_some_and(|mirror| mirror.error.is_some()).into(),
        ),
        (
            "jungle_cluster_outage_seconds",
            "For how long the log has not answered.",
            status.outage.unwrap_or_default().as_secs(),
        ),
        ("jungle_cluster_stopped", "Whether it follows no further.", status.fault.is_some().into()),
    ];
    let lag = status.log_end.map(|end| {
        let help = "Messages of the log that are not followed yet, as it was seconds ago.";
        ("jungle_cluster_lag_messages", help, end.saturating_sub(status.followed))
    });
    let outbox = outbox(cluster).map(|status| outbox_metrics(&status));
    let outbox = outbox.into_iter().flatten();
    for (name, help, value) in gauges.into_iter().chain(lag).chain(outbox) {
        metrics::kind(text, name, "gauge", help);
        metrics::line(text, name, "", value);
    }
    let name = "jungle_cluster_role";
    metrics::kind(text, name, "gauge", "1 at what this server does.");
    for role in [Role::Appends, Role::Guest, Role::Follows] {
        metrics::line(text, name, &format!("role=\"{role}\""), u64::from(status.role == role));
    }
}

fn outbox_metrics(status: &LocalStatus) -> [(&'static str, &'static str, u64); 3] {
    let count = |count| u64::try_from(count).unwrap_or(u64::MAX);
    let oldest = status.oldest.map_or(0, |oldest| oldest.as_micros() / 1_000_000);
    [
        (
            "jungle_local_pending",
            "Local commits without a place in the log.",
            count(status.pending),
        ),
        (
            "jungle_local_oldest_timestamp_seconds",
            "When the oldest of them was made; 0: there is none.",
            oldest.try_into().unwrap_or(0),
        ),
        (
            "jungle_local_refused",
            "Local commits that were refused, and are kept.",
            count(status.refused),
        ),
    ]
}

/// How all servers stand, and the engine's log.
pub(crate) async fn survey(cluster: Option<&Arc<Cluster>>) -> Result<Value, Problem> {
    let alone = || json!({"log": null, "servers": [], "elsewhere": []});
    let Some(cluster) = cluster else { return Ok(alone()) };
    let asked = Arc::clone(cluster);
    let survey = aside(move || asked.survey(ANSWERS_WITHIN).map_err(behind));
    let (survey, elsewhere) = tokio::join!(survey, elsewhere::list(cluster));
    let mut all = survey?.map_or_else(alone, |survey| json!(survey));
    all["elsewhere"] = json!(elsewhere?);
    Ok(all)
}
