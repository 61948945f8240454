//! Which words differ in two texts.

use anstyle::Style;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Both texts, in which the words that differ stand out. Nothing where no word is the same: it is
/// another text then. What it is given must be short.
pub(super) fn stand_out(style: Style, left: &str, right: &str) -> Option<(String, String)> {
    let (left, right) = (words(left), words(right));
    let strong = style.invert();
    let mark = |words: &[&str]| match words {
        [] => String::new(),
        words => format!("{style:#}{strong}{}{strong:#}{style}", words.concat()),
    };
    let (mut before, mut after) = (String::new(), String::new());
    let mut is_alike = false;
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        let (left, right) = (&left[op.old_range()], &right[op.new_range()]);
        if op.tag() == DiffTag::Equal {
            is_alike |= left.iter().any(|word| word.starts_with(char::is_alphanumeric));
            before.push_str(&left.concat());
            after.push_str(&right.concat());
        } else {
            before.push_str(&mark(left));
            after.push_str(&mark(right));
        }
    }
    is_alike.then_some((before, after))
}

/// Letters and digits that follow each other, and each other character.
fn words(text: &str) -> Vec<&str> {
    let is_in_word = |c: char| c.is_alphanumeric();
    let mut rest = text;
    std::iter::from_fn(|| {
        let first = rest.chars().next()?;
        let end = match rest.find(|c| !is_in_word(c)) {
            Some(0) => first.len_utf8(),
            Some(end) => end,
            None => rest.len(),
        };
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
    .collect()
}
