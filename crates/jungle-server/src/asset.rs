//! What pages consist of besides themselves: files that are a part of the program.

use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};
use jungle::Revision;

use crate::app::App;
use crate::problem::{Kind, Problem};

/// Name, media type and content.
pub(crate) type Asset = (&'static str, &'static str, &'static str);

/// The one of this name.
pub(crate) fn answer(
    app: &App,
    headers: &HeaderMap,
    assets: &[Asset],
    wanted: &str,
) -> Result<Response, Problem> {
    let asset = assets.iter().find(|(name, ..)| *name == wanted);
    let (_, media, content) = asset
        .ok_or_else(|| Problem::new(Kind::NoSuchAddress, format_args!("there is no {wanted:?}")))?;
    // They change with the server only, and so does its mark.
    let revision = Revision::default();
    if let Some(unchanged) = app.mark.unchanged(headers, revision) {
        return Ok(unchanged);
    }
    Ok(app.mark.show(revision, ([(CONTENT_TYPE, *media)], *content).into_response()))
}
