//! Checkpoints in the engine's object store, and who writes them in a bucket of keys.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::object_store::{self, Object, ObjectInfo, ObjectStore};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self, ErrorCode, kv};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use jungle_store::StreamError;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::claims::{CLAIM_WITHIN, Claims, GONE_AFTER};
use super::{ACK_WITHIN, ANSWER_WITHIN, NatsLog, QUIET, REST, no_answer, wait};
use crate::engine::depot::{Depot, Stored, WriteCheckpoint};
use crate::engine::error::ConnectError;
use crate::engine::log::LogError;

/// Bytes of a checkpoint that travel together.
const PART_BYTES: usize = 128 << 10;
/// Parts that were written and not sent yet, or received and not read yet.
const PARTS_AHEAD: usize = 8;

/// Where the engine keeps checkpoints.
#[derive(Clone)]
pub(super) struct NatsDepot {
    objects: ObjectStore,
    /// What the objects are made of.
    stream: Stream,
    claims: Claims,
    bucket: String,
    /// What claims of this connection are known by.
    drawn: u64,
}

/// The engine does not say whether it has a stream.
#[derive(Debug, thiserror::Error)]
#[error("the engine does not give {stream}")]
pub(super) struct NotGiven {
    pub(super) stream: String,
    #[source]
    pub(super) source: GetStreamError,
}

/// Does the engine have this stream? One that has no leader just now is there, too.
async fn is_there(jetstream: &jetstream::Context, stream: &str) -> Result<bool, async_nats::Error> {
    let Err(source) = jetstream.get_stream(stream).await else { return Ok(true) };
    match source.kind() {
        GetStreamErrorKind::JetStream(error)
            if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
        {
            Ok(false)
        }
        _ => Err(NotGiven { stream: stream.to_owned(), source }.into()),
    }
}

impl NatsDepot {
    /// Makes what is not there.
    pub(super) async fn open(
        jetstream: &jetstream::Context,
        name: &str,
        replicas: usize,
    ) -> Result<NatsDepot, async_nats::Error> {
        let bucket = format!("jungle-{name}");
        let stored = format!("OBJ_{bucket}");
        if !is_there(jetstream, &stored).await? {
            let config = object_store::Config {
                bucket: bucket.clone(),
                description: Some("checkpoints, by their newest messages".to_owned()),
                num_replicas: replicas,
                ..object_store::Config::default()
            };
            jetstream.create_object_store(config).await?;
        }
        // Read of its leader only: a replica that lags would tell of what is there no more, and
        // not of all that is.
        let mut config = jetstream.get_stream(&stored).await?.cached_info().config.clone();
        if config.allow_direct {
            config.allow_direct = false;
            jetstream.update_stream(config).await?;
        }
        let objects = jetstream.get_object_store(&bucket).await?;
        let claims = kv::Config {
            bucket: bucket.clone(),
            description: "who writes a checkpoint".to_owned(),
            max_age: CLAIM_WITHIN,
            num_replicas: replicas,
            ..kv::Config::default()
        };
        let claims = match is_there(jetstream, &format!("KV_{bucket}")).await? {
            true => jetstream.get_key_value(&bucket).await?,
            false => jetstream.create_key_value(claims).await?,
        };
        let stream = jetstream.get_stream(stored).await?;
        let drawn = RandomState::new().hash_one(&bucket);
        let claims = Claims::new(claims, &bucket);
        Ok(NatsDepot { objects, stream, claims, bucket, drawn })
    }

    /// Is it kept as safely as the log, which goes back to the checkpoints only? It may have been
    /// there before, or the log has more replicas now than when both were made.
    pub(super) fn check(&self, replicas: usize) -> Result<(), ConnectError> {
        let objects = &self.stream.cached_info().config;
        let claims = &self.claims.store.stream.cached_info().config;
        let count = |replicas: usize| replicas.to_string();
        let (file, never) = (StorageType::File, Duration::ZERO);
        let settings = [
            (objects, "replicas", count(objects.num_replicas), count(replicas)),
            (objects, "storage", format!("{:?}", objects.storage), format!("{file:?}")),
            (objects, "max_age", format!("{:?}", objects.max_age), format!("{never:?}")),
            (claims, "replicas", count(claims.num_replicas), count(replicas)),
        ];
        match settings.into_iter().find(|(_, _, found, wanted)| found != wanted) {
            None => Ok(()),
            Some((of, setting, found, wanted)) => {
                let stream = of.name.clone();
                Err(ConnectError::Setting { stream, setting, found, wanted })
            }
        }
    }

