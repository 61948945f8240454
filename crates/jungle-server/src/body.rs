//! Bodies: read within limits, and streamed in pieces.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Request};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::error::Elapsed;

use crate::access::Who;
use crate::limits::Limits;
use crate::problem::{Kind, Problem};

/// Pieces that wait for the client, where they are of about the same length.
const PIECES: usize = 4;

/// Bytes that a body which says that it is as long has room for from the start.
const ROOM_MAX: usize = 4 << 20;

/// The whole body. It may have come for half an hour: whoever may not do any more what it might at
/// its head is refused.
pub(crate) async fn whole(request: Request<Body>, limits: &Limits) -> Result<Bytes, Problem> {
    within(request, limits, limits.body_bytes_max).await
}

/// The same, where less will do.
pub(crate) async fn within(
    request: Request<Body>,
    limits: &Limits,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    let bytes_max = bytes_max.min(limits.body_bytes_max);
    let too_large =
        || Problem::new(Kind::TooLarge, format_args!("a body has at most {bytes_max} bytes here"));
    let length = length(request.headers()).unwrap_or_default();
    if length > bytes_max as u64 {
        return Err(too_large());
    }
    let who = request.extensions().get::<Who>().cloned();
    let mut body = Limited::new(request.into_body(), bytes_max);
    // Room for all of it at once: what grows is copied, and leaves room behind each time. None is
    // taken of the system until something is there.
    let room = usize::try_from(length).map_or(ROOM_MAX, |length| length.min(ROOM_MAX));
    let (mut whole, mut patience) = (Vec::with_capacity(room), Patience::of_bodies(limits));
    loop {
        match patience.next(&mut body).await {
            Ok(None) if who.as_ref().is_none_or(Who::is_as_before) => return Ok(whole.into()),
            Ok(None) => {
                let detail = "what you may do was changed while the body came";
                return Err(Problem::new(Kind::Forbidden, detail).hint("send it again"));
            }
            Ok(Some(Ok(piece))) => whole.extend_from_slice(&piece),
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_large()),
            Ok(Some(Err(_))) => {
                return Err(Problem::bad("the body ended early or is not what HTTP says"));
            }
            Err(_) => return Err(Problem::new(Kind::TimedOut, "the body came too slowly")),
        }
    }
}

/// What a request asks for by a body that is JSON, and says so.
pub(crate) async fn asked<T: DeserializeOwned>(
    request: Request<Body>,
    limits: &Limits,
) -> Result<T, Problem> {
    must_be(request.headers(), "application/json")?;
    json(&whole(request, limits).await?)
}

/// The body as JSON.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::bad(format_args!("the body: {error}")).hint("/openapi.json has what it must be")
    })
}

/// Refuses a body that says it is something else. A form of another site cannot say that it is
/// JSON without asking first, which no answer here allows.
pub(crate) fn must_be(headers: &HeaderMap, wanted: &str) -> Result<(), Problem> {
    must_be_one_of(headers, &[wanted]).map(drop)
}

/// The same where it may be several things; tells which of them it is.
pub(crate) fn must_be_one_of(headers: &HeaderMap, wanted: &[&str]) -> Result<usize, Problem> {
    let found = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = found.split(';').next().unwrap_or_default().trim();
    let at = wanted.iter().position(|wanted| media.eq_ignore_ascii_case(wanted));
    at.ok_or_else(|| {
        let detail = format_args!("Content-Type is {found:?}");
        let hint = format!("send {}", wanted.join(" or "));
        Problem::new(Kind::UnsupportedMedia, detail).hint(hint)
    })
}

