//! `--spill`: trees may be larger than memory, also where a folder is only read.

use std::fs;
use std::path::Path;

use crate::serving::Serving;
use crate::{Ended, Folder};

#[test]
fn what_is_only_read_spills_into_the_folder_for_temporary_files() {
    let folder = Folder::new("spilling");
    folder.write("a.json", r#"{"a":[1,2,3],"b":"text"}"#);
    let [temporary, nowhere] = ["temporary", "nowhere"].map(|name| folder.0.join(name));
    fs::create_dir(&temporary).unwrap();
    let run = |args: &[&str], temporary: &Path| {
        Ended::new(folder.command(args).env("TMPDIR", temporary).output().unwrap())
    };
    let spilling = |args: &[&str], temporary: &Path| run(&[args, &["--spill"]].concat(), temporary);
    // What is written to has the file itself.
    spilling(&["import", "d", "t", "a.json"], &nowhere).check_code(0);
    for args in [&["export", "d", "t"][..], &["find", "d", "t", "b = \"text\""]] {
        let plain = folder.run(args);
        plain.check_code(0);
        spilling(args, &temporary).check(0, &plain.out, &plain.err);
        let refused = spilling(args, &nowhere);
        refused.check_code(1);
        assert!(refused.err.contains("the folder that it spills to"), "{}", refused.err);
        run(&[args, &["--spill=always"]].concat(), &nowhere).check_code(1);
        // What it has is half of no memory.
        for when in ["--spill=never", "--spill=auto"] {
            run(&[args, &[when]].concat(), &nowhere).check(0, &plain.out, &plain.err);
        }
        run(&[args, &["--spill=perhaps"]].concat(), &nowhere).check_code(2);
    }
    for args in [
        &["stat", "d", "t"][..],
        &["du", "d"],
        &["verify", "d"],
        &["backup", "d", "copy"],
        &["restore", "copy", "e"],
        &["gc", "d"],
    ] {
        spilling(args, &temporary).check_code(0);
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the files have no names");
}

#[test]
fn a_server_notes_whether_trees_spill() {
    let folder = Folder::new("spilling-server");
    let file = folder.0.join("notes");
    for (when, noted) in [
        ("--spill", "trees may be larger than memory"),
        ("--spill=always", "trees may be larger than memory"),
        ("--spill=never", "trees are in memory as a whole"),
    ] {
        let args = ["--listen", "127.0.0.1:0", "--data", "d", "--log", "debug", when];
        let command = folder.command(&[&["serve", "--json"][..], &args].concat());
        Serving::noting(command, fs::File::create(&file).unwrap().into()).end();
        let notes = fs::read_to_string(&file).unwrap();
        assert!(notes.contains(noted) && notes.contains("as was said"), "{notes}");
    }
}
