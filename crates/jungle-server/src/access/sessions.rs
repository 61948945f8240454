//! Sessions: what a browser has instead of a token, from log-in to log-out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;

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
        let session = Session { user: user.clone(), until: now + SESSION_TIME };
        sessions.insert(secret::hash(&secret), session);
        Ok(secret)
    }

    /// Whose session it is, if it has not ended.
    pub(super) fn find(&self, secret: &str, access: &Access, now: Instant) -> Option<String> {
        let sessions = self.lock();
        let session = sessions.get(&secret::hash(secret)).filter(|session| now < session.until)?;
        let is_known = access.user(&session.user.name) == Some(&session.user);
        is_known.then(|| session.user.name.clone())
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
            sessions.find(secret, access, start + Duration::from_secs(seconds))
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
