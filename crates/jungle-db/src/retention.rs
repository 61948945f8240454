//! How much of a history is kept.

use std::time::Duration;

use crate::archive::ArchiveError;
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
    pub(crate) fn apply(self, history: &mut History, now: Timestamp) -> Result<u64, ArchiveError> {
        match self {
            Retention::All => Ok(0),
            Retention::Last(count) => {
                let count = count - usize::from(count > 1 && is_awake(Bug::RetentionOffByOne));
                Ok(history.drop_before(history.end().saturating_sub(count.max(1) as u64)))
            }
            Retention::ByAge(age) => history.drop_before_time(now.before(age)),
        }
    }

    /// Reclaiming costs a look at every reader's slot, so it waits for this many dropped revisions.
    pub(crate) fn slack(self) -> u64 {
        match self {
            Retention::Last(count) => (count as u64 / 8).clamp(1, 64),
            Retention::All | Retention::ByAge(_) => 64,
        }
    }
}
