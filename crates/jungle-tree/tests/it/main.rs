//! Tests of the tree through its public face.

mod deep;
mod driver;
mod forged;
mod found;
mod full;
mod image;
mod model;
mod reuse;
mod skips;
mod spill;
mod straight;
mod walks;
