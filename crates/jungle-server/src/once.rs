//! Requests that are sent again: the same key gets the first answer, and nothing is done twice.
//!
//! The answers are in memory. What outlasts them is in the history: a commit says which request
//! asked for it, where that can be read by all servers.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jungle::{BranchId, RequestId, Revision};

use crate::problem::{Kind, Problem};

/// Answers that are remembered.
const ANSWERS_MAX: usize = 10_000;

/// Bytes of these.
const ANSWERS_BYTES_MAX: usize = 64 << 20;

/// Bytes of a key.
const KEY_BYTES_MAX: usize = 255;

/// The answers to requests with a key, the newest of them. Each user has keys of their own.
#[derive(Default)]
pub(crate) struct Once {
    hasher: RandomState,
    known: Mutex<Known>,
}

/// Whose key it is, and the key.
type Key = (Option<Arc<str>>, Arc<str>);

#[derive(Default)]
struct Known {
    by_key: HashMap<Key, Entry>,
    /// Those with an answer: a request that is being worked on is not forgotten.
    oldest_first: VecDeque<Key>,
    /// Of the answers.
    bytes: usize,
}

struct Entry {
    /// Of the request: another one must not have its key.
    hash: u64,
    /// None while it is being worked on.
    answer: Option<Answer>,
}

#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) revision: Revision,
    pub(crate) body: Bytes,
}

/// What is to be done with a request that has a key.
pub(crate) enum Turn {
    /// Nothing: this was its answer.
    Done(Answer),
    /// It is the first.
    First(First),
}

/// A request that is the first with its key. When it is dropped without an answer, because it
/// failed or was given up, its key is free again.
pub(crate) struct First {
    once: Arc<Once>,
    key: Key,
}

/// What is known of a request when its answer is not any more: of whose it is, the branches that it
/// is for, and its key; and of what it says. The same on all servers, and after a restart.
pub(crate) fn request(
    (user, branches, key): (Option<&str>, &[BranchId], &str),
    said: &Said,
) -> RequestId {
    let user = user.map_or_else(|| "-".to_owned(), |user| format!("{}:{user}", user.len()));
    let branches: Vec<String> = branches.iter().map(|BranchId(id)| id.to_string()).collect();
    let of = format!("{user} {} {key}", branches.join(","));
    RequestId { key: hash(blake3::Hasher::new().update(of.as_bytes())), fingerprint: hash(&said.0) }
}

fn hash(hasher: &blake3::Hasher) -> u64 {
    u64::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("a hash is longer"))
}

/// What a request says, as far as it has come.
pub(crate) struct Said(blake3::Hasher);

impl Said {
    pub(crate) fn new(expected: Option<Revision>) -> Said {
        let expected = expected.map_or_else(|| "-".to_owned(), |revision| revision.to_string());
        let mut said = Said(blake3::Hasher::new());
        said.hear(format!("{expected} ").as_bytes());
        said
    }

    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Once {
    /// Takes a request with a key of a user's.
    pub(crate) fn begin(
        self: &Arc<Once>,
        user: Option<&str>,
        key: &str,
        request: impl Hash,
    ) -> Result<Turn, Problem> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let detail = format_args!("Idempotency-Key has 1 to {KEY_BYTES_MAX} bytes");
            return Err(Problem::bad(detail));
        }
        let hash = self.hasher.hash_one(request);
        let of: Key = (user.map(Arc::from), key.into());
        let mut known = self.known();
        match known.by_key.get(&of) {
            Some(entry) if entry.hash != hash => {
                let detail = format_args!("the key {key:?} was sent with another request");
                Err(Problem::new(Kind::OtherRequest, detail))
            }
            Some(Entry { answer: Some(answer), .. }) => Ok(Turn::Done(answer.clone())),
            Some(_) => {
                let detail = format_args!("the request with the key {key:?} is not done yet");
                Err(Problem::new(Kind::Busy, detail).hint("send it again in a moment"))
            }
            None => {
                known.by_key.insert(of.clone(), Entry { hash, answer: None });
                Ok(Turn::First(First { once: Arc::clone(self), key: of }))
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl First {
    /// Remembers the answer.
    pub(crate) fn answered(self, answer: &Answer) {
        let mut known = self.once.known();
        let Some(entry) = known.by_key.get_mut(&self.key) else { return };
        entry.answer = Some(answer.clone());
        known.bytes += answer.body.len();
        known.oldest_first.push_back(self.key.clone());
        while known.oldest_first.len() > ANSWERS_MAX || known.bytes > ANSWERS_BYTES_MAX {
            let Some(oldest) = known.oldest_first.pop_front() else { break };
            let forgotten = known.by_key.remove(&oldest).and_then(|entry| entry.answer);
            known.bytes -= forgotten.map_or(0, |answer| answer.body.len());
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        let mut known = self.once.known();
        if known.by_key.get(&self.key).is_some_and(|entry| entry.answer.is_none()) {
            known.by_key.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(once: &Arc<Once>, key: &str, request: &str) -> Result<Turn, u16> {
        once.begin(None, key, request).map_err(|problem| problem.status().as_u16())
    }

    fn first(once: &Arc<Once>, user: Option<&str>, key: &str) -> First {
        match once.begin(user, key, "request") {
            Ok(Turn::First(first)) => first,
            Ok(Turn::Done(_)) => panic!("{key} was answered"),
            Err(problem) => panic!("{key}: {}", problem.detail()),
        }
    }

    fn answer(bytes: usize) -> Answer {
        Answer { revision: Revision::new(7), body: vec![b'x'; bytes].into() }
    }

    #[test]
    fn answer_is_remembered_for_the_same_request_of_the_same_user_only() {
        let once = Arc::new(Once::default());
        let ours = first(&once, None, "a");
        assert_eq!(begin(&once, "a", "request").err(), Some(409));
        ours.answered(&answer(1));
        let again = begin(&once, "a", "request");
        assert!(matches!(again, Ok(Turn::Done(answer)) if answer.body == "x"));
        assert_eq!(begin(&once, "a", "other").err(), Some(422));
        first(&once, Some("ana"), "a").answered(&answer(1));
    }

    #[test]
    fn key_of_a_request_that_is_given_up_is_free() {
        let once = Arc::new(Once::default());
        drop(first(&once, None, "b"));
        assert!(matches!(begin(&once, "b", "other"), Ok(Turn::First(_))));
    }

    #[test]
    fn oldest_answers_are_forgotten_and_none_that_is_still_to_come() {
        let once = Arc::new(Once::default());
        let slow = first(&once, None, "slow");
        for key in 0..=ANSWERS_MAX {
            first(&once, None, &key.to_string()).answered(&answer(1));
        }
        assert!(matches!(begin(&once, "0", "other"), Ok(Turn::First(_))));
        assert_eq!(begin(&once, &ANSWERS_MAX.to_string(), "other").err(), Some(422));
        assert_eq!(begin(&once, "slow", "request").err(), Some(409));
        first(&once, None, "large").answered(&answer(ANSWERS_BYTES_MAX - 1));
        slow.answered(&answer(1));
        assert_eq!(begin(&once, &ANSWERS_MAX.to_string(), "request").err(), None);
        assert!(matches!(begin(&once, "large", "request"), Ok(Turn::Done(_))));
        let known = once.known();
        assert_eq!((known.bytes, known.oldest_first.len()), (ANSWERS_BYTES_MAX, 2));
    }
}
