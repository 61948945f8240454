//! Following a topology: what changes is told, and what has a hole is mended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use alice::Queue;
use async_nats::jetstream::kv::{Entry, Operation, Watch};
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::places::{Claims, Says, read, seats};
use super::{Event, Plan, Topology};
use crate::durable::REST;
use crate::engine::Shared;
use crate::error::JoinError;
use crate::name::name;

/// What a member knows of its topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) place: Option<usize>,
    /// Whom the labels mean.
    pub(crate) neighbours: BTreeMap<String, String>,
    /// All who have a place.
    pub(crate) all: BTreeSet<String>,
    /// Those of them who are there.
    pub(crate) there: BTreeSet<String>,
}

pub(crate) struct Follow {
    pub(crate) shared: Arc<Shared>,
    pub(crate) topology: Topology,
    /// The topology's name as a token.
    pub(crate) token: String,
    /// Who follows.
    pub(crate) member: String,
    pub(crate) events: Queue<Event>,
    pub(crate) snapshot: watch::Sender<Option<Snapshot>>,
    /// Since when those with a place have been gone.
    pub(crate) gone: BTreeMap<String, Instant>,
}

/// What the engine has told since a watch began.
#[derive(Default)]
struct Told {
    there: BTreeSet<String>,
    claims: Claims,
    has_all_labels: bool,
    has_all_claims: bool,
}

/// So long one watch is relied upon: one that was kept by a server that has died may say nothing
/// more, and not that it has ended either.
const WATCH_FOR: Duration = Duration::from_secs(10);
/// Between two looks when nothing happens.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

impl Follow {
    pub(crate) async fn run(mut self) {
        loop {
            // It ends when the engine was away, or after a while: all is read anew then.
            let _ = timeout(WATCH_FOR, self.watch()).await;
            tokio::time::sleep(REST).await;
        }
    }

    async fn watch(&mut self) -> Result<(), JoinError> {
        let mut told = Told::default();
        let mut labels = self.shared.labels().await?.watch().await?;
        let mut claims = match self.topology.plan {
            Plan::Growing(_) => Some(self.shared.places().await?.watch(&self.token).await?),
            Plan::Fixed(_) => None,
        };
        told.has_all_claims = claims.is_none();
        let mut next_look = Instant::now() + LOOK_AGAIN;
        loop {
            tokio::select! {
                entry = labels.next() => told.label(&entry_of(entry)?),
                entry = next_of(&mut claims) => told.claim(&entry_of(entry)?),
                () = sleep_until(next_look) => {}
            }
            if told.has_all_labels && told.has_all_claims {
                self.tell(&told);
                next_look = self.mend(&told).await?;
            }
        }
    }

    /// Tells what is different from before.
    fn tell(&mut self, told: &Told) {
        let now = self.look(told);
        // First, so that whoever takes an event finds what it tells of.
        let before = self.snapshot.send_replace(Some(now.clone()));
        let Some(before) = before else {
            return;
        };
        // Refused by a closed node only, and then nobody wants to know.
        let tell = |event| _ = self.events.put(event);
        let is_other = |name: &&String| **name != self.member;
        let joined = now.there.difference(&before.there).filter(is_other);
        joined.for_each(|name| tell(Event::Joined { name: name.clone() }));
        let left = before.there.difference(&now.there).filter(is_other);
        left.for_each(|name| tell(Event::Left { name: name.clone() }));
        let labels: BTreeSet<&String> =
            before.neighbours.keys().chain(now.neighbours.keys()).collect();
        for label in labels {
            let (then, name) = (before.neighbours.get(label), now.neighbours.get(label));
            if then != name {
                tell(Event::Rewired { label: label.clone(), name: name.cloned() });
            }
        }
    }

    fn look(&self, told: &Told) -> Snapshot {
        let seats = seats(&told.claims);
        let all: BTreeSet<String> = match &self.topology.plan {
            Plan::Fixed(graph) => graph.names().iter().cloned().collect(),
            Plan::Growing(_) => seats.values().map(|name| (*name).to_owned()).collect(),
        };
        let place = seats.iter().find(|(_, name)| **name == self.member).map(|(place, _)| *place);
        let neighbours = match &self.topology.plan {
            Plan::Fixed(graph) => graph
                .neighbours(&self.member)
                .map(|edge| (edge.label.clone(), edge.to.clone()))
                .collect(),
            Plan::Growing(shape) => {
                let taken: BTreeSet<usize> = seats.keys().copied().collect();
                let known = place.map(|place| shape.neighbours(place, &taken));
                let named = |(label, at): (String, usize)| (label, seats[&at].to_owned());
                known.into_iter().flatten().map(named).collect()
            }
        };
        let there = all.intersection(&told.there).cloned().collect();
        Snapshot { place, neighbours, all, there }
    }

