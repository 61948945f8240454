//! What remote keys promise, with real servers of the engine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durable;
mod examples;
mod forms;
mod history;
mod kill;
mod live;
mod network;
mod secure;
mod topology;
mod waits;

use std::time::Duration;

use alice_nats::{Engine, Options};
use jungle_testkit::NatsServers;

/// Long enough for whatever has to happen.
const LONG: Duration = Duration::from_secs(30);
const NOW: Duration = Duration::ZERO;

/// A connection to one server, and the server.
fn engine() -> (Engine, NatsServers) {
    let servers = NatsServers::start(1);
    (connect(&servers, Options::default()), servers)
}

fn connect(servers: &NatsServers, options: Options) -> Engine {
    Engine::connect(&servers.addresses(), options).unwrap()
}
