//! The store through its public interface.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audit;
#[cfg(feature = "sim")]
mod audit_disk;
mod backup;
mod backup_stream;
mod beside;
mod checkpoints;
#[cfg(feature = "sim")]
mod checkpoints_disk;
#[cfg(feature = "sim")]
mod closing;
mod erase;
#[cfg(feature = "sim")]
mod erase_again;
mod folder;
#[cfg(feature = "sim")]
mod forged;
#[cfg(feature = "sim")]
mod giving_up;
mod golden;
#[cfg(feature = "sim")]
mod golden_crash;
mod keys;
#[cfg(feature = "sim")]
mod older;
mod pages;
#[cfg(feature = "sim")]
mod pages_crash;
#[cfg(feature = "sim")]
mod pages_rot;
mod records;
mod reopening;
mod secrets;
#[cfg(feature = "sim")]
mod segments;
mod space;
mod stream;
mod support;
mod survey;
#[cfg(feature = "sim")]
mod tail;
#[cfg(feature = "sim")]
mod unchanged;
#[cfg(feature = "sim")]
mod waiting;
