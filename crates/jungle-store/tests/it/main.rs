//! The store through its public interface.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backup;
mod folder;
mod golden;
mod records;
mod reopening;
mod support;
#[cfg(feature = "sim")]
mod tail;
