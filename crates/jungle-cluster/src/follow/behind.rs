//! Writes followed commits to the server's own folder in the background.
//!
//! What is committed is safe in the log of the cluster, and nobody waits for the folder. So it
//! would be written only when much has gathered: after hours, where little is committed. But
//! whoever looks at the folder meanwhile is to see what the server has.

use std::time::Duration;

use jungle_db::{Durability, Revision};

use crate::follow::Follower;

/// How often what is new is written.
const EVERY: Duration = Duration::from_secs(1);

/// Has it written until the follower ends, and what it had then. It is not synced for that.
pub(crate) fn write(follower: &Follower) {
    let mut written = Revision::default();
    loop {
        let is_over = follower.is_over();
        let jungle = follower.place().jungle.clone();
        if let Some(jungle) = jungle
            && jungle.revision() > written
        {
            written = jungle.revision();
            // The next message that is followed fails for the same reason, and tells it.
            if jungle.wait_until(written, Durability::Buffered).is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
        follower.rest(EVERY);
    }
}
