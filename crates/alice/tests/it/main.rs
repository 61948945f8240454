//! What Alice promises, tried at its boundary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod code;
mod crossed;
mod examples;
mod failures;
mod model;
mod queues;
mod threads;
mod waits;

use alice::{Key, Node};

fn put_all(node: &Node, key: &Key<u32>, data: impl IntoIterator<Item = u32>) {
    for data in data {
        node.put(key, data).unwrap();
    }
}
