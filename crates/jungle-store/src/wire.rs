//! The smallest parts of the format: whole numbers, lengths, text.
//!
//! A *varint* is 1 to 10 bytes of 7 bits each, the lowest first; all but the last have the top bit
//! set. A signed number is *zigzagged* first (0, -1, 1, -2 … become 0, 1, 2, 3 …).

use std::str;

use crate::record::{DecodeError, DecodeReason};

pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Bytes that are being read. Whatever is declared is held against what is there.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes, len: bytes.len() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many bytes have been read.
    pub(crate) fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    pub(crate) fn error(&self, reason: DecodeReason) -> DecodeError {
        DecodeError { offset: self.offset(), reason }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&byte, rest) =
            self.rest.split_first().ok_or_else(|| self.error(DecodeReason::TooShort))?;
        self.rest = rest;
        Ok(byte)
    }

    pub(crate) fn take(&mut self, len: u64) -> Result<&'a [u8], DecodeError> {
        let taken = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let (taken, rest) = taken.ok_or_else(|| self.error(DecodeReason::TooShort))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.error(DecodeReason::NumberTooLarge));
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error(DecodeReason::NumberTooLarge))
    }

    /// Eight bytes, the lowest first.
    pub(crate) fn fixed(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?.try_into().expect("eight were asked for");
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, DecodeError> {
        Ok(unzigzag(self.varint()?))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.varint()?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes()?;
        self.as_text(bytes)
    }

    pub(crate) fn as_text(&self, bytes: &'a [u8]) -> Result<&'a str, DecodeError> {
        str::from_utf8(bytes).map_err(|_| self.error(DecodeReason::NotText))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let signed = [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN];
        for number in signed {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            let mut input = Input::new(&bytes);
            assert_eq!(input.varint().unwrap(), number);
            assert!(input.is_empty());
        }
    }

    #[test]
    fn numbers_too_large_or_cut_short_are_refused() {
        let reason = |bytes: &[u8]| Input::new(bytes).varint().unwrap_err().reason;
        assert_eq!(reason(&[0xff; 9]), DecodeReason::TooShort);
        assert_eq!(reason(&[0xff; 11]), DecodeReason::NumberTooLarge);
        let mut two_to_the_64 = [0x80; 10];
        two_to_the_64[9] = 2;
        assert_eq!(reason(&two_to_the_64), DecodeReason::NumberTooLarge);
        assert!(Input::new(&[0xff, 0xff, 0xff, 0x7f, 1]).bytes().is_err());
    }
}
