//! What is measured first where there may not be time for all of it.

use std::collections::HashSet;

use super::{Cell, Content};
use crate::systems::{Program, System};

/// What is measured in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// What bars speak of: ours, and those that ours is held against.
    Bars,
    /// All else, which may be slow, and ours beside each peer.
    Others,
}

/// The rounds, in their order. So many of what bars speak of come first, so that a verdict does not
/// rest on one round because somebody else is slow; then all others once; then further ones, up to
/// `most` of each kind, as far as there is time.
pub(super) fn rounds(first: usize, most: usize) -> Vec<Kind> {
    let bars = |count| vec![Kind::Bars; count];
    let others = |count| vec![Kind::Others; count];
    let (more_bars, more_others) = (most.saturating_sub(first), most.saturating_sub(1));
    [bars(first), others(1), bars(more_bars), others(more_others)].concat()
}

/// Which cells are measured in the rounds of each kind, in their order.
pub(super) struct Split {
    bars: Vec<usize>,
    others: Vec<usize>,
}

impl Split {
    /// Of the rounds of others are all cells that are in none of the bars', and those that they are
    /// held against, though these are measured a second time for it: a ratio is of one round. They
    /// come last, for what else there is must not wait for that.
    pub(super) fn of(cells: &[Cell]) -> Split {
        let bars = with_its_runs(cells, |at| cells[at].is_of_a_bar());
        let is_other = |at: usize| !bars.contains(&at);
        let is_beside = |at: usize| {
            let is_held = |it: usize| is_other(it) && is_held_against(&cells[at], &cells[it]);
            (0..cells.len()).any(is_held)
        };
        let mut others = with_its_runs(cells, |at| is_other(at) || is_beside(at));
        let again = others.iter().filter(|at| bars.contains(at)).map(|at| cells[*at].content());
        let again: HashSet<Content> = again.collect();
        others.sort_by_key(|at| again.contains(&cells[*at].content()));
        Split { bars, others }
    }

    pub(super) fn cells(&self, kind: Kind) -> &[usize] {
        match kind {
            Kind::Bars => &self.bars,
            Kind::Others => &self.others,
        }
    }

    /// How many samples a round of each kind gives together.
    pub(super) fn count(&self) -> usize {
        self.bars.len() + self.others.len()
    }
}

/// These, and what the runs that measure them tell besides, which takes no time.
fn with_its_runs(cells: &[Cell], is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let wanted = (0..cells.len()).filter(|at| is_wanted(*at));
    let runs: HashSet<&Program> = wanted.map(|at| &cells[at].program).collect();
    (0..cells.len()).filter(|at| runs.contains(&cells[*at].program)).collect()
}

/// Is one of them ours, and the other a peer's of the same?
fn is_held_against(one: &Cell, other: &Cell) -> bool {
    let is_ours = |cell: &Cell| cell.system == System::Jungle;
    one.content() == other.content() && is_ours(one) != is_ours(other)
}
