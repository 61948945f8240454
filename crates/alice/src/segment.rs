//! Data segments.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::key::Data;

/// A data segment: a shared, immutable piece of data as it was received under a key.
///
/// Cloning it, or handing it on with [`Queue::flip`](crate::Queue::flip), shares the data and
/// copies nothing. Who holds the only handle may change it in place.
///
/// ```
/// use alice::{Key, Node};
///
/// const RAW: Key<Vec<u32>> = Key::new("raw");
/// const SORTED: Key<Vec<u32>> = Key::new("sorted");
///
/// let node = Node::new();
/// node.put(&RAW, vec![3, 1, 2])?;
/// let mut numbers = node.take(&RAW)?;
/// assert_eq!(numbers.index(), 1);
/// numbers.get_mut().expect("nobody else has it").sort_unstable();
/// node.flip(&SORTED, &numbers)?;
/// assert_eq!(*node.take(&SORTED)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Segment<T> {
    data: Arc<T>,
    index: u64,
}

impl<T: Data> Segment<T> {
    pub(crate) fn received(data: Arc<T>, index: u64) -> Segment<T> {
        Segment { data, index }
    }

    /// Which one it was under the key it was received from, counted from 1; 0 if it was never
    /// under one. What [`newer`](crate::newer) compares with.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The data, to be changed in place; `None` when somebody else holds the segment too.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.data)
    }

    /// The data itself.
    ///
    /// ```
    /// use alice::{Key, Node};
    ///
    /// const LISTS: Key<Vec<u32>> = Key::new("lists");
    ///
    /// let node = Node::new();
    /// node.put(&LISTS, vec![1, 2, 3])?;
    /// let peeked = node.peek(&LISTS)?;
    /// let list = node.take(&LISTS)?;
    /// assert!(list.is_same(&peeked) && list.index() == 1);
    /// let list = list.into_data().expect_err("`peeked` holds it too");
    /// drop(peeked);
    /// assert_eq!(list.into_data().expect("nobody else holds it"), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Gives the segment back when somebody else holds it too.
    pub fn into_data(self) -> Result<T, Segment<T>> {
        let index = self.index;
        Arc::try_unwrap(self.data).map_err(|data| Segment { data, index })
    }

    /// Whether both are the very same piece of data, not just an equal one.
    #[must_use]
    pub fn is_same(&self, other: &Segment<T>) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }

    /// The pointer to the data that all its handles share.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alice::{Key, Node};
    ///
    /// const MAPS: Key<String> = Key::new("maps");
    ///
    /// let node = Node::new();
    /// node.put(&MAPS, "north".to_owned())?;
    /// // To be kept where nothing is known of Alice.
    /// let map: Arc<String> = Arc::clone(node.take(&MAPS)?.shared());
    /// assert_eq!(*map, "north");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shared(&self) -> &Arc<T> {
        &self.data
    }
}

impl<T: Data> From<Arc<T>> for Segment<T> {
    fn from(data: Arc<T>) -> Segment<T> {
        Segment { data, index: 0 }
    }
}

impl<T: Data> From<T> for Segment<T> {
    fn from(data: T) -> Segment<T> {
        Segment::from(Arc::new(data))
    }
}

impl<T> Clone for Segment<T> {
    fn clone(&self) -> Segment<T> {
        Segment { data: Arc::clone(&self.data), index: self.index }
    }
}

impl<T> Deref for Segment<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T: fmt::Debug> fmt::Debug for Segment<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Segment").field(&self.index).field(&self.data).finish()
    }
}
