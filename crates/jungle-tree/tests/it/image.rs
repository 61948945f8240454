//! An arena is saved slab by slab and comes back as it was, loaded as it is looked at.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{
    Arena, ArenaOptions, ContentHash, EditError, Editor, Keep, Key, Path, SavedImage, SlabId,
    SlabSource, Tree, VersionId, loading,
};

/// Slabs in memory, which can be told to fail.
#[derive(Default)]
struct Slabs {
    slabs: Mutex<BTreeMap<u64, Vec<u8>>>,
    loads: AtomicU64,
    fails: AtomicBool,
}

impl SlabSource for Slabs {
    fn load(&self, id: SlabId, bytes: &mut [u8]) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) {
            return Err("the slab is damaged".into());
        }
        let slabs = self.slabs.lock().expect("no load panics");
        bytes.copy_from_slice(slabs.get(&id.number()).ok_or("there is no such slab")?);
        Ok(())
    }
}

impl Slabs {
    /// Saves what has changed; gives how many slabs that were.
    fn save(&self, arena: &Arena, image: &mut SavedImage) -> usize {
        let mut slabs = self.slabs.lock().expect("no save panics");
        let mut changed = 0;
        let saved = arena.save(image, |id, bytes| {
            changed += 1;
            match bytes {
                Some(bytes) => drop(slabs.insert(id.number(), bytes.to_vec())),
                None => drop(slabs.remove(&id.number())),
            }
            Ok::<_, std::convert::Infallible>(())
        });
        *image = saved.expect("never");
        let described = SavedImage::from_bytes(&image.to_bytes()).expect("its own description");
        assert_eq!(described, *image);
        changed
    }
}

fn options() -> ArenaOptions {
    ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 256 << 20, ..Default::default() }
}

fn reopen(slabs: &Arc<Slabs>, image: &SavedImage) -> Arena {
    let source = Arc::clone(slabs) as Arc<dyn SlabSource>;
    // Where a region's memory comes from changes nothing.
    let spill =
        (slabs.slabs.lock().expect("no load panics").len() % 2 == 1).then(std::env::temp_dir);
    Arena::reopen(&ArenaOptions { spill, ..options() }, image, source)
        .expect("room for a small arena")
}

fn some_path(rng: &mut Rng, tree: &Tree) -> Path {
    let (reading, mut path) = (tree.read(), Path::root());
    let mut node = reading.root();
    while node.child_count() > 0 && rng.chance(4, 5) {
        let nth = rng.below(node.child_count().min(40)) as usize;
        let (key, child) = node.children().nth(nth).expect("counted");
        path.push(key.to_key());
        node = child;
    }
    path
}

/// Mostly short values, some apart from their record, few in slabs of their own.
fn some_value(rng: &mut Rng) -> String {
    let len = match rng.below(30) {
        0 => 40_000 + rng.below(200_000),
        1..6 => 200 + rng.below(3_000),
        _ => rng.below(60),
    };
    char::from(b'a' + rng.below(26) as u8).to_string().repeat(len as usize)
}

fn edit(rng: &mut Rng, tree: &mut Tree) {
    let path = some_path(rng, tree);
    let edited: Result<(), EditError> = match rng.below(12) {
        0 if !path.is_empty() => tree.remove(&path),
        1 | 2 => {
            let name = Key::from(format!("name {}", rng.below(1000)));
            tree.insert_child(&path, &name).or(Ok(()))
        }
        3 => tree.edit(|editor| editor.cursor(&path)?.add_children(rng.below(40)).map(drop)),
        4..8 => tree.add_child(&path).map(drop),
        _ => tree.put_attribute(&path, &format!("key {}", rng.below(8)), &*some_value(rng)),
    };
    edited.expect("the path was just found");
}

fn found(arena: &Arena, id: VersionId) -> Tree {
    Tree::from_version(arena, id).expect("the image holds it")
}

type Kept = Vec<(VersionId, ContentHash)>;

