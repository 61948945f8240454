//! Who made, named and deleted what, and said what is kept.

use std::fs;

use crate::Folder;

/// Whether a folder's log has a text in it.
fn is_in_log(folder: &Folder, text: &str) -> bool {
    let files = fs::read_dir(folder.0.join("d/log")).unwrap();
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).any(|bytes| has(&bytes))
}

#[test]
fn what_is_no_edit_is_written_down_with_who_did_it() {
    let folder = Folder::new("audit_authors");
    folder.write("a.json", r#"{"n":1}"#);
    for (n, command) in [
        &["trees", "d", "--create", "t"][..],
        &["trees", "d", "--rename", "t", "b"],
        &["tag", "d", "b", "v1"],
        &["tag", "d", "b", "--delete", "v1"],
        &["branch", "d", "b", "draft"],
        &["branch", "d", "b", "--delete", "draft"],
        &["index", "d", "b", "n"],
        &["index", "d", "b", "--drop", "n"],
        &["import", "d", "other", "a.json", "--tag", "first"],
        &["trees", "d", "--delete", "other"],
        &["keep", "d", "b", "9"],
    ]
    .into_iter()
    .enumerate()
    {
        let author = format!("author-{n}-of-it");
        folder.run(&[command, &["--author", author.as_str()]].concat()).check_code(0);
        assert!(is_in_log(&folder, &author), "{command:?}");
    }
    let mut command = folder.command(&["tag", "d", "b", "v2"]);
    assert!(command.env("JUNGLE_AUTHOR", "author-set-before").status().unwrap().success());
    assert!(is_in_log(&folder, "author-set-before"));
}

/// The first revision of a tree that an import makes is one of whoever imports.
#[test]
fn tree_that_an_import_makes_is_by_who_imports() {
    let folder = Folder::new("audit_import");
    folder.write("a.json", r#"{"n":1}"#);
    folder.run(&["import", "d", "t", "a.json", "--author", "ana"]).check_code(0);
    let log = folder.run(&["log", "d", "t", "--json"]).out;
    assert_eq!((log.lines().count(), log.matches("\"author\":\"ana\"").count()), (2, 2), "{log}");
}
