//! A pager, under a real pseudo-terminal: what goes through it, and when there is none.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::Folder;
use crate::terminal::{run, start, start_with};

/// Each line of what a pager shows begins with a colon.
const COLON: &str = "sed 's/^/: /'";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("a.json", r#"{"a":1,"b":2}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    folder.run(&["put", "d", "t", "/a", "3"]).check_code(0);
    folder
}

#[test]
fn what_is_for_reading_goes_through_a_pager() {
    let folder = folder("pager");
    let pager = [("JUNGLE_PAGER", COLON)];
    for args in [
        &["get", "d", "t", "--pretty"][..],
        &["ls", "d", "t"],
        &["find", "d", "t", "a = 3"],
        &["log", "d", "t"],
        &["show", "d", "t"],
        &["blame", "d", "t"],
        &["diff", "d", "t", "2"],
        &["cheat"],
    ] {
        let (code, text) = run(&folder, args, &pager);
        assert_eq!(code, Some(0), "{args:?} {text}");
        let are_paged = text.lines().all(|line| line.starts_with(": "));
        assert!(!text.is_empty() && are_paged, "{args:?} {text}");
    }
    let ls = ["ls", "d", "t"];
    assert_eq!(run(&folder, &ls, &[("PAGER", COLON)]).1, ": a: 3\n: b: 2\n");
    let both = [("PAGER", "sed s/^/no/"), ("JUNGLE_PAGER", COLON)];
    assert_eq!(run(&folder, &ls, &both).1, ": a: 3\n: b: 2\n");
}

#[test]
fn other_things_go_through_none() {
    let folder = folder("pager_none");
    let plain = (Some(0), "a: 3\nb: 2\n".to_owned());
    let pager = ("JUNGLE_PAGER", COLON);
    let ls = ["ls", "d", "t"];
    assert_eq!(run(&folder, &["ls", "d", "t", "--no-pager"], &[pager]), plain);
    assert_eq!(run(&folder, &["--no-pager", "ls", "d", "t"], &[pager]), plain);
    for none in ["", "cat", " "] {
        assert_eq!(run(&folder, &ls, &[("JUNGLE_PAGER", none), ("PAGER", COLON)]), plain);
        assert_eq!(run(&folder, &ls, &[("PAGER", none)]), plain);
    }
    let json = run(&folder, &["get", "d", "t", "--json"], &[pager]);
    assert_eq!(json, (Some(0), "{\"a\":3,\"b\":2}\n".to_owned()));
    let put = run(&folder, &["put", "d", "t", "/a", "4"], &[pager]);
    assert_eq!(put, (Some(0), "revision 4\n".to_owned()));
    let wrong = run(&folder, &["get", "d", "t", "/c", "--color", "never"], &[pager]);
    let told = "Error: there is nothing at /c\nHint: `get` of / prints what is there\n";
    assert_eq!(wrong, (Some(4), told.to_owned()));
    // Who reads from a pipe is no reader before a terminal.
    let mut piped = folder.command(&ls);
    piped.env(pager.0, pager.1);
    assert_eq!(String::from_utf8(piped.output().unwrap().stdout).unwrap(), "a: 4\nb: 2\n");
}

#[test]
fn a_shell_goes_through_none() {
    let folder = folder("pager_shell");
    // What is typed ahead could be lost: its lines come from elsewhere.
    let pager = [("JUNGLE_PAGER", COLON)];
    let mut seen = start_with(&folder, &["shell", "d"], &pager, Some(Stdio::piped()), 0);
    seen.child.stdin.take().unwrap().write_all(b"ls t\n").unwrap();
    assert_eq!(seen.end(), (Some(0), "a: 3\nb: 2\n".to_owned()));
}

#[test]
fn less_is_what_there_is_where_nothing_is_said() {
    let folder = folder("pager_less");
    fs::create_dir(folder.0.join("bin")).unwrap();
    folder.write("bin/less", "#!/bin/sh\necho \"LESS=$LESS\"\n/bin/cat\n");
    let less = folder.0.join("bin/less");
    fs::set_permissions(&less, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = folder.0.join("bin");
    let path = ("PATH", bin.to_str().unwrap());
    let ls = ["ls", "d", "t"];
    assert_eq!(run(&folder, &ls, &[path]).1, "LESS=FRX\na: 3\nb: 2\n");
    assert_eq!(run(&folder, &ls, &[path, ("LESS", "i")]).1, "LESS=i\na: 3\nb: 2\n");
    fs::remove_file(less).unwrap();
    assert_eq!(run(&folder, &ls, &[path]).1, "a: 3\nb: 2\n");
    // What somebody has asked for and is not there is noted.
    let (code, text) = run(&folder, &ls, &[path, ("PAGER", "most -w")]);
    assert_eq!(code, Some(0));
    let note = "Note: the pager \"most -w\" cannot be started: ";
    assert!(text.starts_with(note) && text.ends_with("\na: 3\nb: 2\n"), "{text}");
}

#[test]
fn colours_stay() {
    let folder = folder("pager_colours");
    let diff = ["diff", "d", "t", "2"];
    let (_, text) = run(&folder, &diff, &[("JUNGLE_PAGER", COLON)]);
    assert!(text.starts_with(": \x1b["), "{text:?}");
    let plain = [("JUNGLE_PAGER", COLON), ("NO_COLOR", "1")];
    assert_eq!(run(&folder, &diff, &plain).1, ": ~ /a: 1 \u{2192} 3\n");
}

#[test]
fn a_pager_that_ends_early_is_no_error() {
    let folder = folder("pager_early");
    let long: Vec<u32> = (0..200_000).collect();
    folder.write("long.json", &serde_json::to_string(&long).unwrap());
    let pager = [("JUNGLE_PAGER", "head -n 2")];
    let get = ["get", "long.json", "/", "--pretty"];
    assert_eq!(run(&folder, &get, &pager), (Some(0), "[\n  0,\n".to_owned()));
    // Without one that is told, as in any pipe.
    let mut piped = folder.command(&get);
    let mut child = piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// An interrupt is for whoever reads: it does not end what is read.
#[test]
fn an_interrupt_is_for_the_pager() {
    let folder = folder("pager_interrupt");
    folder.write("pager", "echo begun\nread line < go\ncat\n");
    let made = std::process::Command::new("mkfifo").arg(folder.0.join("go")).status();
    assert!(made.unwrap().success());
    let mut seen = start(&folder, &["ls", "d", "t"], &[("JUNGLE_PAGER", "sh pager")]);
    seen.read_until("begun");
    let process = rustix::process::Pid::from_child(&seen.child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    folder.write("go", "on\n");
    assert_eq!(seen.end(), (Some(0), "begun\na: 3\nb: 2\n".to_owned()));
}
