//! Commits of several trees in one step, all or none.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use jungle::{
    CommitOptions, CommittedTrees, JungleTransaction, NAME_BYTES_MAX, NotWritten, Revision,
    TreeHandle, UpdateError,
};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::commit::{Done, Level, limit_edits, listed, some, some_edits, told};
use super::edit::{Created, Edit, Edits};
use super::repeat::{Asked, Keyed, once};
use super::written;
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, Of, check, expected_tag};
use crate::limits::TREES_MAX;
use crate::once::Answer;
use crate::problem::Problem;
use crate::query::{self, Query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    author: Option<String>,
    message: Option<String>,
    durability: Option<Level>,
    #[serde(deserialize_with = "some_parts")]
    trees: Vec<Part>,
}

/// What is to be done on a branch of a tree.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    tree: String,
    branch: Option<String>,
    if_match: Option<String>,
    #[serde(deserialize_with = "some_edits")]
    edits: Vec<Edit>,
}

/// No more than may be in a commit, nor more edits in all of them.
fn some_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    let (mut trees, mut edits) = (0, 0);
    listed(deserializer, |part: &Part| {
        trees += 1;
        edits += part.edits.len();
        if trees > TREES_MAX {
            return Err(format!("more than {TREES_MAX} trees"));
        }
        limit_edits(edits)
    })
}

/// A part, with its branch.
struct Opened<'b> {
    part: &'b Part,
    tree: TreeHandle,
    expected: Option<Expected>,
}

/// What the edits of a part came to.
struct Made {
    created: Created,
    is_changed: bool,
    /// What they were done on top of.
    before: Revision,
}

pub(crate) async fn commit(app: Visitor, request: Request<Body>) -> Result<Response, Problem> {
    Query::of(request.uri(), &[])?;
    app.check_writes()?;
    let Asked { body, keyed, .. } = Asked::by(request, &app).await?;
    let answer = app.write(move |app| parse_and_do(app, &body, keyed)).await?;
    // All that it changes have this one.
    Ok(app.mark.show(answer.revision, written(answer.body)))
}

fn parse_and_do(app: &Visitor, body: &[u8], keyed: Option<Keyed>) -> Result<Answer, Problem> {
    let batch: Batch = body::json(body)?;
    let meta = app.meta(batch.author.as_deref(), batch.message.as_deref())?;
    let durability = batch.durability.map(Level::durability);
    let options = CommitOptions { durability, ..CommitOptions::from(&meta) };
    let all = open_all(app, &batch.trees)?;
    let trees: Vec<&TreeHandle> = all.iter().map(|of| &of.tree).collect();
    once(app, &trees, keyed, options, |options| do_it(app, &all, &options))
}

fn open_all<'b>(app: &Visitor, parts: &'b [Part]) -> Result<Vec<Opened<'b>>, Problem> {
    if parts.is_empty() {
        let detail = format_args!("0 trees; from 1 to {TREES_MAX} make a commit");
        return Err(Problem::bad(detail));
    }
    let mut all: Vec<Opened<'b>> = Vec::with_capacity(parts.len());
    for part in parts {
        // Problems say them.
        query::limit("tree", &part.tree, NAME_BYTES_MAX)?;
        query::limit("branch", part.branch.as_deref().unwrap_or_default(), NAME_BYTES_MAX)?;
        let of = part.opened(app).map_err(|problem| part.named(problem))?;
        if all.iter().any(|other| other.tree.branch_id() == of.tree.branch_id()) {
            return Err(part.named(Problem::bad("this is in the list twice")));
        }
        all.push(of);
    }
    Ok(all)
}

impl Part {
    fn opened(&self, app: &Visitor) -> Result<Opened<'_>, Problem> {
        some(&self.edits)?;
        let tree = self.branch(app)?;
        let expected = self.if_match.as_deref().map(|tag| expected_tag(&app.mark, tag));
        Ok(Opened { part: self, tree, expected: expected.transpose()?.flatten() })
    }

    /// The branch, of which something may be changed.
    fn branch(&self, app: &Visitor) -> Result<TreeHandle, Problem> {
        let tree = app.tree(&self.tree, Need::part(Role::Write))?;
        match &self.branch {
            Some(branch) => Ok(tree.on_branch(branch)?),
            None => Ok(tree),
        }
    }

    /// The problem, and which of the parts it is about.
    fn named(&self, problem: Problem) -> Problem {
        let problem = problem.with("tree", self.tree.as_str());
        match &self.branch {
            Some(branch) => problem
                .with("branch", branch.as_str())
                .within(format_args!("tree {:?}, branch {branch:?}", self.tree)),
            None => problem.within(format_args!("tree {:?}", self.tree)),
        }
    }
}

fn do_it(app: &Visitor, all: &[Opened<'_>], options: &CommitOptions) -> Result<Answer, Problem> {
    let committed = app.update_trees(options, |tx| {
        let (mut made, mut bytes) = (Vec::with_capacity(all.len()), 0);
        for of in all {
            let edited = of.edit(app, tx, &mut bytes);
            made.push(edited.map_err(|problem| of.part.named(problem))?);
        }
        Ok(made)
    });
    match committed {
        Ok(committed) => Ok(answer(all, committed)),
        Err(UpdateError::NotWritten(NotWritten::Deleted)) => Err(deleted(app, all)),
        Err(error) => Err(error.into()),
    }
}

/// Which of the branches is not there any more.
fn deleted(app: &Visitor, all: &[Opened<'_>]) -> Problem {
    let gone = |of: &Opened<'_>| Some(of.part.named(of.part.branch(app).err()?));
    all.iter().find_map(gone).unwrap_or_else(|| NotWritten::Deleted.into())
}

impl Opened<'_> {
    fn edit(
        &self,
        app: &Visitor,
        tx: &mut JungleTransaction,
        bytes: &mut usize,
    ) -> Result<Made, Problem> {
        let before = tx.revision_of(&self.tree);
        check(self.expected, Of(self.tree.branch_id(), before))?;
        let draft = tx.on(&self.tree);
        if self.expected.is_some() {
            // From now on a change anywhere is a change to what was read: then it is tried again,
            // and refused above.
            let _ = draft.root();
        }
        let edits = Edits { batch: &self.part.edits, app, tree: &self.tree.name() };
        let created = edits.apply_beside(draft, bytes)?;
        Ok(Made { created, is_changed: draft.is_changed(), before })
    }
}

fn answer(all: &[Opened<'_>], committed: CommittedTrees<Vec<Made>>) -> Answer {
    let CommittedTrees { value, revision: new, mut renamed, .. } = committed;
    let (mut is_changed, mut newest) = (false, Revision::default());
    let mut trees = Vec::with_capacity(all.len());
    for (of, made) in all.iter().zip(value) {
        let revision = if made.is_changed { new } else { made.before };
        let renamed = renamed.remove(&of.tree.branch_id()).unwrap_or_default();
        let done = Done { revision, is_changed: made.is_changed, renamed };
        let mut part = told(&made.created, &done);
        part["tree"] = of.part.tree.as_str().into();
        part["branch"] = of.tree.branch_name().into();
        trees.push(part);
        is_changed |= made.is_changed;
        newest = newest.max(revision);
    }
    let body = json!({"revision": newest.number(), "changed": is_changed, "trees": trees});
    Answer { revision: newest, body: body.to_string().into() }
}
