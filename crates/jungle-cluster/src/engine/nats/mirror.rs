//! A copy of the log at a site: a leaf node of the engine, with JetStream in a domain of its own,
//! has a stream that mirrors the log, with the same sequences. Servers there follow it, so that a
//! message comes over the link between the sites once, however many they are.
//!
//! It is never asked for what is newest, nothing is appended to it, and it counts for nothing when
//! a server finds its place: the engine fills it when it can, and after the link was down that may
//! take it a quarter of a minute. Whenever it is not what the log is, or is behind, the log itself
//! is followed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::context::{Context, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, External, Info, RetentionPolicy, Source, StorageType, Stream,
};
use async_nats::jetstream::{ErrorCode, stream};
use bytes::Bytes;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use super::opening::{ID, api_of, context};
use super::{ACK_WITHIN, REST, get, refusal, wait};
use crate::cluster::survey::MirrorStatus;
use crate::engine::error::ConnectError;

/// How long a message may take that the mirror and the log are held against each other by.
const HELD_WITHIN: Duration = Duration::from_secs(2);

/// How often it is looked whether the mirror has what the log has just got.
const COMES_UP_TRIES: usize = 5;

/// When it is looked whether a mirror is to be followed still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Nothing has come for a moment.
    Silent,
    /// Now and then.
    Due,
}

/// A stream that has what the log has, or had a moment ago.
#[derive(Clone)]
pub(super) struct Mirror {
    pub(super) stream: Stream,
    status: Arc<Mutex<MirrorStatus>>,
}

impl Mirror {
    /// The one in this domain, which is made if it is not there.
    pub(super) fn open(
        threads: &Runtime,
        log: (&Context, &Stream, Option<&str>),
        domain: &str,
        within: Duration,
    ) -> Result<Mirror, ConnectError> {
        let (jetstream, log, of) = log;
        let of = of.filter(|of| *of != domain);
        let of = of.ok_or_else(|| ConnectError::MirrorDomain { domain: domain.to_owned() })?;
        let wanted = config(&log.cached_info().config, of);
        let site = context(threads, jetstream.client(), Some(domain));
        let opening = find_or_make(site, wanted.clone(), within);
        let failed = |error| {
            let (domain, source) = (domain.to_owned(), refusal::of_stream(error));
            ConnectError::Mirror { domain, source }
        };
        let opened = wait(threads, within + ACK_WITHIN * 2, opening);
        let stream = opened.ok_or_else(|| failed("no answer in time".into()))?.map_err(failed)?;
        check(&wanted, &stream.cached_info().config)?;
        let status = MirrorStatus { domain: domain.to_owned(), error: None };
        Ok(Mirror { stream, status: Arc::new(Mutex::new(status)) })
    }

    pub(super) fn status(&self) -> MirrorStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Can this message, and what comes after it, be read here?
    pub(super) async fn fits(&self, log: &Stream, due: u64) -> bool {
        let fits = self.look(log, due).await;
        self.note(fits.err())
    }

    async fn look(&self, log: &Stream, due: u64) -> Result<(), String> {
        let bounds_of_log = async || bounds(log).await.map_err(|_| "the log does not answer");
        let (_, there) = bounds_of_log().await?;
        let (first, last) = self.come_up(due.min(there)).await?;
        let (log_first, log_last) = bounds_of_log().await?;
        if last > log_last {
            return Err(format!("it has message {last}, and the log ends with {log_last}"));
        }
        if due < first {
            return Err(format!("it begins with message {first}, and {due} is due"));
        }
        if last > 0 {
            let there = message_of(&self.stream, last).await?;
            // All before it are the same as well then: each has the hash of the one before it.
            if message_of(log, last).await? != there {
                let remove = "remove it, and it is made again";
                return Err(format!("message {last} is not the one that the log has: {remove}"));
            }
        }
        if first < log_first {
            // The log was trimmed, which it does not follow by itself. The next look tries again.
            let _ = self.stream.purge().sequence(log_first).await;
        }
        Ok(())
    }

    /// Gives it a moment for this message, which the log has; what it has then.
    async fn come_up(&self, due: u64) -> Result<(u64, u64), String> {
        for _ in 0..COMES_UP_TRIES {
            let (first, last) = bounds(&self.stream).await.map_err(|_| "it does not answer")?;
            if last >= due {
                return Ok((first, last));
            }
            sleep(REST).await;
        }
        Err(format!("it has no message {due}, and the log has"))
    }