fn check(tree: &Tree, kept: &Kept) {
    let reader = tree.reader();
    for (id, hash) in kept {
        let held = reader.held(*id);
        held.check().expect("whole");
        assert_eq!(held.root().content_hash(), *hash);
    }
}

#[test]
fn what_a_long_edit_changes_in_place_is_in_the_image_after_it() {
    for images in 1..4 {
        let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
        let arena = Arena::with_options(&options()).expect("address space");
        let (mut tree, mut other) = (Tree::new(&arena), Tree::new(&arena));
        tree.keep(Keep::All);
        other.keep(Keep::All);
        // Its root is a block of its own from here on: bare children are bits in it.
        let mut open = Editor::new(tree.snapshot());
        open.add_child(&[]).expect("there is room");
        for _ in 0..images {
            // Others take memory meanwhile, in short edits and in long ones.
            other.add_child(&[]).expect("there is room");
            other.edit(|editor| editor.add_child(&[]).map(drop)).expect("there is room");
            slabs.save(&arena, &mut image);
            open.add_child(&[]).expect("there is room");
        }
        tree.publish(open);
        slabs.save(&arena, &mut image);
        let (versions, hash) =
            ([&tree, &other].map(Tree::version_id), tree.read().root().content_hash());
        drop((tree, other, arena));
        let arena = reopen(&slabs, &image);
        let [tree, other] = versions.map(|id| found(&arena, id));
        assert_eq!(tree.read().root().child_count(), 1 + images);
        assert_eq!(tree.read().root().content_hash(), hash);
        assert_eq!(other.read().root().child_count(), 2 * images);
    }
}

#[test]
fn attributes_that_are_counted_or_left_out_are_not_loaded() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    for n in 0..20 {
        tree.put_attribute(&[], &format!("{n:02}"), &*"v".repeat(200_000)).unwrap();
    }
    slabs.save(&arena, &mut image);
    let id = tree.version_id();
    drop((tree, arena));
    let arena = reopen(&slabs, &image);
    let tree = found(&arena, id);
    let reading = tree.read();
    let attributes = reading.root().attributes();
    let before = slabs.loads.load(Ordering::Relaxed);
    let loads = || slabs.loads.load(Ordering::Relaxed) - before;
    assert_eq!((attributes.clone().count(), loads()), (20, 0));
    let mut lengths = attributes.clone();
    let told: Vec<_> = std::iter::from_fn(|| lengths.next_cut(0)).collect();
    assert!(told.iter().all(|told| (told.1, told.2) == ("".into(), 200_000)), "{told:?}");
    assert_eq!((told.len(), loads()), (20, 0));
    let last = attributes.clone().nth(19).map(|(key, _)| key);
    assert_eq!((last, attributes.clone().nth(20).is_none()), (Some("19"), true));
    let of_one = loads();
    assert_eq!(attributes.map(|(key, _)| key.len()).sum::<usize>(), 40);
    assert!(of_one > 0 && 10 * of_one < loads(), "{of_one} of {}", loads());
}

/// What was born before the last image is in that one, so the next does not look for it.
#[test]
fn what_an_image_has_seen_is_not_edited_in_place() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let mut arena = Arena::with_options(&options()).unwrap();
    // Nobody holds a version of it, nor reads one.
    let mut tree = Tree::new(&arena);
    tree.add_child(&[]).unwrap();
    for round in 0..3 {
        slabs.save(&arena, &mut image);
        tree.add_child(&[]).unwrap();
        tree.put_attribute(&[Key::from(round)], "n", round).unwrap();
        tree.put_attribute(&[Key::from(0)], "text", &*"v".repeat(100)).unwrap();
        let held = tree.snapshot();
        slabs.save(&arena, &mut image);
        let (id, hash) = (held.version_id(), held.root().content_hash());
        drop((held, tree, arena));
        arena = reopen(&slabs, &image);
        tree = found(&arena, id);
        assert_eq!(tree.read().root().content_hash(), hash);
        tree.snapshot().check().unwrap();
        // As nobody has looked at it.
        drop(tree);
        tree = found(&arena, id);
    }
}

