//! A Jungle for a schedule, perhaps with a journal, and what must hold of it in the end.

use std::sync::Arc;

use jungle_db::{
    CommitRecord, Draft, Durability, Journal, JournalError, Jungle, Retention, Revision, TreeHandle,
};
use jungle_testkit::Rng;
use jungle_tree::{ArenaOptions, EditError, Key, Node, Path};
use shuttle::sync::{Mutex, MutexGuard};
use shuttle::thread;

/// A journal that may refuse a record, or fail to make one last.
#[derive(Default)]
pub struct TestJournal {
    records: Mutex<Vec<CommitRecord>>,
    pub refuses_at: Option<u64>,
    pub unsafe_at: Option<u64>,
}

impl Journal for TestJournal {
    fn append(&self, record: &CommitRecord) -> Result<(), JournalError> {
        let mut records = self.records.lock().expect("nothing panics while it is held");
        let last = records.last().map_or(0, |last| last.revision.number());
        assert_eq!(record.revision.number(), last + 1, "records are in order, without gaps");
        thread::yield_now();
        if self.refuses_at == Some(record.revision.number()) {
            return Err(JournalError::new("refused"));
        }
        records.push(record.clone());
        Ok(())
    }

    fn wait(&self, revision: Revision, _: Durability) -> Result<(), JournalError> {
        assert!(self.has(revision), "what is waited for was appended");
        thread::yield_now();
        match self.unsafe_at {
            Some(at) if at <= revision.number() => Err(JournalError::new("not safe")),
            _ => Ok(()),
        }
    }
}

impl TestJournal {
    pub fn has(&self, revision: Revision) -> bool {
        self.records().iter().any(|record| record.revision == revision)
    }

    pub fn records(&self) -> MutexGuard<'_, Vec<CommitRecord>> {
        self.records.lock().expect("nothing panics while it is held")
    }
}

pub struct World {
    pub jungle: Jungle,
    pub journal: Option<Arc<TestJournal>>,
}

fn arena() -> ArenaOptions {
    ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 64 << 20, ..Default::default() }
}

impl World {
    /// A Jungle that keeps any amount of history, with or without a journal.
    pub fn new(rng: &mut Rng) -> World {
        let journal = rng.chance(1, 3).then(TestJournal::default);
        World::with_journal(rng, journal)
    }

    pub fn with_journal(rng: &mut Rng, journal: Option<TestJournal>) -> World {
        let retention = *rng.pick(&[Retention::All, Retention::Last(1), Retention::Last(3)]);
        World::that_keeps(retention, journal)
    }

    pub fn that_keeps(retention: Retention, journal: Option<TestJournal>) -> World {
        let journal = journal.map(Arc::new);
        let mut builder = Jungle::builder().arena(arena()).retention(retention);
        if let Some(journal) = &journal {
            builder = builder.journal(Arc::clone(journal));
        }
        World { jungle: builder.build().expect("address range"), journal }
    }

    /// A tree whose root has some children, each with the same attribute `n`.
    pub fn tree(&self, name: &str, children: u64, n: i64) -> TreeHandle {
        let tree = self.jungle.create_tree(name).expect("it is new");
        let begin = |tx: &mut Draft| {
            for _ in 0..children {
                let child = [tx.append(&[])?];
                tx.put_attribute(&child, "n", n)?;
            }
            Ok::<_, EditError>(())
        };
        tree.update(begin).expect("there is room");
        tree
    }

    /// Everything is whole, and what the journal wrote down makes the same Jungle.
    pub fn end(self) {
        for name in self.jungle.list_trees() {
            let tree = self.jungle.open_tree(&name).expect("listed");
            let snapshot = tree.snapshot();
            snapshot.check().unwrap_or_else(|error| panic!("integrity of {name}: {error}"));
            let newest = tree.history(..).next().expect("a history is never empty");
            assert_eq!(newest.expect("it is in memory").revision, snapshot.revision());
        }
        let Some(journal) = &self.journal else { return };
        let copy = Jungle::builder().arena(arena()).build().expect("address range");
        for record in journal.records().iter() {
            copy.replay(record).unwrap_or_else(|error| panic!("{record:?}: {error}"));
        }
        assert_eq!(copy.list_trees(), self.jungle.list_trees());
        for name in self.jungle.list_trees() {
            let heads = [&copy, &self.jungle].map(|it| it.open_tree(&name).expect("listed"));
            let [left, right] = heads.map(|head| head.snapshot());
            assert_eq!(left.revision(), right.revision(), "{name} as replayed");
            assert_eq!(left.root().content_hash(), right.root().content_hash(), "{name}");
        }
    }
}

pub fn at(child: usize) -> Path {
    [Key::from(child)].into()
}

/// The attribute `n` of a node.
pub fn n(node: Node<'_>) -> i64 {
    node.attribute("n").and_then(|n| n.as_int()).expect("each node has a number")
}

/// The sum over all children.
pub fn sum(root: Node<'_>) -> i64 {
    root.children().map(|(_, child)| n(child)).sum()
}

/// What a draft reads there.
pub fn read(tx: &Draft, path: &[Key]) -> i64 {
    let n = tx.attribute(path, "n").expect("it is there");
    n.and_then(|n| n.as_int()).expect("each node has a number")
}
