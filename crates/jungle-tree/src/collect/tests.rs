use std::ops::ControlFlow::{Break, Continue};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Arena, ArenaUsage, ContentHash, EditError, Editor, Key, Snapshot, Tree};

fn wide(tree: &mut Tree, children: u64) {
    let edited = tree.edit(|editor| {
        let mut cursor = editor.cursor(&[])?;
        let first = cursor.add_children(children)?;
        for position in (first..).take(children as usize) {
            cursor.enter(&Key::from(position))?;
            cursor.put_attribute("text", format!("message {position}").as_str())?;
            cursor.leave();
        }
        Ok::<_, EditError>(())
    });
    edited.expect("there is room");
}

fn check(snapshot: &Snapshot, hash: ContentHash) {
    snapshot.arena().inner().hashes.clear();
    assert_eq!(snapshot.root().content_hash(), hash);
    assert_eq!(snapshot.root().recount(), snapshot.root().subtree_count());
}

#[test]
fn what_is_held_stays_and_the_rest_is_given_back() {
    let arena = Arena::new().expect("address space");
    let mut tree = Tree::new(&arena);
    wide(&mut tree, 50_000);
    let old = tree.snapshot();
    let hash = old.root().content_hash();
    let fork = Tree::from_snapshot(&old);
    tree.edit(|editor| editor.pop_root(&[Key::from(7)])).expect("the child is there");
    drop(tree);
    arena.collect();
    check(&old, hash);
    drop(old);
    arena.collect();
    check(&fork.snapshot(), hash);
    drop(fork);
    let before = arena.usage();
    let collected = arena.collect();
    assert!(collected.returned_bytes > 1 << 20, "{collected:?}");
    let after = arena.usage();
    assert!(after.payload_bytes < before.payload_bytes / 10, "{before:?} {after:?}");
}

#[test]
fn a_collection_that_is_given_up_loses_nothing() {
    let arena = Arena::new().expect("address space");
    let mut tree = Tree::new(&arena);
    wide(&mut tree, 50_000);
    let fork = Tree::from_snapshot(&tree.snapshot());
    let hash = fork.snapshot().root().content_hash();
    let mut given_up = 0;
    let before = arena.usage();
    loop {
        // Something is replaced, and free for the next edit.
        tree.edit(|editor| editor.put_attribute(&[Key::from(7)], "n", given_up))
            .expect("there is room");
        let mut asked = 0;
        let collection = arena.next_collection().start([]);
        let done = collection.finish_while(&mut || {
            asked += 1;
            if asked > given_up { Break(()) } else { Continue(()) }
        });
        check(&fork.snapshot(), hash);
        if done.is_continue() {
            break;
        }
        given_up += 1;
    }
    assert!(given_up > 1, "{given_up}");
    let mut other = Tree::new(&arena);
    for round in 0..100u64 {
        wide(&mut other, 2_000);
        for position in round * 2_000..(round + 1) * 2_000 {
            other.edit(|editor| editor.remove(&[Key::from(position)])).expect("it is there");
        }
        // All that these had is free: it is before marking has begun, too, and after.
        drop(arena.next_collection().start([]));
        let _ = arena.next_collection().start([]).finish_while(&mut || Break(()));
    }
    let after = arena.usage();
    let taken = |usage: ArenaUsage| usage.structure_bytes + usage.payload_bytes;
    assert!(taken(after) <= taken(before) + (2 << 20), "{before:?} {after:?}");
    check(&fork.snapshot(), hash);
}

#[test]
fn edits_beside_an_open_editor_use_the_same_memory_again() {
    let arena = Arena::new().expect("address space");
    let mut tree = Tree::new(&arena);
    wide(&mut tree, 100);
    let mut open = Editor::new(tree.snapshot());
    open.add_child(&[]).expect("there is room");
    for i in 0..1000 {
        tree.edit(|editor| editor.put_attribute(&[Key::from(7)], "text", i))
            .expect("there is room");
    }
    let usage = arena.usage();
    assert!(usage.structure_bytes + usage.payload_bytes < 8 << 20, "{usage:?}");
}

