//! What clients do, and what they were told.

use std::collections::BTreeMap;
use std::time::Duration;

use jungle_cluster::{LocalError, LocalId, LocalUpdateError};
use jungle_db::{
    CommitMeta, CommitOptions, Draft, Durability, Jungle, NotWritten, Revision, UpdateError,
};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key, Node, Path};

use super::server::Running;

pub const TREES: [&str; 3] = ["t0", "t1", "t2"];
/// What commits at quorum count in the root of each tree.
pub const COUNT: &str = "count";
/// Who made a node.
pub const NAME: &str = "name";

/// What clients were told.
#[derive(Default)]
pub struct Told {
    commits: u64,
    /// The commits at quorum by their messages, with the trees they counted in.
    pub quorum: BTreeMap<String, (Vec<&'static str>, Fate)>,
    pub local: Vec<Entry>,
    /// The newest revision that was acknowledged.
    pub newest: Revision,
    pub reads: u64,
}

/// What was told of a commit at quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Done(Revision),
    Unknown,
    Refused,
}

/// A commit at level `local` that was acknowledged.
pub struct Entry {
    pub message: String,
    pub id: LocalId,
    pub server: usize,
    pub tree: &'static str,
    /// The node that it made.
    pub made: Option<Path>,
    /// Its server has lost its outbox since.
    pub is_lost: bool,
}

impl Told {
    fn message(&mut self, kind: &str) -> String {
        self.commits += 1;
        format!("{kind}{}", self.commits)
    }

    /// A commit at quorum: it counts, in one tree or two, and edits.
    pub fn commit(&mut self, running: &Running, rng: &mut Rng) -> String {
        let mut trees: Vec<&str> = TREES.to_vec();
        rng.shuffle(&mut trees);
        trees.truncate(if rng.chance(1, 4) { 2 } else { 1 });
        let is_there = |tree: &&str| running.jungle.open_tree(tree).is_ok();
        if !trees.iter().all(is_there) {
            return "no tree yet".to_owned();
        }
        let message = self.message("q");
        let options = CommitOptions::from(&CommitMeta::new().message(&message));
        let seed = rng.next_u64();
        let committed = running.jungle.update(&options, |tx| {
            // It may run again, and does the same then.
            let mut rng = Rng::new(seed);
            for tree in &trees {
                count(tx.tree(tree).expect("looked at above"), &mut rng, &message)?;
            }
            Ok::<(), EditError>(())
        });
        let fate = match committed {
            Ok(committed) => Fate::Done(committed.revision),
            Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => Fate::Unknown,
            Err(UpdateError::NotWritten(NotWritten::Refused(_))) => Fate::Refused,
            Err(error) => panic!("{message}: {error:?}"),
        };
        if let Fate::Done(revision) = fate {
            self.newest = self.newest.max(revision);
        }
        let said = format!("{message} in {trees:?}: {fate:?}");
        self.quorum.insert(message, (trees, fate));
        said
    }

    /// A commit at level `local`, which is answered whether or not the engine is there.
    pub fn commit_locally(&mut self, at: usize, running: &Running, rng: &mut Rng) -> String {
        let (Some(local), tree) = (&running.local, *rng.pick(&TREES)) else {
            return "no outbox yet".to_owned();
        };
        let Ok(handle) = running.jungle.open_tree(tree) else { return "no tree yet".to_owned() };
        let message = self.message("l");
        let meta = CommitMeta::new().message(&message);
        let durability = Some(Durability::Sync);
        let options = CommitOptions { durability, ..CommitOptions::from(&meta) };
        let kept = match local.update(&handle, &options, |tx| edit(tx, rng, &message)) {
            Ok(kept) => kept,
            Err(LocalUpdateError::NotKept(LocalError::Fault(_))) => return "a fault".to_owned(),
            Err(error) => panic!("{message}: {error:?}"),
        };
        let Some(id) = kept.id else { return "nothing".to_owned() };
        let said = format!("{message} in {tree}: {id} {:?}", kept.value);
        let (made, is_lost) = (kept.value, false);
        self.local.push(Entry { message, id, server: at, tree, made, is_lost });
        said
    }

    /// A read that has to see all that was acknowledged before it.
    pub fn read(&mut self, running: &Running, is_lossless: bool) -> String {
        let Ok(revision) = running.cluster.linearize(Duration::from_secs(3600)) else {
            return "no answer".to_owned();
        };
        assert!(revision >= self.newest || !is_lossless, "{revision} is before {}", self.newest);
        self.reads += 1;
        format!("revision {revision}")
    }
}

/// Counts in the root, and does something else.
fn count(tx: &mut Draft, rng: &mut Rng, message: &str) -> Result<(), EditError> {
    let count = tx.attribute(&[], COUNT).ok().flatten().and_then(|count| count.as_int());
    tx.put_attribute(&[], COUNT, count.unwrap_or(0) + 1)?;
    if rng.chance(1, 2) {
        edit(tx, rng, message)?;
    }
    Ok(())
}

/// Edits at random; gives the path of what it made.
fn edit(tx: &mut Draft, rng: &mut Rng, message: &str) -> Result<Option<Path>, EditError> {
    let at = some_path(tx.root(), rng);
    let position = match at.last() {
        Some(Key::Position(position)) => Some(position.clone()),
        _ => None,
    };
    let parent = at.parent().unwrap_or_default();
    let made = match (rng.below(10), position) {
        (0, Some(position)) => parent.join(tx.insert_before(&parent, &position)?),
        (1, Some(position)) => parent.join(tx.insert_after(&parent, &position)?),
        (2 | 3, Some(_)) => {
            tx.remove(&at)?;
            return Ok(None);
        }
        (4, Some(_)) if at.depth() > 1 => {
            // Names are the caller's, so what is there under one is another matter.
            tx.move_node(&at, &[], &Key::from(message))?;
            return Ok(None);
        }
        (5 | 6, _) => {
            tx.put_attribute(&at, "value", message)?;
            return Ok(None);
        }
        _ => at.join(tx.append(&at)?),
    };
    tx.put_attribute(&made, NAME, message)?;
    Ok(Some(made))
}

/// The path of some node, not too deep.
fn some_path(root: Node<'_>, rng: &mut Rng) -> Path {
    let (mut at, mut path) = (root, Path::root());
    while path.depth() < 4 && at.child_count() > 0 && rng.chance(3, 4) {
        let Some((key, child)) = at.children().nth(rng.index(at.child_count() as usize)) else {
            break;
        };
        path.push(key.to_key());
        at = child;
    }
    path
}

/// The newest version of every branch, and what was last done at all.
pub fn portrait(jungle: &Jungle) -> String {
    let mut portrait = format!("{}", jungle.revision());
    for name in jungle.list_trees() {
        let Ok(main) = jungle.open_tree(&name) else { continue };
        for branch in main.list_branches() {
            let Ok(branch) = main.on_branch(&branch) else { continue };
            let head = branch.snapshot();
            let hash = head.root().content_hash();
            portrait += &format!(" {name} {} {hash}", head.revision());
        }
    }
    portrait
}
