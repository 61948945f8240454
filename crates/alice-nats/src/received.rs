//! What came from a peer.

use alice::Segment;

use crate::parcel::{FormError, Parcel, Portable};

/// A data segment that came from a peer. It is not read before it is [opened](Received::open).
pub struct Received<T> {
    index: u64,
    parcel: Parcel<T>,
}

impl<T: Portable> Received<T> {
    pub(crate) fn new(index: u64, parcel: Parcel<T>) -> Received<T> {
        Received { index, parcel }
    }

    /// Which one it was under the key it was received from.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The data, as a segment that a local queue takes with [`flip`](alice::Node::flip).
    ///
    /// # Errors
    /// When the bytes are not what they should be.
    pub fn open(&self) -> Result<Segment<T>, FormError> {
        self.parcel.open()
    }

    /// All its forms, to be sent on or kept in a queue.
    #[must_use]
    pub fn parcel(&self) -> &Parcel<T> {
        &self.parcel
    }
}

impl<T> std::fmt::Debug for Received<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Received").field(&self.index).finish()
    }
}
