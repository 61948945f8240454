//! Who made, named and deleted what, and said what is kept.

use std::fs;

use serde_json::{Value as Json, json};

use crate::Folder;
use crate::remote::{Both, Canned, found};

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

#[test]
fn the_same_is_told_of_a_folder_and_over_a_url() {
    let both = Both::new("audit_both");
    for command in [
        &["put", "AT", "t", "/n", "1"][..],
        &["branch", "AT", "t", "draft"],
        &["tag", "AT", "t", "v1"],
        &["trees", "AT", "--create", "u"],
        &["trees", "AT", "--rename", "u", "w"],
        &["trees", "AT", "--delete", "w"],
    ] {
        both.check(command, 0);
    }
    let told: [&[&str]; 9] = [
        &[],
        &["--json"],
        &["--tree", "u"],
        &["--tree", "nothing"],
        &["--tree", "t", "--limit", "1"],
        &["--since", "3", "--json"],
        &["--since", "1 hour ago"],
        &["--since", "2999-01-01"],
        &["-n", "2"],
    ];
    for more in told {
        both.check(&[&["audit", "AT"], more].concat(), 0);
    }
    both.check(&["audit", "AT", "--since", "then"], 2);
    // Who writes to a folder is asked.
    let refused = both.folder.run(&["audit", "served"]);
    refused.check_code(1);
    assert!(refused.err.contains("a server that has it is asked by its URL"), "{}", refused.err);
}

#[test]
fn pages_are_followed_and_it_is_noted_where_they_begin() {
    let done = |revision: u64, what: &str| {
        json!({"revision": revision, "time": "then", "author": null, "message": "old\nso",
               "what": what, "tree": null, "tree_id": 7, "branch": null, "name": null,
               "at": null, "keep": null})
    };
    let page = |events: &[Json], next: Option<u64>| {
        found(&json!({"complete_from": 40, "events": events, "next": next}))
    };
    let pages = || {
        let first = [done(41, "tree_deleted"), done(42, "branch_deleted")];
        vec![page(&first, Some(50)), page(&[], Some(60)), page(&[done(62, "tree_shorn")], None)]
    };
    let folder = Folder::new("audit_pages");
    let canned = Canned::new(pages());
    folder.run(&["audit", &canned.url, "--tree", "a/b"]).check(
        0,
        "    41  then  -  deleted the tree number 7: old\n    \
         42  then  -  deleted the branch ? of number 7: old\n    \
         62  then  -  tree_shorn number 7: old\n",
        "Note: what was done before revision 40 is not all there\n",
    );
    let asked = canned.asked();
    for (asked, after) in asked.iter().zip([0, 50, 60]) {
        let address = format!("/api/v1/folder/audit?after={after}&limit=1000&tree=a%2Fb");
        assert!(asked.starts_with(&format!("GET {address} ")), "{asked}");
    }
    assert_eq!(asked.len(), 3);
    // Of what is asked for, all is there; and it is the newest that is wanted.
    let canned = Canned::new(pages());
    folder.run(&["audit", &canned.url, "--since", "40", "-n", "1"]).check(
        0,
        "    62  then  -  tree_shorn number 7: old\n",
        "",
    );
    assert!(canned.asked()[0].starts_with("GET /api/v1/folder/audit?after=39&limit=1000 "));
}
