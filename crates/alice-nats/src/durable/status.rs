//! What durable queues there are.

use async_nats::jetstream::stream::InfoWithSubjects;
use futures_util::{StreamExt, TryStreamExt};
use std::collections::BTreeMap;

use crate::engine::Shared;
use crate::error::NotReceived;
use crate::name::name;

/// A durable queue at one moment: [`Engine::durable_queues`](crate::Engine::durable_queues).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurableStatus {
    /// The label it is under.
    pub label: String,
    /// The key's name.
    pub key: String,
    /// How many data segments there are, those included that are taken and not done.
    pub segments: u64,
    /// How many are taken and not done.
    pub in_hand: u64,
    /// How many wait to take.
    pub waiting: u64,
}

pub(crate) async fn all(shared: &Shared) -> Result<Vec<DurableStatus>, NotReceived> {
    let streams = shared.streams().await?;
    let engine = |error: async_nats::Error| NotReceived::Engine(error);
    let prefix = format!("alice.{}.keep.", shared.space);
    let subjects = streams.stream.info_with_subjects(format!("{prefix}>")).await;
    let mut subjects: InfoWithSubjects = subjects.map_err(|error| engine(error.into()))?;
    let mut queues = BTreeMap::new();
    while let Some((subject, segments)) =
        subjects.try_next().await.map_err(|error| engine(error.into()))?
    {
        let names = subject.strip_prefix(&prefix).and_then(|names| names.split_once('.'));
        if let Some((label, key)) = names.and_then(|(l, k)| Some((name(l)?, name(k)?))) {
            queues.insert((label, key), (segments as u64, 0, 0));
        }
    }
    let mut consumers = streams.stream.consumers();
    while let Some(consumer) = consumers.next().await {
        let info = consumer.map_err(|error| engine(error.into()))?;
        let names = info.name.split_once("==");
        if let Some(names) = names.and_then(|(l, k)| Some((name(l)?, name(k)?))) {
            let (_, in_hand, waiting) = queues.entry(names).or_default();
            (*in_hand, *waiting) = (info.num_ack_pending as u64, info.num_waiting as u64);
        }
    }
    let queues = queues.into_iter().map(|((label, key), (segments, in_hand, waiting))| {
        DurableStatus { label, key, segments, in_hand, waiting }
    });
    Ok(queues.collect())
}
