//! The locks and atomics of the commit path: the real ones, or shuttle's when it schedules them.
//!
//! Those of `jungle-tree` stay the real ones: nothing of the tree waits for another thread, so a
//! call into it is one step of a schedule. Its own protocol is checked by its `tests/loom.rs`.

#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
#[cfg(shuttle)]
pub(crate) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
#[cfg(shuttle)]
pub(crate) use shuttle::thread::yield_now;
#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;
#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
#[cfg(not(shuttle))]
pub(crate) use std::thread::yield_now;
#[cfg(not(shuttle))]
pub(crate) use std::thread_local;
