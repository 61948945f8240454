//! Branches that are merged again and again, where nodes have other keys on the one than on the
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

use jungle_db::{
    Archive, ArchiveError, BranchId, Builder, CommitMeta, Eraser, Erasure, HistoryEntry, Jungle,
    MemoryJournal, MergeBranchError, RENUMBERED_MAX, TreeHandle,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, EditError, Key, MergeOptions, Path, Resolution};

use crate::support::{int, path, put, tree_in, tree_of};

/// Appends a node that is known by its number; tells where it is.
fn add(tree: &TreeHandle, parent: &str, id: i64) -> String {
    let parent = path(parent);
    let added = tree.update(|tx| {
        let node = parent.join(tx.append(&parent)?);
        tx.put_attribute(&node, "id", id)?;
        Ok::<_, EditError>(node)
    });
    added.unwrap().value.to_string()
}

/// The nodes that are known by numbers, in the order of these.
fn all_nodes(tree: &TreeHandle) -> Vec<(i64, Path)> {
    let version = tree.snapshot();
    let mut walk = version.root().walk();
    let mut nodes = Vec::new();
    while let Some(node) = walk.next() {
        let id = node.attribute("id").and_then(|id| id.as_int());
        nodes.extend(id.map(|id| (id, walk.path())));
    }
    nodes.sort();
    nodes
}

/// The same, each of which is there once.
fn nodes(tree: &TreeHandle) -> BTreeMap<i64, Path> {
    let mut nodes = BTreeMap::new();
    for (id, at) in all_nodes(tree) {
        assert_eq!(nodes.insert(id, at), None, "{id} is there twice");
    }
    nodes
}

fn at(tree: &TreeHandle, id: i64) -> String {
    nodes(tree)[&id].to_string()
}

/// Merges what contradicts nothing; was there anything to be done?
#[track_caller]
fn merge(into: &TreeHandle, from: &str) -> bool {
    let before = into.snapshot().revision();
    let merge = into.merge(from, &MergeOptions::new()).unwrap();
    assert_eq!(merge.conflicts(), []);
    merge.commit(&CommitMeta::new()).unwrap().revision > before
}

/// A node on the side, 1, and one on the main branch, 2, at the same position; the side is merged.
fn parted(jungle: &Jungle) -> (TreeHandle, TreeHandle) {
    let main = tree_in(jungle, "t", 1);
    let side = main.branch("side", jungle.revision()).unwrap();
    add(&side, "/", 1);
    add(&main, "/", 2);
    assert!(merge(&main, "side"));
    let places = [at(&side, 1), at(&main, 2), at(&main, 1)];
    assert_eq!(places, ["/1", "/1", "/2"]);
    (main, side)
}

#[test]
fn what_a_branch_does_to_a_node_reaches_it_under_its_other_key() {
    let jungle = Jungle::new().unwrap();
    let (main, side) = parted(&jungle);
    put(&side, "/1", "n", 7);
    assert!(merge(&main, "side"));
    assert_eq!((int(&main, "/1", "n"), int(&main, "/2", "n")), (None, Some(7)));
    side.update(|tx| tx.remove(&path("/1"))).unwrap();
    assert!(merge(&main, "side"));
    assert_eq!(nodes(&main), BTreeMap::from([(2, path("/1"))]));
}

#[test]
fn the_other_way_round_a_node_is_the_same_and_keeps_its_key() {
    let jungle = Jungle::new().unwrap();
    let (main, side) = parted(&jungle);
    put(&main, "/2", "n", 7);
    assert!(merge(&side, "main"));
    let places = [at(&side, 1), at(&side, 2)];
    assert_eq!((places, int(&side, "/1", "n")), (["/1".into(), "/2".into()], Some(7)));
    put(&main, "/1", "n", 8);
    put(&side, "/1", "m", 9);
    assert!(merge(&side, "main") && merge(&main, "side"));
    assert_eq!((int(&side, "/2", "n"), int(&main, "/2", "m")), (Some(8), Some(9)));
    // They have the same, each in its numbers: nothing is news.
    let before = jungle.revision();
    assert!(!merge(&main, "side") && !merge(&side, "main"));
    assert_eq!(jungle.revision(), before);
    main.update(|tx| tx.remove(&path("/2"))).unwrap();
    assert!(merge(&side, "main"));
    assert_eq!(nodes(&side), BTreeMap::from([(2, path("/2"))]));
}

