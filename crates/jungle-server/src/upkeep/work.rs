//! The works themselves.

use std::path::Path;

use jungle::{BackupReport, CollectError, Measured, Retention, SpaceQuery, Store};
use jungle_cluster::{CheckpointError, Cluster};
use jungle_words::keep;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Steps, Undone, place};
use crate::metrics::Collections;
use crate::verify::Whole;

/// Copies the folder, or what is new of it.
pub(crate) fn back_up(store: &Store, place: &Path, steps: &Steps) -> Result<Value, Undone> {
    place::check(place)?;
    Ok(copied(&store.backup_telling(place, steps.backup_progress())?))
}

/// What is told of a backup.
pub(super) fn copied(report: &BackupReport) -> Value {
    json!({
        "revision": report.revision.number(),
        "before": report.before.number(),
        "bytes": report.bytes,
    })
}

/// Checks that all of the folder is whole; where it is not, goes on behind what is damaged.
pub(crate) fn verify(store: &Store, steps: &Steps) -> Result<Value, Undone> {
    let found = match store.verify_telling(&steps.progress()) {
        Ok(found) => found,
        Err(error) if error.is_given_up() => return Err(Undone::GivenUp),
        Err(error) => {
            let survey = store.survey(&steps.progress())?;
            return Err(Undone::damaged(&error, &survey));
        }
    };
    Ok(json!(Whole::of(store, &found)))
}

/// What is asked of a collection.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gc {
    /// Make the checkpoint as small as it can be.
    #[serde(default)]
    compact: bool,
}

/// Gives back the place of what is not kept. Writers go on: what is dropped is dropped in slices,
/// and what is alive is gone through, and written, beside them.
pub(crate) fn gc(
    store: &Store,
    (asked, drops_by_age): (Gc, bool),
    collections: &Collections,
    steps: &Steps,
) -> Result<Value, Undone> {
    let before = store.disk_bytes()?;
    if drops_by_age {
        store.apply_retention()?;
    }
    steps.go_on()?;
    let collected = store.collect_while(|| steps.flow());
    if collected != Err(CollectError::GivenUp) {
        collections.count(&collected);
    }
    let collected = collected?;
    steps.go_on()?;
    let report = store.checkpoint_telling(&steps.progress())?;
    if asked.compact {
        store.compact_telling(&steps.progress())?;
    }
    Ok(json!({
        "segments": report.segments,
        "before": before,
        "after": store.disk_bytes()?,
        "collected_bytes": collected.structure_bytes + collected.payload_bytes,
        "returned_bytes": collected.returned_bytes,
    }))
}

/// Writes a checkpoint of the cluster, and removes what it makes superfluous. It has no steps at
/// which it could be given up.
pub(crate) fn checkpoint(cluster: &Cluster) -> Result<Value, Undone> {
    let message = cluster.checkpoint().map_err(|error| match error {
        CheckpointError::Fault(_) => Undone::hinted(&error, "ask another server of the cluster"),
        error => Undone::of(&error),
    })?;
    Ok(json!({"message": message}))
}

/// What is asked of a measurement.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Du {
    /// Only this tree.
    #[serde(default)]
    pub(crate) tree: Option<String>,
    /// What would come back if this was kept.
    #[serde(default)]
    pub(crate) policy: Option<String>,
}

