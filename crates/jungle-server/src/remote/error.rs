//! Why a server did not do what it was asked, as it says itself or as the connection shows.

use std::io;

use axum::http::StatusCode;
use serde::Deserialize;

use crate::problem::TYPES;

/// Why a server did not do what it was asked.
///
/// ```
/// use jungle_server::{Remote, RemoteError};
/// let refused = Remote::new("http://127.0.0.1:7070/boards", None).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "http://127.0.0.1:7070/boards is no URL of a server: it goes on behind the server's name",
/// );
/// assert!(!refused.is_away());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// It cannot be asked by this URL.
    #[error("{url} is no URL of a server: {reason}")]
    Url {
        /// The URL; without what may be a secret in it.
        url: String,
        /// Why.
        reason: &'static str,
    },
    /// The token has characters that no header has.
    #[error("the token is none: it has characters that none has")]
    Token,
    /// The token would go to another machine, and nothing is encrypted on its way:
    /// [`Remote::exposing`](super::Remote::exposing) sends it all the same.
    #[error("{url} is not sent the token: nothing is encrypted on its way")]
    Exposed {
        /// The server.
        url: String,
    },
    /// The system does not give what a runtime needs.
    #[error("cannot ask anybody")]
    Threads(#[source] io::Error),
    /// The system does not give a random number, of which a key is made.
    #[error("the system has no random number: {0}")]
    Random(String),
    /// There is no connection.
    #[error("cannot reach {url}")]
    Unreached {
        /// The server.
        url: String,
        /// Why.
        source: io::Error,
    },
    /// The connection ended before the answer. What was asked may be done.
    #[error("{url} gave no answer")]
    Broken {
        /// The server.
        url: String,
        /// Why.
        source: hyper::Error,
    },
    /// It answered what no server of this kind does.
    #[error("{url} is no Jungle, or another version: it answered {status}")]
    Other {
        /// The server.
        url: String,
        /// The answer's status, as 200.
        status: u16,
    },
    /// It refused, with a problem document.
    #[error("{detail}")]
    Refused {
        /// The kind of problem, as `no-such-tree`.
        kind: String,
        /// What is wrong here.
        detail: String,
        /// What to do.
        hint: Option<String>,
        /// Where changes contradict each other: of a merge or a revert, not all if there are many.
        conflicts: Vec<RemoteConflict>,
        /// In how many more places they do.
        conflicts_left_out: usize,
    },
}

/// A place where changes contradict each other, as a server tells it.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Remote, RemoteError, RequestKey, Server};
/// use serde_json::json;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jungle = Jungle::memory()?;
/// let notes = jungle.create_tree("notes")?;
/// let first = notes.update(|tx| tx.put_attribute(&[], "n", 1))?.revision.number();
/// notes.update(|tx| tx.put_attribute(&[], "n", 2))?;
/// let server = Server::start(Data::Memory(jungle), Options::default())?;
/// let remote = Remote::new(&format!("http://{}", server.address()), None)?;
/// let address = Remote::address(&["trees", "notes", "reverts"], &[]);
/// let reverted = remote.once(&address, &json!({"revision": first}), &RequestKey::new()?);
/// let Err(RemoteError::Refused { conflicts, .. }) = reverted else { panic!("it is 2 by now") };
/// assert_eq!((&*conflicts[0].path, conflicts[0].attribute.as_deref()), ("/", Some("n")));
/// server.stop()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct RemoteConflict {
    /// The node.
    pub path: String,
    /// The attribute, if it is about one.
    pub attribute: Option<String>,
    /// The kind of conflict, as `removed-below`.
    pub kind: String,
}

impl RemoteError {
    /// Is there no answer, which there may be later?
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, RemoteError::Unreached { .. } | RemoteError::Broken { .. })
    }

    /// The kind of problem that the server told, as `no-such-tree`.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            RemoteError::Refused { kind, .. } => Some(kind),
            _ => None,
        }
    }

    /// What an answer says that is no success.
    pub(super) fn refused(url: &str, status: StatusCode, body: &[u8]) -> RemoteError {
        let told = serde_json::from_slice::<Told>(body).ok();
        let refused = told.and_then(|told| {
            let Told { kind, detail, hint, mut conflicts, conflict_count, taken } = told;
            let kind = kind.strip_prefix(TYPES)?.to_owned();
            let conflicts_left_out = conflict_count.unwrap_or(0).saturating_sub(conflicts.len());
            conflicts.extend(taken.into_iter().map(RemoteConflict::taken));
            Some(RemoteError::Refused { kind, detail, hint, conflicts, conflicts_left_out })
        });
        let status = status.as_u16();
        refused.unwrap_or_else(|| RemoteError::Other { url: url.to_owned(), status })
    }
}

impl RemoteConflict {
    fn taken(path: String) -> RemoteConflict {
        RemoteConflict { path, attribute: None, kind: "key-taken".to_owned() }
    }
}

/// A problem document, as far as it is looked at.
#[derive(Deserialize)]
struct Told {
    #[serde(rename = "type")]
    kind: String,
    detail: String,
    hint: Option<String>,
    #[serde(default)]
    conflicts: Vec<RemoteConflict>,
    conflict_count: Option<usize>,
    /// Where something was to come back, and is back already.
    #[serde(default)]
    taken: Vec<String>,
}
