//! Numbers: read so that they can be written with the same characters.

use std::fmt::Write;

use jungle_tree::ValueRef;

/// The value of a number: an integer or a float if that is written as `text`, else the text itself
/// as bytes. `text` must be well formed.
pub(crate) fn value(text: &str) -> ValueRef<'_> {
    if let Some(int) = int(text) {
        return ValueRef::Int(int);
    }
    match text.parse() {
        Ok(float) if is_float_text(text, float) => ValueRef::Float(float),
        _ => ValueRef::Bytes(text.as_bytes()),
    }
}

/// The text of a number that is kept as bytes, if these bytes are one.
pub(crate) fn literal(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (is_number(bytes) && matches!(value(text), ValueRef::Bytes(_))).then_some(text)
}

/// Is this how JSON writes a number?
pub(crate) fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    rest = &rest[whole..];
    if let Some(behind) = rest.strip_prefix(b".") {
        let fraction = digits(behind);
        if fraction == 0 {
            return false;
        }
        rest = &behind[fraction..];
    }
    let Some((b'e' | b'E', behind)) = rest.split_first() else {
        return rest.is_empty();
    };
    let behind = match behind.split_first() {
        Some((b'+' | b'-', behind)) => behind,
        _ => behind,
    };
    !behind.is_empty() && digits(behind) == behind.len()
}

/// How a float is written: the shortest text that reads back the same.
pub(crate) fn write_float(float: f64, text: &mut impl Write) {
    // Nothing we write to fails.
    let _ = write!(text, "{float:?}");
}

fn int(text: &str) -> Option<i64> {
    // `-0` is the only integer that does not come out as it went in.
    (text != "-0").then(|| text.parse().ok()).flatten()
}

fn is_float_text(text: &str, float: f64) -> bool {
    let mut rest = Rest(text.as_bytes());
    float.is_finite() && write!(rest, "{float:?}").is_ok() && rest.0.is_empty()
}

/// Accepts what it still expects.
struct Rest<'a>(&'a [u8]);

impl Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.strip_prefix(text.as_bytes()).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_kept_as_what_writes_it_the_same() {
        let check = |text: &str, type_name: &str| {
            assert!(is_number(text.as_bytes()), "{text}");
            assert_eq!(value(text).type_name(), type_name, "{text}");
            assert_eq!(literal(text.as_bytes()).is_some(), type_name == "bytes", "{text}");
        };
        for text in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
            check(text, "int");
        }
        for text in ["1.0", "-0.0", "0.1", "1e16", "1e300", "5e-324", "123456.789"] {
            check(text, "float");
        }
        let kept = "-0 1.50 1e5 1E5 1e+16 1.0e16 9223372036854775808 1e400 0.1000 0e0 -0.0e1 \
                    0.1000000000000000055511151231257827";
        kept.split(' ').for_each(|text| check(text, "bytes"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in "- 01 -01 1. .5 1e 1e+ +1 1.e5 0x1 1e5.0 1-2 1..2 NaN Infinity".split(' ') {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
        assert!(!is_number(b""));
    }
}
