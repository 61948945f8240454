//! A server as a place: it is asked over HTTP, by what `docs/openapi.json` says.

use std::thread::sleep;
use std::time::Duration;

use jungle::Revision;
use jungle_server::{Remote, RemoteBody, RemoteError, RequestKey};
use jungle_tree::{Path, Snapshot, Tree, diff};
use jungle_words::audit::Page;
use jungle_words::{Info, time, with_causes};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::edits::{edits, unknown};
use super::history::no_revision;
use super::partial::Partial;
use super::{
    Audited, Back, Compared, Edit, Foreseen, Mark, On, Order, Part, Place, Reverted, TreeTold,
    Which,
};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::folder::Written;
use crate::near;

/// So many things are asked for at once, which is as many as a server tells.
pub(super) const PAGE: usize = 1000;

/// How long a server that is asked too much is left alone, and how often.
const WAIT: Duration = Duration::from_millis(200);
const WAITS: usize = 100;

/// How often an edit is sent that is not answered: each time it is waited longer before.
const SENDS: u32 = 5;

/// How often an edit is worked out anew because somebody else was quicker.
const TRIES: usize = 100;

/// A server.
pub(crate) struct Server {
    pub(super) remote: Remote,
    url: String,
}

/// What somebody asked for, for hints where it is not there.
#[derive(Clone, Copy)]
pub(super) struct Asked<'n> {
    pub(super) on: On<'n>,
    pub(super) rev: Option<&'n str>,
}

#[derive(Deserialize)]
struct TreePage {
    trees: Vec<TreeShown>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct TreeShown {
    name: String,
    revision: u64,
    nodes: Option<u64>,
}

#[derive(Deserialize)]
struct RevisionPage {
    revisions: Vec<Info>,
    next: Option<u64>,
}

#[derive(Deserialize)]
struct FoundPage {
    revision: u64,
    matches: Vec<FoundNode>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct FoundNode {
    path: String,
}

/// Branches or tags.
#[derive(Deserialize)]
struct Marks {
    #[serde(alias = "branches", alias = "tags")]
    marks: Vec<Marked>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Marked {
    name: String,
    revision: u64,
}

impl Server {
    /// A server that is told who asks.
    pub(crate) fn new(url: &str, asking: &args::Asking) -> Result<Server, Failure> {
        let token = asking.token()?;
        let remote = match asking.expose_token {
            true => Remote::exposing(url, token.as_deref()),
            false => Remote::new(url, token.as_deref()),
        };
        Ok(Server { remote: remote.map_err(|error| failure(&error))?, url: url.to_owned() })
    }

    /// What is at an address, as it comes.
    pub(super) fn get(
        &self,
        names: &[&str],
        parameters: &[(&str, &str)],
    ) -> Result<Vec<u8>, RemoteError> {
        self.send("GET", &Remote::address(names, parameters), &Json::Null)
    }

    /// What a copy of its folder needs that has all up to a revision, as it comes.
    pub(crate) fn copy(&self, since: Revision) -> Result<RemoteBody<'_>, Failure> {
        let address = Remote::address(&["folder", "copy"], &[]);
        let body = json!({"since": since.number()});
        let sent = patiently(|| self.remote.stream(&address, &body));
        sent.map_err(|error| match error.kind() {
            Some("gone") => failure(&error)
                .with_hint("its log does not go back to what the backup has: give a new folder"),
            _ => failure(&error),
        })
    }

    fn send(&self, method: &str, address: &str, body: &Json) -> Result<Vec<u8>, RemoteError> {
        patiently(|| self.remote.send(method, address, body))
    }

    /// Has something done in a commit. Where no answer comes it may be done: the server knows it by
    /// its key when it is sent again.
    pub(super) fn surely(
        &self,
        send: impl Fn(&RequestKey) -> Result<Vec<u8>, RemoteError>,
    ) -> Result<Vec<u8>, RemoteError> {
        let key = RequestKey::new()?;
        let send = || patiently(|| send(&key));
        let unanswered = match send() {
            Err(error @ RemoteError::Broken { .. }) => error,
            answer => return answer,
        };
        for times in 1..SENDS {
            sleep(WAIT * times);
            match send() {
                Err(error) if error.is_away() => {}
                answer => return answer,
            }
        }
        Err(unanswered)
    }

