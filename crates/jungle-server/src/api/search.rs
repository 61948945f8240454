//! Search: the nodes for which something is true, in document order.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{Children, Key, KeyRef, Node, Path, Snapshot, Value};
use jungle_words::{Expr, Found, with_attribute};
use serde_json::Value as Json;

use super::children::Page;
use super::value::New;
use super::{Named, written};
use crate::access::{View, Visitor};
use crate::problem::Problem;
use crate::query::{self, Query};

/// Nodes that are looked at in one call.
const VISITS_MAX: u64 = 1_000_000;

/// What must be true of a node.
enum Wanted {
    Expr(Expr),
    Has(String),
    Equal(String, Value),
}

impl Wanted {
    fn of(query: &Query) -> Result<Wanted, Problem> {
        let (expr, attribute) = (query.text("where")?, query.text("attribute")?);
        match (expr, attribute, query.text("value")?) {
            (Some(text), None, None) => {
                let wrong = |error: jungle_words::ParseError| {
                    Problem::bad(format_args!("where: {error}")).with("place", error.show(text))
                };
                Expr::parse(text).map(Wanted::Expr).map_err(wrong)
            }
            (None, Some(key), None) => Ok(Wanted::Has(key.to_owned())),
            (None, Some(key), Some(text)) => {
                let value: New = serde_json::from_str(text)
                    .map_err(|error| Problem::bad(format_args!("value={text}: {error}")))?;
                Ok(Wanted::Equal(key.to_owned(), value.0))
            }
            _ => Err(Problem::bad("say `where`, or `attribute` and perhaps `value`")),
        }
    }

    /// Where it may be met, where indexes tell that.
    fn candidates(&self, Found { tree, snapshot }: &Found) -> Result<Option<Vec<Path>>, Problem> {
        Ok(match self {
            Wanted::Expr(expr) => expr.candidates(tree, snapshot)?,
            Wanted::Has(key) => with_attribute(tree, snapshot, key, None)?,
            Wanted::Equal(key, value) => with_attribute(tree, snapshot, key, Some(value))?,
        })
    }

    fn is_met(&self, node: Node<'_>, key: Option<KeyRef<'_>>) -> bool {
        match self {
            Wanted::Expr(expr) => expr.is_true(node, key),
            Wanted::Has(key) => node.attribute(key).is_some(),
            Wanted::Equal(key, value) => node.attribute(key) == Some(value.as_ref()),
        }
    }
}

/// A walk over a subtree in document order that can begin behind any node of it.
struct Steps<'a> {
    start: Option<Node<'a>>,
    open: Vec<Children<'a>>,
    keys: Vec<KeyRef<'a>>,
}

impl<'a> Steps<'a> {
    fn new(node: Node<'a>) -> Steps<'a> {
        Steps { start: Some(node), open: Vec::new(), keys: Vec::new() }
    }

    /// Behind the node at `path`; what is below it comes next.
    fn behind(mut node: Node<'a>, path: &'a [Key]) -> Steps<'a> {
        let mut steps = Steps { start: None, open: Vec::new(), keys: Vec::new() };
        for key in path {
            let mut children = node.children_from(key);
            let Some(child) = node.child(key) else {
                steps.open.push(children);
                return steps;
            };
            children.next();
            steps.open.push(children);
            steps.keys.push(key.as_ref());
            node = child;
        }
        steps.open.push(node.children());
        steps
    }

    fn next(&mut self) -> Option<Node<'a>> {
        if let Some(node) = self.start.take() {
            self.open.push(node.children());
            return Some(node);
        }
        loop {
            match self.open.last_mut()?.next() {
                Some((key, node)) => {
                    self.keys.truncate(self.open.len() - 1);
                    self.keys.push(key);
                    self.open.push(node.children());
                    return Some(node);
                }
                None => {
                    self.open.pop();
                    self.keys.truncate(self.open.len().saturating_sub(1));
                }
            }
        }
    }

    fn path(&self, above: &Path) -> Path {
        above.iter().cloned().chain(self.keys.iter().map(|key| key.to_key())).collect()
    }
}

