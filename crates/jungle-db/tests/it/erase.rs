//! A history from which something was erased is the old one without it.

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use jungle_db::{
    CommitMeta, CommitRecord, CopyError, Eraser, Erasure, Jungle, MemoryJournal, Retention,
    Revision, TreeHandle,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, ContentHash, EditError, Key, MergeOptions, Path, Position};

use crate::support::{SharedClock, path};

/// A few keys, so that paths meet.
fn key(rng: &mut Rng) -> Key {
    match rng.below(5) {
        0 => Key::from(0),
        1 => Key::from(1),
        2 => Key::from("a"),
        3 => Key::from("b"),
        _ => Key::from("c"),
    }
}

fn place(rng: &mut Rng) -> Path {
    (0..rng.below(4)).map(|_| key(rng)).collect::<Vec<_>>().into()
}

/// What cannot be done is not.
fn edit(tree: &TreeHandle, rng: &mut Rng) {
    let at = place(rng);
    drop(tree.update(|tx| {
        for _ in 0..1 + rng.below(3) {
            let (here, name) = (place(rng), key(rng));
            let _ = match rng.below(10) {
                0 => tx.append(&here).map(drop),
                1 | 2 => tx.insert_child(&here, &name),
                3 => tx.remove(&here),
                4 | 5 => tx.move_node(&here, &at, &name),
                6 => tx.remove_attribute(&here, "a").map(drop),
                _ => tx.put_attribute(&here, if rng.chance(1, 2) { "a" } else { "b" }, "text"),
            };
        }
        Ok::<_, jungle_tree::EditError>(())
    }));
    if rng.chance(1, 6) {
        let source = tree.snapshot();
        if let Ok(node) = source.root().at(&place(rng)) {
            drop(tree.update(|tx| tx.set_subtree(&at, node)));
        }
    }
}

fn random_history(jungle: &Jungle, clock: &SharedClock, rng: &mut Rng) {
    for name in ["t", "other"] {
        jungle.create_tree(name).unwrap();
    }
    for _ in 0..120 {
        clock.0.set(clock.0.now_micros() + 5);
        let main = jungle.open_tree(if rng.chance(3, 4) { "t" } else { "other" }).unwrap();
        let branches = main.list_branches();
        let tree = main.on_branch(&branches[rng.index(branches.len())]).unwrap();
        let old = Revision::new(1 + rng.below(jungle.revision().number()));
        match rng.below(20) {
            0 => drop(tree.branch(&format!("{}", rng.below(3)), old)),
            1 => drop(tree.tag(&format!("tag {}", rng.below(9)), old)),
            2 | 3 => {
                let from = &branches[rng.index(branches.len())];
                if let Ok(merge) = tree.merge(from, &MergeOptions::new()) {
                    drop(merge.commit(&CommitMeta::new().message("merge").author("ana")));
                }
            }
            4 => drop(tree.restore(old, &CommitMeta::new())),
            _ => edit(&tree, rng),
        }
    }
}

/// All that there is of a tree, each version as `look` sees it.
fn portrait(
    jungle: &Jungle,
    name: &str,
    look: impl Fn(&jungle_tree::Snapshot) -> ContentHash,
) -> Vec<(String, ContentHash)> {
    let main = jungle.open_tree(name).unwrap();
    let mut seen = Vec::new();
    for branch in main.list_branches() {
        let tree = main.on_branch(&branch).unwrap();
        for info in tree.history(..).map(Result::unwrap) {
            seen.push((format!("{branch} {info:?}"), look(&tree.at(info.revision).unwrap())));
        }
    }
    for (tag, revision) in main.list_tags() {
        seen.push((format!("{tag} {revision}"), look(&main.at_tag(&tag).unwrap())));
    }
    seen
}

