//! Group commit: whoever leads writes what all have appended, and syncs it.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, MutexGuard};
use std::time::{Duration, Instant};

use super::gather::Expected;
use super::writer::Writer;
use super::{Group, Log, Phase, SPARE_BYTES_MAX, State};
use crate::error::LogError;
use crate::planted::{Bug, is_awake};

impl Log {
    /// Writes what has gathered, and syncs it if somebody waits for that.
    pub(super) fn lead<'l>(
        &'l self,
        mut state: MutexGuard<'l, State>,
        writer: Writer,
        for_sync: bool,
    ) -> MutexGuard<'l, State> {
        if for_sync {
            state = self.let_come(state);
            if state.check().is_err() {
                // Somebody else has failed meanwhile, behind whom nothing is written.
                state.writer = Some(writer);
                self.wake.iter().for_each(Condvar::notify_all);
                return state;
            }
        }
        let last = state.appended;
        let mut group = state.take_group();
        let for_sync = for_sync || state.waiting[1] > 0;
        let asked = self.asked.load(Ordering::Relaxed);
        let answered = asked - state.asked_before;
        if for_sync {
            state.asked_before = asked;
        }
        drop(state);

        let mut turn = Turn { log: self, writer: Some(writer), synced_in: None };
        let written = turn.write(&mut group, last, for_sync);
        let wanted = turn.writer.as_ref().and_then(Writer::next_wanted);
        let wanted = wanted.filter(|_| written.is_ok());
        let mut state = turn.end(written, last, for_sync);
        if let Some(synced_in) = turn.synced_in {
            let come = self.asked.load(Ordering::Relaxed) - asked;
            state.expected = Expected::new(answered, come, synced_in);
        }
        if group.frame.capacity() <= SPARE_BYTES_MAX {
            state.spare = group.frame;
        }
        drop(state);
        // The next leader first: the disk works again while all the others are woken.
        self.wake[(group.number + 1) % 2].notify_one();
        self.wake[group.number % 2].notify_all();
        self.fill_ahead(wanted)
    }

    /// Fills so much of the next segment, if any is wanted, while others write.
    fn fill_ahead(&self, wanted: Option<(u64, u64)>) -> MutexGuard<'_, State> {
        let prepared = wanted.map_or(Ok(()), |wanted| self.next.prepare(&*self.disk, wanted));
        let mut state = self.lock();
        match prepared {
            // There may be room before the segment that is written to is full.
            Err(error) if error.is_full() => state.stats.has_no_room_ahead = true,
            Err(error) => self.fail(&mut state, error.into()),
            Ok(()) if wanted.is_some() => state.stats.has_no_room_ahead = false,
            Ok(()) => {}
        }
        state
    }

    /// Lets others run until those have come who are likely to.
    fn let_come<'l>(&'l self, mut state: MutexGuard<'l, State>) -> MutexGuard<'l, State> {
        let (before, expected) = (state.asked_before, state.expected);
        let come = || self.asked.load(Ordering::Relaxed) - before;
        if expected.are_there(come()) {
            return state;
        }
        state.is_expecting = true;
        drop(state);
        expected.wait(come);
        let mut state = self.lock();
        state.is_expecting = false;
        state
    }

    /// Those who wait for the write only need not wait for the sync.
    fn note_written(&self, group: usize, last: u64) {
        let mut state = self.lock();
        state.written = last;
        let early = is_awake(Bug::FollowersAcknowledgedEarly);
        if early {
            state.durable = last;
        }
        if state.waiting[0] > 0 || early {
            drop(state);
            self.wake[group % 2].notify_all();
        }
    }
}

impl State {
    /// What has gathered; the next group gathers from now on.
    fn take_group(&mut self) -> Group {
        let (number, spare) = (self.gathering.number + 1, std::mem::take(&mut self.spare));
        let fresh = Group::new(number, self.appended + 1, spare);
        std::mem::replace(&mut self.gathering, fresh)
    }
}

/// A leader's turn; if it is not ended, nobody else can write any more.
struct Turn<'l> {
    log: &'l Log,
    writer: Option<Writer>,
    /// How long its sync took.
    synced_in: Option<Duration>,
}

impl<'l> Turn<'l> {
    fn write(&mut self, group: &mut Group, last: u64, for_sync: bool) -> Result<(), LogError> {
        let log = self.log;
        let writer = self.writer.as_mut().expect("there until the turn ends");
        if !group.is_empty() {
            let is_last = writer.is_full_before(&group.frame);
            let mut write = || -> Result<(), LogError> {
                Ok(writer.write(&mut group.frame, (group.first, last), &log.next)?)
            };
            // The segment is synced before the next one is begun.
            match is_last {
                true => log.syncs.alone(write)?,
                false => write()?,
            }
            if for_sync {
                log.note_written(group.number, last);
            }
        }
        if for_sync {
            let synced_in = log.syncs.alone(|| {
                let begun = Instant::now();
                writer.sync()?;
                Ok(begun.elapsed())
            })?;
            self.synced_in = Some(synced_in);
        }
        Ok(())
    }

    /// Gives the writer back.
    fn end(
        &mut self,
        result: Result<(), LogError>,
        last: u64,
        for_sync: bool,
    ) -> MutexGuard<'l, State> {
        let mut state = self.log.lock();
        state.writer = self.writer.take();
        match result {
            Ok(()) => {
                state.written = last;
                if for_sync {
                    state.durable = last;
                }
            }
            Err(error) => self.log.fail(&mut state, error),
        }
        if let Some(writer) = &state.writer {
            let synced = writer.synced_bytes();
            (state.stats, state.position) = (writer.stats, writer.position());
            state.note_synced(synced);
            self.log.bytes.store(state.position.bytes, Ordering::Relaxed);
        }
        state
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let mut state = self.log.lock();
            // Whatever has failed before: whoever waits for the writer waits for nothing.
            state.phase = Phase::Over(LogError::Broken);
            self.log.fail(&mut state, LogError::Broken);
        }
    }
}
