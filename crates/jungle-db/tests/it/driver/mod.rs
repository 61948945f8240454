//! A whole Jungle, driven at random and compared with plain maps after each step.
//!
//! The torture crate includes this folder as it is, so it uses nothing of its surroundings.

mod branch;
mod content;
mod edits;
pub mod merges;
mod merging;
mod names;
mod op;
mod past;
mod plain;
pub mod shared;
mod sketch;
pub mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jungle_db::{
    BranchId, Clock, CommitMeta, CommitOptions, Jungle, JungleTransaction, MemoryJournal,
    Retention, Revision, Snapshot, Timestamp, Transaction, TreeHandle, TreeId,
};
use jungle_testkit::Rng;
use jungle_tree::ArenaOptions;

use branch::{Branch, Version};
use content::Content;
use op::Source;
pub use shared::Follower;
use sketch::Sketch;

/// How often plain maps said what is to come of something, and how often they did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub said: u64,
    pub not_said: u64,
}

impl Share {
    fn count(&mut self, is_said: bool) {
        match is_said {
            true => self.said += 1,
            false => self.not_said += 1,
        }
    }
}

/// What a case has tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    pub merges: Share,
    pub reverts: Share,
}

/// Runs one case; panics at the first thing that is wrong.
pub fn run(rng: &mut Rng, steps: u64) -> Tried {
    let mut world = World::new(rng);
    for _ in 0..steps {
        world.step(rng);
        assert_eq!(world.jungle.revision(), world.now.revision, "the newest revision");
    }
    world.check_all(rng);
    world.check_replay(rng);
    world.tried
}

/// Prints what is done when `JUNGLE_TRACE` is set: for finding out what a seed does.
fn trace(what: &dyn std::fmt::Debug) {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *ON.get_or_init(|| std::env::var_os("JUNGLE_TRACE").is_some()) {
        eprintln!("{what:?}");
    }
}

/// A clock that stands until it is set.
#[derive(Clone, Default)]
struct FakeClock(Arc<AtomicI64>);

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// The newest revision and the clock.
struct Now {
    revision: Revision,
    clock: FakeClock,
}

impl Now {
    /// Something was committed.
    fn next(&mut self) -> Revision {
        self.revision = Revision::new(self.revision.number() + 1);
        self.revision
    }

    fn time(&self) -> Timestamp {
        self.clock.now()
    }
}

struct Tree {
    name: String,
    id: TreeId,
    /// The main one too.
    branches: BTreeMap<String, Branch>,
    tags: BTreeMap<String, (Revision, Rc<Content>)>,
    indexes: BTreeSet<&'static str>,
}

/// A transaction that is open, on one branch.
struct Open {
    tx: Transaction,
    sketch: Sketch,
    options: CommitOptions,
    branch: BranchId,
}

/// A transaction that is open, on several branches.
struct OpenMulti {
    tx: JungleTransaction,
    /// The main branches as it began, by the names of their trees then.
    began: BTreeMap<String, (TreeHandle, Version)>,
    /// Of the branches that it has looked at.
    sketches: BTreeMap<BranchId, (TreeHandle, Sketch)>,
}

struct World {
    jungle: Jungle,
    now: Now,
    journal: Option<Arc<MemoryJournal>>,
    /// There if its commits get their places from a log.
    follower: Option<Arc<Follower>>,
    retention: Retention,
    trees: Vec<Tree>,
    open: Vec<Open>,
    multi: Vec<OpenMulti>,
    held: Vec<(Snapshot, Rc<Content>)>,
    tried: Tried,
}

impl World {
    fn new(rng: &mut Rng) -> World {
        let arena = ArenaOptions {
            structure_bytes: 64 << 20,
            payload_bytes: 64 << 20,
            ..Default::default()
        };
        let (clock, retention) = (FakeClock::default(), some_retention(rng));
        let mut builder = Jungle::builder().arena(arena).clock(clock.clone()).retention(retention);
        let journal = rng.chance(1, 2).then(|| Arc::new(MemoryJournal::default()));
        if let Some(journal) = &journal {
            builder = builder.journal(Arc::clone(journal));
        }
        let jungle = builder.build().expect("address range");
        let follows = rng.chance(1, 3);
        World {
            follower: follows.then(|| Follower::new(&Arc::default(), &jungle, rng)),
            jungle,
            now: Now { revision: Revision::default(), clock },
            journal,
            retention,
            trees: Vec::new(),
            open: Vec::new(),
            multi: Vec::new(),
            held: Vec::new(),
            tried: Tried::default(),
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        if rng.chance(1, 3) {
            let by = rng.below(100) as i64 - 10;
            self.now.clock.0.fetch_add(by, Ordering::Relaxed);
        }
        if self.trees.is_empty() {
            return self.create_tree(rng);
        }
        match rng.below(62) {
            0 => self.create_tree(rng),
            1 => self.rename_tree(rng),
            2 if rng.chance(1, 4) => self.delete_tree(rng),
            3..25 => self.update(rng),
            25..28 => self.begin(rng),
            28..32 => self.edit_open(rng),
            32..36 => self.commit_open(rng),
            36..38 => self.begin_multi(),
            38..42 => self.edit_multi(rng),
            42..44 => self.commit_multi(rng),
            44 => self.create_branch(rng),
            45 if rng.chance(1, 3) => self.delete_branch(rng),
            46 if rng.chance(1, 3) => self.index(rng),
            46 => self.tag(rng),
            47..49 => self.merge(rng),
            49 => self.set_root(rng),
            50 => self.revert(rng),
            51..53 => self.hold(rng),
            53 => self.set_retention(rng),
            54 => self.some_branch(rng).watch(rng),
            55 => drop(self.jungle.collect().expect("all is in memory")),
            56 => {
                self.check_snapshot();
                self.check_then(rng);
            }
            60 | 61 => self.undo(rng),
            _ => self.look_back(rng),
        }
    }

    fn some_branch(&mut self, rng: &mut Rng) -> &mut Branch {
        let tree = rng.index(self.trees.len());
        let branches = &mut self.trees[tree].branches;
        let at = rng.index(branches.len());
        branches.values_mut().nth(at).expect("counted")
    }

    fn sources(&self, rng: &mut Rng) -> Vec<Source> {
        let held = self.held.iter().take(3);
        let sources = held.map(|(snapshot, content)| {
            let mut paths = content.keys();
            let path = paths.nth(rng.index(content.len())).expect("counted").clone();
            let content = content::below(content, &path);
            Source { snapshot: jungle_tree::Snapshot::clone(snapshot), path, content }
        });
        sources.collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            follower.end();
        }
    }
}

fn some_retention(rng: &mut Rng) -> Retention {
    match rng.below(4) {
        0 => Retention::Last(rng.range(1..6) as usize),
        1 => Retention::ByAge(Duration::from_micros(rng.below(400))),
        _ => Retention::All,
    }
}

fn some_meta(rng: &mut Rng) -> CommitMeta {
    match rng.below(3) {
        0 => CommitMeta::new().author(if rng.chance(1, 2) { "ana" } else { "bo" }),
        _ => CommitMeta::new(),
    }
}
