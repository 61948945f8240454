//! What the suites have a store do, and what they know about it: the state after each revision.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use jungle_db::{
    ArchiveError, CommitMeta, CommitOptions, Draft, Jungle, Retention, Snapshot, TreeHandle,
};
use jungle_store::disk::sim::{Keep, SimDisk};
use jungle_store::{Durability, OpenError, OpenOptions, Store};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, EditError, Key, MergeOptions, loading};

use super::older::{FOLDERS, files_of};

/// All that can be told of a Jungle cheaply.
pub type Portrait = String;

/// A list of steps that makes the same commits each time it is run.
#[derive(Clone, Debug)]
pub struct Workload {
    pub seed: u64,
    pub steps: u64,
    /// From 256 bytes, so that segments change often.
    pub segment_bytes: u64,
    /// Are there commits that are only buffered, or in memory?
    pub mixed: bool,
    /// Are checkpoints written on the way?
    pub checkpoints: bool,
    /// Is memory collected on the way?
    pub collects: bool,
    /// Is it closed at the end, and opened again once in the middle?
    pub closes: bool,
    /// Are there commits that are longer than what is read and searched at a time?
    pub long: bool,
    /// Which of the folders that older programs wrote it goes on with, if it begins with one.
    pub older: Option<&'static str>,
}

/// How far a workload is, for whoever looks on from inside of a call.
#[derive(Debug, Default)]
pub struct Progress {
    /// All up to here was acknowledged as synced.
    pub acknowledged: AtomicU64,
    /// The newest revision that the step under way makes.
    pub begun: AtomicU64,
    /// Is a file made smaller, or what is not kept any more given back?
    pub reclaims: AtomicBool,
    /// Has a folder that an older program wrote got no checkpoint yet?
    pub is_upgrading: AtomicBool,
    /// Has a call failed behind which it goes on: one that commits nothing?
    pub told: AtomicBool,
}

/// The state after each revision, with all the past it keeps, and the newest revision after each
/// step.
pub struct Known {
    pub portraits: Vec<Portrait>,
    pub pasts: Vec<Portrait>,
    /// The one it begins with: of those before nothing is known.
    first: u64,
    revisions: Vec<u64>,
}

impl Workload {
    pub fn random(rng: &mut Rng) -> Workload {
        let older = older_of(rng.seed());
        let seed = rng.next_u64();
        Workload {
            seed,
            steps: rng.range(4..20),
            segment_bytes: *rng.pick(&[256, 512, 1024, 4096]),
            mixed: rng.chance(1, 2),
            checkpoints: rng.chance(1, 2) || older.is_some(),
            collects: rng.chance(1, 2),
            closes: rng.chance(1, 2),
            long: seed.is_multiple_of(LONG_ONE_IN),
            older,
        }
    }

    /// A disk with what it begins with.
    pub fn disk(&self) -> SimDisk {
        static OLDER: OnceLock<BTreeMap<&str, SimDisk>> = OnceLock::new();
        let Some(folder) = self.older else { return SimDisk::new() };
        let disk_of = |folder| (folder, SimDisk::with_files(&files_of(folder)));
        let disks = OLDER.get_or_init(|| FOLDERS.map(disk_of).into());
        // A copy, since all is synced. Thousands are made, which share the bytes.
        disks[folder].world().crash(Keep::All, &mut |_| 0)
    }

    pub fn open(&self, disk: &SimDisk) -> Result<Store, OpenError> {
        open(disk, self.segment_bytes)
    }

    /// Runs it undisturbed, to know what it makes.
    pub fn rehearse(&self) -> Known {
        let disk = self.disk();
        let store = self.open(&disk).expect("an undisturbed disk");
        let mut known = Known::of(&store);
        let mut rng = Rng::new(self.seed);
        for step in 0..self.steps {
            let durability = self.durability(&mut rng);
            let manner = self.manner(durability);
            self::step(&store, step, &mut rng, manner).expect("an undisturbed disk");
            let revision = store.revision().number();
            // A step that made several revisions would leave a gap here.
            assert!(revision as usize <= known.portraits.len(), "a step makes one revision");
            if revision as usize == known.portraits.len() {
                known.portraits.push(portrait(&store).expect("an undisturbed disk"));
                known.pasts.push(past(&store).expect("an undisturbed disk"));
            }
            known.revisions.push(revision);
        }
        known
    }

