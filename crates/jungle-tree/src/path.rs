//! Paths, and how keys and paths are written and read as text.

use std::borrow::Borrow;
use std::fmt::{self, Write};
use std::ops::Deref;
use std::str::{CharIndices, FromStr};

use crate::key::{self, Key, KeyError, KeyRef};

/// The longest text that is read as a path or a key, in bytes. Longer paths can be made and
/// written, but not read back.
pub const PATH_TEXT_BYTES_MAX: usize = 1 << 20;

/// The way from the root to a node: a list of keys. The root's is empty.
///
/// It can be used as the slice of its keys, with `len`, `iter`, `starts_with` and so on. Paths
/// are ordered key by key, so a node comes before its children and they in their order.
///
/// ```
/// use jungle_tree::{Key, Path};
///
/// let path: Path = "/features/3/name".parse()?;
/// assert_eq!(path, Path::root().join("features").join(3).join("name"));
/// assert_eq!(path.depth(), 3);
/// assert!(path.starts_with(&[Key::from("features")]));
/// assert_eq!(Path::from([0, 3, 1]).to_string(), "/0/3/1");
/// # Ok::<(), jungle_tree::ParsePathError>(())
/// ```
///
/// # Text
///
/// A slash, then the keys with slashes between them; the root is `/`. A key is
///
/// - a whole position: digits, perhaps after a minus: `3`, `-1`;
/// - a position with a fraction: a point and pairs of lower-case hexadecimal digits follow:
///   `3.80`;
/// - a name in quotes, with the escapes of JSON: `"with / slash\n"`;
/// - any other name as it is. It must be quoted if it is empty, if it would read as a position,
///   if it starts or ends with white space, or if it contains a slash, a quote, a backslash or a
///   control character.
///
/// ```
/// use jungle_tree::Path;
///
/// let path = Path::root().join("3").join("a/b").join("été\t");
/// assert_eq!(path.to_string(), r#"/"3"/"a/b"/"été\t""#);
/// assert_eq!(path.to_string().parse(), Ok(path));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Key>);

/// Why a text is no path or no key, and where.
///
/// ```
/// use jungle_tree::{ParsePathReason, Path};
///
/// let error = "/posts//3".parse::<Path>().unwrap_err();
/// assert_eq!((error.offset, error.reason), (7, ParsePathReason::EmptyKey));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParsePathError {
    /// Where in the text, in bytes.
    pub offset: usize,
    /// What is wrong there.
    pub reason: ParsePathReason,
}

/// What is wrong with the text of a path or a key.
///
/// ```
/// use jungle_tree::{ParsePathReason, Path};
///
/// let reason = |text: &str| text.parse::<Path>().unwrap_err().reason;
/// assert_eq!(reason("posts"), ParsePathReason::NoSlash);
/// assert_eq!(reason(r#"/a"b"#), ParsePathReason::MustBeQuoted { found: '"' });
/// assert_eq!(reason(r#"/"a"#), ParsePathReason::OpenQuote);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsePathReason {
    /// The text has more than [`PATH_TEXT_BYTES_MAX`] bytes.
    TooLong,
    /// A path starts with a slash.
    NoSlash,
    /// Between two slashes or after the last one is nothing; the empty name is written `""`.
    EmptyKey,
    /// A name with this character must be in quotes.
    MustBeQuoted {
        /// The character.
        found: char,
    },
    /// Between quotes, this control character must be written as an escape.
    MustBeEscaped {
        /// The character.
        found: char,
    },
    /// The backslash starts no escape of JSON, or half a surrogate pair.
    BadEscape,
    /// The quote is never closed.
    OpenQuote,
    /// Something other than a slash follows the closing quote.
    AfterQuote,
    /// The key is well written but beyond the limits.
    Key(KeyError),
}

impl Path {
    /// The path of the root: no keys.
    #[must_use]
    pub const fn root() -> Path {
        Path(Vec::new())
    }

    /// The path of the child `key`.
    ///
    /// ```
    /// use jungle_tree::Path;
    ///
    /// let path = Path::root().join("posts").join(3);
    /// assert_eq!(path.to_string(), "/posts/3");
    /// ```
    #[must_use]
    pub fn join(&self, key: impl Into<Key>) -> Path {
        let mut keys = Vec::with_capacity(self.0.len() + 1);
        keys.extend_from_slice(&self.0);
        keys.push(key.into());
        Path(keys)
    }

    /// The path of the parent; the root has none.
    ///
    /// ```
    /// use jungle_tree::Path;
    ///
    /// assert_eq!(Path::from([0, 3]).parent(), Some(Path::from([0])));
    /// assert_eq!(Path::root().parent(), None);
    /// ```
    #[must_use]
    pub fn parent(&self) -> Option<Path> {
        self.0.split_last().map(|(_, keys)| Path::from(keys))
    }

