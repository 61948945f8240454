//! The edit algebra: what happened between two versions, as a list that can be kept, sent, applied
//! elsewhere, rebased over what others did, and merged.
//!
//! - [`diff`] says what differs, in time proportional to what differs; [`diff_within`] gives up
//!   where that is too much.
//! - [`apply`] does it again.
//! - [`rebase`] rewrites our changes so that they can be applied after theirs, and says where the
//!   two contradict each other.
//! - [`merge`] is all three; [`merge_again`] where both sides go on, and are merged again.

mod apply;
mod attribute;
mod change;
mod conflict;
mod diff;
mod effect;
mod given;
mod kids;
mod merge;
mod moves;
mod numbers;
mod options;
mod ours;
mod rebase;
mod remove;
mod settle;
mod stands;
mod steps;
mod symmetric;
mod transparent;

pub use apply::{ApplyError, apply, copy_subtree};
pub use change::{Change, ChangeSet, Subtree};
pub use conflict::{Conflict, ConflictKind};
pub use diff::{DiffError, diff, diff_at, diff_within, differs_within};
pub use given::{keys_to_skip, skip_positions};
pub use merge::{MergeError, Merged, merge, merge_again};
pub use numbers::{MergeBase, Renumbered, Renumbering};
pub use options::{MergeOptions, Resolution, Rule, RuleFunction};
pub use rebase::{Rebased, rebase, rebase_onto, rebase_over};
pub use stands::stands;
pub use steps::{Steps, TooManySteps};

#[cfg(test)]
mod tests;
