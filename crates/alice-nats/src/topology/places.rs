//! What topologies there are, and who has which place in them, as the engine keeps it.

use std::collections::{BTreeMap, BTreeSet};

use async_nats::jetstream::kv::{self, Entry, Operation, Store, Watch};
use bytes::Bytes;
use futures_util::StreamExt;

use super::Plan;
use crate::engine::Shared;
use crate::error::JoinError;
use crate::labels::{bucket, watch};
use crate::name::name;

/// The bucket of a space: `TOPOLOGY.plan` says what a topology is, `TOPOLOGY.3` who has place 3.
/// Unlike labels, nothing in it fades.
pub(crate) struct Places(Store);

/// Who has a place, and since which revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: String,
    pub(crate) revision: u64,
}

/// Who has which place.
pub(crate) type Claims = BTreeMap<usize, Claim>;

/// How often a place is claimed while others do so, too.
const CLAIMS_MAX: u32 = 100;
const PLAN: &str = "plan";
const CHANGING: &str = "changing a topology";
const READING: &str = "reading a topology";

/// The lowest place of each; one who moves has two for a moment.
pub(crate) fn seats(claims: &Claims) -> BTreeMap<usize, &str> {
    let mut known = BTreeSet::new();
    let names = claims.iter().map(|(place, claim)| (*place, claim.name.as_str()));
    names.filter(|(_, name)| known.insert(*name)).collect()
}

/// What an entry of the bucket says.
pub(crate) enum Says {
    Plan,
    Place(usize, Option<Claim>),
}

pub(crate) fn read(entry: &Entry) -> Option<Says> {
    let (_, place) = entry.key.split_once('.')?;
    if place == PLAN {
        return Some(Says::Plan);
    }
    let name = String::from_utf8(entry.value.to_vec()).ok();
    let name = name.filter(|_| entry.operation == Operation::Put);
    let claim = name.map(|name| Claim { name, revision: entry.revision });
    Some(Says::Place(place.parse().ok()?, claim))
}

impl Places {
    pub(crate) async fn open(shared: &Shared) -> Result<Places, JoinError> {
        let config = kv::Config {
            bucket: format!("alice_places-{}", shared.space),
            description: "who has which place in a topology".to_owned(),
            num_replicas: shared.options.replicas,
            ..kv::Config::default()
        };
        bucket(shared, config).await.map(Places)
    }

    /// Has the topology be this one. Another one of the name gives way if nobody of it is there.
    pub(crate) async fn agree(
        &self,
        topology: &str,
        plan: &Plan,
        there: &BTreeSet<String>,
    ) -> Result<(), JoinError> {
        let (key, wanted) = (format!("{topology}.{PLAN}"), plan.to_string());
        for _ in 0..CLAIMS_MAX {
            if self.0.create(&key, wanted.clone().into()).await.is_ok() {
                return Ok(());
            }
            let entry = self.0.entry(&key).await.map_err(JoinError::at(READING))?;
            let Some(entry) = entry.filter(|entry| entry.operation == Operation::Put) else {
                continue;
            };
            if entry.value == wanted.as_bytes() {
                return Ok(());
            }
            let claims = self.claims(topology).await?;
            let mut names: BTreeSet<&str> = seats(&claims).into_values().collect();
            let old = Plan::read(&entry.value);
            if let Some(Plan::Fixed(graph)) = &old {
                names.extend(graph.names().iter().map(String::as_str));
            }
            if names.iter().any(|name| there.contains(*name)) {
                let topology = name(topology).unwrap_or_default();
                let there = old.map_or_else(|| "another one".to_owned(), |old| old.to_string());
                return Err(JoinError::Differs { topology, there });
            }
            if self.0.update(&key, wanted.clone().into(), entry.revision).await.is_ok() {
                for (place, claim) in &claims {
                    self.give_up(topology, *place, claim.revision).await;
                }
                return Ok(());
            }
        }
        Err(JoinError::at(CHANGING)("others are changing it all the time"))
    }

    /// The plan of a topology, if there is one.
    pub(crate) async fn plan(&self, topology: &str) -> Result<Option<Plan>, JoinError> {
        let entry = self.0.get(format!("{topology}.{PLAN}")).await;
        let entry = entry.map_err(JoinError::at(READING))?;
        Ok(entry.and_then(|entry| Plan::read(&entry)))
    }

    /// The names of all topologies.
    pub(crate) async fn topologies(&self) -> Result<Vec<String>, JoinError> {
        let keys = self.0.keys().await.map_err(JoinError::at(READING))?;
        let keys: Vec<_> = keys.collect().await;
        let mut names = Vec::new();
        for key in keys {
            let key = key.map_err(JoinError::at(READING))?;
            let topology = key.strip_suffix(PLAN).and_then(|key| key.strip_suffix('.'));
            names.extend(topology.and_then(name));
        }
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) async fn claims(&self, topology: &str) -> Result<Claims, JoinError> {
        let mut claims = Claims::new();
        // It has a plan, so there is something to wait for.
        let mut watch = self.watch(topology).await?;
        while let Some(entry) = watch.next().await {
            let entry = entry.map_err(JoinError::at(READING))?;
            if let Some(Says::Place(place, Some(claim))) = read(&entry) {
                claims.insert(place, claim);
            }
            if entry.seen_current {
                break;
            }
        }
        Ok(claims)
    }

    /// What is there, and then what changes.
    pub(crate) async fn watch(&self, topology: &str) -> Result<Watch, JoinError> {
        watch(&self.0, &format!("{topology}.>")).await
    }

    /// Gives the member its old place, or the first free one.
    pub(crate) async fn enter(&self, topology: &str, member: &str) -> Result<usize, JoinError> {
        for _ in 0..CLAIMS_MAX {
            let claims = self.claims(topology).await?;
            if let Some((place, _)) = seats(&claims).into_iter().find(|(_, name)| *name == member) {
                return Ok(place);
            }
            let free = (0..).find(|place| !claims.contains_key(place));
            let free = free.expect("there are fewer claims than numbers");
            if self.take(topology, free, member, None).await {
                return Ok(free);
            }
        }
        Err(JoinError::at(CHANGING)("others take each place before it can be taken"))
    }

    /// Takes a place that is free, or that of a claim; false when somebody was quicker.
    pub(crate) async fn take(
        &self,
        topology: &str,
        place: usize,
        member: &str,
        instead_of: Option<&Claim>,
    ) -> bool {
        let (key, name) = (format!("{topology}.{place}"), Bytes::from(member.to_owned()));
        match instead_of {
            Some(claim) => self.0.update(&key, name, claim.revision).await.is_ok(),
            None => self.0.create(&key, name).await.is_ok(),
        }
    }

    /// Frees a place, if it still is that claim's.
    pub(crate) async fn give_up(&self, topology: &str, place: usize, revision: u64) {
        // If it fails, whoever follows the topology will see it there, and try again.
        let key = format!("{topology}.{place}");
        let _ = self.0.delete_expect_revision(key, Some(revision)).await;
    }
}
