//! Tests of the tree through its public face.

mod deep;
mod driver;
mod found;
mod model;
mod reuse;
mod straight;
