//! Characters that nobody sees.

use std::fmt::Write;

/// Writes a character of a text that is quoted as in JSON, so that it is seen: as an escape, if it
/// [is hidden](is_hidden).
///
/// ```
/// use jungle_formats::escape_hidden;
/// let mut text = String::new();
/// "a\u{feff}b".chars().for_each(|c| escape_hidden(c, &mut text));
/// assert_eq!(text, r"a\ufeffb");
/// ```
pub fn escape_hidden(c: char, out: &mut String) {
    if is_hidden(c) {
        // A string takes everything.
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// JSON takes these as they are: controls, line ends of Unicode, what changes the direction of
/// what follows, byte order marks, and what is no character.
///
/// ```
/// use jungle_formats::is_hidden;
/// assert!(is_hidden('\u{202e}') && !is_hidden('e'));
/// ```
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffe}'..='\u{ffff}'
    )
}
