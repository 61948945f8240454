//! Pages of nodes.

use axum::http::Uri;
use axum::http::header::HeaderMap;
use axum::response::Response;
use jungle::{Children, Key, Node, Path};
use serde::Serialize;
use serde_json::Value as Json;

use super::value::Attributes;
use super::{Named, written};
use crate::access::Visitor;
use crate::etag::Of;
use crate::limits::PAGE_BYTES;
use crate::problem::Problem;
use crate::query::Query;

/// An offset from which skipping is work for another thread.
const LONG_OFFSET: usize = 10_000;

/// A larger offset is refused.
const OFFSET_MAX: usize = 100_000_000;

/// A node in a page.
#[derive(Serialize)]
struct Shown<'a> {
    key: String,
    path: String,
    attributes: Attributes<'a>,
    #[serde(skip_serializing_if = "is_zero")]
    attributes_left_out: usize,
    child_count: u64,
    subtree_count: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Nodes as JSON, until there are enough of them.
pub(crate) struct Page {
    text: String,
    count: usize,
    limit: usize,
}

impl Page {
    pub(crate) fn new(limit: usize) -> Page {
        Page { text: String::from("["), count: 0, limit }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count == self.limit || self.text.len() >= PAGE_BYTES
    }

    pub(crate) fn push(&mut self, path: &Path, node: Node<'_>) {
        let attributes = Attributes::short(node);
        let shown = Shown {
            key: path.last().map_or_else(String::new, Key::to_string),
            path: path.to_string(),
            attributes_left_out: attributes.left_out(),
            attributes,
            child_count: node.child_count(),
            subtree_count: node.subtree_count(),
        };
        if self.count > 0 {
            self.text.push(',');
        }
        self.text.push_str(&serde_json::to_string(&shown).expect("plain data"));
        self.count += 1;
    }

    /// The page as a JSON array.
    pub(crate) fn end(mut self) -> String {
        self.text.push(']');
        self.text
    }
}

/// Which children are asked for.
struct Range {
    is_backward: bool,
    from: Option<Key>,
    after: Option<Key>,
    to: Option<Key>,
    offset: usize,
    limit: usize,
}

impl Range {
    fn of(query: &Query) -> Result<Range, Problem> {
        let key = |name: &str| query.parsed::<Key>(name);
        let offset = query.parsed("offset")?.unwrap_or(0);
        let range = Range {
            is_backward: query.one_of("order", &["forward", "backward"])? == 1,
            from: key("from")?,
            after: key("after")?,
            to: key("to")?,
            offset,
            limit: query.limit()?,
        };
        if range.from.is_some() && range.after.is_some() {
            return Err(Problem::bad("from and after are both given"));
        }
        if offset > OFFSET_MAX {
            return Err(Problem::bad(format_args!("offset is at most {OFFSET_MAX}")));
        }
        Ok(range)
    }

    fn begin<'a>(&self, node: Node<'a>) -> Children<'a> {
        match (self.from.as_ref().or(self.after.as_ref()), self.is_backward) {
            (None, false) => node.children(),
            (None, true) => node.children_backward(),
            (Some(key), false) => node.children_from(key),
            (Some(key), true) => node.children_backward_from(key),
        }
    }

    /// Is this child behind the end?
    fn is_over(&self, key: &Key) -> bool {
        self.to.as_ref().is_some_and(|to| if self.is_backward { key < to } else { key > to })
    }

    /// The page, and the key that it ends with if there are more.
    fn page(&self, node: Node<'_>, path: &Path) -> (Page, Option<Key>) {
        let mut page = Page::new(self.limit);
        let mut last = None;
        let after = self.after.as_ref().map(Key::as_ref);
        let mut children = self.begin(node).peekable();
        children.next_if(|(key, _)| after == Some(*key));
        for (key, child) in children.skip(self.offset) {
            let key = key.to_key();
            if self.is_over(&key) {
                return (page, None);
            }
            if page.is_full() {
                return (page, last);
            }
            page.push(&path.join(key.clone()), child);
            last = Some(key);
        }
        (page, None)
    }
}

pub(crate) async fn list(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let known =
        ["path", "branch", "at", "order", "from", "after", "to", "offset", "limit"].as_slice();
    let query = Query::of(&uri, known)?;
    let (range, path) = (Range::of(&query)?, query.path()?);
    let found = app.version(&name, &query, &path).await?;
    let revision = found.snapshot.revision();
    let version = Of(found.tree.branch_id(), revision);
    found.snapshot.root().at(&path)?;
    if let Some(unchanged) = app.mark.unchanged(&headers, version) {
        return Ok(unchanged);
    }
    let is_long = range.offset >= LONG_OFFSET;
    let body = move || {
        let node = found.snapshot.root().at(&path)?;
        let (page, next) = range.page(node, &path);
        let (path, count) = (Json::from(path.to_string()), node.child_count());
        let next = next.map_or(Json::Null, |key| key.to_string().into());
        let children = page.end();
        Ok::<String, Problem>(
            format!(r#"{{"revision":{revision},"path":{path},"child_count":{count},"#)
                + &format!(r#""children":{children},"next":{next}}}"#),
        )
    };
    let body = if is_long { app.in_line(body).await? } else { body()? };
    Ok(app.mark.show(version, written(body)))
}
