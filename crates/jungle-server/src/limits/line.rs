//! The line of those who look at much: so many have a turn at a time, and half of these at most,
//! rounded up, are one client's, which may have the only one. What else that one asks for waits
//! apart, in front of nobody.
//!
//! Who compares and commits has a turn while something is compared, and none while a disk or a log
//! is waited for. That is as long a commit as any then, and takes of the room for these, as many of
//! them as there are turns; where there is none left it keeps its turn. So no more threads wait
//! than there are turns and room, and no more is held than twice what those with turns may compare.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jungle::Comparing;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Whose;

/// Who has a turn, and who waits for one.
pub(crate) struct Line {
    turns: Arc<Semaphore>,
    /// So many may wait with what they have compared, which may be as large as that of a turn.
    waits: Arc<Semaphore>,
    /// The room for commits that take long, which others take of as well.
    writers: Arc<Semaphore>,
    of_one: usize,
    /// The turns that each client may have, as long as it has one, or waits for one.
    shares: Mutex<HashMap<Whose, Weak<Semaphore>>>,
}

/// A turn, until it is dropped: of one who commits only while something is compared.
pub(crate) struct Turn {
    line: Arc<Line>,
    whose: Option<Whose>,
    held: Mutex<Held>,
}

/// What is given back when it is dropped.
enum Held {
    Turn { _of_all: OwnedSemaphorePermit, _of_own: Option<OwnedSemaphorePermit> },
    Room { _wait: OwnedSemaphorePermit, _writer: OwnedSemaphorePermit },
}

impl Line {
    /// With so many turns, whose commits that wait are of these writers.
    pub(crate) fn new(turns: usize, writers: Arc<Semaphore>) -> Line {
        let of_one = turns.div_ceil(2);
        let [turns, waits] = [turns; 2].map(|count| Arc::new(Semaphore::new(count)));
        Line { turns, waits, writers, of_one, shares: Mutex::default() }
    }

    /// Waits for a turn, in the order in which they come; who has no share may have all of them.
    pub(crate) async fn turn(self: &Arc<Self>, whose: Option<Whose>) -> Turn {
        let held = Mutex::new(self.next(whose.as_ref()).await);
        Turn { line: Arc::clone(self), whose, held }
    }

    async fn next(&self, whose: Option<&Whose>) -> Held {
        let of_own = match whose {
            Some(whose) => Some(permit(self.share(whose)).await),
            None => None,
        };
        Held::Turn { _of_all: permit(Arc::clone(&self.turns)).await, _of_own: of_own }
    }

    fn share(&self, whose: &Whose) -> Arc<Semaphore> {
        let mut shares = self.lock();
        if let Some(share) = shares.get(whose).and_then(Weak::upgrade) {
            return share;
        }
        // What nobody has any more is forgotten when somebody comes.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.of_one));
        shares.insert(whose.clone(), Arc::downgrade(&share));
        share
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Whose, Weak<Semaphore>>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Does what compares, on a thread that may wait.
    pub(crate) fn compare<T>(&self, f: impl FnOnce() -> T) -> T {
        self.begin();
        let found = f();
        self.end();
        found
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Comparing for Turn {
    fn begin(&self) {
        let mut held = self.lock();
        if let Held::Room { .. } = *held {
            // Others were quicker. It has begun to commit, so it is not refused any more.
            *held = Handle::current().block_on(self.line.next(self.whose.as_ref()));
        }
    }

    fn end(&self) {
        // Whoever waits for room already goes first.
        let free = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_owned().ok();
        if let Some(wait) = free(&self.line.waits)
            && let Some(writer) = free(&self.line.writers)
        {
            *self.lock() = Held::Room { _wait: wait, _writer: writer };
        }
    }
}

async fn permit(of: Arc<Semaphore>) -> OwnedSemaphorePermit {
    of.acquire_owned().await.expect("it is never closed")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A line of so many turns, and the room for so many commits.
    fn line_of(turns: usize, commits: usize) -> (Arc<Line>, Arc<Semaphore>) {
        let room = Arc::new(Semaphore::new(commits));
        (Arc::new(Line::new(turns, Arc::clone(&room))), room)
    }

    fn named(name: &str) -> Option<Whose> {
        Some(Whose::Name(name.into()))
    }

    /// What it gives at once, if it does.
    async fn at_once<T>(coming: impl Future<Output = T>) -> Option<T> {
        timeout(Duration::ZERO, coming).await.ok()
    }

    #[tokio::test]
    async fn who_waits_for_an_own_turn_keeps_nobody_else_waiting() {
        let (line, _) = line_of(4, 0);
        let first = at_once(line.turn(named("ana"))).await.unwrap();
        let second = at_once(line.turn(named("ana"))).await.unwrap();
        let mut third = pin!(line.turn(named("ana")));
        assert!(at_once(third.as_mut()).await.is_none());
        let _ben = at_once(line.turn(named("ben"))).await.unwrap();
        drop(first);
        let third = at_once(third).await.unwrap();
        // Somebody of this machine, who may be anybody.
        let others = at_once(line.turn(None)).await.unwrap();
        assert!(at_once(line.turn(None)).await.is_none());
        drop((second, third, others));
        let _cleo = at_once(line.turn(named("cleo"))).await.unwrap();
        assert_eq!(line.lock().len(), 2, "what nobody has is forgotten");
    }

    #[tokio::test]
    async fn turn_is_given_back_while_nothing_is_compared_if_there_is_room() {
        let (line, room) = line_of(1, 1);
        let turn = at_once(line.turn(None)).await.unwrap();
        turn.compare(|| ());
        let other = at_once(line.turn(None)).await.unwrap();
        assert_eq!(room.available_permits(), 0);
        let again = tokio::task::spawn_blocking(move || {
            turn.begin();
            turn
        });
        drop(other);
        let turn = again.await.unwrap();
        assert!(at_once(line.turn(None)).await.is_none());
        let taken = Arc::clone(&room).try_acquire_owned().unwrap();
        turn.end();
        assert!(at_once(line.turn(None)).await.is_none(), "there is no room");
        drop((turn, taken));
        at_once(line.turn(None)).await.unwrap();
        assert_eq!(room.available_permits(), 1);
    }

    #[tokio::test]
    async fn as_many_wait_with_what_they_compared_as_have_turns() {
        let (line, room) = line_of(1, 3);
        let first = at_once(line.turn(None)).await.unwrap();
        first.compare(|| ());
        let second = at_once(line.turn(None)).await.unwrap();
        second.compare(|| ());
        assert!(at_once(line.turn(None)).await.is_none(), "it keeps its turn");
        assert_eq!(room.available_permits(), 2);
        drop(first);
        second.end();
        at_once(line.turn(None)).await.unwrap();
        assert_eq!(room.available_permits(), 2);
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_nothing() {
        let (line, _) = line_of(1, 0);
        let turn = at_once(line.turn(named("ana"))).await.unwrap();
        assert!(at_once(line.turn(named("ana"))).await.is_none());
        drop(turn);
        assert!(line.lock().values().all(|share| share.strong_count() == 0));
        assert!(at_once(line.turn(named("ana"))).await.is_some());
    }
}
