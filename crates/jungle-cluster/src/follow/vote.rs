//! Which of several servers is right, where one has another tree than another: what most have.
//!
//! A message has the hashes of what its server changed, as that was before. Whoever follows it and
//! has something else asks all servers what they have. If most have what is here, it was the one
//! that wrote the message which is damaged, and the message is followed; that one is asked as well,
//! so it finds out the same way that most have something else, and stops. Branches that nobody
//! writes to are in no message: each server asks about one of them now and then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use jungle_db::{BranchId, Jungle, Revision, TreeId};
use jungle_tree::loading;
use serde::{Deserialize, Serialize};

use crate::engine::log::Log;
use crate::error::Fault;
use crate::follow::Follower;
use crate::message::Before;

/// So long the others have for one answer.
const ANSWERED_WITHIN: Duration = Duration::from_millis(500);
/// So long where nobody waits: they may have to hash all of a large tree first.
const COMPARED_WITHIN: Duration = Duration::from_secs(2);
/// So often they are asked while it is not known what most have: they may be about to follow what
/// was followed here.
const ROUNDS: usize = 20;
/// Between two of these.
const REST: Duration = Duration::from_millis(100);

/// A branch as of a revision, which two servers have otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Doubt {
    /// Of which log it is.
    log: String,
    tree: u64,
    branch: u64,
    revision: u64,
    /// Who asks, and what it has.
    vote: Vote,
}

/// What a server has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Vote {
    /// What it is known by in its messages.
    server: String,
    /// Of the content, in hexadecimal digits.
    hash: String,
}

/// How many other servers have what is here, and how many something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) alike: usize,
    pub(crate) other: usize,
}

impl Votes {
    /// Have most servers, with this one, what is here?
    pub(crate) fn is_won(self) -> bool {
        self.alike + 1 > self.other
    }

    fn is_tied(self) -> bool {
        self.alike + 1 == self.other
    }
}

/// Does this server, when it has another branch than the one that wrote a message, have what most
/// have?
pub(crate) fn is_won(
    follower: &Follower,
    log: &dyn Log,
    before: &Before,
    (writer, revision): (&str, Revision),
) -> bool {
    let Some(jungle) = follower.jungle() else { return false };
    let key = (before.tree.0, before.branch.0, revision.number());
    let Some(hash) = hash_at(&jungle, key) else { return false };
    let vote = Vote { server: follower.guests.own(), hash };
    let doubt =
        Doubt { log: log.id().to_string(), tree: key.0, branch: key.1, revision: key.2, vote };
    let hash = blake3::Hash::from_bytes(before.hash).to_hex().to_string();
    let said = Vote { server: writer.to_owned(), hash };
    // Who is asked the same meanwhile has asked already.
    let is_new = follower.doubts.begin(key);
    let votes = doubt.ask(follower, log, Some(said), ANSWERED_WITHIN);
    if is_new {
        follower.doubts.end();
    }
    tracing::warn!(writer, ?votes, "a server wrote a message with another tree than is here");
    votes.is_won()
}

/// Holds a branch, as it is here now, against what the other servers have. If most have something
/// else, nothing more is followed here; others find out about themselves as they are asked. Who has
/// not followed as much yet says nothing.
///
/// This is no doubt of its own: whoever is asked by another server meanwhile, or about the same
/// later, as others have come, has to ask for itself.
pub(crate) fn compare(follower: &Follower, log: &dyn Log, (tree, branch): (TreeId, BranchId)) {
    let Some(jungle) = follower.jungle_in_order() else { return };
    let key = (tree.0, branch.0, jungle.revision().number());
    let Some(hash) = hash_at(&jungle, key) else { return };
    drop(jungle);
    let vote = Vote { server: follower.guests.own(), hash };
    let doubt =
        Doubt { log: log.id().to_string(), tree: key.0, branch: key.1, revision: key.2, vote };
    let votes = doubt.ask(follower, log, None, COMPARED_WITHIN);
    if !votes.is_won() {
        // It is noted here.
        let _ = follower.fail(doubt.fault(votes));
    }
}

