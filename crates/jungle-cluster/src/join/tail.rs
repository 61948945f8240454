//! Following a log as its messages come, and those that were passed over.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jungle_db::Jungle;

use crate::engine::log::{Log, LogError};
use crate::error::Fault;
use crate::follow::Follower;
use crate::join::place::find_place;

/// Waits until the log is there, and follows it.
pub(super) fn follow_when_there(follower: &Follower, log: &dyn Log, jungle: &Jungle) {
    /// How often it is looked for.
    const LOOKED_FOR_EVERY: Duration = Duration::from_millis(100);
    let _watched = Watched(follower);
    while !follower.is_over() {
        match find_place(follower, log, jungle) {
            Some(sequence) => return follow_tail(follower, log, sequence + 1),
            None => follower.rest(LOOKED_FOR_EVERY),
        }
    }
}

pub(super) fn follow_tail(follower: &Follower, log: &dyn Log, from: u64) {
    let _watched = Watched(follower);
    for (sequence, bytes) in log.tail(from) {
        if follow_message(follower, log, sequence, &bytes).is_err() {
            return;
        }
    }
    if !follower.is_over() {
        // Whatever reads it has broken off, and it was not closed.
        let sequence = follower.place().sequence + 1;
        let reason = LogError::NoAnswer { within: Duration::ZERO, last: Some("it ended".into()) };
        // It is noted as the follower's.
        drop(follower.fail(Fault::NotRead { sequence, reason }));
    }
}

/// A follower whose thread must not end without a word: nothing more would come, and the server
/// would go on answering as if it knew what is there now.
struct Watched<'f>(&'f Follower);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let sequence = self.0.place().sequence + 1;
            // It is noted as the follower's.
            drop(self.0.fail(Fault::Panicked { sequence }));
        }
    }
}

/// Follows a message as it came, and those that were passed over before it.
pub(crate) fn follow_message(
    follower: &Follower,
    log: &dyn Log,
    sequence: u64,
    bytes: &[u8],
) -> Result<(), Arc<Fault>> {
    // The engine passes over messages that a damaged server has lost; others may have them.
    let due = follower.place().sequence + 1;
    for missing in due..sequence {
        let found = match log.get(missing) {
            Ok(None) => match log.bounds() {
                Ok((first, _)) if first > missing => {
                    return follower.fail(Fault::Trimmed { expected: missing, first });
                }
                _ => log.search(missing),
            },
            found => found,
        };
        match found {
            Ok(Some(bytes)) => follower.follow(log, missing, &bytes)?,
            Ok(None) => break,
            Err(reason) => return follower.fail(Fault::NotRead { sequence: missing, reason }),
        }
    }
    follower.follow(log, sequence, bytes)
}