    async fn stored(&self) -> Result<Vec<u64>, async_nats::Error> {
        let infos = self.infos().await?;
        let there = infos.iter().filter(|info| !info.deleted);
        let mut stored: Vec<u64> = there.filter_map(|info| info.name.parse().ok()).collect();
        stored.sort_unstable_by(|a, b| b.cmp(a));
        Ok(stored)
    }

    /// What there is, as the leader says. The client's own list comes from a consumer, which may be
    /// on a replica that lags.
    async fn infos(&self) -> Result<Vec<ObjectInfo>, async_nats::Error> {
        let mut infos = Vec::new();
        let named = format!("$O.{}.M.>", self.bucket);
        let mut subjects = self.stream.info_with_subjects(named).await?;
        while let Some(subject) = timeout(QUIET, subjects.next()).await? {
            let (subject, _) = subject?;
            match self.stream.get_last_raw_message_by_subject(&subject).await {
                Ok(message) => infos.push(serde_json::from_slice(&message.payload)?),
                // Removed since.
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(infos)
    }

    /// Leaves nothing behind, which the client's own way does.
    async fn remove(&self, name: &str) -> Result<(), async_nats::Error> {
        let info = match self.objects.info(name).await {
            Ok(info) => info,
            Err(error) if error.kind() == object_store::InfoErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let named = format!("$O.{}.M.{}", self.bucket, URL_SAFE.encode(name));
        self.stream.purge().filter(named).await?;
        self.stream.purge().filter(self.parts(&info.nuid)).await?;
        Ok(())
    }

    /// Removes the parts of what was never put to its end, if nobody has added to them for so long.
    async fn sweep(&self, quiet: Duration) -> Result<(), async_nats::Error> {
        let infos = self.infos().await?;
        let whole: Vec<String> = infos.iter().map(|info| self.parts(&info.nuid)).collect();
        // The engine's own clock, by what came last.
        let now = self.stream.get_info().await?.state.last_timestamp;
        let mut subjects = self.stream.info_with_subjects(self.parts(">")).await?;
        while let Some(subject) = timeout(QUIET, subjects.next()).await? {
            let (subject, _) = subject?;
            if whole.contains(&subject) {
                continue;
            }
            let last = self.stream.get_last_raw_message_by_subject(&subject).await?;
            if now - last.time >= quiet {
                self.stream.purge().filter(subject).await?;
            }
        }
        Ok(())
    }

    /// The subject of the parts of an object.
    fn parts(&self, id: &str) -> String {
        format!("$O.{}.C.{id}", self.bucket)
    }
}

fn name(sequence: u64) -> String {
    format!("{sequence:020}")
}

impl NatsLog {
    /// Asks again until there is an answer, or the time is over.
    fn ask<T: Send + 'static, F>(
        &self,
        ask: impl Fn(NatsDepot) -> F + Send + 'static,
    ) -> Result<T, LogError>
    where
        F: Future<Output = Result<T, async_nats::Error>> + Send + 'static,
    {
        let depot = self.depot.clone().ok_or(LogError::Closed)?;
        self.wait(ANSWER_WITHIN * 2, asked(depot, ask))?
    }
}

async fn asked<T, F>(depot: NatsDepot, ask: impl Fn(NatsDepot) -> F) -> Result<T, LogError>
where
    F: Future<Output = Result<T, async_nats::Error>>,
{
    let deadline = Instant::now() + ANSWER_WITHIN;
    loop {
        match ask(depot.clone()).await {
            Ok(answer) => break Ok(answer),
            Err(error) if Instant::now() > deadline => break Err(no_answer(error)),
            Err(_) => sleep(REST).await,
        }
    }
}

impl Depot for NatsLog {
    fn stored(&self) -> Result<Vec<u64>, LogError> {
        self.ask(|depot| async move { depot.stored().await })
    }

    fn put(&self, sequence: u64, write: WriteCheckpoint<'_>) -> Result<(), LogError> {
        let threads = self.threads.as_ref().ok_or(LogError::Closed)?;
        let failed = |source| LogError::Checkpoint { sequence, source };
        let (sender, receiver) = mpsc::channel(PARTS_AHEAD);
        let (done, is_put) = sync_channel(1);
        let depot = self.depot.as_ref().ok_or(LogError::Closed)?;
        let (objects, mut closed) = (depot.objects.clone(), self.closed.subscribe());
        threads.spawn(async move {
            let (name, mut parts) = (name(sequence), Parts::new(receiver));
            let put = tokio::select! {
                _ = closed.wait_for(|closed| *closed) => Err(LogError::Closed.into()),
                put = objects.put(&*name, &mut parts) => {
                    put.map(drop).map_err(async_nats::Error::from)
                }
            };
            // Whoever wrote it waits for this.
            let _ = done.send(put);
        });
        let mut out = PartWriter { sender, part: BytesMut::with_capacity(PART_BYTES) };
        let writing = || write(&mut out).and_then(|()| Ok(out.end()?));
        let written = panic::catch_unwind(AssertUnwindSafe(writing));
        drop(out);
        let put = is_put.recv().unwrap_or_else(|_| Err(LogError::Closed.into()));
        match (written.unwrap_or_else(|panic| panic::resume_unwind(panic)), put) {
            (Ok(()), put) => put.map_err(failed),
            // Nothing could be written because the engine had failed.
            (Err(StreamError::Io(_)), Err(source)) => Err(failed(source)),
            (Err(error), _) => Err(failed(error.into())),
        }
    }

    fn open(&self, sequence: u64) -> Result<Stored, LogError> {
        let threads = self.threads.as_ref().ok_or(LogError::Closed)?;
        let object = self.ask(move |depot| async move {
            match depot.objects.get(name(sequence)).await {
                Ok(object) => Ok(Some(object)),
                Err(error) if error.kind() == object_store::GetErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            }
        })?;
        let source = "the engine has it no more".into();
        let object = object.ok_or(LogError::Checkpoint { sequence, source })?;
        let bytes = object.info.size as u64;
        let (sender, receiver) = mpsc::channel(PARTS_AHEAD);
        let mut closed = self.closed.subscribe();
        threads.spawn(async move {
            let is_closed = async { drop(closed.wait_for(|closed| *closed).await) };
            let is_cut = tokio::select! {
                () = receive(object, sender.clone()) => false,
                () = is_closed => true,
            };
            if is_cut {
                // What came so far must not be taken for all.
                let _ = sender.send(Err(io::Error::other(LogError::Closed))).await;
            }
        });
        Ok(Stored { bytes, content: Box::new(PartReader { receiver, part: Bytes::new() }) })
    }

    fn remove(&self, sequence: u64) -> Result<(), LogError> {
        self.ask(move |depot| async move { depot.remove(&name(sequence)).await })
    }

    fn trim(&self, sequence: u64) -> Result<(), LogError> {
        let stream = self.stream.clone();
        self.ask(move |_| {
            let purge = stream.purge().sequence(sequence + 1);
            async move { Ok(purge.await.map(|_| ())?) }
        })
    }

    fn sweep(&self) -> Result<(), LogError> {
        self.ask(|depot| async move { depot.sweep(CLAIM_WITHIN).await })
    }

    fn claim(&self, server: &str) -> Result<bool, LogError> {
        let threads = self.threads.as_ref().ok_or(LogError::Closed)?;
        let depot = self.depot.as_ref().ok_or(LogError::Closed)?;
        let own = Bytes::from(format!("{server} {:016x}", depot.drawn));
        let wanted = own.clone();
        let claimed = self.ask(move |depot| {
            let own = wanted.clone();
            async move { depot.claims.claim(&own, GONE_AFTER).await }
        })?;
        if let Some(revision) = claimed {
            depot.claims.keep(threads, own, revision);
        }
        Ok(claimed.is_some())
    }

    /// Also when it was closed, for a moment: whoever leaves while it writes lets others write.
    fn release(&self) {
        let (Some(threads), Some(depot)) = (&self.threads, self.depot.clone()) else { return };
        depot.claims.let_go();
        let mut closed = self.closed.subscribe();
        let released = async move {
            let asking = asked(depot, |depot| async move { depot.claims.remove().await });
            let late = async {
                drop(closed.wait_for(|closed| *closed).await);
                sleep(ACK_WITHIN).await;
            };
            // If it fails, the entry fades.
            tokio::select! {
                _ = asking => {}
                () = late => {}
            }
        };
        let _ = wait(threads, ANSWER_WITHIN * 2, released);
    }
}

/// Reads an object part by part.
async fn receive(mut object: Object, sender: mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let mut part = BytesMut::with_capacity(PART_BYTES);
        // Of an object that is removed meanwhile nothing more comes.
        let read = timeout(QUIET, object.read_buf(&mut part)).await;
        let part = match read.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(0) => return,
            Ok(_) => Ok(part.freeze()),
            Err(error) => Err(error),
        };
        let is_last = part.is_err();
        if sender.send(part).await.is_err() || is_last {
            return;
        }
    }
}

