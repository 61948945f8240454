//! Who made, named and deleted what, as it is told: all that was committed and is no edit.

use std::sync::Arc;

use jungle_db::{CommitRecord, Event, Jungle, Timestamp, TreeId};
use serde::{Deserialize, Serialize};

use crate::{keep, time};

/// Part of an audit, the oldest first; the names of the fields are those of the JSON form.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Page {
    /// From this revision on nothing is missing.
    pub complete_from: u64,
    /// What was done.
    pub events: Vec<Done>,
    /// Behind which revision it goes on, if there is more to be looked at.
    pub next: Option<u64>,
}

/// One thing that was done; the names of the fields are those of the JSON form. [`Wanted`] has an
/// example.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Done {
    /// The revision in which it was done.
    pub revision: u64,
    /// When, as [`time::text`] writes it.
    pub time: String,
    /// Who did it.
    pub author: Option<String>,
    /// Why.
    pub message: Option<String>,
    /// What was done: `tree_created`, `tree_renamed`, `tree_deleted`, `branch_created`,
    /// `branch_deleted`, `tag_created`, `tag_deleted`, `index_created`, `index_dropped` or
    /// `keep_set`.
    pub what: String,
    /// To which tree, by the name that it had before, if anybody knows that.
    pub tree: Option<String>,
    /// The number of the tree, which no other one ever has.
    pub tree_id: u64,
    /// The branch that it is about, if it is about one and anybody knows its name.
    pub branch: Option<String>,
    /// The new name of the tree, the name of the tag, or the key of the index.
    pub name: Option<String>,
    /// The revision that the tag names, or at which the branch begins.
    pub at: Option<u64>,
    /// How much of its history the branch keeps from then on.
    pub keep: Option<String>,
}

/// What of it is wanted: by default all.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{CommitMeta, Jungle, MemoryJournal};
/// use jungle_words::audit::Wanted;
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// let board = jungle.by(&CommitMeta::new().author("ana")).create_tree("board")?;
/// board.update(|tx| tx.append(&[]))?;
///
/// let records = journal.records();
/// let made = Wanted::default().tell(&records[0], "board", None).expect("it is no edit");
/// assert_eq!((&*made.what, made.author.as_deref()), ("tree_created", Some("ana")));
/// assert!(Wanted::default().tell(&records[1], "board", None).is_none());
/// let of_plans = Wanted::new(&jungle, Some("plans"), None);
/// assert!(of_plans.tell(&records[0], "board", None).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// By its name, and the tree that has it now.
    tree: Option<(String, Option<TreeId>)>,
    since: Option<Timestamp>,
}

impl Wanted {
    /// Only what was done to the tree that has this name now, or to one that had it then, and at
    /// this time or later, if these are said.
    #[must_use]
    pub fn new(jungle: &Jungle, tree: Option<&str>, since: Option<Timestamp>) -> Wanted {
        let tree = tree.map(|name| {
            let now = jungle.open_tree(name).ok().map(|tree| tree.id());
            (name.to_owned(), now)
        });
        Wanted { tree, since }
    }

    /// Tells what a commit did, if that is wanted, and is no edit. The names are those that the
    /// tree and the branch had before; that of the tree is empty where nobody knows it any more.
    #[must_use]
    pub fn tell(&self, record: &CommitRecord, tree: &str, branch: Option<&str>) -> Option<Done> {
        let CommitRecord { revision, time, meta, event } = record;
        let (TreeId(tree_id), what) = kind(event)?;
        let name = name(event);
        let is_late = self.since.is_none_or(|since| *time >= since);
        let is_of_it = self.tree.as_ref().is_none_or(|(wanted, now)| {
            let is_new_name =
                matches!(event, Event::TreeRenamed { name, .. } if **name == **wanted);
            // No tree is called nothing: that is one whose name nobody knows.
            let is_its_name = tree == wanted && !tree.is_empty();
            is_its_name || is_new_name || *now == Some(TreeId(tree_id))
        });
        (is_late && is_of_it).then(|| Done {
            revision: revision.number(),
            time: time::text(*time),
            author: meta.author_name().map(str::to_owned),
            message: meta.message_text().map(str::to_owned),
            what: what.to_owned(),
            tree: Some(tree).filter(|tree| !tree.is_empty()).map(str::to_owned),
            tree_id,
            branch: branch.map(str::to_owned),
            name: name.map(|name| name.to_string()),
            at: at(event),
            keep: kept(event),
        })
    }
}

