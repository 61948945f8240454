//! Merging a branch into another: what it would do, and doing it.

use std::collections::{HashMap, HashSet};

use axum::body::Body;
use axum::http::{HeaderMap, Request, Uri};
use axum::response::Response;
use jungle::{
    CommitError, CommitMeta, CommitOptions, Conflict, Editor, Merge, MergeOptions, Path,
    Resolution, Revision, Rule, Snapshot, TreeHandle,
};
use jungle_words::conflict;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::change::{CHANGES_MAX, Shown, attribute, conflicts as told, whole};
use super::commit::Done;
use super::edit::PathText;
use super::repeat::{Asked, once};
use super::value::New;
use super::{Named, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, Of, changed, check};
use crate::line::Turn;
use crate::once::Answer;
use crate::problem::{Kind, Problem};
use crate::query::Query;

/// So often a merge is worked out that others were quicker than.
const ROUNDS: usize = 4;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Ours,
    Theirs,
}

/// How one conflict is settled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolve {
    path: PathText,
    attribute: Option<String>,
    take: Option<Side>,
    value: Option<New>,
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
            Ok((merge.theirs().revision(), previewed(&merge, &from, into.branch_name())))
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

fn previewed(merge: &Merge, from: &str, into: &str) -> Json {
    let changes = merge.changes().iter().take(CHANGES_MAX);
    let before = Some(merge.theirs());
    let renamed = merge.renamed().iter();
    json!({
        "from": from,
        "into": into,
        "base": merge.base().revision().number(),
        "ours": merge.ours().revision().number(),
        "theirs": merge.theirs().revision().number(),
        "conflicts": told(merge.conflicts().iter()),
        "conflict_count": merge.conflicts().len(),
        "total": merge.changes().len(),
        "changes": changes.map(|change| Shown { before, ..whole(change) }).collect::<Vec<_>>(),
        "renamed": renamed.map(|(from, to)| {
            json!({"from": from.to_string(), "to": to.to_string()})
        }).collect::<Vec<_>>(),
    })
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
    let values = wanted.resolve.iter().filter_map(|how| how.value.as_ref());
    for value in values {
        value.within(&app.options.limits)?;
    }
    if let Some(branch) = &wanted.into {
        into = into.on_branch(branch)?;
    }
    let meta = app.meta(wanted.author.as_deref(), wanted.message.as_deref())?;
    let (visitor, branch) = (app.clone(), into.branch_id());
    let merging = merging(&wanted, app.steps_max());
    let answer = app.in_line_to_commit(move |turn| {
        once(&visitor, &[&into], keyed, CommitOptions::from(&meta), |options| {
            let (into, wanted, merging) = (&into, &wanted, &merging);
            Work { turn, into, wanted, merging, expected, meta: &options.meta }.run()
        })
    });
    let answer = answer.await?;
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

/// How conflicts are resolved that are not settled one by one.
fn merging(wanted: &Wanted, steps_max: u64) -> MergeOptions {
    let prevails = match wanted.prevails {
        Some(Side::Ours) => Resolution::Ours,
        _ => Resolution::Theirs,
    };
    counting(&wanted.counters, steps_max).resolution(prevails)
}

/// A merge, as it was asked for.
struct Work<'a> {
    turn: &'a Turn,
    into: &'a TreeHandle,
    wanted: &'a Wanted,
    merging: &'a MergeOptions,
    expected: Option<Expected>,
    meta: &'a CommitMeta,
}

