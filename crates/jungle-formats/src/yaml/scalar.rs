//! What a scalar without quotes stands for: the core schema of YAML 1.2.

/// What it is, and how it is written as JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Null,
    Bool(bool),
    Int(String),
    Float(String),
    Text,
}

/// What a scalar without quotes stands for, or why that is not told.
pub(super) fn plain(text: &str) -> Result<Plain, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Plain::Null,
        "true" | "True" | "TRUE" => Plain::Bool(true),
        "false" | "False" | "FALSE" => Plain::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Err(not_json(text)),
        _ if is_infinity(text) => return Err(not_json(text)),
        _ => {
            let based = based(text, "0x", 16).or_else(|| based(text, "0o", 8));
            match based.or_else(|| decimal(text)) {
                Some(number) => number?,
                None => Plain::Text,
            }
        }
    })
}

fn is_infinity(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(text, ".inf" | ".Inf" | ".INF")
}

fn not_json(text: &str) -> String {
    format!("JSON has no {text}; as text it is in quotes")
}

/// A whole number to another base.
fn based(text: &str, prefix: &str, base: u32) -> Option<Result<Plain, String>> {
    let digits = text.strip_prefix(prefix)?;
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let number = u64::from_str_radix(digits, base);
    Some(match number {
        Ok(number) => Ok(Plain::Int(number.to_string())),
        Err(_) => Err(format!("{prefix}… has more than 64 bits; decimal numbers may have more")),
    })
}

/// A decimal number, with a fraction and an exponent or without.
fn decimal(text: &str) -> Option<Result<Plain, String>> {
    let (minus, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, rest) = split_digits(rest);
    let (point, fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, rest) = split_digits(rest);
            (true, fraction, rest)
        }
        None => (false, "", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (digits, end) = split_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        if digits.is_empty() || !end.is_empty() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Some(Err(
            "a number that begins with 0 is decimal for some and octal for others: without it, \
             with 0o, or in quotes it is not"
                .into(),
        ));
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    if !point && rest.is_empty() {
        return Some(Ok(Plain::Int(format!("{minus}{whole}"))));
    }
    let fraction = match (point, fraction) {
        (false, _) => String::new(),
        (true, "") => ".0".into(),
        (true, digits) => format!(".{digits}"),
    };
    Some(Ok(Plain::Float(format!("{minus}{whole}{fraction}{rest}"))))
}

/// The digits in front, and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Plain) {
        assert_eq!(plain(text), Ok(expected), "{text:?}");
    }

    #[test]
    fn numbers_come_as_json_writes_them() {
        for (text, number) in [("0", "0"), ("-0", "-0"), ("+12", "12"), ("0x1F", "31")] {
            check(text, Plain::Int(number.into()));
        }
        for (text, number) in [
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("5.", "5.0"),
            ("+1.E-2", "1.0E-2"),
            ("1e3", "1e3"),
        ] {
            check(text, Plain::Float(number.into()));
        }
        check("0o17", Plain::Int("15".into()));
        check("0xffffffffffffffff", Plain::Int(u64::MAX.to_string()));
    }

    #[test]
    fn what_only_looks_like_something_is_text() {
        for text in [
            "yes",
            "No",
            "on",
            "nULL",
            "tRUE",
            "1_000",
            "12:30",
            "2001-12-14",
            "0b1",
            "0x",
            "0xg",
            "0o8",
            ".",
            "-",
            "+",
            "e3",
            "1e",
            "1e+",
            "1.2.3",
            "-.inf.",
            "inf",
            "+-1",
            "- 1",
            "１",
        ] {
            check(text, Plain::Text);
        }
    }

    #[test]
    fn what_json_has_no_form_for_is_refused() {
        for text in [".inf", "-.INF", "+.Inf", ".nan", "007", "-01", "00.5", "01e3"] {
            assert!(plain(text).is_err(), "{text:?}");
        }
        assert!(plain("0x10000000000000000").is_err());
    }
}
