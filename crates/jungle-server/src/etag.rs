//! `ETag`s: which revision an answer shows, so that a client can ask whether there is a newer one
//! and write only if there is none. Lists that follow from no single revision have one of what they
//! say.

use std::fmt;

use axum::body::Body;
use axum::http::header::{ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use jungle::{BranchId, Clock, Revision, SystemClock};
use jungle_cluster::{Cluster, LocalId, LogId};
use serde::Serialize;

use crate::api::written;
use crate::app::App;
use crate::problem::{Kind, Problem};

/// What is behind a revision in an `ETag`: the revisions of another run of the server may be those
/// of another Jungle behind the same address, whose answers a client may still have.
pub(crate) struct Mark {
    /// Of this run.
    run: u32,
    /// Of the log that is followed, here and by the other servers of the cluster; 0 where it is
    /// alone.
    log: u32,
}

/// What an answer shows: a revision, and on a server that commits by itself what has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edition {
    revision: Revision,
    /// The number of the newest entry of the outbox; 0 when all have their places.
    entry: u64,
}

impl Edition {
    pub(crate) fn new(revision: Revision, newest: Option<LocalId>) -> Edition {
        Edition { revision, entry: newest.map_or(0, |newest| newest.number) }
    }

    pub(crate) fn revision(self) -> Revision {
        self.revision
    }

    /// Is there something in it that has no revision yet?
    pub(crate) fn is_ahead(self) -> bool {
        self.entry != 0
    }
}

impl From<Revision> for Edition {
    fn from(revision: Revision) -> Edition {
        Edition::new(revision, None)
    }
}

/// In an address, and the id of an event: `12`, or `12-37`.
impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            0 => write!(f, "{}", self.revision),
            entry => write!(f, "{}-{entry}", self.revision),
        }
    }
}

/// A version of a branch, as an `ETag` names it. A commit of several trees gives all of them the
/// same revision, and each may get the name of another one later.
#[derive(Clone, Copy)]
pub(crate) struct Of<E>(pub(crate) BranchId, pub(crate) E);

/// `12.t3`: no hash has that letter.
impl<E: fmt::Display> fmt::Display for Of<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Of(BranchId(branch), edition) = self;
        write!(f, "{edition}.t{branch:x}")
    }
}

impl Mark {
    pub(crate) fn new(cluster: Option<&Cluster>) -> Mark {
        let log = cluster.map_or(0, |cluster| {
            // It is drawn at random, so that any part of it will do.
            let LogId([a, b, c, d, ..]) = cluster.log_id();
            u32::from_be_bytes([a, b, c, d]).max(1)
        });
        Mark { run: SystemClock.now().as_micros() as u32, log }
    }

    fn number(&self) -> u64 {
        (u64::from(self.log) << 32) | u64::from(self.run)
    }

    /// Is it another one that a client has sent back, as far as that is known? The servers of a
    /// cluster have the same commits, whatever their runs.
    fn is_other(&self, said: &str) -> bool {
        let Ok(said) = u64::from_str_radix(said, 16) else { return true };
        match (self.log, (said >> 32) as u32) {
            (0, _) => said != self.number(),
            // Servers that were built before there was that do not say it.
            (log, of) => of != 0 && of != log,
        }
    }

    /// `"12.t3.1f3a"`, or `"12-37.t3.1f3a"`; of what is no version of a branch, without `t3`.
    pub(crate) fn tag(&self, edition: impl fmt::Display) -> HeaderValue {
        quoted(format_args!("{edition}.{:x}", self.number()))
    }

    /// Says in a header which revision an answer shows.
    pub(crate) fn show(&self, edition: impl fmt::Display, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        response.headers_mut().insert(ETAG, self.tag(edition));
        response
    }

    /// The answer that nothing is new, if the client has this revision already.
    pub(crate) fn unchanged(
        &self,
        headers: &HeaderMap,
        edition: impl fmt::Display,
    ) -> Option<Response> {
        if !headers.contains_key(IF_NONE_MATCH) {
            return None;
        }
        let tag = self.tag(edition);
        is_known(headers, &tag).then(|| not_modified(tag))
    }

