//! The pages on which people say who they are. They work without script.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::file::User;
use super::gate::{Gate, cookie_name, refused, sessions};
use super::secret;
use super::sessions::SESSION_TIME;
use super::visitor::Visitor;
use crate::app::{App, aside};
use crate::board::{Sorry, form_within, html};
use crate::client::Client;
use crate::guard::SEC_FETCH_SITE;
use crate::limits::AUTHOR_BYTES_MAX;
use crate::limits::rate::{Buckets, network};
use crate::problem::{Kind, Problem};
use crate::query::{Query, limit};

/// Attempts to log in that may be made at once from each address, and from there for each user;
/// then one every twelve seconds.
const ATTEMPTS: f64 = 10.0;
const ATTEMPTS_PER_SECOND: f64 = 5.0 / 60.0;

/// The same for each user from all addresses. No address alone takes so much: who knows a name can
/// not keep its user out.
const ATTEMPTS_OF_USER: f64 = 100.0;
const ATTEMPTS_OF_USER_PER_SECOND: f64 = 1.0;

/// How long a password may wait to be looked at.
const WAIT: Duration = Duration::from_secs(5);

/// Bytes of a form, which anybody may send: names, passwords and places fit, escaped as they are.
const FORM_BYTES_MAX: usize = 16 << 10;

/// Bytes of the place to go on from.
const NEXT_BYTES_MAX: usize = 2 << 10;

/// Has browsers forget what they have kept of this server: by *Back* they show that without asking
/// anybody. They heed it where a connection is encrypted, or leads to their own machine.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// How many attempts to log in there may be.
pub(super) struct Attempts {
    by_address: Buckets<IpAddr>,
    by_both: Buckets<(IpAddr, Box<str>)>,
    by_user: Buckets<Box<str>>,
}

impl Attempts {
    pub(super) fn new() -> Attempts {
        Attempts {
            by_address: Buckets::new(ATTEMPTS_PER_SECOND, ATTEMPTS),
            by_both: Buckets::new(ATTEMPTS_PER_SECOND, ATTEMPTS),
            by_user: Buckets::new(ATTEMPTS_OF_USER_PER_SECOND, ATTEMPTS_OF_USER),
        }
    }

    /// May there be another one? On this machine itself there may be a proxy of which nobody said
    /// anything, so that everybody comes from there.
    fn allows(&self, client: Client, user: &str, now: Instant) -> bool {
        let address = network(client.address);
        (client.is_own || self.by_address.take(address, now))
            && self.by_both.take((address, user.into()), now)
            && self.by_user.take(user.into(), now)
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Page<'a> {
    /// Who is logged in.
    name: Option<&'a str>,
    next: &'a str,
    /// Was somebody of this name refused?
    is_refused: bool,
    wanted: &'a str,
}

/// A page that leads to another one by itself.
#[derive(Template)]
#[template(path = "onward.html")]
struct Onward {
    place: String,
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/login", get(show).post(log_in)).route("/logout", post(log_out))
}

async fn show(app: Visitor, uri: Uri, headers: HeaderMap) -> Result<Response, Sorry> {
    let query = Query::of(&uri, &["next", "again"])?;
    if app.gate.is_none() {
        return Ok(see("/boards"));
    }
    let (next, is_again) = (next(&query), query.text("again")?.is_some());
    if is_again && app.name().is_some() {
        return Ok(see(next));
    }
    if !is_again && is_led_here(&headers) {
        return Ok(html(&Onward { place: format!("/login?again=1&next={}", escaped(next)) })?);
    }
    Ok(html(&Page { name: app.name(), next, is_refused: false, wanted: "" })?)
}

/// Has a page of another site led here? Then the browser has kept the cookie back, so that whoever
/// is logged in looks like a stranger. Where a page of ours leads, the cookie is sent.
fn is_led_here(headers: &HeaderMap) -> bool {
    headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site")
}

async fn log_in(app: Visitor, request: Request<Body>) -> Result<Response, Sorry> {
    Query::of(request.uri(), &[])?;
    let Some(gate) = &app.gate else {
        return Ok(see("/boards"));
    };
    let client = request.extensions().get().copied();
    let client: Client =
        client.ok_or_else(|| refused("nobody knows where the request comes from"))?;
    let before = sessions(request.headers(), cookie_name(Some(&client)));
    let before: Vec<String> = before.map(str::to_owned).collect();
    let known = ["name", "password", "next"];
    let form = form_within(&app, request, &known, FORM_BYTES_MAX).await?;
    let name = form.text("name")?.unwrap_or_default().trim();
    let password = form.text("password")?.unwrap_or_default();
    limit("the name", name, AUTHOR_BYTES_MAX)?;
    match check(gate, client, name, password).await? {
        Some(user) => {
            let now = Instant::now();
            let secret = gate.sessions.begin(&user, now).map_err(Problem::from)?;
            // The browser forgets it now.
            before.iter().for_each(|before| gate.sessions.end(before));
            tracing::info!(user = user.name, address = %client.address, "logged in");
            let mut answer = see(next(&form));
            answer.headers_mut().insert(SET_COOKIE, cookie(&secret, SESSION_TIME, Some(&client)));
            Ok(answer)
        }
        None => {
            let next = next(&form);
            let page = html(&Page { name: None, next, is_refused: true, wanted: name })?;
            Ok((StatusCode::FORBIDDEN, page).into_response())
        }
    }
}

/// The user, if it is the password.
async fn check(
    gate: &Gate,
    client: Client,
    name: &str,
    password: &str,
) -> Result<Option<User>, Problem> {
    let too_many = |detail| {
        let later = HeaderValue::from_static("12");
        Problem::new(Kind::TooMany, detail).header(RETRY_AFTER, later)
    };
    if !gate.attempts.allows(client, name, Instant::now()) {
        return Err(too_many("too many attempts to log in"));
    }
    let permit = tokio::time::timeout(WAIT, Arc::clone(&gate.passwords).acquire_owned()).await;
    let Ok(permit) = permit else {
        return Err(too_many("too many people are logging in"));
    };
    let (user, password) = (gate.access().user(name).cloned(), password.to_owned());
    aside(move || {
        let hash = user.as_ref().map(|user| &*user.password);
        let is_right = secret::is_password(&password, hash);
        drop(permit);
        Ok(user.filter(|_| is_right))
    })
    .await
}

async fn log_out(app: Visitor, request: Request<Body>) -> Response {
    let client = request.extensions().get::<Client>();
    if let Some(gate) = &app.gate {
        // Of two, one may be somebody else's: who could put it there may lose it.
        let secrets = sessions(request.headers(), cookie_name(client));
        secrets.for_each(|secret| gate.sessions.end(secret));
    }
    let mut answer = see("/login");
    let headers = answer.headers_mut();
    headers.insert(SET_COOKIE, cookie("", Duration::ZERO, client));
    headers.insert(CLEAR_SITE_DATA, HeaderValue::from_static("\"cache\""));
    answer
}

/// No script sees it, and no page of another site makes the browser send it.
fn cookie(secret: &str, time: Duration, client: Option<&Client>) -> HeaderValue {
    let (name, seconds) = (cookie_name(client), time.as_secs());
    let secure = if client.is_some_and(|client| client.is_encrypted) { "; Secure" } else { "" };
    let text =
        format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).expect("digits and letters")
}

