//! The examples run, and say what they ought to.

use std::process::{Command, Output, Stdio};

use jungle_testkit::NatsServers;

/// An example that cargo has built beside this test.
fn example(name: &str, arguments: &[&str]) -> Command {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(program.is_file(), "plain `cargo test` builds the examples, `--test it` does not");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn screens_reach_the_leaves_as_they_were_sent() {
    let servers = NatsServers::start(1);
    let said = said(example("screen_tree", &[&servers.addresses()]).output().unwrap());
    let expected = "20 screens of 320 x 200 to 4 leaves through 2 relays in ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn fish_of_all_nodes_are_seen_in_each() {
    let servers = NatsServers::start(1);
    let fish = ["ana", "ben", "cleo"];
    let tanks = fish.map(|name| {
        let frames = if name == "ana" { "200" } else { "1000000" };
        example("aquarium", &[&servers.addresses(), name, frames, "3"]).spawn().unwrap()
    });
    let [ana, mut others @ ..] = tanks;
    let said = said(ana.wait_with_output().unwrap());
    let frames: Vec<&str> = said.split_inclusive("fish\n").collect();
    others.iter_mut().for_each(|other| {
        other.kill().unwrap();
        other.wait().unwrap();
    });
    assert_eq!(frames.len(), 201, "{said}");
    for name in fish {
        assert!(
            said.contains(&format!("{name}><>")) || said.contains(&format!("<><{name}")),
            "{said}"
        );
    }
}