    /// An answer that follows from more than the revision of which its `ETag` is an `If-Match`, or
    /// that nothing is new: a hash of it is in the tag, too.
    pub(crate) fn told(
        &self,
        headers: &HeaderMap,
        Of(branch, revision): Of<Revision>,
        text: String,
    ) -> Response {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let edition = Of(branch, format!("{revision}.{}", &hash[..16]));
        let unchanged = self.unchanged(headers, &edition);
        unchanged.unwrap_or_else(|| self.show(&edition, written(text)))
    }
}

/// A list as JSON, or that nothing is new, if the client has the same one already. It may follow
/// from many revisions, from what is kept of a history and from what the client may see, so its
/// `ETag` is a hash of it: that saves the way, not the work. It is no `If-Match`.
pub(crate) fn told(headers: &HeaderMap, list: &impl Serialize) -> Response {
    told_text(headers, serde_json::to_vec(list).expect("plain data"))
}

/// The same of what is JSON already.
pub(crate) fn told_text(headers: &HeaderMap, text: Vec<u8>) -> Response {
    let tag = quoted(blake3::hash(&text).to_hex());
    match is_known(headers, &tag) {
        true => not_modified(tag),
        false => ([(ETAG, tag)], written(text)).into_response(),
    }
}

/// Has the client what the tag names?
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    list(headers, &IF_NONE_MATCH).any(|known| known == "*" || known == tag)
}

fn not_modified(tag: HeaderValue) -> Response {
    (StatusCode::NOT_MODIFIED, [(ETAG, tag)], Body::empty()).into_response()
}

fn quoted(name: impl fmt::Display) -> HeaderValue {
    HeaderValue::try_from(format!("\"{name}\"")).expect("digits, letters and points")
}

/// What a client has seen, and expects to be the newest still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) revision: Revision,
    /// Of which branch, if the client says so.
    branch: Option<BranchId>,
    /// Another run of the server, or another cluster, has shown it: it may be another commit.
    is_of_other: bool,
}

/// What must be the newest, if the client says so.
pub(crate) fn expected(app: &App, headers: &HeaderMap) -> Result<Option<Expected>, Problem> {
    expected_by(&app.mark, headers)
}

fn expected_by(mark: &Mark, headers: &HeaderMap) -> Result<Option<Expected>, Problem> {
    let mut tags = list(headers, &IF_MATCH);
    match (tags.next(), tags.next()) {
        (Some(tag), None) => expected_tag(mark, tag),
        (None, _) if !headers.contains_key(IF_MATCH) => Ok(None),
        _ => Err(no_tag()),
    }
}

fn no_tag() -> Problem {
    Problem::bad("If-Match is not one ETag of this server").hint("\"12\"")
}

/// What must be the newest by a tag.
pub(crate) fn expected_tag(mark: &Mark, tag: &str) -> Result<Option<Expected>, Problem> {
    if tag == "*" {
        return Ok(None);
    }
    let text = strong(tag).strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    // One that has more quotes is several.
    let text = text.filter(|text| !text.contains('"')).ok_or_else(no_tag)?;
    let number = text.split('.').next().unwrap_or_default();
    let revision = Revision::new(number.parse().map_err(|_| no_tag())?);
    let branch = text.split('.').find_map(|part| part.strip_prefix('t'));
    let branch = branch.map(|branch| u64::from_str_radix(branch, 16).map(BranchId));
    let branch = branch.transpose().map_err(|_| no_tag())?;
    // Who names a number alone means whatever has it.
    let is_of_other = text.rsplit_once('.').is_some_and(|(_, said)| mark.is_other(said));
    Ok(Some(Expected { revision, branch, is_of_other }))
}

/// Refuses to go on if the branch has a newer revision than the client expects, or one that it may
/// not have seen.
pub(crate) fn check(
    expected: Option<Expected>,
    Of(branch, newest): Of<Revision>,
) -> Result<(), Problem> {
    match expected {
        Some(Expected { revision, .. }) if revision != newest => Err(changed(newest)),
        Some(Expected { branch: Some(seen), .. }) if seen != branch => {
            Err(unexpected(newest, "the ETag is that of another tree or branch"))
        }
        Some(Expected { is_of_other: true, .. }) => {
            let detail = "the server was started since, or its cluster anew, and the revision \
                          may be another one";
            Err(unexpected(newest, detail))
        }
        _ => Ok(()),
    }
}

