//! Commits with something in them that is to be erased, and what is to be left of them. The suite
//! `erase` uses this, too.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use jungle_db::{CommitMeta, CommitOptions, Erasure, Jungle};
use jungle_store::{Durability, EraseQuery, OpenOptions};
use jungle_testkit::Rng;
use jungle_tree::{Key, MergeOptions, Path, Snapshot};

/// Said of nobody else.
pub const SECRET: &str = "xyzzy-1789";

pub fn options() -> OpenOptions {
    let options = OpenOptions::new().segment_bytes(2048).checkpoint_every(u64::MAX);
    options.durability(Durability::Buffered)
}

/// What is to be erased.
pub fn query() -> EraseQuery {
    EraseQuery::new("people", "/ana".parse().unwrap()).and_attribute("ana")
}

fn path(text: &str) -> Path {
    text.parse().unwrap()
}

/// Commits of which some put secrets at `/ana`, as a node and as an attribute.
pub fn secrets(jungle: &Jungle, rng: &mut Rng, commits: u64) {
    let main = jungle.create_tree("people").unwrap();
    main.update(|tx| {
        ["ana", "ben"].iter().try_for_each(|name| tx.insert_child(&[], &Key::from(*name)))
    })
    .unwrap();
    let indexes = ["ana", "text"];
    indexes.iter().for_each(|key| main.create_index(key).unwrap());
    for n in 0..commits {
        let branches = main.list_branches();
        let tree = main.on_branch(&branches[rng.index(branches.len())]).unwrap();
        let meta = CommitMeta::new().author("clerk").message("as told");
        let options = CommitOptions { meta: meta.clone(), ..CommitOptions::default() };
        let text = format!("{SECRET} {n}");
        // What cannot be done is not.
        drop(tree.update_with(&options, |tx| match rng.below(9) {
            0 => tx.remove(&path("/ana")),
            1 => tx.insert_child(&[], &Key::from("ana")),
            2 => tx.insert_child(&path("/ana"), &Key::from(&*text)),
            3 => tx.put_attribute(&[], "ana", &*text),
            4 => tx.put_attribute(&path("/ana"), &text, n as i64),
            5 => tx.put_attribute(&path("/ben"), "n", n as i64),
            _ => tx.put_attribute(&path("/ana"), "text", &*text),
        }));
        match rng.below(24) {
            0 => drop(main.branch(&format!("{n}"), tree.snapshot().revision())),
            1 => drop(tree.tag(&format!("tag {n}"), tree.snapshot().revision())),
            2 => {
                if let Ok(merge) = main.merge(tree.branch_name(), &MergeOptions::new()) {
                    drop(merge.commit(&meta));
                }
            }
            3 => indexes.iter().for_each(|key| drop(tree.index(key, &tree.snapshot()).unwrap())),
            _ => {}
        }
    }
}

/// All that can be seen of a Jungle, each version as `look` makes it.
fn portrait(jungle: &Jungle, look: impl Fn(&str, &Snapshot) -> Snapshot) -> Vec<String> {
    let mut seen = vec![format!("{}", jungle.revision())];
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let tree = main.on_branch(&branch).unwrap();
            for info in tree.history(..).map(Result::unwrap) {
                let hash = look(&name, &tree.at(info.revision).unwrap()).root().content_hash();
                seen.push(format!("{name} {branch} {hash} {info:?} {:?}", tree.retention()));
            }
        }
        for (tag, revision) in main.list_tags() {
            let hash = look(&name, &main.at_tag(&tag).unwrap()).root().content_hash();
            seen.push(format!("{name} {tag} {hash} {revision}"));
        }
    }
    seen
}

/// The portrait that is to be there afterwards.
pub fn without(jungle: &Jungle) -> Vec<String> {
    let tree = jungle.open_tree("people").unwrap().id();
    let erasure = Erasure::new(tree, "/ana".parse().unwrap()).unwrap().and_attribute("ana");
    portrait(jungle, |name, version| match name {
        "people" => erasure.without(version).unwrap(),
        _ => version.clone(),
    })
}

pub fn as_it_is(jungle: &Jungle) -> Vec<String> {
    portrait(jungle, |_, version| version.clone())
}
