//! Names of queues, with the type of what is in them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What can be in a data segment: anything that threads may share and that borrows nothing. It
/// need not be cloneable or serializable, for it is never copied.
pub trait Data: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Data for T {}

/// The name of a queue, and the type of its data segments.
///
/// A key is a constant of the program; each [`Node`](crate::Node) has a queue of its own for it,
/// made when it is first used.
///
/// ```
/// use alice::{Key, Node};
///
/// const WORDS: Key<String> = Key::new("words");
///
/// let (left, right) = (Node::new(), Node::new());
/// left.put(&WORDS, "hello".to_owned())?;
/// assert_eq!(*left.take(&WORDS)?, "hello");
/// assert!(right.queue(&WORDS)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Key<T> {
    name: Cow<'static, str>,
    data: PhantomData<fn() -> T>,
}

impl<T: Data> Key<T> {
    /// A key whose name is known when the program is written.
    #[must_use]
    pub const fn new(name: &'static str) -> Key<T> {
        Key { name: Cow::Borrowed(name), data: PhantomData }
    }

    /// A key whose name is made while the program runs, such as `block 7`. A node keeps a queue
    /// for each key it has seen, so let there be few.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Key<T> {
        Key { name: Cow::Owned(name.into()), data: PhantomData }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        Key { name: self.name.clone(), data: PhantomData }
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key<{}>({:?})", std::any::type_name::<T>(), self.name)
    }
}
