//! Where a follower is, and how it gets to the next message.

use std::cmp::Ordering as Order;
use std::collections::VecDeque;
use std::sync::Arc;

use jungle_db::{BranchId, CommitRecord, Event, Jungle, Revision, TreeId};

use super::Follower;
use crate::checkpoint::keeper::Every;
use crate::error::{Fault, MessageError};
use crate::message::{Before, Hash, Message};
use crate::planted::{Bug, is_awake};
use crate::sequencer::next;

/// So many messages before the newest one are remembered: more than come between an election and
/// being told of it, and few enough to be asked for one after the other while commits wait.
const BEFORE_MAX: usize = 32;

/// Where a follower is.
pub(crate) struct Place {
    /// There until the follower ends.
    pub(crate) jungle: Option<Jungle>,
    /// Is it known where in the log that is? Until then nothing is followed, and nothing appended.
    pub(crate) is_placed: bool,
    /// The sequence of the newest message that was followed.
    pub(crate) sequence: u64,
    /// The hash of that message; `None` when it was not seen.
    pub(crate) hash: Option<Hash>,
    /// Some that were followed before it, with their hashes, the oldest first.
    pub(super) before: VecDeque<(u64, Hash)>,
    /// Why nothing more is followed.
    pub(crate) fault: Option<Arc<Fault>>,
    /// The newest message of the newest checkpoint that is known of; 0 without one.
    pub(crate) checkpoint: u64,
    /// Bytes of messages that were followed since.
    pub(super) bytes: u64,
    /// After how much of that the next one is due.
    pub(super) every: Every,
}

impl Place {
    /// The newest revision here.
    pub(crate) fn revision(&self) -> Revision {
        self.jungle.as_ref().map(Jungle::revision).unwrap_or_default()
    }

    /// Those before a message that are remembered, with their hashes, the newest first.
    pub(crate) fn before(&self, sequence: u64) -> Vec<(u64, Hash)> {
        self.before.iter().rev().filter(|(before, _)| *before < sequence).copied().collect()
    }

    /// Follows the message that is due, unless a branch is not what its server had. Then that is
    /// given, and as of which revision; but not of those that are settled.
    pub(super) fn follow(
        &mut self,
        sequence: u64,
        message: &Message<'_>,
        settled: &[Before],
        Follower { rotation, guests, .. }: &Follower,
    ) -> Result<Option<(Before, Revision)>, Fault> {
        let is_linked = self.hash.is_none_or(|hash| hash == message.previous);
        if !is_linked && !is_awake(Bug::LinkIgnored) {
            return Err(Fault::Unlinked { sequence });
        }
        let Some(jungle) = self.jungle.clone() else { return Ok(None) };
        match message.first.cmp(&next(jungle.revision())) {
            Order::Less => {}
            Order::Equal => {
                let mut before = message.before.iter().filter(|before| !settled.contains(before));
                if let Some(before) = before.find(|before| !is_here(&jungle, before)) {
                    return Ok(Some((*before, jungle.revision())));
                }
            }
            Order::Greater => {
                let (server, first) = (message.server().to_owned(), message.first);
                return Err(Fault::Beyond { sequence, server, first, here: jungle.revision() });
            }
        }
        let records = message.records_after(jungle.revision(), jungle.arena());
        self.redo(sequence, message.server(), records)?;
        if !message.is_empty() {
            rotation.followed(message.mark, sequence);
        }
        message.guests.iter().for_each(|guest| rotation.followed(&guest.mark, sequence));
        guests.passed(sequence, message.mark, !message.is_empty(), &message.guests);
        self.pass(sequence, message.hash, message.bytes);
        Ok(None)
    }

    pub(super) fn redo(
        &self,
        sequence: u64,
        server: &str,
        records: impl Iterator<Item = Result<CommitRecord, MessageError>>,
    ) -> Result<(), Fault> {
        let Some(jungle) = &self.jungle else { return Ok(()) };
        for record in records {
            // The message was held against its hash.
            let record = record.map_err(|reason| Fault::NotUnderstood { sequence, reason })?;
            jungle.follow(&record).map_err(|reason| {
                let server = server.to_owned();
                Fault::NotFollowed { sequence, server, reason }
            })?;
        }
        Ok(())
    }

    pub(super) fn pass(&mut self, sequence: u64, hash: Hash, bytes: usize) {
        if let Some(before) = self.hash {
            if self.before.len() >= BEFORE_MAX {
                self.before.pop_front();
            }
            self.before.push_back((self.sequence, before));
        }
        self.sequence = sequence;
        self.hash = Some(hash);
        self.bytes += bytes as u64;
    }

    /// Was so much followed since the newest checkpoint that the next one is due?
    pub(crate) fn is_due(&self) -> bool {
        let messages = self.sequence.saturating_sub(self.checkpoint);
        messages >= self.every.messages.max(1) || messages > 0 && self.bytes >= self.every.bytes
    }
}

/// The branches that records edit, as they are now.
pub(crate) fn branches_before(jungle: &Jungle, records: &[CommitRecord]) -> Vec<Before> {
    let edits = records.iter().flat_map(|record| match &record.event {
        Event::Edited(edits) => edits.as_slice(),
        _ => &[],
    });
    let mut ids: Vec<(TreeId, BranchId)> = edits.map(|edit| (edit.tree, edit.branch)).collect();
    ids.sort_unstable();
    ids.dedup();
    let before = ids.into_iter().filter_map(|(tree, branch)| {
        Some(Before { tree, branch, hash: hash_of_branch(jungle, tree, branch)? })
    });
    before.collect()
}

/// Is a branch the same here as where a message was written that changes it?
fn is_here(jungle: &Jungle, before: &Before) -> bool {
    hash_of_branch(jungle, before.tree, before.branch) == Some(before.hash)
}

fn hash_of_branch(jungle: &Jungle, tree: TreeId, branch: BranchId) -> Option<Hash> {
    let handle = jungle.branch_with_id(tree, branch)?;
    Some(*handle.snapshot().root().content_hash().as_bytes())
}
