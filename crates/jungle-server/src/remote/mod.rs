//! A server as those see it who ask it: one request after the other, on the thread that asks.

mod answer;
mod connection;
mod error;
mod key;
mod value;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, IF_MATCH};
use axum::http::{HeaderMap, Request, Uri};
use bytes::Bytes;
use http_body_util::Full;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::api::{IDEMPOTENCY_KEY, LAST_EVENT_ID};
use crate::dial::{connect, connector, encrypt, system_roots};
use connection::{Answered, Line};

pub use answer::RemoteBody;
pub use error::{RemoteConflict, RemoteError};
pub use key::RequestKey;
pub use value::{typed, value_of};

/// A server that is asked by its URL. An answer may take as long as the network of a cluster is
/// away, and is not waited for when the server's machine has said nothing for a minute, not even
/// that it is there. What changes nothing is asked on the connection of the request before, if that
/// is there still.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Remote, Server};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jungle = Jungle::memory()?;
/// jungle.create_tree("a/b")?;
/// let server = Server::start(Data::Memory(jungle), Options::default())?;
/// let remote = Remote::new(&format!("http://{}", server.address()), None)?;
/// let node = remote.get(&Remote::address(&["trees", "a/b", "node"], &[("path", "/")]))?;
/// assert!(node.starts_with(br#"{"tree":"a/b","branch":"main","#));
/// server.stop()?;
/// # Ok(())
/// # }
/// ```
pub struct Remote {
    url: String,
    host: String,
    port: u16,
    authority: HeaderValue,
    tls: Option<TlsConnector>,
    token: Option<HeaderValue>,
    /// On which an answer has come, all of it.
    kept: Mutex<Option<Line>>,
    runtime: Runtime,
}

impl Remote {
    /// A server, that knows who asks by a token, if there is one. Where the URL says `https`, the
    /// server is known by the certificates that the system trusts, or those in the file that
    /// `SSL_CERT_FILE` names. Nothing is asked yet.
    ///
    /// # Errors
    /// When the URL is not like `http://127.0.0.1:7070`, the token is none, or it would go to
    /// another machine without being encrypted.
    pub fn new(url: &str, token: Option<&str>) -> Result<Remote, RemoteError> {
        let remote = Remote::exposing(url, token)?;
        if remote.token.is_some() && remote.tls.is_none() && !is_here(&remote.host) {
            return Err(RemoteError::Exposed { url: remote.url });
        }
        Ok(remote)
    }

