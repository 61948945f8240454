//! Times, as people write them and as they are printed.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};
use jungle_db::Timestamp;

/// `2026-11-22T01:30:00.123456Z`: all of it, so that it names the revision again.
///
/// ```
/// use jungle_db::Timestamp;
/// use jungle_words::time;
/// let moment = Timestamp::from_micros(1_500_000);
/// assert_eq!(time::text(moment), "1970-01-01T00:00:01.500000Z");
/// assert_eq!(time::parse(&time::text(moment)), Some(moment));
/// ```
#[must_use]
pub fn text(time: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(time.as_micros()) {
        Ok(time) => format!("{time:.6}"),
        // A clock was far off, and said so.
        Err(_) => format!("{} µs", time.as_micros()),
    }
}

/// Reads `2026-11-22T01:30:00Z`, `2026-11-22 01:30` in the time zone of the system, `2026-11-22`,
/// or `2 hours ago`.
///
/// ```
/// use jungle_words::time;
/// let parse = |text| time::parse(text).map(|time| time.as_micros());
/// assert_eq!(parse("1970-01-02T00:00:00Z"), Some(86_400_000_000));
/// assert!(parse("2 hours ago") < parse("1 hour ago"));
/// assert_eq!(parse("yesterday"), None);
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    let time = text.parse().ok().or_else(|| local(text)).or_else(|| ago(text))?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

fn local(text: &str) -> Option<jiff::Timestamp> {
    let time: DateTime = text.parse().ok()?;
    Some(time.to_zoned(TimeZone::system()).ok()?.timestamp())
}

fn ago(text: &str) -> Option<jiff::Timestamp> {
    let span: Span = text.parse().ok().filter(|span: &Span| span.is_negative())?;
    Some(Zoned::now().checked_add(span).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_and_other_texts_are_none() {
        let time = Timestamp::from_micros(1_795_311_000_123_456);
        assert_eq!(text(time), "2026-11-22T01:30:00.123456Z");
        assert_eq!(parse(&text(time)), Some(time));
        assert_eq!(text(Timestamp::default()), "1970-01-01T00:00:00.000000Z");
        for text in ["2026-11-22", "2026-11-22 01:30", "2 hours ago", "3d ago"] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in ["", "v1.2", "main", "2 hours", "5.6.1"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