#[test]
fn keys_are_known_from_merge_to_merge_also_of_what_is_in_such_nodes() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    let added = [add(&side, "/", 1), add(&side, "/", 2), add(&main, "/", 3)];
    assert_eq!(added, ["/1", "/2", "/1"]);
    assert!(merge(&main, "side"));
    // /1 is /2 now, and /2 is /3.
    assert_eq!([at(&main, 1), at(&main, 2)], ["/2", "/3"]);
    assert_eq!([add(&side, "/1", 4), add(&main, "/2", 5)], ["/1/0", "/2/0"]);
    assert_eq!([add(&side, "/", 6), add(&main, "/", 7)], ["/3", "/4"]);
    put(&side, "/2", "n", 8);
    assert!(merge(&main, "side"));
    assert_eq!([at(&main, 4), at(&main, 6)], ["/2/1", "/5"]);
    assert_eq!(int(&main, "/3", "n"), Some(8));
    for (id, place) in [(1, "/1"), (2, "/2"), (4, "/1/0"), (6, "/3")] {
        put(&side, place, "n", id * 10);
    }
    assert!(merge(&main, "side"));
    for (id, place) in [(1, "/2"), (2, "/3"), (4, "/2/1"), (6, "/5")] {
        assert_eq!(int(&main, place, "n"), Some(id * 10), "{place}");
    }
    assert!(merge(&side, "main") && !merge(&main, "side"));
    let places = [3, 5, 7].map(|id| at(&side, id));
    assert_eq!(places, ["/4", "/1/1", "/5"]);
    side.update(|tx| tx.remove(&path("/1/1"))).unwrap();
    assert!(merge(&main, "side"));
    assert_eq!(nodes(&main).len(), 6);
    assert!(!nodes(&main).contains_key(&5));
}

#[test]
fn a_node_that_was_removed_is_missed_and_no_other_taken_for_it() {
    let jungle = Jungle::new().unwrap();
    let (main, side) = parted(&jungle);
    main.update(|tx| tx.remove(&path("/2"))).unwrap();
    put(&side, "/1", "n", 7);
    let merge_it = || main.merge("side", &MergeOptions::new()).unwrap();
    let lost = merge_it();
    // A conflict calls it by its key on the branch that is merged into.
    let told: Vec<String> = lost.conflicts().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["/2: they removed what we changed (ours: ~ /2 @n = 7; theirs: - /2)"]);
    let there = lost.ours().root().at(&path("/2")).unwrap().attribute("n");
    assert_eq!((there, lost.changes().len()), (Some(7.into()), 0));
    lost.commit(&CommitMeta::new()).unwrap();
    assert_eq!(nodes(&main).len(), 1);
    // Nor does another one get its key.
    assert_eq!(add(&side, "/", 3), "/2");
    put(&side, "/1", "n", 8);
    merge_it().commit(&CommitMeta::new()).unwrap();
    assert_eq!((at(&main, 3), int(&main, "/1", "n")), ("/3".into(), None));
}

/// With what was removed around it, and where it has the key of another one there.
#[test]
fn what_is_brought_back_where_it_never_was_has_a_position() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    assert_eq!([add(&side, "/0", 1), add(&main, "/0", 2)], ["/0/0", "/0/0"]);
    assert!(merge(&main, "side"));
    main.update(|tx| tx.remove(&path("/0"))).unwrap();
    assert_eq!(add(&side, "/0", 3), "/0/1");
    let merged = main.merge("side", &MergeOptions::new().resolution(Resolution::Ours)).unwrap();
    assert!(!merged.conflicts().is_empty());
    // As who settles it for ours does.
    let ours = merged.ours().clone();
    let node = ours.root().at(&path("/0")).unwrap();
    let merged = merged.edit(|editor| editor.insert_subtree(&[], &Key::from(0), node)).unwrap();
    merged.commit(&CommitMeta::new()).unwrap();
    assert_eq!(at(&main, 1), "/0/1");
    let place = path(&at(&main, 3));
    assert!(matches!(place.last(), Some(Key::Position(_))), "{place}");
    // It is the same one from then on.
    put(&side, "/0/1", "n", 7);
    assert!(merge(&main, "side"));
    assert_eq!(int(&main, &place.to_string(), "n"), Some(7));
}

