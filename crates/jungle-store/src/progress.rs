//! Telling how far something is that takes long, and giving it up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::OpenError;
use crate::pages::PagesError;
use crate::verify::VerifyError;

/// So many things are done before it is told again.
const TOLD_EVERY: u64 = 1024;

/// Is told now and then how much is done, of how much: 0 where that is not known. What is counted,
/// revisions in most places, is said by what takes one.
#[derive(Clone, Default)]
pub struct Progress {
    tell: Option<Arc<dyn Fn(u64, u64) + Send + Sync>>,
    given_up: Option<Arc<AtomicBool>>,
}

impl Progress {
    /// Has this called, on the thread that does the work.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use jungle_store::{Progress, Store};
    /// # let dir = std::env::temp_dir().join(format!("jungle-progress-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// let tree = store.create_tree("board")?;
    /// (0..3_000).try_for_each(|_| tree.update(|tx| tx.append(&[])).map(drop))?;
    /// let seen = Arc::new(AtomicU64::new(0));
    /// let told = Arc::clone(&seen);
    /// store.verify_telling(&Progress::new(move |done, _| told.store(done, Ordering::Relaxed)))?;
    /// assert!(seen.load(Ordering::Relaxed) > 0);
    /// # drop((tree, store));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress { tell: Some(Arc::new(tell)), given_up: None }
    }

    /// Has it given up when somebody says so: it ends soon, with an error that says that it was
    /// given up. Nothing is lost by that, and what was begun is not left behind: what it works on
    /// is as it was, and it can be done again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::AtomicBool;
    /// use jungle_store::{OpenError, Progress, Store, VerifyError};
    /// # let dir = std::env::temp_dir().join(format!("jungle-given-up-{}", std::process::id()));
    /// let store = Store::open(&dir)?;
    /// store.create_tree("board")?;
    /// let progress = Progress::default().until(Arc::new(AtomicBool::new(true)));
    /// let error = store.verify_telling(&progress).unwrap_err();
    /// assert!(matches!(error, VerifyError::Open(OpenError::GivenUp)));
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn until(self, given_up: Arc<AtomicBool>) -> Progress {
        Progress { given_up: Some(given_up), ..self }
    }

    /// The same for a part of it that counts otherwise: only given up.
    pub(crate) fn untold(&self) -> Progress {
        Progress { tell: None, given_up: self.given_up.clone() }
    }

    pub(crate) fn tell(&self, done: u64, total: u64) {
        if let Some(tell) = &self.tell
            && done.is_multiple_of(TOLD_EVERY)
        {
            tell(done, total);
        }
    }

    /// As [`Progress::tell`], of what is long enough to be told each time.
    pub(crate) fn tell_each(&self, done: u64, total: u64) {
        if let Some(tell) = &self.tell {
            tell(done, total);
        }
    }

    /// Fails when it is given up.
    pub(crate) fn go_on(&self) -> Result<(), GivenUp> {
        match &self.given_up {
            Some(given_up) if given_up.load(Ordering::SeqCst) => Err(GivenUp),
            _ => Ok(()),
        }
    }
}

/// Whoever wanted it does not any more. Each operation's error has a variant for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenUp;

impl From<GivenUp> for OpenError {
    fn from(GivenUp: GivenUp) -> OpenError {
        OpenError::GivenUp
    }
}

impl From<GivenUp> for VerifyError {
    fn from(GivenUp: GivenUp) -> VerifyError {
        VerifyError::Open(OpenError::GivenUp)
    }
}

impl From<GivenUp> for PagesError {
    fn from(GivenUp: GivenUp) -> PagesError {
        PagesError::GivenUp
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { tell, given_up } = self;
        f.debug_tuple("Progress").field(&tell.is_some()).field(given_up).finish()
    }
}