impl Work<'_> {
    fn run(&self) -> Result<Answer, Problem> {
        // Others merged or edited the same meanwhile: worked out anew, nothing may be in its way.
        for _ in 1..ROUNDS {
            match self.attempt()? {
                Err(CommitError::Conflict(_)) => {}
                done => return Ok(done?),
            }
        }
        Ok(self.attempt()??)
    }

    fn attempt(&self) -> Result<Result<Answer, CommitError>, Problem> {
        let merge = self.turn.compare(|| self.prepare())?;
        let before = merge.theirs().revision();
        let committed = match self.expected {
            None => merge.commit(self.meta),
            Some(_) => match merge.compare_and_commit(self.meta) {
                Err(CommitError::Conflict(_)) if self.into.snapshot().revision() != before => {
                    return Err(changed(self.into.snapshot().revision()));
                }
                done => done,
            },
        };
        let committed = match committed {
            Ok(committed) => committed,
            Err(error) => return Ok(Err(error)),
        };
        let is_changed = committed.revision > before;
        let (revision, renamed) = (committed.revision, committed.renamed);
        Ok(Ok(Done { revision, is_changed, renamed }.answer()))
    }

    /// Works it out, with all conflicts settled.
    fn prepare(&self) -> Result<Merge, Problem> {
        let (into, wanted) = (self.into, self.wanted);
        // Both branches are looked at once: a conflict that nobody was told of is never settled.
        let merge = into.merge(&wanted.from, self.merging)?;
        check(self.expected, Of(into.branch_id(), merge.theirs().revision()))?;
        let ours = merge.ours().clone();
        check_from(wanted, ours.revision())?;
        let settled = settled(merge.conflicts(), wanted)?;
        Ok(merge.edit(|editor| {
            settled.iter().try_for_each(|settled| settle(editor, settled, wanted, &ours))
        })?)
    }
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

/// A conflict for which the merge itself does not do all, and what was said about it alone.
type Settled<'w> = (Conflict, Option<&'w Resolve>);

/// The conflicts that are settled one by one; an error if one is left open.
fn settled<'w>(conflicts: &[Conflict], wanted: &'w Wanted) -> Result<Vec<Settled<'w>>, Problem> {
    let places: HashSet<_> = conflicts.iter().map(|one| (&one.path, attribute(one))).collect();
    let mut said = HashMap::new();
    for how in &wanted.resolve {
        let place = (&how.path.0, how.attribute.as_deref());
        if !places.contains(&place) {
            let detail = format_args!("resolve: no conflict is at {}", how.path.0);
            return Err(Problem::bad(detail).hint("GET merges tells the conflicts"));
        }
        said.entry(place).or_insert(how);
    }
    let resolve = |one: &Conflict| said.get(&(&one.path, attribute(one))).copied();
    let open: Vec<_> = conflicts.iter().filter(|one| resolve(one).is_none()).collect();
    if wanted.prevails.is_none() && !open.is_empty() {
        let (count, plural) = (open.len(), if open.len() == 1 { "" } else { "s" });
        let detail = format!("{count} conflict{plural} to be settled; nothing was merged");
        return Err(Problem::new(Kind::Conflict, detail)
            .with("conflict_count", count)
            .with("conflicts", told(open.into_iter()))
            .hint("say who prevails, or resolve each"));
    }
    let settled = conflicts.iter().map(|one| (one, resolve(one)));
    let settled = settled.filter(|(one, how)| how.is_some() || conflict::is_left_out(one));
    Ok(settled.map(|(one, how)| (one.clone(), how)).collect())
}

fn settle(
    editor: &mut Editor,
    (conflict, how): &Settled<'_>,
    wanted: &Wanted,
    ours: &Snapshot,
) -> Result<(), Problem> {
    let path: &Path = &conflict.path;
    let prevails = wanted.prevails.unwrap_or(Side::Theirs);
    let mut take = |side| {
        if side == prevails && !conflict::is_left_out(conflict) {
            return Ok(());
        }
        let change = if side == Side::Ours { &conflict.ours } else { &conflict.theirs };
        conflict::redo(editor, conflict, change, ours).map_err(|error| {
            Problem::new(Kind::Conflict, error)
                .within(format_args!("resolve {path}"))
                .hint("say who prevails in all of them")
        })
    };
    let Some(how) = how else { return take(prevails) };
    match (how.take, &how.value, &how.attribute) {
        (Some(side), None, _) => take(side),
        (None, Some(New(value)), Some(attribute)) => {
            Ok(editor.put_attribute(path, attribute, value)?)
        }
        _ => Err(Problem::bad("resolve: say `take`, or a `value` for an attribute")),
    }
}
