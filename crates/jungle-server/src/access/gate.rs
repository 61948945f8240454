//! Who a request comes from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::header::{AUTHORIZATION, COOKIE, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use jungle::{Clock, SystemClock};
use tokio::sync::{Semaphore, watch};

use super::file::{Access, AccessError};
use super::login::{self, Attempts};
use super::sessions::{Found, Sessions};
use super::who::{Known, Until, Who};
use crate::app::Stopping;
use crate::board::Sorry;
use crate::client::Client;
use crate::problem::{Kind, Problem};
use crate::tls::reload::reload;

/// The cookie that a session is in. Browsers take one with `__Host-` from this very host only, by
/// an encrypted connection: no neighbour of it can put a session of its own there.
pub(super) fn cookie_name(client: Option<&Client>) -> &'static str {
    match client {
        Some(Client { is_encrypted: true, .. }) => "__Host-jungle_session",
        _ => "jungle_session",
    }
}

/// Passwords that are looked at at a time; each takes 19 MiB and a processor.
const PASSWORDS_MAX: usize = 2;

/// So many changes of an access file are noted at a time.
const CHANGES_MAX: usize = 50;

/// What is there when there is an access file.
pub(crate) struct Gate {
    file: PathBuf,
    access: watch::Sender<Arc<Access>>,
    pub(super) sessions: Sessions,
    pub(super) attempts: Attempts,
    /// A permit for each password that is looked at.
    pub(super) passwords: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn open(file: &Path) -> Result<Gate, AccessError> {
        Ok(Gate {
            file: file.to_owned(),
            access: watch::Sender::new(Arc::new(Access::read(file)?)),
            sessions: Sessions::default(),
            attempts: Attempts::new(),
            passwords: Arc::new(Semaphore::new(PASSWORDS_MAX)),
        })
    }

    pub(crate) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.borrow())
    }

    /// Who it is: by a token, or else by a session. A token that is wrong is refused, since whoever
    /// sends one expects it to count.
    pub(crate) fn who(
        &self,
        headers: &HeaderMap,
        client: Option<&Client>,
        now: Instant,
    ) -> Result<Who, Problem> {
        let mut changes = self.access.subscribe();
        let access = Arc::clone(&changes.borrow_and_update());
        let (name, until) = match token(headers)? {
            Some(token) => {
                let time = SystemClock.now();
                let found = access.token(token, time);
                let (name, expires) =
                    found.ok_or_else(|| refused("the token is not known, or has ended"))?;
                let left = expires.map(|expires| expires.as_micros() - time.as_micros());
                let left = left.and_then(|left| u64::try_from(left).ok());
                let ends = left.and_then(|left| now.checked_add(Duration::from_micros(left)));
                (Arc::from(name), Until { time: ends, session: None })
            }
            None => {
                let found = session(headers, cookie_name(client));
                let found = found.and_then(|secret| self.sessions.find(secret, &access, now));
                let Some(Found { name, until, alive }) = found else {
                    return Ok(Who::stranger(access, changes));
                };
                (name.into(), Until { time: Some(until), session: Some(alive) })
            }
        };
        Ok(Who::Known(Known { name, access, changes, until }))
    }

    /// Takes the file in whenever it has changed, until the server stops. One that cannot be read
    /// changes nothing: what was granted stays, and nothing opens.
    pub(crate) async fn keep(&self, stopping: Stopping) {
        let stays = "what was granted stays as it was";
        reload(vec![self.file.clone()], stays, stopping, || self.read()).await;
    }

    fn read(&self) -> Result<(), AccessError> {
        let access = Access::read(&self.file)?;
        // Nobody else changes it, so nobody need wait while it is compared.
        let changes = told(&self.access().changes(&access));
        self.access.send_if_modified(|old| {
            let is_new = **old != access;
            *old = Arc::new(access);
            if is_new {
                let (file, changes) = (self.file.display(), &*changes);
                tracing::info!(%file, changes, "what is granted has changed");
            }
            is_new
        });
        Ok(())
    }
}

/// Changes, as they are noted: of many the first ones.
fn told(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(CHANGES_MAX);
    let mut told = changes[..changes.len() - more].to_vec();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

/// May anybody ask for this? Only what is the same for everybody, and the page to log in.
pub(crate) fn is_open(uri: &Uri) -> bool {
    let path = uri.path();
    let is_file = |folder: &str| path.strip_prefix(folder).is_some_and(|name| !name.is_empty());
    matches!(path, "/health" | "/docs" | "/openapi.json" | "/login" | "/logout")
        || is_file("/assets/")
        || is_file("/explorer/")
}

/// Do people look there? What goes wrong is told on a page then.
pub(crate) fn is_page(uri: &Uri) -> bool {
    let path = uri.path();
    matches!(path, "/" | "/docs" | "/login" | "/logout" | "/status")
        || path.starts_with("/boards")
        || path.starts_with("/explorer")
}

/// What a stranger is answered who may not do what was asked: a page on which to log in, where a
/// page was asked for. Who sends a form may have been logged in when the page with it came, and
/// have written much: nothing leads away from that by itself.
pub(crate) fn stranger(method: &Method, uri: &Uri) -> Response {
    match (is_page(uri), method) {
        (true, &Method::GET) => login::first(uri),
        (true, &Method::POST) => {
            let detail = "Nobody is logged in here any more, so nothing was done. Log in on a page \
                          of its own, go back to what you wrote, and send it again.";
            Sorry::with_places(refused(detail), vec!["/login".to_owned()]).into_response()
        }
        _ => refused("nobody is told this without saying who it is").into_response(),
    }
}

/// A problem that says how to say who one is.
pub(super) fn refused(detail: &str) -> Problem {
    Problem::new(Kind::Unauthorized, detail)
        .hint("send `Authorization: Bearer TOKEN`, or log in at /login")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"jungle\""))
}

fn token(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let is_none = !headers.contains_key(AUTHORIZATION);
        return if is_none { Ok(None) } else { Err(Problem::bad("Authorization is said twice")) };
    };
    let said = value.to_str().ok().and_then(|value| value.split_once(' '));
    let token = said.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = token.ok_or_else(|| refused("Authorization is not `Bearer TOKEN`"))?;
    Ok(Some(token.1.trim()))
}

/// What is in the cookie of this name. Of two one may be somebody else's: then it is none.
fn session<'h>(headers: &'h HeaderMap, name: &'h str) -> Option<&'h str> {
    let mut secrets = sessions(headers, name);
    secrets.next().filter(|_| secrets.next().is_none())
}

/// What is in all cookies of this name: whoever logs out ends all of them.
pub(super) fn sessions<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(COOKIE).into_iter().map(HeaderValue::as_bytes);
    let cookies = values.flat_map(|value| value.split(|&byte| byte == b';'));
    // All are in one header, and what others on this host put into theirs may be anything.
    let cookies = cookies.filter_map(|cookie| str::from_utf8(cookie).ok()).map(str::trim);
    let pairs = cookies.filter_map(|cookie| cookie.split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, secret)| secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_open_to_strangers() {
        let is_open = |path: &str| is_open(&path.parse().unwrap());
        for path in ["/health", "/login?next=/", "/assets/board.css", "/explorer/explorer.js"] {
            assert!(is_open(path), "{path}");
        }
        for path in ["/", "/boards", "/boards/login", "/explorer", "/explorer/", "/metrics"] {
            assert!(!is_open(path), "{path}");
        }
        for path in ["/api/v1/trees", "/api/v1/trees/health", "/health/", "//health", "/assets/"] {
            assert!(!is_open(path), "{path}");
        }
    }
}
