//! What the database does, seen from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod branches;
mod checkpoint;
mod collector;
mod commit;
mod conformance;
mod deep;
mod driver;
mod erase;
mod history;
mod indexes;
mod journal_replay;
mod model;
mod multi_tree;
mod renumbered;
mod requests;
mod retention_memory;
mod space;
mod support;
mod trees_by_name;
mod turn;
mod undo;
mod unwound;
mod watch;
