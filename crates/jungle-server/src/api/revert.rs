//! Taking back a revision, or going back to one.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use jungle::{
    CommitMeta, CommitOptions, Committed, Draft, Path, RevertError, Revision, Snapshot, TreeHandle,
};
use serde::Deserialize;

use super::commit::Done;
use super::repeat::{Asked, once};
use super::{Named, written};
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
    pub(super) fn revision(&self) -> Result<Revision, Problem> {
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
                query::limit("at", at, AT_BYTES_MAX)?;
                Ok(Work::Replace(app.find(branch, Some(at)).await?.snapshot))
            }
            (_, Mode::Restore, _) => Ok(Work::Restore(self.revision()?)),
            (_, Mode::Undo, _) => Ok(Work::Undo(self.revision()?)),
        }
    }
}

/// The longest name of a revision, in bytes.
const AT_BYTES_MAX: usize = 1024;

/// What is to be done.
enum Work {
    Undo(Revision),
    /// Of this branch.
    Restore(Revision),
    /// Of whichever branch.
    Replace(Snapshot),
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
    // What was done before needs no version that may be gone by now.
    let work = wanted.work(&app, &tree).await;
    let (visitor, branch) = (app.clone(), tree.branch_id());
    let answer = app.in_line_to_commit(move |turn| {
        let tree = tree.tell_comparing(turn.clone());
        once(&visitor, &[&tree], keyed, CommitOptions::from(&meta), |options| {
            do_it(&tree, &work?, expected, &options.meta)
        })
    });
    let answer = answer.await?;
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

fn do_it(
    tree: &TreeHandle,
    work: &Work,
    expected: Option<Expected>,
    meta: &CommitMeta,
) -> Result<Answer, Problem> {
    let before = tree.snapshot();
    check(expected, Of(tree.branch_id(), before.revision()))?;
    let committed: Committed<()> = match (work, expected) {
        (Work::Undo(revision), None) => tree.revert(*revision, meta)?,
        (Work::Undo(revision), Some(_)) => tree.compare_and_revert(&before, *revision, meta)?,
        (Work::Restore(revision), None) => tree.restore(*revision, meta)?,
        (Work::Restore(revision), Some(_)) => tree.compare_and_restore(&before, *revision, meta)?,
        (Work::Replace(old), None) => tree.set_root(old, meta)?,
        (Work::Replace(old), Some(_)) => tree.compare_and_set_root(&before, old, meta)?,
    };
    let is_changed = committed.revision > before.revision();
    let (revision, renamed) = (committed.revision, committed.renamed);
    Ok(Done { revision, is_changed, renamed }.answer())
}
