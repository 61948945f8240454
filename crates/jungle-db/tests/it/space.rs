//! What takes up memory is told in bytes that add up, and what a rule would give back is what a
//! collection gives back.

use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use jungle_db::{
    CollectError, CommitMeta, Draft, Jungle, NoSuchRevision, Retention, Revision, Space,
    SpaceError, SpaceQuery, TreeHandle,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Key, Measured, MergeOptions};

use crate::support::{SharedClock, path, put, tree_in};

fn space(jungle: &Jungle, query: &SpaceQuery) -> Space {
    let progress = |done, total| {
        assert!(done <= total);
        Continue(())
    };
    jungle.space(query, progress).unwrap()
}

/// What a collection gives back now.
fn collect(jungle: &Jungle) -> Measured {
    let collected = jungle.collect().unwrap();
    let structure_bytes = collected.structure_bytes as u64;
    let payload_bytes = collected.payload_bytes as u64;
    Measured { structure_bytes, payload_bytes }
}

/// Some commits, branches, tags, merges and subtrees from other trees.
fn random_jungle(clock: &SharedClock, rng: &mut Rng) -> Jungle {
    let jungle = Jungle::builder().clock(clock.clone()).build().unwrap();
    for name in ["a", "b", "c"] {
        tree_in(&jungle, name, 1 + rng.below(40));
    }
    for _ in 0..60 {
        let names = jungle.list_trees();
        let tree = jungle.open_tree(&names[rng.index(names.len())]).unwrap();
        let branches = tree.list_branches();
        let tree = tree.on_branch(&branches[rng.index(branches.len())]).unwrap();
        let old = Revision::new(1 + rng.below(jungle.revision().number()));
        match rng.below(12) {
            0 => drop(tree.branch(&format!("{}", rng.below(4)), old)),
            1 => drop(tree.delete_branch(&format!("{}", rng.below(4)))),
            2 => drop(tree.tag(&format!("tag {}", rng.below(4)), old)),
            3 => {
                let from = &branches[rng.index(branches.len())];
                if let Ok(merge) = tree.merge(from, &MergeOptions::new()) {
                    drop(merge.commit(&CommitMeta::new()));
                }
            }
            4 => {
                let other = jungle.open_tree(&names[rng.index(names.len())]).unwrap().snapshot();
                drop(
                    tree.update(|tx| {
                        tx.bulk(|editor| editor.set_subtree(&path("/0"), other.root()))
                    }),
                );
            }
            _ => commits(&tree, clock, rng),
        }
    }
    jungle
}

fn commits(tree: &TreeHandle, clock: &SharedClock, rng: &mut Rng) {
    for i in 0..rng.below(60) as i64 {
        clock.0.set(clock.0.now_micros() + 1);
        put(tree, "/", if i % 3 == 0 { "m" } else { "n" }, i);
    }
}

fn rule(rng: &mut Rng) -> Retention {
    match rng.below(5) {
        0 => Retention::All,
        1 => Retention::Last(1),
        2 => Retention::Last(rng.below(300) as usize),
        _ => Retention::ByAge(Duration::from_micros(rng.below(900))),
    }
}

#[test]
fn what_a_rule_would_free_is_what_a_collection_gives_back() {
    for_each_seed(60, |rng| {
        let clock = SharedClock::default();
        let jungle = random_jungle(&clock, rng);
        let names = jungle.list_trees();
        let held = rng.chance(1, 2).then(|| {
            let tree = jungle.open_tree(&names[0]).unwrap();
            tree.history(..).last().map(|info| tree.at(info.unwrap().revision))
        });
        let (rule, one) = (rule(rng), rng.chance(1, 2).then(|| &*names[rng.index(3)]));
        let mut query = SpaceQuery::new().policy(rule);
        if let Some(name) = one {
            query = query.tree(name);
        }
        collect(&jungle);
        let before = space(&jungle, &query);
        for name in names.iter().filter(|name| one.is_none_or(|one| one == &***name)) {
            let tree = jungle.open_tree(name).unwrap();
            for branch in tree.list_branches() {
                tree.on_branch(&branch).unwrap().set_retention(rule).unwrap();
            }
        }
        assert_eq!(collect(&jungle), before.freed(), "{rule:?} {one:?}");
        let after = space(&jungle, &SpaceQuery::new());
        assert_eq!(after.total() + before.freed(), before.total());
        drop(held);
    });
}

#[test]
fn all_that_is_told_is_all_there_is() {
    for_each_seed(20, |rng| {
        let jungle = random_jungle(&SharedClock::default(), rng);
        collect(&jungle);
        let told = space(&jungle, &SpaceQuery::new());
        for name in jungle.list_trees() {
            jungle.delete_tree(&name).unwrap();
        }
        assert_eq!(collect(&jungle), told.total());
        assert_eq!(space(&jungle, &SpaceQuery::new()).total(), Measured::default());
    });
}

#[test]
fn ranges_add_up() {
    for_each_seed(10, |rng| {
        let jungle = random_jungle(&SharedClock::default(), rng);
        let newest = jungle.revision().number();
        let (a, b) = (rng.below(newest), rng.below(newest));
        let (a, b) = (Revision::new(a.min(b)), Revision::new(a.max(b)));
        let in_range = |query: SpaceQuery| {
            let space = space(&jungle, &query);
            space.trees.iter().map(|tree| tree.in_range.unwrap()).sum::<Measured>()
        };
        let parts = [
            in_range(SpaceQuery::new().revisions(..a)),
            in_range(SpaceQuery::new().revisions(a..b)),
            in_range(SpaceQuery::new().revisions(b..)),
        ];
        assert_eq!(parts.into_iter().sum::<Measured>(), in_range(SpaceQuery::new().revisions(..)));
    });
}

