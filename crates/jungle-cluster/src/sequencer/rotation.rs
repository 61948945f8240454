//! Taking turns at the log.
//!
//! Servers that all have much to append would come too late for each other again and again: whoever
//! was first has its next message ready at once, and the others have to work everything out anew.
//! So who came too late says so, and the others let it go first: of those who wait the one whose
//! newest message is the oldest. This is a courtesy. The log alone decides, whoever is not heard
//! loses nothing but time, and nobody is waited for longer than a moment.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// So long is waited for those who said that they wait, from the newest message on: for working out
/// and appending a message of some hundred commits, on a busy machine.
const COURTESY: Duration = Duration::from_millis(100);

/// So long is waited in all: one who has gone is not waited for longer because others append.
const PATIENCE: Duration = Duration::from_secs(1);

/// So many servers are known at most; of others it is as if they had appended nothing yet.
const SERVERS_MAX: usize = 256;

/// Whose turn it is, as far as is known here.
#[derive(Default)]
pub(crate) struct Rotation {
    /// This server.
    own: OnceLock<String>,
    state: Mutex<State>,
    /// It may be this server's turn now.
    moved: Condvar,
}

#[derive(Default)]
struct State {
    /// The newest message of each server.
    newest: BTreeMap<String, u64>,
    /// Who has said, since its newest message, that it waits.
    waiting: BTreeSet<String>,
    /// When the newest message was followed.
    since: Option<Instant>,
    /// Has this server said, since then, that it waits?
    has_said: bool,
}

impl Rotation {
    /// Says which server this is, once.
    pub(crate) fn set_own(&self, server: &str) {
        // The first one stays.
        let _ = self.own.set(server.to_owned());
    }

    /// A server says that it waits.
    pub(crate) fn heard(&self, server: &str) {
        let mut state = self.lock();
        if state.waiting.len() < SERVERS_MAX {
            state.waiting.insert(server.to_owned());
        }
        state.since.get_or_insert_with(Instant::now);
    }

    /// A message of a server was followed.
    pub(crate) fn followed(&self, server: &str, sequence: u64) {
        let mut state = self.lock();
        state.waiting.remove(server);
        if state.newest.len() < SERVERS_MAX || state.newest.contains_key(server) {
            state.newest.insert(server.to_owned(), sequence);
        }
        state.since = Some(Instant::now());
        state.has_said = false;
        if state.is_own_turn(self.own()) {
            self.moved.notify_all();
        }
    }

    /// A message of this server was followed.
    pub(crate) fn followed_own(&self, sequence: u64) {
        self.followed(self.own(), sequence);
    }

    /// Waits while others are to go first, and says meanwhile that this one waits, too.
    pub(crate) fn wait(&self, say: impl Fn()) {
        let begun = Instant::now();
        let mut state = self.lock();
        while let Some(left) = state.courtesy_left(self.own()) {
            if begun.elapsed() > PATIENCE {
                state.waiting.clear();
                return;
            }
            if mem::replace(&mut state.has_said, true) {
                let waited = self.moved.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(state);
                say();
                state = self.lock();
            }
        }
    }

    fn own(&self) -> &str {
        self.own.get().map_or("", String::as_str)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_own_turn(&self, own: &str) -> bool {
        let place = |server: &str| self.newest.get(server).copied().unwrap_or(0);
        let own = (place(own), own);
        self.waiting.iter().all(|other| (place(other), other.as_str()) >= own)
    }

    /// How long others are to be waited for still; `None` if they are not.
    fn courtesy_left(&mut self, own: &str) -> Option<Duration> {
        if self.is_own_turn(own) {
            return None;
        }
        let since = self.since.get_or_insert_with(Instant::now);
        let left = COURTESY.checked_sub(since.elapsed()).filter(|left| !left.is_zero());
        if left.is_none() {
            // They have gone, or are in no hurry.
            self.waiting.clear();
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    fn rotation() -> Rotation {
        let rotation = Rotation::default();
        rotation.set_own("b");
        rotation
    }

    fn is_turn(rotation: &Rotation) -> bool {
        rotation.lock().is_own_turn("b")
    }

    #[test]
    fn who_waits_goes_before_whoever_appended_later() {
        let rotation = rotation();
        assert!(is_turn(&rotation));
        rotation.followed("b", 1);
        rotation.heard("c");
        assert!(!is_turn(&rotation));
        rotation.followed("c", 2);
        assert!(is_turn(&rotation));
        // Both wait: the oldest first, and of those who have appended nothing the first by name.
        rotation.followed("a", 3);
        rotation.heard("c");
        assert!(is_turn(&rotation));
        rotation.heard("d");
        assert!(!is_turn(&rotation));
        rotation.followed("d", 4);
        assert!(is_turn(&rotation));
        rotation.heard("b");
        assert!(is_turn(&rotation), "nobody waits for itself");
    }

    #[test]
    fn nobody_is_waited_for_longer_than_a_moment() {
        let rotation = rotation();
        rotation.followed("b", 1);
        rotation.heard("c");
        let said = Cell::new(0);
        let begun = Instant::now();
        rotation.wait(|| said.set(said.get() + 1));
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!(said.get(), 1);
        assert!(is_turn(&rotation), "who did not come is forgotten");
    }

    /// As on a host, which takes guests along all the time, and has commits of its own besides.
    #[test]
    fn nobody_is_waited_for_longer_because_others_append() {
        let (rotation, long) = (rotation(), Duration::from_secs(10));
        rotation.followed("b", 1);
        rotation.heard("gone");
        let (is_over, begun) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            scope.spawn(|| {
                let goes_on = || !is_over.load(Ordering::SeqCst) && begun.elapsed() < long;
                for sequence in (2..).take_while(|_| goes_on()) {
                    rotation.followed("b", sequence);
                    thread::park_timeout(Duration::from_millis(1));
                }
            });
            rotation.wait(|| ());
            is_over.store(true, Ordering::SeqCst);
        });
        assert!(begun.elapsed() < long);
        assert!(is_turn(&rotation), "who did not come is forgotten");
    }

    #[test]
    fn no_more_servers_are_known_than_there_is_room_for() {
        let rotation = rotation();
        for server in 0..2 * SERVERS_MAX {
            rotation.followed(&server.to_string(), server as u64);
            rotation.heard(&format!("{server} waits"));
        }
        let state = rotation.lock();
        assert_eq!((state.newest.len(), state.waiting.len()), (SERVERS_MAX, SERVERS_MAX));
    }
}
