//! Writes followed commits to the server's own folder in the background.
//!
//! What is committed is safe in the log of the cluster, and nobody waits for the folder. So it
//! would be written only when much has gathered: after hours, where little is committed. But
//! whoever looks at the folder meanwhile is to see what the server has.

use std::time::Duration;

use jungle_db::{Durability, NotWritten, Revision};

use crate::follow::Follower;
use crate::follow::beside::guarded;

/// How often what is new is written.
const EVERY: Duration = Duration::from_secs(1);

/// Has it written until the follower ends, and what it had then. It is not synced for that.
pub(crate) fn write(follower: &Follower) {
    let mut written = Revision::default();
    loop {
        let is_over = follower.is_over();
        match guarded("writing to the folder", || write_behind(follower, written)) {
            Some(Ok(newest)) => written = newest,
            // The next message that is followed fails for the same reason, and tells it.
            Some(Err(_)) => return,
            None => {}
        }
        if is_over {
            return;
        }
        follower.rest(EVERY);
    }
}

/// Has what is new behind a revision written; gives up to which one that was.
fn write_behind(follower: &Follower, written: Revision) -> Result<Revision, NotWritten> {
    let jungle = follower.place().jungle.clone();
    let Some(jungle) = jungle.filter(|jungle| jungle.revision() > written) else {
        return Ok(written);
    };
    let newest = jungle.revision();
    jungle.wait_until(newest, Durability::Buffered)?;
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Sender, channel};
    use std::thread;

    use jungle_db::{CommitRecord, Journal, JournalError, Jungle};

    use super::*;
    use crate::checkpoint::keeper::Every;

    /// Panics once as it is to write.
    struct Panicking {
        has_panicked: AtomicBool,
        asked: Sender<Revision>,
    }

    impl Journal for Panicking {
        fn append(&self, _: &CommitRecord) -> Result<(), JournalError> {
            Ok(())
        }

        fn wait(&self, revision: Revision, _: Durability) -> Result<(), JournalError> {
            let _ = self.asked.send(revision);
            assert!(self.has_panicked.swap(true, Ordering::SeqCst), "as it writes");
            Ok(())
        }
    }

    /// Else nothing would come to the folder any more, and nobody would hear of it.
    #[test]
    fn what_was_not_written_for_a_panic_is_written_after_it() {
        let (asked, is_asked) = channel();
        let journal = Arc::new(Panicking { has_panicked: AtomicBool::new(true), asked });
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        jungle.create_tree("t").unwrap();
        assert!(is_asked.try_iter().count() > 0);
        journal.has_panicked.store(false, Ordering::SeqCst);
        let newest = jungle.revision();
        let every = Every { messages: u64::MAX, bytes: u64::MAX };
        let follower = Follower::new(jungle, 0, None, every);
        thread::scope(|scope| {
            scope.spawn(|| write(&follower));
            let asked = [(); 2].map(|()| is_asked.recv_timeout(Duration::from_secs(30)));
            follower.end();
            assert!(asked.iter().all(|asked| *asked == Ok(newest)), "{asked:?}");
        });
    }
}
