//! Looking for a revision or a time in a history, a piece at a time.
//!
//! It begins with a guess, as if the entries were spread evenly, so a dense history is hit at the
//! first look, however long it is. A miss tells a nearer point to guess from; who still misses
//! after some rounds halves what is left.

use std::ops::{Deref, Range};

use crate::history::{HISTORY_PIECE, HistoryEntry};
use crate::revision::{Revision, Timestamp};

/// Rounds of further guesses before halving.
const GUESSES: u32 = 4;

/// Which version of a branch: the newest at a revision or a time.
#[derive(Clone, Copy)]
pub(crate) enum At {
    Revision(Revision),
    Time(Timestamp),
}

/// What is known of an entry: its index and its number or time.
pub(crate) type Point = (u64, i128);

impl At {
    /// What is looked for.
    pub(crate) fn wanted(self) -> i128 {
        self.value(match self {
            At::Revision(revision) => (revision, Timestamp::default()),
            At::Time(time) => (Revision::default(), time),
        })
    }

    /// What is compared: it never goes down from entry to entry.
    pub(crate) fn value(self, (revision, time): (Revision, Timestamp)) -> i128 {
        match self {
            At::Revision(_) => i128::from(revision.number()),
            At::Time(_) => i128::from(time.as_micros()),
        }
    }

    pub(crate) fn value_of(self, entry: &HistoryEntry) -> i128 {
        self.value((entry.revision, entry.time))
    }

    /// Is this what is looked for, and the newest such? Of a time there may be several entries.
    fn is_only(self, entry: &HistoryEntry) -> bool {
        matches!(self, At::Revision(revision) if entry.revision == revision)
    }
}

/// The newest entry in a range of indexes that is not beyond what is wanted, with its index. The
/// point `low` is not beyond it and lies not behind the range's first; `high` is, and lies at its
/// end or behind it.
pub(crate) fn newest_in<P: Deref<Target = [HistoryEntry]>, E>(
    range: Range<u64>,
    (mut low, mut high): (Point, Point),
    at: At,
    piece: impl Fn(u64) -> Result<P, E>,
) -> Result<Option<(u64, HistoryEntry)>, E> {
    let Range { mut start, mut end } = range;
    let wanted = at.wanted();
    let mut found = None;
    let mut round = 0;
    // What is before `start` fits, what is from `end` on does not.
    while start < end {
        let guess = match round > GUESSES {
            true => start + (end - start) / 2,
            false => between(low, high, wanted).clamp(start, end - 1),
        };
        round += 1;
        let number = guess / HISTORY_PIECE;
        let whole = piece(number)?;
        let first = number * HISTORY_PIECE;
        let from = start.max(first);
        let to = end.min(first + HISTORY_PIECE);
        let part = &whole[(from - first) as usize..(to - first) as usize];
        let guessed = &part[(guess - from) as usize];
        if at.is_only(guessed) {
            // The next entry is mostly on a cache line of its own, so it is not looked at.
            return Ok(Some((guess, guessed.clone())));
        }
        let fitting = fitting(part, (guess - from) as usize, |entry| at.value_of(entry) <= wanted);
        if let Some(last) = fitting.checked_sub(1) {
            let entry = &part[last];
            found = Some((from + last as u64, entry.clone()));
            low = (from + last as u64, at.value_of(entry));
            start = from + fitting as u64;
        }
        if let Some(next) = part.get(fitting) {
            end = from + fitting as u64;
            high = (end, at.value_of(next));
        }
    }
    Ok(found)
}

/// Where a value lies between two points, if the entries are spread evenly.
fn between(low: Point, high: Point, wanted: i128) -> u64 {
    let entries = i128::from(high.0.saturating_sub(low.0));
    let (ahead, span) = (wanted - low.1, high.1 - low.1);
    // Most histories have no gaps, and a division takes as long as all else.
    let step = if span == entries { ahead } else { ahead * entries / span.max(1) };
    low.0 + step.clamp(0, entries) as u64
}

/// How many entries at the beginning fit; the guess may be the last of them.
fn fitting(part: &[HistoryEntry], guess: usize, fits: impl Fn(&HistoryEntry) -> bool) -> usize {
    let is_last = fits(&part[guess]) && part.get(guess + 1).is_none_or(|next| !fits(next));
    if is_last { guess + 1 } else { part.partition_point(fits) }
}
