//! Having others append what one has, and appending what they have: see [`guests`](super::guests).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jungle_db::{CommitRecord, Places, SequenceError};

use super::{Appender, Records, encode, undecided};
use crate::cluster::survey::{ANSWERS_WITHIN, ASKED_EVERY};
use crate::engine::log::Appended;
use crate::follow::beside::guarded;
use crate::sequencer::guests::Visit;

/// A host that has appended nothing for so long is waited for no longer.
const PATIENCE: Duration = Duration::from_millis(200);
/// So often it is looked whether servers are to be asked again.
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// So long is waited after something went wrong.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Appender {
    /// Who is to append what this server has, if that is another one.
    pub(super) fn host(&self) -> Option<String> {
        if self.has_guests.load(Ordering::Relaxed) { self.follower.guests.host() } else { None }
    }

    /// Has records appended by the host; `None` if there is none.
    pub(super) fn visit(&self, records: &[CommitRecord]) -> Option<Result<Places, SequenceError>> {
        let host = self.host()?;
        let encoded = encode(records).ok()?;
        // Nothing else of this server is to be appended meanwhile, or this is void.
        let mut proven = self.turns.take();
        let after = {
            let place = self.follower.place();
            match self.jungle(&place) {
                Ok(_) => place.sequence,
                Err(error) => return Some(Err(error)),
            }
        };
        let visit = Visit { number: self.visits.fetch_add(1, Ordering::SeqCst) + 1, after };
        let batch = visit.write(self.log.id(), &self.mark, &encoded)?;
        self.log.send(&host, batch);
        Some(self.await_host(&visit, &mut proven))
    }

    /// Waits until it is known what has become of a batch.
    fn await_host(&self, visit: &Visit, proven: &mut u64) -> Result<Places, SequenceError> {
        let mut newest = visit.after;
        loop {
            let is_known = || self.follower.guests.outcome(visit);
            self.follower.wait(PATIENCE, |place| place.sequence > newest || is_known().is_some());
            if let Some((first, count)) = is_known() {
                return Ok(Places { count, first });
            }
            let now = {
                let place = self.follower.place();
                self.jungle(&place).map_err(|_| undecided(Lost))?;
                place.sequence
            };
            if now == newest {
                // The host has gone, or does not do it: behind a message of this server's it will
                // not.
                self.follower.guests.forget_host();
                self.make_void(proven)?;
            }
            newest = now;
        }
    }

    /// Appends a message without anything in it, unless others come first.
    fn make_void(&self, proven: &mut u64) -> Result<(), SequenceError> {
        let covered = self.asked.load(Ordering::SeqCst);
        let (after, message) = self.empty(covered).ok_or_else(|| undecided(Lost))?;
        self.look_before(after, &message).map_err(undecided)?;
        match self.append_behind(after, &message, self.within).map_err(undecided)? {
            Appended::At(sequence) => {
                *proven = covered;
                self.follow_own(sequence, &message, &[], &[]).map_err(undecided)
            }
            Appended::Behind => {
                let is_here = self.follower.wait_past(after, self.within);
                if is_here { Ok(()) } else { Err(undecided(Lost)) }
            }
        }
    }

    /// Appends what guests have sent, as long as this server follows the log.
    pub(crate) fn host_guests(self: &Arc<Self>) {
        if !self.receive_guests() {
            return;
        }
        let mut asked = None;
        loop {
            match guarded("appending what guests have", || self.host_next(&mut asked)) {
                Some(true) => {}
                Some(false) => return,
                None => self.follower.rest(AGAIN_AFTER),
            }
        }
    }

    /// Appends what they have sent once there is something; `false` when no more will be taken.
    fn host_next(&self, asked: &mut Option<Instant>) -> bool {
        if !self.has_guests.load(Ordering::Relaxed)
            && asked.is_none_or(|asked| asked.elapsed() > ASKED_EVERY)
        {
            *asked = Some(Instant::now());
            self.has_guests.store(self.are_guests_read(), Ordering::Relaxed);
        }
        if !self.follower.guests.wait(LOOKED_EVERY) {
            return false;
        }
        if let Some(left) = self.is_likely_to_append() {
            self.follower.guests.rest(left);
        } else if self.follower.guests.are_waiting() && self.append_guests().is_err() {
            self.follower.rest(AGAIN_AFTER);
        }
        true
    }

    /// How long this server is likely to have something itself, which guests go along with.
    fn is_likely_to_append(&self) -> Option<Duration> {
        let (ended, took) = *self.appended();
        if self.wanting.load(Ordering::SeqCst) > 0 {
            return Some(took.max(Duration::from_millis(1)));
        }
        (2 * took).checked_sub(ended?.elapsed()).filter(|left| !left.is_zero())
    }

    fn append_guests(&self) -> Result<(), SequenceError> {
        let mut proven = self.turns.take();
        self.follower.guests.gather(self.appended().1);
        self.append_in_turn(Records::Next(&[]), &mut proven).map(drop)
    }

    /// Do all servers read messages with guests? Where nobody can be asked they are one program.
    fn are_guests_read(&self) -> bool {
        let survey = self.log.survey(ANSWERS_WITHIN);
        survey.is_ok_and(|survey| survey.is_none_or(|it| it.do_all(|server| server.guests)))
    }

    /// Listens to guests, if they can send anything.
    fn receive_guests(&self) -> bool {
        let (follower, log) = (Arc::downgrade(&self.follower), self.log.id());
        self.log.receive(
            &self.mark,
            Arc::new(move |bytes| {
                let Some(follower) = follower.upgrade() else { return };
                // On the thread that all which comes from the engine goes through.
                if let Some(jungle) = follower.jungle_at_hand() {
                    follower.guests.came(bytes, log, jungle.arena());
                }
            }),
        )
    }
}

