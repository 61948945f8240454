//! The parameters of a request: text, each of them once, and no others than an address has.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;

use axum::http::Uri;
use jungle::Path;
use percent_encoding::percent_decode_str;

use crate::limits::{
    AUTHOR_BYTES_MAX, MESSAGE_BYTES_MAX, PAGE, PAGE_MAX, PATH_BYTES_MAX, PATH_KEYS_MAX,
};
use crate::problem::Problem;

/// The longest parameter that is no path, in bytes.
const TEXT_BYTES_MAX: usize = 4096;

/// The parameters of a query or a form.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Those of a request's address.
    pub(crate) fn of(uri: &Uri, known: &[&str]) -> Result<Query, Problem> {
        Query::parse(uri.query().unwrap_or_default(), known)
    }

    /// Reads `a=1&b=2`.
    pub(crate) fn parse(text: &str, known: &[&str]) -> Result<Query, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !known.contains(&&*name) {
                let known = known.join(", ");
                return Err(Problem::bad(format_args!("there is no parameter {name:?} here"))
                    .hint(format_args!("there are: {known}")));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::bad(format_args!("{name} is given twice")));
            }
            pairs.push((name, value));
        }
        Ok(Query(pairs))
    }

    /// A parameter as it is, whatever its length.
    pub(crate) fn long_text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        let text = self.long_text(name);
        if let Some(text) = text {
            limit(name, text, TEXT_BYTES_MAX)?;
        }
        Ok(text)
    }

    pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Problem> {
        let parse = |text: &str| {
            text.parse().map_err(|error| Problem::bad(format_args!("{name}={text}: {error}")))
        };
        self.text(name)?.map(parse).transpose()
    }

    /// Which of a few words it is; the first when it is not given.
    pub(crate) fn one_of(&self, name: &str, words: &[&'static str]) -> Result<usize, Problem> {
        let Some(text) = self.text(name)? else {
            return Ok(0);
        };
        words.iter().position(|word| *word == text).ok_or_else(|| {
            Problem::bad(format_args!("{name} is {text:?}")).hint(words.join(" or "))
        })
    }

    /// The node that is asked for.
    pub(crate) fn path(&self) -> Result<Path, Problem> {
        self.long_text("path").map_or_else(|| Ok(Path::root()), path)
    }

    /// How many things a page has at most.
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        match self.parsed("limit")? {
            None => Ok(PAGE),
            Some(limit @ 1..=PAGE_MAX) => Ok(limit),
            Some(_) => Err(Problem::bad(format_args!("limit is from 1 to {PAGE_MAX}"))),
        }
    }
}

/// A path that a client wrote.
pub(crate) fn path(text: &str) -> Result<Path, Problem> {
    limit("path", text, PATH_BYTES_MAX)?;
    limit_keys(text.parse().map_err(|error| Problem::from(error).within("path"))?)
}

/// A path that comes to be by what a client wrote: it must be one that can be asked for.
pub(crate) fn reachable(path: Path) -> Result<Path, Problem> {
    let path = limit_keys(path)?;
    limit_bytes("path", text_bytes(&path), PATH_BYTES_MAX)?;
    Ok(path)
}

/// How long a path is as text.
pub(crate) fn text_bytes(path: &Path) -> usize {
    struct Counter(usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting never fails.
    let _ = write!(counter, "{path}");
    counter.0
}

fn limit_keys(path: Path) -> Result<Path, Problem> {
    match path.depth() {
        ..=PATH_KEYS_MAX => Ok(path),
        keys => Err(Problem::bad(format_args!("a path of {keys} keys; {PATH_KEYS_MAX} at most"))),
    }
}

/// Who commits, and why.
pub(crate) fn meta(
    author: Option<&str>,
    message: Option<&str>,
) -> Result<jungle::CommitMeta, Problem> {
    let mut meta = jungle::CommitMeta::new();
    if let Some(author) = author {
        limit("author", author, AUTHOR_BYTES_MAX)?;
        meta = meta.author(author);
    }
    if let Some(message) = message {
        limit("message", message, MESSAGE_BYTES_MAX)?;
        meta = meta.message(message);
    }
    Ok(meta)
}

/// A name for a tree, branch or tag. Browsers take dots out of addresses, so these two could never
/// be asked for.
pub(crate) fn name(text: &str) -> Result<&str, Problem> {
    match text {
        "." | ".." => Err(Problem::bad("a name that is dots alone cannot be in an address")),
        text => Ok(text),
    }
}

pub(crate) fn limit(name: &str, text: &str, bytes_max: usize) -> Result<(), Problem> {
    limit_bytes(name, text.len(), bytes_max)
}

pub(crate) fn limit_bytes(name: &str, bytes: usize, bytes_max: usize) -> Result<(), Problem> {
    if bytes > bytes_max {
        return Err(Problem::bad(format_args!("{name} has {bytes} bytes; {bytes_max} at most")));
    }
    Ok(())
}

fn decode(text: &str) -> Result<String, Problem> {
    let spaced: Cow<'_, str> =
        if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    let decoded = percent_decode_str(&spaced).decode_utf8();
    let decoded = decoded.map_err(|_| Problem::bad("a parameter is not UTF-8"))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_others_refused() {
        let query = Query::parse("path=%2Fa%2F%22b+c%22&limit=7", &["path", "limit"]).unwrap();
        assert_eq!(query.path().unwrap().to_string(), "/a/b c");
        assert_eq!(query.limit().unwrap(), 7);
        assert_eq!(query.text("at").unwrap(), None);
        for (text, detail) in [
            ("x=1", "there is no parameter \"x\" here"),
            ("limit=1&limit=2", "limit is given twice"),
            ("path=%FF", "a parameter is not UTF-8"),
        ] {
            let problem = Query::parse(text, &["path", "limit"]).err().unwrap();
            assert_eq!(problem.detail(), detail, "{text}");
        }
        for text in ["limit=0", "limit=1001", "limit=-1", "limit=x", "limit="] {
            assert!(Query::parse(text, &["limit"]).unwrap().limit().is_err(), "{text}");
        }
    }

    #[test]
    fn paths_are_limited() {
        assert!(path(&"/a".repeat(512)).is_ok());
        for wrong in ["", "a", "//", &"/a".repeat(513), &format!("/{}", "a".repeat(8192))] {
            assert!(path(wrong).is_err(), "{wrong:.20}");
        }
    }
}