/// A reopened version has its number still when it is edited.
#[test]
fn a_version_that_was_found_again_is_not_edited_in_place() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    tree.add_child(&[]).unwrap();
    let id = tree.version_id();
    slabs.save(&arena, &mut image);
    drop((tree, arena));
    let arena = reopen(&slabs, &image);
    let mut tree = found(&arena, id);
    tree.add_child(&[]).unwrap();
    assert!(tree.version_id().version() > id.version());
    assert_eq!(tree.read().root().child_count(), 2);
    drop(tree);
    assert_eq!(found(&arena, id).read().root().child_count(), 1);
}

#[test]
fn an_image_after_one_that_was_lost_has_all_of_it() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).expect("address space");
    let mut tree = Tree::new(&arena);
    tree.keep(Keep::All);
    slabs.save(&arena, &mut image);
    tree.add_child(&[]).expect("there is room");
    // Nobody keeps what this gives.
    arena.save(&image, |_, _| Ok::<_, std::convert::Infallible>(())).expect("never");
    arena.save(&image, |_, _| Err("no room")).expect_err("told");
    slabs.save(&arena, &mut image);
    let id = tree.version_id();
    drop((tree, arena));
    assert_eq!(found(&reopen(&slabs, &image), id).read().root().child_count(), 1);
}

#[test]
fn an_image_of_all_has_what_is_not_loaded() {
    for_each_seed(6, |rng| {
        let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
        let arena = Arena::with_options(&options()).expect("address space");
        let mut tree = Tree::new(&arena);
        (0..300).for_each(|_| edit(rng, &mut tree));
        slabs.save(&arena, &mut image);
        let id = tree.version_id();
        drop((tree, arena));
        let arena = reopen(&slabs, &image);
        let mut tree = found(&arena, id);
        (0..rng.below(5)).for_each(|_| edit(rng, &mut tree));
        let (whole, mut all) = (Arc::new(Slabs::default()), SavedImage::default());
        loading(|| whole.save(&arena, &mut all)).expect("no load fails");
        let (id, hash) = (tree.version_id(), tree.read().root().content_hash());
        drop((tree, arena));
        let arena = reopen(&whole, &all);
        whole.fails.store(true, Ordering::Relaxed);
        arena.load_all().expect_err("told");
        whole.fails.store(false, Ordering::Relaxed);
        arena.load_all().expect("no load fails");
        // Nothing is asked for any more.
        whole.fails.store(true, Ordering::Relaxed);
        let tree = found(&arena, id);
        tree.snapshot().check().expect("whole");
        assert_eq!(tree.read().root().content_hash(), hash);
    });
}

#[test]
fn an_image_holds_every_version_that_was_held() {
    for_each_seed(12, |rng| {
        let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
        let mut arena = Arena::with_options(&options()).expect("address space");
        let mut tree = Tree::new(&arena);
        tree.keep(Keep::All);
        let mut kept = Kept::new();
        for _generation in 0..5 {
            for _ in 0..3 {
                (0..rng.below(150)).for_each(|_| edit(rng, &mut tree));
                kept.push((tree.version_id(), tree.read().root().content_hash()));
                // An edit under way, published after: it must not be missing from the next image.
                let mut open = Editor::new(tree.snapshot());
                open.add_child(&[]).expect("there is room");
                if rng.chance(1, 2) {
                    slabs.save(&arena, &mut image);
                }
                open.put_attribute(&[], "late", &*some_value(rng)).expect("there is room");
                tree.publish(open);
                kept.push((tree.version_id(), tree.read().root().content_hash()));
                if rng.chance(1, 3) {
                    arena.next_collection().start(kept.iter().map(|(id, _)| *id)).finish();
                }
            }
            slabs.save(&arena, &mut image);
            assert_eq!(slabs.save(&arena, &mut image), 0, "nothing has changed");
            drop((tree, arena));
            arena = reopen(&slabs, &image);
            tree = found(&arena, kept.last().expect("some").0);
            tree.keep(Keep::All);
            check(&tree, &kept);
        }
    });
}