/// Says what is here to a server that has doubts, or compares. If that is something else, it is
/// found out what most have. Who has stopped says nothing: it may stay for long, and whoever is
/// left alone with it must go on.
pub(crate) fn answer(
    follower: &Arc<Follower>,
    log: &Weak<dyn Log>,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let asked: Doubt = serde_json::from_slice(bytes).ok()?;
    let there = log.upgrade()?;
    let jungle = follower.jungle_in_order().filter(|_| asked.log == there.id().to_string())?;
    let hash = hash_at(&jungle, asked.key())?;
    let vote = Vote { server: follower.guests.own(), hash };
    let said = serde_json::to_vec(&vote).ok();
    if vote.hash != asked.vote.hash && !follower.is_over() && follower.doubts.begin(asked.key()) {
        let (follower, asker) = (Arc::clone(follower), asked.vote.clone());
        let ask = move || {
            let doubt = Doubt { vote, ..asked };
            let votes = doubt.ask(&follower, &*there, Some(asker), ANSWERED_WITHIN);
            if !votes.is_won() {
                // It is noted here.
                let _ = follower.fail(doubt.fault(votes));
            }
            follower.doubts.end();
        };
        // Without a thread it is asked again.
        let thread = thread::Builder::new().name("doubts".to_owned());
        thread.spawn(ask).ok()?;
    }
    said
}

/// About what a server has been asked, so that it asks others once.
#[derive(Default)]
pub(crate) struct Doubts(Mutex<(Option<Key>, bool)>);

/// The tree, the branch and the revision.
type Key = (u64, u64, u64);

impl Doubts {
    fn begin(&self, key: Key) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (newest, is_asking) = *state;
        let is_new = !is_asking && newest != Some(key);
        if is_new {
            *state = (Some(key), true);
        }
        is_new
    }

    fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = false;
    }
}

impl Doubt {
    fn key(&self) -> Key {
        (self.tree, self.branch, self.revision)
    }

    /// Asks all servers, until it is known what most have. One may have said that already.
    fn ask(
        &self,
        follower: &Follower,
        log: &dyn Log,
        said: Option<Vote>,
        within: Duration,
    ) -> Votes {
        let mut votes: BTreeMap<String, String> =
            said.into_iter().map(|vote| (vote.server, vote.hash)).collect();
        for _ in 0..ROUNDS {
            let question = serde_json::to_vec(self).expect("it has texts and numbers");
            // Who cannot be asked now may be in a moment.
            let answers = log.ask(question, within).unwrap_or_else(|_| Some(Vec::new()));
            let Some(answers) = answers else { break };
            let read = answers.iter().filter_map(|bytes| serde_json::from_slice(bytes).ok());
            votes.extend(read.map(|vote: Vote| (vote.server, vote.hash)));
            votes.remove(&self.vote.server);
            if !self.count(&votes).is_tied() || follower.is_over() {
                break;
            }
            follower.rest(REST);
        }
        self.count(&votes)
    }

    fn count(&self, votes: &BTreeMap<String, String>) -> Votes {
        let alike = votes.values().filter(|hash| **hash == self.vote.hash).count();
        Votes { alike, other: votes.len() - alike }
    }

    fn fault(&self, votes: Votes) -> Fault {
        Fault::Disputed {
            tree: TreeId(self.tree),
            branch: BranchId(self.branch),
            revision: Revision::new(self.revision),
            alike: votes.alike,
            other: votes.other,
        }
    }
}

fn hash_at(jungle: &Jungle, (tree, branch, revision): Key) -> Option<String> {
    let branch = jungle.branch_with_id(TreeId(tree), BranchId(branch))?;
    let snapshot = branch.at(Revision::new(revision)).ok()?;
    // What cannot be loaded is not told.
    Some(loading(|| snapshot.root().content_hash()).ok()?.to_string())
}