    /// Goes down to the child `key`.
    ///
    /// ```
    /// use jungle_tree::Path;
    ///
    /// let mut path = Path::root();
    /// path.push("posts");
    /// path.push(3);
    /// assert_eq!(path.pop(), Some(3.into()));
    /// assert_eq!(path, Path::from(["posts"]));
    /// ```
    pub fn push(&mut self, key: impl Into<Key>) {
        self.0.push(key.into());
    }

    /// Goes up to the parent and tells from which child; the root has no parent.
    pub fn pop(&mut self) -> Option<Key> {
        self.0.pop()
    }

    /// How many steps the node is below the root.
    ///
    /// ```
    /// use jungle_tree::Path;
    ///
    /// assert_eq!(Path::root().depth(), 0);
    /// assert_eq!(Path::from(["posts", "title"]).depth(), 2);
    /// ```
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }
}

impl Deref for Path {
    type Target = [Key];

    fn deref(&self) -> &[Key] {
        &self.0
    }
}

impl AsRef<[Key]> for Path {
    fn as_ref(&self) -> &[Key] {
        self
    }
}

impl Borrow<[Key]> for Path {
    fn borrow(&self) -> &[Key] {
        self
    }
}

impl From<Vec<Key>> for Path {
    fn from(keys: Vec<Key>) -> Path {
        Path(keys)
    }
}

impl From<&[Key]> for Path {
    fn from(keys: &[Key]) -> Path {
        Path(keys.to_vec())
    }
}

/// Panics if an integer is beyond the limits, see [`Key::position`].
impl<K: Into<Key>, const N: usize> From<[K; N]> for Path {
    fn from(keys: [K; N]) -> Path {
        keys.into_iter().collect()
    }
}

/// Panics if an integer is beyond the limits, see [`Key::position`].
impl<K: Into<Key>> FromIterator<K> for Path {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Path {
        Path(keys.into_iter().map(Into::into).collect())
    }
}

impl IntoIterator for Path {
    type Item = Key;
    type IntoIter = std::vec::IntoIter<Key>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Path {
    type Item = &'a Key;
    type IntoIter = std::slice::Iter<'a, Key>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_char('/');
        }
        self.0.iter().try_for_each(|key| write!(f, "/{key}"))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As a segment of a [`Path`].
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// As a segment of a [`Path`].
impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            KeyRef::Position(index, []) => write!(f, "{index}"),
            KeyRef::Position(index, digits) => {
                write!(f, "{index}.")?;
                digits.iter().try_for_each(|digit| write!(f, "{digit:02x}"))
            }
            KeyRef::Name(name) if is_bare_name(name) => f.write_str(name),
            KeyRef::Name(name) => write_quoted(f, name),
        }
    }
}

impl FromStr for Path {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Path, ParsePathError> {
        check_length(text)?;
        if !text.starts_with('/') {
            return Err(error(0, ParsePathReason::NoSlash));
        }
        let mut path = Path::root();
        let mut slash = if text == "/" { text.len() } else { 0 };
        while slash < text.len() {
            let (key, end) = read_key(text, slash + 1)?;
            path.0.push(key);
            slash = end;
        }
        Ok(path)
    }
}

/// Reads a segment of a [`Path`].
impl FromStr for Key {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Key, ParsePathError> {
        check_length(text)?;
        let (key, end) = read_key(text, 0)?;
        if end < text.len() {
            return Err(error(end, ParsePathReason::MustBeQuoted { found: '/' }));
        }
        Ok(key)
    }
}

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path, byte {}: {}", self.offset, self.reason)
    }
}

impl fmt::Display for ParsePathReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParsePathReason::TooLong => {
                write!(f, "text is longer than {PATH_TEXT_BYTES_MAX} bytes")
            }
            ParsePathReason::NoSlash => write!(f, "a path starts with a slash"),
            ParsePathReason::EmptyKey => {
                write!(f, r#"no key after the slash; the empty name is written """#)
            }
            ParsePathReason::MustBeQuoted { found } => {
                write!(f, "a name with {found:?} here must be in quotes")
            }
            ParsePathReason::MustBeEscaped { found } => {
                write!(f, "control character {found:?} must be written as an escape")
            }
            ParsePathReason::BadEscape => write!(f, "not an escape of JSON"),
            ParsePathReason::OpenQuote => write!(f, "the quote is never closed"),
            ParsePathReason::AfterQuote => write!(f, "a slash must follow the closing quote"),
            ParsePathReason::Key(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ParsePathError {}

/// Writes `text` between quotes, with the escapes of JSON where they are needed.
pub(crate) fn write_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            // Control characters end at U+009F, so four digits are enough.
            _ if char.is_control() => write!(out, "\\u{:04x}", u32::from(char))?,
            _ => out.write_char(char)?,
        }
    }
    out.write_char('"')
}

fn is_bare_name(name: &str) -> bool {
    !name.is_empty() && bare_name_fault(name).is_none() && split_position(name).is_none()
}

