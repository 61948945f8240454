//! What pages consist of besides themselves.

use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};
use jungle::Revision;

use crate::api::Named;
use crate::app::State;
use crate::problem::{Kind, Problem};

/// Name, media type and content.
const ASSETS: [(&str, &str, &str); 3] = [
    ("board.css", "text/css; charset=utf-8", include_str!("../../assets/board.css")),
    ("board.js", "text/javascript; charset=utf-8", include_str!("../../assets/board.js")),
    ("leaf.svg", "image/svg+xml", include_str!("../../assets/leaf.svg")),
];

pub(super) async fn asset(
    app: State,
    Named(wanted): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|(name, ..)| *name == wanted);
    let (_, media, content) = asset
        .ok_or_else(|| Problem::new(Kind::NoSuchAddress, format_args!("there is no {wanted:?}")))?;
    // They change with the server only, and so does its mark.
    let revision = Revision::default();
    if let Some(unchanged) = app.mark.unchanged(&headers, revision) {
        return Ok(unchanged);
    }
    Ok(app.mark.show(revision, ([(CONTENT_TYPE, *media)], *content).into_response()))
}