pub(crate) async fn search(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let known = ["path", "branch", "at", "where", "attribute", "value", "after", "limit"];
    let query = Query::of(&uri, &known)?;
    let (wanted, path, limit) = (Wanted::of(&query)?, query.path()?, query.limit()?);
    let after = query.long_text("after").map(query::path).transpose()?;
    if after.as_ref().is_some_and(|after| !after.starts_with(&path)) {
        return Err(Problem::bad("after is not below path"));
    }
    let version = app.version(&name, &query, &path).await?;
    version.snapshot.root().at(&path)?;
    let view = app.view(&name);
    let edition = edition(&version, &view);
    if let Some(unchanged) = app.mark.unchanged(&headers, &edition) {
        return Ok(unchanged);
    }
    let find = move || {
        let snapshot = &version.snapshot;
        // An index is of all of the tree: how much is in it, and how long that takes, tells of it.
        let candidates = match view.is_whole() {
            true => wanted.candidates(&version)?,
            false => None,
        };
        let found = match candidates {
            Some(candidates) => look_up(snapshot, &path, after, &wanted, limit, candidates)?,
            None => find(snapshot, &path, after.as_ref(), &wanted, limit)?,
        };
        Ok((found, self::edition(&version, &view)))
    };
    let (found, still) = app.in_line(find).await?;
    if still != edition {
        // An index came or went meanwhile: which of them the answer is of is not known.
        return Ok(written(found));
    }
    Ok(app.mark.show(edition, written(found)))
}

/// What the answer follows from: a revision, and the indexes, which change how many nodes are
/// looked at, and so where a page ends; not for whoever may read a part.
fn edition(Found { tree, snapshot }: &Found, view: &View) -> String {
    let (revision, keys) = (snapshot.revision(), tree.list_indexes());
    if keys.is_empty() || !view.is_whole() {
        return revision.to_string();
    }
    let mut hasher = blake3::Hasher::new();
    for key in &keys {
        hasher.update(key.as_bytes()).update(&[0]);
    }
    format!("{revision}.{}", &hasher.finalize().to_hex()[..16])
}

/// Looks at those nodes only; they are in document order.
fn look_up(
    snapshot: &Snapshot,
    path: &Path,
    after: Option<Path>,
    wanted: &Wanted,
    limit: usize,
    candidates: Vec<Path>,
) -> Result<String, Problem> {
    let (mut page, mut visited, mut next) = (Page::new(limit), 0, Json::Null);
    let is_behind = |it: &Path| after.as_ref().is_none_or(|after| it > after);
    let is_asked = |it: &Path| it.starts_with(path) && is_behind(it);
    for candidate in candidates.into_iter().filter(is_asked) {
        visited += 1;
        let node = snapshot.root().at(&candidate)?;
        if wanted.is_met(node, candidate.last().map(Key::as_ref)) {
            page.push(&candidate, node);
        }
        if page.is_full() {
            next = candidate.to_string().into();
            break;
        }
    }
    Ok(told(snapshot, page, visited, &next))
}

fn find(
    snapshot: &Snapshot,
    path: &Path,
    after: Option<&Path>,
    wanted: &Wanted,
    limit: usize,
) -> Result<String, Problem> {
    let node = snapshot.root().at(path)?;
    let mut steps = match after {
        Some(after) => Steps::behind(node, &after[path.depth()..]),
        None => Steps::new(node),
    };
    let (mut page, mut visited, mut next) = (Page::new(limit), 0, Json::Null);
    while let Some(node) = steps.next() {
        visited += 1;
        let key = steps.keys.last().copied().or_else(|| path.last().map(Key::as_ref));
        if wanted.is_met(node, key) {
            page.push(&steps.path(path), node);
        }
        if page.is_full() || visited == VISITS_MAX {
            next = steps.path(path).to_string().into();
            break;
        }
    }
    Ok(told(snapshot, page, visited, &next))
}

fn told(snapshot: &Snapshot, page: Page, visited: u64, next: &Json) -> String {
    let (revision, matches) = (snapshot.revision(), page.end());
    format!(r#"{{"revision":{revision},"matches":{matches},"visited":{visited},"next":{next}}}"#)
}
