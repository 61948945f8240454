//! A value as it is stored: with what it is, for which place, of which checkpoint, and a hash.
//!
//! ```text
//! 0   u8    the version of the format: 1
//! 1   u8    0: as it is, 1: LZ4 (a block, without its length)
//! 2   u8    the table; 0 is the ledger
//! 3   u8    0
//! 4   u32   the length of the value
//! 8   u64   the key
//! 16  u64   the checkpoint that put it
//! 24  16    BLAKE3 of the bytes 0 to 24 and all from 40 on, its first 16 bytes
//! 40        the value
//! ```

use super::Table;
use super::error::{PageDamage, PagesError};
use crate::log::frame::{u32_at, u64_at};

/// The version of the format that this program writes; it reads no other yet.
pub(super) const FORMAT: u8 = 1;

/// Bytes of a value at most.
pub const VALUE_BYTES_MAX: usize = 1 << 30;

const HEADER: usize = 40;

const HASHED: usize = 24;

/// LZ4 makes nothing smaller than by this factor.
const LZ4_RATIO_MAX: usize = 255;

/// Bytes of a stored value at most.
pub(crate) const STORED_BYTES_MAX: usize = HEADER + VALUE_BYTES_MAX;

/// Where a value belongs, and when it was put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The table's number and name.
    pub(crate) table: (u8, &'static str),
    pub(crate) key: u64,
    /// The checkpoint that put it.
    pub(crate) number: u64,
}

/// The table and the key that a stored value says it belongs to.
pub(crate) fn said(stored: &[u8]) -> Option<(Table, u64)> {
    let code = *stored.get(2)?;
    let table = Table::ALL.into_iter().find(|table| *table as u8 == code)?;
    Some((table, u64::from_le_bytes(*stored.get(8..)?.first_chunk()?)))
}

/// How many bytes a stored value says that it unpacks to.
pub(crate) fn claimed(stored: &[u8]) -> Option<u64> {
    Some(u64::from(u32::from_le_bytes(*stored.get(4..)?.first_chunk()?)))
}

impl Place {
    pub(crate) fn new(table: Table, key: u64, number: u64) -> Place {
        Place { table: (table as u8, table.name()), key, number }
    }

    pub(crate) fn damaged(self, what: PageDamage) -> PagesError {
        PagesError::Damaged { table: self.table.1, key: self.key, what }
    }

    /// The value as it is stored.
    pub(crate) fn seal(self, value: &[u8]) -> Result<Vec<u8>, PagesError> {
        let Place { table: (code, table), key, number } = self;
        if value.len() > VALUE_BYTES_MAX {
            return Err(PagesError::TooLarge { table, key, bytes: value.len() });
        }
        let mut stored = vec![0; HEADER + lz4_flex::block::get_maximum_output_size(value.len())];
        let compressed = lz4_flex::block::compress_into(value, &mut stored[HEADER..]);
        let compressed = compressed.ok().filter(|len| *len < value.len());
        stored.truncate(HEADER + compressed.unwrap_or(value.len()));
        if compressed.is_none() {
            stored[HEADER..].copy_from_slice(value);
        }
        let header = [FORMAT, u8::from(compressed.is_some()), code, 0];
        stored[..4].copy_from_slice(&header);
        stored[4..8].copy_from_slice(&(value.len() as u32).to_le_bytes());
        stored[8..16].copy_from_slice(&key.to_le_bytes());
        stored[16..24].copy_from_slice(&number.to_le_bytes());
        let hash = hash(&stored);
        stored[HASHED..HEADER].copy_from_slice(&hash);
        Ok(stored)
    }

    /// The value that is stored here, if it is the one that was put.
    pub(crate) fn open(self, stored: &[u8]) -> Result<Vec<u8>, PagesError> {
        let (number, value) = self.open_any(stored)?;
        self.check_number(number)?;
        Ok(value)
    }

    /// As [`Place::open`], into bytes that are as long as the value.
    pub(super) fn open_into(self, stored: &[u8], bytes: &mut [u8]) -> Result<(), PagesError> {
        let (number, value) = self.check(stored)?;
        self.check_number(number)?;
        value.read_into(bytes).ok_or_else(|| self.damaged(PageDamage::Length))
    }

    fn check_number(self, found: u64) -> Result<(), PagesError> {
        match found == self.number {
            true => Ok(()),
            false => Err(self.damaged(PageDamage::Stale { found, expected: self.number })),
        }
    }

    /// The value that is stored here, and by which checkpoint it was put, whichever that is.
    pub(super) fn open_any(self, stored: &[u8]) -> Result<(u64, Vec<u8>), PagesError> {
        let (number, value) = self.check(stored)?;
        let value = value.read().ok_or_else(|| self.damaged(PageDamage::Length))?;
        Ok((number, value))
    }

