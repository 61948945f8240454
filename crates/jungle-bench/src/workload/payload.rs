//! Attributes: one key of 16 bytes, values of 100 or of 16 bytes.

/// The key of every attribute.
pub const KEY: &str = "attribute-key-01";

/// The value of every attribute in tree W.
pub const SHORT_VALUE: &[u8] = b"sixteen-byte-val";

/// The size of each value in tree R.
pub const VALUE_BYTES: usize = 100;

/// A value that tells whose it is (`number`) and which of that node's values it is (`stamp`).
#[inline]
pub fn value_of(number: u64, stamp: u64) -> [u8; VALUE_BYTES] {
    let mut bytes = [0x76; VALUE_BYTES];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&stamp.to_le_bytes());
    bytes
}

/// Whose value it is; `None` when it is no such value.
#[inline]
pub fn number_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Which of that node's values it is; `None` when it is no such value.
#[inline]
pub fn stamp_of(value: &[u8]) -> Option<u64> {
    value.get(8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
