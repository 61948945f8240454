//! What a server tells of its history, and going back in it, as in a folder.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::Folder;
use crate::remote::{Both, Canned, at, found, grant_to_token, losing_an_answer, serving_a_tree};
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
    both.serving.edit(json!([
        {"op": "move", "from": "/list", "path": "/moved"},
        {"op": "put", "path": "/moved", "attribute": "mixed", "value": true},
        {"op": "insert", "path": "/odd"},
        {"op": "insert", "path": "/odd/7", "attributes": {"": {"type": "float", "value": "NaN"}}},
    ]));
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
fn what_happened_is_told_as_in_a_folder() {
    let both = with_history("remote_watch");
    let forms: [&[&str]; 4] =
        [&[], &["--json"], &["--after", "v1"], &["--branch", "draft", "--json"]];
    for path in ["/", "/title", "/list", "/list/1/n", "/z/b", "/nothing/here"] {
        for more in forms {
            both.check(&[&["watch", "AT", "t", path][..], more].concat(), 0);
        }
    }
    both.check(&["watch", "AT", "t", "--after", "main"], 0);
    both.check(&["watch", "AT", "t", "--after", "nothing"], 4);
    both.check(&["watch", "AT", "t", "--branch", "draf"], 4);
    both.check(&["watch", "AT", "x"], 4);
}