    /// As [`new`](Remote::new), and the token may go to another machine without being encrypted:
    /// for networks where nobody else listens, or that encrypt themselves.
    ///
    /// # Errors
    /// When the URL is not like `http://127.0.0.1:7070`, or the token is none.
    ///
    /// ```
    /// use jungle_server::{Remote, RemoteError};
    /// let (url, token) = ("http://trees.example", Some("secret"));
    /// assert!(matches!(Remote::new(url, token), Err(RemoteError::Exposed { .. })));
    /// assert!(Remote::exposing(url, token).is_ok());
    /// assert!(Remote::new(url, None).is_ok());
    /// assert!(Remote::new("https://trees.example", token).is_ok());
    /// assert!(Remote::new("http://[::1]:7070", token).is_ok());
    /// ```
    pub fn exposing(url: &str, token: Option<&str>) -> Result<Remote, RemoteError> {
        // Also where it cannot be read: all that is before the last `@` may be a secret.
        if let Some((_, behind)) = url.rsplit_once('@') {
            let reason = "a name or a password has no place in it";
            return Err(RemoteError::Url { url: behind.to_owned(), reason });
        }
        let shown = url.split(['?', '#']).next().unwrap_or_default();
        let wrong = |reason| RemoteError::Url { url: shown.to_owned(), reason };
        let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read"))?;
        let authority = uri.authority().ok_or_else(|| wrong("it names no server"))?;
        let host = authority.host();
        if host.is_empty() {
            return Err(wrong("it names no server"));
        }
        // The usual port in place of one that is none may be somebody else's.
        if authority.as_str() != host && authority.port_u16().is_none() {
            return Err(wrong("it has no port where one must be"));
        }
        if !matches!(uri.path(), "" | "/") || shown != url {
            return Err(wrong("it goes on behind the server's name"));
        }
        let (is_tls, usual) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(wrong("it begins with neither http:// nor https://")),
        };
        let token = token.map(|token| HeaderValue::try_from(format!("Bearer {token}")));
        let token = token.transpose().map_err(|_| RemoteError::Token)?;
        let named = HeaderValue::try_from(authority.as_str());
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Remote {
            url: url.trim_end_matches('/').to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(usual),
            authority: named.map_err(|_| wrong("it cannot be read"))?,
            tls: is_tls.then(|| connector(system_roots())),
            token,
            kept: Mutex::default(),
            runtime: runtime.map_err(RemoteError::Threads)?,
        })
    }

    /// An address below `/api/v1`: what is between its slashes, and its parameters.
    ///
    /// ```
    /// use jungle_server::Remote;
    /// let address = Remote::address(&["trees", "a/b", "node"], &[("path", "/x y")]);
    /// assert_eq!(address, "/api/v1/trees/a%2Fb/node?path=%2Fx%20y");
    /// ```
    #[must_use]
    pub fn address(names: &[&str], parameters: &[(&str, &str)]) -> String {
        let mut address = String::from("/api/v1");
        for name in names {
            address.push('/');
            address.extend(utf8_percent_encode(name, NON_ALPHANUMERIC));
        }
        for (index, (name, value)) in parameters.iter().enumerate() {
            address.push(if index == 0 { '?' } else { '&' });
            address.push_str(name);
            address.push('=');
            address.extend(utf8_percent_encode(value, NON_ALPHANUMERIC));
        }
        address
    }

    /// What is at an address: the body of the answer.
    ///
    /// # Errors
    /// When there is no answer, or the server refuses.
    ///
    /// # Panics
    /// On a thread of a runtime, which must not wait.
    pub fn get(&self, address: &str) -> Result<Vec<u8>, RemoteError> {
        self.send("GET", address, &Json::Null)
    }

    /// Has something done, with a body that is JSON unless it is null. Gives the body of the
    /// answer.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// # Panics
    /// As [`get`](Remote::get).
    pub fn send(&self, method: &str, address: &str, body: &Json) -> Result<Vec<u8>, RemoteError> {
        self.ask(method, address, body, HeaderMap::new())?.whole()
    }

    /// Has something committed by `POST`, where this revision is the newest still. Where no answer
    /// comes, it may be sent again with the same key: the server does it once, however often it is
    /// sent.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// # Panics
    /// As [`get`](Remote::get).
    ///
    /// ```
    /// use jungle::{Jungle, Memory};
    /// use jungle_server::{Data, Options, Remote, RequestKey, Server};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let jungle = Jungle::memory()?;
    /// let newest = jungle.create_tree("notes")?.snapshot().revision().number();
    /// let server = Server::start(Data::Memory(jungle), Options::default())?;
    /// let remote = Remote::new(&format!("http://{}", server.address()), None)?;
    /// let address = Remote::address(&["trees", "notes", "commits"], &[]);
    /// let body = json!({"edits": [{"op": "append", "path": "/"}]});
    /// let key = RequestKey::new()?;
    /// let first = remote.commit(&address, &body, newest, &key)?;
    /// assert_eq!(remote.commit(&address, &body, newest, &key)?, first);
    /// server.stop()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn commit(
        &self,
        address: &str,
        body: &Json,
        newest: u64,
        key: &RequestKey,
    ) -> Result<Vec<u8>, RemoteError> {
        let newest = HeaderValue::try_from(format!("\"{newest}\"")).expect("digits in quotes");
        let more = HeaderMap::from_iter([(IF_MATCH, newest), (IDEMPOTENCY_KEY, key.0.clone())]);
        self.ask("POST", address, body, more)?.whole()
    }

    /// Has something done by `POST` upon whatever is the newest revision. Where no answer comes, it
    /// may be sent again with the same key, as for [`commit`](Remote::commit); it must be something
    /// for which servers heed that, such as a revert.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// # Panics
    /// As [`get`](Remote::get).
    pub fn once(
        &self,
        address: &str,
        body: &Json,
        key: &RequestKey,
    ) -> Result<Vec<u8>, RemoteError> {
        let more = HeaderMap::from_iter([(IDEMPOTENCY_KEY, key.0.clone())]);
        self.ask("POST", address, body, more)?.whole()
    }

    /// Begins to read what goes on at an address, as server-sent events: after the one with this
    /// id, if one was seen. The next comes only while it is read.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// # Panics
    /// As [`get`](Remote::get).
    ///
    /// ```
    /// use std::io::{BufRead, BufReader};
    ///
    /// use jungle::{Jungle, Memory};
    /// use jungle_server::{Data, Options, Remote, Server};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let jungle = Jungle::memory()?;
    /// jungle.create_tree("notes")?.update(|tx| tx.put_attribute(&[], "n", 1))?;
    /// let server = Server::start(Data::Memory(jungle), Options::default())?;
    /// let remote = Remote::new(&format!("http://{}", server.address()), None)?;
    /// let all = [("after", "0"), ("follow", "false")];
    /// let events = remote.events(&Remote::address(&["trees", "notes", "watch"], &all), None)?;
    /// let lines = BufReader::new(events).lines().collect::<Result<Vec<String>, _>>()?;
    /// assert!(lines.contains(&"event: change".to_owned()));
    /// assert!(lines.contains(&"event: end".to_owned()));
    /// server.stop()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn events(&self, address: &str, seen: Option<&str>) -> Result<RemoteBody<'_>, RemoteError> {
        let mut more = HeaderMap::new();
        if let Some(seen) = seen {
            // It came from there: no server of this kind has others.
            let wrong = |_| RemoteError::Other { url: self.url.clone(), status: 200 };
            more.insert(LAST_EVENT_ID, HeaderValue::try_from(seen).map_err(wrong)?);
        }
        self.ask("GET", address, &Json::Null, more)
    }

    /// Has something done by `POST` of which the answer may be larger than memory: it is read as it
    /// comes, and takes memory for a piece of it. It comes only while it is read.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// ```
    /// use jungle::{Jungle, Memory};
    /// use jungle_server::{Data, Options, Remote, Server};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::start(Data::Memory(Jungle::memory()?), Options::default())?;
    /// let remote = Remote::new(&format!("http://{}", server.address()), None)?;
    /// let body = serde_json::json!({"name": "notes"});
    /// let answer = remote.stream(&Remote::address(&["trees"], &[]), &body)?;
    /// assert!(std::io::read_to_string(answer)?.contains("notes"));
    /// server.stop()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&self, address: &str, body: &Json) -> Result<RemoteBody<'_>, RemoteError> {
        self.ask("POST", address, body, HeaderMap::new())
    }

    /// Asks, with these headers besides those that all requests have.
    fn ask(
        &self,
        method: &str,
        address: &str,
        body: &Json,
        more: HeaderMap,
    ) -> Result<RemoteBody<'_>, RemoteError> {
        let mut request = Request::builder().method(method).uri(address);
        request = request.header(HOST, self.authority.clone());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let wrong = |_| RemoteError::Url { url: address.to_owned(), reason: "it cannot be read" };
        let mut request = request.body(Full::new(Bytes::from(body))).map_err(wrong)?;
        request.headers_mut().extend(more);
        let (answer, line) = self.runtime.block_on(self.answer(request))?;
        let (head, body) = answer.into_parts();
        let answer = RemoteBody::new(self, body, line);
        if head.status.is_success() {
            return Ok(answer);
        }
        Err(RemoteError::refused(&self.url, head.status, &answer.whole()?))
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Answered, RemoteError> {
        let kept = self.kept().take();
        // The server may be about to end it: whether a change was done would not be known then.
        if let Some(mut line) = kept.filter(|_| request.method().is_safe())
            && let Ok(answer) = line.ask(request.clone()).await
        {
            return Ok((answer, line));
        }
        let unreached = |source| RemoteError::Unreached { url: self.url.clone(), source };
        let stream = connect(&self.host, self.port).await.map_err(unreached)?;
        let line = match &self.tls {
            None => Line::on(stream).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other);
                let stream = encrypt(tls, name.map_err(unreached)?, stream).await;
                Line::on(stream.map_err(unreached)?).await
            }
        };
        let mut line = line.map_err(|source| self.broken(source))?;
        let answer = line.ask(request).await.map_err(|source| self.broken(source))?;
        Ok((answer, line))
    }

    fn kept(&self) -> MutexGuard<'_, Option<Line>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broken(&self, source: hyper::Error) -> RemoteError {
        RemoteError::Broken { url: self.url.clone(), source }
    }
}

