//! Search: the nodes for which something is true, in document order.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{Key, KeyRef, Node, Path, Value};
use jungle_words::{Expr, Found, Part, with_attribute};
use serde_json::Value as Json;

use super::children::Page;
use super::value::New;
use super::{Named, written};
use crate::access::{View, Visitor};
use crate::etag::Of;
use crate::problem::Problem;
use crate::query::{self, Query};

/// Nodes that are looked at in one call.
const VISITS_MAX: u64 = 1_000_000;

/// Where a page is not full of what indexes gave, they are asked for so many times as much: to ask
/// costs something for each value, however little is wanted.
const MORE: usize = 8;

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
    fn candidates(
        &self,
        Found { tree, snapshot }: &Found,
        part: Part<'_>,
    ) -> Result<Option<Vec<Path>>, Problem> {
        Ok(match self {
            Wanted::Expr(expr) => expr.candidates(tree, snapshot, part)?,
            Wanted::Has(key) => with_attribute(tree, snapshot, key, None, part)?,
            Wanted::Equal(key, value) => with_attribute(tree, snapshot, key, Some(value), part)?,
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
    let (branch, edition) = (version.tree.branch_id(), edition(&version, &view));
    if let Some(unchanged) = app.mark.unchanged(&headers, Of(branch, &edition)) {
        return Ok(unchanged);
    }
    let find = move || {
        let mut search = Search::new(&version, &path, &wanted, (after, limit));
        // An index is of all of the tree: how much is in it, and how long that takes, tells of it.
        if !view.is_whole() || !search.look_up()? {
            search.walk()?;
        }
        Ok((search.told(), self::edition(&version, &view)))
    };
    let (found, still) = app.in_line(find).await?;
    if still != edition {
        // An index came or went meanwhile: which of them the answer is of is not known.
        return Ok(written(found));
    }
    Ok(app.mark.show(Of(branch, edition), written(found)))
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

/// A page that is being made.
struct Search<'s> {
    version: &'s Found,
    path: &'s Path,
    wanted: &'s Wanted,
    limit: usize,
    page: Page,
    visited: u64,
    /// What was looked at last of what indexes gave, or on the page before.
    last: Option<Path>,
    /// Behind which the next page begins, if there is one.
    next: Json,
}

impl<'s> Search<'s> {
    fn new(
        version: &'s Found,
        path: &'s Path,
        wanted: &'s Wanted,
        (after, limit): (Option<Path>, usize),
    ) -> Search<'s> {
        let (page, next) = (Page::new(limit), Json::Null);
        Search { version, path, wanted, limit, page, visited: 0, last: after, next }
    }

    /// Looks where indexes say, for as long as they do. Is the page made then?
    fn look_up(&mut self) -> Result<bool, Problem> {
        let (Found { snapshot, .. }, path) = (self.version, self.path);
        let mut count_max = self.limit;
        loop {
            let behind = self.last.as_ref().map(|last| &last[path.depth()..]);
            let part = Part { within: path, behind, count_max };
            let Some(candidates) = self.wanted.candidates(self.version, part)? else {
                return Ok(false);
            };
            let are_all = candidates.len() < count_max;
            for candidate in candidates {
                let node = snapshot.root().at(&candidate)?;
                let key = candidate.last().map(Key::as_ref);
                if self.look(node, key, || candidate.clone()) {
                    return Ok(true);
                }
                self.last = Some(candidate);
            }
            if are_all {
                return Ok(true);
            }
            count_max = count_max.saturating_mul(MORE);
        }
    }

    /// Looks at all nodes, one after the other, from where it is.
    fn walk(&mut self) -> Result<(), Problem> {
        let (Found { snapshot, .. }, path) = (self.version, self.path);
        let node = snapshot.root().at(path)?;
        let mut walk = match &self.last {
            Some(last) => node.walk_behind(&last[path.depth()..]),
            None => node.walk(),
        };
        while let Some(node) = walk.next() {
            let key = walk.key().or_else(|| path.last().map(Key::as_ref));
            if self.look(node, key, || path.iter().cloned().chain(walk.path()).collect()) {
                break;
            }
        }
        Ok(())
    }

    /// Looks at a node. Does the page end there?
    fn look(&mut self, node: Node<'_>, key: Option<KeyRef<'_>>, path: impl Fn() -> Path) -> bool {
        self.visited += 1;
        if self.wanted.is_met(node, key) {
            self.page.push(&path(), node);
        }
        let is_over = self.page.is_full() || self.visited == VISITS_MAX;
        if is_over {
            self.next = path().to_string().into();
        }
        is_over
    }

    fn told(self) -> String {
        let Search { version, page, visited, next, .. } = self;
        let (revision, matches) = (version.snapshot.revision(), page.end());
        format!(
            r#"{{"revision":{revision},"matches":{matches},"visited":{visited},"next":{next}}}"#
        )
    }
}
