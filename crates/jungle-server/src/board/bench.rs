//! What load tools need that only know `GET`: the constant answer that others are measured
//! against, and posting.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Request, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::message::Words;
use super::open;
use super::post::add;
use crate::access::{Need, Role, Visitor};
use crate::guard;
use crate::problem::Problem;
use crate::query::Query;

/// Bytes of the constant answer.
const HELLO_BYTES_MAX: usize = 1 << 20;

/// What it is the beginning of. It is not made anew for each: others are measured against it.
static HELLO: LazyLock<Bytes> =
    LazyLock::new(|| "hello".bytes().cycle().take(HELLO_BYTES_MAX).collect());

/// An answer of so many bytes.
pub(super) async fn hello(uri: Uri) -> Result<Response, Problem> {
    let bytes = Query::of(&uri, &["bytes"])?.parsed("bytes")?.unwrap_or(5);
    if bytes > HELLO_BYTES_MAX {
        return Err(Problem::bad(format_args!("bytes is at most {HELLO_BYTES_MAX}")));
    }
    Ok(super::sorry::written(HELLO.slice(..bytes)))
}

/// Posts a message. It changes something, so it is refused to pages of other sites as other methods
/// are everywhere: a picture there would be enough to post. Load tools say nothing of a site.
pub(super) async fn post(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    let (Parts { uri, headers, .. }, _) = request.into_parts();
    guard::same_site(&headers)?;
    let query = Query::of(&uri, &["board", "author", "text"])?;
    let name = query.text("board")?.unwrap_or_default();
    let board = open(&app, name, Need::whole(Role::Write))?;
    let author = app.name().or(query.text("author")?).unwrap_or_default();
    let words = Words::new(&app, author, query.long_text("text").unwrap_or("hello"))?;
    add(&app, &board, &words).await?;
    Ok("posted\n".into_response())
}
