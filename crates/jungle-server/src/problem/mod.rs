//! Problems: what a request that failed is answered (RFC 9457).

mod table;

use std::sync::Arc;

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

pub(crate) use table::{Kind, not_yet};

/// How the `type` of each problem begins, with its name behind it: where the page that every server
/// has tells of it.
pub(crate) const TYPES: &str = "/docs#problem-";

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: Kind,
    detail: String,
    more: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
    missing: Option<Missing>,
    is_bug: bool,
}

/// In an answer: the name of a tree that is not here, and that might be read if it was.
#[derive(Clone, Debug)]
pub(crate) struct Missing(pub(crate) Arc<str>);

/// In an answer: a bug ended what was done for it.
#[derive(Clone, Debug)]
pub(crate) struct Bug;

/// In an answer: what went wrong, for the server's log.
#[derive(Clone, Debug)]
pub(crate) struct Failure(pub(crate) Arc<str>);

/// In an answer: of several trees, the name of the one that was refused, for the server's log.
#[derive(Clone, Debug)]
pub(crate) struct About(pub(crate) Arc<str>);

impl Problem {
    /// `detail` says what is wrong here.
    pub(crate) fn new(kind: Kind, detail: impl std::fmt::Display) -> Problem {
        let (detail, more) = (detail.to_string(), Map::new());
        let (header, missing, is_bug) = (None, None, false);
        Problem(Box::new(Parts { kind, detail, more, header, missing, is_bug }))
    }

    /// What was done for a request, on another thread, ended by a bug.
    pub(crate) fn bug() -> Problem {
        let mut problem = Problem::new(Kind::Failed, "the request was given up");
        problem.0.is_bug = true;
        problem
    }

    /// A parameter, header or field is not as it must be.
    pub(crate) fn bad(detail: impl std::fmt::Display) -> Problem {
        Problem::new(Kind::BadRequest, detail)
    }

    /// What to do.
    pub(crate) fn hint(self, hint: impl std::fmt::Display) -> Problem {
        self.with("hint", hint.to_string())
    }

    /// A further member.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.0.more.insert(name.to_owned(), value.into());
        self
    }

    /// A tree is not here, which another server may have.
    pub(crate) fn missing(mut self, tree: &str) -> Problem {
        self.0.missing = Some(Missing(tree.into()));
        self
    }

    /// Another problem, of the same tree.
    pub(crate) fn instead(self, mut other: Problem) -> Problem {
        other.0.missing = self.0.missing;
        other
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.0.header = Some((name, value));
        self
    }

    /// Says in which tree there is no room, if that is the problem.
    pub(crate) fn full(self, tree: &str) -> Problem {
        match self.kind() {
            Kind::NoRoom => self.with("tree", tree),
            _ => self,
        }
    }

    /// Where in the request it is.
    pub(crate) fn within(mut self, place: impl std::fmt::Display) -> Problem {
        self.0.detail = format!("{place}: {}", self.0.detail);
        self
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.kind.row().1
    }

    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    pub(crate) fn title(&self) -> &'static str {
        self.0.kind.row().2
    }

    /// Puts into an answer what belongs to it besides the body.
    pub(crate) fn mark(&self, answer: &mut Response) {
        if let Some((name, value)) = &self.0.header {
            answer.headers_mut().insert(name, value.clone());
        }
        if let Some(missing) = &self.0.missing {
            answer.extensions_mut().insert(missing.clone());
        }
        if let Some(Value::String(tree)) = self.0.more.get("tree") {
            answer.extensions_mut().insert(About(tree.as_str().into()));
        }
        if self.status().is_server_error() {
            answer.extensions_mut().insert(Failure(self.detail().into()));
        }
        if self.0.is_bug {
            answer.extensions_mut().insert(Bug);
        }
    }

    pub(crate) fn body(&self) -> String {
        let (name, status, title) = self.0.kind.row();
        let mut body = json!({
            "type": format!("{TYPES}{name}"),
            "title": title,
            "status": status.as_u16(),
            "detail": self.0.detail,
        });
        if let Value::Object(members) = &mut body {
            members.extend(self.0.more.clone());
        }
        body.to_string()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status(), [(CONTENT_TYPE, json)], self.body()).into_response();
        self.mark(&mut response);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_has_its_kind_and_what_was_added() {
        let problem = Problem::bad("limit is 0").within("query").hint("at least 1");
        let body: Value = serde_json::from_str(&problem.body()).unwrap();
        let expected = json!({
            "type": "/docs#problem-bad-request",
            "title": "The request is not as it must be",
            "status": 400,
            "detail": "query: limit is 0",
            "hint": "at least 1",
        });
        assert_eq!(body, expected);
    }
}
