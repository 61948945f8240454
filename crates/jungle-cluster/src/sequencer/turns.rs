//! Turns: a lock that is held for as long as an engine takes, so a waiter can give a deadline.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A value that belongs to whose turn it is.
pub(crate) struct Turns<T> {
    /// `None` while it is somebody's turn.
    value: Mutex<Option<T>>,
    given_back: Condvar,
}

/// It is somebody's turn until this is dropped.
pub(crate) struct Turn<'t, T> {
    turns: &'t Turns<T>,
    /// `None` only while it is dropped.
    value: Option<T>,
}

impl<T> Turns<T> {
    pub(crate) fn new(value: T) -> Turns<T> {
        Turns { value: Mutex::new(Some(value)), given_back: Condvar::new() }
    }

    /// Waits for a turn, however long it takes.
    pub(crate) fn take(&self) -> Turn<'_, T> {
        let taken = self.given_back.wait_while(self.lock(), |value| value.is_none());
        let value = taken.unwrap_or_else(PoisonError::into_inner).take();
        Turn { turns: self, value }
    }

    /// Waits for a turn until then; `None` when it does not come.
    pub(crate) fn take_before(&self, deadline: Instant) -> Option<Turn<'_, T>> {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.given_back.wait_timeout_while(self.lock(), left, |value| value.is_none());
        let value = waited.unwrap_or_else(PoisonError::into_inner).0.take()?;
        Some(Turn { turns: self, value: Some(value) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until the turn ends")
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is there until the turn ends")
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        *self.turns.lock() = self.value.take();
        self.turns.given_back.notify_one();
    }
}
