//! `torture engine`: Alice's durable segments, while those who take them are killed, and the
//! engine's leader; and random histories of several peers, while the server is killed.

use super::noted;
use crate::command::cargo;
use crate::error::{Result, no_arguments};
use crate::nats;

/// As many as the bar asks for; the same test has fewer among the others.
const SEGMENTS: &str = "10000";
/// Of 60 operations each.
const HISTORIES: &str = "60";

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("torture engine", arguments)?;
    nats::run(&[])?;
    let test = ["test", "--release", "--quiet", "-p", "alice-nats", "--test", "it", "--"];
    let tests = ["kill::nothing", "history::random", "--nocapture"];
    let mut suite = cargo(test.into_iter().chain(tests));
    suite.env("ALICE_KILL_SEGMENTS", SEGMENTS).env("ALICE_HISTORIES", HISTORIES);
    noted(suite)
}
