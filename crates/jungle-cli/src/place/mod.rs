//! Places where trees are, as commands see them: what they ask is the same wherever that is.

mod edits;
mod events;
mod folder;
mod history;
mod partial;
mod server;
mod watching;

use jungle::{Editor, Path, Timestamp};
use jungle_tree::Snapshot;
use jungle_words::Info;
use jungle_words::audit::Page;
use jungle_words::differences::{Difference, differences};
use serde::Serialize;

use crate::args;
use crate::failure::Failure;
use crate::folder::Written;
use crate::patch::Differences;
use crate::settle::Settle;

pub(crate) use server::Server;
pub(crate) use watching::{After, Watched};

/// Where trees are.
pub(crate) trait Place {
    /// All trees, by their names.
    fn trees(&self) -> Result<Vec<TreeTold>, Failure>;

    /// Makes a tree, of one bare node.
    fn create_tree(&self, name: &str, by: &args::By) -> Result<TreeTold, Failure>;

    fn rename_tree(&self, old: &str, new: &str, by: &args::By) -> Result<TreeTold, Failure>;

    fn delete_tree(&self, name: &str, by: &args::By) -> Result<(), Failure>;

    /// A version, with at least this part of it: the revision of this name, without a name the
    /// newest.
    fn look(&self, tree: &str, at: Option<&str>, part: Part<'_>) -> Result<Snapshot, Failure> {
        self.look_on(On { tree, branch: None }, at, part)
    }

    /// The same of a branch.
    fn look_on(&self, on: On<'_>, at: Option<&str>, part: Part<'_>) -> Result<Snapshot, Failure>;

    /// Gives the nodes of a version for which an expression is true, in document order, for as long
    /// as more are wanted.
    fn find(
        &self,
        tree: &str,
        at: Option<&str>,
        expression: &str,
        each: &mut dyn FnMut(Path) -> Result<bool, Failure>,
    ) -> Result<(), Failure>;