#[test]
fn a_key_that_a_node_got_only_as_the_merge_was_committed_is_known() {
    for journal in [None, Some(Arc::new(MemoryJournal::default()))] {
        let builder = Jungle::builder();
        let builder = match journal {
            Some(journal) => builder.journal(journal),
            None => builder,
        };
        let jungle = builder.build().unwrap();
        let main = tree_in(&jungle, "t", 1);
        let side = main.branch("side", jungle.revision()).unwrap();
        add(&side, "/", 1);
        let prepared = main.merge("side", &MergeOptions::new()).unwrap();
        assert!(prepared.renamed().is_empty());
        add(&main, "/", 2);
        prepared.commit(&CommitMeta::new()).unwrap();
        assert_eq!(at(&main, 1), "/2");
        add(&side, "/1", 3);
        let prepared = main.merge("side", &MergeOptions::new()).unwrap();
        add(&main, "/2", 4);
        prepared.commit(&CommitMeta::new()).unwrap();
        assert_eq!(at(&main, 3), "/2/1");
        put(&side, "/1/0", "n", 7);
        assert!(merge(&main, "side"));
        assert_eq!((int(&main, "/2/0", "n"), int(&main, "/2/1", "n")), (None, Some(7)));
    }
}

/// Histories as short as these have no whole pieces.
struct Empty;

impl Archive for Empty {
    fn piece(&self, _: BranchId, _: u64) -> Result<Arc<[HistoryEntry]>, ArchiveError> {
        Err(ArchiveError::new("there is nothing"))
    }
}

/// Takes a Jungle apart and puts it together again.
fn reopened(jungle: Jungle, builder: Builder) -> Jungle {
    let checkpoint = jungle.checkpoint();
    let arena = jungle.arena().clone();
    drop(jungle);
    builder.restore(arena, checkpoint.state(), Arc::new(Empty)).unwrap()
}

fn replayed(journal: &MemoryJournal) -> Jungle {
    let copy = Jungle::new().unwrap();
    journal.records().iter().try_for_each(|record| copy.replay(record)).unwrap();
    copy.end_replay();
    copy
}

fn without(jungle: &Jungle, at: &str) -> Erasure {
    Erasure::new(jungle.open_tree("t").unwrap().id(), path(at)).unwrap()
}

fn erased_log(journal: &MemoryJournal, erasure: Erasure) -> Jungle {
    let (scratch, without) = (Jungle::new().unwrap(), Jungle::new().unwrap());
    let mut eraser = Eraser::new(erasure);
    for record in journal.records() {
        without.replay(&eraser.replay(&scratch, &record).unwrap()).unwrap();
    }
    without.end_replay();
    without
}

fn erased_copy(jungle: &Jungle, erasure: &Erasure) -> Jungle {
    let (builder, arena) = (Jungle::builder(), Arena::new().unwrap());
    jungle.copy_without(erasure, builder, arena, |_, _| Continue(())).unwrap().0
}

#[test]
fn keys_are_known_wherever_the_history_comes_from() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    drop(parted(&jungle));
    let first = without(&jungle, "/0");
    let others = [
        replayed(&journal),
        erased_log(&journal, first.clone()),
        erased_copy(&jungle, &first),
        reopened(replayed(&journal), Jungle::builder()),
        reopened(erased_copy(&jungle, &first), Jungle::builder()),
    ];
    for jungle in [jungle].into_iter().chain(others) {
        let main = jungle.open_tree("t").unwrap();
        let side = main.on_branch("side").unwrap();
        put(&side, "/1", "n", 7);
        assert!(merge(&main, "side"));
        assert_eq!((int(&main, "/1", "n"), int(&main, "/2", "n")), (None, Some(7)));
        assert!(merge(&side, "main"));
        assert_eq!(at(&side, 1), "/1");
        // A copy gives a position of the main branch on the side no more.
        assert!(["/2", "/3"].contains(&&*at(&side, 2)));
    }
}

#[test]
fn what_is_erased_has_no_other_key() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    drop(parted(&jungle));
    let node = without(&jungle, "/1");
    for jungle in [erased_log(&journal, node.clone()), erased_copy(&jungle, &node)] {
        let state = jungle.checkpoint();
        let merges = &state.state().trees[0].merges;
        assert_eq!((merges.len(), merges[0].renumbered.nodes().len()), (1, 0));
        let main = jungle.open_tree("t").unwrap();
        let side = main.on_branch("side").unwrap();
        put(&side, "/0", "n", 7);
        assert!(merge(&main, "side"));
        assert_eq!(int(&main, "/0", "n"), Some(7));
    }
}

