//! Errors in words.

use std::error::Error;

/// What an error says, and what caused it, in one line.
///
/// ```
/// use jungle_words::with_causes;
/// #[derive(Debug, thiserror::Error)]
/// #[error("it cannot be read")]
/// struct Unreadable(#[source] std::num::ParseIntError);
/// let error = Unreadable("x".parse::<u8>().unwrap_err());
/// assert_eq!(with_causes(&error), "it cannot be read: invalid digit found in string");
/// ```
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // Some say themselves what caused them.
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        source = cause.source();
    }
    message
}
