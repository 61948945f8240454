//! What the board's pages consist of besides themselves.

use axum::http::header::HeaderMap;
use axum::response::Response;

use crate::access::Visitor;
use crate::api::Named;
use crate::asset::{Asset, answer};
use crate::problem::Problem;

const ASSETS: [Asset; 5] = [
    ("board.css", "text/css; charset=utf-8", include_str!("../../assets/board.css")),
    ("board.js", "text/javascript; charset=utf-8", include_str!("../../assets/board.js")),
    ("docs.css", "text/css; charset=utf-8", include_str!("../../assets/docs.css")),
    ("status.js", "text/javascript; charset=utf-8", include_str!("../../assets/status.js")),
    ("leaf.svg", "image/svg+xml", include_str!("../../assets/leaf.svg")),
];

pub(super) async fn asset(
    app: Visitor,
    Named(wanted): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    answer(&app, &headers, &ASSETS, &wanted)
}