    /// What is at an address, which is JSON.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        names: &[&str],
        parameters: &[(&str, &str)],
    ) -> Result<T, RemoteError> {
        self.read(&self.get(names, parameters)?)
    }

    fn post<T: DeserializeOwned>(&self, names: &[&str], body: &Json) -> Result<T, RemoteError> {
        self.read(&self.send("POST", &Remote::address(names, &[]), body)?)
    }

    fn delete(&self, names: &[&str]) -> Result<(), RemoteError> {
        self.send("DELETE", &Remote::address(names, &[]), &Json::Null).map(drop)
    }

    /// What an answer says.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, RemoteError> {
        serde_json::from_slice(answer).map_err(|_| self.unexpected())
    }

    /// It answered what no server of ours does.
    pub(super) fn unexpected(&self) -> RemoteError {
        RemoteError::Other { url: self.url.clone(), status: 200 }
    }

    /// Why something was not done, with what may have been meant.
    pub(super) fn refused(&self, error: &RemoteError, asked: Asked<'_>) -> Failure {
        let failure = failure(error);
        let On { tree, branch } = asked.on;
        match (error.kind(), branch, asked.rev) {
            (Some("no-such-tree"), ..) => self.no_tree(failure, tree, "`trees` lists them"),
            (Some("no-such-branch"), Some(branch), _) => {
                let Ok(branches) = self.marks(tree, Mark::Branch) else { return failure };
                no_branch(tree, branch, &branches)
            }
            (Some("no-such-revision"), _, Some(rev))
                if failure.message() == no_revision(tree, rev) =>
            {
                let marks = self.marks(tree, Mark::Tag).and_then(|mut marks| {
                    marks.extend(self.marks(tree, Mark::Branch)?);
                    Ok(marks)
                });
                let Ok(marks) = marks else { return failure };
                let names = marks.iter().map(|(name, _)| &**name);
                let otherwise = "`log` lists revisions, `tag` and `branch` names";
                near::no_such(failure.message(), rev, names, otherwise)
            }
            _ => failure,
        }
    }

    fn no_tree(&self, failure: Failure, tree: &str, otherwise: &str) -> Failure {
        let Ok(trees) = self.trees() else { return failure };
        let names = trees.iter().map(|told| &*told.tree);
        near::no_such(failure.message(), tree, names, otherwise)
    }

    /// As [`refused`](Server::refused), where a tree itself is named.
    fn tree_refused(&self, error: &RemoteError, tree: &str) -> Failure {
        match error.kind() {
            Some("no-such-tree") => {
                self.no_tree(failure(error), tree, "`jungle trees DIR` lists them")
            }
            _ => failure(error),
        }
    }

    /// The newest revision, as also who may do something in a part of the tree is told it.
    fn newest(&self, on: On<'_>) -> Result<u64, Failure> {
        let Some(branch) = on.branch else {
            let tree = self.ask::<TreeShown>(&["trees", on.tree], &[]);
            let tree = tree.map_err(|error| self.refused(&error, Asked { on, rev: None }))?;
            return Ok(tree.revision);
        };
        let branches = self.marks(on.tree, Mark::Branch)?;
        let newest = branches.iter().find(|(name, _)| name == branch);
        newest.map(|(_, newest)| *newest).ok_or_else(|| no_branch(on.tree, branch, &branches))
    }

