//! The locks that threads meet at: the real ones, or shuttle's when it schedules them.

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{
    Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;
#[cfg(not(shuttle))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
#[cfg(not(shuttle))]
pub(crate) use std::thread_local;

/// Why a lock is never poisoned: nothing of the caller's runs while one of ours is held.
pub(crate) const UNPOISONED: &str = "nothing panics while it is held";
