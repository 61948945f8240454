//! The history of a branch.

use std::ops::Range;

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{ArchiveError, Path, Revision, RevisionInfo, Steps, TreeHandle};
use jungle_words::{Doing, Info, Line, Tags};
use serde::Serialize;

use super::Named;
use crate::access::{Need, Role, Visitor};
use crate::etag;
use crate::problem::Problem;
use crate::query::Query;

/// Revisions that are looked at for a page of those that changed something at a path.
const LOOKED_AT_MAX: usize = 1000;

#[derive(Serialize)]
struct Page {
    branch: String,
    revisions: Vec<Info>,
    next: Option<u64>,
}

pub(crate) async fn list(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch", "order", "after", "limit", "path"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    let asked = Asked {
        after: query.parsed::<u64>("after")?,
        limit: query.limit()?,
        is_forward: query.one_of("order", &["backward", "forward"])? == 1,
    };
    let below = query.long_text("path").map(|_| query.path()).transpose()?;
    let page = match below {
        Some(below) => {
            let steps = Steps::new(app.steps_max());
            app.in_line(move || changed(&tree, &below, &asked, steps)).await?
        }
        None => all(&tree, &asked)?,
    };
    Ok(etag::told(&headers, &page))
}

/// Which page it is.
struct Asked {
    after: Option<u64>,
    limit: usize,
    is_forward: bool,
}

impl Asked {
    /// The revisions that may be on it.
    fn range(&self) -> Range<Revision> {
        match (self.after, self.is_forward) {
            (Some(after), true) => Revision::new(after.saturating_add(1))..Revision::new(u64::MAX),
            (Some(after), false) => Revision::default()..Revision::new(after),
            (None, _) => Revision::default()..Revision::new(u64::MAX),
        }
    }
}

fn all(tree: &TreeHandle, asked: &Asked) -> Result<Page, Problem> {
    let (limit, past, tags) = (asked.limit, tree.history(asked.range()), Tags::of(tree));
    let told = |info: Result<RevisionInfo, ArchiveError>| Ok(tags.info(&info?));
    let revisions: Result<Vec<Info>, ArchiveError> = match asked.is_forward {
        true => past.rev().take(limit + 1).map(told).collect(),
        false => past.take(limit + 1).map(told).collect(),
    };
    let mut page =
        Page { branch: tree.branch_name().to_owned(), revisions: revisions?, next: None };
    if page.revisions.len() > limit {
        page.revisions.pop();
        page.next = page.revisions.last().map(|info| info.revision);
    }
    Ok(page)
}

/// Those that changed something at a path or below; behind the one with which the branch begins,
/// those of the branch that it was made from. Only so many are looked at, for so many steps, so a
/// page may have fewer than it has room for, or none, and not be the last.
fn changed(
    tree: &TreeHandle,
    below: &Path,
    asked: &Asked,
    mut steps: Steps,
) -> Result<Page, Problem> {
    let tags = Tags::of(tree);
    let line = Line::back_from(tree, tree.snapshot().revision())?;
    let mut past = line.revisions(asked.range());
    let branch = tree.branch_name().to_owned();
    let mut page = Page { branch, revisions: Vec::new(), next: None };
    for _ in 0..LOOKED_AT_MAX {
        let next = if asked.is_forward { past.next_back() } else { past.next() };
        let Some((tree, info)) = next.transpose()? else {
            return Ok(Page { next: None, ..page });
        };
        if page.revisions.len() == asked.limit {
            break;
        }
        let did_change = Doing::of(tree, info.revision)?.did_change_within(below, &mut steps);
        // The next page begins with this one, and with all steps.
        if did_change.is_err() && page.next.is_some() {
            break;
        }
        // One that takes more than all of them is told: nothing else leads to those behind it.
        if did_change.unwrap_or(true) {
            page.revisions.push(tags.info(&info));
        }
        page.next = Some(info.revision.number());
    }
    Ok(page)
}

pub(crate) async fn show(
    app: Visitor,
    Named((name, revision)): Named<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["branch"])?;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    let found = app.find(&tree, Some(&revision)).await?;
    Ok(etag::told(&headers, &Tags::of(&tree).info(&found.info()?)))
}
