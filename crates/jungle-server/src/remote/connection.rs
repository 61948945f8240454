//! A connection to a server, on which one request goes after the other.

use std::future::poll_fn;
use std::pin::{Pin, pin};

use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// The head of an answer, with the connection on which its body comes.
pub(super) type Answered = (Response<Incoming>, Line);

/// A connection, and where requests are put that go over it.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    pub(super) connection: Connection,
}

impl Line {
    pub(super) async fn on<S>(stream: S) -> hyper::Result<Line>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Line { sender, connection: Connection(Some(Box::pin(connection))) })
    }

    /// Fails where the connection has ended, or ends before the answer.
    pub(super) async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        let Line { sender, connection } = self;
        let answer = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        connection.go_on_for(answer).await
    }
}

/// A connection, until it has ended.
pub(super) struct Connection(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

impl Connection {
    /// Goes on until something has come that is waited for.
    pub(super) async fn go_on_for<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = pin!(wanted);
        poll_fn(|context| {
            if let Some(connection) = &mut self.0
                && connection.as_mut().poll(context).is_ready()
            {
                // What ended it is told to whoever waits for something of it.
                self.0 = None;
            }
            wanted.as_mut().poll(context)
        })
        .await
    }
}
