//! A node, and one of its attributes.

use std::io::Write;

use axum::body::Body;
use axum::http::Uri;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap};
use axum::response::Response;
use jungle::{Path, Snapshot, ValueRef};
use serde::Serialize;

use super::children::is_zero;
use super::document::sent;
use super::value::Attributes;
use super::{Named, json, written};
use crate::access::Visitor;
use crate::body::PIECE_BYTES;
use crate::etag::Of;
use crate::limits::PAGE_BYTES;
use crate::problem::{Kind, Problem};
use crate::query::Query;

#[derive(Serialize)]
struct Shown<'a> {
    tree: &'a str,
    branch: &'a str,
    revision: u64,
    path: String,
    attributes: Attributes<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    attributes_left_out: usize,
    /// What to send as `attributes_after` for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes_next: Option<&'a str>,
    child_count: u64,
    subtree_count: u64,
    next_position: i64,
}

pub(crate) async fn show(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["path", "attributes_after", "branch", "at"])?;
    let path = query.path()?;
    let found = app.version(&name, &query, &path).await?;
    let revision = found.snapshot.revision();
    let version = Of(found.tree.branch_id(), revision);
    let node = found.snapshot.root().at(&path)?;
    if let Some(unchanged) = app.mark.unchanged(&headers, version) {
        return Ok(unchanged);
    }
    let attributes = Attributes::long(node, query.text("attributes_after")?);
    let answer = json(&Shown {
        tree: &name,
        branch: found.tree.branch_name(),
        revision: revision.number(),
        path: path.to_string(),
        attributes_left_out: attributes.left_out(),
        attributes_next: attributes.last(),
        attributes,
        child_count: node.child_count(),
        subtree_count: node.subtree_count(),
        next_position: node.next_position(),
    });
    Ok(app.mark.show(version, answer))
}

pub(crate) async fn value(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["path", "attribute", "branch", "at"])?;
    let attribute = query.long_text("attribute");
    let attribute = attribute.ok_or_else(|| Problem::bad("the parameter attribute is missing"))?;
    let path = query.path()?;
    let found = app.version(&name, &query, &path).await?;
    let node = found.snapshot.root().at(&path)?;
    let value = node.attribute(attribute).ok_or_else(|| {
        Problem::new(Kind::NoSuchAttribute, format_args!("no attribute {attribute:?} is there"))
    })?;
    let version = Of(found.tree.branch_id(), found.snapshot.revision());
    if let Some(unchanged) = app.mark.unchanged(&headers, version) {
        return Ok(unchanged);
    }
    let Some((media, bytes)) = raw(value) else {
        let mut text = String::new();
        jungle::json::write_value(value, &mut text);
        return Ok(app.mark.show(version, written(text)));
    };
    let body = match bytes.len() {
        ..=PAGE_BYTES => Body::from(bytes.to_vec()),
        _ => long(&app, found.snapshot.clone(), path, attribute.to_owned())?,
    };
    let head = [(CONTENT_TYPE, media), (CONTENT_DISPOSITION, "attachment")];
    Ok(app.mark.show(version, (head, body)))
}

/// Text as text, bytes as bytes to be saved, anything else as JSON. What an outsider put there must
/// never be a page.
fn raw(value: ValueRef<'_>) -> Option<(&'static str, &[u8])> {
    match value {
        ValueRef::Text(text) => Some(("text/plain; charset=utf-8", text.as_bytes())),
        ValueRef::Bytes(bytes) => Some(("application/octet-stream", bytes)),
        _ => None,
    }
}

/// It is sent as documents are: a copy for each client that reads slowly would be too much.
fn long(app: &Visitor, at: Snapshot, path: Path, attribute: String) -> Result<Body, Problem> {
    sent(app, move |out| {
        let value = at.root().at(&path)?.attribute(&attribute);
        let (_, bytes) = value.and_then(raw).unwrap_or_default();
        Ok(bytes.chunks(PIECE_BYTES).try_for_each(|piece| out.write_all(piece))?)
    })
}
