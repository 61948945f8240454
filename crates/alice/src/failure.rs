//! Code segments that failed, and what they had been given.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::key::{Data, Key};
use crate::queue::Queue;
use crate::segment::Segment;

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
#[derive(Debug)]
pub struct Failure {
    code: Box<str>,
    message: String,
    inputs: Vec<Given>,
}

/// One data segment that a code segment was given.
pub struct Given {
    key: Box<str>,
    index: u64,
    is_taken: bool,
    data: Arc<dyn Any + Send + Sync>,
}

impl Failure {
    pub(crate) fn new(code: &str, message: String, inputs: Vec<Given>) -> Failure {
        Failure { code: code.into(), message, inputs }
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
