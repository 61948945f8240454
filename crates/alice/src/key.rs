//! Names of queues, with the type of what is in them.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// What can be in a data segment: anything that threads may share and that borrows nothing. It
/// need not be cloneable or serializable, for it is never copied.
///
/// ```
/// use std::sync::Mutex;
/// use alice::{Data, Key, Node};
///
/// /// Neither `Clone` nor `Debug`.
/// struct Picture(Vec<u8>);
///
/// fn is_data<T: Data>(_: &Key<T>) {}
///
/// is_data(&Key::<Picture>::new("pictures"));
/// is_data(&Key::<Mutex<Vec<u32>>>::new("shared"));
/// is_data(&Key::<Box<dyn Fn(u32) -> u32 + Send + Sync>>::new("code"));
/// ```
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
    name: Name,
    data: PhantomData<fn() -> T>,
}

/// A name that has been hashed once, when it was made, so that finding its queue is cheap.
#[derive(Clone)]
pub(crate) struct Name {
    text: Cow<'static, str>,
    hash: u64,
}

impl<T: Data> Key<T> {
    /// A key whose name is known when the program is written.
    #[must_use]
    pub const fn new(name: &'static str) -> Key<T> {
        let name = Name { text: Cow::Borrowed(name), hash: hash(name.as_bytes()) };
        Key { name, data: PhantomData }
    }

    /// A key whose name is made while the program runs, such as `block 7`. A node keeps a queue
    /// for each key it has seen, so let there be few.
    ///
    /// ```
    /// use alice::{Key, Node};
    ///
    /// let node = Node::new();
    /// let blocks: Vec<Key<u32>> = (0..3).map(|at| Key::named(format!("block {at}"))).collect();
    /// node.put(&blocks[2], 7)?;
    /// assert_eq!(blocks[2].name(), "block 2");
    /// assert_eq!(*node.take(&Key::<u32>::new("block 2"))?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn named(name: impl Into<String>) -> Key<T> {
        let name: String = name.into();
        let hash = hash(name.as_bytes());
        Key { name: Name { text: Cow::Owned(name), hash }, data: PhantomData }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name.text
    }

    pub(crate) fn hashed(&self) -> &Name {
        &self.name
    }
}

/// FNV-1a. Keys are the program's own, so that nobody can choose them to collide.
const fn hash(bytes: &[u8]) -> u64 {
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Passes on the hash that a [`Name`] brings.
#[derive(Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a name writes one number");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        Key { name: self.name.clone(), data: PhantomData }
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key<{}>({:?})", std::any::type_name::<T>(), self.name.text)
    }
}
