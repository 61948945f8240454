//! Requests that are sent again: the same key gets the first answer, and nothing is done twice.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use jungle::Revision;

use crate::problem::{Kind, Problem};

/// Keys that are remembered.
const KEYS_MAX: usize = 10_000;

/// Bytes of a key.
const KEY_BYTES_MAX: usize = 255;

/// The answers to requests with a key, the newest of them.
#[derive(Default)]
pub(crate) struct Once {
    hasher: RandomState,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_key: HashMap<Box<str>, Entry>,
    oldest_first: VecDeque<Box<str>>,
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

impl Once {
    /// The answer that a request with this key had; `None` if it is the first.
    pub(crate) fn begin(&self, key: &str, request: impl Hash) -> Result<Option<Answer>, Problem> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let detail = format_args!("Idempotency-Key has 1 to {KEY_BYTES_MAX} bytes");
            return Err(Problem::bad(detail));
        }
        let hash = self.hasher.hash_one(request);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.by_key.get(key) {
            Some(entry) if entry.hash != hash => {
                let detail = format_args!("the key {key:?} was sent with another request");
                return Err(Problem::new(Kind::OtherRequest, detail));
            }
            Some(Entry { answer: Some(answer), .. }) => return Ok(Some(answer.clone())),
            Some(_) => {
                let detail = format_args!("the request with the key {key:?} is not done yet");
                return Err(Problem::new(Kind::Busy, detail).hint("send it again in a moment"));
            }
            None => {}
        }
        while known.by_key.len() >= KEYS_MAX {
            let Some(oldest) = known.oldest_first.pop_front() else { break };
            known.by_key.remove(&oldest);
        }
        known.by_key.insert(key.into(), Entry { hash, answer: None });
        known.oldest_first.push_back(key.into());
        Ok(None)
    }

    /// Remembers the answer; of a request that failed nothing is remembered.
    pub(crate) fn end(&self, key: &str, answer: Option<Answer>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Some(answer) => {
                if let Some(entry) = known.by_key.get_mut(key) {
                    entry.answer = Some(answer);
                }
            }
            None => {
                known.by_key.remove(key);
                known.oldest_first.retain(|other| **other != *key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_is_remembered_for_the_same_request_only() {
        let once = Once::default();
        assert!(once.begin("a", "request").unwrap().is_none());
        assert_eq!(once.begin("a", "request").err().unwrap().status(), 409);
        let answer = Answer { revision: Revision::new(7), body: Bytes::from_static(b"x") };
        once.end("a", Some(answer));
        assert_eq!(once.begin("a", "request").unwrap().unwrap().body, "x");
        assert_eq!(once.begin("a", "other").err().unwrap().status(), 422);
        assert!(once.begin("b", "request").unwrap().is_none());
        once.end("b", None);
        assert!(once.begin("b", "other").unwrap().is_none());
    }

    #[test]
    fn oldest_key_is_forgotten() {
        let once = Once::default();
        for key in 0..=KEYS_MAX {
            assert!(once.begin(&key.to_string(), "request").unwrap().is_none());
        }
        assert!(once.begin("0", "other").unwrap().is_none());
        assert!(once.begin(&KEYS_MAX.to_string(), "other").is_err());
    }
}
