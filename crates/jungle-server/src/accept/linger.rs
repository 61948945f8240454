//! Requests that are answered before all of their body was read. Such a connection cannot go on:
//! what comes next on it is the rest of that body. And it must not be closed at once: the system
//! tells a client that still sends that the connection is reset, and what was answered is lost.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How long a client has to see that it was answered, and to stop sending.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// What is taken from it meanwhile, and thrown away.
const LINGER_BYTES_MAX: u64 = 64 << 20;

/// Whether a request's body was read to its end.
pub(crate) struct Reading(Option<Arc<AtomicBool>>);

impl Reading {
    /// Of this request, from now on.
    pub(crate) fn of(request: Request<Incoming>) -> (Reading, Request<Body>) {
        if request.body().is_end_stream() {
            return (Reading(None), request.map(Body::new));
        }
        let is_read = Arc::new(AtomicBool::new(false));
        let reading = Reading(Some(Arc::clone(&is_read)));
        (reading, request.map(|body| Body::new(Noted { body, is_read })))
    }

    /// Says in the answer that the connection ends, where it must, and whether it does.
    pub(crate) fn end(self, answer: &mut Response) -> bool {
        let is_unread = self.0.is_some_and(|is_read| !is_read.load(Ordering::SeqCst));
        if is_unread {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        is_unread
    }
}

/// A body that notes when it has been read.
struct Noted {
    body: Incoming,
    is_read: Arc<AtomicBool>,
}

impl http_body::Body for Noted {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.is_read.store(true, Ordering::SeqCst);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Tells the client that nothing more comes, and closes the connection when it has done so, too.
pub(crate) async fn close(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let closing = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(LINGER_BYTES_MAX), &mut tokio::io::sink()).await
    };
    // Whoever has gone already, or does not stop, knows all that could be told.
    let _ = tokio::time::timeout(LINGER_TIME, closing).await;
}