/// Tells what takes up space, and what a rule would give back.
pub(crate) fn du(
    store: &Store,
    tree: Option<&str>,
    policy: Option<Retention>,
    steps: &Steps,
) -> Result<Value, Undone> {
    let mut query = SpaceQuery::new();
    if let Some(tree) = tree {
        query = query.tree(tree);
    }
    if let Some(policy) = policy {
        query = query.policy(policy);
    }
    let space = store.space(&query, |done, of| steps.tell(done, of))?;
    let disk = store.disk_usage()?;
    let usage = store.arena().usage();
    let is_asked = |name: &str| tree.is_none_or(|tree| tree == name);
    let trees = space.trees.iter().filter(|space| is_asked(&space.name)).map(|space| {
        json!({
            "tree": &*space.name,
            "branches": space.branches,
            "revisions": space.revisions,
            "newest_bytes": space.newest.bytes(),
            "named_bytes": space.named.bytes(),
            "older_bytes": space.older.bytes(),
            "freed_bytes": space.freed.map(Measured::bytes),
        })
    });
    let freed_log = |policy| if policy == Retention::All { 0 } else { disk.older_log_bytes };
    let policy = policy.map(|policy| {
        json!({
            "keep": keep::text(policy),
            "freed_bytes": space.freed().bytes(),
            "freed_log_bytes": freed_log(policy),
        })
    });
    Ok(json!({
        "revision": space.revision.number(),
        "trees": trees.collect::<Vec<_>>(),
        "shared_bytes": space.shared.bytes(),
        "snapshots_bytes": space.snapshots.bytes(),
        "arena_bytes": usage.structure_bytes + usage.payload_bytes,
        "log_bytes": disk.log_bytes,
        "segments": disk.segments,
        "pages_bytes": disk.pages_bytes,
        "other_bytes": disk.other_bytes,
        "policy": policy,
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jungle::{Clock, OpenOptions, SystemClock, Timestamp};

    use super::*;

    /// Long ago.
    struct Past;

    impl Clock for Past {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(1_000_000)
        }
    }

    #[test]
    fn ages_may_be_left_alone() {
        let dir = std::env::temp_dir().join(format!("jungle-ages-{}", std::process::id()));
        let store = OpenOptions::new().clock(Past).open(&dir).expect("a new folder");
        let tree = store.create_tree("t").expect("a new tree");
        tree.set_retention(Retention::ByAge(Duration::from_secs(3600))).expect("it is there");
        (0..5).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).expect("room")));
        drop((tree, store));
        let store = OpenOptions::new().clock(SystemClock).open(&dir).expect("it is there");
        for (drops_by_age, kept) in [(false, 6), (true, 1)] {
            let asked = (Gc::default(), drops_by_age);
            gc(&store, asked, &Collections::default(), &Steps::default()).expect("it is whole");
            let tree = store.open_tree("t").expect("it is there");
            assert_eq!(tree.history(..).count(), kept);
        }
        drop(store);
        std::fs::remove_dir_all(&dir).expect("it is there");
    }

    #[test]
    fn all_of_it_is_given_up_when_somebody_says_so() {
        let dir = std::env::temp_dir().join(format!("jungle-given-up-{}", std::process::id()));
        let store = Store::open(dir.join("data")).expect("a new folder");
        let tree = store.create_tree("t").expect("a new tree");
        tree.update(|tx| tx.cursor(&[])?.add_children(100_000).map(drop)).expect("there is room");
        let steps = Steps::default();
        steps.give_up();
        let given_up = |done: Result<Value, Undone>| matches!(done, Err(Undone::GivenUp));
        let copy = dir.join("copy");
        std::fs::create_dir(&copy).expect("there is none");
        assert!(given_up(back_up(&store, &copy, &steps)));
        assert!(given_up(verify(&store, &steps)));
        assert!(given_up(gc(
            &store,
            (Gc { compact: true }, true),
            &Collections::default(),
            &steps
        )));
        assert!(given_up(du(&store, None, None, &steps)));
        assert_eq!(store.checkpointed().number(), 0);

        let steps = Steps::default();
        let before = store.verify().expect("it is whole");
        back_up(&store, &copy, &steps).expect("again");
        gc(&store, (Gc { compact: true }, true), &Collections::default(), &steps).expect("again");
        du(&store, None, None, &steps).expect("again");
        assert_eq!(store.verify().expect("it is whole").nodes, before.nodes);
        drop((tree, store));
        std::fs::remove_dir_all(&dir).expect("it is there");
    }
}
