//! Rust source with comments and the contents of literals blanked, so that rules see code only.

/// The source with every character of a comment, string or character literal made a space. Line
/// feeds stay, so lines keep their numbers.
pub fn mask(source: &str) -> String {
    let characters: Vec<char> = source.chars().collect();
    let mut masked = String::with_capacity(source.len());
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        let after_word = at > 0 && is_word(characters[at - 1]);
        let length = match hidden_length(rest, after_word) {
            0 => {
                masked.push(rest[0]);
                at += 1;
                continue;
            }
            length => length.min(rest.len()),
        };
        masked.extend(rest[..length].iter().map(|&it| if it == '\n' { '\n' } else { ' ' }));
        at += length;
    }
    masked
}

/// Whether a character belongs to an identifier or number.
pub fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// How many characters from here on are a comment or literal; 0 if this is code.
fn hidden_length(rest: &[char], after_word: bool) -> usize {
    match (rest[0], rest.get(1)) {
        ('/', Some('/')) => rest.iter().position(|&it| it == '\n').unwrap_or(rest.len()),
        ('/', Some('*')) => block_comment_length(rest),
        ('"', _) => quoted_length(rest, '"'),
        ('\'', Some('\\')) => quoted_length(rest, '\''),
        ('\'', Some(_)) if rest.get(2) == Some(&'\'') => 3,
        ('r', Some('"' | '#')) if !after_word => raw_length(rest),
        ('b' | 'c', Some('r')) if !after_word => match raw_length(&rest[1..]) {
            0 => 0,
            length => length + 1,
        },
        _ => 0,
    }
}

fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at + 1 < rest.len() {
        match (rest[at], rest[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            found if found == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string from its `r` on; 0 if it is a raw identifier or nothing of the kind.
fn raw_length(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&it| it == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    let body = &rest[2 + hashes..];
    let length = body.windows(end.len()).position(|window| window == end);
    length.map_or(rest.len(), |length| 2 + hashes + length + end.len())
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let masked = mask(source);
        assert_eq!(masked.split_whitespace().collect::<Vec<_>>().join(" "), expected);
        assert_eq!(masked.lines().count(), source.lines().count());
    }

    #[test]
    fn only_code_is_left() {
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("f(\"a \\\" b\", c)", "f( , c)");
        check("f(r#\"a \" b\"#, br\"c\", r#d)", "f( , , r#d)");
        check("f('\\'', '{', 'a) -> &'a str", "f( , , 'a) -> &'a str");
        check("bar\"x\"", "bar");
    }
}