/// The token is nobody's business.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Does what is sent there stay on this machine?
fn is_here(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn servers_are_where_their_urls_say() {
        for (url, host, port, authority) in [
            ("http://a", "a", 80, "a"),
            ("https://a/", "a", 443, "a"),
            ("HTTPS://a", "a", 443, "a"),
            ("http://127.0.0.1:7070/", "127.0.0.1", 7070, "127.0.0.1:7070"),
            ("https://[::1]", "::1", 443, "[::1]"),
            ("http://[2001:db8::1]:7070", "2001:db8::1", 7070, "[2001:db8::1]:7070"),
        ] {
            let remote = Remote::exposing(url, Some("secret")).unwrap();
            assert_eq!((&*remote.host, remote.port), (host, port), "{url}");
            assert_eq!(remote.authority, authority, "{url}");
            assert!(!format!("{remote:?}").contains("secret"), "{url}");
        }
        let odd = Remote::new("http://a", Some("secret\n")).unwrap_err();
        assert!(matches!(odd, RemoteError::Token), "{odd}");
    }

    #[test]
    fn what_names_no_server_is_refused_without_what_may_be_secret() {
        let refused = |url: &str| Remote::new(url, None).unwrap_err().to_string();
        for url in [
            "",
            "/a",
            "a:80",
            "ftp://a",
            "http://",
            "http://:80",
            "http://a:",
            "http://a:x",
            "http://a:65536",
            "http://[::1]:65536",
            "http://a//",
            "http://a/b",
            "http://a/?b",
            "http://a/#b",
        ] {
            assert!(refused(url).contains(" is no URL of a server: "), "{url}");
        }
        for url in [
            "http://ana:secret@a",
            "http://ana:secret@",
            "http://ana: secret@a",
            "http://ana:#secret@a",
            "http://ana:/secret@a",
            "http://a/?token=secret",
            "http://a b/?token=secret",
        ] {
            let told = refused(url);
            assert!(!told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn what_changes_nothing_is_asked_on_a_connection_that_is_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            // It answers so much on each connection, and ends it.
            for answers in [2, 1, 1] {
                let (mut stream, _) = listener.accept().unwrap();
                for _ in 0..answers {
                    let (mut request, mut byte) = (Vec::new(), [0_u8]);
                    while !request.ends_with(b"\r\n\r\n") {
                        stream.read_exact(&mut byte).unwrap();
                        request.extend(byte);
                    }
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na").unwrap();
                }
            }
        });
        let remote = Remote::new(&url, None).unwrap();
        for method in ["GET", "GET", "GET", "POST"] {
            assert_eq!(remote.send(method, "/", &Json::Null).unwrap(), b"a", "{method}");
        }
        served.join().unwrap();
    }
}
