//! How much of a history is kept.

use std::time::Duration;

use crate::history::History;
use crate::planted::{Bug, is_awake};
use crate::revision::Timestamp;

/// Which revisions of a branch stay readable by number and time. The newest always does, and what
/// a [`Snapshot`](crate::Snapshot), a tag or a branch holds stays whatever is said here.
///
/// ```
/// use jungle_db::{Jungle, Retention};
/// let jungle = Jungle::builder().retention(Retention::Last(100)).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// All.
    #[default]
    All,
    /// The newest ones, this many (at least one).
    Last(usize),
    /// Those younger than this, and the one that was the newest before them: so the tree as it was
    /// at any moment of that time can be told.
    ByAge(Duration),
}

impl Retention {
    /// Drops what is not to be kept and tells how many revisions that was.
    pub(crate) fn apply(self, history: &mut History, now: Timestamp) -> usize {
        let before = history.len();
        match self {
            Retention::All => {}
            Retention::Last(count) => {
                let count = count - usize::from(count > 1 && is_awake(Bug::RetentionOffByOne));
                while history.len() > count.max(1) {
                    history.pop_oldest();
                }
            }
            Retention::ByAge(age) => {
                let limit = now.before(age);
                while history.get(1).is_some_and(|second| second.time <= limit) {
                    history.pop_oldest();
                }
            }
        }
        before - history.len()
    }

    /// Reclaiming costs a look at every reader's slot, so it waits for this many dropped revisions.
    pub(crate) fn slack(self) -> usize {
        match self {
            Retention::Last(count) => (count / 8).clamp(1, 64),
            Retention::All | Retention::ByAge(_) => 64,
        }
    }
}
