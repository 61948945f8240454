//! Who made, named and deleted what in the folder, for those who administer all of it.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use jungle::{AuditPage, AuditQuery, AuditRow, CommitRecord, Revision, Timestamp};
use jungle_words::audit::{Page, Wanted};
use jungle_words::time;

use super::folder::upkeep;
use crate::access::Visitor;
use crate::etag;
use crate::problem::Problem;
use crate::query::Query;

pub(crate) async fn list(app: Visitor, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let upkeep = upkeep(&app)?;
    let query = Query::of(&uri, &["after", "limit", "tree", "since"])?;
    let after = Revision::new(query.parsed("after")?.unwrap_or(0));
    let asked = AuditQuery { after, limit: query.limit()?, ..AuditQuery::default() };
    let tree = query.text("tree")?.map(str::to_owned);
    let since = query.text("since")?.map(then).transpose()?;
    let audit = move || {
        upkeep.read(|store| {
            let wanted = Wanted::new(store, tree.as_deref(), since);
            Ok(page(store.audit(&asked)?, &wanted))
        })
    };
    Ok(etag::told(&headers, &app.in_line(audit).await?))
}

fn then(text: &str) -> Result<Timestamp, Problem> {
    time::parse(text).ok_or_else(|| {
        Problem::bad(format_args!("since is {text:?}, which is no time"))
            .hint("2026-11-22T01:30:00Z")
    })
}

/// What is wanted of what was looked at: so much was asked for, and perhaps none of it is told.
fn page(page: AuditPage, wanted: &Wanted) -> Page {
    let AuditPage { complete_from, rows, next, .. } = page;
    let told = |row: AuditRow| {
        let AuditRow { revision, time, meta, event, tree, branch, .. } = row;
        let record = CommitRecord { revision, time, meta, event };
        wanted.tell(&record, &tree, branch.as_deref())
    };
    Page {
        complete_from: complete_from.number(),
        events: rows.into_iter().filter_map(told).collect(),
        next: next.map(Revision::number),
    }
}