pub(crate) fn changed(newest: Revision) -> Problem {
    unexpected(newest, format_args!("the newest revision is {newest}"))
}

fn unexpected(newest: Revision, detail: impl fmt::Display) -> Problem {
    Problem::new(Kind::Changed, detail)
        .with("revision", newest.number())
        .hint("read it anew, and send its ETag as If-Match")
}

fn list<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|tag| strong(tag.trim()))
}

/// A tag as it was before a proxy on the way made it a weak one.
fn strong(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn known_revision_is_not_sent_again() {
        let mark = Mark { run: 0x1f3a, log: 0 };
        let is_known = |value: &str| {
            mark.unchanged(&headers(IF_NONE_MATCH, value), Revision::new(12)).is_some()
        };
        for known in ["\"12.1f3a\"", "*", "\"1.1f3a\", W/\"12.1f3a\""] {
            assert!(is_known(known), "{known}");
        }
        for other in ["\"12-3.1f3a\"", "\"12\"", "\"12.1f3b\"", "12.1f3a", "\"13.1f3a\"", ""] {
            assert!(!is_known(other), "{other}");
        }
        let own = |number| Edition::new(Revision::new(12), Some(LocalId { writer: 1, number }));
        assert_eq!(mark.tag(own(3)), "\"12-3.1f3a\"");
        let known = headers(IF_NONE_MATCH, "\"12-3.1f3a\"");
        assert!(mark.unchanged(&known, own(3)).is_some());
        assert!(mark.unchanged(&known, own(4)).is_none());
    }

    #[test]
    fn expected_revision_is_read_with_and_without_the_mark() {
        let mark = Mark { run: 0x1f3a, log: 0 };
        let of = |value: &str| expected_by(&mark, &headers(IF_MATCH, value)).ok();
        for own in ["\"12\"", "\"12.1f3a\"", "W/\"12.1f3a\"", "\"12.00ff.1f3a\""] {
            assert_eq!(of(own), seen(false), "{own}");
        }
        for own in ["\"12.t3c.1f3a\"", "\"12.00ff.t3c.1f3a\""] {
            let branch = Some(BranchId(0x3c));
            let expected = seen(false).map(|it| it.map(|it| Expected { branch, ..it }));
            assert_eq!(of(own), expected, "{own}");
        }
        for other in ["\"12.1f3b\"", "\"12.1f3a.1f3b\"", "\"12.\"", "\"12.5c0700001f3a\""] {
            assert_eq!(of(other), seen(true), "{other}");
        }
        assert_eq!(of("*"), Some(None));
        for wrong in ["12", "\"\"", "\"x\"", "\"1\", \"2\"", "\"-1\"", "\"12.tx.1f3a\""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(expected_tag(&mark, "W/\"12.1f3a\"").ok(), seen(false));
        for wrong in ["\"12.1f3a\", \"12.1f3a\"", "\"12.1f3a\"\"", "\"12", "\""] {
            assert!(expected_tag(&mark, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn expected_revision_may_be_of_any_server_of_the_cluster() {
        let mark = Mark { run: 0x1f3a, log: 0x5c07 };
        assert_eq!(mark.tag(Revision::new(12)), "\"12.5c0700001f3a\"");
        let of = |value: &str| expected_by(&mark, &headers(IF_MATCH, value)).ok();
        let of_before = "\"12.1f3b\"";
        for own in ["\"12\"", "\"12.5c0700001f3a\"", "\"12.00ff.5c0700001f3b\"", of_before] {
            assert_eq!(of(own), seen(false), "{own}");
        }
        for other in ["\"12.5c0800001f3a\"", "\"12.x\""] {
            assert_eq!(of(other), seen(true), "{other}");
        }
    }

    fn seen(is_of_other: bool) -> Option<Option<Expected>> {
        Some(Some(Expected { revision: Revision::new(12), branch: None, is_of_other }))
    }
}
