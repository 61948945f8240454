//! A server without threads: what they do, a step at a time, by whoever has the server. So a
//! simulation says what happens when, and the same seed does the same again.

use std::sync::PoisonError;
use std::time::Duration;

use crate::cluster::Cluster;
use crate::engine::log::LogError;
use crate::error::JoinError;
use crate::join::place::find_place;
use crate::join::tail::follow_message;
use crate::message::Hash;

impl Cluster {
    /// Follows the next message, if one has come; tells whether that was done. For a log whose
    /// [tail](crate::Log::tail) gives `None` while there is nothing, and goes on later.
    pub fn follow_next(&self) -> bool {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.is_none() {
            let (jungle, is_placed, sequence) = {
                let place = self.follower.place();
                (place.jungle.clone(), place.is_placed, place.sequence)
            };
            let Some(jungle) = jungle else { return false };
            let sequence = match is_placed {
                true => Some(sequence),
                false => find_place(&self.follower, &*self.log, &jungle),
            };
            let Some(sequence) = sequence else { return false };
            *tail = Some(self.log.tail(sequence + 1));
        }
        let next = tail.as_mut().and_then(Iterator::next);
        next.is_some_and(|(sequence, bytes)| {
            follow_message(&self.follower, &*self.log, sequence, &bytes).is_ok()
        })
    }

    /// Writes a checkpoint if one is due, and no other server does; what fails is in the
    /// [status](Cluster::status).
    pub fn keep_if_due(&self) {
        let is_due = self.follower.place().is_due();
        if is_due && self.log.depot().is_some() && !self.follower.is_over() {
            self.keeper.keep_one();
        }
    }

    /// The newest message that was followed, and the hash it ends with, if that was seen.
    #[must_use]
    pub fn place(&self) -> (u64, Option<Hash>) {
        let place = self.follower.place();
        (place.sequence, place.hash)
    }

    /// As when it is waited for: all that has come is followed, and nothing more will.
    pub(crate) fn catch_up_by_hand(&self, last: u64) -> Result<(), JoinError> {
        while self.follow_next() {}
        let status = self.status();
        match status.fault {
            Some(fault) => Err(fault.into()),
            None if status.followed >= last => Ok(()),
            None => Err(LogError::NoAnswer { within: Duration::ZERO, last: None }.into()),
        }
    }
}
