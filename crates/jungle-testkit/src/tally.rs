//! What came of each commit, and how soon the next one comes after a fault.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a client was told of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It must be there once.
    Acknowledged,
    /// It must not be there.
    Refused,
    /// It may be there once.
    Undecided,
}

/// Commits that several clients make on several servers have numbers, and each puts its own where
/// it is found again. In the end, what is there is held against what the clients were told.
///
/// # Examples
/// ```
/// use jungle_testkit::{Outcome, Tally};
///
/// let tally = Tally::new(1);
/// let (kept, lost) = (tally.begin(), tally.begin());
/// tally.note(0, kept, Outcome::Acknowledged);
/// tally.note(0, lost, Outcome::Acknowledged);
/// assert_eq!(tally.wrong([kept]), [(lost, Some(Outcome::Acknowledged), 0)]);
/// ```
pub struct Tally {
    state: Mutex<State>,
    acknowledged: Condvar,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally").finish_non_exhaustive()
    }
}

struct State {
    /// How many were begun.
    begun: i64,
    outcomes: BTreeMap<i64, Outcome>,
    counts: Counts,
    /// When the last fault was over.
    healed: Instant,
    /// How long after that the first commit was acknowledged on each server.
    back: Vec<Option<Duration>>,
    /// When the newest one was acknowledged, on any.
    newest: Instant,
    /// The longest time between two of them since that was asked.
    gap: Duration,
}

/// How many of each outcome there were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// See [`Outcome::Acknowledged`].
    pub acknowledged: u64,
    /// See [`Outcome::Refused`].
    pub refused: u64,
    /// See [`Outcome::Undecided`].
    pub undecided: u64,
}

/// How long after a fault commits are acknowledged again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Back {
    /// By one server.
    pub first: Duration,
    /// By every server.
    pub all: Duration,
}

