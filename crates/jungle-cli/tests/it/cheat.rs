//! Recipes of `jungle cheat` can be typed as they are.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Folder, without_settings};

/// What ends only when it is interrupted, or asks a server.
fn is_for_a_server(line: &str) -> bool {
    let begins = |start: &&str| line.starts_with(start);
    let servers = ["curl ", "jungle serve ", "jungle cluster up ", "jungle cluster status "];
    servers.iter().any(begins) || line.ends_with(" --follow")
}

#[test]
fn each_recipe_does_what_it_says() {
    let folder = Folder::new("cheat");
    let told = folder.run(&["cheat", "--json"]);
    told.check_code(0);
    let lines: Vec<Value> =
        told.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<&str> = lines.iter().map(|recipe| recipe["line"].as_str().unwrap()).collect();
    let (servers, runnable): (Vec<&str>, Vec<&str>) =
        lines.into_iter().partition(|line| is_for_a_server(line));
    assert!(servers.len() < 12 && runnable.len() > 50, "{servers:?}");
    let jungle = Path::new(env!("CARGO_BIN_EXE_jungle"));
    let path = std::env::var("PATH").unwrap();
    for line in runnable {
        let mut shell = Command::new("sh");
        without_settings(&mut shell);
        shell.args(["-c", line]).current_dir(&folder.0).env("HOME", &folder.0);
        shell.env("PATH", format!("{}:{path}", jungle.parent().unwrap().display()));
        // Where one asks for more, there is nothing.
        let ended = shell.stdin(std::process::Stdio::null()).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        let are_notes = errors.lines().all(|line| line.starts_with("Note: "));
        assert!(ended.status.success() && are_notes, "{line}: {errors}");
    }
}

#[test]
fn a_topic_is_told_alone() {
    let folder = Folder::new("cheat_topic");
    let branches = folder.run(&["cheat", "branches"]);
    branches.check_code(0);
    assert!(branches.out.starts_with("branches: "), "{}", branches.out);
    assert!(branches.out.contains("\n    jungle branch data notes draft\n"), "{}", branches.out);
    assert!(!branches.out.contains("\nimport: "), "{}", branches.out);
    let wrong = "Error: there is no topic \"branch\"\nHint: did you mean branches?\n";
    folder.run(&["cheat", "branch"]).check(4, "", wrong);
}
