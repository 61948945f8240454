//! Folders that somebody else has, and readers that go away.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use jungle::{OpenError, OpenOptions, Store};

#[cfg(target_os = "linux")]
use crate::Ended;
use crate::Folder;

#[test]
fn a_folder_that_is_written_elsewhere_is_refused() {
    let folder = Folder::new("locked");
    folder.write("a.json", "{}");
    folder.run(&["import", "d", "t", "a.json"]).check(0, "revision 1 is a.json already\n", "");
    let err = "Error: the Jungle in d is open elsewhere; close it there first\n\
               Hint: one process at a time writes to a folder; a server that has it is asked by \
               its URL\n";
    let writer = OpenOptions::new().open(folder.0.join("d")).unwrap();
    folder.run(&["put", "d", "t", "/a", "1"]).check(1, "", err);
    for args in [&["verify", "d"][..], &["backup", "d", "b"], &["gc", "d"]] {
        let err = format!(
            "Error: the Jungle in d is open elsewhere; close it there first\n\
             Hint: a server that has it does this while it serves: POST /api/v1/folder/{}\n",
            args[0]
        );
        folder.run(args).check(1, "", &err);
    }
    drop(writer);
    let reader = read(&folder);
    folder.run(&["get", "d", "t"]).check(0, "{}\n", "");
    folder.run(&["put", "d", "t", "/a", "1"]).check(1, "", err);
    drop(reader);
    folder.run(&["put", "d", "t", "/a", "1"]).check(0, "revision 2\n", "");
}

/// (Linux tells which files a process has open.)
#[cfg(target_os = "linux")]
#[test]
fn a_writer_that_starts_while_somebody_only_looks_waits_for_that() {
    let folder = Folder::new("looked-at");
    folder.write("a.json", "{}");
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let reader = read(&folder);
    let mut command = folder.command(&["put", "d", "t", "/a", "1"]);
    let mut writer = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let files = format!("/proc/{}/fd", writer.id());
    let has_come = || {
        let mut files = std::fs::read_dir(&files).into_iter().flatten().flatten();
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|file| file.ends_with("LOCK")))
    };
    while writer.try_wait().unwrap().is_none() && !has_come() {
        std::thread::yield_now();
    }
    drop(reader);
    Ended::new(writer.wait_with_output().unwrap()).check(0, "revision 2\n", "");
}

/// Opens the folder once nobody has it. What another test starts meanwhile has all files of this
/// process, and so its lock, for the moment until it is a program of its own.
fn read(folder: &Folder) -> Store {
    let begun = Instant::now();
    loop {
        match OpenOptions::new().read_only().open(folder.0.join("d")) {
            Err(OpenError::Locked { .. }) if begun.elapsed() < Duration::from_secs(30) => {
                std::thread::yield_now();
            }
            opened => return opened.unwrap(),
        }
    }
}

#[test]
fn those_who_change_an_access_file_at_once_undo_nothing() {
    let folder = Folder::new("access-at-once");
    let names: Vec<String> = (0..24).map(|number| format!("ci-{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let folder = &folder;
            let add = ["access", "add-token", "access.toml", name];
            scope.spawn(move || folder.run(&add).check_code(0));
        }
    });
    let listed = folder.run(&["access", "list", "access.toml"]).out;
    for name in &names {
        let line = format!("{name}  token");
        assert!(listed.lines().any(|listed| listed.starts_with(&line)), "{name}: {listed}");
    }
}

#[test]
fn what_everybody_may_read_is_granted_listed_and_taken_back() {
    let folder = Folder::new("access-public");
    let public = |verb: &str, more: &[&str]| {
        folder.run(&[&["access", verb, "access.toml", "public"][..], more].concat())
    };
    public("grant", &["news", "read"]).check_code(0);
    public("grant", &["news", "write"]).check_code(1);
    public("add-user", &[]).check_code(1);
    let list = || folder.run(&["access", "list", "access.toml"]).out;
    assert_eq!(list(), "public  everybody, read news /\n");
    public("revoke", &["news"]).check_code(0);
    assert_eq!(list(), "");
}

