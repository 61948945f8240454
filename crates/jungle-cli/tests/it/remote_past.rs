//! What a server tells of its history, and going back in it, as in a folder.

use serde_json::json;

use crate::Folder;
use crate::remote::{Both, losing_an_answer};
use crate::serving::Serving;

/// How differences are told.
const FORMS: [&[&str]; 6] = [
    &[],
    &["--json"],
    &["--stat"],
    &["--stat", "--json"],
    &["--name-only"],
    &["--name-only", "--json"],
];

/// Some revisions of all kinds, the oldest of them 2, on `main` and on `draft`.
fn with_history(name: &str) -> Both {
    let both = Both::new(name);
    let document = r#"{"z":{"b":1.50,"a":[1,{}]},"title":"one","list":[{"n":1},{"n":2},3]}"#;
    both.put("/", document, &["--author", "ana", "-m", "begin\nin a second line"]);
    both.put("/title", "\"two\"", &[]);
    both.put("/f", "12", &["--type", "float"]);
    both.put("/bytes", "AP8=", &["--type", "bytes"]);
    both.check(&["rm", "AT", "t", "/list/0"], 0);
    both.put("/list/3", "[7]", &[]);
    both.check(&["tag", "AT", "t", "v1"], 0);
    both.put("/title", "[\"other\"]", &["-m", "of another kind"]);
    both.check(&["branch", "AT", "t", "draft", "v1"], 0);
    both.put("/title", "\"draft\"", &["--branch", "draft"]);
    both.check(&["rm", "AT", "t", "/z"], 0);
    both
}

