//! A real server on a free port, and a real client.

// clippy.toml allows this in tests, but does not see that helpers beside them belong to them.
#![allow(clippy::unwrap_used)]

mod access;
mod acme;
// That of the tests of the cluster.
#[path = "../../../jungle-cluster/tests/it/appending.rs"]
mod appending;
mod audit;
mod bad_requests;
mod board;
mod board_local;
mod catalogue;
mod commits;
mod committing;
mod contract;
mod copies;
mod crowding;
mod damage;
mod docs;
mod documents;
mod explorer;
mod history;
mod introduction;
mod keys;
mod lists;
mod login;
mod matrix;
mod merging;
mod nodes;
mod outbox;
mod peers_page;
mod people;
mod repeated;
mod several;
mod starting;
mod status;
mod stopped;
mod stopping;
mod support;
mod tls;
mod trees;
mod unread;
mod upkeep;
mod watching;
