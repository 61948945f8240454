//! The line of those who look at much: so many have a turn at a time, and half of these at most,
//! rounded up, are one client's, which may have the only one. What else that one asks for waits
//! apart, in front of nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jungle::Comparing;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Whose;

/// Who has a turn, and who waits for one.
pub(crate) struct Line {
    turns: Arc<Semaphore>,
    /// So many may wait with what they have compared, which may be as large as that of a turn.
    waits: Arc<Semaphore>,
    of_one: usize,
    shares: Mutex<HashMap<Whose, Share>>,
}

/// What one client may have, as long as there is somebody to have it.
struct Share {
    turns: Arc<Semaphore>,
    /// Who has a turn of these, or waits for one.
    count: usize,
}

/// One of a client's, until it is dropped.
struct Entered {
    line: Arc<Line>,
    whose: Whose,
}

/// A turn, until it is dropped.
pub(crate) struct Turn {
    _of_all: OwnedSemaphorePermit,
    _of_own: Option<(OwnedSemaphorePermit, Entered)>,
}

impl Line {
    pub(crate) fn new(turns: usize) -> Line {
        let of_one = turns.div_ceil(2);
        let [turns, waits] = [turns; 2].map(|count| Arc::new(Semaphore::new(count)));
        Line { turns, waits, of_one, shares: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Whose, Share>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn, in the order in which they come; who has no share may have all of them.
    pub(crate) async fn turn(self: &Arc<Self>, whose: Option<Whose>) -> Turn {
        let of_own = match whose {
            Some(whose) => {
                let (turns, entered) = self.enter(whose);
                Some((permit(turns).await, entered))
            }
            None => None,
        };
        Turn { _of_all: permit(Arc::clone(&self.turns)).await, _of_own: of_own }
    }

    fn enter(self: &Arc<Self>, whose: Whose) -> (Arc<Semaphore>, Entered) {
        let mut shares = self.lock();
        let new = || Share { turns: Arc::new(Semaphore::new(self.of_one)), count: 0 };
        let share = shares.entry(whose.clone()).or_insert_with(new);
        share.count += 1;
        (Arc::clone(&share.turns), Entered { line: Arc::clone(self), whose })
    }
}

/// The turns of one who compares and commits: there is one while something is compared, and none
/// while a disk or a log is waited for. That is as long a commit as any then, and takes of the room
/// for these, as many of them as there are turns; where there is none left it keeps its turn, so
/// that no more threads wait than there are turns and room, and no more is held than twice what
/// those with turns may compare.
pub(crate) struct Turns {
    line: Arc<Line>,
    whose: Option<Whose>,
    room: Arc<Semaphore>,
    held: Mutex<Held>,
}

/// What there is at a time.
struct Held {
    turn: Option<Turn>,
    _room: Option<[OwnedSemaphorePermit; 2]>,
}

impl Turns {
    /// With the first one, which is kept until something was compared.
    pub(crate) fn new(
        turn: Turn,
        line: &Arc<Line>,
        whose: Option<Whose>,
        room: &Arc<Semaphore>,
    ) -> Turns {
        let held = Mutex::new(Held { turn: Some(turn), _room: None });
        Turns { line: Arc::clone(line), whose, room: Arc::clone(room), held }
    }

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

impl Comparing for Turns {
    fn begin(&self) {
        let mut held = self.lock();
        if held.turn.is_none() {
            // Others were quicker. It has begun to commit, so it is not refused any more.
            let turn = Handle::current().block_on(self.line.turn(self.whose.clone()));
            *held = Held { turn: Some(turn), _room: None };
        }
    }

    fn end(&self) {
        // Whoever waits for room already goes first.
        let free = |of: &Arc<Semaphore>| Arc::clone(of).try_acquire_owned().ok();
        if let Some(wait) = free(&self.line.waits)
            && let Some(room) = free(&self.room)
        {
            *self.lock() = Held { turn: None, _room: Some([wait, room]) };
        }
    }
}

async fn permit(turns: Arc<Semaphore>) -> OwnedSemaphorePermit {
    turns.acquire_owned().await.expect("it is never closed")
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut shares = self.line.lock();
        if let Some(share) = shares.get_mut(&self.whose) {
            share.count -= 1;
            if share.count == 0 {
                shares.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// What it gives at once, if it does.
    async fn at_once<T>(coming: impl Future<Output = T>) -> Option<T> {
        timeout(Duration::ZERO, coming).await.ok()
    }

    #[tokio::test]
    async fn who_waits_for_an_own_turn_keeps_nobody_else_waiting() {
        let [ana, ben] = ["ana", "ben"].map(|name| Some(Whose::Name(name.into())));
        let line = Arc::new(Line::new(4));
        let first = at_once(line.turn(ana.clone())).await.unwrap();
        let second = at_once(line.turn(ana.clone())).await.unwrap();
        let mut third = pin!(line.turn(ana));
        assert!(at_once(third.as_mut()).await.is_none());
        let _ben = at_once(line.turn(ben)).await.unwrap();
        drop(first);
        let third = at_once(third).await.unwrap();
        // Somebody of this machine, who may be anybody.
        let others = at_once(line.turn(None)).await.unwrap();
        assert!(at_once(line.turn(None)).await.is_none());
        drop((second, third, others));
        assert_eq!(line.lock().len(), 1, "what nobody has is forgotten");
    }

    #[tokio::test]
    async fn turn_is_given_back_while_nothing_is_compared_if_there_is_room() {
        let (line, room) = (Arc::new(Line::new(1)), Arc::new(Semaphore::new(1)));
        let first = at_once(line.turn(None)).await.unwrap();
        let turns = Turns::new(first, &line, None, &room);
        turns.compare(|| ());
        let other = at_once(line.turn(None)).await.unwrap();
        assert_eq!(room.available_permits(), 0);
        let again = tokio::task::spawn_blocking(move || {
            turns.begin();
            turns
        });
        drop(other);
        let turns = again.await.unwrap();
        assert!(at_once(line.turn(None)).await.is_none());
        let taken = Arc::clone(&room).try_acquire_owned().unwrap();
        turns.end();
        assert!(at_once(line.turn(None)).await.is_none(), "there is no room");
        drop((turns, taken));
        at_once(line.turn(None)).await.unwrap();
        assert_eq!(room.available_permits(), 1);
    }

    #[tokio::test]
    async fn as_many_wait_with_what_they_compared_as_have_turns() {
        let (line, room) = (Arc::new(Line::new(1)), Arc::new(Semaphore::new(3)));
        let turn = at_once(line.turn(None)).await.unwrap();
        let first = Turns::new(turn, &line, None, &room);
        first.compare(|| ());
        let turn = at_once(line.turn(None)).await.unwrap();
        let second = Turns::new(turn, &line, None, &room);
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
        let ana = || Some(Whose::Name("ana".into()));
        let line = Arc::new(Line::new(1));
        let turn = at_once(line.turn(ana())).await.unwrap();
        assert!(at_once(line.turn(ana())).await.is_none());
        drop(turn);
        assert!(line.lock().is_empty());
        assert!(at_once(line.turn(ana())).await.is_some());
    }
}
