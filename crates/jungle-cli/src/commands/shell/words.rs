//! A line as words: with quotes as shells have them.

use std::ops::Range;

/// The words of a line.
pub(crate) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let (words, open) = parse(line);
    if open {
        return Err("a quote is not closed");
    }
    Ok(words.into_iter().map(|(_, word)| word).collect())
}

/// The words of a line that is being written, and where the last one begins; a new one, if the
/// line ends behind a space.
pub(super) fn so_far(line: &str) -> (Vec<String>, usize) {
    let (mut words, open) = parse(line);
    if !open && (words.is_empty() || line.ends_with(char::is_whitespace)) {
        words.push((line.len()..line.len(), String::new()));
    }
    let start = words.last().map_or(0, |(place, _)| place.start);
    (words.into_iter().map(|(_, word)| word).collect(), start)
}

/// Where the words of a line are, with their quotes.
pub(super) fn places(line: &str) -> Vec<Range<usize>> {
    parse(line).0.into_iter().map(|(place, _)| place).collect()
}

/// Words and where they are, and whether the last one has a quote that is not closed.
fn parse(line: &str) -> (Vec<(Range<usize>, String)>, bool) {
    let mut words: Vec<(Range<usize>, String)> = Vec::new();
    let (mut in_word, mut quote) = (false, None);
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        if quote.is_none() && char.is_whitespace() {
            in_word = false;
            continue;
        }
        if !in_word {
            words.push((at..at, String::new()));
            in_word = true;
        }
        let (place, word) = words.last_mut().expect("just begun");
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (Some('\''), char) => word.push(char),
            (_, '\\') => word.extend(chars.next().map(|(_, char)| char)),
            (None, '\'' | '"') => quote = Some(char),
            (_, char) => word.push(char),
        }
        place.end = chars.offset();
    }
    (words, quote.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_quotes_as_in_shells() {
        let check = |line: &str, words: &[&str]| assert_eq!(split(line).unwrap(), words, "{line}");
        check("", &[]);
        check("  get  board /a ", &["get", "board", "/a"]);
        check(r#"put board /a '"x y"'"#, &["put", "board", "/a", r#""x y""#]);
        check(r#"put b "/a b" "\"é\"" '' a\ b"#, &["put", "b", "/a b", "\"é\"", "", "a b"]);
        assert!(split("get 'a").is_err());
        assert_eq!(so_far("get bo"), (vec!["get".into(), "bo".into()], 4));
        assert_eq!(so_far("get "), (vec!["get".into(), String::new()], 4));
        assert_eq!(so_far("get '/a b"), (vec!["get".into(), "/a b".into()], 4));
        assert_eq!(places(r#" get  "é x"'y' a\ b"#), [1..4, 6..15, 16..20]);
    }
}