#[test]
fn who_follows_a_server_is_told_what_is_committed() {
    let (folder, serving) = serving_a_tree("remote_follow");
    let url = serving.url();
    folder.run(&["put", url, "t", "/a", "1"]).check_code(0);
    let mut command = folder.command(&["watch", url, "t", "/a", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || serde_json::from_str::<Json>(&lines.next().unwrap()).unwrap();
    assert_eq!(next()["changes"], json!([{"op": "add", "path": "/a", "value": 1}]));
    for n in 2..5 {
        folder.run(&["put", url, "t", "/other", &n.to_string()]).check_code(0);
        folder.run(&["put", url, "t", "/a", &n.to_string()]).check_code(0);
        let change = json!([{"op": "change", "path": "/a", "old": n - 1, "value": n}]);
        assert_eq!(next()["changes"], change);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What differs, as a server tells it of a revision that put its number.
fn difference(revision: u64) -> (String, String) {
    let head = json!({"revision": revision, "time": "then", "author": null, "message": null,
        "tags": [], "from": revision - 1, "exists": true});
    let line = json!({"op": "add", "path": "/n", "value": revision});
    ("200 OK".to_owned(), format!("{head}\n{line}\n"))
}

fn event(revision: u64) -> String {
    format!("id: {revision}-7\nevent: change\ndata: {{\"revision\":{revision}}}\n\n")
}

#[test]
fn who_watches_goes_on_behind_what_was_told_where_the_connection_is_lost() {
    let folder = Folder::new("remote_resumes");
    let ok = |body: String| ("200 OK".to_owned(), body);
    let begin = |id: &str| format!("retry: 1000\nid: {id}\n\n");
    // Somebody between cannot tell a difference; it ends behind an event, within one, before its
    // answer, and while a difference is asked for.
    let server = Canned::new(vec![
        found(&json!({"revision": 1, "time": "then", "author": null, "message": null, "tags": []})),
        ok(begin("1-7") + &event(2)),
        ("503 Service Unavailable".to_owned(), String::new()),
        ok(begin("1-7") + &event(2)),
        difference(2),
        ok(begin("2-7") + ":\n\n" + event(3).trim_end()),
        (String::new(), String::new()),
        ok(begin("2-7") + &event(3)),
        (String::new(), String::new()),
        ok(begin("2-7") + &event(3)),
        difference(3),
        ok(begin("3-7") + "event: end\ndata: null\n\n"),
    ]);
    let watched = folder.run(&["watch", &server.url, "t", "--after", "1", "--json"]);
    watched.check_code(0);
    let told = watched.out.lines().map(|line| {
        let told: Json = serde_json::from_str(line).unwrap();
        (told["revision"].as_u64().unwrap(), told["changes"][0]["value"].as_u64().unwrap())
    });
    assert_eq!(told.collect::<Vec<(u64, u64)>>(), [(2, 2), (3, 3)]);
    let asked = server.asked();
    let streams = asked.iter().filter(|asked| asked.contains("/watch?"));
    let seen = streams.map(|asked| {
        let id = asked.lines().find_map(|line| line.strip_prefix("last-event-id: "));
        id.unwrap().to_owned()
    });
    let seen: Vec<String> = seen.collect();
    assert_eq!(seen, ["1", "1-7", "2-7", "2-7", "2-7", "2-7", "3-7"]);
    assert!(watched.err.contains("the connection was lost"), "{}", watched.err);
}

#[test]
fn who_watches_another_history_is_told() {
    let folder = Folder::new("remote_gone");
    let gone = "event: gone\ndata: \"revision 2 is another commit\"\n\n";
    let server = Canned::new(vec![("200 OK".to_owned(), gone.to_owned())]);
    let watched = folder.run(&["watch", &server.url, "t"]);
    watched.check(4, "", "Error: revision 2 is another commit\n");
}

#[test]
fn who_may_read_a_part_watches_and_compares_it() {
    let folder = Folder::new("remote_part_of_history");
    folder.run(&["trees", "data", "--create", "t"]).check_code(0);
    folder.run(&["put", "data", "t", "/todo", "{\"n\":{\"x\":1}}"]).check_code(0);
    folder.run(&["put", "data", "t", "/other", "{}"]).check_code(0);
    folder.run(&["put", "data", "t", "/todo/n/x", "2"]).check_code(0);
    grant_to_token(&folder, "read", "/todo");
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.url();
    let by_token = |args: &[&str]| folder.run(&[args, &["--token-file", "token"]].concat());
    for words in [&["diff", "AT", "t", "2", "main", "/todo"][..], &["watch", "AT", "t", "/todo"]] {
        let told = by_token(&at(url, words));
        told.check_code(0);
        assert_eq!(told.out, folder.run(&at("data", words)).out, "{words:?}");
    }
    by_token(&["watch", url, "t"]).check_code(1);
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
fn what_was_changed_since_is_settled_as_in_a_folder() {
    let both = Both::new("remote_revert_settled");
    for n in ["1", "2", "3"] {
        both.put("/n", n, &[]);
    }
    both.put("/list", "[1]", &[]);
    let revert = |more: &[&str], code| {
        both.check(&[&["revert", "AT", "t", "3"][..], more].concat(), code);
    };
    let holds = |n: &str| both.folder.run(&["get", "d", "t", "/n"]).check(0, n, "");
    revert(&[], 5);
    revert(&["--json"], 5);
    revert(&["--resolve", "/x=ours"], 2);
    revert(&["--resolve", "/n=mine"], 2);
    revert(&["--resolve", "/n=ours", "--resolve", "/n=theirs"], 2);
    revert(&["--ours", "--theirs"], 2);
    revert(&["--theirs", "--to"], 2);
    holds("3\n");
    revert(&["--ours"], 0);
    revert(&["--resolve", "/n=ours"], 0);
    holds("3\n");
    revert(&["--resolve", "/n=\"seven\""], 0);
    holds("\"seven\"\n");
    revert(&["--ours", "--resolve", "/n=theirs", "--json"], 0);
    holds("1\n");
    both.put("/n", "9", &[]);
    revert(&["--theirs", "-m", "as it was"], 0);
    holds("1\n");
    both.check(&["log", "AT", "t"], 0);
    // What was put in a node since goes with it, or keeps it.
    both.put("/list/1", "{}", &[]);
    both.check(&["revert", "AT", "t", "5"], 5);
    both.check(&["revert", "AT", "t", "5", "--json"], 5);
    both.check(&["revert", "AT", "t", "5", "--resolve", "/list=ours"], 0);
    both.check(&["get", "AT", "t"], 0);
    both.check(&["revert", "AT", "t", "5", "--theirs"], 0);
    both.folder.run(&["get", "d", "t"]).check(0, "{\"n\":1}\n", "");
    both.check(&["get", "AT", "t"], 0);
}

#[test]
fn what_going_back_would_do_is_told_as_in_a_folder() {
    let both = with_history("remote_revert_foreseen");
    let log = || both.folder.run(&["log", "d", "t", "--json"]).out;
    let before = log();
    let forms: [&[&str]; 2] = [&[], &["--json"]];
    for more in forms {
        let check = |words: &[&str], code| {
            let command = [&["revert", "AT", "t", "--dry-run"][..], words, more].concat();
            both.check(&command, code);
        };
        for rev in ["main", "v1"] {
            check(&[rev], 0);
            check(&[rev, "--to"], 0);
        }
        check(&["draft", "--to"], 0);
        check(&["2", "--to", "--branch", "draft"], 0);
        // The title has been changed since.
        check(&["3"], 5);
        check(&["3", "--branch", "draft"], 4);
        check(&["3", "--branch", "draf"], 4);
        check(&["nothing"], 4);
        check(&["nothing", "--to"], 4);
    }
    both.check(&["log", "AT", "t"], 0);
    assert_eq!(log(), before);
}

#[test]
fn what_settling_would_do_is_told_as_in_a_folder() {
    let both = Both::new("remote_revert_foreseen_settled");
    for n in ["1", "2", "3"] {
        both.put("/n", n, &[]);
    }
    let dry = |more: &[&'static str]| [&["revert", "AT", "t", "3", "--dry-run"][..], more].concat();
    both.check(&dry(&[]), 5);
    both.check(&dry(&["--json"]), 5);
    both.check(&dry(&["--ours"]), 0);
    both.check(&dry(&["--theirs", "--json"]), 0);
    both.check(&dry(&["--theirs"]), 0);
    let on = |place: &str, more: &[&'static str]| both.folder.run(&at(place, &dry(more)));
    on("d", &["--theirs"]).check(0, "~ /n: 3 → 1\n", "");
    on("d", &["--resolve", "/n=7"]).check(0, "~ /n: 3 → 7\n", "");
    let refused = on(both.url(), &["--resolve", "/n=7"]);
    refused.check_code(2);
    assert!(refused.err.contains("does not tell what --resolve would do"), "{}", refused.err);
    both.folder.run(&["get", "d", "t", "/n"]).check(0, "3\n", "");
    both.check(&["log", "AT", "t"], 0);
}

#[test]
fn document_settles_a_revert_in_a_folder_alone() {
    let both = Both::new("remote_revert_document");
    for n in ["1", "2", "3"] {
        both.put("/n", n, &[]);
    }
    let revert = |place: &str| both.folder.run(&["revert", place, "t", "3", "--resolve", "/n={}"]);
    revert("d").check_code(0);
    both.folder.run(&["get", "d", "t"]).check(0, "{\"n\":{}}\n", "");
    let refused = revert(both.url());
    refused.check_code(2);
    assert!(
        refused.err.contains("/n: on a server a value settles an attribute"),
        "{}",
        refused.err
    );
}

#[test]
fn revert_whose_answer_was_lost_is_done_once() {
    let (folder, serving) = serving_a_tree("remote_revert_lost");
    let url = serving.url();
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

#[test]
fn revert_says_how_many_places_a_server_has_not_told() {
    let (folder, serving) = serving_a_tree("remote_revert_many");
    let url = serving.url();
    for n in 0..3 {
        let put =
            |at: i32| json!({"op": "put", "path": "/", "attribute": format!("m{at}"), "value": n});
        serving.edit(Json::from_iter((0..1_004).map(put)));
    }
    let refused = folder.run(&["revert", url, "t", "3"]);
    refused.check_code(5);
    let told = refused.err.lines().next().unwrap();
    assert_eq!(told.matches("/m").count(), 1_000, "{told}");
    assert!(told.ends_with(", and at 4 more"), "{told}");
}