/// Parts on their way to the engine.
struct Parts {
    receiver: mpsc::Receiver<Bytes>,
    part: Bytes,
    is_over: bool,
}

impl AsyncRead for Parts {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.part.is_empty() && !self.is_over {
            // Whoever wrote it has failed: what came so far must not be taken for all.
            let part =
                ready!(self.receiver.poll_recv(context)).ok_or(io::ErrorKind::Interrupted)?;
            self.is_over = part.is_empty();
            self.part = part;
        }
        let length = self.part.len().min(buffer.remaining());
        buffer.put_slice(&self.part.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl Parts {
    fn new(receiver: mpsc::Receiver<Bytes>) -> Parts {
        Parts { receiver, part: Bytes::new(), is_over: false }
    }
}

/// Sends what is written.
struct PartWriter {
    sender: mpsc::Sender<Bytes>,
    part: BytesMut,
}

impl PartWriter {
    /// Says that this was all, by a part without anything in it.
    fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.send(Bytes::new())
    }

    fn send(&self, part: Bytes) -> io::Result<()> {
        self.sender.blocking_send(part).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PartWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(PART_BYTES - self.part.len());
        self.part.extend_from_slice(&bytes[..length]);
        if self.part.len() == PART_BYTES {
            self.flush()?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.part.is_empty() {
            return Ok(());
        }
        let part = std::mem::replace(&mut self.part, BytesMut::with_capacity(PART_BYTES));
        self.send(part.freeze())
    }
}

/// Gives what was received.
struct PartReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    part: Bytes,
}

impl Read for PartReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(part) => self.part = part?,
            }
        }
        let length = self.part.len().min(bytes.len());
        bytes[..length].copy_from_slice(&self.part.split_to(length));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use jungle_testkit::NatsServers;

    use super::*;
    use crate::join::options::Options;

    #[test]
    fn what_was_not_put_to_its_end_is_removed_when_nobody_adds_to_it() {
        let engine = NatsServers::start(1);
        let log = NatsLog::connect(&engine.addresses(), &Options::default()).unwrap();
        let bytes = vec![7; 3 * PART_BYTES];
        let failing = log.put(1, &mut |out| {
            out.write_all(&bytes)?;
            Err(StreamError::Short)
        });
        failing.unwrap_err();
        let panicking = panic::catch_unwind(AssertUnwindSafe(|| {
            log.put(1, &mut |out| {
                out.write_all(&bytes)?;
                panic!("as it is written");
            })
        }));
        panicking.unwrap_err();
        assert!(log.stored().unwrap().is_empty());
        log.put(2, &mut |out| Ok(out.write_all(&bytes)?)).unwrap();
        let subjects = || {
            let counted = log.ask(|depot| async move {
                let subjects = depot.stream.info_with_subjects(depot.parts(">")).await?;
                Ok(subjects.count().await)
            });
            counted.unwrap()
        };
        assert_eq!(subjects(), 3);
        for (quiet, left) in [(CLAIM_WITHIN, 3), (Duration::ZERO, 1)] {
            log.ask(move |depot| async move { depot.sweep(quiet).await }).unwrap();
            assert_eq!(subjects(), left);
        }
        let mut read = Vec::new();
        log.open(2).unwrap().content.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    /// Else nobody would write one for minutes where an answer was lost.
    #[test]
    fn who_has_a_claim_is_told_so_again() {
        let engine = NatsServers::start(1);
        let connect = || NatsLog::connect(&engine.addresses(), &Options::default()).unwrap();
        let (ours, other) = (connect(), connect());
        let claims = [ours.claim("a"), ours.claim("a"), other.claim("a")];
        assert_eq!(claims.map(Result::unwrap), [true, true, false]);
    }

    /// As that of a server that was killed: else nobody would write one for ten minutes.
    #[test]
    fn a_claim_that_nobody_writes_anew_is_taken_over() {
        let engine = NatsServers::start(1);
        let connect = || NatsLog::connect(&engine.addresses(), &Options::default()).unwrap();
        let (one, other) = (connect(), connect());
        let name = Bytes::from_static;
        let claim = |log: &NatsLog, own: &'static [u8], gone_after| {
            let claimed = log
                .ask(move |depot| async move { depot.claims.claim(&name(own), gone_after).await });
            claimed.unwrap()
        };
        let renew = |revision| {
            let renewed = one
                .ask(move |depot| async move { depot.claims.renew(&name(b"one"), revision).await });
            renewed.unwrap()
        };
        let first = claim(&one, b"one", CLAIM_WITHIN).unwrap();
        // It is seen for the first time, and again too soon.
        assert_eq!(claim(&other, b"other", Duration::ZERO), None);
        assert_eq!(claim(&other, b"other", CLAIM_WITHIN), None);
        let anew = renew(first).unwrap();
        assert!(anew > first);
        assert_eq!(claim(&other, b"other", Duration::ZERO), None);
        assert!(claim(&other, b"other", Duration::ZERO) > Some(anew));
        assert_eq!(renew(anew), None);
        // It was stopped meanwhile, and knows nothing of that.
        one.release();
        assert_eq!(claim(&one, b"one", CLAIM_WITHIN), None);
        other.release();
        assert!(claim(&one, b"one", CLAIM_WITHIN).is_some());
    }
}