    /// The checkpoint that put what is stored here, and the value, not read yet.
    fn check(self, stored: &[u8]) -> Result<(u64, Value<'_>), PagesError> {
        if stored.len() < HEADER {
            return Err(self.damaged(PageDamage::Length));
        }
        if stored[HASHED..HEADER] != hash(stored) {
            return Err(self.damaged(PageDamage::Hash));
        }
        let Place { table: (code, table), key, .. } = self;
        if stored[0] != FORMAT {
            return Err(PagesError::UnknownFormat { table, key, found: stored[0] });
        }
        if (stored[2], u64_at(stored, 8)) != (code, key) {
            return Err(self.damaged(PageDamage::Misplaced));
        }
        let (len, bytes) = (u32_at(stored, 4) as usize, &stored[HEADER..]);
        Ok((u64_at(stored, 16), Value { kind: stored[1], len, bytes }))
    }
}

/// A value that has its hash.
struct Value<'s> {
    kind: u8,
    /// What it says its length is.
    len: usize,
    bytes: &'s [u8],
}

impl Value<'_> {
    /// `None` when its length cannot be.
    fn read(&self) -> Option<Vec<u8>> {
        let is_possible = match self.kind {
            0 => self.len == self.bytes.len(),
            _ => self.len <= VALUE_BYTES_MAX && self.len / LZ4_RATIO_MAX <= self.bytes.len(),
        };
        if !is_possible {
            return None;
        }
        let mut value = vec![0; self.len];
        self.read_into(&mut value)?;
        Some(value)
    }

    /// `None` when it has another length.
    fn read_into(&self, value: &mut [u8]) -> Option<()> {
        if value.len() != self.len {
            return None;
        }
        match self.kind {
            0 if self.bytes.len() == self.len => value.copy_from_slice(self.bytes),
            1 => {
                let done = lz4_flex::block::decompress_into(self.bytes, value);
                done.ok().filter(|len| *len == self.len)?;
            }
            _ => return None,
        }
        Some(())
    }
}

fn hash(stored: &[u8]) -> [u8; HEADER - HASHED] {
    let mut hasher = blake3::Hasher::new();
    let hash = hasher.update(&stored[..HASHED]).update(&stored[HEADER..]).finalize();
    *hash.as_bytes().first_chunk().expect("a hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { table: (3, "slabs"), key: 7, number: 5 };

    #[test]
    fn values_come_back_small_large_and_of_any_kind() {
        let noise: Vec<u8> = (0..70_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for value in [&b""[..], b"a", &[0; 70_000], &noise] {
            let stored = PLACE.seal(value).unwrap();
            assert!(stored.len() <= HEADER + value.len());
            assert_eq!(PLACE.open(&stored).unwrap(), value);
            let mut bytes = vec![1; value.len()];
            PLACE.open_into(&stored, &mut bytes).unwrap();
            assert_eq!(bytes, value);
            bytes.push(1);
            let error = PLACE.open_into(&stored, &mut bytes).unwrap_err();
            assert!(matches!(error, PagesError::Damaged { what: PageDamage::Length, .. }));
        }
        assert!(PLACE.seal(&[0; 70_000]).unwrap().len() < 1000);
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let stored = PLACE.seal(b"a value, a value, a value, a value").unwrap();
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = PLACE.open(&damaged).unwrap_err();
            assert!(matches!(error, PagesError::Damaged { what: PageDamage::Hash, .. }), "{error}");
            PLACE.open_into(&damaged, &mut [0; 34]).unwrap_err();
        }
        for len in 0..stored.len() {
            PLACE.open(&stored[..len]).unwrap_err();
        }
    }

    #[test]
    fn another_place_and_another_checkpoint_are_told() {
        let stored = PLACE.seal(b"value").unwrap();
        let damage = |place: Place| match place.open(&stored).unwrap_err() {
            PagesError::Damaged { key, what, .. } => (key, what),
            other => panic!("{other}"),
        };
        assert_eq!(damage(Place { key: 8, ..PLACE }), (8, PageDamage::Misplaced));
        assert_eq!(damage(Place { table: (2, "state"), ..PLACE }), (7, PageDamage::Misplaced));
        let stale = PageDamage::Stale { found: 5, expected: 6 };
        assert_eq!(damage(Place { number: 6, ..PLACE }), (7, stale));
        Place { number: 6, ..PLACE }.open_into(&stored, &mut [0; 5]).unwrap_err();
    }

    #[test]
    fn a_length_that_cannot_be_allocates_nothing() {
        for value in [&[0_u8; 1000][..], b"as it is"] {
            let mut stored = PLACE.seal(value).unwrap();
            stored[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
            let hash = hash(&stored);
            stored[HASHED..HEADER].copy_from_slice(&hash);
            let error = PLACE.open(&stored).unwrap_err();
            let is_told = matches!(error, PagesError::Damaged { what: PageDamage::Length, .. });
            assert!(is_told, "{error}");
        }
    }
}
