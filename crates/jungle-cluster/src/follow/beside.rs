//! What goes on beside following, which nobody waits for: were its thread to end by a panic, nobody
//! would hear of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does a piece of it. Of a panic, which has printed where it was, whoever runs the server is told,
/// and the thread goes on with the next piece; `None` then.
pub(crate) fn guarded<T>(what: &str, work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    if done.is_none() {
        tracing::error!(what, "this server has panicked, and goes on: that is to be reported");
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_a_panic_is_done() {
        let pieces = [1, 0, 2];
        let done = pieces.map(|piece| guarded("dividing", || 6 / piece));
        assert_eq!(done, [Some(6), None, Some(3)]);
    }
}
