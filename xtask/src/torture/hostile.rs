//! `torture hostile`: connections that only take up room, beside somebody who means well.

use super::noted;
use crate::command::cargo;
use crate::error::{Result, no_arguments};

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("torture hostile", arguments)?;
    // A test, so that it runs with the others, too; here it is alone, and says what it measured.
    let test = ["test", "--quiet", "-p", "jungle-server", "--test", "it", "--"];
    noted(cargo(test.into_iter().chain(["hostile", "--nocapture"])))
}
