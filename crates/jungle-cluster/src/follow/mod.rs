//! Following the log: one message after the other, each held against what is here.

pub(crate) mod behind;
pub(crate) mod beside;
pub(crate) mod collector;
pub(crate) mod compare;
mod end;
#[cfg(feature = "sim")]
mod hand;
mod place;
pub(crate) mod vote;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jungle_db::{CommitRecord, Jungle, Revision};
use jungle_tree::loading;

use self::end::End;
pub(crate) use self::place::{Place, branches_before};
use crate::checkpoint::keeper::Every;
use crate::checkpoint::{Taken, heads};
use crate::cluster::survey::ServerStatus;
use crate::engine::log::{Log, LogError, LogId};
use crate::error::{CheckpointError, Fault, MessageError};
use crate::follow::vote::Doubts;
use crate::message::{self, Before, Carried, Hash};
use crate::sequencer::guests::Guests;
use crate::sequencer::rotation::Rotation;

/// A Jungle, and how far it has followed the log.
pub(crate) struct Follower {
    place: Mutex<Place>,
    moved: Condvar,
    /// When a checkpoint is due, or the follower has ended: who waits for that is not woken by each
    /// message.
    due: Condvar,
    pub(crate) rotation: Rotation,
    pub(crate) guests: Guests,
    pub(crate) doubts: Doubts,
    /// Nothing more is followed: to be asked without waiting for a message that is being followed.
    has_ended: AtomicBool,
    /// To be read likewise: it is locked for a moment only.
    standing: Mutex<Standing>,
    /// The Jungle once more, to be had likewise.
    at_hand: Mutex<Option<Jungle>>,
    end: Mutex<End>,
    /// Which log what is here was of, while it is still to be found out where in it that is.
    pub(crate) of: Option<LogId>,
    /// Is there nobody who would move it while somebody waits?
    pub(crate) is_by_hand: bool,
}

/// How a follower stands, as of the message before the one that is being followed.
#[derive(Clone, Default)]
pub(crate) struct Standing {
    /// The sequence of the newest message that was followed.
    pub(crate) followed: u64,
    /// The newest revision here.
    pub(crate) revision: Revision,
    /// Why nothing more is followed.
    pub(crate) fault: Option<Arc<Fault>>,
    /// The newest message of the newest checkpoint that is known of; 0 without one.
    pub(crate) checkpoint: u64,
}

impl Follower {
    pub(crate) fn new(jungle: Jungle, sequence: u64, hash: Option<Hash>, every: Every) -> Follower {
        let at_hand = Mutex::new(Some(jungle.clone()));
        let place = Place {
            jungle: Some(jungle),
            is_placed: true,
            sequence,
            hash,
            before: VecDeque::new(),
            fault: None,
            checkpoint: 0,
            bytes: 0,
            every,
        };
        let (moved, due, rotation, guests) = <(_, _, _, Guests)>::default();
        guests.begin(sequence);
        let standing =
            Standing { followed: sequence, revision: place.revision(), ..<_>::default() };
        Follower {
            place: Mutex::new(place),
            moved,
            due,
            rotation,
            guests,
            doubts: Doubts::default(),
            has_ended: AtomicBool::new(false),
            standing: Mutex::new(standing),
            at_hand,
            end: Mutex::default(),
            of: None,
            is_by_hand: false,
        }
    }

    /// Of a Jungle of which it is still to be found out where in the log `of` it is.
    pub(crate) fn unplaced(jungle: Jungle, of: LogId, every: Every) -> Follower {
        let follower = Follower { of: Some(of), ..Follower::new(jungle, 0, None, every) };
        follower.place().is_placed = false;
        follower
    }

    /// Goes on behind this message.
    pub(crate) fn start_behind(&self, sequence: u64, hash: Option<Hash>) {
        let mut place = self.place();
        (place.is_placed, place.sequence, place.hash) = (true, sequence, hash);
        self.note(&place);
        self.guests.begin(sequence);
        drop(place);
        self.moved.notify_all();
    }

    pub(crate) fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn jungle(&self) -> Option<Jungle> {
        self.place().jungle.clone()
    }