#[test]
fn what_trees_share_is_told_once() {
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "a", 1000);
    let alone = space(&jungle, &SpaceQuery::new()).trees[0].newest;
    let from = tree.snapshot();
    let other = tree_in(&jungle, "b", 1);
    other.update(|tx| tx.bulk(|editor| editor.set_subtree(&path("/0"), from.root()))).unwrap();
    let told = space(&jungle, &SpaceQuery::new());
    assert!(told.shared.bytes() > alone.bytes() / 2, "{told:?}");
    assert_eq!(told.trees[0].newest + told.shared, alone);
    assert_eq!(told.snapshots, Measured::default());
    assert_eq!(told.trees.iter().map(|tree| &*tree.name).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_held_snapshot_outlives_what_is_kept_and_gives_back_what_it_held() {
    const TEXT_BYTES: u64 = 100 * 10_000;
    let text = |number: u64| format!("{number:0>10000}");
    let jungle = Jungle::new().unwrap();
    let tree = tree_in(&jungle, "t", 100);
    let put_all = |number: u64| {
        let put = |tx: &mut Draft| {
            let mut children = (0..100).map(|child: u64| [Key::from(child)]);
            children.try_for_each(|child| tx.put_attribute(&child, "text", &*text(number)))
        };
        tree.update(put).unwrap();
    };
    put_all(0);
    let held = tree.snapshot();
    (1..5).for_each(&put_all);
    tree.set_retention(Retention::Last(1)).unwrap();
    jungle.apply_retention().unwrap();
    collect(&jungle);
    let at = tree.at(held.revision());
    assert!(matches!(at, Err(NoSuchRevision::TooOld { .. })), "{at:?}");
    for child in 0..100u64 {
        let child = held.root().child(&Key::from(child)).unwrap();
        assert_eq!(child.attribute("text").unwrap().as_text(), Some(&*text(0)));
    }
    let told = space(&jungle, &SpaceQuery::new()).snapshots;
    assert!(told.payload_bytes >= TEXT_BYTES, "{told:?}");
    drop(held);
    let given_back = collect(&jungle);
    assert!(given_back.payload_bytes >= TEXT_BYTES, "{given_back:?} of {told:?}");
    assert_eq!(space(&jungle, &SpaceQuery::new()).snapshots, Measured::default());
}

#[test]
fn a_writer_goes_on_meanwhile() {
    let jungle = Jungle::builder().retention(Retention::Last(50)).build().unwrap();
    let tree = tree_in(&jungle, "t", 200);
    let query = SpaceQuery::new().policy(Retention::Last(1));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..20_000 {
                put(&tree, &format!("/{}", n % 200), "n", n);
            }
        });
        while !writer.is_finished() {
            assert!(space(&jungle, &query).total().bytes() > 0);
        }
    });
    assert_eq!(tree.read().root().recount(), 201);
    collect(&jungle);
    let told = space(&jungle, &query);
    tree.set_retention(Retention::Last(1)).unwrap();
    collect(&jungle);
    assert_eq!(space(&jungle, &query).total() + told.freed(), told.total());
}

/// Has it given up the first time it is asked, the second, and so on; says how often it was.
fn given_up_each_time(mut run: impl FnMut(&mut dyn FnMut() -> ControlFlow<()>) -> bool) -> u64 {
    for times in 0.. {
        let mut asked = 0;
        let is_done = run(&mut || {
            asked += 1;
            if asked > times { Break(()) } else { Continue(()) }
        });
        if is_done {
            return times;
        }
    }
    unreachable!("it ends some time")
}

#[test]
fn what_is_given_up_part_way_changes_nothing() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("wide").unwrap();
    tree.update(|tx| tx.cursor(&[])?.add_children(200_000).map(drop)).unwrap();
    (0..3000).for_each(|_| drop(tree.update(|tx| tx.append(&[])).unwrap()));
    let query = SpaceQuery::new().policy(Retention::Last(10));
    let told = space(&jungle, &query);
    let given_up = given_up_each_time(|go_on| match jungle.space(&query, |_, _| go_on()) {
        Ok(space) => {
            assert_eq!(space, told);
            true
        }
        error => {
            assert_eq!(error, Err(SpaceError::GivenUp));
            false
        }
    });
    assert!(given_up > 10, "{given_up}");

    tree.set_retention(Retention::Last(10)).unwrap();
    let hash = tree.snapshot().root().content_hash();
    let mut collected = 0;
    let given_up = given_up_each_time(|go_on| match jungle.collect_while(go_on) {
        Ok(done) => {
            collected = (done.structure_bytes + done.payload_bytes) as u64;
            true
        }
        error => {
            assert_eq!(error, Err(CollectError::GivenUp));
            jungle.open_tree("wide").unwrap().snapshot().check().unwrap();
            false
        }
    });
    assert!(given_up > 5, "{given_up}");
    assert_eq!(collected, told.freed().bytes());
    assert_eq!(tree.snapshot().root().content_hash(), hash);
}
