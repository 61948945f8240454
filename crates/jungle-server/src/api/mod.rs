//! The interface for programs: `docs/api.md` introduces it, `docs/openapi.json` has all of it, and
//! the tests hold each answer against that.

mod audit;
mod branches;
pub(crate) mod change;
mod children;
mod commit;
mod compared;
mod diff;
mod differences;
mod document;
pub(crate) mod edit;
pub(crate) mod event;
mod folder;
mod form;
mod indexes;
mod keep;
mod live;
mod local;
mod me;
mod merge;
mod node;
mod repeat;
mod revert;
mod revisions;
mod search;
pub(crate) mod seen;
mod settle;
mod several;
mod status;
mod trees;
pub(crate) mod value;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path, rejection::PathRejection};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::upkeep::Work;

pub(crate) use compared::Compared;
pub(crate) use repeat::IDEMPOTENCY_KEY;
pub(crate) use status::{OPENAPI, of_all};
pub(crate) use watch::LAST_EVENT_ID;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/health", get(status::health))
        .route("/metrics", get(status::metrics))
        .route("/openapi.json", get(status::openapi))
        .route("/api/v1/me", get(me::show))
        .route("/api/v1/cluster", get(status::cluster))
        .route("/api/v1/cluster/checkpoint", get(folder::checkpointed).post(folder::checkpoint))
        .route("/api/v1/local", get(local::list))
        .route("/api/v1/local/{entry}", get(local::show).delete(local::forget))
        .route("/api/v1/folder/audit", get(audit::list))
        .route("/api/v1/folder/backup", folder::of(Work::Backup).post(folder::back_up))
        .route("/api/v1/folder/backups", get(folder::list_backups))
        .route("/api/v1/folder/copy", post(folder::copy))
        .route("/api/v1/folder/verify", folder::of(Work::Verify).post(folder::verify))
        .route("/api/v1/folder/gc", folder::of(Work::Gc).post(folder::gc))
        .route("/api/v1/folder/du", folder::of(Work::Du).post(folder::du))
        .route("/api/v1/commits", post(several::commit))
        .nest("/api/v1", Router::new().route("/trees", get(trees::list).post(trees::create)))
        .nest("/api/v1/trees/{tree}", of_a_tree())
        .route_layer(from_fn(repeat::relied_on))
}

fn of_a_tree() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(trees::show).patch(trees::rename).delete(trees::delete))
        .route("/node", get(node::show))
        .route("/value", get(node::value))
        .route("/children", get(children::list))
        .route("/search", get(search::search))
        .route("/commits", post(commit::commit))
        .route("/local", get(live::watch).post(local::commit))
        .route("/local/document", put(local::import))
        .route("/local/reverts", post(local::revert))
        .route("/document", get(document::export).put(document::import))
        .route("/revisions", get(revisions::list))
        .route("/revisions/{revision}", get(revisions::show))
        .route("/diff", get(diff::diff))
        .route("/reverts", get(revert::preview).post(revert::revert))
        .route("/branches", get(branches::list).post(branches::create))
        .route("/branches/{name}", delete(branches::delete))
        .route("/tags", get(branches::list_tags).post(branches::create_tag))
        .route("/tags/{name}", delete(branches::delete_tag))
        .route("/indexes", get(indexes::list).post(indexes::create).delete(indexes::drop))
        .route("/keep", get(keep::show).put(keep::set))
        .route("/merges", get(merge::preview).post(merge::merge))
        .route("/watch", get(watch::watch))
}

/// What is between the slashes of an address, decoded.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Problem> {
        let named = Path::<T>::from_request_parts(parts, state).await;
        named.map(|Path(named)| Named(named)).map_err(|error: PathRejection| {
            Problem::new(Kind::BadRequest, error.body_text()).within("the address")
        })
    }
}

/// An answer as JSON.
pub(crate) fn json(answer: &impl Serialize) -> Response {
    written(serde_json::to_vec(answer).expect("plain data"))
}

/// An answer that is JSON already.
pub(crate) fn written(text: impl IntoResponse) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