    /// The Jungle, without waiting for a message that is being followed: for threads that all else
    /// waits for.
    pub(crate) fn jungle_at_hand(&self) -> Option<Jungle> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The Jungle of a follower that knows where it is, and follows on.
    pub(crate) fn jungle_in_order(&self) -> Option<Jungle> {
        let place = self.place();
        place.jungle.clone().filter(|_| place.is_placed && place.fault.is_none())
    }

    /// How it stands, without waiting for a message that is being followed.
    pub(crate) fn standing(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why nothing more is followed: nobody waits for that at all while there is no reason.
    pub(crate) fn fault(&self) -> Option<Arc<Fault>> {
        if self.is_over() { self.standing().fault } else { None }
    }

    fn note(&self, place: &Place) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.followed = place.sequence;
        if place.jungle.is_some() {
            standing.revision = place.revision();
        }
        standing.fault.clone_from(&place.fault);
        standing.checkpoint = place.checkpoint;
    }

    /// What the server says of itself.
    pub(crate) fn tell(&self, server: &str, address: Option<&String>) -> ServerStatus {
        let place = self.place();
        ServerStatus {
            server: server.to_owned(),
            address: address.cloned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            followed: place.sequence,
            revision: place.revision().number(),
            hash: place.hash.map(|hash| blake3::Hash::from_bytes(hash).to_hex().to_string()),
            fault: place.fault.as_ref().map(ToString::to_string),
            role: Some(self.guests.role()),
            requests: true,
            guests: true,
            outbox: None,
            mirror: None,
        }
    }

    /// Follows a message from the log. What was followed before is passed over. One that is damaged
    /// is asked for again; if its server had another tree than this one, all are asked what they
    /// have.
    pub(crate) fn follow(
        &self,
        log: &dyn Log,
        sequence: u64,
        bytes: &[u8],
    ) -> Result<(), Arc<Fault>> {
        if self.is_past(sequence)? {
            return Ok(());
        }
        let found;
        let message = match message::read(bytes) {
            // One of a later version is whole: otherwise that is what is damaged.
            Err(reason)
                if !(matches!(reason, MessageError::Version { .. })
                    && message::is_whole(bytes)) =>
            {
                tracing::warn!(sequence, %reason, "a message came damaged, and is asked for again");
                found = log.search(sequence).ok().flatten().unwrap_or_default();
                message::read(&found).map_err(|_| reason)
            }
            read => read,
        };
        let message = match message {
            Ok(message) => message,
            Err(reason) => return self.fail(message::unread(sequence, bytes, reason)),
        };
        let mut settled = Vec::new();
        loop {
            let mut differing = None;
            self.step(|place| {
                if place.sequence < sequence {
                    differing = place.follow(sequence, &message, &settled, self)?;
                }
                Ok(())
            })?;
            let Some((before, revision)) = differing else { return Ok(()) };
            if !vote::is_won(self, log, &before, (message.mark, revision)) {
                let (server, Before { tree, branch, .. }) = (message.server().to_owned(), before);
                return self.fail(Fault::Diverged { sequence, server, tree, branch });
            }
            settled.push(before);
        }
    }

    /// Was a message followed already, and is not due? One that comes too early is a fault.
    fn is_past(&self, sequence: u64) -> Result<bool, Arc<Fault>> {
        let place = self.place();
        if let Some(fault) = &place.fault {
            return Err(Arc::clone(fault));
        }
        let expected = place.sequence + 1;
        drop(place);
        if sequence > expected {
            self.fail(Fault::Gap { expected, found: sequence })?;
        }
        Ok(sequence < expected)
    }

    /// Follows what was written here, unless the log itself was quicker.
    pub(crate) fn follow_own(
        &self,
        sequence: u64,
        message: &[u8],
        records: &[CommitRecord],
        (mark, carried): (&str, &[Carried]),
    ) -> Result<(), Arc<Fault>> {
        self.step(|place| {
            if place.sequence >= sequence {
                return Ok(());
            }
            place.redo(sequence, "this server", records.iter().map(|record| Ok(record.clone())))?;
            if !records.is_empty() {
                self.rotation.followed_own(sequence);
            }
            carried.iter().for_each(|guest| self.rotation.followed(&guest.mark, sequence));
            self.guests.passed(sequence, mark, !records.is_empty(), carried);
            place.pass(sequence, message::hash_of(message), message.len());
            Ok(())
        })
    }