#[test]
fn edits_that_begin_and_end_on_different_threads_use_the_same_memory_again() {
    let arena = Arena::new().expect("address space");
    let mut tree = Tree::new(&arena);
    wide(&mut tree, 100);
    let reader = tree.reader();
    let begun = |i: i64| {
        let mut editor = Editor::new(reader.snapshot());
        editor.put_attribute(&[Key::from(7)], "text", i).expect("there is room");
        editor
    };
    for i in 0..500 {
        let editor = std::thread::scope(|scope| scope.spawn(|| begun(i)).join());
        tree.publish(editor.expect("it does not panic"));
    }
    let usage = arena.usage();
    assert!(usage.structure_bytes + usage.payload_bytes < 16 << 20, "{usage:?}");
}

#[test]
fn what_is_given_back_is_used_again_by_whoever_writes() {
    let arena = Arena::new().expect("address space");
    let made = || {
        let mut tree = Tree::new(&arena);
        wide(&mut tree, 500);
        tree
    };
    let taken = || arena.usage().structure_bytes + arena.usage().payload_bytes;
    // Every other one goes, so there is hardly a slab without anything that is alive.
    let mut trees: Vec<Option<Tree>> = (0..400).map(|_| Some(made())).collect();
    let before = taken();
    trees.iter_mut().step_by(2).for_each(|tree| *tree = None);
    arena.collect();
    let made_anew = std::thread::scope(|scope| {
        let make = || (0..50).map(|_| made()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("there is room")).count()
    });
    assert_eq!(made_anew, 200);
    let (after, limit) = (taken(), before + before / 4);
    assert!(after < limit, "{before} bytes before, {after} with as many trees again");
}

#[test]
fn a_graft_into_an_unpublished_edit_is_spared() {
    let arena = Arena::new().expect("address space");
    let (mut from, mut to) = (Tree::new(&arena), Tree::new(&arena));
    wide(&mut from, 1000);
    let hash = from.read().root().content_hash();
    let mut editor = Editor::new(to.snapshot());
    let source = from.snapshot();
    editor.insert_subtree(&[], &Key::from("copy"), source.root()).expect("no such child yet");
    drop((source, from));
    arena.collect();
    to.publish(editor);
    arena.collect();
    let seen = to.snapshot();
    assert_eq!(seen.root().child(&Key::from("copy")).expect("put").content_hash(), hash);
}

#[test]
fn collections_run_beside_a_writer_and_its_readers() {
    let arena = Arena::new().expect("address space");
    let mut tree = Tree::new(&arena);
    wide(&mut tree, 2000);
    let (reader, done) = (tree.reader(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                arena.collect();
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let held = reader.snapshot();
                let sum = |snapshot: &Snapshot| {
                    let mut bytes = 0;
                    snapshot.root().visit(|node| {
                        let text = node.attribute("text").and_then(|value| value.as_text());
                        bytes += text.map_or(0, |text| {
                            assert!(text.starts_with("message"), "{text}");
                            text.len()
                        });
                    });
                    bytes
                };
                assert_eq!(sum(&held), sum(&held.clone()));
            }
        });
        for i in 0..30_000_i64 {
            let path = [Key::from(i * 7 % 2000)];
            tree.put_attribute(&path, "text", format!("message again {i}").as_str())
                .expect("there is room");
            if i % 1000 == 0 {
                let fork = Tree::from_snapshot(&tree.snapshot());
                tree.edit(|editor| editor.set_subtree(&[Key::from(3)], fork.read().root()))
                    .expect("there is room");
                tree.edit(|editor| {
                    editor.set_subtree(&[Key::from(3)], Tree::new(&arena).read().root())
                })
                .expect("there is room");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let seen = tree.snapshot();
    assert_eq!(seen.root().recount(), 2001);
}
