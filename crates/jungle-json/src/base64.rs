//! Bytes as text (RFC 4648, with padding), as an export writes them.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes behind a text.
///
/// ```
/// let mut text = String::new();
/// jungle_json::base64::encode(b"jun", &mut text);
/// assert_eq!(text, "anVu");
/// ```
pub fn encode(bytes: &[u8], text: &mut String) {
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| chunk.get(i).map_or(0, |&byte| u32::from(byte));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[index]) });
        }
    }
}

/// The bytes, if this is base64 with its padding.
///
/// ```
/// assert_eq!(jungle_json::base64::decode("anVu"), Some(b"jun".to_vec()));
/// ```
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(digits.len() / 4 * 3), 0, 0_u32);
    for byte in digits.bytes() {
        held = held << 6 | digit(byte)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    // What is left over must be nothing.
    (held & ((1 << bits) - 1) == 0).then_some(bytes)
}

fn digit(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_comes_back_and_what_is_none_is_refused() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("AA==", b"\0"),
            ("AP8=", b"\0\xff"),
            ("anVu", b"jun"),
            ("+/+/", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
            let mut written = String::new();
            encode(bytes, &mut written);
            assert_eq!(written, text);
        }
        for text in ["A", "A===", "AB==", "AP9=", "A=AA", "====", "AA= ", "_-AA"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
