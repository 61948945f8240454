//! Checkpoints while others commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use jungle_db::{
    Checkpoint, CommitMeta, CommitOptions, Jungle, MemoryJournal, Revision, TreeHandle,
};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Key, MergeOptions};

use super::Shelves;
use crate::support::{portrait, put, tree_in};

/// Does things that concern several trees, branches and notes of merges at once.
fn work(jungle: &Jungle, trees: &[TreeHandle], rng: &mut Rng, name: &str) {
    for i in 0..40 {
        let tree = rng.pick(trees);
        match rng.below(8) {
            0..=2 => put(tree, "/0", "n", i),
            3 => {
                let mut both = jungle.begin(CommitOptions::default());
                for tree in trees {
                    let draft = both.tree(&tree.name()).unwrap();
                    draft.put_attribute(&[Key::from(1)], "same", i).unwrap();
                }
                let _ = both.commit();
            }
            4 => drop(tree.branch(&format!("{name} {i}"), tree.snapshot().revision()).unwrap()),
            5 => tree.tag(&format!("tag {name} {i}"), tree.snapshot().revision()).unwrap(),
            _ => {
                let branches = tree.list_branches();
                let branch = rng.pick(&branches[..]);
                put(&tree.on_branch(branch).unwrap(), "/0", "m", i);
                // One without changes is no revision, so it is not in the journal.
                if let Ok(merge) = tree.merge(branch, &MergeOptions::new())
                    && !merge.changes().is_empty()
                {
                    let _ = merge.commit(&CommitMeta::new());
                }
            }
        }
    }
}

/// All of a state but where its versions lie.
fn outline(checkpoint: &Checkpoint) -> String {
    let state = checkpoint.state();
    // Not the next id: whoever makes a branch draws its id before the locks.
    let mut outline = format!("{}\n", state.revision);
    for tree in &state.trees {
        outline += &format!("{:?} {}\n", tree.id, tree.name);
        let branch = |b: &jungle_db::SavedBranch| format!("{:?} {}\n", b.id, b.name);
        outline.extend(tree.branches.iter().map(branch));
        let origin =
            |o: &jungle_db::SavedOrigin| format!("{:?} {:?}\n", (o.branch, o.from), o.at.revision);
        outline.extend(tree.origins.iter().map(origin));
        let mut merges: Vec<_> = tree.merges.iter().map(|m| (m.branches, m.at.revision)).collect();
        merges.sort_unstable();
        outline += &format!("{merges:?}\n");
    }
    outline
}

fn replayed(journal: &MemoryJournal, up_to: Revision) -> Jungle {
    let copy = Jungle::new().unwrap();
    let records = journal.records();
    let until = records.iter().take_while(|record| record.revision <= up_to);
    until.into_iter().try_for_each(|record| copy.replay(record)).unwrap();
    copy
}

#[test]
fn a_checkpoint_shows_one_revision_of_everything() {
    for_each_seed(6, |rng| {
        let journal = Arc::new(MemoryJournal::default());
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        let trees = ["a", "b"].map(|name| tree_in(&jungle, name, 2));
        let (done, mut checkpoints) = (AtomicBool::new(false), Vec::new());
        thread::scope(|scope| {
            let workers: Vec<_> = ["x", "y", "z"]
                .into_iter()
                .map(|name| {
                    let (mut rng, trees, jungle) = (rng.fork(), &trees, &jungle);
                    scope.spawn(move || work(jungle, trees, &mut rng, name))
                })
                .collect();
            let taker = scope.spawn(|| {
                let mut taken = vec![jungle.checkpoint()];
                while !done.load(Ordering::SeqCst) {
                    taken.push(jungle.checkpoint());
                    jungle.collect().unwrap();
                    thread::yield_now();
                }
                taken
            });
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            done.store(true, Ordering::SeqCst);
            checkpoints = taker.join().unwrap();
        });
        checkpoints.dedup_by_key(|checkpoint| checkpoint.revision());
        let some = checkpoints.len().div_ceil(12);
        for checkpoint in checkpoints.iter().step_by(some) {
            let then = replayed(&journal, checkpoint.revision());
            assert_eq!(outline(checkpoint), outline(&then.checkpoint()));
            let shelves = Arc::new(Shelves::default());
            let arena = jungle.arena().clone();
            let again = Jungle::builder().restore(arena, checkpoint.state(), shelves).unwrap();
            assert_eq!(portrait(&again), portrait(&then));
        }
    });
}
