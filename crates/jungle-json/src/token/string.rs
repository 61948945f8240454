//! Strings and their escapes.

use std::io::Read;

use super::Tokens;
use crate::error::{ImportError, Limit, Place, Syntax};

impl<R: Read> Tokens<'_, R> {
    /// Reads a string, of at most `max` bytes, from its first quote to behind its second.
    pub(super) fn string(
        &mut self,
        max: usize,
        limit: fn(usize) -> Limit,
    ) -> Result<(), ImportError> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        self.at += 1;
        loop {
            let rest = &self.buffer[self.at..self.end];
            let plain = plain_bytes(rest);
            bytes.extend_from_slice(&rest[..plain]);
            self.at += plain;
            if bytes.len() > max {
                return self.limit(self.start, limit(max));
            }
            match self.peek()? {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut bytes)?,
                Some(byte) if byte < 0x20 => {
                    return self.wrong(self.place(), Syntax::ControlCharacter(byte));
                }
                // More of it: the buffer was at its end.
                Some(_) => {}
                None => return self.fail("the closing quote", None),
            }
        }
        self.at += 1;
        match String::from_utf8(bytes) {
            Ok(text) => self.text = text,
            Err(_) => return self.wrong(self.start, Syntax::NotUtf8),
        }
        Ok(())
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), ImportError> {
        let place = self.place();
        self.at += 1;
        let byte = match self.peek()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let char = self.unicode(place)?;
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            Some(_) => return self.wrong(place, Syntax::BadEscape),
            None => return self.fail("the rest of the string", None),
        };
        self.at += 1;
        bytes.push(byte);
        Ok(())
    }

    /// The character of an escape that begins at `place`, of both halves of a surrogate pair.
    fn unicode(&mut self, place: Place) -> Result<char, ImportError> {
        let first = self.four_digits(place)?;
        if !(0xd800..0xdc00).contains(&first) {
            // Only the second half of a pair is no character here.
            let lone = || self.wrong(place, Syntax::LoneSurrogate);
            return char::from_u32(first).map_or_else(lone, Ok);
        }
        for expected in [b'\\', b'u'] {
            if self.peek()? != Some(expected) {
                return self.wrong(place, Syntax::LoneSurrogate);
            }
            self.at += usize::from(expected == b'\\');
        }
        let second = self.four_digits(place)?;
        if !(0xdc00..0xe000).contains(&second) {
            return self.wrong(place, Syntax::LoneSurrogate);
        }
        let code = 0x1_0000 + ((first - 0xd800) << 10 | (second - 0xdc00));
        Ok(char::from_u32(code).expect("two halves of a pair make a character"))
    }

    /// The number behind the `u` that comes next.
    fn four_digits(&mut self, place: Place) -> Result<u32, ImportError> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return self.wrong(place, Syntax::BadEscape);
            };
            self.at += 1;
            code = code << 4 | digit;
        }
        Ok(code)
    }
}

/// How many bytes come before the first that needs a look: a quote, a backslash or a control
/// character. Eight at a time: strings are most of most documents.
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let words = bytes.chunks_exact(8);
    let tail = words.remainder();
    for (i, chunk) in words.enumerate() {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight"));
        let quote = is_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = is_zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        // The lowest byte found is right; a borrow can only mark others above it.
        let found = (quote | backslash | control) & (ONES << 7);
        if found != 0 {
            return i * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let in_tail = tail.iter().position(is_special).unwrap_or(tail.len());
    bytes.len() - tail.len() + in_tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is() {
        let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        for special in 0..=255 {
            for at in 0..20 {
                for fill in [b'a', 0x7f, 0x80, 0xff, b'!', b'#', b' '] {
                    let mut bytes = [fill; 20];
                    bytes[at] = special;
                    let expected = bytes.iter().position(is_special).unwrap_or(20);
                    assert_eq!(plain_bytes(&bytes), expected, "{bytes:?}");
                }
            }
        }
    }
}
