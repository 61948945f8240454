//! The tokens of an expression.

use super::parse::ParseError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A word without quotes: a key, a keyword, a number or a text.
    Word(String),
    Quoted(String),
    /// A comparison.
    Sign(&'static str),
    Open,
    Close,
    End,
}

const SIGNS: [&str; 8] = ["!=", "<=", ">=", "==", "=", "<", ">", "~"];

/// The tokens with the bytes where they begin; the last one is the end.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        let rest = &text[at..];
        let start = at;
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let token = match (char, sign) {
            (_, Some(&sign)) => {
                at += sign.len();
                Token::Sign(if sign == "==" { "=" } else { sign })
            }
            ('(', _) => {
                at += 1;
                Token::Open
            }
            (')', _) => {
                at += 1;
                Token::Close
            }
            ('"' | '\'', _) => {
                let (quoted, length) = quoted(rest, char)
                    .ok_or(ParseError::new(start, "this quote is never closed"))?;
                at += length;
                Token::Quoted(quoted)
            }
            (space, _) if space.is_whitespace() => {
                at += space.len_utf8();
                continue;
            }
            _ => {
                let ends = |char: char| char.is_whitespace() || "()\"'!=<>~".contains(char);
                let length = rest.find(ends).unwrap_or(rest.len());
                if length == 0 {
                    return Err(ParseError::new(start, "`!` must be followed by `=`"));
                }
                at += length;
                Token::Word(rest[..length].to_owned())
            }
        };
        tokens.push((start, token));
    }
    tokens.push((text.len(), Token::End));
    Ok(tokens)
}

/// What is between quotes, and the bytes with them; a backslash takes the next character as it is.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => content.push(chars.next()?.1),
            char if char == quote => return Some((content, at + 1)),
            char => content.push(char),
        }
    }
    None
}