#[test]
fn an_image_saved_beside_writers_is_consistent() {
    for_each_seed(4, |rng| {
        let (slabs, mut image) = (Slabs::default(), SavedImage::default());
        let arena = Arena::with_options(&options()).expect("address space");
        let mut tree = Tree::new(&arena);
        (0..300).for_each(|_| edit(rng, &mut tree));
        let reader = tree.reader();
        let done = AtomicBool::new(false);
        let saved = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    edit(rng, &mut tree);
                }
            });
            let mut saved = Vec::new();
            for _ in 0..20 {
                let held = reader.snapshot();
                let hash = held.root().content_hash();
                slabs.save(&arena, &mut image);
                let id = held.version_id();
                let copy = slabs.slabs.lock().expect("no load panics").clone();
                saved.push((image.clone(), copy, id, hash));
            }
            done.store(true, Ordering::Relaxed);
            writer.join().expect("the writer goes on");
            saved
        });
        for (image, slabs, id, hash) in saved {
            let slabs = Arc::new(Slabs { slabs: Mutex::new(slabs), ..Slabs::default() });
            let arena = reopen(&slabs, &image);
            let tree = found(&arena, id);
            check(&tree, &vec![(id, hash)]);
        }
    });
}

#[test]
fn only_what_is_looked_at_is_loaded_and_only_what_changed_is_saved() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    tree.edit(|editor| {
        let value = "v".repeat(100);
        let child = [("text", (&*value).into())];
        editor.cursor(&[])?.add_children_with((0..50_000).map(|_| &child[..])).map(drop)
    })
    .unwrap();
    let id = tree.snapshot().version_id();
    let all = slabs.save(&arena, &mut image);
    assert!(all > 90, "{all}");
    drop((tree, arena));

    let arena = reopen(&slabs, &image);
    let mut tree = found(&arena, id);
    let path = [Key::from(777)];
    assert!(tree.read().root().at(&path).unwrap().attribute("text").is_some());
    assert!(slabs.loads.load(Ordering::Relaxed) < 8);
    tree.put_attribute(&path, "text", "short").unwrap();
    let _held = tree.snapshot();
    let changed = slabs.save(&arena, &mut image);
    assert!((1..8).contains(&changed), "{changed}");
    assert!(slabs.loads.load(Ordering::Relaxed) < 8);
}

#[test]
fn what_was_made_last_is_loaded_ahead() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    tree.keep(Keep::All);
    (0..1_000).for_each(|_| drop(tree.add_child(&[]).unwrap()));
    let path = |n: i64| [Key::from(n as u64 * 7 % 1_000)];
    (0..20_000).for_each(|n| tree.put_attribute(&path(n), "n", n).unwrap());
    let id = tree.version_id();
    let all = slabs.save(&arena, &mut image);
    assert!(arena.newest_absent().is_empty(), "nothing is to be loaded");
    drop((tree, arena));

    let arena = reopen(&slabs, &image);
    let tree = found(&arena, id);
    let newest = arena.newest_absent();
    assert!((2..=4).contains(&newest.len()) && all > 40, "{newest:?} of {all}");
    slabs.fails.store(true, Ordering::Relaxed);
    arena.load_ahead(&newest).expect_err("told");
    slabs.fails.store(false, Ordering::Relaxed);
    arena.load_ahead(&newest).unwrap();
    // Neither they nor what was changed last are asked for any more.
    slabs.fails.store(true, Ordering::Relaxed);
    arena.load_ahead(&newest).unwrap();
    let last = path(19_999);
    let read = loading(|| {
        let reading = tree.read();
        reading.root().at(&last).ok().and_then(|node| node.attribute("n")?.as_int())
    });
    assert_eq!(read.unwrap(), Some(19_999));
}

