//! Which words differ in two texts.

use anstyle::Style;
use similar::utils::diff_unicode_words;
use similar::{Algorithm, ChangeTag};

/// Both texts, in which the words that differ stand out. Nothing where no word is the same: it is
/// another text then. What it is given must be short.
pub(super) fn stand_out(style: Style, left: &str, right: &str) -> Option<(String, String)> {
    let changes = diff_unicode_words(Algorithm::Myers, left, right);
    let is_word = |text: &str| text.chars().any(char::is_alphanumeric);
    if !changes.iter().any(|(tag, text)| *tag == ChangeTag::Equal && is_word(text)) {
        return None;
    }
    let strong = style.invert();
    let (mut before, mut after) = (String::new(), String::new());
    for (tag, text) in changes {
        let marked = || format!("{style:#}{strong}{text}{strong:#}{style}");
        match tag {
            ChangeTag::Equal => {
                before.push_str(text);
                after.push_str(text);
            }
            ChangeTag::Delete => before.push_str(&marked()),
            ChangeTag::Insert => after.push_str(&marked()),
        }
    }
    Some((before, after))
}
