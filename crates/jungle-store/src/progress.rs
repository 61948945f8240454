//! Telling how far something is that takes long.

use std::fmt;
use std::sync::Arc;

/// So many revisions are read before it is told again.
const TOLD_EVERY: u64 = 1024;

/// Is told now and then how many revisions were read, of how many: 0 where that is not known.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(u64, u64) + Send + Sync>>);

impl Progress {
    /// Has this called, on the thread that reads.
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
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
