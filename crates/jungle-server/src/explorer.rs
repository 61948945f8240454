//! The explorer: a page of three files, made from `web/explorer`, which asks the interface for all
//! that it shows. What is looked at is in the query of its address, which the server does not read.

use std::sync::Arc;

use axum::Router;
use axum::http::header::HeaderMap;
use axum::response::{Redirect, Response};
use axum::routing::get;

use crate::access::Visitor;
use crate::api::Named;
use crate::app::App;
use crate::asset::{Asset, answer};
use crate::problem::Problem;

/// `cargo xtask web` makes them again.
const ASSETS: [Asset; 3] = [
    ("", "text/html; charset=utf-8", include_str!("../assets/explorer/index.html")),
    ("explorer.css", "text/css; charset=utf-8", include_str!("../assets/explorer/explorer.css")),
    (
        "explorer.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/explorer/explorer.js"),
    ),
];

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/explorer", get(|| async { Redirect::permanent("/explorer/") }))
        .route("/explorer/", get(page))
        .route("/explorer/{name}", get(file))
}

async fn page(app: Visitor, headers: HeaderMap) -> Result<Response, Problem> {
    answer(&app, &headers, &ASSETS, "")
}

async fn file(
    app: Visitor,
    Named(wanted): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(&app, &headers, &ASSETS, &wanted)
}
