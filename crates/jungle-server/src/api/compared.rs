//! Diffs that are read by pages: each is worked out once, for all its pages.
//!
//! What was moved is known only where all is compared, so no page can begin in the middle. What is
//! kept holds no version: values and subtrees are looked up in the one that a page is asked of.
//! Nor does it know of rights: whoever asks was let in to the path, and is told what theirs allow.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jungle::{Change, Key, KeyRef, Path, Subtree, TreeSnapshot};

use crate::problem::Problem;

/// Diffs that are kept; of more, the one that was asked for longest ago is forgotten.
const DIFFS_MAX: usize = 64;

/// Bytes of all of them together, likewise: those of a million changes. A longer one is not kept.
const BYTES_MAX: usize = 128 << 20;

/// Which diff it is. Versions have numbers that are used once, whatever tree they are of.
#[derive(PartialEq, Eq)]
pub(super) struct Of {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) path: Path,
    /// Was all compared, or the node at this path alone? Moves tell them apart.
    pub(super) is_whole: bool,
}

/// Diffs of more than one page, those that were asked for last.
#[derive(Default)]
pub(crate) struct Compared(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The one that was asked for last is last.
    diffs: VecDeque<Diff>,
    bytes: usize,
}

struct Diff {
    of: Of,
    rows: Arc<[Row]>,
    bytes: usize,
}

impl Compared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The changes of a diff of which so many are on a page whatever they are, worked out if they
    /// are not there.
    pub(super) fn rows(
        &self,
        of: Of,
        limit: usize,
        work_out: impl FnOnce() -> Result<Vec<Change>, Problem>,
    ) -> Result<Arc<[Row]>, Problem> {
        if let Some(rows) = self.lock().find(&of) {
            return Ok(rows);
        }
        let rows: Arc<[Row]> = work_out()?.into_iter().map(Row::from).collect();
        // Nobody comes back for what fits on one page.
        if rows.len() > limit {
            let held = rows.iter().map(Row::bytes).sum::<usize>();
            let bytes = size_of::<Diff>() + path_bytes(&of.path) + held;
            let forgotten = self.lock().keep(Diff { of, rows: Arc::clone(&rows), bytes });
            // It takes long to drop them: others need not wait for that.
            drop(forgotten);
        }
        Ok(rows)
    }
}

impl Kept {
    fn find(&mut self, of: &Of) -> Option<Arc<[Row]>> {
        let at = self.diffs.iter().position(|diff| diff.of == *of)?;
        let diff = self.diffs.remove(at)?;
        let rows = Arc::clone(&diff.rows);
        self.diffs.push_back(diff);
        Some(rows)
    }

    /// Keeps a diff; gives those that are forgotten for it.
    fn keep(&mut self, diff: Diff) -> Vec<Diff> {
        // Somebody else may have worked it out meanwhile.
        if diff.bytes > BYTES_MAX || self.find(&diff.of).is_some() {
            return vec![diff];
        }
        self.bytes += diff.bytes;
        self.diffs.push_back(diff);
        let mut forgotten = Vec::new();
        while self.bytes > BYTES_MAX || self.diffs.len() > DIFFS_MAX {
            let Some(oldest) = self.diffs.pop_front() else { break };
            self.bytes -= oldest.bytes;
            forgotten.push(oldest);
        }
        forgotten
    }
}

/// A change without what it holds of the version that it leads to.
pub(super) enum Row {
    /// An attribute was put.
    Put { path: Path, key: Box<str> },
    /// A node holds what it holds there.
    Set { path: Path },
    /// What holds nothing of it.
    Other(Change),
}

impl From<Change> for Row {
    fn from(change: Change) -> Row {
        match change {
            Change::AttributePut { path, key, .. } => Row::Put { path, key },
            Change::SubtreeSet { path, .. } => Row::Set { path },
            other => Row::Other(other),
        }
    }
}

impl Row {
    /// The change, from the version that it leads to: of a diff, each tells how something is in
    /// the end, by the path that it has there.
    pub(super) fn change(&self, to: &TreeSnapshot) -> Cow<'_, Change> {
        match self {
            Row::Put { path, key } => {
                let node = to.root().at(path).expect("what was put is in a node that is there");
                let value = node.attribute(key).expect("it is there when it was put").to_value();
                Cow::Owned(Change::AttributePut { path: path.clone(), key: key.clone(), value })
            }
            Row::Set { path } => {
                let subtree = Subtree::new(to, path).expect("what was set is there");
                Cow::Owned(Change::SubtreeSet { path: path.clone(), subtree })
            }
            Row::Other(change) => Cow::Borrowed(change),
        }
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        let apart = match self {
            Row::Put { path, key } | Row::Other(Change::AttributeRemoved { path, key }) => {
                path_bytes(path) + key.len()
            }
            Row::Set { path } => path_bytes(path),
            Row::Other(Change::Moved { from, to }) => path_bytes(from) + path_bytes(to),
            Row::Other(change) => path_bytes(change.path()),
        };
        size_of::<Row>() + apart
    }
}

