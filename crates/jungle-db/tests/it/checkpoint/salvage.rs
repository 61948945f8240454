//! What goes on, and is saved, of a Jungle of which a slab is gone.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use jungle_db::{
    CommitMeta, CommitOptions, Jungle, JungleState, Lost, MemoryJournal, Remains, Revision,
    Salvage, TreeHandle,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, ArenaOptions, ContentHash, Key, MergeOptions, Resolution, SavedImage, SlabId,
    SlabSource, Tree, VersionId, loading,
};

use super::Shelves;
use crate::support::{append, portrait, tree_in};

/// Slabs of which one is gone.
struct Slabs {
    slabs: Arc<BTreeMap<u64, Vec<u8>>>,
    gone: u64,
}

impl SlabSource for Slabs {
    fn load(&self, id: SlabId, bytes: &mut [u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let slab = self.slabs.get(&id.number()).filter(|_| id.number() != self.gone);
        bytes.copy_from_slice(slab.ok_or("it is gone")?);
        Ok(())
    }
}

fn options() -> ArenaOptions {
    ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 64 << 20, ..Default::default() }
}

/// So many nodes have a tree a few slabs of its own.
const NODES: u64 = 1_500;

fn tree(jungle: &Jungle, name: &str) -> TreeHandle {
    let tree = jungle.create_tree(name).unwrap();
    for _ in 0..NODES / 100 {
        tree.update(|tx| (0..100).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    }
    tree
}

fn put(branch: &TreeHandle, rng: &mut Rng) {
    // One that began early has fewer.
    let nodes = branch.snapshot().root().child_count();
    if nodes == 0 {
        return drop(append(branch, &[]));
    }
    let at = [Key::from(rng.below(nodes) as i64)];
    let value = "x".repeat(rng.index(200));
    branch.update(|tx| tx.put_attribute(&at, "n", &*value)).unwrap();
}

fn some_revision(branch: &TreeHandle, rng: &mut Rng) -> Revision {
    let all: Vec<Revision> = branch.history(..).map(|info| info.unwrap().revision).collect();
    *rng.pick(&all)
}

/// Does all kinds of things to trees and their branches.
fn work(jungle: &Jungle, rng: &mut Rng, name: &str, steps: i64) {
    let trees = jungle.list_trees();
    let trees: Vec<TreeHandle> = trees.iter().map(|it| jungle.open_tree(it).unwrap()).collect();
    for i in 0..steps {
        let main = rng.pick(&trees);
        let branches = main.list_branches();
        let branch = main.on_branch(&branches[rng.index(branches.len())]).unwrap();
        let name = format!("{name} {i}");
        match rng.below(24) {
            0 => drop(branch.branch(&name, some_revision(&branch, rng)).unwrap()),
            1 => branch.tag(&name, some_revision(&branch, rng)).unwrap(),
            4 if branches.len() > 1 => {
                main.delete_branch(&branches[1 + rng.index(branches.len() - 1)]).unwrap();
            }
            5 => {
                let tags = main.list_tags();
                let tag = tags.first().map(|(name, _)| name);
                tag.into_iter().for_each(|tag| main.delete_tag(tag).unwrap());
            }
            6 => main.create_index(&name).unwrap(),
            2 => {
                let mut all = jungle.begin(CommitOptions::default());
                for tree in &trees {
                    let draft = all.tree(&tree.name()).unwrap();
                    draft.put_attribute(&[Key::from(1)], "same", i).unwrap();
                }
                all.commit().unwrap();
            }
            3 => {
                let ours = MergeOptions::new().resolution(Resolution::Ours);
                if let Ok(merge) = main.merge(branch.branch_name(), &ours) {
                    merge.commit(&CommitMeta::new()).unwrap();
                }
            }
            _ => put(&branch, rng),
        }
    }
}

/// Makes branches that have slabs with nothing of the main branch in them.
fn apart(jungle: &Jungle, rng: &mut Rng) {
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for name in ["apart", "between"] {
            let branch = main.branch(name, main.snapshot().revision()).unwrap();
            (0..200).for_each(|_| put(&branch, rng));
        }
        let again = main.update(|tx| {
            let mut all = (0..NODES as i64).map(|child| [Key::from(child)]);
            all.try_for_each(|at| tx.put_attribute(&at, "n", "again").map(drop))
        });
        again.unwrap();
    }
}

/// The newest of a branch: its revision, and what is in it.
fn newest(branch: &TreeHandle) -> (Revision, ContentHash) {
    let newest = branch.snapshot();
    (newest.revision(), newest.root().content_hash())
}

fn can_be_loaded(arena: &Arena, id: VersionId) -> bool {
    let hash = || Tree::from_version(arena, id).map(|tree| tree.snapshot().root().content_hash());
    loading(hash).is_ok()
}

