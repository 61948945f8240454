//! Histories of which pieces cannot be read, and what becomes of the rest.

use super::copies::unknown;
use super::saving::Saving;
use crate::handle::TreeHandle;
use crate::history::archive::are_in_order;
use crate::history::{HISTORY_PIECE, HistoryEntry};
use crate::journal::BranchId;
use crate::restore::state::{HistoryAnchor, SavedBranch, SavedHistory};
use crate::revision::{CommitMeta, Revision, RevisionInfo};

/// Some revisions of a branch, one after the other: how many, and between which numbers.
pub(super) type Run = (u64, Revision, Revision);

/// What is known of a history, in order.
pub(super) enum Found {
    Entry(HistoryEntry),
    Gap(Run),
}

impl<F> Saving<'_, F> {
    /// The history of a branch, as far as it can be read.
    pub(super) fn entries(&self, branch: &SavedBranch, other: Option<&TreeHandle>) -> Vec<Found> {
        let SavedHistory { dropped, pieces, last, .. } = &branch.history;
        let (mut found, mut before, mut missing) = (Vec::new(), Revision::default(), 0);
        let mut add = |entries: &[HistoryEntry], missing: u64| {
            let (Some(first), Some(end)) = (entries.first(), entries.last()) else { return };
            fill(&mut found, missing, (before, first.revision), other);
            before = end.revision;
            found.extend(entries.iter().cloned().map(Found::Entry));
        };
        for number in dropped / HISTORY_PIECE..*pieces {
            let gone = dropped.saturating_sub(number * HISTORY_PIECE);
            match self.from.archive.piece(branch.id, number) {
                Ok(piece) if is_piece(&piece) => {
                    add(&piece[gone as usize..], std::mem::take(&mut missing));
                }
                _ => missing += HISTORY_PIECE - gone,
            }
        }
        let gone = dropped.saturating_sub(pieces * HISTORY_PIECE);
        add(&last[gone as usize..], missing);
        found
    }

    /// A history in pieces.
    pub(super) fn packed(
        &mut self,
        id: BranchId,
        kept: Vec<HistoryEntry>,
        is_cut: bool,
    ) -> SavedHistory {
        let mut entries = kept;
        let first = entries.first().expect("something is always kept").clone();
        // Stands for those that were dropped before: it is not kept either.
        let before = first.revision.number().checked_sub(1).filter(|&number| is_cut && number > 0);
        if let Some(number) = before {
            let meta = CommitMeta::new();
            entries.insert(0, HistoryEntry { revision: Revision::new(number), meta, ..first });
        }
        let anchor = &entries[0];
        let anchor = HistoryAnchor { index: 0, revision: anchor.revision, time: anchor.time };
        let pieces = (entries.len() as u64 - 1) / HISTORY_PIECE;
        let mut last = entries.split_off((pieces * HISTORY_PIECE) as usize);
        last.shrink_to_fit();
        for (number, piece) in entries.chunks(HISTORY_PIECE as usize).enumerate() {
            self.pieces.0.insert((id, number as u64), piece.into());
        }
        let dropped = u64::from(before.is_some());
        SavedHistory { dropped, pieces, anchor, last: last.into() }
    }
}

/// Is it a whole one?
fn is_piece(entries: &[HistoryEntry]) -> bool {
    entries.len() as u64 == HISTORY_PIECE && are_in_order(entries)
}

pub(super) fn joined(run: Option<Run>, (more, first, last): Run) -> Run {
    run.map_or((more, first, last), |(count, begun, _)| (count + more, begun, last))
}

/// What another Jungle knows of some revisions between two that are known here, and how many are
/// left.
fn fill(
    found: &mut Vec<Found>,
    missing: u64,
    (before, next): (Revision, Revision),
    other: Option<&TreeHandle>,
) {
    if missing == 0 || before >= next {
        return;
    }
    let infos = other.into_iter().flat_map(|other| other.history(before.next()..next));
    // The newest are the first.
    let infos = infos.map_while(Result::ok).take(missing as usize);
    let mut filled: Vec<HistoryEntry> = infos.map(entry_of).collect();
    filled.reverse();
    let left = missing - filled.len() as u64;
    if left > 0 {
        let end = filled.first().map_or(next, |entry| entry.revision);
        found.push(Found::Gap((
            left,
            before.next(),
            Revision::new(end.number().saturating_sub(1)),
        )));
    }
    found.extend(filled.into_iter().map(Found::Entry));
}

fn entry_of(info: RevisionInfo) -> HistoryEntry {
    let RevisionInfo { revision, time, meta } = info;
    HistoryEntry { revision, time, id: unknown(), meta }
}
