//! Merging a branch into another: what it would do, and doing it.

use axum::body::Body;
use axum::http::{HeaderMap, Request, Uri};
use axum::response::Response;
use jungle::{CommitOptions, Merge, MergeOptions, Revision, Rule, TreeHandle};
use serde::Deserialize;

use super::repeat::{Asked, once};
use super::settle::{Resolve, Said, Side, What, check_values, commit, told};
use super::{Named, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, Of, check};
use crate::problem::{Kind, Problem};
use crate::query::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    from: String,
    from_revision: Option<u64>,
    into: Option<String>,
    prevails: Option<Side>,
    #[serde(default)]
    counters: Vec<String>,
    #[serde(default)]
    resolve: Vec<Resolve>,
    author: Option<String>,
    message: Option<String>,
}

impl Wanted {
    fn said(&self) -> Said<'_> {
        Said { what: What::Merge, prevails: self.prevails, resolve: &self.resolve }
    }
}

pub(crate) async fn preview(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["from", "into", "counters"])?;
    let from = query.text("from")?.ok_or_else(|| Problem::bad("the parameter from is missing"))?;
    let (from, mut into) = (from.to_owned(), app.tree(&name, Need::whole(Role::Read))?);
    if let Some(branch) = query.text("into")? {
        into = into.on_branch(branch)?;
    }
    let counters = query.text("counters")?.map_or_else(|| Ok(Vec::new()), listed)?;
    let options = counting(&counters, app.steps_max());
    let branch = into.branch_id();
    let (revision, answer) = app
        .in_line(move || {
            let merge = into.merge(&from, &options)?;
            let mut told = told(What::Merge, &merge);
            told["from"] = from.into();
            told["into"] = into.branch_name().into();
            Ok((merge.theirs().revision(), told))
        })
        .await?;
    Ok(app.mark.told(&headers, Of(branch, revision), answer.to_string()))
}

/// The attributes that a query names.
fn listed(text: &str) -> Result<Vec<String>, Problem> {
    serde_json::from_str(text)
        .map_err(|error| Problem::bad(format_args!("counters is no JSON array of names: {error}")))
}

fn counting(counters: &[String], steps_max: u64) -> MergeOptions {
    let options = MergeOptions::new().steps_max(steps_max);
    counters.iter().fold(options, |options, key| options.rule(key, Rule::Counter))
}

pub(crate) async fn merge(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    let mut into = app.tree(&name, Need::whole(Role::Write))?;
    let Asked { body, expected, keyed } = Asked::by(request, &app).await?;
    let wanted: Wanted = body::json(&body)?;
    check_values(&wanted.resolve, &app.options.limits)?;
    if let Some(branch) = &wanted.into {
        into = into.on_branch(branch)?;
    }
    let meta = app.meta(wanted.author.as_deref(), wanted.message.as_deref())?;
    let (visitor, branch) = (app.clone(), into.branch_id());
    let merging =
        counting(&wanted.counters, app.steps_max()).resolution(wanted.said().resolution());
    let answer = app.in_line_to_commit(move |turn| {
        once(&visitor, &[&into], keyed, CommitOptions::from(&meta), |options| {
            let prepare = || prepare(&into, &wanted, &merging, expected);
            commit(turn, &into, expected, &options.meta, prepare)
        })
    });
    let answer = answer.await?;
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

/// Works it out, with all conflicts settled.
fn prepare(
    into: &TreeHandle,
    wanted: &Wanted,
    merging: &MergeOptions,
    expected: Option<Expected>,
) -> Result<Merge, Problem> {
    // Both branches are looked at once: a conflict that nobody was told of is never settled.
    let merge = into.merge(&wanted.from, merging)?;
    check(expected, Of(into.branch_id(), merge.theirs().revision()))?;
    check_from(wanted, merge.ours().revision())?;
    wanted.said().settle(merge)
}

/// Refuses to merge another version than the client has seen.
fn check_from(wanted: &Wanted, newest: Revision) -> Result<(), Problem> {
    match wanted.from_revision {
        Some(seen) if seen != newest.number() => {
            let detail = format_args!("the newest revision of {:?} is {newest}", wanted.from);
            Err(Problem::new(Kind::Changed, detail)
                .with("revision", newest.number())
                .hint("GET merges tells what has changed, and `ours`, its revision"))
        }
        _ => Ok(()),
    }
}
