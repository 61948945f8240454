//! Settling the conflicts of a merge, or of a revert, which is one; and committing it.

use std::collections::{HashMap, HashSet};

use jungle::{
    CommitError, CommitMeta, Conflict, Editor, Merge, Path, Resolution, Snapshot, Steps, Tree,
    TreeHandle, TreeSnapshot, apply, diff_within,
};
use jungle_words::conflict;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::change::{CHANGES_MAX, Shown, attribute, conflicts as shown, whole};
use super::commit::{Done, renamed};
use super::differences::Preview;
use super::edit::PathText;
use super::value::New;
use crate::etag::{Expected, changed};
use crate::limits::Limits;
use crate::limits::line::Turn;
use crate::once::Answer;
use crate::problem::{Kind, Problem};

/// So often a merge is worked out that others were quicker than.
const ROUNDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// How one conflict is settled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resolve {
    path: PathText,
    attribute: Option<String>,
    take: Option<Side>,
    value: Option<New>,
}

/// Refuses values that are too long to be put.
pub(super) fn check_values(resolve: &[Resolve], limits: &Limits) -> Result<(), Problem> {
    for value in resolve.iter().filter_map(|how| how.value.as_ref()) {
        value.within(limits)?;
    }
    Ok(())
}

/// What is done, and so which side is called ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Ours is the branch that is merged.
    Merge,
    /// Ours is what is there now: to the merge that a revert is, that is theirs.
    Revert,
}

impl What {
    /// What a client calls by this name, as the merge calls it; and the other way round.
    fn side(self, side: Side) -> Side {
        match (self, side) {
            (What::Merge, side) => side,
            (What::Revert, Side::Ours) => Side::Theirs,
            (What::Revert, Side::Theirs) => Side::Ours,
        }
    }

    /// The first conflicts of the merge, as the client calls its sides.
    fn conflicts<'a>(self, conflicts: impl Iterator<Item = &'a Conflict>) -> Json {
        match self {
            What::Merge => shown(conflicts),
            What::Revert => shown(conflicts.map(conflict::turned)),
        }
    }
}

/// What a merge would do.
pub(super) fn told(what: What, merge: &Merge) -> Json {
    let changes = merge.changes().iter().take(CHANGES_MAX);
    let before = Some(merge.theirs());
    let changes = changes.map(|change| Shown { before, ..whole(change) }).collect::<Vec<_>>();
    let mut told = head(what, merge);
    told["total"] = merge.changes().len().into();
    told["changes"] = json!(changes);
    let nodes = merge.renamed();
    told["renamed"] = renamed(&nodes[..nodes.len().min(CHANGES_MAX)]).into();
    told["renamed_count"] = nodes.len().into();
    told
}

/// The same in terms of documents.
pub(super) fn preview(what: What, merge: &Merge, mut steps: Steps) -> Result<Preview, Problem> {
    let before = TreeSnapshot::clone(merge.theirs());
    let mut tree = Tree::from_snapshot(&before);
    tree.edit(|editor| apply(editor, merge.changes())).map_err(|error| error.source)?;
    let after = tree.snapshot();
    let changes = diff_within(&before, &after, &[], &mut steps)?;
    Ok(Preview { head: head(what, merge), before, after, changes })
}

/// Of which versions a merge is, and where they conflict.
fn head(what: What, merge: &Merge) -> Json {
    let (mut ours, mut theirs) = (merge.ours(), merge.theirs());
    if what == What::Revert {
        (ours, theirs) = (theirs, ours);
    }
    json!({
        "base": merge.base().revision().number(),
        "ours": ours.revision().number(),
        "theirs": theirs.revision().number(),
        "conflicts": what.conflicts(merge.conflicts().iter()),
        "conflict_count": merge.conflicts().len(),
    })
}

/// What a client has said of the conflicts.
pub(super) struct Said<'w> {
    pub(super) what: What,
    pub(super) prevails: Option<Side>,
    pub(super) resolve: &'w [Resolve],
}

/// A conflict for which the merge itself does not do all, and what was said about it alone.
type Settled<'w> = (Conflict, Option<&'w Resolve>);

impl<'w> Said<'w> {
    /// Who prevails in the merge.
    fn prevails(&self) -> Side {
        self.prevails.map_or(Side::Theirs, |side| self.what.side(side))
    }

    /// How conflicts are resolved that are not settled one by one.
    pub(super) fn resolution(&self) -> Resolution {
        match self.prevails() {
            Side::Ours => Resolution::Ours,
            Side::Theirs => Resolution::Theirs,
        }
    }

