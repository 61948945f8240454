//! What a server answers, as it comes.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::connection::Line;
use super::{Remote, RemoteError};

/// For how long nothing may come of an answer that has begun, where it is read as it comes: the
/// server may be gone without a word.
const PIECE_TIME: Duration = Duration::from_secs(60);

/// An answer's body, which comes while it is read: see [`Remote::stream`] and [`Remote::events`].
/// Who drops it goes away. A read fails when the connection ends before the body does, or nothing
/// comes for a minute.
pub struct RemoteBody<'r> {
    remote: &'r Remote,
    body: Incoming,
    line: Line,
    /// What has come, and is not read yet.
    piece: Bytes,
}

impl<'r> RemoteBody<'r> {
    /// That of a request of a server, of which the head has come on this connection.
    pub(super) fn new(remote: &'r Remote, body: Incoming, line: Line) -> RemoteBody<'r> {
        RemoteBody { remote, body, line, piece: Bytes::new() }
    }

    pub(super) fn whole(self) -> Result<Vec<u8>, RemoteError> {
        let RemoteBody { remote, body, mut line, .. } = self;
        let whole = remote.runtime.block_on(line.connection.go_on_for(body.collect()));
        let whole = whole.map_err(|source| remote.broken(source))?;
        *remote.kept() = Some(line);
        Ok(whole.to_bytes().to_vec())
    }
}

impl Read for RemoteBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let RemoteBody { remote, body, line, .. } = self;
            let next = line.connection.go_on_for(body.frame());
            let next = remote.runtime.block_on(async { timeout(PIECE_TIME, next).await });
            let next = next.map_err(|_| io::Error::from(ErrorKind::TimedOut))?;
            let Some(frame) = next else { return Ok(0) };
            // What is no data is behind all of it, and nobody here sends that.
            self.piece = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
        }
        let taken = self.piece.split_to(self.piece.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

impl fmt::Debug for RemoteBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteBody").field("remote", self.remote).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use serde_json::Value as Json;

    use super::*;

    /// Asks a server that answers this and goes away.
    fn read(answer: &'static str) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut byte) = (Vec::new(), [0_u8]);
            while !request.ends_with(b"{}") {
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let remote = Remote::new(&url, None).unwrap();
        let body = Json::Object(serde_json::Map::new());
        let read = io::read_to_string(remote.stream("/", &body).unwrap());
        served.join().unwrap();
        read
    }

    #[test]
    fn answer_that_breaks_off_is_not_taken_for_all() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                       2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(read(chunked).unwrap(), "abc");
        for end in ["0\r\n\r\n", "1\r\nc\r\n0\r\n\r\n", "\r\n1\r\nc\r\n0\r\n\r\n"] {
            assert!(read(chunked.strip_suffix(end).unwrap()).is_err(), "without {end:?}");
        }
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(read(counted).unwrap(), "abc");
        assert!(read(counted.strip_suffix('c').unwrap()).is_err());
    }
}
