//! Who asks, and the trees: a handler gets a tree from its visitor only, who must say what for.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::request::Parts;
use jungle::{
    CommitMeta, CommitOptions, Committed, CommittedTrees, Draft, Durability, Jungle,
    JungleTransaction, Key, NoSuchTree, Path, Revision, TreeHandle, UpdateError,
};
use jungle_cluster::Local;
use jungle_words::Found;
use tokio::sync::watch;
use tokio::time::timeout;

use super::file::Access;
use super::gate::refused;
use super::grants::Role;
use super::share::Whose;
use super::view::View;
use crate::app::{App, aside, aside_with};
use crate::client::Client;
use crate::cluster;
use crate::limits::line::Turn;
use crate::problem::{Kind, Problem};
use crate::query::{self, Query};

/// Further back than this it takes long to count.
const STEPS_NEAR: usize = 1_000;

/// The trees. What is in here is seen by this file alone.
pub(crate) struct Trees(Jungle);

impl Trees {
    pub(crate) fn new(jungle: Jungle) -> Trees {
        Trees(jungle)
    }
}

/// Who a request comes from.
#[derive(Clone)]
pub(crate) enum Who {
    /// There is no access file.
    Anybody,
    /// There is one, and it does not say who this is.
    Stranger,
    Known(Known),
}

impl Who {
    /// The user's, or the token's.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        match self {
            Who::Known(known) => Some(Arc::clone(&known.name)),
            Who::Anybody | Who::Stranger => None,
        }
    }

    /// Is it granted what it was when the request was let in, and known by the same? Else what was
    /// asked for since must be asked for again.
    pub(crate) fn is_as_before(&self) -> bool {
        let Who::Known(Known { name, access, changes, until }) = self else {
            return true;
        };
        let now = changes.borrow();
        !until.is_over() && (Arc::ptr_eq(access, &now) || access.is_same_for(name, &now))
    }
}

#[derive(Clone)]
pub(crate) struct Known {
    pub(super) name: Arc<str>,
    pub(super) access: Arc<Access>,
    /// Tells when `access` is not what holds any more.
    pub(super) changes: watch::Receiver<Arc<Access>>,
    pub(super) until: Until,
}

/// How long it is known who somebody is.
#[derive(Clone)]
pub(super) struct Until {
    pub(super) time: Option<Instant>,
    /// Its other end is gone when the session is.
    pub(super) session: Option<watch::Receiver<()>>,
}

impl Until {
    fn is_over(&self) -> bool {
        self.time.is_some_and(|time| time <= Instant::now())
            || self.session.as_ref().is_some_and(|alive| alive.has_changed().is_err())
    }

    async fn wait(&mut self) {
        let time = async {
            match self.time {
                Some(time) => tokio::time::sleep_until(time.into()).await,
                None => std::future::pending().await,
            }
        };
        let session = async {
            match &mut self.session {
                // Nothing is ever sent.
                Some(alive) => _ = alive.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time => {}
            () = session => {}
        }
    }
}

/// Who asks, with what all requests share.
#[derive(Clone)]
pub(crate) struct Visitor {
    app: Arc<App>,
    who: Who,
    /// Where the request comes from.
    client: Option<Client>,
    /// What was committed on this server and has no place in the cluster's log yet, to be seen.
    own: Option<Arc<Local>>,
}

impl Deref for Visitor {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

/// The guard has found out who it is; where it has not, it is nobody.
impl FromRequestParts<Arc<App>> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Visitor, Problem> {
        let who = match &app.gate {
            None => Who::Anybody,
            // It stays there for the body, which may take long.
            Some(_) => parts.extensions.get().cloned().unwrap_or(Who::Stranger),
        };
        let cluster = app.cluster.as_ref().filter(|_| cluster::sees_own(&parts.headers));
        let own = cluster.and_then(|cluster| cluster.opened_local()).cloned();
        let client = parts.extensions.get().copied();
        Ok(Visitor { app: Arc::clone(app), who, client, own })
    }
}

/// What somebody wants to do with a tree.
#[derive(Clone, Copy)]
pub(crate) struct Need<'p> {
    role: Role,
    /// The node, with all below; `None` is somewhere in the tree.
    place: Option<&'p [Key]>,
}

