//! How the server is.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{json, written};
use crate::app::State;

const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

pub(crate) async fn health(app: State) -> Response {
    let (revision, trees) = (app.jungle.revision().number(), app.jungle.list_trees().len());
    json(&json!({"status": "ok", "revision": revision, "trees": trees}))
}

pub(crate) async fn metrics(app: State) -> Response {
    let plain = (CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    ([plain], app.metrics.text(&app.jungle)).into_response()
}

pub(crate) async fn openapi() -> Response {
    written(OPENAPI)
}
