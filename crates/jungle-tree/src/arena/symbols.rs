//! Attribute keys, interned: a key is stored once in an arena and named by a number.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// At most this many distinct attribute keys in one arena.
const SYMBOLS_MAX: usize = 1 << 20;
/// An image says how many those have brought in who have so many. It does not of others, so that
/// nearly all images stay what they were before this was counted: with each opening of one these
/// may bring in fewer than so many again.
const SAVED_FROM: u32 = 1 << 10;
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
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    numbers: HashMap<Arc<str>, u32>,
    /// How many of them each owner has brought in.
    brought: BTreeMap<u64, u32>,
}

/// For whom a key is interned that is new, and how many of these there may be.
#[derive(Clone, Copy)]
pub(crate) struct Bringer {
    /// 0 is nobody: such keys are not counted.
    pub(crate) owner: u64,
    pub(crate) keys_max: u32,
}

impl Bringer {
    pub(crate) const NOBODY: Bringer = Bringer { owner: 0, keys_max: u32::MAX };
}

/// Why a new attribute key is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooManyKeys {
    InArena,
    OfOwner { keys: u32, keys_max: u32 },
}

impl fmt::Display for TooManyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooManyKeys::InArena => {
                write!(f, "an arena holds at most {SYMBOLS_MAX} distinct attribute keys")
            }
            TooManyKeys::OfOwner { keys, keys_max } => {
                write!(f, "the tree has brought in {keys} attribute keys, and takes no new one ")?;
                write!(f, "from {keys_max} on; put what comes from users into values, or into ")?;
                write!(f, "keys of nodes")
            }
        }
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
        self.read().numbers.len()
    }

    /// The number of a text, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.read().numbers.get(text).copied()
    }

    /// The number of a text, a new one if need be.
    pub(crate) fn intern(&self, text: &str, by: Bringer) -> Result<u32, TooManyKeys> {
        if let Some(number) = self.find(text) {
            return Ok(number);
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Table { numbers, brought } = &mut *table;
        if let Some(&number) = numbers.get(text) {
            return Ok(number);
        }
        if numbers.len() >= SYMBOLS_MAX {
            return Err(TooManyKeys::InArena);
        }
        if by.owner != 0 {
            let keys = brought.entry(by.owner).or_default();
            if *keys >= by.keys_max {
                return Err(TooManyKeys::OfOwner { keys: *keys, keys_max: by.keys_max });
            }
            *keys += 1;
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

    /// How many an owner has brought in.
    pub(crate) fn brought_by(&self, owner: u64) -> u32 {
        self.read().brought.get(&owner).copied().unwrap_or_default()
    }

    /// What an image says of it: each owner that has brought in many, in order.
    pub(crate) fn brought(&self) -> Vec<(u64, u32)> {
        let table = self.read();
        let many = table.brought.iter().filter(|(_, keys)| **keys >= SAVED_FROM);
        many.map(|(owner, keys)| (*owner, *keys)).collect()
    }

    /// Goes on counting where an image says.
    pub(crate) fn set_brought(&self, brought: &[(u64, u32)]) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.brought = brought.iter().copied().collect();
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}
