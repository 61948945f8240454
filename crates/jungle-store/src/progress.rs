//! Telling how far something is that takes long.

use std::fmt;
use std::sync::Arc;

/// So many things are done before it is told again.
const TOLD_EVERY: u64 = 1024;

/// Is told now and then how much is done, of how much: 0 where that is not known. What is counted,
/// revisions in most places, is said by what takes one.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(u64, u64) + Send + Sync>>);

impl Progress {
    /// Has this called, on the thread that does the work.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress(Some(Arc::new(tell)))
    }

    pub(crate) fn tell(&self, done: u64, total: u64) {
        if let Progress(Some(tell)) = self
            && done.is_multiple_of(TOLD_EVERY)
        {
            tell(done, total);
        }
    }

    /// As [`Progress::tell`], of what is long enough to be told each time.
    pub(crate) fn tell_each(&self, done: u64, total: u64) {
        if let Progress(Some(tell)) = self {
            tell(done, total);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
