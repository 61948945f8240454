//! Memory that may be in a file.

use std::path::PathBuf;

use jungle_tree::{Arena, ArenaError, ArenaOptions, Key, Tree, ValueRef};

const SMALL: usize = 64 << 20;

fn options(spill: PathBuf) -> ArenaOptions {
    ArenaOptions { structure_bytes: SMALL, payload_bytes: SMALL, spill: Some(spill) }
}

#[test]
fn trees_are_the_same_and_nothing_is_left() {
    let folder = std::env::temp_dir().join(format!("jungle-spill-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let in_file = Arena::with_options(&options(folder.clone())).unwrap();
    let in_memory = Arena::new().unwrap();
    let hashes = [&in_file, &in_memory].map(|arena| {
        let mut tree = Tree::new(arena);
        for n in 0..2_000_i64 {
            let key = tree.add_child(&[]).unwrap();
            let value = vec![n as u8; 1 + n as usize % 3_000];
            tree.put_attribute(&[key], "v", ValueRef::Bytes(&value)).unwrap();
        }
        (0..500).for_each(|n| tree.remove(&[Key::from(n * 4)]).unwrap());
        tree.read().root().content_hash()
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "the file has no name");
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn what_is_given_back_is_taken_again() {
    let arena = Arena::with_options(&options(std::env::temp_dir())).unwrap();
    let mut tree = Tree::new(&arena);
    let key = tree.add_child(&[]).unwrap();
    // More than the arena has, in all: each takes slabs of its own.
    for n in 0..40_u8 {
        let value = vec![n; 6 << 20];
        tree.put_attribute(std::slice::from_ref(&key), "v", ValueRef::Bytes(&value)).unwrap();
        tree.reclaim();
        let reading = tree.read();
        let node = reading.root().child(&key).unwrap();
        assert_eq!(node.attribute("v").and_then(|v| v.as_bytes()), Some(&value[..]));
    }
    assert!(arena.usage().payload_bytes < SMALL);
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let nowhere = std::env::temp_dir().join("jungle-no-such-folder/below");
    let ArenaError::Reserve { source, .. } = Arena::with_options(&options(nowhere)).unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}