/// The first character that a name without quotes must not have where it stands.
fn bare_name_fault(name: &str) -> Option<(usize, char)> {
    name.char_indices().find(|&(at, char)| {
        let at_an_end = at == 0 || at + char.len_utf8() == name.len();
        matches!(char, '/' | '"' | '\\') || char.is_control() || (at_an_end && char.is_whitespace())
    })
}

/// The integer and the digits of the fraction, if this is written as a position.
fn split_position(text: &str) -> Option<(&str, &str)> {
    let (integer, fraction) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = integer.strip_prefix('-').unwrap_or(integer);
    let is_position = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && fraction.len().is_multiple_of(2)
        && fraction.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_position.then_some((integer, fraction))
}

fn check_length(text: &str) -> Result<(), ParsePathError> {
    if text.len() > PATH_TEXT_BYTES_MAX {
        return Err(error(PATH_TEXT_BYTES_MAX, ParsePathReason::TooLong));
    }
    Ok(())
}

/// Reads the key that starts at byte `start` and tells where it ends: at a slash or the end of
/// the text.
fn read_key(text: &str, start: usize) -> Result<(Key, usize), ParsePathError> {
    let rest = &text[start..];
    let (key, end) = if rest.starts_with('"') {
        let (name, end) = read_quoted(text, start)?;
        if !matches!(text.as_bytes().get(end), None | Some(b'/')) {
            return Err(error(end, ParsePathReason::AfterQuote));
        }
        (Key::from(name), end)
    } else {
        let bare = rest.split_once('/').map_or(rest, |(bare, _)| bare);
        (read_bare(bare, start)?, start + bare.len())
    };
    key.check().map_err(|reason| error(start, ParsePathReason::Key(reason)))?;
    Ok((key, end))
}

fn read_bare(bare: &str, start: usize) -> Result<Key, ParsePathError> {
    if bare.is_empty() {
        return Err(error(start, ParsePathReason::EmptyKey));
    }
    if let Some((integer, digits)) = split_position(bare) {
        let position = key::position(read_integer(integer), &read_hexadecimal(digits));
        let position = position.map_err(|reason| error(start, ParsePathReason::Key(reason)))?;
        return Ok(Key::Position(position));
    }
    match bare_name_fault(bare) {
        Some((at, found)) => Err(error(start + at, ParsePathReason::MustBeQuoted { found })),
        None => Ok(Key::from(bare)),
    }
}

/// What does not fit is far beyond the limit of positions, and so is the nearest that fits.
fn read_integer(integer: &str) -> i64 {
    let nearest = if integer.starts_with('-') { i64::MIN } else { i64::MAX };
    integer.parse().unwrap_or(nearest)
}

fn read_hexadecimal(digits: &str) -> Vec<u8> {
    let value = |digit: u8| {
        if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 }
    };
    digits.as_bytes().chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

/// Reads the name whose opening quote is at byte `quote` and tells where it ends, behind the
/// closing one.
fn read_quoted(text: &str, quote: usize) -> Result<(String, usize), ParsePathError> {
    let start = quote + 1;
    let mut name = String::new();
    let mut chars = text[start..].char_indices();
    while let Some((at, char)) = chars.next() {
        let at = start + at;
        match char {
            '"' => return Ok((name, at + 1)),
            '\\' => match read_escape(&mut chars) {
                Some(char) => name.push(char),
                None => return Err(error(at, ParsePathReason::BadEscape)),
            },
            found if found.is_control() => {
                return Err(error(at, ParsePathReason::MustBeEscaped { found }));
            }
            _ => name.push(char),
        }
    }
    Err(error(quote, ParsePathReason::OpenQuote))
}

/// What stands behind a backslash.
fn read_escape(chars: &mut CharIndices<'_>) -> Option<char> {
    match chars.next()?.1 {
        char @ ('"' | '\\' | '/') => Some(char),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => read_unicode(chars),
        _ => None,
    }
}

/// What stands behind `\u`: a character, or both halves of a surrogate pair.
fn read_unicode(chars: &mut CharIndices<'_>) -> Option<char> {
    let first = read_four_digits(chars)?;
    let Some(high) = first.checked_sub(0xd800).filter(|&high| high < 0x400) else {
        return char::from_u32(first);
    };
    if chars.next()?.1 != '\\' || chars.next()?.1 != 'u' {
        return None;
    }
    let low = read_four_digits(chars)?.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
    char::from_u32(0x1_0000 + (high << 10 | low))
}

fn read_four_digits(chars: &mut CharIndices<'_>) -> Option<u32> {
    (0..4).try_fold(0, |sum, _| Some(sum << 4 | chars.next()?.1.to_digit(16)?))
}

fn error(offset: usize, reason: ParsePathReason) -> ParsePathError {
    ParsePathError { offset, reason }
}

#[cfg(test)]
mod tests;
