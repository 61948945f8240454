//! What can go wrong.

use std::fmt;

use crate::key::Data;
use crate::segment::Segment;

/// Why inputs or outputs cannot be declared as they were.
///
/// ```
/// use alice::{DeclareError, Key, Node, peek, take};
///
/// const COUNT: Key<u32> = Key::new("count");
///
/// let node = Node::new();
/// let twice = node.code("add").when((take(&COUNT), take(&COUNT))).once(|_, ()| ());
/// assert_eq!(twice.unwrap_err(), DeclareError::SameKeyTwice { name: "count".to_owned() });
/// let restless = node.code("watch").when(peek(&COUNT)).repeatedly(|_, ()| ());
/// assert_eq!(restless.unwrap_err(), DeclareError::NeverRests { name: "watch".to_owned() });
/// let other_type = node.queue(&Key::<String>::new("count")).unwrap_err();
/// assert!(other_type.to_string().starts_with("the key `count` holds u32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// The key was used with another type on this node.
    #[error("the key `{name}` holds {holds}, and was used for {asked}")]
    WrongType {
        /// The key.
        name: String,
        /// The type it was first used with.
        holds: &'static str,
        /// The type it was now used with.
        asked: &'static str,
    },
    /// One key stands among the inputs twice. Use [`take_many`](crate::take_many).
    #[error("the key `{name}` is an input twice; use `take_many` to take several at once")]
    SameKeyTwice {
        /// The key.
        name: String,
    },
    /// A code segment that is to run again and again only peeks, so that it would never rest. Take
    /// an input, or peek for what is [`newer`](crate::newer).
    #[error("the code segment `{name}` repeats and consumes no input, so it would never rest")]
    NeverRests {
        /// The code segment.
        name: String,
    },
    /// The node was closed.
    #[error("the node was closed")]
    Closed,
}

/// A data segment that was not put, and why.
///
/// ```
/// use alice::{Key, Node, NotPut};
///
/// const LETTERS: Key<String> = Key::new("letters");
///
/// let node = Node::new();
/// node.close();
/// let error = node.put(&LETTERS, "hello".to_owned()).unwrap_err();
/// assert_eq!(error.why, NotPut::Closed);
/// assert_eq!(error.segment.into_data().expect("nobody else has it"), "hello");
/// ```
pub struct PutError<T> {
    /// The segment, back again.
    pub segment: Segment<T>,
    /// Why it was not put.
    pub why: NotPut,
}

/// Why a data segment was not put.
///
/// ```
/// use std::num::NonZeroUsize;
/// use std::time::Duration;
/// use alice::{Bound, Key, Node, NotPut, WhenFull};
///
/// let node = Node::new();
/// let jobs = node.queue(&Key::<u32>::new("jobs"))?;
/// let segments_max = NonZeroUsize::MIN;
/// jobs.set_bound(Some(Bound { segments_max, when_full: WhenFull::Refuse }));
/// jobs.put(1)?;
/// match jobs.put(2) {
///     Err(error) if matches!(error.why, NotPut::Full { .. }) => drop(jobs.take()?),
///     done => drop(done?),
/// }
/// jobs.put_within(2, Duration::from_secs(1))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPut {
    /// The queue is full, and its [`Bound`](crate::Bound) says to refuse.
    #[error("the queue is full: it holds at most {segments_max} data segments")]
    Full {
        /// Its bound.
        segments_max: usize,
    },
    /// The node was closed.
    #[error("the node was closed")]
    Closed,
    /// A code segment cannot wait for room: it would hold the thread that makes it.
    #[error("a code segment cannot wait for room in a queue")]
    InsideCode,
    /// The key is another one here.
    #[error(transparent)]
    Declare(#[from] DeclareError),
}

/// Why a wait for data segments ended without them. Nothing was taken.
///
/// ```
/// use std::time::Duration;
/// use alice::{Key, Node, WaitError};
///
/// const ANSWER: Key<u32> = Key::new("answer");
///
/// let node = Node::new();
/// let answer = match node.take_within(&ANSWER, Duration::from_millis(1)) {
///     Ok(answer) => *answer,
///     Err(WaitError::TimedOut) => 42,
///     Err(error) => return Err(error.into()),
/// };
/// assert_eq!(answer, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// They were not all there in time.
    #[error("the data segments were not all there in time")]
    TimedOut,
    /// The wait was cancelled.
    #[error("the wait was cancelled")]
    Cancelled,
    /// The node was closed.
    #[error("the node was closed")]
    Closed,
    /// A code segment cannot wait for what is not there: declare it as an input instead.
    #[error("a code segment cannot wait: declare what it needs as an input")]
    InsideCode,
    /// The inputs cannot be declared like this.
    #[error(transparent)]
    Declare(DeclareError),
}

impl From<DeclareError> for WaitError {
    fn from(error: DeclareError) -> WaitError {
        match error {
            DeclareError::Closed => WaitError::Closed,
            error => WaitError::Declare(error),
        }
    }
}

impl<T: Data> PutError<T> {
    pub(crate) fn new(segment: impl Into<Segment<T>>, why: NotPut) -> PutError<T> {
        PutError { segment: segment.into(), why }
    }
}

impl<T> fmt::Debug for PutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PutError").field(&self.why).finish()
    }
}

impl<T> fmt::Display for PutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<T> std::error::Error for PutError<T> {}