/// The branches of which all is there, of trees whose main branch is.
fn whole(arena: &Arena, state: &JungleState) -> Vec<(Box<str>, Box<str>)> {
    let mut whole = Vec::new();
    for tree in &state.trees {
        let branches = tree.branches.iter().map(|branch| {
            let newest = branch.history.last.last().unwrap();
            ((&*branch.name).into(), can_be_loaded(arena, newest.id))
        });
        let branches: Vec<(Box<str>, bool)> = branches.collect();
        if branches[0].1 {
            let there = branches.into_iter().filter(|(_, is_whole)| *is_whole);
            whole.extend(there.map(|(branch, _)| ((&*tree.name).into(), branch)));
        }
    }
    whole
}

/// What is saved of a Jungle of which a checkpoint is held.
fn image_of(jungle: &Jungle) -> (SavedImage, Arc<BTreeMap<u64, Vec<u8>>>) {
    let mut slabs = BTreeMap::new();
    let image = jungle.arena().save(&SavedImage::default(), |id, bytes| {
        bytes.into_iter().for_each(|bytes| drop(slabs.insert(id.number(), bytes.to_vec())));
        Ok::<(), Infallible>(())
    });
    (image.unwrap(), Arc::new(slabs))
}

#[test]
fn each_branch_goes_on_of_which_nothing_is_gone() {
    for_each_seed(2, |rng| {
        let journal = Arc::new(MemoryJournal::default());
        let builder = Jungle::builder().arena(options()).journal(Arc::clone(&journal));
        let jungle = builder.build().unwrap();
        ["a", "b"].iter().for_each(|name| drop(tree(&jungle, name)));
        work(&jungle, rng, "before", 100);
        apart(&jungle, rng);
        let (shelves, checkpoint) = (Arc::new(Shelves::default()), jungle.checkpoint());
        shelves.save(&checkpoint);
        let (state, (image, slabs)) = (checkpoint.state().clone(), image_of(&jungle));
        work(&jungle, rng, "since", 100);
        let since = journal.records().into_iter().filter(|it| it.revision > state.revision);
        let since: Vec<_> = since.collect();
        let was = portrait(&jungle);

        let (mut went_on, mut left_out) = (0, 0);
        for &gone in slabs.keys().filter(|_| rng.chance(1, 2)) {
            let reopen = || {
                let slabs = Slabs { slabs: Arc::clone(&slabs), gone };
                Arena::reopen(&options(), &image, Arc::new(slabs)).unwrap()
            };
            let seen = format!("without slab {gone}");
            let archive = Arc::<Shelves>::clone(&shelves);
            let mut remains =
                Remains::restore(Jungle::builder(), reopen(), &state, archive).unwrap();
            for record in &since {
                remains.replay(record, Jungle::replay).unwrap_or_else(|it| panic!("{it}; {seen}"));
            }
            loading(|| remains.jungle().end_replay()).ok();
            assert_eq!(remains.jungle().revision(), jungle.revision());
            let checkpoint = remains.jungle().checkpoint_as_it_is();
            let all = Salvage {
                arena: remains.jungle().arena(),
                state: &remains.with_the_rest(checkpoint.state()),
                archive: &*shelves,
                other: None,
                badly_formed: Default::default(),
            };
            let new = Arena::with_options(&options()).unwrap();
            let saved = all.save(Jungle::builder(), new, |_, _| Ok::<(), ()>(()));
            let saved = saved.unwrap().unwrap();
            for (tree, branch) in whole(&reopen(), &state) {
                if jungle.open_tree(&tree).unwrap().on_branch(&branch).is_err() {
                    // It was deleted since.
                    continue;
                }
                let of =
                    |it: &Jungle| newest(&it.open_tree(&tree).unwrap().on_branch(&branch).unwrap());
                assert_eq!(of(&saved.jungle), of(&jungle), "{tree} {branch}; {seen}");
                went_on += 1;
            }
            let is = portrait(&saved.jungle);
            let others: Vec<_> = is.iter().filter(|line| !was.contains(line)).collect();
            let made = others.iter().all(|line| line.2.contains("jungle repair"));
            assert!(made, "{others:?}; {seen}");
            let lost = (saved.lost.len(), remains.lost().len());
            assert!(is == was || lost != (0, 0), "not told; {seen}");
            left_out += usize::from(lost != (0, 0));
        }
        assert!(went_on > 0 && left_out > 0, "{went_on} went on, {left_out} lost something");
    });
}