    /// Edits what is the newest revision now; nothing if it was not any more when that was sent.
    fn try_edit(
        &self,
        on: On<'_>,
        meta: &args::Meta,
        at: &Path,
        done: Edit<'_>,
    ) -> Result<Option<Written>, Failure> {
        let revision = self.newest(on)?;
        let mut partial = Partial::new(self, on, Some(revision.to_string()))?;
        partial.around(at)?;
        let edits = loop {
            let before = partial.snapshot();
            let mut edited = Tree::from_snapshot(&before);
            if let Err(failure) = edited.edit(done) {
                // What it says of those beside may be about some that are not here.
                if partial.complete()? {
                    continue;
                }
                return Err(failure);
            }
            let changes = diff(&before, &edited.snapshot());
            let unknown = unknown(&changes);
            if unknown.is_empty() {
                break edits(&before, &changes)?;
            }
            unknown.iter().try_for_each(|path| partial.expand(path))?;
        };
        if edits.is_empty() {
            return Ok(Some(Written { revision, changed: false }));
        }
        let body = json!({"author": meta.author, "message": meta.message, "edits": edits});
        let branch = on.branch.map(|branch| ("branch", branch));
        let address = Remote::address(&["trees", on.tree, "commits"], branch.as_slice());
        let written = self.surely(|key| self.remote.commit(&address, &body, revision, key));
        match written.and_then(|written| self.read(&written)) {
            Ok(written) => Ok(Some(written)),
            Err(error) if error.kind() == Some("changed") => Ok(None),
            Err(error) => Err(self.not_done(&error, Asked { on, rev: None })),
        }
    }

    /// Why something was not committed.
    pub(super) fn not_done(&self, error: &RemoteError, asked: Asked<'_>) -> Failure {
        match error {
            RemoteError::Broken { .. } => {
                failure(error).with_hint("it may have been done: `jungle log` tells")
            }
            _ => self.refused(error, asked),
        }
    }
}

impl Place for Server {
    fn trees(&self) -> Result<Vec<TreeTold>, Failure> {
        let (mut trees, mut after) = (Vec::new(), None::<String>);
        let limit = PAGE.to_string();
        loop {
            let mut parameters = vec![("limit", &*limit)];
            parameters.extend(after.as_deref().map(|after| ("after", after)));
            let page: TreePage =
                self.ask(&["trees"], &parameters).map_err(|error| failure(&error))?;
            trees.extend(page.trees.into_iter().map(TreeTold::from));
            let Some(next) = page.next else { return Ok(trees) };
            after = Some(next);
        }
    }

    fn create_tree(&self, name: &str, _: &args::By) -> Result<TreeTold, Failure> {
        let tree = self.post::<TreeShown>(&["trees"], &json!({"name": name}));
        tree.map(TreeTold::from).map_err(|error| failure(&error))
    }

    fn rename_tree(&self, old: &str, new: &str, _: &args::By) -> Result<TreeTold, Failure> {
        let address = Remote::address(&["trees", old], &[]);
        let renamed = self.send("PATCH", &address, &json!({"name": new}));
        let tree = renamed.and_then(|tree| self.read::<TreeShown>(&tree));
        tree.map(TreeTold::from).map_err(|error| self.tree_refused(&error, old))
    }

    fn delete_tree(&self, name: &str, _: &args::By) -> Result<(), Failure> {
        self.delete(&["trees", name]).map_err(|error| self.tree_refused(&error, name))
    }

    fn look_on(&self, on: On<'_>, at: Option<&str>, part: Part<'_>) -> Result<Snapshot, Failure> {
        let mut partial = Partial::new(self, on, at.map(str::to_owned))?;
        match part {
            Part::Whole(path) => partial.whole(path)?,
            Part::Members(path) => partial.members(path)?,
        }
        Ok(partial.snapshot())
    }

    fn find(
        &self,
        tree: &str,
        at: Option<&str>,
        expression: &str,
        each: &mut dyn FnMut(Path) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let on = On { tree, branch: None };
        let (mut at, mut after) = (at.map(str::to_owned), None::<String>);
        let limit = PAGE.to_string();
        loop {
            let mut parameters = vec![("where", expression), ("limit", &*limit)];
            parameters.extend(at.as_deref().map(|at| ("at", at)));
            parameters.extend(after.as_deref().map(|after| ("after", after)));
            let page = self.ask::<FoundPage>(&["trees", tree, "search"], &parameters);
            let asked = Asked { on, rev: at.as_deref() };
            let page = page.map_err(|error| self.refused(&error, asked))?;
            for found in page.matches {
                let path = found.path.parse::<Path>();
                if !each(path.map_err(|_| failure(&self.unexpected()))?)? {
                    return Ok(());
                }
            }
            if page.next.is_none() {
                return Ok(());
            }
            // What comes is of the same version.
            (at, after) = (Some(page.revision.to_string()), page.next);
        }
    }

