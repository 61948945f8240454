//! What has to hold in the end.

use std::collections::BTreeMap;

use jungle_cluster::{LocalOutcome, WRITERS};
use jungle_db::{Jungle, Snapshot};

use super::clients::{COUNT, Entry, Fate, NAME, TREES, Told};
use super::server::{Running, Server};

/// How often each message is in the history of a tree.
type Times = BTreeMap<String, u64>;

/// Nothing that was acknowledged is missing, and nothing is there twice.
pub fn all(told: &Told, servers: &[Server], looked_at: &Running) {
    let jungle = &looked_at.jungle;
    let times: BTreeMap<&str, Times> =
        TREES.iter().map(|tree| (*tree, times(jungle, tree))).collect();
    quorum(told, jungle, &times);
    let published = self::times(jungle, WRITERS);
    let versions: BTreeMap<&str, Vec<Snapshot>> =
        TREES.iter().map(|tree| (*tree, versions(jungle, tree))).collect();
    for entry in &told.local {
        let count = published.get(&entry.message).copied().unwrap_or(0);
        assert!(count <= 1, "{} was published {count} times", entry.message);
        if !entry.is_lost {
            outcome(entry, &servers[entry.server], count);
        }
        path(entry, &versions[entry.tree]);
    }
}

/// Each commit is there once, if it was acknowledged, and not at all, if it was refused; and what
/// they counted is as many.
fn quorum(told: &Told, jungle: &Jungle, times: &BTreeMap<&str, Times>) {
    let mut counts: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (message, (trees, fate)) in &told.quorum {
        for tree in trees {
            let there = times[tree].get(message).copied().unwrap_or(0);
            let is_right = match fate {
                Fate::Done(_) => there == 1,
                Fate::Unknown => there <= 1,
                Fate::Refused => there == 0,
            };
            assert!(is_right, "{message} is {there} times in {tree}, and was told: {fate:?}");
            let count = counts.entry(*tree).or_default();
            match fate {
                Fate::Done(_) => count.0 += 1,
                Fate::Unknown => count.1 += 1,
                Fate::Refused => {}
            }
        }
    }
    for (tree, (known, unknown)) in counts {
        let handle = jungle.open_tree(tree).expect("it was made first of all");
        let newest = handle.snapshot();
        let count = newest.root().attribute(COUNT).and_then(|count| count.as_int()).unwrap_or(0);
        assert!((known..=known + unknown).contains(&count), "{tree}: {count}, and {known} known");
    }
}

/// An entry was published, or is refused and kept.
fn outcome(entry: &Entry, server: &Server, published: u64) {
    let Entry { message, id, .. } = entry;
    let local = server.local().expect("all have one by now");
    let outcome = local.outcome(*id).expect("an outbox can be read");
    let refused = local.refused().expect("an outbox can be read");
    let is_kept = refused.iter().any(|refused| refused.id == *id);
    match outcome {
        LocalOutcome::Settled => assert!(published == 1 && !is_kept, "{message} {id}: {published}"),
        LocalOutcome::Refused => assert!(published == 0 && is_kept, "{message} {id}: {published}"),
        _ => panic!("{message} {id} has no place yet"),
    }
}

/// A path that was given to a client never names another node.
fn path(entry: &Entry, versions: &[Snapshot]) {
    let Some(made) = &entry.made else { return };
    for version in versions {
        let Ok(node) = version.root().at(made) else { continue };
        let name = node.attribute(NAME).and_then(|name| name.as_text());
        let (revision, message) = (version.revision(), &entry.message);
        assert_eq!(name, Some(message.as_str()), "{made} in {} at {revision}", entry.tree);
    }
}

fn times(jungle: &Jungle, tree: &str) -> Times {
    let mut times = Times::new();
    let Ok(handle) = jungle.open_tree(tree) else { return times };
    for info in handle.history(..) {
        let info = info.expect("the history is kept");
        let message = info.meta.message_text().unwrap_or_default();
        *times.entry(message.to_owned()).or_default() += 1;
    }
    times
}

fn versions(jungle: &Jungle, tree: &str) -> Vec<Snapshot> {
    let handle = jungle.open_tree(tree).expect("it was made first of all");
    let revisions = handle.history(..).map(|info| info.expect("the history is kept").revision);
    revisions.map(|revision| handle.at(revision).expect("all are kept")).collect()
}
