//! What every request passes: the host it asks for, the site it comes from, the rate; and what
//! every answer says to browsers.

use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_NONE_MATCH, ORIGIN, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, Request, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{self, Who};
use crate::app::App;
use crate::audit;
use crate::board::Sorry;
use crate::body;
use crate::client::Client;
use crate::cluster::elsewhere;
use crate::cluster::{self, Asked};
use crate::options::Options;
use crate::problem::{About, Bug, Failure, Kind, Problem};
use crate::tls::Certificate;

/// The names by which the server may be asked for. A page of another site can make its own name
/// mean this machine; what its script asks then has that name.
pub(crate) struct Hosts {
    /// Others reach it, at addresses that it does not know: any may be asked for. No page of
    /// another site can make an address its name.
    any_address: bool,
    names: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(options: &Options) -> Hosts {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let own = own.into_iter().chain([bare(&options.listen.to_string()).to_owned()]);
        let own = own.chain(match &options.tls {
            Some(Certificate::Acme(acme)) => acme.names.clone(),
            _ => Vec::new(),
        });
        Hosts {
            any_address: !options.listen.ip().is_loopback(),
            names: own.chain(options.hosts.iter().map(|host| in_brackets(host))).collect(),
        }
    }

    fn has(&self, host: &str) -> bool {
        let host = bare(host);
        self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
            || (self.any_address && is_address(host))
    }
}

/// An address of IPv6 as it is asked for.
fn in_brackets(host: &str) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    }
}

/// A host without its port.
fn bare(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// `192.0.2.1`, `[2001:db8::1]`.
fn is_address(host: &str) -> bool {
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match in_brackets {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<Ipv4Addr>().is_ok(),
    }
}

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");
pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Scripts, styles and pictures of our own, and nothing written into a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
frame-ancestors 'none'";

pub(crate) async fn guard(
    State(app): State<Arc<App>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let began = Instant::now();
    // Shared with the request, not copied.
    let asked = tracing::enabled!(tracing::Level::ERROR)
        .then(|| (request.method().clone(), request.uri().clone()));
    let checked = check(&app, &mut request, began);
    let client = request.extensions().get().map(|client: &Client| client.address);
    let who = request.extensions().get::<Who>();
    let stranger = who.filter(|who| who.is_public() && !access::is_open(request.uri()));
    let stranger = stranger.map(|_| (request.method().clone(), request.uri().clone()));
    let who = who.and_then(Who::name);
    let mut response = match checked {
        Ok(()) => match cluster::fresh(&app, Asked::of(&request)).await {
            Ok(()) => answer(&app, request, next).await,
            Err(problem) => told(request.uri(), problem),
        },
        Err(answer) => *answer,
    };
    // Somebody else may do it: whoever that is says so next time.
    if let Some((method, uri)) = stranger
        && response.status() == StatusCode::FORBIDDEN
    {
        response = access::stranger(&method, &uri);
    }
    if response.extensions().get::<Bug>().is_some() {
        app.metrics.panics.count();
    }
    let status = response.status();
    let failure = response.extensions_mut().remove::<Failure>();
    let about = response.extensions_mut().remove::<About>();
    let headers = response.headers_mut();
    let always = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is kept is asked for again with its `ETag`.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    let time = began.elapsed();
    if let Some((method, uri)) = asked {
        let (micros, status) = (time.as_micros(), status.as_u16());
        let (who, address) = (who.as_deref(), client);
        let failure = failure.as_ref().map(|Failure(why)| &**why);
        let tree = about.as_ref().map(|About(tree)| &**tree);
        // Parameters may be anything, secrets too: only the path is noted.
        let (method, path) = (&method, uri.path());
        let asked = audit::Asked { who, address, method, path, tree, status, failure };
        match status {
            500 => tracing::error!(%method, path, status, failure, micros, "failed"),
            _ if asked.is_told() => app.audit.note(&asked, began),
            _ => tracing::debug!(%method, path, status, micros, "answered"),
        }
    }
    app.metrics.answered(status.as_u16(), time);
    response
}

/// What the request is answered.
async fn answer(app: &App, mut request: Request<Body>, next: Next) -> Response {
    let uri = app.cluster.is_some().then(|| request.uri().clone());
    let sees_own = cluster::sees_own(request.headers());
    if sees_own {
        request.headers_mut().remove(IF_NONE_MATCH);
    }
    let mut answer = loaded(next.run(request)).await;
    if sees_own {
        cluster::unmark(&mut answer);
    }
    match uri {
        Some(uri) => elsewhere::tell(app, &uri, answer).await,
        None => answer,
    }
}

/// Part of a folder is read only when it is looked at; a look that fails unwinds up to here, and is
/// the answer.
async fn loaded(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        let polled = jungle::loading(|| answer.as_mut().poll(context));
        polled.unwrap_or_else(|error| Poll::Ready(Problem::from(error).into_response()))
    })
    .await
}