/// Refuses a body that was compressed, or changed otherwise: it is taken as it comes.
pub(crate) fn must_be_plain(headers: &HeaderMap) -> Result<(), Problem> {
    let said = headers.get_all(CONTENT_ENCODING).into_iter();
    let mut codings = said.flat_map(|value| value.to_str().unwrap_or("?").split(','));
    let other = codings.find(|coding| !coding.trim().eq_ignore_ascii_case("identity"));
    let Some(other) = other else {
        return Ok(());
    };
    let detail = format_args!("Content-Encoding is {:?}", other.trim());
    Err(Problem::new(Kind::UnsupportedMedia, detail)
        .hint("send the body as it is")
        .header(ACCEPT_ENCODING, HeaderValue::from_static("identity")))
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// How long a body is waited for, or a client that takes one: each byte gives some more time, so
/// that a slow line may take as long as it needs, and a client that trickles may not.
struct Patience {
    left: Duration,
    most: Duration,
    /// Bytes a second.
    rate_min: u32,
}

impl Patience {
    fn new(most: Duration, rate_min: u32) -> Patience {
        Patience { left: most, most, rate_min }
    }

    fn of_bodies(limits: &Limits) -> Patience {
        Patience::new(limits.piece_time, limits.body_rate_min)
    }

    /// The next piece, if it comes in time.
    async fn next<B>(&mut self, body: &mut B) -> Result<Option<Result<Bytes, B::Error>>, Elapsed>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
    {
        let began = Instant::now();
        let frame = tokio::time::timeout(self.left, body.frame()).await?;
        let piece = frame.map(|frame| frame.map(|it| it.into_data().unwrap_or_default()));
        if let Some(Ok(piece)) = &piece {
            self.waited(began.elapsed(), piece.len());
        }
        Ok(piece)
    }

    /// What takes long here is not the client's fault: only what it is waited for counts. Nor is
    /// what came quickly kept for later, or a large document could trickle for days.
    fn waited(&mut self, time: Duration, bytes: usize) {
        let earned = match self.rate_min {
            0 => time,
            rate => Duration::from_secs_f64(bytes as f64 / f64::from(rate)),
        };
        self.left = (self.left.saturating_sub(time) + earned).min(self.most);
    }
}

/// The body of an answer that is made while it is sent.
struct Pieces {
    pieces: mpsc::Receiver<Bytes>,
    /// Where an end too early must not look like the end.
    is_whole: Arc<AtomicBool>,
}

fn channel(many: usize, is_whole: bool) -> (mpsc::Sender<Bytes>, Arc<AtomicBool>, Body) {
    let ((send, pieces), is_whole) = (mpsc::channel(many), Arc::new(AtomicBool::new(is_whole)));
    let body = Body::new(Pieces { pieces, is_whole: Arc::clone(&is_whole) });
    (send, is_whole, body)
}

/// Where the pieces are put, and the body that they become: whole wherever it ends. One waits,
/// since they may be long.
pub(crate) fn pieces() -> (mpsc::Sender<Bytes>, Body) {
    let (send, _, body) = channel(1, true);
    (send, body)
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.pieces.poll_recv(context).map(|piece| match piece {
            Some(piece) => Some(Ok(Frame::data(piece))),
            None if self.is_whole.load(Ordering::SeqCst) => None,
            None => Some(Err(std::io::ErrorKind::UnexpectedEof.into())),
        })
    }
}

/// A body that is read by a thread that may block, piece by piece.
pub(crate) struct Incoming {
    body: Body,
    piece: Bytes,
    left: u64,
    patience: Patience,
    runtime: tokio::runtime::Handle,
}

impl Incoming {
    /// To be used on another thread than those that serve.
    pub(crate) fn new(body: Body, limits: &Limits) -> Incoming {
        Incoming {
            body,
            piece: Bytes::new(),
            left: limits.document_bytes_max,
            patience: Patience::of_bodies(limits),
            runtime: tokio::runtime::Handle::current(),
        }
    }

    fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        match self.runtime.block_on(self.patience.next(&mut self.body)) {
            Ok(piece) => piece.transpose().map_err(std::io::Error::other),
            Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
        }
    }
}

