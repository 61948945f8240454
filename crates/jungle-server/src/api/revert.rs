//! Taking back a revision, what that would do, or going back to one.

use axum::body::Body;
use axum::http::{HeaderMap, Request, Uri};
use axum::response::Response;
use jungle::{
    CommitMeta, CommitOptions, Committed, Draft, Merge, MergeOptions, Path, RevertError, Revision,
    Snapshot, Steps, TreeHandle,
};
use serde::Deserialize;

use super::commit::Done;
use super::repeat::{Asked, once};
use super::settle::{self, Resolve, Said, Side, What, check_values, commit, told};
use super::{Named, differences, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, Of, check};
use crate::once::Answer;
use crate::problem::Problem;
use crate::query::{self, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    revision: Option<u64>,
    /// In place of it, whichever branch has it: for what is gone back to.
    at: Option<String>,
    #[serde(default)]
    mode: Mode,
    branch: Option<String>,
    prevails: Option<Side>,
    #[serde(default)]
    resolve: Vec<Resolve>,
    author: Option<String>,
    message: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Undo,
    Restore,
}

impl Wanted {
    /// The revision, where nothing can be settled.
    pub(super) fn revision_alone(&self) -> Result<Revision, Problem> {
        self.settles_nothing()?;
        self.revision()
    }

    fn settles_nothing(&self) -> Result<(), Problem> {
        if self.prevails.is_none() && self.resolve.is_empty() {
            return Ok(());
        }
        Err(Problem::bad("prevails and resolve have no place here")
            .hint("they are for the mode undo, and not at level local"))
    }

    fn said(&self) -> Said<'_> {
        Said { what: What::Revert, prevails: self.prevails, resolve: &self.resolve }
    }

    fn revision(&self) -> Result<Revision, Problem> {
        match (self.revision, &self.at) {
            (Some(number), None) => Ok(Revision::new(number)),
            (_, Some(_)) => Err(Problem::bad("at has no place here")
                .hint("it is for the mode restore, without revision, and not at level local")),
            (None, None) => Err(Problem::bad("the body: revision is missing")),
        }
    }

    /// The branch on which it is wanted.
    pub(super) fn branch(&self, tree: TreeHandle) -> Result<TreeHandle, Problem> {
        match &self.branch {
            Some(branch) => Ok(tree.on_branch(branch)?),
            None => Ok(tree),
        }
    }

    pub(super) fn meta(&self, app: &Visitor) -> Result<CommitMeta, Problem> {
        app.meta(self.author.as_deref(), self.message.as_deref())
    }

    /// Does it in a draft of that branch, with this revision of it; gives the nodes that come back
    /// under other keys.
    pub(super) fn apply(
        &self,
        branch: &TreeHandle,
        draft: &mut Draft,
        revision: Revision,
    ) -> Result<Vec<(Path, Path)>, RevertError> {
        match self.mode {
            Mode::Undo => branch.revert_in(draft, revision),
            Mode::Restore => branch.restore_in(draft, revision).map(|()| Vec::new()),
        }
    }

    /// What is to be done, with what it takes of the history.
    async fn work(&self, app: &Visitor, branch: &TreeHandle) -> Result<Work, Problem> {
        match (&self.at, self.mode, self.revision) {
            (Some(at), Mode::Restore, None) => {
                self.settles_nothing()?;
                query::limit("at", at, AT_BYTES_MAX)?;
                Ok(Work::GoBack(Goal::Any(app.find(branch, Some(at)).await?.snapshot)))
            }
            (_, Mode::Restore, _) => Ok(Work::GoBack(Goal::Own(self.revision_alone()?))),
            (_, Mode::Undo, _) => Ok(Work::Undo(self.revision()?)),
        }
    }
}

/// The longest name of a revision, in bytes.
const AT_BYTES_MAX: usize = 1024;

/// What is to be done.
enum Work {
    Undo(Revision),
    GoBack(Goal),
}

/// What is gone back to.
enum Goal {
    /// A revision of this branch.
    Own(Revision),
    /// A version of whichever branch.
    Any(Snapshot),
}