/// A command, of this place.
fn at<'w>(place: &'w str, words: &[&'w str]) -> Vec<&'w str> {
    words.iter().map(|&word| if word == "AT" { place } else { word }).collect()
}

#[test]
fn what_differs_is_told_as_in_a_folder() {
    let both = with_history("remote_diff");
    let revs = ["1", "2", "v1", "main~1", "draft"];
    let paths = ["/", "/title", "/list", "/list/1/n"];
    for more in FORMS {
        let check = |words: &[&str]| both.check(&[words, more].concat(), 0);
        check(&["show", "AT", "t"]);
        for rev in revs {
            check(&["show", "AT", "t", rev]);
            check(&["diff", "AT", "t", rev, "main"]);
            check(&["diff", "AT", "t", "draft", rev]);
        }
        for path in paths {
            check(&["show", "AT", "t", "2", path]);
            check(&["diff", "AT", "t", "2", path]);
            check(&["diff", "AT", "t", "main", "2", path]);
        }
        check(&["show", "AT", "t", "2", "/nothing/here"]);
    }
    both.check(&["show", "AT", "t", "nothing"], 4);
    both.check(&["show", "AT", "x"], 4);
    both.check(&["diff", "AT", "t", "v11", "v1"], 4);
    both.check(&["diff", "AT", "t", "v1", "draf"], 4);
    for path in ["/titel", "/list/99", "/title/x/y", "/nothing/here"] {
        both.check(&["diff", "AT", "t", "v1", "main", path], 4);
    }
    let wrong = both.folder.run(&["diff", both.url(), "t"]);
    assert_eq!((wrong.code, &*wrong.out), (Some(2), ""), "{}", wrong.err);
}

/// The command has none that moves, so only the server's folder is one to compare with.
#[test]
fn what_was_moved_and_what_lies_oddly_is_told_as_in_its_folder() {
    let both = with_history("remote_moved_nodes");
    let edits = json!({"edits": [
        {"op": "move", "from": "/list", "path": "/moved"},
        {"op": "put", "path": "/moved", "attribute": "mixed", "value": true},
        {"op": "insert", "path": "/odd"},
        {"op": "insert", "path": "/odd/7", "attributes": {"": {"type": "float", "value": "NaN"}}},
    ]});
    let answer = both.serving.send("POST /api/v1/trees/t/commits", &edits.to_string());
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    for more in FORMS {
        for words in [&["show", "AT", "t", "main"][..], &["diff", "AT", "t", "main", "v1"]] {
            let on = |place: &str| {
                let ended = both.folder.run(&[&at(place, words)[..], more].concat());
                ended.check_code(0);
                ended.out
            };
            assert_eq!(on(both.url()), on("served"), "{words:?} {more:?}");
        }
    }
    let shown = both.folder.run(&["show", both.url(), "t", "main", "--json"]).out;
    assert!(shown.contains(r#"{"op":"move","from":"/list","path":"/moved"}"#), "{shown}");
    assert!(shown.contains("\"value_tree\":"), "{shown}");
}

#[test]
fn revisions_that_changed_something_are_listed_as_in_a_folder() {
    let both = with_history("remote_log_path");
    let forms: [&[&str]; 5] =
        [&[], &["--json"], &["--reverse"], &["--limit", "1"], &["--format", "table"]];
    for path in ["/", "/title", "/list", "/list/1/n", "/z/b", "/f"] {
        for more in forms {
            both.check(&[&["log", "AT", "t", path][..], more].concat(), 0);
            both.check(&[&["log", "AT", "t", path, "--branch", "draft"][..], more].concat(), 0);
        }
    }
    both.check(&["log", "AT", "t", "/z", "--limit", "0"], 4);
    both.check(&["log", "AT", "t", "/title", "--limit", "0"], 0);
    for path in ["/titel", "/list/99", "/nothing/here"] {
        both.check(&["log", "AT", "t", path], 4);
    }
}

#[test]
fn who_may_read_a_part_compares_it() {
    let folder = Folder::new("remote_part_of_history");
    folder.run(&["trees", "data", "--create", "t"]).check_code(0);
    folder.run(&["put", "data", "t", "/todo", "{\"n\":{\"x\":1}}"]).check_code(0);
    folder.run(&["put", "data", "t", "/other", "{}"]).check_code(0);
    folder.run(&["put", "data", "t", "/todo/n/x", "2"]).check_code(0);
    let added = folder.run(&["access", "add-token", "data", "ci"]);
    added.check_code(0);
    folder.run(&["access", "grant", "data", "ci", "t", "read", "/todo"]).check_code(0);
    folder.write("token", &added.out);
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.told["url"].as_str().unwrap();
    let by_token = |args: &[&str]| folder.run(&[args, &["--token-file", "token"]].concat());
    let words = ["diff", "AT", "t", "2", "main", "/todo"];
    let told = by_token(&at(url, &words));
    told.check_code(0);
    assert_eq!(told.out, folder.run(&at("data", &words)).out);
    by_token(&["diff", url, "t", "2", "main"]).check_code(1);
}

#[test]
fn revisions_are_taken_back_and_gone_back_to_as_in_a_folder() {
    let both = with_history("remote_revert");
    let look = |both: &Both| {
        both.check(&["get", "AT", "t"], 0);
        both.check(&["get", "AT", "t", "--at", "draft"], 0);
        both.check(&["log", "AT", "t"], 0);
    };
    both.check(&["revert", "AT", "t", "main"], 0);
    look(&both);
    both.check(&["revert", "AT", "t", "main", "--json", "--author", "ben", "-m", "no"], 0);
    look(&both);
    // Nothing is left of that.
    both.check(&["revert", "AT", "t", "v1", "--to"], 0);
    both.check(&["revert", "AT", "t", "v1", "--to", "--json"], 0);
    look(&both);
    // Of another branch, and of before this one began.
    both.check(&["revert", "AT", "t", "draft", "--to", "-m", "as in the draft"], 0);
    both.check(&["revert", "AT", "t", "2", "--to", "--branch", "draft"], 0);
    look(&both);
    let forms: [&[&str]; 2] = [&[], &["--json"]];
    for more in forms {
        both.check(&[&["revert", "AT", "t", "3"][..], more].concat(), 5);
        both.check(&[&["revert", "AT", "t", "3", "--branch", "draft"][..], more].concat(), 4);
        both.check(&[&["revert", "AT", "t", "nothing"][..], more].concat(), 4);
        both.check(&[&["revert", "AT", "t", "nothing", "--to"][..], more].concat(), 4);
        both.check(&[&["revert", "AT", "t", "3", "--branch", "draf"][..], more].concat(), 4);
        both.check(&[&["revert", "AT", "x", "3"][..], more].concat(), 4);
    }
    look(&both);
}

#[test]
fn revert_whose_answer_was_lost_is_done_once() {
    let folder = Folder::new("remote_revert_lost");
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.told["url"].as_str().unwrap();
    folder.run(&["trees", url, "--create", "t"]).check_code(0);
    for n in ["1", "2"] {
        folder.run(&["put", url, "t", "/a", n]).check_code(0);
    }
    for (more, left) in [("", "{\"a\":1}\n"), (" --to", "{\"a\":2}\n")] {
        let lossy = losing_an_answer(serving.address().to_owned());
        let words = format!("revert {lossy} t 3{more}");
        folder.run(&words.split(' ').collect::<Vec<&str>>()).check_code(0);
        folder.run(&["get", url, "t"]).check(0, left, "");
    }
    let log = folder.run(&["log", url, "t", "--json"]).out;
    assert_eq!(log.lines().count(), 5, "made, put twice, and gone back twice: {log}");
}
