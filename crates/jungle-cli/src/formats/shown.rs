//! Names and values for people: on one line, cut to fit, and without characters that a terminal
//! would obey.

use std::fmt::Write;

use jungle_formats::{escape_hidden, is_hidden};
use jungle_json::Member;
use jungle_tree::ValueRef;

use super::items::Inside;
use crate::output::short;

/// A longer name is cut.
const NAME_CHARS_MAX: usize = 60;

/// So much is shown of a value, however long its name is.
const VALUE_CHARS_MIN: usize = 16;

/// More bytes than this are not looked at when they are shown.
const BYTES_SHOWN_MAX: usize = 1024;

/// Something with its name on a line, in about so many characters; what has items is its name.
pub(super) fn line(name: &str, inside: &Inside<'_>, chars_max: usize) -> String {
    let mut line = name_of(name);
    let rest = chars_max.saturating_sub(line.chars().count() + 2).max(VALUE_CHARS_MIN);
    match inside {
        Inside::Value(value) => {
            line.push_str(": ");
            line.push_str(&value_of(*value, rest));
        }
        Inside::Nothing(nothing) => {
            line.push_str(": ");
            line.push_str(nothing);
        }
        Inside::Items(_) => {}
    }
    line
}

/// A name as it is, if it could not be taken for anything else.
fn name_of(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || is_hidden(c) || "\":…".contains(c);
    let is_plain = !name.is_empty() && name.trim() == name && !name.contains(is_odd);
    if is_plain && name.chars().nth(NAME_CHARS_MAX).is_none() {
        return name.to_owned();
    }
    value_of(ValueRef::Text(name), NAME_CHARS_MAX)
}

/// A value as JSON, of which what would be cut off is not written first.
fn value_of(value: ValueRef<'_>, chars_max: usize) -> String {
    let value = match value {
        ValueRef::Text(text) => {
            // One more, so that it is seen that there was more.
            let end = text.char_indices().nth(chars_max + 1).map_or(text.len(), |(end, _)| end);
            ValueRef::Text(&text[..end])
        }
        ValueRef::Bytes(bytes) => {
            ValueRef::Bytes(&bytes[..bytes.len().min(BYTES_SHOWN_MAX.max(chars_max))])
        }
        other => other,
    };
    let text = short(Member::Value(value), chars_max);
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| escape_hidden(c, &mut shown));
    shown
}

/// A character for a terminal, which obeys none of them then.
pub(crate) fn push_shown(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // A string takes everything.
        c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
        c => escape_hidden(c, out),
    }
}