pub(crate) async fn preview(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["revision", "branch", "prevails", "form"])?;
    let number: Option<u64> = query.parsed("revision")?;
    let number = number.ok_or_else(|| Problem::bad("the parameter revision is missing"))?;
    let prevails = prevails(&query)?;
    let is_document = query.one_of("form", &["changes", "document"])? == 1;
    let tree = app.branch(&name, &query, Need::whole(Role::Read))?;
    let (branch, steps_max) = (tree.branch_id(), app.steps_max());
    let prepare = move || -> Result<Merge, Problem> {
        let said = Said { what: What::Revert, prevails, resolve: &[] };
        let options = MergeOptions::new().steps_max(steps_max).resolution(said.resolution());
        let revert = tree.prepare_revert(Revision::new(number), &options)?;
        if prevails.is_some() { said.settle(revert) } else { Ok(revert) }
    };
    if is_document {
        let work_out = move || settle::preview(What::Revert, &prepare()?, Steps::new(steps_max));
        return differences::tell_preview(&app, work_out).await;
    }
    let (newest, answer) = app
        .in_line(move || {
            let revert = prepare()?;
            Ok((revert.theirs().revision(), told(What::Revert, &revert)))
        })
        .await?;
    Ok(app.mark.told(&headers, Of(branch, newest), answer.to_string()))
}

/// Who is to prevail, if that is said.
fn prevails(query: &Query) -> Result<Option<Side>, Problem> {
    if query.text("prevails")?.is_none() {
        return Ok(None);
    }
    let side = query.one_of("prevails", &["ours", "theirs"])?;
    Ok(Some([Side::Ours, Side::Theirs][side]))
}

pub(crate) async fn revert(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    let tree = app.tree(&name, Need::whole(Role::Write))?;
    let Asked { body, expected, keyed } = Asked::by(request, &app).await?;
    let wanted: Wanted = body::json(&body)?;
    let tree = wanted.branch(tree)?;
    let meta = wanted.meta(&app)?;
    check_values(&wanted.resolve, &app.options.limits)?;
    // What was done before needs no version that may be gone by now.
    let work = wanted.work(&app, &tree).await;
    let (visitor, branch) = (app.clone(), tree.branch_id());
    let answer = app.in_line_to_commit(move |turn| {
        once(&visitor, &[&tree], keyed, CommitOptions::from(&meta), |options| match work? {
            Work::Undo(revision) => {
                let prepare = || prepare(&visitor, &tree, revision, &wanted.said(), expected);
                commit(turn, &tree, expected, &options.meta, prepare)
            }
            Work::GoBack(goal) => {
                let tree = tree.tell_comparing(turn.clone());
                go_back(&tree, &goal, expected, &options.meta)
            }
        })
    });
    let answer = answer.await?;
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

/// Works out how a revision is taken back, with all conflicts settled.
fn prepare(
    app: &Visitor,
    tree: &TreeHandle,
    revision: Revision,
    said: &Said<'_>,
    expected: Option<Expected>,
) -> Result<Merge, Problem> {
    let must_be = |newest| check(expected, Of(tree.branch_id(), newest));
    must_be(tree.snapshot().revision())?;
    let options = MergeOptions::new().steps_max(app.steps_max()).resolution(said.resolution());
    let revert = tree.prepare_revert(revision, &options)?;
    must_be(revert.theirs().revision())?;
    said.settle(revert)
}

fn go_back(
    tree: &TreeHandle,
    goal: &Goal,
    expected: Option<Expected>,
    meta: &CommitMeta,
) -> Result<Answer, Problem> {
    let before = tree.snapshot();
    check(expected, Of(tree.branch_id(), before.revision()))?;
    let committed: Committed<()> = match (goal, expected) {
        (Goal::Own(revision), None) => tree.restore(*revision, meta)?,
        (Goal::Own(revision), Some(_)) => tree.compare_and_restore(&before, *revision, meta)?,
        (Goal::Any(old), None) => tree.set_root(old, meta)?,
        (Goal::Any(old), Some(_)) => tree.compare_and_set_root(&before, old, meta)?,
    };
    let is_changed = committed.revision > before.revision();
    let (revision, renamed) = (committed.revision, committed.renamed);
    Ok(Done { revision, is_changed, renamed }.answer())
}