impl<'p> Need<'p> {
    /// To read a node, and all below it.
    pub(crate) fn read(path: &'p [Key]) -> Need<'p> {
        Need { role: Role::Read, place: Some(path) }
    }

    /// To change a node, and all below it.
    pub(crate) fn write(path: &'p [Key]) -> Need<'p> {
        Need { role: Role::Write, place: Some(path) }
    }

    /// The role for the whole tree.
    pub(crate) fn whole(role: Role) -> Need<'static> {
        Need { role, place: Some(&[]) }
    }

    /// The role for some part of the tree: each place is asked for by itself then.
    pub(crate) fn part(role: Role) -> Need<'static> {
        Need { role, place: None }
    }
}

impl Visitor {
    /// The tree of this name.
    pub(crate) fn tree(&self, name: &str, need: Need<'_>) -> Result<TreeHandle, Problem> {
        self.check(name, need)?;
        Ok(self.open(name)?.by(&self.meta(None, None)?).steps_max(self.steps_max()))
    }

    /// The tree of this name, on the branch that the query says.
    pub(crate) fn branch(
        &self,
        name: &str,
        query: &Query,
        need: Need<'_>,
    ) -> Result<TreeHandle, Problem> {
        let tree = self.tree(name, need)?;
        match query.text("branch")? {
            Some(branch) => Ok(tree.on_branch(branch)?),
            None => Ok(tree),
        }
    }

    /// The version that the query says, to read the node at `path`.
    pub(crate) async fn version(
        &self,
        name: &str,
        query: &Query,
        path: &[Key],
    ) -> Result<Found, Problem> {
        let tree = self.branch(name, query, Need::read(path))?;
        match (query.text("at")?, &self.own) {
            (None, Some(own)) => {
                // Whoever commits there keeps it locked until that is on disk.
                let snapshot = tokio::task::block_in_place(|| own.snapshot(&tree))?;
                Ok(Found { snapshot, tree })
            }
            (at, _) => self.find(&tree, at).await,
        }
    }

    /// The version of a tree that has this name; without one the newest. Those between are gone
    /// through: where they are many, in line with all who look at much.
    pub(crate) async fn find(&self, tree: &TreeHandle, at: Option<&str>) -> Result<Found, Problem> {
        match at.filter(|at| is_far_back(at)) {
            Some(at) => {
                let (tree, at) = (tree.clone(), at.to_owned());
                self.in_line(move || Ok(jungle_words::find(&tree, &at)?)).await
            }
            None => Ok(jungle_words::find_or_newest(tree, at)?),
        }
    }

    /// The newest revision of all trees.
    pub(crate) fn newest(&self) -> Revision {
        self.trees.0.revision()
    }