/// Another page is the answer.
fn see(place: &str) -> Response {
    let place = HeaderValue::try_from(place).unwrap_or(HeaderValue::from_static("/boards"));
    (StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response()
}

/// To the page on which to log in, and back to where it was asked for.
pub(super) fn first(uri: &Uri) -> Response {
    let wanted = uri.path_and_query().map_or("/", |wanted| wanted.as_str());
    see(&format!("/login?next={}", escaped(wanted)))
}

fn escaped(place: &str) -> impl Display {
    percent_encoding::utf8_percent_encode(place, percent_encoding::NON_ALPHANUMERIC)
}

/// Where to go on: an address of ours, whatever it says, and none that no form could send back.
fn next(query: &Query) -> &str {
    let next = query.long_text("next").unwrap_or_default();
    let is_ours = next.len() <= NEXT_BYTES_MAX
        && next.starts_with('/')
        && !next.starts_with("//")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours { next } else { "/boards" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        let next = |text: &str| next(&Query::parse(text, &["next"]).unwrap()).to_owned();
        assert_eq!(next("next=%2Fexplorer%2F%3Ftree%3Dt"), "/explorer/?tree=t");
        assert_eq!(next(&format!("next=/{}", "x".repeat(NEXT_BYTES_MAX))), "/boards");
        for wrong in ["", "next=", "next=%2F%2Fevil.example", "next=https:%2F%2Fevil.example"] {
            assert_eq!(next(wrong), "/boards", "{wrong}");
        }
        for wrong in
            ["next=%2F%5Cevil.example", "next=%2F%0D%0AA:b", "next=boards", "next=%2F%C3%A9"]
        {
            assert_eq!(next(wrong), "/boards", "{wrong}");
        }
    }

    #[test]
    fn attempts_are_counted_by_user_and_by_address() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        let client = |address: [u8; 4]| Client::connected(address.into(), false);
        let (one, other) = (client([192, 0, 2, 1]), client([192, 0, 2, 2]));
        let home = client([127, 0, 0, 1]);
        let count = |client, user: &str, seconds| {
            let now = now + Duration::from_secs(seconds);
            (0..100).filter(|_| attempts.allows(client, user, now)).count()
        };
        assert_eq!([count(one, "ana", 0), count(one, "ben", 0)], [10, 0]);
        // Nobody keeps somebody out who comes from elsewhere.
        assert_eq!([count(other, "ana", 0), count(home, "ana", 0)], [10, 10]);
        assert_eq!([count(home, "ben", 0), count(home, "ben", 0)], [10, 0]);
        assert_eq!([count(home, "ana", 12), count(home, "ana", 60)], [1, 4]);
        // All of them together do not guess much faster.
        let of = |net: u8, host: u8| count(client([198, 51, net, host]), "eve", 0);
        let many = |net: u8| (0..20).map(|host| of(net, host)).sum::<usize>();
        assert_eq!([many(1), many(2)], [100, 0]);
    }
}
