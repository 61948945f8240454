//! Bytes as text, as `docs/json.md` writes them.

/// The bytes, if this is base64 with its padding.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
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
    fn base64_is_read_and_what_is_none_refused() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("AA==", b"\0"),
            ("AP8=", b"\0\xff"),
            ("anVu", b"jun"),
            ("+/+/", b"\xfb\xff\xbf"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["A", "A===", "AB==", "AP9=", "A=AA", "====", "AA= ", "_-AA"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