/// Whether another server has appended it is not known.
#[derive(Debug, thiserror::Error)]
#[error("another server was to append it, and the log is followed no further here")]
struct Lost;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread;

    use bytes::Bytes;
    use jungle_db::Jungle;

    use super::*;
    use crate::checkpoint::keeper::Every;
    use crate::cluster::survey::Survey;
    use crate::engine::log::{Got, Log, LogError, LogId, Tail};
    use crate::engine::memory::MemoryLog;
    use crate::follow::Follower;

    /// The engine's client has one thread: answers would wait for the message, too.
    #[test]
    fn what_guests_send_does_not_wait_for_a_message_that_is_followed() {
        let every = Every { messages: u64::MAX, bytes: u64::MAX };
        let follower = Arc::new(Follower::new(Jungle::new().unwrap(), 0, None, every));
        let (log, within) = (MemoryLog::new(), Duration::from_secs(1));
        let own = Arc::new(log.connect());
        let appender = Appender::new(own, Arc::clone(&follower), "host", within);
        assert!(appender.receive_guests());
        let (taken, is_taken) = channel();
        thread::scope(|scope| {
            let place = follower.place();
            scope.spawn(|| {
                log.send(&appender.mark, Bytes::from_static(b"no batch"));
                let _ = taken.send(());
            });
            let waited = is_taken.recv_timeout(Duration::from_secs(30));
            drop(place);
            waited.unwrap();
        });
    }

    /// A log that panics as it asks the servers.
    struct Panicking {
        log: MemoryLog,
        asked: Sender<()>,
    }

    impl Log for Panicking {
        fn id(&self) -> LogId {
            self.log.id()
        }

        fn append(&self, at: u64, it: &Bytes, within: Duration) -> Result<Appended, LogError> {
            self.log.append(at, it, within)
        }

        fn get(&self, sequence: u64) -> Result<Option<Bytes>, LogError> {
            self.log.get(sequence)
        }

        fn bounds(&self) -> Result<(u64, u64), LogError> {
            self.log.bounds()
        }

        fn tail(&self, from: u64) -> Tail {
            self.log.tail(from)
        }

        fn close(&self) {
            self.log.close();
        }

        fn receive(&self, server: &str, got: Got) -> bool {
            self.log.receive(server, got)
        }

        fn survey(&self, _: Duration) -> Result<Option<Survey>, LogError> {
            let _ = self.asked.send(());
            panic!("as it asks")
        }
    }

    /// Else nobody would be taken along any more, and nobody would hear of it.
    #[test]
    fn who_hosts_guests_goes_on_after_a_panic() {
        let every = Every { messages: u64::MAX, bytes: u64::MAX };
        let follower = Arc::new(Follower::new(Jungle::new().unwrap(), 0, None, every));
        let (asked, is_asked) = channel();
        let (log, within) = (Panicking { log: MemoryLog::new(), asked }, Duration::from_secs(1));
        let appender = Appender::new(Arc::new(log), Arc::clone(&follower), "host", within);
        let appender = Arc::new(appender);
        thread::scope(|scope| {
            let hosting = scope.spawn(|| appender.host_guests());
            let waited = is_asked.recv_timeout(Duration::from_secs(30));
            follower.end();
            waited.unwrap();
            assert!(hosting.join().is_ok());
        });
    }
}