#[test]
fn keys_that_only_a_part_has_are_those_of_its_tree() {
    let jungle = Jungle::builder().arena(options()).build().unwrap();
    let value = "x".repeat(200);
    let tree = jungle.create_tree("t").unwrap();
    let made = tree.update(|tx| {
        (0..NODES).try_for_each(|n| {
            let node = [tx.append(&[])?];
            tx.put_attribute(&node, &format!("key {n}"), &*value)
        })
    });
    made.unwrap();
    let checkpoint = jungle.checkpoint();
    let (image, slabs) = image_of(&jungle);

    let mut parts = 0;
    for &gone in slabs.keys() {
        let source = Slabs { slabs: Arc::clone(&slabs), gone };
        let arena = Arena::reopen(&options(), &image, Arc::new(source)).unwrap();
        let all = Salvage {
            arena: &arena,
            state: checkpoint.state(),
            archive: &checkpoint,
            other: None,
            badly_formed: Default::default(),
        };
        let new = Arena::with_options(&options()).unwrap();
        let saved = all.save(Jungle::builder(), new, |_, _| Ok::<(), ()>(()));
        let saved = saved.unwrap().unwrap();
        if !saved.lost.iter().any(|lost| matches!(lost, Lost::Part { .. })) {
            continue;
        }
        let part = saved.jungle.open_tree("t").unwrap().snapshot();
        let children = part.root().children();
        let keys: usize = children.map(|(_, node)| node.attributes().count()).sum();
        let brought = saved.jungle.arena().keys_brought(tree.id().0);
        // A copy that was given up has brought in some, too.
        assert!(keys <= brought as usize, "{keys}, {brought} counted; without slab {gone}");
        parts += usize::from(keys > 0);
    }
    assert!(parts > 0);
}

/// A history that cannot be read ends what needs it, and nothing else.
#[test]
fn what_needs_a_history_that_is_gone_is_told() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let [long, other] = ["long", "other"].map(|name| tree_in(&jungle, name, 2));
    (0..1_100).for_each(|n| crate::support::put(&long, "/0", "n", n));
    let (shelves, checkpoint) = (Arc::new(Shelves::default()), jungle.checkpoint());
    shelves.save(&checkpoint);
    let state = checkpoint.state().clone();
    let old = long.branch("old", Revision::new(10)).unwrap();
    long.tag("early", Revision::new(11)).unwrap();
    crate::support::put(&old, "/0", "n", -1);
    let mut both = jungle.begin(CommitOptions::default());
    both.on(&old).put_attribute(&[Key::from(0)], "both", 1).unwrap();
    both.tree("other").unwrap().put_attribute(&[Key::from(0)], "both", 1).unwrap();
    both.commit().unwrap();
    crate::support::put(&long, "/1", "last", 1);
    let newest_of =
        |jungle: &Jungle| ["long", "other"].map(|name| newest(&jungle.open_tree(name).unwrap()));
    let (was, records, arena) = (newest_of(&jungle), journal.records(), jungle.arena().clone());
    let last = jungle.revision();
    drop((long, other, old, jungle));

    shelves.fails.store(true, std::sync::atomic::Ordering::SeqCst);
    let mut remains = Remains::restore(Jungle::builder(), arena, &state, shelves).unwrap();
    for record in records.iter().filter(|record| record.revision > state.revision) {
        remains.replay(record, Jungle::replay).unwrap();
    }
    assert_eq!((remains.jungle().revision(), newest_of(remains.jungle())), (last, was));
    let mut lost = remains.lost();
    lost.sort_by_key(|lost| format!("{lost:?}"));
    let [Lost::Branch { branch, .. }, Lost::Tag { tag, .. }] = &lost[..] else {
        panic!("{lost:?}")
    };
    assert_eq!((&**branch, &**tag), ("old", "early"));
}

#[test]
fn a_history_that_says_it_is_longer_than_any_is_left_out() {
    let jungle = Jungle::new().unwrap();
    ["bad", "good"].iter().for_each(|name| drop(tree_in(&jungle, name, 2)));
    let checkpoint = jungle.checkpoint();
    let mut state = checkpoint.state().clone();
    let bad = state.trees.iter_mut().find(|tree| &*tree.name == "bad").unwrap();
    bad.branches[0].history.pieces = u64::MAX;
    let all = Salvage {
        arena: jungle.arena(),
        state: &state,
        archive: &checkpoint,
        other: None,
        badly_formed: Default::default(),
    };
    let new = Arena::with_options(&options()).unwrap();
    let saved = all.save(Jungle::builder(), new, |_, _| Ok::<(), ()>(()));
    let saved = saved.unwrap().unwrap();
    assert_eq!(saved.lost, [Lost::Tree { tree: "bad".into() }]);
    assert_eq!(saved.jungle.list_trees(), ["good".into()]);
}