    /// Runs it, and tells how far it is; gives the store unless it was closed. It ends at the first
    /// step that is refused, and says so.
    pub fn perform(
        &self,
        disk: &SimDisk,
        known: &Known,
        progress: &Progress,
    ) -> Result<Option<Store>, Refused> {
        progress.begin(self, known);
        let mut store = self.open(disk).map_err(Refused::Open)?;
        let mut rng = Rng::new(self.seed);
        let mut dice = Rng::new(!self.seed);
        for step in 0..self.steps {
            // What an older program wrote gets its first one in front of the last step at latest.
            let is_due = || step + 1 == self.steps && progress.is_upgrading.load(Ordering::SeqCst);
            if self.checkpoints && (dice.chance(1, 4) || is_due()) {
                // What is not kept is in no checkpoint any more, nor in the log before it.
                progress.reclaims.store(is_forgetful(&store), Ordering::SeqCst);
                // That there is none is no loss.
                progress.note(store.checkpoint());
                progress.is_upgrading.store(false, Ordering::SeqCst);
            }
            if self.checkpoints && dice.chance(1, 8) {
                progress.reclaims.store(true, Ordering::SeqCst);
                progress.note(store.compact());
            }
            progress.reclaims.store(false, Ordering::SeqCst);
            if self.collects && dice.chance(1, 4) {
                // What cannot be loaded is told by the next step that needs it.
                progress.note(loading(|| store.collect()));
            }
            if self.closes && step == self.steps / 2 {
                store.close().map_err(|_| Refused::Close)?;
                progress.acknowledge(known.revisions[step as usize - 1]);
                store = self.open(disk).map_err(Refused::Open)?;
            }
            let durability = self.durability(&mut rng);
            progress.begun.store(known.revisions[step as usize], Ordering::SeqCst);
            let (manner, before) = (self.manner(durability), store.revision().number());
            let done = loading(|| self::step(&store, step, &mut rng, manner));
            let Ok(done) = done else {
                return Err(Refused::Load);
            };
            if done.is_err() {
                let more = store.create_tree("one more");
                assert!(more.is_err(), "a commit after one that failed");
                return Err(Refused::Commit);
            }
            let revision = store.revision().number();
            assert_eq!(revision, known.revisions[step as usize], "after step {step} of {self:?}");
            // A step that found nothing to do has not waited for those before it.
            if durability == Durability::Sync && revision > before {
                progress.acknowledge(revision);
            }
        }
        if self.closes {
            store.close().map_err(|_| Refused::Close)?;
            progress.acknowledge(known.revisions[self.steps as usize - 1]);
            return Ok(None);
        }
        Ok(Some(store))
    }

    /// What is not an update has the durability of the store, which is to be synced.
    fn manner(&self, durability: Durability) -> Manner {
        let kinds = if durability == Durability::Sync { Kinds::All } else { Kinds::Updates };
        let short = Manner::new(durability, kinds);
        if self.long { Manner { lengths: &LONG, ..short } } else { short }
    }

    fn durability(&self, rng: &mut Rng) -> Durability {
        let all = [Durability::Sync, Durability::Buffered, Durability::Memory];
        let drawn = all[rng.index(3)];
        if self.mixed { drawn } else { Durability::Sync }
    }
}

/// Why a workload ended early.
#[derive(Debug)]
#[allow(dead_code, reason = "printed when a test fails")]
pub enum Refused {
    Open(OpenError),
    Load,
    Commit,
    Close,
}

impl Known {
    /// What a store begins with.
    fn of(store: &Store) -> Known {
        let first = store.revision().number();
        let only = |seen: Result<Portrait, String>| {
            let mut known = vec![Portrait::new(); first as usize];
            known.push(seen.expect("an undisturbed disk"));
            known
        };
        let (portraits, pasts) = (only(portrait(store)), only(past(store)));
        Known { portraits, pasts, first, revisions: Vec::new() }
    }
}