    /// Tells revisions.
    fn log(
        &self,
        on: On<'_>,
        which: &Which<'_>,
        each: &mut dyn FnMut(&Info) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// The revision of this name.
    fn revision(&self, tree: &str, rev: &str) -> Result<Info, Failure>;

    /// What a revision did at a path and below, and what is told of it.
    fn doing(&self, tree: &str, rev: &str, below: &Path) -> Result<(Info, Compared), Failure>;

    /// What differs at a path and below between the revisions of these names; without the second
    /// one it is the newest.
    fn compare(
        &self,
        tree: &str,
        between: (&str, Option<&str>),
        below: &Path,
    ) -> Result<Compared, Failure>;

    /// The names that revisions of a tree have, with these.
    fn marks(&self, of: &str, kind: Mark) -> Result<Vec<(String, u64)>, Failure>;

    /// Gives a revision, without one the newest, a name, which is said first; gives its number.
    fn mark(
        &self,
        of: &str,
        kind: Mark,
        named: (&str, Option<&str>),
        by: &args::By,
    ) -> Result<u64, Failure>;

    fn unmark(&self, of: &str, kind: Mark, name: &str, by: &args::By) -> Result<(), Failure>;

    /// Tells what was done that is no edit, behind a revision: a page of it, the oldest first.
    fn audit(&self, asked: &Audited<'_>, after: u64) -> Result<Page, Failure>;

    /// Edits a tree in one commit, at this path or in the node above it. What is done may be done
    /// several times, as if it were once.
    fn edit(
        &self,
        on: On<'_>,
        meta: &args::Meta,
        at: &Path,
        done: Edit<'_>,
    ) -> Result<Written, Failure>;

    /// Goes back over the revision of this name, or to it, in one commit.
    fn revert(
        &self,
        on: On<'_>,
        rev: &str,
        back: Back<'_>,
        meta: &args::Meta,
    ) -> Result<Reverted, Failure>;

    /// What that would do, as far as it is settled.
    fn foresee(&self, on: On<'_>, rev: &str, back: Back<'_>) -> Result<Foreseen, Failure>;
}

/// What of an audit is told.
pub(crate) struct Audited<'n> {
    /// What was done to a tree that has this name, or had it.
    pub(crate) tree: Option<&'n str>,
    /// What was done then or later.
    pub(crate) since: Option<Timestamp>,
}

/// What is done in a commit.
pub(crate) type Edit<'e> = &'e dyn Fn(&mut Editor) -> Result<(), Failure>;

/// How much of a version is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Part<'p> {
    /// The value at a path.
    Whole(&'p Path),
    /// What kind of thing is at a path, and each of its members.
    Members(&'p Path),
}

/// Two versions, compared.
pub(crate) enum Compared {
    /// Both are here.
    Here { before: Snapshot, after: Snapshot },
    /// It was told what differs at the path that was asked for; nothing if neither has something
    /// there.
    Told(Option<Differences>),
}

impl Compared {
    /// What differs in `below`, which was asked for, and deeper; nothing if neither has something
    /// there.
    pub(crate) fn differences(&self, below: &Path) -> Option<Vec<Difference<'_>>> {
        match self {
            Compared::Here { before, after } => differences(before, after, below),
            Compared::Told(told) => told.as_ref().map(Differences::all),
        }
    }
}

/// How it is gone back.
#[derive(Clone, Copy)]
pub(crate) enum Back<'s> {
    /// What the revision did is taken back, and what has been changed since is settled so.
    Over(Settle<'s>),
    /// The tree becomes what it was at the revision.
    To,
}

/// What came of it.
pub(crate) enum Reverted {
    Written(Written),
    Contradicted(Contradicted),
}

/// What a revision did has been changed since, at these places, and it is not settled.
pub(crate) struct Contradicted {
    pub(crate) revision: u64,
    pub(crate) clashes: Vec<Clash>,
    /// In how many more, which a server did not tell.
    pub(crate) left_out: usize,
}

/// What would come of it.
pub(crate) struct Foreseen {
    pub(crate) compared: Compared,
    pub(crate) contradicted: Option<Contradicted>,
}

/// A place where what was done has been changed since, and the kind of conflict.
pub(crate) struct Clash {
    pub(crate) path: Path,
    pub(crate) kind: String,
}

/// What a place is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    /// To read, and nobody may write to it meanwhile.
    ReadAlone,
    Write,
    /// To write, and it is made when it is not there.
    Create,
}

/// A tree, on a branch.
#[derive(Clone, Copy)]
pub(crate) struct On<'n> {
    pub(crate) tree: &'n str,
    /// Without one it is main.
    pub(crate) branch: Option<&'n str>,
}

/// A name of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It goes on with each commit there.
    Branch,
    Tag,
}

/// Which revisions are told.
pub(crate) struct Which<'p> {
    /// Those that changed something there or below, if it is said where.
    pub(crate) below: Option<&'p Path>,
    pub(crate) order: Order,
    pub(crate) limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    NewestFirst,
    OldestFirst,
}

/// Is this the URL of a server? Large letters mean the same in its scheme.
pub(crate) fn is_url(place: &str) -> bool {
    let scheme = place.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Refuses a server where only a folder or a document will do.
pub(crate) fn no_server(place: &str) -> Result<(), Failure> {
    if !is_url(place) {
        return Ok(());
    }
    // It is not repeated: it may have a password in it.
    let hint = "get, put, rm, ls, find, log, show, diff, watch, revert, at, trees, branch, tag, \
                audit and backup do; see docs/api.md";
    Err(Failure::usage("this command asks no server").with_hint(hint))
}

/// What is told of a tree; the names of the fields are those of the JSON form.
#[derive(Serialize)]
pub(crate) struct TreeTold {
    pub(crate) tree: String,
    pub(crate) revision: u64,
    /// A server tells those who may read all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nodes: Option<u64>,
}