    /// The merge with all its conflicts settled; an error if one is left open.
    pub(super) fn settle(&self, merge: Merge) -> Result<Merge, Problem> {
        let settled = self.settled(merge.conflicts())?;
        if settled.is_empty() {
            return Ok(merge);
        }
        let ours = merge.ours().clone();
        Ok(merge.edit(|editor| {
            settled.iter().try_for_each(|settled| self.settle_one(editor, settled, &ours))
        })?)
    }

    /// The conflicts that are settled one by one.
    fn settled(&self, conflicts: &[Conflict]) -> Result<Vec<Settled<'w>>, Problem> {
        let places: HashSet<_> = conflicts.iter().map(|one| (&one.path, attribute(one))).collect();
        let mut said = HashMap::new();
        for how in self.resolve {
            let place = (&how.path.0, how.attribute.as_deref());
            if !places.contains(&place) {
                return Err(self.no_conflict(&how.path.0));
            }
            let first = said.entry(place).or_insert(how);
            // Two conflicts may have one place, so a client may say the same of it twice.
            if (first.take, &first.value) != (how.take, &how.value) {
                return Err(settled_twice(how));
            }
        }
        let resolve = |one: &Conflict| said.get(&(&one.path, attribute(one))).copied();
        let open: Vec<_> = conflicts.iter().filter(|one| resolve(one).is_none()).collect();
        if self.prevails.is_none() && !open.is_empty() {
            return Err(self.open(&open));
        }
        let settled = conflicts.iter().map(|one| (one, resolve(one)));
        let settled = settled.filter(|(one, how)| how.is_some() || conflict::is_left_out(one));
        Ok(settled.map(|(one, how)| (one.clone(), how)).collect())
    }

    fn no_conflict(&self, path: &Path) -> Problem {
        let hint = match self.what {
            What::Merge => "GET merges tells the conflicts",
            What::Revert => "GET reverts tells the conflicts",
        };
        Problem::bad(format_args!("resolve: no conflict is at {path}")).hint(hint)
    }

    fn open(&self, open: &[&Conflict]) -> Problem {
        let (count, plural) = (open.len(), if open.len() == 1 { "" } else { "s" });
        let (why, done) = match self.what {
            What::Merge => ("", "merged"),
            What::Revert => ("what the revision did has been changed since: ", "taken back"),
        };
        let detail = format!("{why}{count} conflict{plural} to be settled; nothing was {done}");
        Problem::new(Kind::Conflict, detail)
            .with("conflict_count", count)
            .with("conflicts", self.what.conflicts(open.iter().copied()))
            .hint("say who prevails, or resolve each")
    }

    fn settle_one(
        &self,
        editor: &mut Editor,
        (conflict, how): &Settled<'_>,
        ours: &Snapshot,
    ) -> Result<(), Problem> {
        let path: &Path = &conflict.path;
        let prevails = self.prevails();
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
            (Some(side), None, _) => take(self.what.side(side)),
            (None, Some(New(value)), Some(attribute)) => {
                Ok(editor.put_attribute(path, attribute, value)?)
            }
            _ => Err(Problem::bad("resolve: say `take`, or a `value` for an attribute")),
        }
    }
}

fn settled_twice(how: &Resolve) -> Problem {
    let attribute = how.attribute.as_ref().map_or_else(String::new, |key| format!(" @{key}"));
    let path = &how.path.0;
    Problem::bad(format_args!("resolve: {path}{attribute} is settled in two ways"))
        .hint("say one of them")
}

/// Commits a merge into a branch: as it is prepared, with all conflicts settled, in a turn.
pub(super) fn commit(
    turn: &Turn,
    into: &TreeHandle,
    expected: Option<Expected>,
    meta: &CommitMeta,
    prepare: impl Fn() -> Result<Merge, Problem>,
) -> Result<Answer, Problem> {
    let try_it = || attempt(into, turn.compare(&prepare)?, expected, meta);
    // Others merged or edited the same meanwhile: worked out anew, nothing may be in its way.
    for _ in 1..ROUNDS {
        match try_it()? {
            Err(CommitError::Conflict(_)) => {}
            done => return Ok(done?),
        }
    }
    Ok(try_it()??)
}

fn attempt(
    into: &TreeHandle,
    merge: Merge,
    expected: Option<Expected>,
    meta: &CommitMeta,
) -> Result<Result<Answer, CommitError>, Problem> {
    let before = merge.theirs().revision();
    let committed = match expected {
        None => merge.commit(meta),
        Some(_) => match merge.compare_and_commit(meta) {
            Err(CommitError::Conflict(_)) if into.snapshot().revision() != before => {
                return Err(changed(into.snapshot().revision()));
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
