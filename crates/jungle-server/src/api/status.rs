//! How the server is.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use jungle::{CheckpointStatus, Jungle};
use serde_json::json;

use super::{json, written};
use crate::access::Visitor;
use crate::metrics::{kind, line};
use crate::problem::{Kind, Problem};
use crate::tls::Encryption;

pub(crate) const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

/// Anybody may know that it is there; how it stands is for those who may read all trees.
pub(crate) async fn health(app: Visitor) -> Response {
    let fault = app.cluster.as_ref().and_then(|cluster| cluster.fault());
    let mut health = json!({"status": if fault.is_some() { "stopped" } else { "ok" }});
    if let Some(jungle) = app.everything() {
        health["revision"] = jungle.revision().number().into();
        health["trees"] = jungle.list_trees().len().into();
        if let Some(checkpoints) = &app.checkpoints {
            let error = checkpoints.error().map(|error| error.to_string());
            let newest = checkpoints.newest().number();
            health["checkpoint"] = json!({"revision": newest, "error": error});
        }
        if let Some(keeper) = app.encryption.as_ref().and_then(Encryption::keeper) {
            health["certificate"] = keeper.health();
        }
        if let Some(cluster) = &app.cluster {
            health["cluster"] = crate::cluster::health(cluster);
        }
    }
    json(&health)
}

pub(crate) async fn metrics(app: Visitor) -> Result<Response, Problem> {
    let jungle = of_all(&app, "metrics are")?;
    let plain = (CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    let mut text = app.metrics.text(jungle);
    if let Some(checkpoints) = &app.checkpoints {
        checkpoint_metrics(checkpoints, &mut text);
    }
    if let Some(upkeep) = &app.upkeep {
        upkeep.metrics(&mut text);
    }
    if let Some(keeper) = app.encryption.as_ref().and_then(Encryption::keeper) {
        keeper.metrics(&mut text);
    }
    if let Some(cluster) = &app.cluster {
        crate::cluster::metrics(cluster, &mut text);
    }
    Ok(([plain], text).into_response())
}

fn checkpoint_metrics(checkpoints: &CheckpointStatus, text: &mut String) {
    let newest = "The newest revision in the folder's checkpoint.";
    let failed = "Whether the last checkpoint that was due could not be written.";
    let gauges = [
        ("jungle_checkpoint_revision", newest, checkpoints.newest().number()),
        ("jungle_checkpoint_failed", failed, checkpoints.error().is_some().into()),
    ];
    for (name, help, value) in gauges {
        kind(text, name, "gauge", help);
        line(text, name, "", value);
    }
}

pub(crate) async fn cluster(app: Visitor) -> Result<Response, Problem> {
    of_all(&app, "the cluster is")?;
    crate::cluster::survey(app.cluster.as_ref()).await.map(|survey| json(&survey))
}

pub(crate) fn of_all<'v>(app: &'v Visitor, what: &str) -> Result<&'v Jungle, Problem> {
    app.everything().ok_or_else(|| {
        Problem::new(Kind::Forbidden, format_args!("{what} for those who may read all trees"))
    })
}

pub(crate) async fn openapi() -> Response {
    written(OPENAPI)
}