#[test]
fn it_is_told_where_else_what_is_erased_is() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let (main, side) = parted(&jungle);
    put(&side, "/1", "n", 7);
    assert!(merge(&main, "side"));
    for at in ["/1", "/2", "/2/0"] {
        let (scratch, mut eraser) = (Jungle::new().unwrap(), Eraser::new(without(&jungle, at)));
        for record in journal.records() {
            eraser.replay(&scratch, &record).unwrap();
        }
        let moves = &eraser.erased().moves;
        let told: Vec<_> = moves.iter().map(|one| (one.from.clone(), one.to.clone())).collect();
        assert_eq!(told, [(path("/1"), path("/2"))], "{at}");
    }
}

#[test]
fn branches_with_too_many_other_keys_are_not_merged_again() {
    let (jungle, main) = tree_of(0);
    let side = main.branch("side", jungle.revision()).unwrap();
    let fill = |tree: &TreeHandle, count: usize| {
        let added = tree.update(|tx| {
            tx.bulk(|editor| {
                for _ in 0..count {
                    editor.add_child(&[])?;
                }
                Ok::<_, EditError>(())
            })
        });
        added.unwrap();
    };
    fill(&main, RENUMBERED_MAX + 1);
    fill(&side, RENUMBERED_MAX);
    assert!(merge(&main, "side") && !merge(&main, "side"));
    fill(&side, 2);
    assert!(merge(&main, "side"));
    // Nor where one of them was erased.
    let copy = erased_copy(&jungle, &without(&jungle, "/5"));
    let main_of_copy = copy.open_tree("t").unwrap();
    for (into, from) in [(&main, "side"), (&side, "main"), (&main_of_copy, "side")] {
        let refused = into.merge(from, &MergeOptions::new());
        assert!(matches!(refused, Err(MergeBranchError::Renumbered { .. })), "{refused:?}");
    }
    let new = main.branch("new", jungle.revision()).unwrap();
    put(&new, "/7", "n", 7);
    assert!(merge(&main, "new"));
}

#[test]
fn fewer_other_keys_are_too_many_where_their_paths_are_long() {
    let (jungle, main) = tree_of(0);
    let parent = [Key::from("x".repeat(4_000))];
    main.update(|tx| tx.insert_child(&[], &parent[0])).unwrap();
    let side = main.branch("side", jungle.revision()).unwrap();
    for tree in [&main, &side] {
        tree.update(|tx| (0..200).try_for_each(|_| tx.append(&parent).map(drop))).unwrap();
    }
    assert!(merge(&main, "side"));
    let refused = main.merge("side", &MergeOptions::new());
    assert!(matches!(refused, Err(MergeBranchError::Renumbered { .. })), "{refused:?}");
}

#[test]
fn a_position_names_one_node_also_where_that_is_gone() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let main = tree_in(&jungle, "t", 1);
    let a = main.branch("a", jungle.revision()).unwrap();
    let b = a.branch("b", a.snapshot().revision()).unwrap();
    assert_eq!([add(&a, "/", 1), add(&b, "/", 2)], ["/1", "/1"]);
    assert!(merge(&b, "a"));
    a.update(|tx| tx.remove(&path("/1"))).unwrap();
    // Nothing is left of it but that the main branch does not give its position either.
    let told = main.merge("a", &MergeOptions::new()).unwrap().changes().to_string();
    assert_eq!(told, "+ /1\n- /1\n");
    assert!(merge(&main, "a") && !merge(&main, "a"));
    let copy = replayed(&journal);
    for main in [&main, &copy.open_tree("t").unwrap()] {
        assert_eq!(add(main, "/", 3), "/2");
    }
    assert!(merge(&a, "main") && merge(&b, "a"));
    assert_eq!(at(&a, 3), "/2");
    assert_eq!(nodes(&b), BTreeMap::from([(2, path("/1")), (3, path("/3"))]));
}

#[test]
fn two_of_one_position_are_two_also_where_one_is_gone() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    assert_eq!([add(&side, "/", 1), add(&main, "/", 2)], ["/1", "/1"]);
    side.update(|tx| tx.remove(&path("/1"))).unwrap();
    put(&side, "/0", "n", 7);
    assert!(merge(&main, "side") && merge(&side, "main"));
    assert_eq!([at(&main, 2), at(&side, 2)], ["/1", "/2"]);
    // From then on they give the same.
    assert_eq!(add(&side, "/", 3), "/3");
    assert!(merge(&main, "side"));
    assert_eq!(at(&main, 3), "/3");
}