/// What a request must pass before anything is done for it; the answer if it does not.
fn check(app: &App, request: &mut Request<Body>, now: Instant) -> Result<(), Box<Response>> {
    let passed = came(app, request).and_then(|()| pass(app, request, now));
    passed.map_err(|problem| Box::new(told(request.uri(), problem)))?;
    let Some(gate) = &app.gate else {
        return Ok(());
    };
    let who = gate.who(request.headers(), request.extensions().get::<Client>(), now);
    let who = who.map_err(|problem| Box::new(problem.into_response()))?;
    if who.is_refused(request.method()) && !access::is_open(request.uri()) {
        return Err(Box::new(access::stranger(request.method(), request.uri())));
    }
    request.extensions_mut().insert(who);
    Ok(())
}

/// Why a request is not let in: to people on a page.
fn told(uri: &Uri, problem: Problem) -> Response {
    match access::is_page(uri) {
        true => Sorry::from(problem).into_response(),
        false => problem.into_response(),
    }
}

/// Finds out where it comes from, if a proxy is between.
fn came(app: &App, request: &mut Request<Body>) -> Result<(), Problem> {
    if let Some(connected) = request.extensions().get::<Client>().copied() {
        let client = connected.behind(&app.options.proxies, request.headers())?;
        request.extensions_mut().insert(client);
    }
    Ok(())
}

fn pass(app: &App, request: &Request<Body>, now: Instant) -> Result<(), Problem> {
    let headers = request.headers();
    let host = host(request)?;
    if !app.hosts.has(host) {
        return Err(Problem::new(Kind::Misdirected, format_args!("it is not {host:?}"))
            .hint("start it with `--host NAME` for each name it has"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        same_site(headers)?;
    }
    body::must_be_plain(headers)?;
    if let Some(&client) = request.extensions().get::<Client>()
        && !app.rate.allows(client, now)
    {
        let detail = format_args!("too many requests from {}", client.address);
        return Err(
            Problem::new(Kind::TooMany, detail).header(RETRY_AFTER, HeaderValue::from_static("1"))
        );
    }
    Ok(())
}

/// The host that is asked for: said once, as HTTP/1.1 demands.
fn host(request: &Request<Body>) -> Result<&str, Problem> {
    let mut hosts = request.headers().get_all(HOST).into_iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
    let host = host.ok_or_else(|| Problem::bad("there must be one header Host"))?;
    match request.uri().authority() {
        Some(authority) if !authority.as_str().eq_ignore_ascii_case(host) => {
            Err(Problem::bad("the address and the header Host name different hosts"))
        }
        _ => Ok(host),
    }
}

/// Refuses what a page of another site makes a browser send. Browsers say where a request that
/// changes something comes from, and no script can make them say otherwise; what does not come
/// from a browser says nothing. There is one `Host`, and it was asked for by that.
pub(crate) fn same_site(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(&HOST).unwrap_or_default();
    let is_own = match (text(&SEC_FETCH_SITE), text(&ORIGIN)) {
        (Some(site), _) if site != "same-origin" && site != "none" => false,
        (_, Some(origin)) => {
            origin.split_once("://").is_some_and(|(_, from)| from.eq_ignore_ascii_case(host))
        }
        _ => true,
    };
    if is_own {
        return Ok(());
    }
    Err(Problem::new(Kind::Forbidden, "the request comes from a page of another site"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_are_answered_to() {
        let hosts =
            Hosts::new(&Options { hosts: vec!["tree.example".into()], ..Options::default() });
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1:7070", "[::1]:1", "tree.example:443"] {
            assert!(hosts.has(own), "{own}");
        }
        for other in ["", "evil.example", "localhost.evil.example", "127.0.0.2", "[::2]:1"] {
            assert!(!hosts.has(other), "{other}");
        }
    }

    #[test]
    fn exposed_server_is_asked_for_by_any_address_and_by_its_names_only() {
        let listen = "0.0.0.0:7070".parse().unwrap();
        for names in [vec![], vec!["tree.example".to_owned()]] {
            let named = !names.is_empty();
            let hosts = Hosts::new(&Options { listen, hosts: names, ..Options::default() });
            for own in ["192.0.2.7:7070", "[2001:db8::1]:7070", "10.0.0.1", "localhost:7070"] {
                assert!(hosts.has(own), "{own}");
            }
            for other in ["evil.example:7070", "7.evil.example", "", "[x]", "1.2.3", "2001:db8::1"]
            {
                assert!(!hosts.has(other), "{other}");
            }
            assert_eq!(hosts.has("tree.example"), named);
        }
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let check = |pairs: &[(&HeaderName, &'static str)]| {
            let own = [(&HOST, "localhost:1")];
            let pairs = pairs.iter().chain(&own);
            let pairs =
                pairs.map(|(name, value)| ((*name).clone(), HeaderValue::from_static(value)));
            same_site(&HeaderMap::from_iter(pairs)).is_ok()
        };
        assert!(check(&[]));
        assert!(check(&[(&ORIGIN, "http://localhost:1")]));
        assert!(check(&[(&SEC_FETCH_SITE, "same-origin"), (&ORIGIN, "http://localhost:1")]));
        for origin in ["http://evil.example", "null", "http://localhost:2", "localhost:1"] {
            assert!(!check(&[(&ORIGIN, origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "?"] {
            assert!(!check(&[(&SEC_FETCH_SITE, site)]), "{site}");
        }
    }
}