#[test]
fn a_folder_that_is_written_elsewhere_can_be_looked_at() {
    let folder = Folder::new("beside");
    folder.write("a.json", r#"{"a":1}"#);
    assert_eq!(folder.run(&["import", "d", "t", "a.json"]).code, Some(0));
    let writer = OpenOptions::new().open(folder.0.join("d")).unwrap();
    for n in 2..5 {
        let note = format!(
            "Note: somebody else writes to d: this is how it was at revision {}\n",
            writer.revision()
        );
        folder.run(&["get", "d", "t", "/a"]).check(0, &format!("{}\n", n - 1), &note);
        folder.run(&["ls", "d", "t"]).check(0, &format!("a: {}\n", n - 1), &note);
        for args in
            [&["log", "d", "t"][..], &["du", "d"], &["trees", "d"], &["find", "d", "t", "a > 0"]]
        {
            let ended = folder.run(args);
            assert_eq!((ended.code, &*ended.err), (Some(0), &*note), "{args:?}");
        }
        let tree = writer.open_tree("t").unwrap();
        tree.update(|tx| tx.put_attribute(&[], "a", n)).unwrap();
        writer.checkpoint().unwrap();
    }
}

#[test]
fn a_torn_end_is_cut_off_and_told() {
    let folder = Folder::new("torn");
    folder.write("a.json", "{}");
    folder.run(&["import", "d", "t", "a.json"]).check(0, "revision 1 is a.json already\n", "");
    // As an interruption leaves it: not closed, and with half a group behind the end.
    let log = folder.0.join("d/log/00000000000000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    bytes[end..end + 5].copy_from_slice(b"\x50\0\0\0x");
    std::fs::write(&log, bytes).unwrap();
    std::fs::write(folder.0.join("d/LOCK"), "").unwrap();
    let verified = folder.run(&["verify", "d"]);
    assert_eq!(verified.code, Some(0), "{}", verified.err);
    assert!(verified.out.contains("closed  no; 5 bytes torn, never acknowledged"));
    let ended = folder.run(&["put", "d", "t", "/a", "1"]);
    assert_eq!((ended.code, &*ended.out), (Some(0), "revision 2\n"), "{}", ended.err);
    assert!(ended.err.starts_with("Note: log/00000000000000000001.log had a torn end"));
    folder.run(&["get", "d", "t", "/"]).check(0, "{\"a\":1}\n", "");
}

#[test]
fn a_reader_that_goes_away_ends_an_export() {
    let folder = Folder::new("export_pipe");
    let elements = vec!["\"an element\""; 100_000].join(",");
    folder.write("a.json", &format!("[{elements}]"));
    assert_eq!(folder.run(&["import", "d", "t", "a.json"]).code, Some(0));
    for args in [&["export", "d", "t"][..], &["ls", "d", "t"], &["watch", "d", "t", "--json"]] {
        let mut command = folder.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn a_follower_tells_what_a_server_commits() {
    let folder = Folder::new("follow_beside");
    folder.write("a.json", "{\"a\":1}");
    assert_eq!(folder.run(&["import", "d", "t", "a.json"]).code, Some(0));
    let writer = OpenOptions::new().open(folder.0.join("d")).unwrap();
    let tree = writer.open_tree("t").unwrap();
    let mut command = folder.command(&["watch", "d", "t", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // Past the half of a segment, where the next one is made, and on into that.
    let text = |revision: i64| format!("{revision} {}", "x".repeat(30_000));
    for revision in 2..26 {
        let line = lines.next().unwrap();
        assert!(line.starts_with(&format!("{{\"revision\":{revision},")), "{line}");
        tree.update(|tx| tx.put_attribute(&[], "a", &*text(revision))).unwrap();
    }
    let segments = std::fs::read_dir(folder.0.join("d/log")).unwrap().count();
    assert!(segments > 1, "{segments}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_follower_tells_what_others_commit_and_lets_them() {
    let folder = Folder::new("follow");
    folder.write("a.json", "{\"a\":1}");
    assert_eq!(folder.run(&["import", "d", "t", "a.json"]).code, Some(0));
    let mut command = folder.command(&["watch", "d", "t", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("{\"revision\":2,"));
    for n in 3..6 {
        // It may be reading just now.
        while folder.run(&["put", "d", "t", "/a", &n.to_string()]).code != Some(0) {}
        let line = lines.next().unwrap();
        let change = format!(
            "\"path\":\"/a\",\"old\":{},\"value\":{n}}}]}}",
            if n == 3 { 1 } else { n - 1 }
        );
        assert!(
            line.starts_with(&format!("{{\"revision\":{n},")) && line.ends_with(&change),
            "{line}"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
