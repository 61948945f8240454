//! Taking back a revision, or going back to one.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use jungle::{Revision, TreeHandle};
use serde::Deserialize;

use super::commit::Done;
use super::{Named, written};
use crate::app::State;
use crate::body;
use crate::problem::Problem;
use crate::query::{Query, meta};
use crate::tag::{check, expected};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
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

pub(crate) async fn revert(
    app: State,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    body::must_be(request.headers(), "application/json")?;
    let expected = expected(request.headers())?;
    let wanted: Wanted = body::json(&body::whole(request, &app.options.limits).await?)?;
    let mut tree = app.tree(&name)?;
    if let Some(branch) = &wanted.branch {
        tree = tree.on_branch(branch)?;
    }
    let done = app.write(move |_| do_it(&tree, &wanted, expected)).await?;
    Ok(app.mark.show(done.revision, written(done.json().to_string())))
}

fn do_it(tree: &TreeHandle, wanted: &Wanted, expected: Option<Revision>) -> Result<Done, Problem> {
    let meta = meta(wanted.author.as_deref(), wanted.message.as_deref())?;
    let revision = Revision::new(wanted.revision);
    let before = tree.snapshot();
    check(expected, before.revision())?;
    let committed = match (wanted.mode, expected) {
        (Mode::Undo, _) => tree.revert(revision, &meta)?,
        (Mode::Restore, None) => tree.restore(revision, &meta)?,
        (Mode::Restore, Some(_)) => {
            tree.compare_and_set_root(&before, &*tree.at(revision)?, &meta)?
        }
    };
    let is_changed = committed.revision > before.revision();
    let (revision, renamed) = (committed.revision, committed.renamed);
    Ok(Done { revision, is_changed, renamed })
}
