//! How much of a history is kept, as it is written.

use std::time::Duration;

use jungle_db::Retention;

/// A text says nothing of how much is kept.
///
/// ```
/// use jungle_words::keep;
/// let error = keep::parse("a month").unwrap_err();
/// assert_eq!(error.text, "a month");
/// assert!(error.to_string().ends_with("none of `all`, a number from 1, or an age like `30d`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is none of `all`, a number from 1, or an age like `30d`")]
pub struct NoRule {
    /// The text.
    pub text: String,
}

/// Ages in seconds, the longest first.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// What a text says is kept: `all`, a number of revisions from 1, or an age: a whole number of
/// weeks (`4w`), days (`30d`), hours (`12h`), minutes (`30m`) or seconds (`90s`).
///
/// # Errors
/// When it is none of these.
///
/// ```
/// use jungle_db::Retention;
/// use jungle_words::keep;
/// assert_eq!(keep::parse("100")?, Retention::Last(100));
/// assert_eq!(keep::text(keep::parse("3600s")?), "1h");
/// assert!(keep::parse("0").is_err());
/// # Ok::<(), keep::NoRule>(())
/// ```
pub fn parse(text: &str) -> Result<Retention, NoRule> {
    let wrong = || NoRule { text: text.to_owned() };
    if text == "all" {
        return Ok(Retention::All);
    }
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
    let digits = unit.map_or(text, |(unit, _)| text.trim_end_matches(*unit));
    let number: u64 = digits.parse().ok().filter(|&number| number > 0).ok_or_else(wrong)?;
    match unit {
        Some((unit, seconds)) if digits.len() + unit.len_utf8() == text.len() => {
            let age = number.checked_mul(*seconds).ok_or_else(wrong)?;
            Ok(Retention::ByAge(Duration::from_secs(age)))
        }
        Some(_) => Err(wrong()),
        None => usize::try_from(number).map(Retention::Last).map_err(|_| wrong()),
    }
}

/// As [`parse`] takes it, but for fractions of seconds, which are left out.
///
/// ```
/// use std::time::Duration;
/// use jungle_db::Retention;
/// use jungle_words::keep;
/// let told = |seconds| keep::text(Retention::ByAge(Duration::from_secs(seconds)));
/// assert_eq!([told(14 * 86_400), told(90)], ["2w", "90s"]);
/// assert_eq!(keep::text(Retention::All), "all");
/// ```
#[must_use]
pub fn text(retention: Retention) -> String {
    match retention {
        Retention::All => "all".to_owned(),
        Retention::Last(count) => count.to_string(),
        Retention::ByAge(age) => {
            let seconds = age.as_secs();
            let fits = |(_, unit): &&(char, u64)| seconds > 0 && seconds.is_multiple_of(*unit);
            let (unit, length) = UNITS.iter().find(fits).copied().unwrap_or(('s', 1));
            format!("{}{unit}", seconds / length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_was_said() {
        for said in ["all", "1", "100", "90s", "30m", "12h", "6d", "4w", "18446744073709551615s"] {
            assert_eq!(text(parse(said).unwrap()), said);
        }
        assert_eq!(text(parse("3600s").unwrap()), "1h");
        let others = ["", "0", "-1", "0d", "d", "1.5d", "10dd", "all ", "99999999999999999999"];
        for said in others.into_iter().chain(["99999999999999999w", "7x"]) {
            assert!(parse(said).is_err(), "{said}");
        }
    }
}
