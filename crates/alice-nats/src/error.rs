//! What can go wrong.

use std::error::Error;
use std::io;
use std::iter::successors;

use async_nats::ConnectErrorKind;

use crate::durable::StreamError;
use crate::name::NameError;
use crate::parcel::{FormError, Parcel};
use crate::wire::Refusal;

/// What the client of the engine says.
pub type EngineError = async_nats::Error;

/// Why an engine cannot be used.
///
/// ```
/// use alice_nats::{ConnectError, Engine, NameError, Options};
///
/// let options = Options { space: String::new(), ..Options::default() };
/// let error = Engine::connect("nats://localhost:4222", options).err().expect("it has no name");
/// assert!(matches!(error, ConnectError::Space(NameError::Empty)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The space cannot be used.
    #[error(transparent)]
    Space(#[from] NameError),
    /// No threads could be started.
    #[error("cannot start the threads of the connection")]
    Threads(#[source] std::io::Error),
    /// No server answers, or none takes the credentials.
    #[error("cannot connect to the engine at {addresses}")]
    Connect {
        /// Where.
        addresses: String,
        /// Why.
        source: EngineError,
    },
    /// Servers before 2.15 are known to lose or double data.
    #[error("the server is version {version}: at least 2.15.0 is needed")]
    TooOld {
        /// The server's.
        version: String,
    },
    /// A thread that carries the engine cannot wait for it.
    #[error(transparent)]
    Inside(#[from] InsideEngine),
}

impl ConnectError {
    /// Is the engine not there, rather than not as it has to be, or refusing this client? That may
    /// pass by itself.
    ///
    /// ```
    /// use alice_nats::ConnectError;
    /// assert!(!ConnectError::TooOld { version: "2.10.0".to_owned() }.is_away());
    /// ```
    #[must_use]
    pub fn is_away(&self) -> bool {
        match self {
            ConnectError::Connect { source, .. } => !is_denial(&**source),
            _ => false,
        }
    }
}

/// Are the credentials, or the certificate of either side, not taken?
fn is_denial(error: &(dyn Error + 'static)) -> bool {
    let mut causes = successors(Some(error), |error| (*error).source());
    causes.any(|error| {
        // So TLS says that it does not like what it was told.
        let is_unlike = |error: &io::Error| error.kind() == io::ErrorKind::InvalidData;
        let is_denied = |error: &async_nats::ConnectError| {
            matches!(
                error.kind(),
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
            )
        };
        error.downcast_ref().is_some_and(is_unlike) || error.downcast_ref().is_some_and(is_denied)
    })
}

/// Called on a thread that carries the engine, for instance by a code segment with
/// [`Run::Here`](alice::Run::Here) whose input came from a peer. It cannot wait for the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread of the engine cannot wait for it: let the code segment run on the pool")]
pub struct InsideEngine;

/// Why a label cannot be had, or asked about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The label cannot be used.
    #[error(transparent)]
    Label(#[from] NameError),
    /// Somebody else has it.
    #[error("the label `{label}` is taken")]
    Taken {
        /// The label.
        label: String,
    },
    /// Not all of them came in time.
    #[error("not there in time: {}", labels.join(", "))]
    Missing {
        /// Those that are missing.
        labels: Vec<String>,
    },
    /// Fewer came in time than were waited for.
    #[error("{there} were there in time, of {members}")]
    TooFew {
        /// How many were there.
        there: usize,
        /// How many were waited for.
        members: usize,
    },
    /// A fixed graph has no member of this name.
    #[error("the topology `{topology}` has no member `{name}`")]
    NotInGraph {
        /// The topology.
        topology: String,
        /// The name.
        name: String,
    },
    /// Others mean something else by the topology's name, and are there.
    #[error("the topology `{topology}` is another one there: {there}")]
    Differs {
        /// The topology.
        topology: String,
        /// What they mean.
        there: String,
    },
    /// There is no such topology.
    #[error("there is no topology `{topology}`")]
    NoTopology {
        /// Its name.
        topology: String,
    },
    /// The key of the topology's events is another one on this node.
    #[error(transparent)]
    Declare(#[from] alice::DeclareError),
    /// The engine failed.
    #[error("the engine failed at {doing}")]
    Engine {
        /// At what.
        doing: &'static str,
        /// Why.
        source: EngineError,
    },
    /// A thread that carries the engine cannot wait for it.
    #[error(transparent)]
    Inside(#[from] InsideEngine),
}

impl JoinError {
    pub(crate) fn at<E: Into<EngineError>>(doing: &'static str) -> impl FnOnce(E) -> JoinError {
        move |source| JoinError::Engine { doing, source: source.into() }
    }
}

/// A data segment that was not put, and why.
pub struct SendError<T> {
    /// The segment, back again.
    pub parcel: Parcel<T>,
    /// Why it was not put.
    pub why: NotSent,
}

/// Why a data segment was not put, or is not known to have been.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotSent {
    /// The label or the key cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It cannot be written.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The engine does not carry so much in one piece.
    #[error("the data segment has {bytes} bytes, of at most {bytes_max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The engine's limit.
        bytes_max: usize,
    },
    /// Nobody has joined under this label.
    #[error("nobody is there as `{label}`")]
    Nobody {
        /// The label.
        label: String,
    },
    /// The peer does not let others use this key.
    #[error("the key `{key}` is not served there")]
    NotServed {
        /// The key.
        key: String,
    },
    /// The peer's queue has a bound.
    #[error("the queue is full: it holds at most {segments_max} data segments")]
    Full {
        /// Its bound.
        segments_max: u64,
    },
    /// The peer's node was closed.
    #[error("the peer's node was closed")]
    Closed,
    /// The peer says that the bytes are not what it takes for this key.
    #[error("the peer cannot read it: {why}")]
    Unreadable {
        /// In its words.
        why: String,
    },
    /// The peer failed.
    #[error("the peer failed: {why}")]
    Failed {
        /// In its words.
        why: String,
    },
    /// The engine has a stream of the name, but not the one that is needed.
    #[error("the stream differs: {what}")]
    Differs {
        /// In what.
        what: String,
    },
    /// No answer came in time. It may have been put or not.
    #[error("no answer came in time: it may have been put or not")]
    Unanswered,
    /// The engine failed. It may have been put or not.
    #[error("the engine failed: it may have been put or not")]
    Engine(#[source] EngineError),
    /// A thread that carries the engine cannot wait for it.
    #[error(transparent)]
    Inside(#[from] InsideEngine),
}

/// Why a wait for a data segment ended without it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotReceived {
    /// The label or the key cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There was none in time.
    #[error("the data segment was not there in time")]
    TimedOut,
    /// The wait was cancelled.
    #[error("the wait was cancelled")]
    Cancelled,
    /// Nobody has joined under this label.
    #[error("nobody is there as `{label}`")]
    Nobody {
        /// The label.
        label: String,
    },
    /// The peer does not let others use this key.
    #[error("the key `{key}` is not served there")]
    NotServed {
        /// The key.
        key: String,
    },
    /// The peer's node was closed.
    #[error("the peer's node was closed")]
    Closed,
    /// Too many wait at this peer.
    #[error("too many wait at this peer already")]
    Busy,
    /// The engine does not carry so much in one piece. It stays where it is.
    #[error("the data segment has {bytes} bytes, of at most {bytes_max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The engine's limit.
        bytes_max: usize,
    },
    /// What came is no answer, or the peer failed.
    #[error("the peer failed: {why}")]
    Failed {
        /// In its words.
        why: String,
    },
    /// The engine has a stream of the name, but not the one that is needed.
    #[error("the stream differs: {what}")]
    Differs {
        /// In what.
        what: String,
    },
    /// No answer came in time. If the peer took a segment for it, that is lost.
    #[error("no answer came in time")]
    Unanswered,
    /// The engine failed.
    #[error("the engine failed")]
    Engine(#[source] EngineError),
    /// A thread that carries the engine cannot wait for it.
    #[error(transparent)]
    Inside(#[from] InsideEngine),
}

impl NotSent {
    pub(crate) fn refused(why: Refusal, key: &str, bytes_max: usize) -> NotSent {
        match why {
            Refusal::NotServed => NotSent::NotServed { key: key.to_owned() },
            Refusal::Closed => NotSent::Closed,
            Refusal::Full { segments_max } => NotSent::Full { segments_max },
            Refusal::Unreadable { why } => NotSent::Unreadable { why },
            Refusal::TooLarge { bytes } => {
                NotSent::TooLarge { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), bytes_max }
            }
            Refusal::Busy => NotSent::Failed { why: "it is busy".to_owned() },
            Refusal::Failed { why } => NotSent::Failed { why },
        }
    }
}

impl From<StreamError> for NotSent {
    fn from(error: StreamError) -> NotSent {
        match error {
            StreamError::Engine(source) => NotSent::Engine(source),
            differs => NotSent::Differs { what: differs.to_string() },
        }
    }
}

impl From<StreamError> for NotReceived {
    fn from(error: StreamError) -> NotReceived {
        match error {
            StreamError::Engine(source) => NotReceived::Engine(source),
            differs => NotReceived::Differs { what: differs.to_string() },
        }
    }
}

impl NotReceived {
    pub(crate) fn refused(why: Refusal, key: &str, bytes_max: usize) -> NotReceived {
        match why {
            Refusal::NotServed => NotReceived::NotServed { key: key.to_owned() },
            Refusal::Closed => NotReceived::Closed,
            Refusal::Busy => NotReceived::Busy,
            Refusal::TooLarge { bytes } => NotReceived::TooLarge {
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                bytes_max,
            },
            Refusal::Unreadable { why } | Refusal::Failed { why } => NotReceived::Failed { why },
            Refusal::Full { .. } => NotReceived::Failed { why: "it is full".to_owned() },
        }
    }
}

impl<T> std::fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SendError").field(&self.why).finish()
    }
}

impl<T> std::fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.why.fmt(f)
    }
}

impl<T> std::error::Error for SendError<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.source()
    }
}
