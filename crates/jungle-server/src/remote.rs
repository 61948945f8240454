//! A server as those see it who ask it: one request after the other, on the thread that asks.

use std::fmt;
use std::io;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, IF_MATCH};
use axum::http::{Request, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jungle::{Value, ValueRef};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::api::value::{New, Shown};
use crate::dial::{connect, connector, encrypt, system_roots};

/// A server that is asked by its URL. It is asked on a connection for each request, without a limit
/// of time once that is there: an answer may take as long as the network of a cluster is away.
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
    runtime: Runtime,
}

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
    /// The system does not give what a runtime needs.
    #[error("cannot ask anybody")]
    Threads(#[source] io::Error),
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
    },
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
}

/// A problem document, as far as it is looked at.
#[derive(Deserialize)]
struct Told {
    #[serde(rename = "type")]
    kind: String,
    detail: String,
    hint: Option<String>,
}

impl Remote {
    /// A server, that knows who asks by a token, if there is one. Where the URL says `https`, the
    /// server is known by the certificates that the system trusts, or those in the file that
    /// `SSL_CERT_FILE` names. Nothing is asked yet.
    ///
    /// # Errors
    /// When the URL is not like `http://127.0.0.1:7070`, or the token is none.
    pub fn new(url: &str, token: Option<&str>) -> Result<Remote, RemoteError> {
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
        self.send("GET", address, &Json::Null, None)
    }

    /// Has something done, with a body that is JSON unless it is null; if a revision is given, only
    /// where that is the newest still. Gives the body of the answer.
    ///
    /// # Errors
    /// As [`get`](Remote::get).
    ///
    /// # Panics
    /// As [`get`](Remote::get).
    pub fn send(
        &self,
        method: &str,
        address: &str,
        body: &Json,
        newest: Option<u64>,
    ) -> Result<Vec<u8>, RemoteError> {
        let mut request = Request::builder().method(method).uri(address);
        request = request.header(HOST, self.authority.clone());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        if let Some(newest) = newest {
            request = request.header(IF_MATCH, format!("\"{newest}\""));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let wrong = |_| RemoteError::Url { url: address.to_owned(), reason: "it cannot be read" };
        let request = request.body(Full::new(Bytes::from(body))).map_err(wrong)?;
        let (status, body) = self.runtime.block_on(self.answer(request))?;
        if status.is_success() {
            return Ok(body.to_vec());
        }
        Err(self.refused(status, &body))
    }

    async fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), RemoteError> {
        let unreached = |source| RemoteError::Unreached { url: self.url.clone(), source };
        let stream = connect(&self.host, self.port).await.map_err(unreached)?;
        let answer = match &self.tls {
            None => exchange(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other);
                let stream = encrypt(tls, name.map_err(unreached)?, stream).await;
                exchange(stream.map_err(unreached)?, request).await
            }
        };
        answer.map_err(|source| RemoteError::Broken { url: self.url.clone(), source })
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> RemoteError {
        let told = serde_json::from_slice::<Told>(body).ok();
        let refused = told.and_then(|Told { kind, detail, hint }| {
            let kind = kind.strip_prefix("urn:jungle:")?.to_owned();
            Some(RemoteError::Refused { kind, detail, hint })
        });
        let status = status.as_u16();
        refused.unwrap_or_else(|| RemoteError::Other { url: self.url.clone(), status })
    }
}

/// The token is nobody's business.
impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async move {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?;
        Ok::<_, hyper::Error>((status, body.to_bytes()))
    };
    // When the answer is there, nobody sends any more, and the connection ends, however it does.
    let (answer, _) = tokio::join!(exchange, connection);
    answer
}

/// A value with its type, as a server takes it.
///
/// ```
/// use jungle_server::{typed, value_of};
/// let told = typed(jungle::ValueRef::Int(7));
/// assert_eq!(told.to_string(), r#"{"type":"int","value":7}"#);
/// assert_eq!(value_of(&told), Some(7.into()));
/// ```
#[must_use]
pub fn typed(value: ValueRef<'_>) -> Json {
    serde_json::to_value(Shown { value, bytes_max: usize::MAX }).expect("plain data")
}

/// The value that a server tells, unless it has told a part only.
#[must_use]
pub fn value_of(told: &Json) -> Option<Value> {
    New::deserialize(told).ok().map(|new| new.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_where_their_urls_say() {
        for (url, host, port, authority) in [
            ("http://a", "a", 80, "a"),
            ("https://a/", "a", 443, "a"),
            ("http://127.0.0.1:7070/", "127.0.0.1", 7070, "127.0.0.1:7070"),
            ("https://[::1]", "::1", 443, "[::1]"),
            ("http://[2001:db8::1]:7070", "2001:db8::1", 7070, "[2001:db8::1]:7070"),
        ] {
            let remote = Remote::new(url, Some("secret")).unwrap();
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
}