#[test]
fn a_collection_spares_what_it_finds_without_loading_it() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    // Values that lie apart from their attributes, in slabs of their own, up to large records.
    for bytes in [3_usize, 40, 600, 9_000, 70_000, 300_000] {
        let key = Key::from(format!("a name of {bytes} bytes").as_str());
        tree.insert_child(&[], &key).unwrap();
        tree.put_attribute(std::slice::from_ref(&key), "text", &*"v".repeat(bytes)).unwrap();
    }
    let (id, hash) = (tree.snapshot().version_id(), tree.read().root().content_hash());
    slabs.save(&arena, &mut image);
    drop((tree, arena));

    let arena = reopen(&slabs, &image);
    let tree = found(&arena, id);
    assert_eq!(arena.collect().payload_bytes, 0, "all of it is alive");
    assert_eq!(tree.read().root().content_hash(), hash);
    tree.snapshot().check().unwrap();
    drop(tree);
    assert!(arena.collect().payload_bytes > 300_000);
}

/// What a collection gives back is not there to be loaded any more, and may be somebody else's.
#[test]
fn all_is_loaded_beside_a_collection_and_a_writer() {
    for_each_seed(6, |rng| {
        let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
        let arena = Arena::with_options(&options()).unwrap();
        // In turn, so that there are slabs of both, of one and of the other.
        let (mut tree, mut dead) = (Tree::new(&arena), Tree::new(&arena));
        for _ in 0..6 {
            (0..50).for_each(|_| edit(rng, &mut tree));
            (0..50).for_each(|_| edit(rng, &mut dead));
        }
        let id = tree.snapshot().version_id();
        slabs.save(&arena, &mut image);
        drop((tree, dead, arena));
        let arena = reopen(&slabs, &image);
        let mut tree = found(&arena, id);
        std::thread::scope(|scope| {
            scope.spawn(|| arena.load_all().unwrap());
            scope.spawn(|| arena.collect());
            (0..200).for_each(|_| edit(rng, &mut tree));
        });
        let held = tree.snapshot();
        held.check().unwrap();
        let hash = held.root().content_hash();
        arena.collect();
        (0..50).for_each(|_| edit(rng, &mut tree));
        held.check().unwrap();
        assert_eq!(held.root().content_hash(), hash);
    });
}

/// A tree of long names in the order in which nobody made them, so that neighbours lie in several
/// slabs; saved, and opened again.
fn of_long_names() -> (Arc<Slabs>, Arena, Tree) {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    for at in 0..200 {
        let key = Key::from(format!("{:03}{}", at * 77 % 200, "-".repeat(3_000)));
        tree.insert_child(&[], &key).unwrap();
    }
    let id = tree.snapshot().version_id();
    slabs.save(&arena, &mut image);
    drop((tree, arena));
    let arena = reopen(&slabs, &image);
    let tree = found(&arena, id);
    (slabs, arena, tree)
}

#[test]
fn a_collection_loads_nothing_to_look_for_what_is_dead_in_it() {
    let (slabs, arena, tree) = of_long_names();
    // All that leads to the names, which are asked for nothing.
    assert_eq!(tree.read().root().subtree_count(), 201);
    arena.collect();
    let loaded = slabs.loads.load(Ordering::Relaxed);
    assert!(loaded < slabs.slabs.lock().unwrap().len() as u64 / 2, "{loaded} slabs are loaded");
    slabs.fails.store(true, Ordering::Relaxed);
    loading(|| arena.collect()).expect("the names are not looked at");
    slabs.fails.store(false, Ordering::Relaxed);
    tree.snapshot().check().unwrap();
}