#[test]
fn a_position_is_given_to_one_node_whatever_comes_between() {
    let gone = || {
        let (jungle, main) = tree_of(1);
        let side = main.branch("side", jungle.revision()).unwrap();
        add(&side, "/", 1);
        side.update(|tx| tx.remove(&path("/1"))).unwrap();
        let prepared = main.merge("side", &MergeOptions::new()).unwrap();
        (main, side, prepared)
    };
    let (main, _, prepared) = gone();
    let edited = prepared.edit(|editor| editor.put_attribute(&[], "n", 1)).unwrap();
    assert_eq!(edited.changes().to_string(), "~ / @n = 1\n+ /1\n- /1\n");
    edited.commit(&CommitMeta::new()).unwrap();
    assert_eq!(add(&main, "/", 2), "/2");
    // Somebody has given it before the merge is committed.
    let (main, side, prepared) = gone();
    assert_eq!(add(&main, "/", 2), "/1");
    let committed = prepared.commit(&CommitMeta::new()).unwrap();
    assert!(committed.renamed.is_empty(), "{:?}", committed.renamed);
    assert!(merge(&side, "main"));
    assert_eq!([at(&main, 2), at(&side, 2)], ["/1", "/2"]);
}

/// There is nothing to be lost with it.
#[test]
fn where_the_parent_goes_a_position_is_not_missed() {
    let (jungle, main) = tree_of(1);
    let side = main.branch("side", jungle.revision()).unwrap();
    put(&side, "/", "n", 7);
    add(&side, "/0", 1);
    side.update(|tx| tx.remove(&path("/0/0"))).unwrap();
    let prepared = main.merge("side", &MergeOptions::new()).unwrap();
    main.update(|tx| tx.remove(&path("/0"))).unwrap();
    prepared.commit(&CommitMeta::new()).unwrap();
    assert_eq!(int(&main, "/", "n"), Some(7));
}

const BRANCHES: [&str; 3] = ["main", "a", "b"];

/// The attributes of each node, by its number.
type Content = BTreeMap<i64, BTreeMap<String, i64>>;

/// What there is if nothing contradicts anything.
fn both(common: &Content, ours: &Content, theirs: &Content) -> Content {
    let mut both = theirs.clone();
    both.retain(|id, _| ours.contains_key(id) || !common.contains_key(id));
    for (id, attributes) in ours {
        let was = common.get(id);
        if was.is_none() {
            both.entry(*id).or_default();
        }
        let Some(now) = both.get_mut(id) else { continue };
        for (key, value) in attributes {
            if was.and_then(|was| was.get(key)) != Some(value) {
                now.insert(key.clone(), *value);
            }
        }
    }
    both
}

