//! `--spill`: trees may be larger than memory, also where a folder is only read.

use std::fs;
use std::path::Path;

use crate::{Ended, Folder};

#[test]
fn what_is_only_read_spills_into_the_folder_for_temporary_files() {
    let folder = Folder::new("spilling");
    folder.write("a.json", r#"{"a":[1,2,3],"b":"text"}"#);
    let [temporary, nowhere] = ["temporary", "nowhere"].map(|name| folder.0.join(name));
    fs::create_dir(&temporary).unwrap();
    let spilling = |args: &[&str], temporary: &Path| {
        let mut command = folder.command(&[args, &["--spill"]].concat());
        Ended::new(command.env("TMPDIR", temporary).output().unwrap())
    };
    // What is written to has the file itself.
    spilling(&["import", "d", "t", "a.json"], &nowhere).check_code(0);
    for args in [&["export", "d", "t"][..], &["find", "d", "t", "b = \"text\""]] {
        let plain = folder.run(args);
        plain.check_code(0);
        spilling(args, &temporary).check(0, &plain.out, &plain.err);
        let refused = spilling(args, &nowhere);
        refused.check_code(1);
        assert!(refused.err.contains("the folder that it spills to"), "{}", refused.err);
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
