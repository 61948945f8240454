//! What came of each commit, and how soon the next one comes after a fault.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jungle_db::{Jungle, NotWritten, TreeHandle, UpdateError};
use jungle_tree::EditError;

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

/// Commits have numbers, and each puts its own into the tree.
pub struct Tally {
    state: Mutex<State>,
    acknowledged: Condvar,
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
}

/// How many of each outcome there were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub acknowledged: u64,
    pub refused: u64,
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
    pub fn new(servers: usize) -> Tally {
        let state = State {
            begun: 0,
            outcomes: BTreeMap::new(),
            counts: Counts::default(),
            healed: Instant::now(),
            back: vec![None; servers],
        };
        Tally { state: Mutex::new(state), acknowledged: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// One commit on a server.
    pub fn commit(&self, server: usize, tree: &TreeHandle) {
        let mut state = self.state();
        state.begun += 1;
        let number = state.begun;
        drop(state);
        let told = tree.update(|tx| {
            let child = tx.append(&[])?;
            tx.put_attribute(&[child], "number", number)
        });
        let outcome = match told {
            Ok(_) => Outcome::Acknowledged,
            Err(UpdateError::NotWritten(NotWritten::Undecided(_))) => Outcome::Undecided,
            Err(UpdateError::<EditError>::NotWritten(NotWritten::Refused(_))) => Outcome::Refused,
            Err(error) => panic!("{error:?}"),
        };
        self.note(server, number, outcome);
    }

    fn note(&self, server: usize, number: i64, outcome: Outcome) {
        let mut state = self.state();
        state.outcomes.insert(number, outcome);
        match outcome {
            Outcome::Acknowledged => {
                state.counts.acknowledged += 1;
                let after = state.healed.elapsed();
                state.back[server].get_or_insert(after);
            }
            Outcome::Refused => state.counts.refused += 1,
            Outcome::Undecided => state.counts.undecided += 1,
        }
        drop(state);
        self.acknowledged.notify_all();
    }

    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Waits until so many more were acknowledged, or for so long; tells whether they were.
    pub fn wait(&self, more: u64, within: Duration) -> bool {
        let state = self.state();
        let until = state.counts.acknowledged.saturating_add(more);
        let too_few = |state: &mut State| state.counts.acknowledged < until;
        let waited = self.acknowledged.wait_timeout_while(state, within, too_few);
        !waited.unwrap().1.timed_out()
    }

    /// A fault is over just now.
    pub fn heal(&self) {
        let mut state = self.state();
        state.healed = Instant::now();
        state.back.fill(None);
    }

    /// Waits until every server has acknowledged a commit since then, or for so long.
    pub fn wait_back(&self, within: Duration) -> Option<Back> {
        let is_away = |state: &mut State| state.back.contains(&None);
        let waited = self.acknowledged.wait_timeout_while(self.state(), within, is_away);
        let state = waited.unwrap().0;
        let back = state.back.iter().copied().collect::<Option<Vec<Duration>>>()?;
        Some(Back { first: *back.iter().min().unwrap(), all: *back.iter().max().unwrap() })
    }

    /// Holds what is there against what was told: gives the numbers that are there more or less
    /// often than they should, what was told of each, and how often it is there.
    pub fn wrong(&self, jungle: &Jungle) -> Vec<(i64, Option<Outcome>, u64)> {
        let snapshot = jungle.open_tree("t").unwrap().snapshot();
        let mut there: BTreeMap<i64, u64> = BTreeMap::new();
        for (_, child) in snapshot.root().children() {
            let number = child.attribute("number").unwrap().as_int().unwrap();
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

#[test]
fn what_is_lost_refused_unknown_or_there_twice_is_found() {
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    let tally = Tally::new(1);
    (0..4).for_each(|_| tally.commit(0, &tree));
    tally.note(0, 5, Outcome::Undecided);
    assert_eq!(tally.wrong(&jungle), []);
    for number in [2, 5, 7, 8] {
        let put = tree.update(|tx| {
            let child = tx.append(&[])?;
            tx.put_attribute(&[child], "number", number)
        });
        put.unwrap();
    }
    tally.note(0, 6, Outcome::Acknowledged);
    tally.note(0, 7, Outcome::Refused);
    let [lost, refused] = [Outcome::Acknowledged, Outcome::Refused].map(Some);
    assert_eq!(tally.wrong(&jungle), [(2, lost, 2), (6, lost, 0), (7, refused, 1), (8, None, 1)]);
}
