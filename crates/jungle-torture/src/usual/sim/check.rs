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
/// they counted is as many as are there: each has seen all before it.
fn quorum(told: &Told, jungle: &Jungle, times: &BTreeMap<&str, Times>) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (message, (trees, fate)) in &told.quorum {
        for tree in trees {
            let there = times[tree].get(message).copied().unwrap_or(0);
            let is_right = match fate {
                Fate::Done(_) => there == 1,
                Fate::Unknown => there <= 1,
                Fate::Refused => there == 0,
            };
            assert!(is_right, "{message} is {there} times in {tree}, and was told: {fate:?}");
            *counts.entry(*tree).or_default() += there;
        }
    }
    for (tree, there) in counts {
        let handle = jungle.open_tree(tree).expect("it was made first of all");
        let newest = handle.snapshot();
        let count = newest.root().attribute(COUNT).and_then(|count| count.as_int()).unwrap_or(0);
        assert_eq!(count, there as i64, "{tree} counts others than are in its history");
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

#[cfg(test)]
mod tests {
    use jungle_db::{CommitMeta, CommitOptions};

    use super::*;

    #[test]
    #[should_panic(expected = "counts others than are in its history")]
    fn lost_count_is_seen_also_where_somebody_got_no_answer() {
        let jungle = Jungle::new().unwrap();
        let tree = jungle.create_tree("t0").unwrap();
        let mut told = Told::default();
        for message in ["q1", "q2"] {
            let options = CommitOptions::from(&CommitMeta::new().message(message));
            let done = tree.update_with(&options, |tx| {
                tx.put_attribute(&[], NAME, message)?;
                // The second has not seen the first.
                tx.put_attribute(&[], COUNT, 1)
            });
            let known = Fate::Done(done.unwrap().revision);
            let fate = if message == "q1" { known } else { Fate::Unknown };
            told.quorum.insert(message.to_owned(), (vec!["t0"], fate));
        }
        quorum(&told, &jungle, &BTreeMap::from([("t0", times(&jungle, "t0"))]));
    }
}