    /// What is here now, between two messages. None can be followed while it is noted, which takes
    /// next to no time.
    pub(crate) fn take(&self, log: LogId) -> Result<Taken, CheckpointError> {
        let place = self.place();
        if let Some(fault) = &place.fault {
            return Err(CheckpointError::Fault(Arc::clone(fault)));
        }
        let jungle = place.jungle.clone().ok_or(CheckpointError::Left)?;
        let hash = place.hash.filter(|_| place.sequence > 0).ok_or(CheckpointError::Nothing)?;
        let (checkpoint, heads) = (jungle.checkpoint(), heads(&jungle));
        Ok(Taken { log, jungle, checkpoint, sequence: place.sequence, hash, heads })
    }

    /// Notes which checkpoint is the newest.
    pub(crate) fn saw(&self, checkpoint: u64) {
        let mut place = self.place();
        if checkpoint > place.checkpoint {
            place.checkpoint = checkpoint;
            place.bytes = 0;
            self.note(&place);
        }
    }

    /// Will it follow nothing more?
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    fn step(&self, f: impl FnOnce(&mut Place) -> Result<(), Fault>) -> Result<(), Arc<Fault>> {
        let mut place = self.place();
        if let Some(fault) = &place.fault {
            return Err(Arc::clone(fault));
        }
        // What is in the folder is read as it is looked for: that unwinds where it cannot be, and
        // would end whoever follows without a word.
        let sequence = place.sequence + 1;
        let stepped = loading(|| f(&mut place));
        let stepped = stepped.unwrap_or_else(|reason| Err(Fault::NotLoaded { sequence, reason }));
        let stepped = stepped.map_err(|fault| {
            tracing::error!(%fault, "the log is followed no further");
            Arc::clone(place.fault.insert(Arc::new(fault)))
        });
        self.note(&place);
        if stepped.is_err() {
            self.has_ended.store(true, Ordering::SeqCst);
            self.guests.end();
        }
        let is_news = stepped.is_err() || place.is_due();
        drop(place);
        self.moved.notify_all();
        if is_news {
            self.due.notify_all();
        }
        stepped
    }

    /// Nothing more is followed, for this reason. That is not noted of a server that has left: what
    /// it asked was ended, which says nothing of the log.
    pub(crate) fn fail(&self, fault: Fault) -> Result<(), Arc<Fault>> {
        if self.place().jungle.is_none() {
            return Err(Arc::new(fault));
        }
        self.step(|_| Err(fault))
    }

    /// Waits until the follower is past this message, has ended, or the time is over; tells whether
    /// it is past it.
    pub(crate) fn wait_past(&self, sequence: u64, within: Duration) -> bool {
        self.wait(within, |place| place.sequence > sequence)
    }

    /// Waits until something is so.
    pub(crate) fn wait(&self, within: Duration, is_so: impl Fn(&Place) -> bool) -> bool {
        self.wait_on(&self.moved, within, is_so)
    }

    /// Why what was waited for so long is not here.
    pub(crate) fn late(&self, within: Duration) -> LogError {
        let place = self.place();
        match &place.fault {
            Some(fault) => LogError::Ended(Arc::clone(fault)),
            None if place.jungle.is_none() => LogError::Closed,
            None => LogError::NoAnswer { within, last: None },
        }
    }

    /// Waits until a checkpoint is due.
    pub(crate) fn wait_until_due(&self, within: Duration) -> bool {
        self.wait_on(&self.due, within, Place::is_due)
    }

    /// Waits so long, unless the follower ends.
    pub(crate) fn rest(&self, within: Duration) {
        self.wait_on(&self.due, within, |_| false);
    }

    fn wait_on(&self, news: &Condvar, within: Duration, is_so: impl Fn(&Place) -> bool) -> bool {
        let is_open =
            |place: &mut Place| !is_so(place) && place.fault.is_none() && place.jungle.is_some();
        let within = if self.is_by_hand { Duration::ZERO } else { within };
        let waited = news.wait_timeout_while(self.place(), within, is_open);
        is_so(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Lets go of the Jungle.
    pub(crate) fn end(&self) {
        self.place().jungle = None;
        *self.at_hand.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.has_ended.store(true, Ordering::SeqCst);
        self.guests.end();
        self.moved.notify_all();
        self.due.notify_all();
    }
}
