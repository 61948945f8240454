//! A try-out of Alice with real processes: what is started, shown, drawn, and gone in the end.

use std::process::Stdio;

use serde_json::Value as Json;

use super::tryout::{Up, runs, signal};
use super::{Ended, Folder};

/// Starts nodes that pulse quickly.
fn start(folder: &Folder, args: &[&str]) -> Up {
    Up::start(folder, &[&["alice", "up", "--every", "20"], args].concat())
}

fn look(up: &Up, folder: &Folder, args: &[&str]) -> Ended {
    let (command, rest) = args.split_first().unwrap();
    folder.run(&[&["alice", command, "--engine", up.engine()], rest].concat())
}

#[test]
fn ring_is_started_shown_drawn_and_ended_by_an_interrupt() {
    let folder = Folder::new("alice-up");
    let mut up = start(&folder, &["--nodes", "3", "--topology", "ring"]);
    let names: Vec<&str> =
        up.told["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["n0", "n1", "n2"]);

    let top = look(&up, &folder, &["top", "--json", "--every", "200"]);
    top.check_code(0);
    let top: Json = serde_json::from_str(&top.out).unwrap();
    let node = &top["nodes"][0];
    assert_eq!(node["node"], "n0");
    let queue = |key: &str| {
        let mut queues = node["queues"].as_array().unwrap().iter();
        queues.find(|queue| queue["key"] == key).unwrap().clone()
    };
    assert!(queue("pulse")["put_per_second"].as_f64().unwrap() > 1.0, "{node}");
    assert!(queue("token")["put"].as_u64().unwrap() >= 1, "{node}");

    let plain = look(&up, &folder, &["top", "--every", "50"]);
    plain.check_code(0);
    assert!(plain.out.starts_with("3 nodes, 0 durable queues, "), "{}", plain.out);
    assert!(plain.out.contains("pass on") && !plain.out.contains('\x1b'), "{}", plain.out);

    let drawn = look(&up, &folder, &["draw"]);
    drawn.check_code(0);
    assert!(drawn.out.starts_with("<svg "), "{}", drawn.out);
    assert_eq!(drawn.out.matches("class=\"there\"").count(), 3);
    assert_eq!(drawn.out.matches("<line ").count(), 6);
    let missing = look(&up, &folder, &["draw", "mesh"]);
    assert_eq!((missing.code, &*missing.out), (Some(4), ""));
    assert!(missing.err.contains("there is no topology `mesh`"), "{}", missing.err);

    let processes = up.processes();
    // Itself, three nodes, what keeps the server, and the server.
    assert_eq!(processes.len(), 6, "{processes:?}");
    up.signal("-INT");
    assert_eq!(up.child.wait().unwrap().code(), Some(0));
    assert!(!processes.iter().any(|process| runs(*process)), "{processes:?}");
}

#[test]
fn nothing_is_left_behind_when_it_is_killed() {
    let folder = Folder::new("alice-killed");
    let mut up = start(&folder, &["--nodes", "2", "--topology", "tree:3"]);
    let processes = up.processes();
    assert_eq!(processes.len(), 5, "{processes:?}");
    up.signal("-KILL");
    up.child.wait().unwrap();
    while processes.iter().any(|process| runs(*process)) {
        std::thread::yield_now();
    }
}

#[test]
fn member_that_is_gone_is_drawn_so_until_it_returns() {
    let folder = Folder::new("alice-hole");
    folder.write("office.dot", "digraph { ana -> ben [label=helper]; ben -> ana [label=boss] }");
    let up = start(&folder, &["--topology", "office.dot"]);
    let ben = &up.told["nodes"][1];
    assert_eq!((&up.told["topology"], &ben["name"]), (&"office".into(), &"ben".into()));
    signal("-TERM", u32::try_from(ben["process"].as_u64().unwrap()).unwrap());
    while !look(&up, &folder, &["draw"]).out.contains("class=\"gone\"") {}
    let engine = ["--engine", up.engine(), "--topology", "office.dot"];
    let stranger = folder.run(&[&["alice", "node", "eve"], &engine[..]].concat());
    assert_eq!(stranger.code, Some(1));
    assert!(stranger.err.contains("`office` has no member `eve`"), "{}", stranger.err);
    let mut again = folder.command(&[&["alice", "node", "ben", "--leash"], &engine[..]].concat());
    let mut again = again.stdin(Stdio::piped()).spawn().unwrap();
    while look(&up, &folder, &["draw"]).out.contains("class=\"gone\"") {}
    drop(again.stdin.take());
    assert_eq!(again.wait().unwrap().code(), Some(0));
}

#[test]
fn missing_server_and_engine_are_told_with_what_to_do() {
    let folder = Folder::new("alice-missing");
    let mut command = folder.command(&["alice", "up"]);
    let ended = Ended::new(command.env("PATH", "").env_remove("NATS_SERVER").output().unwrap());
    assert_eq!((ended.code, &*ended.out), (Some(4), ""));
    assert!(ended.err.contains("Hint: get it from your system's packages"), "{}", ended.err);
    let nobody = folder.run(&["alice", "top", "--engine", "nats://127.0.0.1:1"]);
    assert_eq!(nobody.code, Some(7));
    assert!(nobody.err.contains("`jungle alice up` starts an engine"), "{}", nobody.err);
    let shape = folder.run(&["alice", "up", "--topology", "circle"]);
    assert_eq!(shape.code, Some(2));
    assert!(shape.err.contains("shapes are star, ring"), "{}", shape.err);
}
