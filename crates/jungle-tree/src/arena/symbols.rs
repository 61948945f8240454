//! Attribute keys, interned: a key is stored once in an arena and named by a number.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// At most this many distinct attribute keys in one arena.
const SYMBOLS_MAX: usize = 1 << 20;
/// The first chunk holds this many; each later one twice the one before.
const FIRST: usize = 64;
const CHUNKS: usize = 15;

type Chunk = Box<[OnceLock<Arc<str>>]>;

/// A table that only grows: looking a number up takes no lock.
///
/// Keys are a vocabulary (`author`, `time`, …), so they are kept until the arena is dropped, and
/// bounded in number instead.
#[derive(Default)]
pub(crate) struct Symbols {
    chunks: [OnceLock<Chunk>; CHUNKS],
    numbers: RwLock<HashMap<Arc<str>, u32>>,
}

/// There are too many distinct attribute keys in one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyKeys;

impl fmt::Display for TooManyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an arena holds at most {SYMBOLS_MAX} distinct attribute keys")
    }
}

fn place(number: u32) -> (usize, usize) {
    let n = number as usize + FIRST;
    let chunk = (n / FIRST).ilog2() as usize;
    (chunk, n - (FIRST << chunk))
}

impl Symbols {
    /// The text of a number that [`Symbols::intern`] gave; empty for any other number.
    #[inline]
    pub(crate) fn text(&self, number: u32) -> &str {
        let (chunk, at) = place(number);
        let chunk = self.chunks.get(chunk).and_then(OnceLock::get);
        chunk.and_then(|chunk| chunk.get(at)).and_then(OnceLock::get).map_or("", |text| text)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The number of a text, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(text).copied()
    }

    /// The number of a text, a new one if need be.
    pub(crate) fn intern(&self, text: &str) -> Result<u32, TooManyKeys> {
        if let Some(number) = self.find(text) {
            return Ok(number);
        }
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = numbers.get(text) {
            return Ok(number);
        }
        if numbers.len() >= SYMBOLS_MAX {
            return Err(TooManyKeys);
        }
        let number = numbers.len() as u32;
        let text: Arc<str> = text.into();
        let (chunk, at) = place(number);
        let empty = || (0..FIRST << chunk).map(|_| OnceLock::new()).collect();
        let slot = &self.chunks[chunk].get_or_init(empty)[at];
        slot.set(Arc::clone(&text)).expect("numbers are given once, under the lock");
        numbers.insert(text, number);
        Ok(number)
    }
}
