//! What a node has of the topology that it takes part in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alice::{Bound, Key, NoSuchNeighbour, Node, Queue, WhenFull};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::follow::{Follow, Snapshot};
use super::{Plan, Topology};
use crate::engine::Shared;
use crate::error::JoinError;
use crate::member::Member;
use crate::name::token;
use crate::peer::Peer;

/// What happened in a topology, as one of its members sees it: [`Part::events`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A member is there, for the first time or again.
    Joined {
        /// Its name.
        name: String,
    },
    /// A member is not there any more. It may return.
    Left {
        /// Its name.
        name: String,
    },
    /// A label means somebody else from now on.
    Rewired {
        /// The label.
        label: String,
        /// Whom it means now, if anybody.
        name: Option<String>,
    },
}

/// A node's part in a topology: [`Engine::take_part`](crate::Engine::take_part).
///
/// Dropping it is as dying: others hear that the member has left, its place is kept for a while,
/// and what is put into its durable queues waits for its return. [`leave`](Part::leave) gives the
/// place up.
pub struct Part {
    shared: Arc<Shared>,
    topology: Topology,
    token: String,
    member: Member,
    events: Queue<Event>,
    snapshot: watch::Receiver<Option<Snapshot>>,
    follows: JoinHandle<()>,
}

/// How many events are kept for one who does not take them.
const EVENTS_MAX: std::num::NonZeroUsize = std::num::NonZeroUsize::new(1000).expect("it is 1000");

impl Part {
    pub(crate) async fn take(
        shared: &Arc<Shared>,
        topology: &Topology,
        name: &str,
        node: &Node,
    ) -> Result<Part, JoinError> {
        let topology_token = token(&topology.name)?;
        if let Plan::Fixed(graph) = &topology.plan
            && !graph.names().iter().any(|known| known == name)
        {
            let (name, topology) = (name.to_owned(), topology.name.clone());
            return Err(JoinError::NotInGraph { name, topology });
        }
        let events = node.queue(&Key::<Event>::named(format!("events of {}", topology.name)))?;
        events.set_bound(Some(Bound { segments_max: EVENTS_MAX, when_full: WhenFull::DropOldest }));
        let there = shared.labels().await?.all().await?.into_iter().collect();
        let places = shared.places().await?;
        places.agree(&topology_token, &topology.plan, &there).await?;
        let member = Member::join(shared, name, node).await?;
        if let Plan::Growing(_) = topology.plan {
            places.enter(&topology_token, name).await?;
        }
        let (sender, mut snapshot) = watch::channel(None);
        let follow = Follow {
            shared: Arc::clone(shared),
            topology: topology.clone(),
            token: topology_token.clone(),
            member: name.to_owned(),
            events: events.clone(),
            snapshot: sender,
            gone: BTreeMap::new(),
        };
        let part = Part {
            shared: Arc::clone(shared),
            topology: topology.clone(),
            token: topology_token,
            member,
            events,
            follows: shared.handle.spawn(follow.run()),
            snapshot: snapshot.clone(),
        };
        let first = snapshot.wait_for(|snapshot| knows_itself(snapshot.as_ref(), topology, name));
        match timeout(shared.options.store_within, first).await {
            Ok(Ok(_)) => {}
            _ => return Err(JoinError::at("reading a topology")("it did not come in time")),
        }
        Ok(part)
    }

    /// The node as others see it: what is served, it serves.
    #[must_use]
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Whom a label means now. One of a fixed graph, or one whose place is kept, may not be there
    /// at the moment; its durable queues take what is put all the same.
    ///
    /// # Errors
    /// When the label means nobody.
    pub fn peer(&self, label: &str) -> Result<Peer, NoSuchNeighbour> {
        let name = self.see(|snapshot| snapshot.neighbours.get(label).cloned());
        let name = name.ok_or_else(|| NoSuchNeighbour { label: label.to_owned() })?;
        Ok(Peer::new(Arc::clone(&self.shared), &name))
    }

