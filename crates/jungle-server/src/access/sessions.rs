//! Sessions: what a browser has instead of a token, from log-in to log-out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;
use tokio::sync::watch;

use super::file::{Access, AccessError, User};
use super::secret;

/// How long a session lasts at most.
pub(super) const SESSION_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// Sessions at a time; beyond it the oldest one ends.
const SESSIONS_MAX: usize = 10_000;

/// The sessions, by the hash of what the browser has; in memory only.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<Hash, Session>>);

struct Session {
    /// As it was at log-in: another password ends the sessions.
    user: User,
    until: Instant,
    /// Dropped with the session, so those who wait for it know.
    alive: watch::Sender<()>,
}

/// A session that has not ended.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) until: Instant,
    /// Its other end is gone when the session is.
    pub(super) alive: watch::Receiver<()>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session; the answer is for the browser.
    pub(super) fn begin(&self, user: &User, now: Instant) -> Result<String, AccessError> {
        let secret = secret::secret()?;
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX {
            sessions.retain(|_, session| now < session.until);
        }
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.until);
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| sessions.remove(&hash));
        }
        let (until, alive) = (now + SESSION_TIME, watch::Sender::new(()));
        let session = Session { user: user.clone(), until, alive };
        sessions.insert(secret::hash(&secret), session);
        Ok(secret)
    }

    /// Whose session it is, if it has not ended.
    pub(super) fn find(&self, secret: &str, access: &Access, now: Instant) -> Option<Found> {
        let sessions = self.lock();
        let session = sessions.get(&secret::hash(secret)).filter(|session| now < session.until)?;
        let is_known = access.user(&session.user.name) == Some(&session.user);
        is_known.then(|| Found {
            name: session.user.name.clone(),
            until: session.until,
            alive: session.alive.subscribe(),
        })
    }

    pub(super) fn end(&self, secret: &str) {
        self.lock().remove(&secret::hash(secret));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_lasts_until_its_end_its_users_or_its_passwords() {
        let mut access = Access::default();
        access.add_user("ana", None).unwrap();
        let user = access.user("ana").unwrap().clone();
        let (sessions, start) = (Sessions::default(), Instant::now());
        let find = |secret: &str, access: &Access, seconds| {
            let found = sessions.find(secret, access, start + Duration::from_secs(seconds));
            found.map(|found| found.name)
        };
        let secret = sessions.begin(&user, start).unwrap();
        assert_eq!(find(&secret, &access, 0).as_deref(), Some("ana"));
        assert_eq!(find(&secret, &access, 43_199).as_deref(), Some("ana"));
        assert_eq!(find(&secret, &access, 43_200), None);
        assert_eq!(find(&secret[1..], &access, 0), None);
        let mut other = access.clone();
        other.add_user("ana", None).unwrap();
        assert_eq!(find(&secret, &other, 0), None);
        assert_eq!(find(&secret, &Access::default(), 0), None);
        sessions.end(&secret);
        assert_eq!(find(&secret, &access, 0), None);
    }

    #[test]
    fn oldest_session_ends_when_there_are_too_many() {
        let user = User { name: "ana".into(), password: String::new() };
        let (sessions, start) = (Sessions::default(), Instant::now());
        let first = sessions.begin(&user, start).unwrap();
        for n in 1..=SESSIONS_MAX {
            sessions.begin(&user, start + Duration::from_millis(n as u64)).unwrap();
        }
        assert_eq!(sessions.lock().len(), SESSIONS_MAX);
        assert!(!sessions.lock().contains_key(&secret::hash(&first)));
    }
}
