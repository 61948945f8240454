//! Revisions, their times, and who made them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// The number of a commit. One counter runs for a whole Jungle, so the revisions of one tree go
/// up but have gaps where other trees were committed to. The first is 1; 0 is the empty Jungle.
///
/// ```
/// use jungle_db::Revision;
/// assert!(Revision::new(3) < Revision::new(4));
/// assert_eq!(Revision::new(3).to_string(), "3");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// The revision with this number.
    #[must_use]
    pub const fn new(number: u64) -> Revision {
        Revision(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    pub(crate) const fn next(self) -> Revision {
        Revision(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment: microseconds since the beginning of 1970, UTC.
///
/// ```
/// use jungle_db::Timestamp;
/// assert_eq!(Timestamp::from_micros(1_000_000).as_micros(), 1_000_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment this many microseconds after the beginning of 1970, or before it where they are
    /// negative.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// Microseconds since the beginning of 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The moment this long before; the earliest there is if it would be earlier still.
    ///
    /// ```
    /// use std::time::Duration;
    /// use jungle_db::Timestamp;
    /// let now = Timestamp::from_micros(5_000_000);
    /// assert_eq!(now.before(Duration::from_secs(2)), Timestamp::from_micros(3_000_000));
    /// ```
    #[must_use]
    pub fn before(self, duration: Duration) -> Timestamp {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(micros))
    }
}

/// Where the time of a commit comes from.
///
/// A clock may stand still or go back: the times in a history never do, since a commit takes its
/// predecessor's time then. It is asked while writers wait, so it should be quick, and must not use
/// the Jungle whose clock it is.
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering};
/// use jungle_db::{Clock, Jungle, Timestamp};
///
/// /// A second passes with each commit.
/// struct Ticks(AtomicI64);
/// impl Clock for Ticks {
///     fn now(&self) -> Timestamp {
///         Timestamp::from_micros(self.0.fetch_add(1_000_000, Ordering::Relaxed))
///     }
/// }
/// let tree = Jungle::builder().clock(Ticks(AtomicI64::new(0))).build()?.create_tree("log")?;
/// tree.update(|tx| tx.append(&[]))?;
/// let mut past = tree.history(..);
/// let (newest, before) = (past.next().unwrap()?, past.next().unwrap()?);
/// assert!(newest.time > before.time);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that stands at the beginning of 1970: what a Jungle has that is given no other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }
}

/// Which request asked for a commit, so that a request that is sent again is not done again: see
/// [`CommitMeta::asked_by`]. Both are hashes, of 64 bits; whoever asks says what of.
///
/// ```
/// use jungle_db::{CommitMeta, CommitOptions, Jungle, NotWritten, RequestId, UpdateError};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let asked = |fingerprint| {
///     let meta = CommitMeta::new().asked_by(RequestId { key: 7, fingerprint });
///     tree.update_with(&CommitOptions::from(&meta), |tx| tx.append(&[]))
/// };
/// asked(1)?;
/// let another = asked(2);
/// assert!(matches!(another, Err(UpdateError::NotWritten(NotWritten::KeyInUse { .. }))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Of what the request is called.
    pub key: u64,
    /// Of what it says: another request must not be called the same.
    pub fingerprint: u64,
}

/// Who made a commit, and why.
///
/// ```
/// use jungle_db::CommitMeta;
/// let meta = CommitMeta::new().author("ana").message("spelling");
/// assert_eq!(meta.author_name(), Some("ana"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommitMeta(Option<Arc<Words>>);

#[derive(Clone, Default, PartialEq, Eq)]
struct Words {
    author: Option<Box<str>>,
    message: Option<Box<str>>,
    asked_by: Option<RequestId>,
}

impl CommitMeta {
    /// Neither an author nor a message.
    #[must_use]
    pub const fn new() -> CommitMeta {
        CommitMeta(None)
    }

    /// With this author.
    ///
    /// ```
    /// use jungle_db::CommitMeta;
    /// let meta = CommitMeta::new().author("ana").message("spelling");
    /// assert_eq!((meta.author_name(), meta.message_text()), (Some("ana"), Some("spelling")));
    /// ```
    #[must_use]
    pub fn author(self, author: &str) -> CommitMeta {
        self.with(|words| words.author = Some(author.into()))
    }

    /// With this message.
    #[must_use]
    pub fn message(self, message: &str) -> CommitMeta {
        self.with(|words| words.message = Some(message.into()))
    }