impl Tally {
    /// Of so many servers.
    #[must_use]
    pub fn new(servers: usize) -> Tally {
        let state = State {
            begun: 0,
            outcomes: BTreeMap::new(),
            counts: Counts::default(),
            healed: Instant::now(),
            back: vec![None; servers],
            newest: Instant::now(),
            gap: Duration::ZERO,
        };
        Tally { state: Mutex::new(state), acknowledged: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next commit.
    pub fn begin(&self) -> i64 {
        let mut state = self.state();
        state.begun += 1;
        state.begun
    }

    /// What came of it on a server.
    pub fn note(&self, server: usize, number: i64, outcome: Outcome) {
        let mut state = self.state();
        state.outcomes.insert(number, outcome);
        match outcome {
            Outcome::Acknowledged => {
                state.counts.acknowledged += 1;
                state.gap = state.gap.max(state.newest.elapsed());
                state.newest = Instant::now();
                let after = state.healed.elapsed();
                state.back[server].get_or_insert(after);
            }
            Outcome::Refused => state.counts.refused += 1,
            Outcome::Undecided => state.counts.undecided += 1,
        }
        drop(state);
        self.acknowledged.notify_all();
    }

    /// How many commits came to what.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Waits until so many more were acknowledged, or for so long; tells whether they were.
    pub fn wait(&self, more: u64, within: Duration) -> bool {
        let state = self.state();
        let until = state.counts.acknowledged.saturating_add(more);
        let too_few = |state: &mut State| state.counts.acknowledged < until;
        let waited = self.acknowledged.wait_timeout_while(state, within, too_few);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The longest time without an acknowledged commit, up to now, since this was last asked: one
    /// that goes on is told again, and is longer then.
    #[must_use]
    pub fn gap(&self) -> Duration {
        let mut state = self.state();
        std::mem::take(&mut state.gap).max(state.newest.elapsed())
    }

    /// A fault is over just now.
    pub fn heal(&self) {
        let mut state = self.state();
        state.healed = Instant::now();
        state.back.fill(None);
    }

    /// Waits until every server has acknowledged a commit since then, or for so long.
    #[must_use]
    pub fn wait_back(&self, within: Duration) -> Option<Back> {
        let is_away = |state: &mut State| state.back.contains(&None);
        let waited = self.acknowledged.wait_timeout_while(self.state(), within, is_away);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let back = state.back.iter().copied().collect::<Option<Vec<Duration>>>()?;
        Some(Back { first: *back.iter().min()?, all: *back.iter().max()? })
    }

    /// May this one be there?
    #[must_use]
    pub fn may_be(&self, number: i64) -> bool {
        matches!(
            self.state().outcomes.get(&number),
            Some(Outcome::Acknowledged | Outcome::Undecided)
        )
    }

    /// These were there, and have been removed: none may be there from now on.
    pub fn forget(&self, numbers: &[i64]) {
        let mut state = self.state();
        for number in numbers {
            state.outcomes.remove(number);
        }
    }

    /// These were there, and may have been removed.
    pub fn doubt(&self, numbers: &[i64]) {
        let doubted = numbers.iter().map(|&number| (number, Outcome::Undecided));
        self.state().outcomes.extend(doubted);
    }

    /// Holds the numbers that are there against what was told: gives those that are there more or
    /// less often than they should, what was told of each, and how often it is there.
    #[must_use]
    pub fn wrong(
        &self,
        numbers: impl IntoIterator<Item = i64>,
    ) -> Vec<(i64, Option<Outcome>, u64)> {
        let mut there: BTreeMap<i64, u64> = BTreeMap::new();
        for number in numbers {
            *there.entry(number).or_default() += 1;
        }
        let mut wrong = Vec::new();
        for (&number, &outcome) in &self.state().outcomes {
            let times = there.remove(&number).unwrap_or(0);
            let is_right = match outcome {
                Outcome::Acknowledged => times == 1,
                Outcome::Refused => times == 0,
                Outcome::Undecided => times <= 1,
            };
            if !is_right {
                wrong.push((number, Some(outcome), times));
            }
        }
        wrong.extend(there.into_iter().map(|(number, times)| (number, None, times)));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_refused_unknown_or_there_twice_is_found() {
        let tally = Tally::new(1);
        let all: Vec<i64> = (0..7).map(|_| tally.begin()).collect();
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7]);
        (1..=4).for_each(|number| tally.note(0, number, Outcome::Acknowledged));
        tally.note(0, 5, Outcome::Undecided);
        assert_eq!(tally.wrong(1..=4), []);
        assert_eq!(tally.wrong(1..=5), []);
        tally.note(0, 6, Outcome::Acknowledged);
        tally.note(0, 7, Outcome::Refused);
        let [lost, refused, undecided] =
            [Outcome::Acknowledged, Outcome::Refused, Outcome::Undecided].map(Some);
        assert_eq!(
            tally.wrong([1, 2, 2, 3, 4, 5, 5, 7, 8]),
            [(2, lost, 2), (5, undecided, 2), (6, lost, 0), (7, refused, 1), (8, None, 1)]
        );
    }

    #[test]
    fn what_was_removed_may_not_come_again() {
        let tally = Tally::new(1);
        (1..=3).for_each(|number| tally.note(0, number, Outcome::Acknowledged));
        assert!(tally.may_be(1) && !tally.may_be(4));
        tally.forget(&[1]);
        tally.doubt(&[2]);
        assert!(!tally.may_be(1) && tally.may_be(2));
        assert_eq!(tally.wrong([3]), []);
        assert_eq!(tally.wrong([1, 2, 3]), [(1, None, 1)]);
    }

    #[test]
    fn gap_is_the_longest_since_it_was_asked() {
        const GAP: Duration = Duration::from_millis(2);
        let tally = Tally::new(1);
        assert!(!tally.wait(1, GAP));
        let acknowledged = Instant::now();
        tally.note(0, 1, Outcome::Acknowledged);
        assert!(tally.gap() >= GAP);
        let since = tally.gap();
        assert!(since <= acknowledged.elapsed(), "{since:?}");
        assert!(!tally.wait(1, GAP));
        assert!(tally.gap() >= GAP, "it goes on");
    }

    #[test]
    fn back_is_when_every_server_has_acknowledged_again() {
        let tally = Tally::new(2);
        tally.note(0, 1, Outcome::Acknowledged);
        tally.heal();
        tally.note(1, 2, Outcome::Acknowledged);
        tally.note(0, 3, Outcome::Undecided);
        assert!(tally.wait_back(Duration::ZERO).is_none());
        tally.note(0, 4, Outcome::Acknowledged);
        let back = tally.wait_back(Duration::ZERO).unwrap();
        assert!(back.first <= back.all, "{back:?}");
        assert!(!tally.wait(1, Duration::ZERO) && tally.wait(0, Duration::ZERO));
    }
}
