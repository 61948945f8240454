//! Who a request comes from, and for how long that is known.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::file::Access;

/// Who a request comes from.
#[derive(Clone)]
pub(crate) enum Who {
    /// There is no access file.
    Anybody,
    /// There is one, and it does not say who this is.
    Stranger,
    Known(Known),
}

impl Who {
    /// The user's, or the token's.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        match self {
            Who::Known(known) => Some(Arc::clone(&known.name)),
            Who::Anybody | Who::Stranger => None,
        }
    }

    /// Is it granted what it was when the request was let in, and known by the same? Else what was
    /// asked for since must be asked for again.
    pub(crate) fn is_as_before(&self) -> bool {
        let Who::Known(Known { name, access, changes, until }) = self else {
            return true;
        };
        let now = changes.borrow();
        !until.is_over() && (Arc::ptr_eq(access, &now) || access.is_same_for(name, &now))
    }
}

#[derive(Clone)]
pub(crate) struct Known {
    pub(super) name: Arc<str>,
    pub(super) access: Arc<Access>,
    /// Tells when `access` is not what holds any more.
    pub(super) changes: watch::Receiver<Arc<Access>>,
    pub(super) until: Until,
}

/// How long it is known who somebody is.
#[derive(Clone)]
pub(super) struct Until {
    pub(super) time: Option<Instant>,
    /// Its other end is gone when the session is.
    pub(super) session: Option<watch::Receiver<()>>,
}

impl Until {
    fn is_over(&self) -> bool {
        self.time.is_some_and(|time| time <= Instant::now())
            || self.session.as_ref().is_some_and(|alive| alive.has_changed().is_err())
    }

    pub(super) async fn wait(&mut self) {
        let time = async {
            match self.time {
                Some(time) => tokio::time::sleep_until(time.into()).await,
                None => std::future::pending().await,
            }
        };
        let session = async {
            match &mut self.session {
                // Nothing is ever sent.
                Some(alive) => _ = alive.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time => {}
            () = session => {}
        }
    }
}