    /// Asked for by this request. Edits of a branch with it are committed once: if it is that of
    /// one of the newest [`REQUESTS_MAX`](crate::REQUESTS_MAX) revisions of the branch that are
    /// kept, they are refused as [`NotWritten::Repeated`], whoever committed that, and whether or
    /// not the Jungle was opened since. So are those of several branches, if it is that of any
    /// branch which the transaction looked at, whether or not it changes that one. What changes
    /// nothing makes no revision, and so is not known again; what a [`Series`](crate::Series)
    /// commits is not looked up.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, CommitOptions, Jungle, NotWritten, RequestId, UpdateError};
    /// let tree = Jungle::new()?.create_tree("board")?;
    /// let request = RequestId { key: 7, fingerprint: 1 };
    /// let options = CommitOptions::from(&CommitMeta::new().asked_by(request));
    /// let first = tree.update_with(&options, |tx| tx.append(&[]))?;
    /// match tree.update_with(&options, |tx| tx.append(&[])) {
    ///     Err(UpdateError::NotWritten(NotWritten::Repeated { revision })) => {
    ///         assert_eq!(revision, first.revision);
    ///     }
    ///     other => panic!("{other:?}"),
    /// }
    /// assert_eq!(tree.read().root().child_count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`NotWritten::Repeated`]: crate::NotWritten::Repeated
    #[must_use]
    pub fn asked_by(self, request: RequestId) -> CommitMeta {
        self.with(|words| words.asked_by = Some(request))
    }

    /// The author.
    #[must_use]
    pub fn author_name(&self) -> Option<&str> {
        self.0.as_ref()?.author.as_deref()
    }

    /// The message.
    #[must_use]
    pub fn message_text(&self) -> Option<&str> {
        self.0.as_ref()?.message.as_deref()
    }

    /// The request that asked for it.
    ///
    /// ```
    /// use jungle_db::{CommitMeta, RequestId};
    /// let request = RequestId { key: 7, fingerprint: 1 };
    /// assert_eq!(CommitMeta::new().asked_by(request).request(), Some(request));
    /// assert_eq!(CommitMeta::new().author("ana").request(), None);
    /// ```
    #[must_use]
    pub fn request(&self) -> Option<RequestId> {
        self.0.as_ref()?.asked_by
    }

    /// The bytes that it takes up elsewhere, if nothing shares them.
    pub(crate) fn heap_bytes(&self) -> usize {
        let Some(words) = self.0.as_deref() else { return 0 };
        let text = |text: &Option<Box<str>>| text.as_deref().map_or(0, str::len);
        size_of::<Words>() + text(&words.author) + text(&words.message)
    }

    fn with(self, set: impl FnOnce(&mut Words)) -> CommitMeta {
        let mut words = self.0.map_or_else(Words::default, |words| (*words).clone());
        set(&mut words);
        CommitMeta(Some(Arc::new(words)))
    }
}

impl fmt::Debug for CommitMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = f.debug_struct("CommitMeta");
        told.field("author", &self.author_name()).field("message", &self.message_text());
        if let Some(request) = self.request() {
            told.field("asked_by", &request);
        }
        told.finish()
    }
}

/// What a history tells of one revision.
///
/// ```
/// use jungle_db::{CommitMeta, CommitOptions, Jungle};
/// let tree = Jungle::new()?.create_tree("board")?;
/// let options = CommitOptions::from(&CommitMeta::new().author("ana").message("begin"));
/// let posted = tree.update_with(&options, |tx| tx.append(&[]))?;
/// let newest = tree.history(..).next().unwrap()?;
/// assert_eq!(newest.revision, posted.revision);
/// assert_eq!(newest.meta.message_text(), Some("begin"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionInfo {
    /// Its number.
    pub revision: Revision,
    /// When it was committed.
    pub time: Timestamp,
    /// Who committed it, and why.
    pub meta: CommitMeta,
}

/// The counter of a Jungle, in two halves: what has begun to be published and what has been. While
/// they are equal, no commit is under way.
#[derive(Default)]
pub(crate) struct Counter {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Counter {
    /// The newest revision that has begun.
    pub(crate) fn newest(&self) -> Revision {
        Revision(self.begun.load(Ordering::SeqCst))
    }

    /// The newest revision, if none is being published at the moment.
    pub(crate) fn at_rest(&self) -> Option<Revision> {
        let done = self.done.load(Ordering::SeqCst);
        (done == self.begun.load(Ordering::SeqCst)).then_some(Revision(done))
    }

    /// The newest revision before which nothing is being published.
    pub(crate) fn settled(&self) -> Revision {
        Revision(self.done.load(Ordering::SeqCst))
    }

    /// Draws the next number; [`Counter::finish`] must follow.
    pub(crate) fn begin(&self) -> Revision {
        Revision(self.begun.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Everything of a revision that had begun is visible.
    pub(crate) fn finish(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    /// Goes on from a number; nothing else may be under way.
    pub(crate) fn skip_to(&self, revision: Revision) {
        self.begun.store(revision.0, Ordering::SeqCst);
        self.done.store(revision.0, Ordering::SeqCst);
    }
}