/// A tree of which each node is known by its number, and each attribute of it tells that, too.
struct World {
    jungle: Jungle,
    journal: Arc<MemoryJournal>,
    /// Which branches are merged, and what they have in common.
    pairs: Vec<([&'static str; 2], Content)>,
    /// The number of each node's parent.
    parents: BTreeMap<i64, i64>,
    /// Nodes that branches contradicted each other about: where one was removed it may have come
    /// back at another position, and so be twice on a third branch.
    disputed: BTreeSet<i64>,
}

impl World {
    fn new(rng: &mut Rng) -> World {
        let journal = Arc::new(MemoryJournal::default());
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        let main = tree_in(&jungle, "t", 0);
        add(&main, "/", 1);
        add(&main, "/0", 2);
        let origin = if rng.chance(1, 2) { "main" } else { "a" };
        main.branch("a", jungle.revision()).unwrap();
        let from = main.on_branch(origin).unwrap();
        from.branch("b", from.snapshot().revision()).unwrap();
        let (parents, disputed) = (BTreeMap::from([(1, 0), (2, 1)]), BTreeSet::new());
        let mut world = World { jungle, journal, pairs: Vec::new(), parents, disputed };
        let common = world.content("main");
        world.pairs = vec![(["main", "a"], common.clone()), ([origin, "b"], common)];
        world
    }

    fn on(&self, branch: &str) -> TreeHandle {
        self.jungle.open_tree("t").unwrap().on_branch(branch).unwrap()
    }

    /// What is on a branch; each node is where it belongs, and what was put to it was meant for it.
    fn content(&self, branch: &str) -> Content {
        let tree = self.on(branch);
        let version = tree.snapshot();
        let mut content = Content::new();
        for (id, at) in all_nodes(&tree) {
            let parent = version.root().at(&at[..at.len() - 1]).unwrap().attribute("id");
            let parent = parent.map_or(0, |id| id.as_int().unwrap());
            assert_eq!(parent, self.parents[&id], "the parent of {id} at {at} on {branch}");
            let attributes = version.root().at(&at).unwrap().attributes();
            let attributes = attributes.filter(|(key, _)| *key != "id");
            let attributes = attributes.map(|(key, value)| (key.into(), value.as_int().unwrap()));
            let attributes: BTreeMap<String, i64> = attributes.collect();
            let is_own = |value: &i64| value / 1_000 == id;
            assert!(attributes.values().all(is_own), "{attributes:?} of {id} at {at} on {branch}");
            let twin = content.insert(id, attributes);
            assert!(twin.is_none() || self.disputed.contains(&id), "{id} is twice on {branch}");
        }
        content
    }

    fn step(&mut self, rng: &mut Rng, step: i64) {
        let branch = *rng.pick(&BRANCHES);
        let tree = self.on(branch);
        let nodes = all_nodes(&tree);
        match rng.below(12) {
            0..5 => {
                let at_root = nodes.is_empty() || rng.chance(1, 2);
                let root = (0, Path::root());
                let (parent, at) = if at_root { &root } else { rng.pick(&nodes) };
                let id = self.parents.len() as i64 + 1;
                self.parents.insert(id, *parent);
                add(&tree, &at.to_string(), id);
            }
            5..8 if !nodes.is_empty() => {
                let (id, at) = rng.pick(&nodes);
                put(&tree, &at.to_string(), branch, id * 1_000 + step);
            }
            8 if !nodes.is_empty() => {
                let (_, at) = rng.pick(&nodes);
                tree.update(|tx| tx.remove(at)).unwrap();
            }
            _ => self.merge(rng),
        }
    }

    fn merge(&mut self, rng: &mut Rng) {
        let pair = rng.index(self.pairs.len());
        let ([one, other], common) = &self.pairs[pair];
        let (from, into) = if rng.chance(1, 2) { (one, other) } else { (other, one) };
        let (ours, theirs) = (self.content(from), self.content(into));
        let merge = self.on(into).merge(from, &MergeOptions::new()).unwrap();
        let is_clean = merge.conflicts().is_empty();
        merge.commit(&CommitMeta::new()).unwrap();
        let mut now = self.content(into);
        let mut due = both(common, &ours, &theirs);
        if !is_clean {
            // One removed it, and the other did not: merged back, it comes anew.
            let ids = now.keys().chain(due.keys());
            self.disputed.extend(ids.filter(|id| now.get(id) != due.get(id)).copied());
        }
        for content in [&mut now, &mut due] {
            content.retain(|id, _| !self.disputed.contains(id));
        }
        assert_eq!(now, due, "{from} into {into}");
        self.pairs[pair].1 = ours;
    }

    fn reopened(self) -> World {
        let builder = Jungle::builder().journal(Arc::clone(&self.journal));
        World { jungle: reopened(self.jungle, builder), ..self }
    }

    /// Done again from its log, it goes on likewise.
    fn check_replay(&self) {
        let copy = replayed(&self.journal);
        let ends = [&self.jungle, &copy].map(|jungle| {
            let main = jungle.open_tree("t").unwrap();
            for ([one, other], _) in &self.pairs {
                for (from, into) in [(one, other), (other, one)] {
                    let into = main.on_branch(into).unwrap();
                    let merge = into.merge(from, &MergeOptions::new()).unwrap();
                    merge.commit(&CommitMeta::new()).unwrap();
                }
            }
            let hash = |name: &str| main.on_branch(name).unwrap().read().root().content_hash();
            BRANCHES.map(hash)
        });
        assert_eq!(ends[0], ends[1]);
    }
}

#[test]
fn nodes_stay_who_they_are_whatever_is_merged() {
    for_each_seed(150, |rng| {
        let mut world = World::new(rng);
        for step in 0..60 {
            if rng.chance(1, 20) {
                world = world.reopened();
            }
            world.step(rng, step);
        }
        world.check_replay();
    });
}
