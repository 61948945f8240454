//! Trees that are not here and that another cluster of the same engine has: where to ask for them.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse, Response};
use jungle_cluster::{Cluster, Elsewhere};
use serde_json::json;

use crate::app::{App, aside};
use crate::board::Sorry;
use crate::problem::{Kind, Missing, Problem};

/// So long the servers of other clusters have to say which trees they have.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// So many may wait for that at once: who asks for trees that are nowhere is told no more than that
/// they are not here, when many do.
pub(crate) const SEEKERS_MAX: usize = 16;

/// Where else a tree is, if it is somewhere else: in place of the answer that it is not here. Who
/// may not read it has another answer.
pub(crate) async fn tell(app: &App, uri: &Uri, answer: Response) -> Response {
    let Some(Missing(tree)) = answer.extensions().get().cloned() else { return answer };
    let (Some(cluster), Ok(_permit)) = (&app.cluster, app.seekers.try_acquire()) else {
        return answer;
    };
    let found = ask(cluster, Some(Arc::clone(&tree))).await.unwrap_or_default();
    let Some(Elsewhere { cluster, .. }) = found.first() else { return answer };
    let detail = format!("the tree {tree:?} is of the cluster {cluster:?}");
    let mut problem = Problem::new(Kind::Elsewhere, detail);
    let places: Vec<String> = found.iter().filter_map(|at| place(at, uri)).collect();
    problem = match places.first() {
        Some(place) => problem.hint(format_args!("ask for {place}")),
        None => problem.hint("none of its servers says where it serves"),
    };
    problem = problem.with("servers", json!(found));
    match uri.path().starts_with("/api/") {
        true => problem.into_response(),
        false => Sorry::with_places(problem, places).into_response(),
    }
}

/// What is asked for, at another server.
fn place(at: &Elsewhere, uri: &Uri) -> Option<String> {
    let address = at.address.as_deref()?.trim_end_matches('/');
    let is_web = address.starts_with("http://") || address.starts_with("https://");
    is_web.then(|| format!("{address}{}", uri.path_and_query().map_or("/", PathAndQuery::as_str)))
}

/// The servers of other clusters, and which trees they have.
pub(crate) async fn list(cluster: &Arc<Cluster>) -> Result<Vec<Elsewhere>, Problem> {
    ask(cluster, None).await
}

async fn ask(cluster: &Arc<Cluster>, tree: Option<Arc<str>>) -> Result<Vec<Elsewhere>, Problem> {
    let cluster = Arc::clone(cluster);
    let asking = move || cluster.elsewhere(tree.as_deref(), ANSWERS_WITHIN);
    aside(move || asking().map_err(|error| Problem::new(Kind::Stopped, error))).await
}