    /// Is it still what is to be followed? While the log does not answer it is.
    pub(super) async fn keeps_up(&self, log: &Stream, due: u64, when: When) -> bool {
        let Ok((_, log_last)) = bounds(log).await else { return true };
        match when {
            When::Silent if log_last >= due => match bounds(&self.stream).await {
                // It has come meanwhile, or whoever sends it here has died.
                Ok((_, last)) if last >= due => false,
                _ => self.note(Some(format!("it has no message {due}, and the log has"))),
            },
            When::Silent => true,
            When::Due => self.fits(log, due).await,
        }
    }

    /// Notes why it is passed over, if it is; gives whether it is not.
    fn note(&self, why: Option<String>) -> bool {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let domain = &status.domain;
        match &why {
            Some(why) if status.error.is_none() => {
                tracing::warn!(domain, why, "the log itself is followed, not its mirror");
            }
            None if status.error.is_some() => tracing::info!(domain, "the mirror is followed"),
            _ => {}
        }
        status.error = why;
        status.error.is_none()
    }
}

async fn bounds(stream: &Stream) -> Result<(u64, u64), async_nats::Error> {
    let Info { state, .. } = stream.get_info().await?;
    Ok((state.first_sequence, state.last_sequence))
}

async fn message_of(stream: &Stream, sequence: u64) -> Result<Bytes, String> {
    let found = get(stream, None, sequence, HELD_WITHIN).await;
    found.ok().flatten().ok_or_else(|| format!("message {sequence} cannot be read of both"))
}

fn config(log: &stream::Config, domain: &str) -> Config {
    let external = External { api_prefix: api_of(Some(domain)), delivery_prefix: None };
    Config {
        name: format!("{}-mirror", log.name),
        description: Some("a copy of the log, for servers nearby".to_owned()),
        mirror: Some(Source {
            name: log.name.clone(),
            external: Some(external),
            ..Source::default()
        }),
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        // What is lost comes from the log again.
        num_replicas: 1,
        deny_delete: true,
        metadata: log.metadata.iter().filter(|(key, _)| *key == ID).map(owned).collect(),
        ..Config::default()
    }
}

fn owned((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

async fn find_or_make(
    site: Context,
    wanted: Config,
    within: Duration,
) -> Result<Stream, async_nats::Error> {
    let deadline = Instant::now() + within;
    loop {
        let opened = match site.get_stream(&wanted.name).await {
            Ok(stream) => break Ok(stream),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    site.create_stream(wanted.clone()).await.map_err(async_nats::Error::from)
                }
                _ => Err(error.into()),
            },
        };
        match opened {
            Ok(stream) => break Ok(stream),
            Err(error) if Instant::now() > deadline => break Err(error),
            Err(_) => sleep(REST).await,
        }
    }
}

/// Is it a mirror of all that the log has, and keeps it until it is told otherwise?
fn check(wanted: &Config, found: &Config) -> Result<(), ConnectError> {
    let of = |config: &Config| {
        let mirror = config.mirror.as_ref();
        let external = |mirror: &Source| Some(mirror.external.as_ref()?.api_prefix.clone());
        let place = mirror.map(|mirror| (mirror.name.clone(), external(mirror)));
        format!("{place:?}")
    };
    let filter = |config: &Config| {
        let mirror = config.mirror.as_ref();
        format!("{:?}", mirror.and_then(|mirror| mirror.filter_subject.clone()))
    };
    let settings: [(&'static str, String, String); 6] = [
        ("mirror", of(found), of(wanted)),
        ("mirror.filter_subject", filter(found), filter(wanted)),
        ("retention", format!("{:?}", found.retention), format!("{:?}", wanted.retention)),
        ("max_age", format!("{:?}", found.max_age), format!("{:?}", wanted.max_age)),
        // Or it could not be trimmed.
        ("deny_purge", found.deny_purge.to_string(), wanted.deny_purge.to_string()),
        (
            "max_msgs_per_subject",
            found.max_messages_per_subject.max(0).to_string(),
            wanted.max_messages_per_subject.max(0).to_string(),
        ),
    ];
    match settings.into_iter().find(|(_, found, wanted)| found != wanted) {
        None => Ok(()),
        Some((setting, is, wanted)) => {
            let stream = found.name.clone();
            Err(ConnectError::Setting { stream, setting, found: is, wanted })
        }
    }
}
