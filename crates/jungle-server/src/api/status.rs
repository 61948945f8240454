//! How the server is.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{json, written};
use crate::access::Visitor;
use crate::problem::{Kind, Problem};

const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

pub(crate) async fn health(app: Visitor) -> Response {
    let mut health = json!({"status": "ok"});
    if let Some(jungle) = app.everything() {
        health["revision"] = jungle.revision().number().into();
        health["trees"] = jungle.list_trees().len().into();
    }
    json(&health)
}

pub(crate) async fn metrics(app: Visitor) -> Result<Response, Problem> {
    let jungle = app.everything();
    let jungle = jungle.ok_or_else(|| {
        Problem::new(Kind::Forbidden, "metrics are for those who may read all trees")
    })?;
    let plain = (CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    Ok(([plain], app.metrics.text(jungle)).into_response())
}

pub(crate) async fn openapi() -> Response {
    written(OPENAPI)
}