    fn log(
        &self,
        on: On<'_>,
        which: &Which<'_>,
        each: &mut dyn FnMut(&Info) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let order = match which.order {
            Order::NewestFirst => "backward",
            Order::OldestFirst => "forward",
        };
        let path = which.below.map(Path::to_string);
        let (mut left, mut after) = (which.limit, None::<String>);
        loop {
            let limit = left.clamp(1, PAGE).to_string();
            let mut parameters = vec![("order", order), ("limit", &*limit)];
            parameters.extend(on.branch.map(|branch| ("branch", branch)));
            parameters.extend(path.as_deref().map(|path| ("path", path)));
            parameters.extend(after.as_deref().map(|after| ("after", after)));
            let page = self.ask::<RevisionPage>(&["trees", on.tree, "revisions"], &parameters);
            let page = page.map_err(|error| self.refused(&error, Asked { on, rev: None }))?;
            for info in page.revisions.iter().take(left) {
                each(info)?;
            }
            left = left.saturating_sub(page.revisions.len());
            let Some(next) = page.next.filter(|_| left > 0) else { break };
            after = Some(next.to_string());
        }
        match which.below.filter(|_| left == which.limit) {
            Some(below) => self.must_be_there(on, below),
            None => Ok(()),
        }
    }

    fn revision(&self, tree: &str, rev: &str) -> Result<Info, Failure> {
        self.info(On { tree, branch: None }, rev)
    }

    fn doing(&self, tree: &str, rev: &str, below: &Path) -> Result<(Info, Compared), Failure> {
        self.differing(On { tree, branch: None }, &[("to", rev)], below)
    }

    fn compare(
        &self,
        tree: &str,
        (before, after): (&str, Option<&str>),
        below: &Path,
    ) -> Result<Compared, Failure> {
        let mut versions = vec![("from", before)];
        versions.extend(after.map(|after| ("to", after)));
        let (_, compared) = self.differing(On { tree, branch: None }, &versions, below)?;
        Ok(compared)
    }

    fn marks(&self, of: &str, kind: Mark) -> Result<Vec<(String, u64)>, Failure> {
        let asked = Asked { on: On { tree: of, branch: None }, rev: None };
        let (mut marks, mut next) = (Vec::new(), None::<String>);
        loop {
            let after = next.as_deref().map(|after| ("after", after));
            let page = self.ask::<Marks>(&["trees", of, kind.address()], after.as_slice());
            let page = page.map_err(|error| self.refused(&error, asked))?;
            let told = page.marks.into_iter();
            marks.extend(told.map(|Marked { name, revision }| (plain(&name), revision)));
            next = page.next;
            if next.is_none() {
                return Ok(marks);
            }
        }
    }

    fn mark(
        &self,
        of: &str,
        kind: Mark,
        (name, rev): (&str, Option<&str>),
        _: &args::By,
    ) -> Result<u64, Failure> {
        let asked = Asked { on: On { tree: of, branch: None }, rev };
        let body = json!({"name": name, "at": rev});
        let made = self.post::<Marked>(&["trees", of, kind.address()], &body);
        made.map(|made| made.revision).map_err(|error| self.refused(&error, asked))
    }

    fn unmark(&self, of: &str, kind: Mark, name: &str, _: &args::By) -> Result<(), Failure> {
        let done = self.delete(&["trees", of, kind.address(), name]);
        done.map_err(|error| {
            let on = On { tree: of, branch: (kind == Mark::Branch).then_some(name) };
            let refused = self.refused(&error, Asked { on, rev: None });
            if (kind, error.kind()) != (Mark::Tag, Some("no-such-branch")) {
                return refused;
            }
            let Ok(tags) = self.marks(of, kind) else { return refused };
            let names = tags.iter().map(|(name, _)| &**name);
            near::no_such(refused.message(), name, names, "`tag` lists them")
        })
    }

