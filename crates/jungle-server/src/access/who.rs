//! Who a request comes from, and for how long that is known.

use std::sync::Arc;
use std::time::Instant;

use axum::http::Method;
use tokio::sync::watch;

use super::file::Access;

/// Who a request comes from.
#[derive(Clone)]
pub(crate) enum Who {
    /// There is no access file.
    Anybody,
    /// There is one, and it does not say who this is.
    Stranger,
    /// Nor here, but something may be read by everybody, whose name this one has among the grants.
    Public(Known),
    Known(Known),
}

impl Who {
    /// Of whom nobody knows who it is.
    pub(super) fn stranger(access: Arc<Access>, changes: watch::Receiver<Arc<Access>>) -> Who {
        if !access.is_public() {
            return Who::Stranger;
        }
        let until = Until { time: None, session: None };
        Who::Public(Known { name: Access::PUBLIC.into(), access, changes, until })
    }

    /// The user's, or the token's.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        match self {
            Who::Known(known) => Some(Arc::clone(&known.name)),
            Who::Anybody | Who::Stranger | Who::Public(_) => None,
        }
    }

    /// Is it refused whatever is asked, but for what is open to anybody? Where something may be
    /// read by everybody, that is for the handlers to find out.
    pub(crate) fn is_refused(&self, method: &Method) -> bool {
        match self {
            Who::Stranger => true,
            Who::Public(_) => !method.is_safe(),
            Who::Anybody | Who::Known(_) => false,
        }
    }

    /// May it read what everybody may, and nothing else?
    pub(crate) fn is_public(&self) -> bool {
        matches!(self, Who::Public(_))
    }

    /// Is it granted what it was when the request was let in, and known by the same? Else what was
    /// asked for since must be asked for again.
    pub(crate) fn is_as_before(&self) -> bool {
        let (Who::Known(known) | Who::Public(known)) = self else {
            return true;
        };
        let Known { name, access, changes, until } = known;
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