impl Progress {
    /// All that it begins with was acknowledged.
    fn begin(&self, workload: &Workload, known: &Known) {
        self.acknowledge(known.first);
        self.begun.store(known.first, Ordering::SeqCst);
        self.is_upgrading.store(workload.older.is_some(), Ordering::SeqCst);
    }

    fn note<T, E>(&self, done: Result<T, E>) {
        if done.is_err() {
            self.told.store(true, Ordering::SeqCst);
        }
    }

    fn acknowledge(&self, revision: u64) {
        self.acknowledged.store(revision, Ordering::SeqCst);
    }
}

/// One seed in so many begins with a folder that an older program wrote.
const OLDER_ONE_IN: u64 = 8;

/// Which of the folders that is: each in its turn, so that a run of few seeds has all of them.
pub fn older_of(seed: u64) -> Option<&'static str> {
    let turn = (seed / OLDER_ONE_IN) as usize % FOLDERS.len();
    seed.is_multiple_of(OLDER_ONE_IN).then_some(FOLDERS[turn])
}

/// Is there a branch that does not keep everything?
fn is_forgetful(jungle: &Jungle) -> bool {
    let trees = jungle.list_trees().into_iter().filter_map(|name| jungle.open_tree(&name).ok());
    trees.into_iter().any(|tree| {
        let branches = tree.list_branches();
        let mut branches = branches.iter().filter_map(|branch| tree.on_branch(branch).ok());
        branches.any(|branch| branch.retention() != Retention::All)
    })
}

/// Small arenas: thousands are made a second.
pub fn open(disk: &SimDisk, segment_bytes: u64) -> Result<Store, OpenError> {
    let arena =
        ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, ..Default::default() };
    let options = OpenOptions::new().segment_bytes(segment_bytes).arena(arena);
    let options = options.checkpoint_every(u64::MAX);
    options.open_on(Arc::new(disk.clone()))
}

/// Trees, branches and tags with the hash of what is in them, and how many revisions they have;
/// or why some of it cannot be read.
pub fn portrait(jungle: &Jungle) -> Result<Portrait, String> {
    loading(|| look(jungle)).map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// The hash of each revision that each branch keeps, and what is wrong with its form; or why some
/// of it cannot be read.
pub fn past(jungle: &Jungle) -> Result<Portrait, String> {
    loading(|| look_back(jungle)).map_err(|error| error.to_string())?
}

fn look_back(jungle: &Jungle) -> Result<Portrait, String> {
    let mut seen = String::new();
    for name in jungle.list_trees() {
        let Ok(main) = jungle.open_tree(&name) else { continue };
        for branch in main.list_branches() {
            let Ok(branch) = main.on_branch(&branch) else { continue };
            for info in branch.history(..) {
                let revision = info.map_err(|error| error.to_string())?.revision;
                let snapshot = branch.at(revision).map_err(|error| error.to_string())?;
                let (label, hash) = (branch.branch_name(), snapshot.root().content_hash());
                seen.push_str(&format!("{name} {label} {revision} {hash}\n"));
                if let Err(wrong) = snapshot.check() {
                    seen.push_str(&format!("it is not whole: {wrong}\n"));
                }
            }
        }
    }
    Ok(seen)
}

fn look(jungle: &Jungle) -> Result<Portrait, ArchiveError> {
    let mut portrait = String::new();
    let mut add = |what: std::fmt::Arguments<'_>| portrait.push_str(&what.to_string());
    for name in jungle.list_trees() {
        let Ok(main) = jungle.open_tree(&name) else { continue };
        for branch in main.list_branches() {
            let Ok(branch) = main.on_branch(&branch) else { continue };
            let snapshot = branch.snapshot();
            let (hash, next) = (snapshot.root().content_hash(), snapshot.root().next_position());
            let past = branch.history(..).collect::<Result<Vec<_>, _>>()?.len();
            add(format_args!("{name} {} {hash} {next} {past}\n", branch.branch_name()));
        }
        for (tag, revision) in main.list_tags() {
            add(format_args!("{name} {tag} {revision}\n"));
        }
        for key in main.list_indexes() {
            let index = main.index(&key, &main.snapshot()).ok().flatten();
            let hash = index.map(|index| index.as_snapshot().root().content_hash());
            add(format_args!("{name} index {key} {hash:?}\n"));
        }
    }
    Ok(portrait)
}

/// How a step is made.
#[derive(Clone, Copy)]
pub struct Manner {
    pub durability: Durability,
    pub kinds: Kinds,
    /// Of the texts that it may put, in bytes.
    lengths: &'static [usize],
}

impl Manner {
    /// With short texts.
    pub fn new(durability: Durability, kinds: Kinds) -> Manner {
        Manner { durability, kinds, lengths: &SHORT }
    }
}

/// Now and then longer than a sector, and than a small segment.
const SHORT: [usize; 6] = [3, 3, 3, 40, 600, 1500];

/// And longer than what is read of a log at a time, or looked for behind its end.
const LONG: [usize; 6] = [3, 40, 1500, 70_000, 110_000, 210_000];

/// One workload in so many has long texts: each of its crashes takes as long as several others.
const LONG_ONE_IN: u64 = 16;

/// Which kinds of commits a step may make.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    All,
    /// All but grafts: what was grafted is the same memory as what it was taken from, until the log
    /// is read again, and by that merges tell what was moved.
    Unshared,
    Updates,
}