#[test]
fn an_edit_that_is_given_up_loads_nothing() {
    let (slabs, arena, tree) = of_long_names();
    let key = Key::from(format!("100{}", "-".repeat(3_000)));
    let mut editor = Editor::new(tree.snapshot());
    editor.put_attribute(std::slice::from_ref(&key), "n", 1).unwrap();
    slabs.fails.store(true, Ordering::Relaxed);
    loading(|| drop(editor)).expect("what is beside it is not looked at");
    slabs.fails.store(false, Ordering::Relaxed);
    assert_eq!(tree.read().root().subtree_count(), 201);
    drop(tree);
    assert!(arena.collect().payload_bytes > 500_000, "nobody holds anything any more");
}

#[test]
fn what_cannot_be_loaded_is_an_error_and_not_an_answer() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    tree.add_child(&[]).unwrap();
    tree.put_attribute(&[Key::from(0)], "text", "there").unwrap();
    let id = tree.snapshot().version_id();
    slabs.save(&arena, &mut image);

    let arena = reopen(&slabs, &image);
    let mut tree = found(&arena, id);
    slabs.fails.store(true, Ordering::Relaxed);
    let text = |tree: &Tree| {
        let reading = tree.read();
        let child = reading.root().child(0).expect("there");
        child.attribute("text").and_then(|text| text.as_text().map(str::to_owned))
    };
    let error = loading(|| text(&tree)).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    loading(|| tree.put_attribute(&[Key::from(0)], "text", "lost")).unwrap_err();
    loading(|| tree.edit(|editor| editor.put_attribute(&[Key::from(0)], "text", 1))).unwrap_err();
    slabs.fails.store(false, Ordering::Relaxed);
    assert_eq!(loading(|| text(&tree)).unwrap().as_deref(), Some("there"));
    tree.put_attribute(&[Key::from(0)], "text", "again").unwrap();
    tree.snapshot().check().unwrap();
}

#[test]
fn an_image_says_who_has_brought_in_many_attribute_keys() {
    let (slabs, mut image) = (Arc::new(Slabs::default()), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let trees = [(1, 1_024), (2, 1_023)].map(|(owner, count)| {
        let mut tree = Tree::new(&arena);
        tree.count_keys(owner);
        tree.edit(|editor| {
            (0..count).try_for_each(|n| {
                let child = [editor.add_child(&[])?];
                editor.put_attribute(&child, &format!("{owner} {n}"), 1)
            })
        })
        .unwrap();
        tree
    });
    slabs.save(&arena, &mut image);
    let id = trees[0].version_id();
    drop((trees, arena));

    let mut bytes = image.to_bytes();
    let at = bytes.len() - 4;
    bytes[at..].copy_from_slice(&2_048_u32.to_le_bytes());
    let error = SavedImage::from_bytes(&bytes).unwrap_err();
    assert!(error.to_string().ends_with("counts attribute keys that cannot be"), "{error}");

    let arena = reopen(&slabs, &image);
    assert_eq!([1, 2].map(|owner| arena.keys_brought(owner)), [1_024, 0]);
    let mut tree = found(&arena, id);
    tree.count_keys(1);
    let mut branch = Tree::from_snapshot(&tree.snapshot());
    let mut put = |key: &str| {
        branch.edit(|editor| {
            editor.keys_max(1_024);
            editor.put_attribute(&[], key, 1)
        })
    };
    let refused = EditError::TooManyKeysOfTree { keys: 1_024, keys_max: 1_024 };
    assert_eq!(put("new"), Err(refused));
    assert_eq!(put("2 7"), Ok(()));
}

#[test]
fn any_bytes_are_a_description_or_an_error() {
    let (slabs, mut image) = (Slabs::default(), SavedImage::default());
    let arena = Arena::with_options(&options()).unwrap();
    let mut tree = Tree::new(&arena);
    tree.put_attribute(&[], "key", &*"v".repeat(100_000)).unwrap();
    slabs.save(&arena, &mut image);
    let bytes = image.to_bytes();
    for_each_seed(200, |rng| {
        let mut bytes = bytes.clone();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
        drop(SavedImage::from_bytes(&bytes));
    });
}
