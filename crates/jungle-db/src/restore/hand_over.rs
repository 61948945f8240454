//! Leaving to an archive what a checkpoint has of the histories.

use std::collections::HashMap;
use std::sync::Arc;

use crate::head::{Head, lock};
use crate::history::archive::{Archive, Shelf};
use crate::jungle::Jungle;
use crate::restore::checkpoint::Checkpoint;

impl Jungle {
    /// Leaves to `archive`, which has them, the whole pieces of the histories that a checkpoint of
    /// this Jungle has: as after [`Builder::restore`](crate::Builder::restore) it is asked for
    /// them from now on, and only those used last stay in memory. Nobody who looks back sees a
    /// difference, unless the archive fails.
    ///
    /// A Jungle has one archive: the one that it was restored from, or else the first that is given
    /// here. It is the one that must have what is handed over later, too; others that are given are
    /// not used.
    ///
    /// What another checkpoint relies on that is held still stays in memory: whoever hands over
    /// the next one hands that over, too.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::{Arc, Mutex};
    /// use jungle_db::{Archive, ArchiveError, BranchId, HISTORY_PIECE, HistoryEntry, Jungle};
    ///
    /// type Piece = Arc<[HistoryEntry]>;
    /// #[derive(Default)]
    /// struct Saved(Mutex<HashMap<(BranchId, u64), Piece>>);
    /// impl Archive for Saved {
    ///     fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
    ///         let found = self.0.lock().unwrap().get(&(branch, index)).cloned();
    ///         found.ok_or_else(|| ArchiveError::new("it was not saved"))
    ///     }
    /// }
    ///
    /// let (jungle, saved) = (Jungle::new()?, Arc::new(Saved::default()));
    /// let log = jungle.create_tree("log")?;
    /// let first = log.update(|tx| tx.append(&[]))?.revision;
    /// for n in 0..HISTORY_PIECE {
    ///     log.update(|tx| tx.put_attribute(&[], "n", n as i64))?;
    /// }
    /// let checkpoint = jungle.checkpoint();
    /// for piece in checkpoint.pieces_since(log.branch_id(), 0) {
    ///     let (index, entries) = piece?;
    ///     saved.0.lock().unwrap().insert((log.branch_id(), index), entries);
    /// }
    /// jungle.hand_over(checkpoint, saved);
    /// assert_eq!(log.at(first)?.root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hand_over(&self, checkpoint: Checkpoint, archive: Arc<dyn Archive>) {
        let branches = checkpoint.state().trees.iter().flat_map(|tree| &tree.branches);
        let saved: HashMap<_, _> =
            branches.map(|branch| (branch.id, branch.history.pieces)).collect();
        // It relies on what is in memory, too.
        drop(checkpoint);
        let mut shelf = lock(&self.shared.shelf);
        let shelf = shelf.get_or_insert_with(|| Arc::new(Shelf::new(archive)));
        for head in self.shared.heads() {
            if let Some(&end) = saved.get(&head.id) {
                head.hand_over(end, shelf);
            }
        }
    }
}

impl Head {
    /// Leaves the whole pieces of its history before this one to an archive.
    fn hand_over(&self, end: u64, shelf: &Arc<Shelf>) {
        let state = self.lock();
        if state.is_held() {
            return;
        }
        let pieces = state.history.whole_before(end);
        let pieces: Vec<_> = pieces.map(|(number, piece)| (number, Arc::clone(piece))).collect();
        drop(state);
        // Whoever looks for them next need not read them, if they are not too many.
        for (number, piece) in pieces {
            shelf.keep(self.id, number, piece);
        }
        let mut state = self.lock();
        if state.is_held() {
            return;
        }
        let handed_over = state.history.hand_over(end, self.id, shelf);
        drop(state);
        // Nobody waits for the branch while their memory is given back.
        drop(handed_over);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::handle::CommitOptions;
    use crate::history::archive::{ArchiveError, KEPT_BYTES};
    use crate::history::{HISTORY_PIECE, Piece};
    use crate::journal::BranchId;
    use crate::revision::CommitMeta;

    #[derive(Default)]
    struct Saved(Mutex<HashMap<(BranchId, u64), Piece>>);

    impl Archive for Saved {
        fn piece(&self, branch: BranchId, index: u64) -> Result<Piece, ArchiveError> {
            let found = self.0.lock().unwrap().get(&(branch, index)).cloned();
            found.ok_or_else(|| ArchiveError::new("it was not saved"))
        }
    }

    #[test]
    fn what_is_held_of_a_history_does_not_grow_with_it() {
        const ROUNDS: i64 = 25;
        const COMMITS: i64 = 600;
        let (jungle, saved) = (Jungle::new().unwrap(), Arc::new(Saved::default()));
        let tree = jungle.create_tree("log").unwrap();
        // All of them together weigh more than may stay in memory.
        let options = CommitOptions::from(&CommitMeta::new().message(&"word ".repeat(1_000)));
        let mut since = 0;
        for round in 0..ROUNDS {
            for n in round * COMMITS..(round + 1) * COMMITS {
                tree.update_with(&options, |tx| tx.put_attribute(&[], "n", n)).unwrap();
            }
            let checkpoint = jungle.checkpoint();
            for piece in checkpoint.pieces_since(tree.branch_id(), since) {
                let (index, entries) = piece.unwrap();
                saved.0.lock().unwrap().insert((tree.branch_id(), index), entries);
                since = index + 1;
            }
            jungle.hand_over(checkpoint, Arc::<Saved>::clone(&saved));
            let here = tree.head.lock().history.ids_here().count() as u64;
            assert!(here <= HISTORY_PIECE, "{here} revisions in memory after round {round}");
            let kept = lock(&jungle.shared.shelf).as_ref().map_or(0, |shelf| shelf.kept_bytes());
            assert!(kept <= KEPT_BYTES, "{kept} bytes in memory after round {round}");
        }
        let all: Result<Vec<_>, _> = tree.history(..).collect();
        assert_eq!(all.unwrap().len() as i64, 1 + ROUNDS * COMMITS);
    }
}