fn erased(records: &[CommitRecord], erasure: Erasure) -> (Jungle, Eraser) {
    let (scratch, without) = (Jungle::new().unwrap(), Jungle::new().unwrap());
    let mut eraser = Eraser::new(erasure);
    for record in records {
        let record = eraser.replay(&scratch, record).unwrap();
        without.replay(&record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
    }
    without.end_replay();
    (without, eraser)
}

#[test]
fn every_revision_is_the_old_one_without_it() {
    for_each_seed(200, |rng| {
        let (clock, journal) = (SharedClock::default(), Arc::new(MemoryJournal::default()));
        let builder = Jungle::builder().clock(clock.clone());
        let jungle = builder.journal(Arc::clone(&journal)).build().unwrap();
        random_history(&jungle, &clock, rng);
        let at = [place(rng), Path::from(vec![key(rng)])].concat();
        let id = jungle.open_tree("t").unwrap().id();
        let mut erasure = Erasure::new(id, at.into()).unwrap();
        if rng.chance(1, 2) {
            erasure = erasure.and_attribute("a");
        }
        let (without, eraser) = erased(&journal.records(), erasure.clone());
        let plain = |version: &jungle_tree::Snapshot| version.root().content_hash();
        let pruned = |version: &jungle_tree::Snapshot| plain(&erasure.without(version).unwrap());
        assert_eq!(portrait(&without, "t", plain), portrait(&jungle, "t", pruned));
        assert_eq!(portrait(&without, "other", plain), portrait(&jungle, "other", plain));
        let was_there = portrait(&jungle, "t", plain) != portrait(&jungle, "t", pruned);
        assert!(eraser.erased().commits > 0 || !was_there);
        assert_eq!(without.revision(), jungle.revision());
        let same = |name: &str| without.list_trees().iter().any(|there| &**there == name);
        assert!(same("t") && same("other"));
    });
}

#[test]
fn an_erased_position_is_not_given_again() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    let erasure = Erasure::new(tree.id(), path("/1")).unwrap();
    let (without, _) = erased(&journal.records(), erasure);
    let tree = without.open_tree("t").unwrap();
    assert_eq!(tree.update(|tx| tx.append(&[])).unwrap().value, Key::from(2));
}

/// Nor where there are only versions to copy: at the end, in front and between two.
#[test]
fn a_copy_gives_no_position_again() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    tree.set_retention(Retention::Last(1)).unwrap();
    tree.update(|tx| (0..2).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    let first = Position::new(0).unwrap();
    let give = |tree: &TreeHandle| -> Vec<Key> {
        let given = tree.update(|tx| {
            let between = tx.insert_after(&[], &first)?;
            Ok::<_, EditError>(vec![between, tx.insert_before(&[], &first)?, tx.append(&[])?])
        });
        given.unwrap().value
    };
    let mut given = Vec::new();
    for _ in 0..3 {
        for key in give(&tree) {
            tree.update(|tx| tx.remove(std::slice::from_ref(&key))).unwrap();
            given.push(key);
        }
    }
    let erasure = Erasure::new(tree.id(), path("/gone")).unwrap();
    let (builder, arena) = (Jungle::builder(), Arena::new().unwrap());
    let (copy, _) = jungle.copy_without(&erasure, builder, arena, |_, _| Continue(())).unwrap();
    for key in give(&copy.open_tree("t").unwrap()) {
        assert!(!given.contains(&key), "{key} was another node");
    }
}

#[test]
fn a_copy_ends_where_it_is_given_up() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    (0..5).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let erasure = Erasure::new(tree.id(), path("/gone")).unwrap();
    let (builder, arena) = (Jungle::builder(), Arena::new().unwrap());
    let mut told = Vec::new();
    let copied = jungle.copy_without(&erasure, builder, arena, |done, total| {
        told.push((done, total));
        if done == 3 { Break(()) } else { Continue(()) }
    });
    assert!(matches!(copied, Err(CopyError::GivenUp)));
    assert_eq!(told, [(1, 6), (2, 6), (3, 6)]);
}

#[test]
fn what_was_moved_away_stays_and_is_told() {
    let journal = Arc::new(MemoryJournal::default());
    let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    tree.update(|tx| tx.insert_child(&[], &"a".into())).unwrap();
    tree.update(|tx| tx.put_attribute(&path("/a"), "text", "secret")).unwrap();
    let moved = tree.update(|tx| tx.move_node(&path("/a"), &[], &"b".into())).unwrap().revision;
    let erasure = Erasure::new(tree.id(), path("/a")).unwrap();
    let (without, eraser) = erased(&journal.records(), erasure);
    let told = &eraser.erased().moves;
    assert_eq!((told.len(), told[0].revision), (1, moved));
    assert_eq!((told[0].from.to_string(), told[0].to.to_string()), ("/a".into(), "/b".into()));
    let tree = without.open_tree("t").unwrap();
    let text = |revision, at: &str| {
        let version = tree.at(Revision::new(revision)).unwrap();
        let node = version.root().at(&path(at)).ok()?;
        node.attribute("text").and_then(|value| value.as_text().map(str::to_owned))
    };
    assert_eq!(text(3, "/a"), None);
    assert_eq!(text(4, "/b"), Some("secret".to_owned()));
}