/// One step: one commit, or none where nothing can be done. The error has been told elsewhere.
pub fn step(store: &Jungle, step: u64, rng: &mut Rng, manner: Manner) -> Result<(), ()> {
    let kinds = manner.kinds;
    let names = store.list_trees();
    let Some(name) = (!names.is_empty()).then(|| rng.pick(&names).clone()) else {
        return store.create_tree("first").map(drop).map_err(drop);
    };
    let tree = store.open_tree(&name).map_err(drop)?;
    let branches = tree.list_branches();
    let on = tree.on_branch(rng.pick::<Arc<str>>(&branches)).map_err(drop)?;
    match rng.below(if kinds == Kinds::Updates { 14 } else { 27 }) {
        14 => store.create_tree(&format!("tree {step}")).map(drop).map_err(drop),
        15 => {
            on.branch(&format!("branch {step}"), on.snapshot().revision()).map(drop).map_err(drop)
        }
        16 => on.tag(&format!("tag {step}"), on.snapshot().revision()).map_err(drop),
        17 => store.rename_tree(&name, &format!("renamed {step}")).map_err(drop),
        18 if names.len() > 1 => store.delete_tree(&name).map_err(drop),
        19 => spanning(store, rng),
        20..23 => on.set_retention(Retention::Last(rng.range(1..5) as usize)).map_err(drop),
        23 => on.set_retention(Retention::All).map_err(drop),
        26 => index(&on, ["text", "n"][rng.index(2)]),
        24.. => merge(&tree, on.branch_name(), rng.pick::<Arc<str>>(&branches)),
        _ => {
            let other = store.open_tree(rng.pick::<Arc<str>>(&names)).map_err(drop)?.snapshot();
            let other = (kinds != Kinds::Unshared).then_some(other);
            update(&on, other.as_ref(), rng, manner)
        }
    }
}

/// Merges one branch into another, if there is anything in it that the other does not have.
fn merge(tree: &TreeHandle, into: &str, from: &str) -> Result<(), ()> {
    if into == from {
        return Ok(());
    }
    let into = tree.on_branch(into).map_err(drop)?;
    let merge = into.merge(from, &MergeOptions::new()).map_err(drop)?;
    merge.commit(&CommitMeta::new().author("who merges")).map(drop).map_err(drop)
}

/// Makes an index; asks for one that is there, and drops every other.
fn index(tree: &TreeHandle, key: &str) -> Result<(), ()> {
    let newest = tree.snapshot();
    match tree.index(key, &newest).map_err(drop)? {
        None => tree.create_index(key).map_err(drop),
        Some(_) if newest.revision().number().is_multiple_of(2) => {
            tree.drop_index(key).map_err(drop)
        }
        Some(_) => Ok(()),
    }
}

/// Nodes of what is grafted, at most: it may be the tree itself.
const GRAFTED_MAX: u64 = 40;

