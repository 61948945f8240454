//! `--quiet`: only what was asked for, and errors.

use std::fs::{self, File};

use jungle::OpenOptions;

use crate::Folder;
use crate::serving::Serving;

#[test]
fn what_was_done_is_not_told_and_what_was_asked_for_is() {
    let folder = Folder::new("quiet");
    folder.write("a.json", r#"{"a":1,"b":[1,2]}"#);
    folder.write("patch", "{\"op\":\"change\",\"path\":\"/a\",\"old\":2,\"value\":3}\n");
    let done: &[&[&str]] = &[
        &["import", "d", "t", "a.json"],
        &["put", "d", "t", "/a", "2"],
        &["rm", "d", "t", "/b/1"],
        &["apply", "d", "t", "patch"],
        &["apply", "d", "t", "patch", "--reverse"],
        &["undo", "d", "t"],
        &["redo", "d", "t"],
        &["revert", "d", "t", "main"],
        &["tag", "d", "t", "v1"],
        &["branch", "d", "t", "draft"],
        &["put", "d", "t", "/a", "3", "--branch", "draft"],
        &["merge", "d", "t", "draft"],
        &["export", "d", "t", "--output", "b.json"],
        &["index", "d", "t", "a"],
        &["keep", "d", "t", "100"],
        &["trees", "d", "--create", "other"],
        &["backup", "d", "copy"],
        &["restore", "copy", "again"],
        &["gc", "d"],
        &["access", "add-token", "access.toml", "ci"],
        &["access", "grant", "access.toml", "ci", "t", "read"],
        &["erase", "d", "t", "/b", "--yes"],
    ];
    for args in done {
        let is_secret = args.contains(&"add-token");
        let ended = folder.run(&[*args, &["-q"]].concat());
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{args:?}");
        assert_eq!(ended.out.is_empty(), !is_secret, "{args:?}: {}", ended.out);
    }
    // What programs are told of what was done is not asked for either.
    folder.run(&["put", "d", "t", "/a", "4", "--quiet", "--json"]).check(0, "", "");
    folder.run(&["--quiet", "get", "d", "t"]).check(0, "{\"a\":4}\n", "");
    folder.run(&["tag", "d", "t", "-q"]).check(0, "v1  revision 9\n", "");
    folder.run(&["find", "d", "t", "a = 4", "-q"]).check(0, "/\n", "");
    let wrong = "Error: there is nothing at /c\nHint: `get` of / prints what is there\n";
    folder.run(&["get", "d", "t", "/c", "-q"]).check(4, "", wrong);
}

#[test]
fn conflicts_are_told_with_how_to_settle_them() {
    let folder = Folder::new("quiet_conflict");
    folder.write("a.json", r#"{"a":1}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    folder.run(&["branch", "d", "t", "draft"]).check_code(0);
    folder.run(&["put", "d", "t", "/a", "2"]).check_code(0);
    folder.run(&["put", "d", "t", "/a", "3", "--branch", "draft"]).check_code(0);
    let [loud, quiet] = [&["merge", "d", "t", "draft"][..], &["merge", "d", "t", "draft", "-q"]]
        .map(|args| folder.run(args));
    assert_eq!((quiet.code, quiet.out, quiet.err), (Some(5), loud.out, loud.err));
}

#[test]
fn notes_are_left_out() {
    let folder = Folder::new("quiet_notes");
    let store = OpenOptions::new().open(folder.0.join("d")).unwrap();
    store.create_tree("t").unwrap();
    // Somebody writes to it: that is noted.
    let loud = folder.run(&["get", "d", "t"]);
    assert!(loud.err.starts_with("Note: somebody else writes to d"), "{}", loud.err);
    folder.run(&["get", "d", "t", "--quiet"]).check(0, &loud.out, "");
    store.close().unwrap();
}

/// In a shell for one line, or for all.
#[test]
fn a_line_of_the_shell_may_be_quiet() {
    let folder = Folder::new("quiet_shell");
    folder.run(&["trees", "d", "--create", "t"]).check_code(0);
    let lines = "put t /a 1 -q\nput t /a 2\nget t /a -q\n";
    folder.run_with_input(&["shell", "d"], lines).check(0, "revision 3\n2\n", "");
    let lines = "put t /a 3\nput t /a 4\nget t /a\n";
    folder.run_with_input(&["shell", "d", "-q"], lines).check(0, "4\n", "");
}

/// A server notes what it refused, and not what it did.
#[test]
fn requests_that_went_well_are_not_noted() {
    let folder = Folder::new("quiet_serve");
    let noted = |more: &[&str]| {
        let usual = ["serve", "--memory", "--json", "--listen", "127.0.0.1:0"];
        let place = folder.0.join("notes");
        let notes = File::create(&place).unwrap();
        let serving = Serving::noting(folder.command(&[&usual, more].concat()), notes.into());
        let made = serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
        assert!(made.starts_with("HTTP/1.1 201 "), "{made}");
        let elsewhere = "Origin: http://elsewhere.example\r\n";
        let refused = serving.send_with("DELETE /api/v1/trees/t", elsewhere, "");
        assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
        serving.end();
        let notes = fs::read_to_string(&place).unwrap();
        [" INFO asked for ", " WARN refused "].map(|text| notes.contains(text))
    };
    assert_eq!(noted(&[]), [true, true]);
    assert_eq!(noted(&["--quiet"]), [false, true]);
    assert_eq!(noted(&["--quiet", "--log", "debug"]), [false, true]);
    assert_eq!(noted(&["--quiet", "--log", "error"]), [false, false]);
}
