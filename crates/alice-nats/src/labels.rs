//! Who has which label, as the engine keeps it: a bucket whose entries fade unless renewed.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::jetstream::context::{
    AccountError, AccountErrorKind, CreateKeyValueError, CreateKeyValueErrorKind,
};
use async_nats::jetstream::kv::{self, Operation, Store, Watch};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::durable::{self, REST};
use crate::engine::{AskError, Shared};
use crate::error::JoinError;
use crate::name::{name, token};
use crate::wire::{Answer, Call};

pub(crate) struct Labels(Store);

/// How often a label is claimed anew when others claim it, too, or the engine's answer was old.
const CLAIMS_MAX: u32 = 10;
/// The shortest lease.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// How a renewal went.
pub(crate) enum Renewed {
    Still {
        revision: u64,
    },
    /// Somebody else has it now.
    Lost,
}

impl Labels {
    pub(crate) async fn open(shared: &Shared) -> Result<Labels, JoinError> {
        let lease = shared.options.lease.max(LEASE_MIN);
        let config = kv::Config {
            bucket: format!("alice-{}", shared.space),
            description: "who has which label".to_owned(),
            max_age: lease,
            num_replicas: shared.options.replicas,
            // Those who watch are told what has faded.
            limit_markers: Some(lease),
            ..kv::Config::default()
        };
        bucket(shared, config).await.map(Labels)
    }

    /// Who is there, and then who comes and goes.
    pub(crate) async fn watch(&self) -> Result<Watch, JoinError> {
        watch(&self.0, ">").await
    }

    /// Claims the label for `id`; gives the revision of the claim. Who has it and does not answer
    /// any more loses it.
    pub(crate) async fn claim(
        &self,
        shared: &Shared,
        label: &str,
        id: &Bytes,
    ) -> Result<u64, JoinError> {
        let taken = || JoinError::Taken { label: name(label).unwrap_or_default() };
        for _ in 0..CLAIMS_MAX {
            if let Ok(revision) = self.0.create(label, id.clone()).await {
                return Ok(revision);
            }
            let entry = self.0.entry(label).await.map_err(JoinError::at("reading a label"))?;
            let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) else {
                continue;
            };
            let who = shared.subject(label, Call::Who, "-");
            match shared.ask(who, Bytes::new(), shared.options.answer_within).await {
                Ok(Answer::Me(holder)) if holder == *id => return Ok(entry.revision),
                Err(AskError::Nobody) => {}
                _ => return Err(taken()),
            }
            if let Ok(revision) = self.0.update(label, id.clone(), entry.revision).await {
                return Ok(revision);
            }
        }
        Err(taken())
    }

    /// Says that the holder is still there.
    pub(crate) async fn renew(
        &self,
        label: &str,
        id: &Bytes,
        revision: u64,
    ) -> Result<Renewed, JoinError> {
        let failed = match self.0.update(label, id.clone(), revision).await {
            Ok(revision) => return Ok(Renewed::Still { revision }),
            Err(error) => error,
        };
        if failed.kind() != kv::UpdateErrorKind::WrongLastRevision {
            return Err(JoinError::at("renewing a label")(failed));
        }
        // It has faded while the engine was away, or the answer to the last renewal was lost.
        let entry = self.0.entry(label).await.map_err(JoinError::at("reading a label"))?;
        match entry {
            Some(entry) if entry.operation == Operation::Put && entry.value == *id => {
                Ok(Renewed::Still { revision: entry.revision })
            }
            Some(entry) if entry.operation == Operation::Put && entry.revision > revision => {
                Ok(Renewed::Lost)
            }
            _ => {
                let created = self.0.create(label, id.clone()).await;
                let revision = created.map_err(JoinError::at("claiming a label again"))?;
                Ok(Renewed::Still { revision })
            }
        }
    }

    pub(crate) async fn release(&self, label: &str, revision: u64) {
        // If it fails, the entry fades.
        let _ = self.0.delete_expect_revision(label, Some(revision)).await;
    }

    pub(crate) async fn all(&self) -> Result<Vec<String>, JoinError> {
        let keys = self.0.keys().await.map_err(JoinError::at("listing the labels"))?;
        let tokens: Vec<_> = keys.collect().await;
        let mut labels = Vec::with_capacity(tokens.len());
        for token in tokens {
            let token = token.map_err(JoinError::at("listing the labels"))?;
            labels.extend(name(&token));
        }
        labels.sort_unstable();
        Ok(labels)
    }

    pub(crate) async fn wait_for(
        &self,
        labels: &[&str],
        within: Duration,
    ) -> Result<(), JoinError> {
        let mut missing: BTreeSet<String> =
            labels.iter().map(|label| token(label)).collect::<Result<_, _>>()?;
        let deadline = Instant::now() + within;
        let mut watch = self.watch().await?;
        while !missing.is_empty() {
            let Ok(next) = timeout_at(deadline, watch.next()).await else {
                let labels = missing.iter().filter_map(|token| name(token)).collect();
                return Err(JoinError::Missing { labels });
            };
            let Some(entry) = next else {
                let ended = "the watch has ended".into();
                return Err(JoinError::Engine { doing: "watching the labels", source: ended });
            };
            let entry = entry.map_err(JoinError::at("watching the labels"))?;
            match entry.operation {
                Operation::Put => _ = missing.remove(&entry.key),
                Operation::Delete | Operation::Purge => {
                    let is_wanted =
                        labels.iter().any(|label| token(label) == Ok(entry.key.clone()));
                    missing.extend(is_wanted.then_some(entry.key));
                }
            }
        }
        Ok(())
    }
}

/// Makes a bucket, or has it be as it should.
pub(crate) async fn bucket(shared: &Shared, config: kv::Config) -> Result<Store, JoinError> {
    let deadline = Instant::now() + shared.options.store_within;
    loop {
        match shared.jetstream.create_or_update_key_value(config.clone()).await {
            Ok(bucket) => return Ok(bucket),
            Err(error) if passes(&error) && Instant::now() < deadline => {
                tokio::time::sleep(REST).await;
            }
            Err(error) => return Err(JoinError::at("making a bucket")(error)),
        }
    }
}

/// What is there, and then what changes.
pub(crate) async fn watch(bucket: &Store, keys: &str) -> Result<Watch, JoinError> {
    bucket.watch_with_history(keys).await.map_err(JoinError::at("watching a bucket"))
}

/// Whether another try may find the engine in better order. The account is asked about first, which
/// fails in its own way.
fn passes(error: &CreateKeyValueError) -> bool {
    let Some(source) = std::error::Error::source(error) else {
        return error.kind() == CreateKeyValueErrorKind::TimedOut;
    };
    let of_account = source.downcast_ref::<AccountError>().map(AccountError::kind);
    let is_away = matches!(
        of_account,
        Some(AccountErrorKind::TimedOut | AccountErrorKind::JetStreamUnavailable)
    );
    is_away || source.downcast_ref().is_some_and(durable::passes)
}
