//! Who asks, and the trees: a handler gets a tree from its visitor only, who must say what for.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use jungle::{
    CommitMeta, CommitOptions, CommittedTrees, Durability, Jungle, JungleTransaction, Key,
    NoSuchTree, Path, Revision, TreeHandle, UpdateError,
};
use jungle_cluster::Local;
use jungle_words::Found;

use super::gate::refused;
use super::grants::Role;
use super::share::Whose;
use super::view::View;
use super::who::{Known, Who};
use crate::app::App;
use crate::client::Client;
use crate::cluster;
use crate::problem::{Kind, Problem};
use crate::query::{self, Query};

/// The trees. What is in here is seen by this file alone.
pub(crate) struct Trees(Jungle);

impl Trees {
    pub(crate) fn new(jungle: Jungle) -> Trees {
        Trees(jungle)
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

    /// All of it, for those who may read everything. What everybody may read are trees, and not how
    /// the server fares.
    pub(crate) fn everything(&self) -> Option<&Jungle> {
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger | Who::Public(_) => false,
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
            Who::Stranger | Who::Public(_) => false,
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
            Who::Stranger | Who::Public(_) => false,
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
            Who::Known(known) | Who::Public(known) => known.access.tops(&known.name, tree, role),
        }
    }

    /// Are there names by which this one may make trees?
    pub(crate) fn creates(&self) -> bool {
        let may = match &self.who {
            Who::Anybody => true,
            Who::Stranger | Who::Public(_) => false,
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
            Who::Anybody | Who::Stranger | Who::Public(_) => None,
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
        let Known { name, access, .. } = match &self.who {
            Who::Anybody => return true,
            Who::Stranger => return false,
            Who::Known(known) | Who::Public(known) => known,
        };
        match need.place {
            Some(path) => access.may(name, tree, path, need.role),
            None => access.may_somewhere(name, tree, need.role),
        }
    }

    /// What of the tree may be told to this one.
    pub(crate) fn view(&self, tree: &str) -> View {
        match &self.who {
            Who::Known(known) | Who::Public(known) => known.access.view(&known.name, tree),
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
            Who::Stranger | Who::Public(_) => Err(refused("the session has ended")),
            who => Ok(Visitor { who, ..self.clone() }),
        }
    }

    /// Waits until something else was granted to somebody, or the token or the session has ended:
    /// what was begun before must be asked for again.
    pub(crate) async fn changed(&mut self) {
        match &mut self.who {
            Who::Known(known) | Who::Public(known) => tokio::select! {
                // That nobody is left who could change it means the server stops.
                _ = known.changes.changed() => {}
                () = known.until.wait() => {}
            },
            Who::Anybody | Who::Stranger => std::future::pending().await,
        }
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
}

fn withheld() -> Problem {
    let detail = "the server was started with --read-only: nothing is changed here";
    Problem::new(Kind::Forbidden, detail)
}