/// An update; `other` is a tree to take parts of, if any; it may be the same one.
fn update(
    tree: &TreeHandle,
    other: Option<&Snapshot>,
    rng: &mut Rng,
    Manner { durability, lengths, .. }: Manner,
) -> Result<(), ()> {
    let meta = CommitMeta::new().author("a writer");
    let options = CommitOptions { meta, durability: Some(durability), ..Default::default() };
    let (what, n) = (rng.below(9), rng.below(8));
    let text = "x".repeat(*rng.pick(lengths));
    let name = Key::from(format!("part {n}").as_str());
    let root = other.map(|other| other.root());
    let source = root.map(|root| root.last_child().map_or(root, |(_, child)| child));
    let source = source.filter(|source| source.subtree_count() < GRAFTED_MAX);
    let done = tree.update_with(&options, |tx| {
        let keys: Vec<Key> = tx.child_keys(&[]).into_iter().flatten().collect();
        match (what, &keys[..], source) {
            (0, [first, ..], _) => tx.remove(std::slice::from_ref(first)),
            (1, keys, Some(source)) if !keys.contains(&name) => {
                tx.insert_subtree(&[], &name, source)
            }
            (2, ..) => tx.put_attribute(&[], "text", text.as_str()),
            (3, ..) => tx.bulk(|editor| {
                let child = editor.add_child(&[])?;
                (0..n).try_for_each(|_| editor.add_child(std::slice::from_ref(&child)).map(drop))
            }),
            (4, [first, .., last], _) => shift(tx, first, last, &name),
            (5, [first, ..], Some(source)) => tx.set_subtree(std::slice::from_ref(first), source),
            _ => {
                let child = tx.append(&[])?;
                tx.put_attribute(&[child], "n", n as i64)
            }
        }
    });
    done.map(drop).map_err(drop)
}

/// Moves a child below another one, or beside it where the key is taken there.
fn shift(tx: &mut Draft, from: &Key, parent: &Key, key: &Key) -> Result<(), EditError> {
    let (from, parent) = (std::slice::from_ref(from), std::slice::from_ref(parent));
    match tx.move_node(from, parent, key) {
        Err(EditError::ChildExists { .. }) => tx.put_attribute(from, "stays", true),
        done => done,
    }
}

fn spanning(store: &Jungle, rng: &mut Rng) -> Result<(), ()> {
    let mut tx = store.begin(CommitOptions::default());
    for name in store.list_trees() {
        let draft = tx.tree(&name).map_err(drop)?;
        draft.put_attribute(&[], "all", rng.below(100) as i64).map_err(drop)?;
    }
    tx.commit().map(drop).map_err(drop)
}

#[cfg(test)]
mod tests {
    use jungle_store::disk::sim::{CallKind, Fate};

    use super::*;

    #[test]
    fn each_older_folder_is_upgraded_by_its_first_checkpoint() {
        for (turn, folder) in (0..).zip(FOLDERS) {
            let workload = Workload::random(&mut Rng::new(turn * OLDER_ONE_IN));
            assert_eq!(workload.older, Some(folder));
            let (known, disk) = (workload.rehearse(), workload.disk());
            let (progress, synced) = (Arc::new(Progress::default()), Arc::new(AtomicU64::new(0)));
            let (seen, count) = (Arc::clone(&progress), Arc::clone(&synced));
            disk.watch(move |call, _| {
                let is_checkpoint = call.kind == CallKind::Sync && call.name.starts_with("pages");
                if is_checkpoint && seen.is_upgrading.load(Ordering::SeqCst) {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                Fate::Go
            });
            let done = workload.perform(&disk, &known, &progress);
            drop(done.unwrap_or_else(|refused| panic!("{folder}: {refused:?}")));
            disk.unwatch();
            assert!(synced.load(Ordering::SeqCst) > 0, "{folder}: its checkpoint is none of it");
            assert!(!progress.is_upgrading.load(Ordering::SeqCst), "{folder}");
            let store = workload.open(&disk).unwrap();
            let (first, checkpoint) = (known.first, store.checkpointed().number());
            assert!(0 < first && first <= checkpoint, "{folder}: {checkpoint} behind {first}");
        }
        let older = (0..40).filter(|&seed| older_of(seed).is_some());
        assert_eq!(older.count(), FOLDERS.len());
    }
}
