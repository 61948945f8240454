//! Commits: edits in one step, all or none.

use std::fmt;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use jungle::{CommitError, CommitOptions, Committed, Durability, Path, Revision, TreeHandle};
use serde::de::{self, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};

use super::edit::{Created, Edit, Edits};
use super::repeat::{Asked, Keyed, once};
use super::{Named, written};
use crate::access::{Need, Role, Visitor};
use crate::body;
use crate::etag::{Expected, Of, changed, check};
use crate::limits::EDITS_MAX;
use crate::once::Answer;
use crate::problem::Problem;
use crate::query::Query;

/// Bytes of a batch that is so short that it is done at once.
const SHORT_BYTES_MAX: usize = 8 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    author: Option<String>,
    message: Option<String>,
    durability: Option<Level>,
    #[serde(deserialize_with = "some_edits")]
    pub(super) edits: Vec<Edit>,
}

/// No more than may be in a batch.
pub(super) fn some_edits<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Edit>, D::Error> {
    let mut count = 0;
    listed(deserializer, |_: &Edit| {
        count += 1;
        limit_edits(count)
    })
}

pub(super) fn limit_edits(count: usize) -> Result<(), String> {
    if count <= EDITS_MAX { Ok(()) } else { Err(format!("more than {EDITS_MAX} edits")) }
}

/// A list of which each thing must be let in: the others would take ten times the memory of their
/// text.
pub(super) fn listed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    let_in: impl FnMut(&T) -> Result<(), String>,
) -> Result<Vec<T>, D::Error> {
    struct Listed<T, F>(F, PhantomData<T>);

    impl<'de, T, F> de::Visitor<'de> for Listed<T, F>
    where
        T: Deserialize<'de>,
        F: FnMut(&T) -> Result<(), String>,
    {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut all: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(thing) = all.next_element::<T>()? {
                (self.0)(&thing).map_err(<A::Error as de::Error>::custom)?;
                list.push(thing);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(Listed(let_in, PhantomData))
}

/// What the commit has to survive.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    Memory,
    Buffered,
    Sync,
}

impl Level {
    pub(super) fn durability(self) -> Durability {
        match self {
            Level::Memory => Durability::Memory,
            Level::Buffered => Durability::Buffered,
            Level::Sync => Durability::Sync,
        }
    }
}

impl Batch {
    pub(super) fn options(&self, app: &Visitor) -> Result<CommitOptions, Problem> {
        some(&self.edits)?;
        let meta = app.meta(self.author.as_deref(), self.message.as_deref())?;
        Ok(CommitOptions::from(&meta))
    }

    pub(super) fn durability(&self) -> Option<Durability> {
        self.durability.map(Level::durability)
    }
}

/// Refuses to commit nothing.
pub(super) fn some(edits: &[Edit]) -> Result<(), Problem> {
    match edits {
        [] => Err(Problem::bad(format_args!("0 edits; from 1 to {EDITS_MAX} make a commit"))),
        _ => Ok(()),
    }
}

pub(crate) async fn commit(
    app: Visitor,
    Named(name): Named<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let query = Query::of(request.uri(), &["branch"])?;
    let tree = app.branch(&name, &query, Need::part(Role::Write))?;
    let Asked { body, expected, keyed } = Asked::by(request, &app).await?;
    let branch = tree.branch_id();
    let answer = match keyed {
        None if body.len() <= SHORT_BYTES_MAX && !(expected.is_some() && app.cluster.is_some()) => {
            short(&app, &tree, &body, expected).await?
        }
        // In a cluster, one with a condition waits for its place in the log.
        keyed => app.write(move |app| parse_and_do(app, &tree, &body, expected, keyed)).await?,
    };
    Ok(app.mark.show(Of(branch, answer.revision), written(answer.body)))
}

/// What a commit came to.
pub(crate) struct Done {
    pub(crate) revision: Revision,
    pub(crate) is_changed: bool,
    pub(crate) renamed: Vec<(Path, Path)>,
}

impl Done {
    /// With what was made, and whether anything was changed.
    fn of(committed: Committed<(Created, bool)>) -> (Created, Done) {
        let Committed { revision, renamed, value: (created, is_changed), .. } = committed;
        (created, Done { revision, is_changed, renamed })
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "revision": self.revision.number(),
            "changed": self.is_changed,
            "renamed": renamed(&self.renamed),
        })
    }

    pub(super) fn answer(&self) -> Answer {
        Answer { revision: self.revision, body: self.json().to_string().into() }
    }

    /// Where a node that was made is after all.
    fn place(&self, made: &Path) -> Path {
        let moved = self.renamed.iter().find(|(from, _)| made.starts_with(from));
        let Some((from, to)) = moved else {
            return made.clone();
        };
        to.iter().chain(&made[from.depth()..]).cloned().collect()
    }
}