fn path_bytes(path: &Path) -> usize {
    let apart = |key: &Key| match key.as_ref() {
        KeyRef::Position(_, digits) => digits.len(),
        KeyRef::Name(name) => name.len(),
    };
    path.iter().map(|key| size_of::<Key>() + apart(key)).sum()
}

#[cfg(test)]
mod tests {
    use jungle::{Arena, Tree, diff};
    use jungle_testkit::{Rng, for_each_seed};

    use super::*;

    /// Asks for a diff of one change of so many bytes, and tells whether it had to be worked out.
    fn is_worked_out(compared: &Compared, from: u64, bytes: usize, limit: usize) -> bool {
        let of = Of { from, to: 0, path: Path::root(), is_whole: true };
        let mut is_new = false;
        let rows = compared.rows(of, limit, || {
            is_new = true;
            Ok(vec![Change::ChildRemoved { path: Path::from(["x".repeat(bytes)]) }])
        });
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 1);
        let kept = compared.lock();
        let held: usize = kept.diffs.iter().map(|diff| diff.bytes).sum();
        assert!(held == kept.bytes && held <= BYTES_MAX && kept.diffs.len() <= DIFFS_MAX);
        is_new
    }

    #[test]
    fn diff_of_more_than_a_page_is_worked_out_once() {
        let compared = Compared::default();
        let asked = |from, limit| is_worked_out(&compared, from, 1, limit);
        assert_eq!([asked(1, 1), asked(1, 1)], [true, true]);
        assert_eq!([asked(1, 0), asked(1, 0), asked(1, 1)], [true, false, false]);
    }

    #[test]
    fn diff_that_was_asked_for_longest_ago_is_forgotten() {
        let compared = Compared::default();
        let asked = |from: usize| is_worked_out(&compared, from as u64, 1, 0);
        assert!((1..=DIFFS_MAX).all(asked));
        assert!(!asked(1));
        assert!(asked(0));
        assert_eq!([asked(1), asked(0), asked(2)], [false, false, true]);
    }

    #[test]
    fn diffs_take_no_more_room_than_they_may() {
        let compared = Compared::default();
        let asked = |from, bytes| is_worked_out(&compared, from, bytes, 0);
        let third = BYTES_MAX / 3;
        assert_eq!([1, 2, 3].map(|from| asked(from, third)), [true; 3]);
        assert_eq!([2, 3, 1].map(|from| asked(from, third)), [false, false, true]);
        for _ in 0..2 {
            assert!(asked(4, BYTES_MAX));
        }
        assert_eq!([3, 1].map(|from| asked(from, third)), [false; 2]);
    }

    #[test]
    fn diff_of_a_part_is_not_that_of_all() {
        let compared = Compared::default();
        let rows = |is_whole, paths: &[&str]| {
            let of = Of { from: 1, to: 2, path: Path::from(["a"]), is_whole };
            let paths = paths.iter().map(|path| path.parse().unwrap());
            let changes = paths.map(|path| Change::ChildAdded { path }).collect();
            compared.rows(of, 0, || Ok(changes)).unwrap().len()
        };
        assert_eq!(rows(true, &["/a/b", "/a/c"]), 2);
        assert_eq!(rows(false, &["/a/b"]), 1);
        assert_eq!([rows(true, &[]), rows(false, &[])], [2, 1]);
    }

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn path(rng: &mut Rng) -> Path {
        (0..=rng.below(3)).map(|_| *rng.pick(&NAMES)).collect()
    }

    /// Three levels of nodes, each with an attribute.
    fn full(arena: &Arena) -> Tree {
        let mut tree = Tree::new(arena);
        let mut level = vec![Path::root()];
        for _ in 0..3 {
            let below = level.iter().flat_map(|path| NAMES.map(|name| path.join(name)));
            level = below.collect();
            for path in &level {
                let (key, parent) = path.split_last().unwrap();
                tree.edit(|edit| edit.insert_child(parent, key)).unwrap();
                tree.edit(|edit| edit.put_attribute(path, "n", 0)).unwrap();
            }
        }
        tree
    }

    fn edit(tree: &mut Tree, rng: &mut Rng) {
        let (path, other, key) = (path(rng), path(rng), Key::from(*rng.pick(&NAMES)));
        // What cannot be done is left.
        let _ = tree.edit(|edit| match rng.below(6) {
            0 => edit.insert_child(&path, &key),
            1 => edit.put_attribute(&path, "n", 1 + rng.below(9) as i64),
            2 => edit.remove_attribute(&path, "n").map(drop),
            3 => edit.remove(&path),
            _ => edit.move_node(&path, &other, &key),
        });
    }

    #[test]
    fn changes_are_the_same_from_the_version_that_they_lead_to() {
        let arena = Arena::new().unwrap();
        for_each_seed(200, |rng| {
            let mut tree = full(&arena);
            let before = tree.snapshot();
            (0..20).for_each(|_| edit(&mut tree, rng));
            let after = tree.snapshot();
            for (from, to) in [(&before, &after), (&after, &before)] {
                let changes = diff(from, to).into_vec();
                let again = changes.iter().cloned().map(|change| {
                    let row = Row::from(change);
                    row.change(to).into_owned()
                });
                assert_eq!(again.collect::<Vec<Change>>(), changes);
            }
        });
    }
}