    /// The names of the trees of which something may be read.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut names = self.trees.0.list_trees();
        names.retain(|name| self.may(name, Need::part(Role::Read)));
        names
    }

    pub(crate) fn create_tree(&self, name: &str) -> Result<TreeHandle, Problem> {
        self.check_name(name)?;
        Ok(self.trees.0.by(&self.meta(None, None)?).create_tree(name)?)
    }

    pub(crate) fn rename_tree(&self, name: &str, new: &str) -> Result<TreeHandle, Problem> {
        let tree = self.tree(name, Need::whole(Role::Admin))?;
        self.check_name(new)?;
        self.trees.0.by(&self.meta(None, None)?).rename_tree(name, new)?;
        Ok(tree)
    }

    pub(crate) fn delete_tree(&self, name: &str) -> Result<(), Problem> {
        self.tree(name, Need::whole(Role::Admin))?;
        Ok(self.trees.0.by(&self.meta(None, None)?).delete_tree(name)?)
    }

    /// All of it, for those who may read everything.
    pub(crate) fn everything(&self) -> Option<&Jungle> {
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger => false,
            Who::Known(known) => known.access.may_everywhere(&known.name, Role::Read),
        };
        may.then_some(&self.trees.0)
    }

    /// From how many attribute keys on that a tree has brought in this one can bring in no more.
    pub(crate) fn keys_max(&self) -> u32 {
        match &self.who {
            Who::Known(known) if known.access.may_everywhere(&known.name, Role::Admin) => u32::MAX,
            // Also where nobody is asked who it is: a program may make keys of what users say.
            _ => u32::try_from(self.options.limits.attribute_keys_max).unwrap_or(u32::MAX),
        }
    }

    /// Refuses whoever may not administer all trees. `what` is for those who may. What is done then
    /// changes no tree, so it may be done where nothing may be changed.
    pub(crate) fn administer(&self, what: &str) -> Result<(), Problem> {
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger => false,
            Who::Known(known) => known.access.may_everywhere(&known.name, Role::Admin),
        };
        may.then_some(()).ok_or_else(|| {
            let detail = format_args!("{what} those who may administer all trees");
            Problem::new(Kind::Forbidden, detail)
        })
    }

    /// The same for what is done to trees: nothing is, where nothing may be changed.
    pub(crate) fn administer_trees(&self, what: &str) -> Result<(), Problem> {
        if self.is_withheld(Need::whole(Role::Admin)) {
            return Err(withheld());
        }
        self.administer(what)
    }

    /// Refuses whoever may change nothing in any tree, before it is read which ones are wanted.
    pub(crate) fn check_writes(&self) -> Result<(), Problem> {
        if self.is_withheld(Need::part(Role::Write)) {
            return Err(withheld());
        }
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger => false,
            Who::Known(known) => known.access.may_anywhere(&known.name, Role::Write),
        };
        may.then_some(()).ok_or_else(|| {
            let who = self.name().unwrap_or("nobody");
            let detail = format_args!("{who} has the role {} for no tree", Role::Write);
            Problem::new(Kind::Forbidden, detail)
        })
    }

    /// The highest role for the whole of a tree, or (`None`) for some part of it.
    pub(crate) fn role(&self, tree: &str, place: Option<&[Key]>) -> Option<Role> {
        let roles = [Role::Admin, Role::Write, Role::Read];
        roles.into_iter().find(|&role| self.may(tree, Need { role, place }))
    }

    /// The nodes of a tree for which, with all below them, this one has a role; none is in another.
    pub(crate) fn tops(&self, tree: &str, role: Role) -> Vec<Path> {
        match &self.who {
            _ if self.is_withheld(Need::part(role)) => Vec::new(),
            Who::Anybody => vec![Path::root()],
            Who::Stranger => Vec::new(),
            Who::Known(Known { name, access, .. }) => access.tops(name, tree, role),
        }
    }

    /// Are there names by which this one may make trees?
    pub(crate) fn creates(&self) -> bool {
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger => false,
            Who::Known(known) => known.access.may_create(&known.name),
        };
        may && !self.is_withheld(Need::whole(Role::Admin))
    }

    /// Refuses whoever may make no tree, whatever its name, before it is read which one is wanted.
    pub(crate) fn check_creates(&self) -> Result<(), Problem> {
        if self.creates() {
            return Ok(());
        }
        if self.is_withheld(Need::whole(Role::Admin)) {
            return Err(withheld());
        }
        let who = self.name().unwrap_or("nobody");
        let detail = format_args!("{who} has the role {} for no tree as a whole", Role::Admin);
        Err(Problem::new(Kind::Forbidden, detail))
    }

    /// The name under which this one commits; without an access file it is what the client says.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.who {
            Who::Known(known) => Some(&known.name),
            Who::Anybody | Who::Stranger => None,
        }
    }

    pub(crate) fn who(&self) -> Who {
        self.who.clone()
    }

    /// Whose share of something it takes from.
    pub(crate) fn whose(&self) -> Option<Whose> {
        Whose::of(self.who.name(), self.client.as_ref())
    }

    /// Who commits, and why.
    pub(crate) fn meta(
        &self,
        author: Option<&str>,
        message: Option<&str>,
    ) -> Result<CommitMeta, Problem> {
        query::meta(self.name().or(author), message)
    }

    /// Refuses what this one may not do. A tree of which nothing may be read is not there.
    pub(crate) fn check(&self, tree: &str, need: Need<'_>) -> Result<(), Problem> {
        if self.may(tree, need) {
            return Ok(());
        }
        if !self.may(tree, Need::part(Role::Read)) {
            return Err(NoSuchTree { name: tree.into() }.into());
        }
        // Whether it is there may be known now.
        self.open(tree)?;
        Err(self.forbidden(tree, need))
    }

    /// Of one who may know whether it is there.
    fn open(&self, name: &str) -> Result<TreeHandle, Problem> {
        let tree = self.trees.0.open_tree(name);
        tree.map_err(|error| Problem::from(error).missing(name))
    }

    /// As [`check`](Visitor::check), of a name that a tree shall get.
    fn check_name(&self, name: &str) -> Result<(), Problem> {
        let need = Need::whole(Role::Admin);
        if self.may(name, need) { Ok(()) } else { Err(self.forbidden(name, need)) }
    }

    fn forbidden(&self, tree: &str, need: Need<'_>) -> Problem {
        if self.is_withheld(need) {
            return withheld();
        }
        let (who, role) = (self.name().unwrap_or("nobody"), need.role);
        let place = need.place.filter(|place| !place.is_empty()).map(jungle::Path::from);
        let place = place.map_or_else(String::new, |place| format!(", {place}"));
        let detail = format_args!("{who} has not the role {role} for {tree:?}{place}");
        Problem::new(Kind::Forbidden, detail)
    }

    /// May nobody do that on this server?
    fn is_withheld(&self, need: Need<'_>) -> bool {
        self.options.read_only && need.role > Role::Read
    }

    /// As [`check`](Visitor::check), for what is only offered to those who may do it.
    pub(crate) fn may(&self, tree: &str, need: Need<'_>) -> bool {
        if self.is_withheld(need) {
            return false;
        }
        match (&self.who, need.place) {
            (Who::Anybody, _) => true,
            (Who::Stranger, _) => false,
            (Who::Known(Known { name, access, .. }), Some(path)) => {
                access.may(name, tree, path, need.role)
            }
            (Who::Known(Known { name, access, .. }), None) => {
                access.may_somewhere(name, tree, need.role)
            }
        }
    }

    /// What of the tree may be told to this one.
    pub(crate) fn view(&self, tree: &str) -> View {
        match &self.who {
            Who::Known(Known { name, access, .. }) => access.view(name, tree),
            // A stranger does not come as far as a tree.
            Who::Anybody | Who::Stranger => View::WHOLE,
        }
    }

    /// The same visitor by what is granted now, for what has taken long since the request with
    /// these headers was let in.
    pub(crate) fn asked_again(&self, headers: &HeaderMap) -> Result<Visitor, Problem> {
        let Some(gate) = &self.gate else {
            return Ok(self.clone());
        };
        match gate.who(headers, self.client.as_ref(), Instant::now())? {
            Who::Stranger => Err(refused("the session has ended")),
            who => Ok(Visitor { who, ..self.clone() }),
        }
    }

    /// Waits until something else was granted to somebody, or the token or the session has ended:
    /// what was begun before must be asked for again.
    pub(crate) async fn changed(&mut self) {
        match &mut self.who {
            Who::Known(known) => tokio::select! {
                // That nobody is left who could change it means the server stops.
                _ = known.changes.changed() => {}
                () = known.until.wait() => {}
            },
            Who::Anybody | Who::Stranger => std::future::pending().await,
        }
    }

    /// Commits something short on top of whatever others do, and waits until that survives what it
    /// has to.
    pub(crate) async fn update<T: Send + 'static>(
        &self,
        tree: &TreeHandle,
        options: CommitOptions,
        mut f: impl FnMut(&mut Draft) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Committed<T>, Problem> {
        let durability = options.durability;
        let at_once = CommitOptions { durability: Some(Durability::Memory), ..options };
        if let Some(committer) = &self.committer {
            return committer.update(tree, &at_once, f).await;
        }
        let committed = tree.update_with(&at_once, &mut f)?;
        if let Some(disk) = &self.disk {
            disk.wait(committed.revision, durability).await?;
        }
        Ok(committed)
    }

    /// Commits to several trees on top of whatever others do, and waits until that survives what it
    /// has to: on a thread that may wait.
    pub(crate) fn update_trees<T>(
        &self,
        options: &CommitOptions,
        f: impl FnMut(&mut JungleTransaction) -> Result<T, Problem>,
    ) -> Result<CommittedTrees<T>, UpdateError<Problem>> {
        self.trees.0.update(options, f)
    }

    /// Does something short that commits with [`Durability::Memory`], at once, and waits then until
    /// the revision it made survives what is asked for.
    pub(crate) async fn commit<T>(
        &self,
        durability: Option<Durability>,
        f: impl FnOnce() -> Result<(T, Revision), Problem>,
    ) -> Result<T, Problem> {
        let (value, revision) = match self.cluster {
            // It waits for its place in the log.
            Some(_) => tokio::task::block_in_place(f)?,
            None => f()?,
        };
        if let Some(disk) = &self.disk {
            disk.wait(revision, durability).await?;
        }
        Ok(value)
    }

    /// Waits until a revision, whoever made it, survives what is asked for.
    pub(crate) fn wait_until(
        &self,
        revision: Revision,
        durability: Option<Durability>,
    ) -> Result<(), Problem> {
        // What is followed is in the cluster's log.
        if self.cluster.is_some() {
            return Ok(());
        }
        let jungle = &self.trees.0;
        Ok(jungle.wait_until(revision, durability.unwrap_or(jungle.durability()))?)
    }

    /// Does what looks at much, off the threads that serve: so many at a time, and of these half at
    /// most, rounded up, for one client. Who is refused has not begun.
    pub(crate) async fn in_line<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        aside_with(self.turn().await?, f).await
    }

    /// The same for what compares and commits: it has no turn while it waits for a disk or a log,
    /// but counts as a commit that takes long. Once begun it is done, whether or not the client
    /// stays.
    pub(crate) async fn in_line_to_commit<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Arc<Turn>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::new(self.turn().await?);
        aside(move || f(&turn)).await
    }

    async fn turn(&self) -> Result<Turn, Problem> {
        let turn = timeout(self.options.limits.line_time, self.line.turn(self.whose())).await;
        turn.map_err(|_| {
            let detail = "too much is being searched and compared here";
            Problem::new(Kind::TooMany, detail).header(RETRY_AFTER, HeaderValue::from_static("5"))
        })
    }

    /// Does something that commits and may take long. Where it waits, for a disk or a log, it is
    /// kept off the threads that serve; once begun it is done, whether or not the client stays.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Visitor) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        if self.disk.is_none() && self.cluster.is_none() {
            return f(self);
        }
        // Never closed; and whoever waits here has not begun.
        let permit = Arc::clone(&self.writers).acquire_owned().await;
        let visitor = self.clone();
        aside_with(permit, move || f(&visitor)).await
    }

    /// The same with the version that [`find`](Visitor::find) finds. That is looked for when it
    /// is written, since it may not be kept for long.
    pub(crate) async fn write_from<T: Send + 'static>(
        &self,
        tree: TreeHandle,
        at: Option<String>,
        f: impl FnOnce(Found) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let is_far = at.as_deref().is_some_and(is_far_back);
        let find = move || jungle_words::find_or_newest(&tree, at.as_deref());
        match is_far {
            true => self.in_line_to_commit(move |turn| f(turn.compare(find)?)).await,
            false => self.write(move |_| f(find()?)).await,
        }
    }
}

/// Does it say many steps back, as `main~5000` does?
fn is_far_back(at: &str) -> bool {
    let steps = at.rsplit_once('~').and_then(|(_, steps)| steps.parse().ok());
    steps.is_some_and(|steps: usize| steps > STEPS_NEAR)
}

fn withheld() -> Problem {
    let detail = "the server was started with --read-only: nothing is changed here";
    Problem::new(Kind::Forbidden, detail)
}
