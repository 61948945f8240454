//! How much may be compared.

use std::convert::Infallible;
use std::fmt;

use crate::key::KeyRef;

/// So many bytes of a key are one step more. Each difference has a path of its own, also where many
/// are in one node. Most keys are shorter.
const KEY_BYTES: usize = 64;

/// Who counts what a comparison takes, and may end it.
pub(super) trait Count {
    /// Why it was ended.
    type Over;

    /// So many nodes or attributes are looked at.
    fn take(&mut self, steps: usize) -> Result<(), Self::Over>;

    /// Something differs, in the node at this path.
    fn differs<'k>(&mut self, path: impl Iterator<Item = KeyRef<'k>>) -> Result<(), Self::Over>;

    /// A child that only one version has is found: it is told later that it differs.
    #[inline(always)]
    fn is_on_one_side(&mut self) -> Result<(), Self::Over> {
        Ok(())
    }
}

/// Nobody counts, and it costs nothing.
pub(super) struct Unbounded;

impl Count for Unbounded {
    type Over = Infallible;

    #[inline(always)]
    fn take(&mut self, _steps: usize) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline(always)]
    fn differs<'k>(&mut self, _path: impl Iterator<Item = KeyRef<'k>>) -> Result<(), Infallible> {
        Ok(())
    }
}

/// How many steps comparisons may take, one after the other, for versions that anybody may have
/// made. A step is a node or an attribute that is looked at, where both versions have something
/// else in memory, or a key in the path of what differs, where one that is long counts again for
/// each 64 bytes: time and memory are bounded by them.
///
/// ```
/// use jungle_tree::{Arena, DiffError, Steps, Tree, diff, diff_within};
/// let mut tree = Tree::new(&Arena::new()?);
/// let before = tree.snapshot();
/// (0..100).try_for_each(|_| tree.add_child(&[]).map(drop))?;
/// let after = tree.snapshot();
/// let mut steps = Steps::new(1_000);
/// assert_eq!(diff_within(&before, &after, &[], &mut steps), Ok(diff(&before, &after)));
/// assert!((300..900).contains(&steps.left()), "{steps:?}");
/// let refused = diff_within(&before, &after, &[], &mut Steps::new(100));
/// assert!(matches!(refused, Err(DiffError::TooManySteps(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Steps {
    left: u64,
    most: u64,
}

/// A comparison takes more steps than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManySteps {
    /// How many there were to be at most.
    pub most: u64,
}

impl Steps {
    /// So many.
    #[must_use]
    pub fn new(most: u64) -> Steps {
        Steps { left: most, most }
    }

    /// How many are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl Count for Steps {
    type Over = TooManySteps;

    fn take(&mut self, steps: usize) -> Result<(), TooManySteps> {
        let left = self.left.checked_sub(steps as u64);
        self.left = left.unwrap_or(0);
        match left {
            Some(_) => Ok(()),
            None => Err(TooManySteps { most: self.most }),
        }
    }

    fn differs<'k>(&mut self, path: impl Iterator<Item = KeyRef<'k>>) -> Result<(), TooManySteps> {
        self.take(1 + path.map(key_steps).sum::<usize>())
    }
}

/// Those of a key in the path of what differs.
fn key_steps(key: KeyRef<'_>) -> usize {
    let bytes = match key {
        KeyRef::Position(_, digits) => digits.len(),
        KeyRef::Name(name) => name.len(),
    };
    1 + bytes / KEY_BYTES
}

/// Ends with the first difference.
pub(super) struct First<'s>(pub(super) &'s mut Steps);

/// Why a search for the first difference ended.
pub(super) enum Ended {
    Differs,
    Over(TooManySteps),
}

impl Count for First<'_> {
    type Over = Ended;

    fn take(&mut self, steps: usize) -> Result<(), Ended> {
        self.0.take(steps).map_err(Ended::Over)
    }

    fn differs<'k>(&mut self, _path: impl Iterator<Item = KeyRef<'k>>) -> Result<(), Ended> {
        Err(Ended::Differs)
    }

    fn is_on_one_side(&mut self) -> Result<(), Ended> {
        Err(Ended::Differs)
    }
}

impl fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} steps to compare what is to be compared", self.most)
    }
}

impl std::error::Error for TooManySteps {}
