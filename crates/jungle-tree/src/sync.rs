//! All that the root cell and the pins share between threads. It is a file of its own since
//! `tests/loom.rs` compiles those two with another one in its place, of loom's.

pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
pub(crate) use std::thread_local;
