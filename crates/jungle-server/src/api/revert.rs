//! Taking back a revision, or going back to one.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use jungle::{CommitMeta, CommitOptions, Draft, Path, RevertError, Revision, TreeHandle};
use serde::Deserialize;

use super::commit::Done;
use super::repeat::{Asked, once};
use super::{Named, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, check};
use crate::once::Answer;
use crate::problem::Problem;
use crate::query::Query;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    revision: u64,
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
    pub(super) fn revision(&self) -> Revision {
        Revision::new(self.revision)
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

    /// Does it in a draft of that branch; gives the nodes that come back under other keys.
    pub(super) fn apply(
        &self,
        branch: &TreeHandle,
        draft: &mut Draft,
    ) -> Result<Vec<(Path, Path)>, RevertError> {
        match self.mode {
            Mode::Undo => branch.revert_in(draft, self.revision()),
            Mode::Restore => branch.restore_in(draft, self.revision()).map(|()| Vec::new()),
        }
    }
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
    let answer = app.write(move |app| {
        once(app, &[&tree], keyed, CommitOptions::from(&meta), |options| {
            do_it(&tree, &wanted, expected, &options.meta)
        })
    });
    let answer = answer.await?;
    Ok(app.mark.show(answer.revision, written(answer.body)))
}

fn do_it(
    tree: &TreeHandle,
    wanted: &Wanted,
    expected: Option<Expected>,
    meta: &CommitMeta,
) -> Result<Answer, Problem> {
    let revision = wanted.revision();
    let before = tree.snapshot();
    check(expected, before.revision())?;
    let committed = match (wanted.mode, expected) {
        (Mode::Undo, None) => tree.revert(revision, meta)?,
        (Mode::Undo, Some(_)) => tree.compare_and_revert(&before, revision, meta)?,
        (Mode::Restore, None) => tree.restore(revision, meta)?,
        (Mode::Restore, Some(_)) => tree.compare_and_restore(&before, revision, meta)?,
    };
    let is_changed = committed.revision > before.revision();
    let (revision, renamed) = (committed.revision, committed.renamed);
    Ok(Done { revision, is_changed, renamed }.answer())
}
