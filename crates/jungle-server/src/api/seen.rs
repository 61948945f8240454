//! Which commit a client has seen last: the ids of events.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use jungle::{ArchiveError, Revision, RevisionInfo, Timestamp, TreeHandle};

/// What a client has seen last: a revision, and which commit that was. After a crash that lost
/// commits, or where a backup was put back, another commit has the number. It is the same on all
/// servers of a cluster, and after a restart.
///
/// Commits have the time of the one before them while a clock is behind that, as after it was set
/// back: until it has caught up they are told apart by their numbers alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) revision: Revision,
    /// When it was committed. A client may say the number alone, and is believed.
    time: Option<Timestamp>,
}

impl Seen {
    /// A revision, whichever commit that is.
    pub(crate) fn number(revision: Revision) -> Seen {
        Seen { revision, time: None }
    }

    /// The commit of which this is told.
    pub(crate) fn of(info: &RevisionInfo) -> Seen {
        Seen { revision: info.revision, time: Some(info.time) }
    }

    /// The newest commit of a branch up to a revision. Where none is kept, it is the number alone.
    pub(crate) fn up_to(tree: &TreeHandle, revision: Revision) -> Result<Seen, ArchiveError> {
        let newest = tree.history(..=revision).next().transpose()?;
        Ok(newest.map_or_else(|| Seen::number(revision), |info| Seen::of(&info)))
    }

    /// Does it say which commit it is?
    pub(crate) fn is_exact(self) -> bool {
        self.time.is_some()
    }

    /// Is it in the history of a branch, as far as that is kept? It must be exact.
    pub(crate) fn is_in(self, tree: &TreeHandle) -> Result<bool, ArchiveError> {
        let found = tree.history(self.revision..=self.revision).next().transpose()?;
        Ok(found.is_some_and(|info| Seen::of(&info) == self))
    }
}

/// `12-1795311000000000`: the number, and the time in microseconds; or `12`.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time {
            Some(time) => write!(f, "{}-{}", self.revision, time.as_micros()),
            None => write!(f, "{}", self.revision),
        }
    }
}

impl FromStr for Seen {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Seen, ParseIntError> {
        let (number, time) = match text.split_once('-') {
            Some((number, micros)) => (number, Some(Timestamp::from_micros(micros.parse()?))),
            None => (text, None),
        };
        Ok(Seen { revision: Revision::new(number.parse()?), time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_read_as_it_was_written() {
        for (id, revision, is_exact) in
            [("12-1795311000000000", 12, true), ("12", 12, false), ("7--5", 7, true)]
        {
            let seen: Seen = id.parse().unwrap();
            assert_eq!((seen.revision.number(), seen.is_exact()), (revision, is_exact), "{id}");
            assert_eq!(seen.to_string(), id);
        }
        for wrong in ["", "-1", "12-", "12-x", "x-1", "1-2-3", "12.1f3a", " 1"] {
            assert!(wrong.parse::<Seen>().is_err(), "{wrong}");
        }
    }
}
