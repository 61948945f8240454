//! How the authority is asked: a connection for each request, encrypted, within limits.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use axum::http::header::{HOST, HeaderValue};
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};

use super::AcmeError;
use crate::dial::{connect, connector, system_roots};

/// How long a request may take, with all that it needs.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// An answer is some kilobytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

const PORT: u16 = 443;

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("{0} is no address of an authority")]
    Address(Uri),
    #[error("cannot reach {host}: {source}")]
    Connect { host: String, source: io::Error },
    #[error("{host} gave no answer: {source}")]
    Broken { host: String, source: hyper::Error },
    #[error("the answer of {host} cannot be read: {reason}")]
    Answer { host: String, reason: String },
    #[error("{0} did not answer in time")]
    Late(String),
}

#[derive(Clone)]
pub(super) struct Transport(TlsConnector);

impl Transport {
    /// To an authority that is known by these certificates, or else by those of the system.
    pub(super) fn new(root: Option<&Path>) -> Result<Transport, AcmeError> {
        let (roots, place) = match root {
            Some(path) => {
                let unread = |source| AcmeError::Root { path: path.to_owned(), source };
                let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
                let read: Vec<CertificateDer<'_>> = read.map_err(unread)?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(read);
                (roots, path.display().to_string())
            }
            None => (system_roots(), "the system".to_owned()),
        };
        if roots.is_empty() {
            return Err(AcmeError::NoRoot(place));
        }
        Ok(Transport(connector(roots)))
    }
}

type Answered = Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>>;

impl HttpClient for Transport {
    fn request(&self, request: Request<BodyWrapper<Bytes>>) -> Answered {
        let tls = self.0.clone();
        Box::pin(async move {
            let host = request.uri().host().unwrap_or_default();
            let host = host.trim_matches(['[', ']']).to_owned();
            let answered = timeout(REQUEST_TIME, ask(&tls, &host, request)).await;
            let answered = answered.unwrap_or(Err(Unanswered::Late(host)));
            answered.map(BytesResponse::from).map_err(|error| Error::Other(Box::new(error)))
        })
    }
}

async fn ask(
    tls: &TlsConnector,
    host: &str,
    mut request: Request<BodyWrapper<Bytes>>,
) -> Result<Response<Full<Bytes>>, Unanswered> {
    let uri = request.uri().clone();
    let no_address = || Unanswered::Address(uri.clone());
    let name = ServerName::try_from(host.to_owned()).map_err(|_| no_address())?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("https"));
    let authority = HeaderValue::try_from(authority.ok_or_else(no_address)?.as_str());
    request.headers_mut().insert(HOST, authority.map_err(|_| no_address())?);
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    *request.uri_mut() = path.parse().map_err(|_| no_address())?;

    let unreached = |source| Unanswered::Connect { host: host.to_owned(), source };
    let stream = connect(host, uri.port_u16().unwrap_or(PORT)).await.map_err(unreached)?;
    let stream = tls.connect(name, stream).await.map_err(unreached)?;
    let broken = |source| Unanswered::Broken { host: host.to_owned(), source };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let exchange = async move {
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let unread = |reason: String| Unanswered::Answer { host: host.to_owned(), reason };
        let body = body.map_err(|error| unread(error.to_string()))?;
        Ok(Response::from_parts(head, Full::new(body.to_bytes())))
    };
    // When the answer is there, nobody sends any more, and the connection ends, however it does.
    let (answer, _) = tokio::join!(exchange, connection);
    answer
}
