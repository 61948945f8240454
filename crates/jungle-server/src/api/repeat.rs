//! Requests that may be sent again: with an `Idempotency-Key` what they ask for is done once.

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::header::IF_MATCH;
use axum::http::{HeaderMap, HeaderName, Method, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use jungle::{BranchId, CommitOptions, Revision, TreeHandle};
use serde_json::json;

use crate::access::Visitor;
use crate::app::App;
use crate::body;
use crate::etag::{Expected, expected};
use crate::once::{self, Answer, Said, Turn};
use crate::problem::Problem;

pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What is done once, and only on top of a certain revision, where the client says so.
const DOES: [(Method, &str); 4] = [
    (Method::POST, "/api/v1/trees/{tree}/commits"),
    (Method::PUT, "/api/v1/trees/{tree}/document"),
    (Method::POST, "/api/v1/trees/{tree}/merges"),
    (Method::POST, "/api/v1/trees/{tree}/reverts"),
];

/// What is done once. Its body says upon which revisions.
const DOES_ONCE: (Method, &str) = (Method::POST, "/api/v1/commits");

/// Refuses what relies on a header that does nothing where it was sent.
pub(super) async fn relied_on(request: Request<Body>, next: Next) -> Response {
    match unheard(&request) {
        Some(name) => {
            let detail = format_args!("{name} does nothing at this address");
            Problem::bad(detail).hint("leave it out").into_response()
        }
        None => next.run(request).await,
    }
}

fn unheard(request: &Request<Body>) -> Option<HeaderName> {
    let route = request.extensions().get().map_or("", MatchedPath::as_str);
    let asked = (request.method().clone(), route);
    if request.method().is_safe() || DOES.contains(&asked) {
        return None;
    }
    let key = (asked != DOES_ONCE).then_some(IDEMPOTENCY_KEY);
    let mut names = [Some(IF_MATCH), key].into_iter().flatten();
    names.find(|name| request.headers().contains_key(name))
}

/// A key, and what the request with it says.
pub(super) struct Keyed {
    key: String,
    said: Said,
}

impl Keyed {
    /// The key of a request, if it has one.
    pub(super) fn of(
        headers: &HeaderMap,
        expected: Option<Expected>,
    ) -> Result<Option<Keyed>, Problem> {
        let Some(key) = headers.get(IDEMPOTENCY_KEY) else {
            return Ok(None);
        };
        let key = key.to_str().map_err(|_| Problem::bad("Idempotency-Key has odd characters"))?;
        // Not which run has shown it: the request is the same one after a restart.
        let said = Said::new(expected.map(|expected| expected.revision));
        Ok(Some(Keyed { key: key.to_owned(), said }))
    }

    /// With what else it says.
    pub(super) fn and(mut self, bytes: &[u8]) -> Keyed {
        self.hear(bytes);
        self
    }

    /// It says more.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.said.hear(bytes);
    }
}

/// What a request asks for that may be sent again: a body of JSON.
pub(super) struct Asked {
    pub(super) body: Bytes,
    /// The revision that the client wants it on top of.
    pub(super) expected: Option<Expected>,
    pub(super) keyed: Option<Keyed>,
}

impl Asked {
    pub(super) async fn by(request: Request<Body>, app: &App) -> Result<Asked, Problem> {
        body::must_be(request.headers(), "application/json")?;
        let expected = expected(app, request.headers())?;
        let keyed = Keyed::of(request.headers(), expected)?;
        let body = body::whole(request, &app.options.limits).await?;
        let keyed = keyed.map(|keyed| keyed.and(&body));
        Ok(Asked { body, expected, keyed })
    }
}

/// Does it, on a thread that may wait; where there is a key, only if it was not done before: then
/// none of the branches that it is for has it in its history.
pub(super) fn once(
    app: &Visitor,
    trees: &[&TreeHandle],
    keyed: Option<Keyed>,
    mut options: CommitOptions,
    f: impl FnOnce(CommitOptions) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let Some(Keyed { key, said }) = keyed else {
        return f(options);
    };
    let branches: Vec<BranchId> = trees.iter().map(|tree| tree.branch_id()).collect();
    let request = once::request((app.name(), &branches, &key), &said);
    let first = match app.once.begin(app.name(), &key, (branches, request.fingerprint))? {
        Turn::Done(answer) => return Ok(answer),
        Turn::First(first) => first,
    };
    let durability = options.durability;
    let done_before = || {
        // A branch that it was for and did not change knows nothing of it.
        let found = trees.iter().find_map(|tree| tree.find_request(request).transpose());
        found.transpose().map(|found| found.map(repeated))
    };
    let answer = match done_before()? {
        Some(answer) => answer,
        None => {
            // Also where what is committed now must not say so.
            if app.cluster.as_ref().is_none_or(|cluster| cluster.reads_requests()) {
                options.meta = options.meta.asked_by(request);
            }
            // Another server may have done it meanwhile.
            f(options).or_else(|problem| done_before().ok().flatten().ok_or(problem))?
        }
    };
    // Whoever committed it first may still wait for that.
    app.wait_until(answer.revision, durability)?;
    first.answered(&answer);
    Ok(answer)
}

/// What is known of a request that was committed before: not what it made.
fn repeated(revision: Revision) -> Answer {
    let body = json!({
        "revision": revision.number(),
        "changed": true,
        "renamed": [],
        "repeated": true,
    });
    Answer { revision, body: body.to_string().into() }
}