impl std::io::Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.piece.is_empty() {
            let Some(piece) = self.next()? else {
                return Ok(0);
            };
            let bytes = piece.len() as u64;
            self.left = self.left.checked_sub(bytes).ok_or(std::io::ErrorKind::FileTooLarge)?;
            self.piece = piece;
        }
        let taken = self.piece.split_to(self.piece.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// The other way: what a thread that may block writes goes to the client, in large pieces. Unless
/// it is [finished](Outgoing::finish), the client's connection breaks where it ended: so it does
/// when the client may not do any more what it might when it asked.
pub(crate) struct Outgoing {
    pieces: mpsc::Sender<Bytes>,
    is_whole: Arc<AtomicBool>,
    waiting: Vec<u8>,
    /// For whom.
    who: Who,
    piece_time: Duration,
    /// For all pieces together.
    patience: Patience,
    runtime: tokio::runtime::Handle,
}

/// Over so long a client that is held to a rate may be slower.
const RATE_TIME: Duration = Duration::from_secs(300);

/// Bytes of a piece, about.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

impl Outgoing {
    /// To be used on another thread than those that serve.
    pub(crate) fn new(limits: &Limits, who: Who) -> (Outgoing, Body) {
        let (pieces, is_whole, body) = channel(PIECES, false);
        let out = Outgoing {
            pieces,
            is_whole,
            waiting: Vec::new(),
            who,
            piece_time: limits.piece_time,
            patience: Patience::new(limits.piece_time, 0),
            runtime: tokio::runtime::Handle::current(),
        };
        (out, body)
    }

    /// The same, for what others wait for: the client must not only take each piece in time.
    pub(crate) fn copying(limits: &Limits, who: Who) -> (Outgoing, Body) {
        let (out, body) = Outgoing::new(limits, who);
        let patience = Patience::new(RATE_TIME, limits.copy_rate_min);
        (Outgoing { patience, ..out }, body)
    }

    /// That was all.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.send()?;
        self.is_whole.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn send(&mut self) -> std::io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if !self.who.is_as_before() {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        let piece = Bytes::from(std::mem::take(&mut self.waiting));
        // A client that does not read must not hold a thread.
        let (began, bytes) = (Instant::now(), piece.len());
        let send = self.pieces.send_timeout(piece, self.piece_time.min(self.patience.left));
        self.runtime.block_on(send).map_err(|_| std::io::ErrorKind::BrokenPipe)?;
        self.patience.waited(began.elapsed(), bytes);
        Ok(())
    }
}

impl std::io::Write for Outgoing {
    /// Takes a piece at most, so that what is long neither waits in memory as a whole, nor must be
    /// taken by the client within the time for a piece.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES);
        self.waiting.extend_from_slice(&bytes[..taken]);
        if self.waiting.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.send()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn only_a_finished_body_ends_as_one() {
        for is_finished in [true, false] {
            let (mut out, body) = Outgoing::new(&Limits::default(), Who::Anybody);
            let written = tokio::task::spawn_blocking(move || {
                out.write_all(b"[1,")?;
                out.flush()?;
                if is_finished { out.finish() } else { Ok(()) }
            });
            written.await.unwrap().unwrap();
            assert_eq!(body.collect().await.is_ok(), is_finished);
        }
    }

    #[test]
    fn what_comes_slowly_uses_up_patience_and_what_came_quickly_is_not_kept() {
        let (most, second) = (Duration::from_secs(300), Duration::from_secs(1));
        let mut patience = Patience::new(most, 100);
        for (time, bytes, left) in [
            (second, 100, most),
            (Duration::ZERO, 1_000_000, most),
            (100 * second, 5_000, 250 * second),
            (100 * second, 5_000, 200 * second),
            (second, 1_100, 210 * second),
            (210 * second, 0, Duration::ZERO),
        ] {
            patience.waited(time, bytes);
            assert_eq!(patience.left, left, "{bytes} bytes in {time:?}");
        }
        let mut patience = Patience::new(most, 0);
        patience.waited(200 * second, 1);
        assert_eq!(patience.left, most, "no rate is asked for");
    }

    #[tokio::test]
    async fn client_that_takes_each_piece_in_time_is_held_to_a_rate() {
        let limits = Limits { piece_time: Duration::from_secs(3_600), ..Limits::default() };
        let (out, _body) = Outgoing::copying(&limits, Who::Anybody);
        let mut out = Outgoing { patience: Patience::new(Duration::from_millis(1), 1), ..out };
        let pieces = vec![0; PIECE_BYTES * (PIECES + 1)];
        let written = tokio::task::spawn_blocking(move || out.write_all(&pieces));
        // Those for which there is room give no more time than there is at most.
        assert!(written.await.unwrap().is_err());
    }
}
