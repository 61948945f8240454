//! Tests of the tree through its public face.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod deep;
mod driver;
mod forged;
mod found;
mod full;
mod image;
mod model;
mod plain_maps;
mod plain_moves;
mod plain_places;
mod reuse;
mod skips;
mod spill;
mod straight;
mod walks;
