//! Several servers that follow one log: in memory, where it fails at random, and a real one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod appending;
mod clocks;
mod faults;
mod five;
mod founding;
mod guests;
mod in_memory;
mod invariants;
mod life;
mod lin;
mod local;
mod memory;
mod mirror;
mod model;
mod nats;
mod outbox;
mod reclaim;
mod schedule;
#[cfg(target_os = "linux")]
mod spilling;
mod support;
mod tip;
mod torture;
mod unread;
mod votes;