/// What it is called, and which tree it was done to.
fn kind(event: &Event) -> Option<(TreeId, &'static str)> {
    Some(match *event {
        Event::TreeCreated { tree, .. } => (tree, "tree_created"),
        Event::TreeRenamed { tree, .. } => (tree, "tree_renamed"),
        Event::TreeDeleted { tree } => (tree, "tree_deleted"),
        Event::BranchCreated { tree, .. } => (tree, "branch_created"),
        Event::BranchDeleted { tree, .. } => (tree, "branch_deleted"),
        Event::TagCreated { tree, .. } => (tree, "tag_created"),
        Event::TagDeleted { tree, .. } => (tree, "tag_deleted"),
        Event::IndexCreated { tree, .. } => (tree, "index_created"),
        Event::IndexDropped { tree, .. } => (tree, "index_dropped"),
        Event::RetentionSet { tree, .. } => (tree, "keep_set"),
        _ => return None,
    })
}

fn name(event: &Event) -> Option<&Arc<str>> {
    match event {
        Event::TreeRenamed { name, .. }
        | Event::TagCreated { name, .. }
        | Event::TagDeleted { name, .. } => Some(name),
        Event::IndexCreated { key, .. } | Event::IndexDropped { key, .. } => Some(key),
        _ => None,
    }
}

fn at(event: &Event) -> Option<u64> {
    match event {
        Event::BranchCreated { at, .. } | Event::TagCreated { at, .. } => Some(at.number()),
        _ => None,
    }
}

fn kept(event: &Event) -> Option<String> {
    match event {
        Event::RetentionSet { retention, .. } => Some(keep::text(*retention)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jungle_db::{MemoryJournal, Retention};

    use super::*;

    #[test]
    fn each_kind_is_told_with_what_belongs_to_it() {
        let journal = Arc::new(MemoryJournal::default());
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        let tree = jungle.create_tree("t").unwrap();
        let first = tree.snapshot().revision();
        tree.branch("draft", first).unwrap();
        tree.delete_branch("draft").unwrap();
        tree.tag("v1", first).unwrap();
        tree.delete_tag("v1").unwrap();
        tree.create_index("n").unwrap();
        tree.drop_index("n").unwrap();
        tree.set_retention(Retention::Last(9)).unwrap();
        jungle.rename_tree("t", "u").unwrap();
        jungle.delete_tree("u").unwrap();
        let records = journal.records();
        let tell = |record| {
            let told = Wanted::default().tell(record, "", None).unwrap();
            assert_eq!((&told.tree, &told.branch), (&None, &None));
            let at = told.at.map(|at| at.to_string());
            let words = [Some(told.what), told.name, at, told.keep];
            words.into_iter().flatten().collect::<Vec<String>>().join(" ")
        };
        let told: Vec<String> = records.iter().map(tell).collect();
        assert_eq!(
            told,
            [
                "tree_created",
                "branch_created 1",
                "branch_deleted",
                "tag_created v1 1",
                "tag_deleted v1",
                "index_created n",
                "index_dropped n",
                "keep_set 9",
                "tree_renamed u",
                "tree_deleted",
            ]
        );
    }

    #[test]
    fn tree_is_wanted_by_its_name_then_and_by_that_of_now() {
        let journal = Arc::new(MemoryJournal::default());
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        for name in ["a", "b"] {
            jungle.create_tree(name).unwrap();
        }
        jungle.rename_tree("a", "c").unwrap();
        jungle.delete_tree("b").unwrap();
        let records = journal.records();
        let check = |wanted: &Wanted, revisions: &[u64]| {
            let rows = records.iter().zip(["a", "b", "a", "b"]);
            let told = rows.filter_map(|(record, tree)| wanted.tell(record, tree, None));
            let told: Vec<u64> = told.map(|done| done.revision).collect();
            assert_eq!(told, revisions, "{wanted:?}");
        };
        for (name, revisions) in [("a", [1, 3]), ("b", [2, 4]), ("c", [1, 3])] {
            check(&Wanted::new(&jungle, Some(name), None), &revisions);
        }
        check(&Wanted::new(&jungle, Some("d"), None), &[]);
        // Whose name nobody knows is no tree with an empty one.
        let of_none = Wanted::new(&jungle, Some(""), None);
        assert_eq!(of_none.tell(&records[3], "", None), None);
        // All of it was committed then: there is no clock.
        let since = |micros| Wanted::new(&jungle, None, Some(Timestamp::from_micros(micros)));
        check(&since(0), &[1, 2, 3, 4]);
        check(&since(1), &[]);
    }
}