/// What is told of nodes that have other keys than where they were put.
pub(super) fn renamed(nodes: &[(Path, Path)]) -> Vec<Json> {
    let told = |(from, to): &(Path, Path)| json!({"from": from.to_string(), "to": to.to_string()});
    nodes.iter().map(told).collect()
}

/// Does it on the thread that serves, or the one that commits for all.
async fn short(
    app: &Visitor,
    tree: &TreeHandle,
    body: &[u8],
    expected: Option<Expected>,
) -> Result<Answer, Problem> {
    let batch: Batch = body::json(body)?;
    let durability = batch.durability();
    if expected.is_some() {
        let quick = || {
            let at_once = Some(Durability::Memory);
            let options = CommitOptions { durability: at_once, ..batch.options(app)? };
            let answer = do_it(app, tree, &batch, options, expected)?;
            let revision = answer.revision;
            Ok((answer, revision))
        };
        return app.commit(durability, quick).await;
    }
    let options = CommitOptions { durability, ..batch.options(app)? };
    let (name, visitor) = (tree.name(), app.clone());
    let committed = app.update(tree, options, move |draft| {
        Edits { batch: &batch.edits, app: &visitor, tree: &name }.all(draft)
    });
    let (created, done) = Done::of(committed.await?);
    Ok(answer(&created, &done))
}

fn parse_and_do(
    app: &Visitor,
    tree: &TreeHandle,
    body: &[u8],
    expected: Option<Expected>,
    keyed: Option<Keyed>,
) -> Result<Answer, Problem> {
    let batch: Batch = body::json(body)?;
    let options = CommitOptions { durability: batch.durability(), ..batch.options(app)? };
    once(app, &[tree], keyed, options, |options| do_it(app, tree, &batch, options, expected))
}

fn do_it(
    app: &Visitor,
    tree: &TreeHandle,
    batch: &Batch,
    options: CommitOptions,
    expected: Option<Expected>,
) -> Result<Answer, Problem> {
    let edits = Edits { batch: &batch.edits, app, tree: &tree.name() };
    match expected {
        None => anywhere(tree, &options, &edits),
        Some(_) => compare_and_set(tree, options, &edits, expected),
    }
}

fn answer(created: &Created, done: &Done) -> Answer {
    Answer { revision: done.revision, body: told(created, done).to_string().into() }
}

/// What a commit came to, with what each edit has made.
pub(super) fn told(created: &Created, done: &Done) -> Json {
    let mut told = done.json();
    let paths = created.iter().map(|made| made.as_ref().map(|made| done.place(made).to_string()));
    told["created"] = paths.collect::<Vec<_>>().into();
    told
}

/// Commits on top of whatever others did meanwhile.
fn anywhere(
    tree: &TreeHandle,
    options: &CommitOptions,
    edits: &Edits<'_>,
) -> Result<Answer, Problem> {
    let (created, done) = Done::of(tree.update_with(options, |draft| edits.all(draft))?);
    Ok(answer(&created, &done))
}

/// Commits if nobody has committed since the revision that is expected.
fn compare_and_set(
    tree: &TreeHandle,
    options: CommitOptions,
    edits: &Edits<'_>,
    expected: Option<Expected>,
) -> Result<Answer, Problem> {
    let mut tx = tree.begin(options);
    check(expected, Of(tree.branch_id(), tx.began_at()))?;
    // From now on a change anywhere is a change to what was read.
    let _ = tx.root();
    let created = edits.apply(&mut tx)?;
    let is_changed = tx.is_changed();
    match tx.commit() {
        Ok(Committed { revision, renamed, .. }) => {
            Ok(answer(&created, &Done { revision, is_changed, renamed }))
        }
        Err(CommitError::Conflict(_)) => Err(changed(tree.snapshot().revision())),
        Err(error) => Err(error.into()),
    }
}
