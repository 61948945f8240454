//! Code segments that failed, and what they had been given.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::key::{Data, Key};
use crate::queue::Queue;
use crate::segment::Segment;

/// Why one failed.
pub(crate) type Reason = Box<dyn Error + Send + Sync>;

/// Where a node reports the code segments that panicked or returned an error: data segments like
/// any other, for a thread or a code segment to take. The newest 1,024 are kept, unless
/// [`Queue::set_bound`] says otherwise.
///
/// ```
/// use alice::{FAILURES, Key, Node, Run, take};
///
/// const WORDS: Key<String> = Key::new("words");
///
/// let node = Node::new();
/// node.code("parse")
///     .when(take(&WORDS))
///     .run(Run::Here)
///     .repeatedly(|word, ()| word.parse::<u32>().map(drop))?;
/// node.put(&WORDS, "seven".to_owned())?;
/// let failure = node.take(&FAILURES)?;
/// assert_eq!(failure.to_string(), "code segment `parse` failed: invalid digit found in string");
/// assert_eq!(*failure.input(&WORDS).expect("what it was given"), "seven");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const FAILURES: Key<Failure> = Key::new("alice.failures");

/// How many failures a node keeps.
pub(crate) const FAILURES_MAX: usize = 1024;

/// A code segment that failed.
///
/// ```
/// use alice::{FAILURES, Key, Node, take};
///
/// const WHOLE: Key<u32> = Key::new("whole");
/// const PARTS: Key<u32> = Key::new("parts");
/// const SHARE: Key<u32> = Key::new("share");
///
/// let node = Node::new();
/// let divide = node.code("divide").when((take(&WHOLE), take(&PARTS))).to(&SHARE);
/// divide.once(|(whole, parts), share| share.put(**whole / **parts))?;
/// node.put(&WHOLE, 12)?;
/// node.put(&PARTS, 0)?;
/// let failure = node.take(&FAILURES)?;
/// assert_eq!((failure.code(), failure.message()), ("divide", "attempt to divide by zero"));
/// assert_eq!(failure.input(&WHOLE).as_deref(), Some(&12));
/// assert_eq!(failure.inputs().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: as an error
/// Its [source](Error::source) is what the error that was returned has as its own.
///
/// ```
/// use std::error::Error;
/// use std::time::Duration;
/// use alice::{FAILURES, Key, Node, Run, take};
///
/// const TEXT: Key<&str> = Key::new("text");
///
/// fn parse(text: &'static str) -> Result<(), Box<dyn Error>> {
///     let node = Node::new();
///     let parse = node.code("parse").when(take(&TEXT)).run(Run::Here);
///     parse.once(|text, ()| text.parse::<u32>().map(drop))?;
///     node.put(&TEXT, text)?;
///     match node.take_within(&FAILURES, Duration::ZERO) {
///         Ok(failure) => Err(failure.into_data().expect("nobody else has it").into()),
///         Err(_) => Ok(()),
///     }
/// }
/// assert!(parse("7").is_ok());
/// let error = parse("seven").unwrap_err();
/// assert_eq!(error.to_string(), "code segment `parse` failed: invalid digit found in string");
/// ```
#[derive(Debug)]
pub struct Failure {
    code: Box<str>,
    message: String,
    reason: Reason,
    inputs: Vec<Given>,
}

/// One data segment that a code segment was given.
///
/// ```
/// use alice::{FAILURES, Key, Node, Run, take};
///
/// const JOBS: Key<String> = Key::new("jobs");
///
/// let node = Node::new();
/// let work = node.code("work").when(take(&JOBS)).run(Run::Here);
/// work.once(|_, ()| Err::<(), _>("the printer is out of paper"))?;
/// node.put(&JOBS, "print".to_owned())?;
/// let failure = node.take(&FAILURES)?;
/// for given in failure.inputs() {
///     assert_eq!((given.key(), given.is_taken()), ("jobs", true));
///     let job = given.segment::<String>().expect("the type of its key");
///     node.flip(&JOBS, &job)?;
/// }
/// assert_eq!(*node.take(&JOBS)?, "print");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Given {
    key: Box<str>,
    index: u64,
    is_taken: bool,
    data: Arc<dyn Any + Send + Sync>,
}

impl Failure {
    pub(crate) fn new(code: &str, message: String, reason: Reason, inputs: Vec<Given>) -> Failure {
        Failure { code: code.into(), message, reason, inputs }
    }

    /// The name of the code segment.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What it panicked with, or the error.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What it was given.
    #[must_use]
    pub fn inputs(&self) -> &[Given] {
        &self.inputs
    }

    /// What it was given under a key, the first if there were several: as the code segment left it,
    /// if it had begun to change it in place.
    ///
    /// ```
    /// use alice::{FAILURES, Key, Node, Run, take};
    ///
    /// const LISTS: Key<Vec<u32>> = Key::new("lists");
    ///
    /// let node = Node::new();
    /// let sum = node.code("sum").when(take(&LISTS)).run(Run::Here);
    /// sum.repeatedly(|list, ()| {
    ///     list.get_mut().expect("nobody else has it").push(4);
    ///     Err::<(), _>("it does not add up")
    /// })?;
    /// node.put(&LISTS, vec![1, 2, 3])?;
    /// let failure = node.take(&FAILURES)?;
    /// assert_eq!((failure.code(), failure.message()), ("sum", "it does not add up"));
    /// assert_eq!(*failure.input(&LISTS).expect("it was given one"), [1, 2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn input<T: Data>(&self, key: &Key<T>) -> Option<Segment<T>> {
        let of_key = |given: &&Given| &*given.key == key.name();
        self.inputs.iter().find(of_key)?.segment()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code segment `{}` failed: {}", self.code, self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The error itself is in what this one says.
        self.reason.source()
    }
}

impl Given {
    pub(crate) fn new<T: Data>(queue: &Queue<T>, segment: &Segment<T>, is_taken: bool) -> Given {
        let data = Arc::clone(segment.shared()) as Arc<dyn Any + Send + Sync>;
        Given { key: queue.name().into(), index: segment.index(), is_taken, data }
    }

    /// The name of its key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it was taken, so that it is in its queue no more.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// The data segment, if this is its type.
    #[must_use]
    pub fn segment<T: Data>(&self) -> Option<Segment<T>> {
        let data = Arc::clone(&self.data).downcast().ok()?;
        Some(Segment::received(data, self.index))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.index)
    }
}

/// What a panic says.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").to_owned()
}