    /// The last member moves into the first hole, and removes those behind it that are gone for
    /// long. All see the same, so there is one who does it; if two see different things, the
    /// engine's compare-and-set lets one of them. Gives the time of the next look.
    async fn mend(&mut self, told: &Told) -> Result<Instant, JoinError> {
        if let Plan::Fixed(_) = self.topology.plan {
            return Ok(Instant::now() + LOOK_AGAIN);
        }
        self.note_gone(told);
        let places = self.shared.places().await?;
        let topology = self.token.as_str();
        let mut own = told.claims.iter().filter(|(_, claim)| claim.name == self.member);
        let Some((&place, claim)) = own.next() else {
            // It was gone for so long that somebody else has its place.
            places.enter(topology, &self.member).await?;
            return Ok(Instant::now() + LOOK_AGAIN);
        };
        for (other, claim) in own {
            places.give_up(topology, *other, claim.revision).await;
        }
        let is_last = !told.claims.range(place + 1..).any(|(_, claim)| self.is_there(&claim.name));
        if is_last {
            for (behind, claim) in told.claims.range(place + 1..) {
                if self.is_free(told, *behind) {
                    places.give_up(topology, *behind, claim.revision).await;
                }
            }
            if let Some(hole) = (0..place).find(|hole| self.is_free(told, *hole)) {
                let instead_of = told.claims.get(&hole);
                if places.take(topology, hole, &self.member, instead_of).await {
                    places.give_up(topology, place, claim.revision).await;
                }
            }
        }
        let ends = self.gone.values().map(|since| *since + self.topology.keep);
        let next = ends.filter(|end| *end > Instant::now()).min();
        Ok(next.unwrap_or_else(|| Instant::now() + LOOK_AGAIN))
    }

    fn note_gone(&mut self, told: &Told) {
        let names = told.claims.values().map(|claim| &claim.name);
        let gone: BTreeSet<&String> = names.filter(|name| !told.there.contains(*name)).collect();
        self.gone.retain(|name, _| gone.contains(name));
        for name in gone {
            self.gone.entry(name.clone()).or_insert_with(Instant::now);
        }
    }

    fn is_there(&self, name: &str) -> bool {
        !self.gone.contains_key(name)
    }

    /// Nobody has it, or one who has been gone for long.
    fn is_free(&self, told: &Told, place: usize) -> bool {
        let claim = told.claims.get(&place);
        let gone_for = |name: &str| self.gone.get(name).map(Instant::elapsed);
        claim.is_none_or(|claim| gone_for(&claim.name).is_some_and(|t| t >= self.topology.keep))
    }
}

impl Told {
    fn label(&mut self, entry: &Entry) {
        if let Some(name) = name(&entry.key) {
            match entry.operation {
                Operation::Put => _ = self.there.insert(name),
                Operation::Delete | Operation::Purge => _ = self.there.remove(&name),
            }
        }
        self.has_all_labels |= entry.seen_current;
    }

    fn claim(&mut self, entry: &Entry) {
        match read(entry) {
            Some(Says::Place(place, Some(claim))) => _ = self.claims.insert(place, claim),
            Some(Says::Place(place, None)) => _ = self.claims.remove(&place),
            Some(Says::Plan) | None => {}
        }
        self.has_all_claims |= entry.seen_current;
    }
}

type Watched = Option<Result<Entry, async_nats::jetstream::kv::WatcherError>>;

fn entry_of(watched: Watched) -> Result<Entry, JoinError> {
    let failed = JoinError::at::<async_nats::Error>;
    match watched {
        Some(Ok(entry)) => Ok(entry),
        Some(Err(error)) => Err(failed("following a topology")(error.into())),
        None => Err(failed("following a topology")("the watch has ended".into())),
    }
}

/// Never, if there is nothing to watch.
async fn next_of(watch: &mut Option<Watch>) -> Watched {
    match watch {
        Some(watch) => watch.next().await,
        None => std::future::pending().await,
    }
}