    fn audit(&self, asked: &Audited<'_>, after: u64) -> Result<Page, Failure> {
        let (after, limit) = (after.to_string(), PAGE.to_string());
        let since = asked.since.map(time::text);
        let mut parameters = vec![("after", &*after), ("limit", &*limit)];
        parameters.extend(asked.tree.map(|tree| ("tree", tree)));
        parameters.extend(since.as_deref().map(|since| ("since", since)));
        self.ask(&["folder", "audit"], &parameters).map_err(|error| failure(&error))
    }

    fn edit(
        &self,
        on: On<'_>,
        meta: &args::Meta,
        at: &Path,
        done: Edit<'_>,
    ) -> Result<Written, Failure> {
        for _ in 0..TRIES {
            if let Some(written) = self.try_edit(on, meta, at, done)? {
                return Ok(written);
            }
        }
        let message = format_args!("{TRIES} times somebody else was quicker; nothing was changed");
        Err(Failure::new(Exit::Conflict, message))
    }

    fn revert(
        &self,
        on: On<'_>,
        rev: &str,
        back: Back<'_>,
        meta: &args::Meta,
    ) -> Result<Reverted, Failure> {
        self.gone_back(on, rev, back, meta)
    }

    fn foresee(&self, on: On<'_>, rev: &str, back: Back<'_>) -> Result<Foreseen, Failure> {
        self.foreseen(on, rev, back)
    }
}

impl Mark {
    /// Where those of a tree are.
    fn address(self) -> &'static str {
        match self {
            Mark::Branch => "branches",
            Mark::Tag => "tags",
        }
    }
}

impl From<TreeShown> for TreeTold {
    fn from(TreeShown { name, revision, nodes }: TreeShown) -> TreeTold {
        TreeTold { tree: plain(&name), revision, nodes }
    }
}

fn no_branch(tree: &str, branch: &str, branches: &[(String, u64)]) -> Failure {
    let message = format_args!("the tree {tree:?} has no branch {branch:?}");
    let names = branches.iter().map(|(name, _)| &**name);
    near::no_such(message, branch, names, "`branch` lists them")
}

/// Asks. Where too much is asked at once, which does nothing, or the same is still being done, it
/// is asked again a little later.
pub(super) fn patiently<T>(ask: impl Fn() -> Result<T, RemoteError>) -> Result<T, RemoteError> {
    for _ in 0..WAITS {
        match ask() {
            Err(error) if matches!(error.kind(), Some("too-many" | "busy")) => sleep(WAIT),
            answer => return answer,
        }
    }
    ask()
}

/// Why a server did not do something, as it says itself.
pub(super) fn failure(error: &RemoteError) -> Failure {
    let exit = match error {
        RemoteError::Url { .. } | RemoteError::Token | RemoteError::Exposed { .. } => Exit::Usage,
        error if error.is_away() => Exit::Unreachable,
        error => match error.kind() {
            Some("gone") => Exit::NotFound,
            Some(kind) if kind.starts_with("no-such-") => Exit::NotFound,
            _ => Exit::Error,
        },
    };
    let failure = Failure::new(exit, plain(&with_causes(error)));
    match error {
        RemoteError::Refused { kind, .. } if kind == "unauthorized" => {
            failure.with_hint("who asks is said by a token, in JUNGLE_TOKEN or a --token-file")
        }
        RemoteError::Refused { hint: Some(hint), .. } => failure.with_hint(plain(hint)),
        RemoteError::Exposed { .. } => {
            failure.with_hint("ask it by https://; --expose-token sends the token all the same")
        }
        RemoteError::Unreached { .. } => {
            failure.with_hint("`jungle serve` says at which URL a server can be asked")
        }
        _ => failure,
    }
}

/// Without what would move the cursor: others say it.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}