    /// All labels, and whom they mean now.
    #[must_use]
    pub fn neighbours(&self) -> BTreeMap<String, String> {
        self.see(|snapshot| snapshot.neighbours.clone())
    }

    /// The members that are there, this one included, in the order of their names.
    #[must_use]
    pub fn members(&self) -> Vec<String> {
        self.see(|snapshot| snapshot.there.iter().cloned().collect())
    }

    /// The place, where there are places: in a shape that grows.
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        self.see(|snapshot| snapshot.place)
    }

    /// What has happened since the node takes part, as data segments of a queue of the node: to be
    /// taken by a thread or a code segment. It keeps the newest 1000.
    ///
    /// Events of one member come in their order; who left and returned between two looks was never
    /// away.
    #[must_use]
    pub fn events(&self) -> &Queue<Event> {
        &self.events
    }

    /// Waits until all who have a place are there: for a fixed graph, all its members. One that has
    /// just come may serve its keys a moment later.
    ///
    /// # Errors
    /// Names those that are missing when the time is over.
    pub fn wait_for_all(&self, within: Duration) -> Result<(), JoinError> {
        let is_missing = |snapshot: &Snapshot| {
            snapshot.all.difference(&snapshot.there).cloned().collect::<Vec<String>>()
        };
        self.wait_until(within, |snapshot| is_missing(snapshot).is_empty())?
            .then_some(())
            .ok_or_else(|| JoinError::Missing { labels: self.see(is_missing) })
    }

    /// Waits until so many members are there, this one included.
    ///
    /// # Errors
    /// Says how many are when the time is over.
    pub fn wait_for(&self, members: usize, within: Duration) -> Result<(), JoinError> {
        self.wait_until(within, |snapshot| snapshot.there.len() >= members)?
            .then_some(())
            .ok_or_else(|| JoinError::TooFew {
                there: self.see(|snapshot| snapshot.there.len()),
                members,
            })
    }

    /// Leaves for good: another one gets the place at once.
    ///
    /// # Errors
    /// When the engine fails. The place is given to another one after some time all the same.
    pub fn leave(self) -> Result<(), JoinError> {
        self.follows.abort();
        self.shared.wait_for(async {
            let places = self.shared.places().await?;
            let claims = places.claims(&self.token).await?;
            let own = claims.iter().filter(|(_, claim)| claim.name == self.member.label());
            for (place, claim) in own {
                places.give_up(&self.token, *place, claim.revision).await;
            }
            Ok(())
        })?
    }

    /// False when the time is over.
    fn wait_until(
        &self,
        within: Duration,
        is_so: impl Fn(&Snapshot) -> bool,
    ) -> Result<bool, JoinError> {
        let mut snapshot = self.snapshot.clone();
        let is_so = |snapshot: &Option<Snapshot>| snapshot.as_ref().is_some_and(&is_so);
        let waiting =
            self.shared.wait_for(async { timeout(within, snapshot.wait_for(is_so)).await });
        Ok(matches!(waiting?, Ok(Ok(_))))
    }

    fn see<V>(&self, look: impl FnOnce(&Snapshot) -> V) -> V {
        look(self.snapshot.borrow().as_ref().expect("it was there before the part was given out"))
    }
}

fn knows_itself(snapshot: Option<&Snapshot>, topology: &Topology, name: &str) -> bool {
    let has_place = |snapshot: &Snapshot| match topology.plan {
        Plan::Growing(_) => snapshot.place.is_some(),
        Plan::Fixed(_) => true,
    };
    snapshot.is_some_and(|snapshot| snapshot.there.contains(name) && has_place(snapshot))
}

impl Drop for Part {
    fn drop(&mut self) {
        self.follows.abort();
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Part");
        shown.field("topology", &self.topology.name).field("name", &self.member.label());
        shown.finish_non_exhaustive()
    }
}
