//! Commands that ask a server do and print what they do and print on a folder.

use std::net::TcpListener;

use crate::serving::Serving;
use crate::transcripts::without_times;
use crate::{Ended, Folder};

/// A folder and a server, which had the same done so far.
struct Both {
    folder: Folder,
    serving: Serving,
}

impl Both {
    fn new(name: &str) -> Both {
        let folder = Folder::new(name);
        let serving = Serving::start(&folder, &["--data", "served"]);
        let both = Both { folder, serving };
        both.check(&["trees", "AT", "--create", "t"], 0);
        both
    }

    fn url(&self) -> &str {
        self.serving.told["url"].as_str().unwrap()
    }

    /// Does a command on both, `AT` each of them in turn, and holds what it prints against each
    /// other.
    #[track_caller]
    fn check(&self, command: &[&str], code: i32) {
        self.check_with_input(command, "", code);
    }

    #[track_caller]
    fn check_with_input(&self, command: &[&str], input: &str, code: i32) {
        let on = |place: &str| {
            let args = command.iter().map(|&word| if word == "AT" { place } else { word });
            let args: Vec<&str> = args.collect();
            let Ended { code, out, err } = self.folder.run_with_input(&args, input);
            (code, without_times(&out), without_times(&err))
        };
        let (expected, found) = (on("d"), on(self.url()));
        assert_eq!(found, expected, "{command:?}");
        assert_eq!(found.0, Some(code), "{command:?}: {}", found.2);
    }

    /// Puts a value, and looks at what there is then.
    #[track_caller]
    fn put(&self, path: &str, value: &str, more: &[&str]) {
        self.check(&[&["put", "AT", "t", path, value][..], more].concat(), 0);
        self.check(&["get", "AT", "t"], 0);
    }
}

#[test]
fn values_are_put_and_removed_as_in_a_folder() {
    let both = Both::new("remote_put");
    both.put("/title", "\"Plans\"", &["--author", "ana", "-m", "a title"]);
    both.put("/title", "\"Plans\"", &[]);
    both.check(&["put", "AT", "t", "/a/b/c", "[]"], 4);
    both.put("/a/b/c", "[1,{\"x\":null}]", &["--parents"]);
    both.put("/a/b/c/2", "1.50", &["--json"]);
    both.check(&["put", "AT", "t", "/a/b/c/7", "3"], 4);
    both.check(&["put", "AT", "t", "/a/b/c/name", "3"], 2);
    both.check(&["put", "AT", "t", "/a/0", "3"], 2);
    both.put("/a/\"0\"", "3", &[]);
    both.put("/f", "12", &["--type", "float"]);
    both.put("/bytes", "AP8=", &["--type", "bytes"]);
    both.put("/\"a/b\"", "\"\\u001b[1m é\"", &[]);
    both.check(&["rm", "AT", "t", "/titel"], 4);
    both.check(&["rm", "AT", "t", "/title/x"], 4);
    both.check(&["rm", "AT", "t", "/title"], 0);
    for element in ["/a/b/c/2", "/a/b/c/0", "/a/b/c/1"] {
        both.check(&["rm", "AT", "t", element], 0);
        both.check(&["get", "AT", "t"], 0);
    }
    // Behind what was there last, and where nothing was.
    both.check(&["put", "AT", "t", "/a/b/c/3", "4"], 0);
    both.check(&["rm", "AT", "t", "/"], 2);
    both.check(&["log", "AT", "t"], 0);
    both.put("/", "{}", &[]);
    both.check(&["ls", "AT", "t"], 0);
}

#[test]
fn what_is_replaced_is_gone_however_deep_it_is() {
    let both = Both::new("remote_replace");
    let old = r#"{"a":{"b":{"c":{"d":[1,[2,{"e":3}]]},"f":{}}},"n":[{"x":1},{"x":2}],"z":0}"#;
    both.put("/", old, &[]);
    both.put("/a/b", r#"{"c":{"d":[1,[2]]},"g":[]}"#, &[]);
    both.put("/a/b/c", "7", &[]);
    both.put("/n", r#"[{"x":1}]"#, &[]);
    both.put("/", old, &[]);
    both.put("/n", "null", &[]);
    both.put("/a", r#"[[]]"#, &[]);
    both.put("/", "[1,2]", &[]);
    both.put("/0", r#"{"z":{},"a":1}"#, &[]);
    both.put("/", "\"only a text\"", &[]);
    both.check(&["get", "AT", "t", "/", "--at", "2"], 0);
    both.check(&["get", "AT", "t", "/", "--at", "main~3"], 0);
}

#[test]
fn members_are_listed_whatever_there_are() {
    let both = Both::new("remote_ls");
    let long = "é".repeat(70_000);
    let names: Vec<String> = (0..200).map(|n| format!("\"k{n}\":{n}")).collect();
    let elements: Vec<String> = (0..1_500).map(|n| format!("[{n}]")).collect();
    let (names, elements) = (names.join(","), elements.join(","));
    let small = r#""z":{"b":1.50,"a":[1,{},[]]},"e":{},"empty":[],"":5"#;
    let large = format!(r#""dictionary":{{{names}}},"names":[{{{names}}}],"list":[{elements}]"#);
    let document = format!(r#"{{{small},"long":"{long}",{large}}}"#);
    // A text of that length is no argument everywhere.
    both.check_with_input(&["put", "AT", "t", "/", "-"], &document, 0);
    both.check(&["get", "AT", "t"], 0);
    let forms: [&[&str]; 4] = [&[], &["--json"], &["--limit", "2"], &["--format", "table"]];
    for path in ["/", "/z", "/z/a", "/dictionary", "/names", "/e", "/empty", "/long", "/\"\""] {
        for more in forms {
            both.check(&[&["ls", "AT", "t", path][..], more].concat(), 0);
        }
        both.check(&["get", "AT", "t", path, "--pretty"], 0);
    }
    for path in ["/lon", "/z/c/d", "/z/a/7", "/long/x", "/0", "/list/1500", "/dictionary/k200"] {
        both.check(&["get", "AT", "t", path], 4);
        both.check(&["ls", "AT", "t", path], 4);
    }
    both.check(&["get", "AT", "t", "/@long"], 0);
    let expressions =
        ["exists b", "@value >= 20", "exists long", r#"@name ~ "k1*""#, "not @value < 3"];
    for expression in expressions {
        for more in forms {
            both.check(&[&["find", "AT", "t", expression][..], more].concat(), 0);
        }
    }
    both.check(&["find", "AT", "t", "b > 7"], 4);
    both.check(&["find", "AT", "t", "b >"], 2);
    both.check(&["find", "AT", "x", "b > 7"], 4);
    both.check(&["find", "AT", "t", "b > 7", "--at", "x"], 4);
    // Not all of what is above is looked at.
    both.check(&["put", "AT", "t", "/list/1500", "[1500]"], 0);
    both.check(&["put", "AT", "t", "/list/7/0", "\"seven\""], 0);
    both.check(&["rm", "AT", "t", "/list/1200"], 0);
    both.check(&["put", "AT", "t", "/dictionary/more", "1"], 0);
    both.check(&["put", "AT", "t", "/names/0/k7", "{}"], 0);
    both.check(&["get", "AT", "t"], 0);
}

#[test]
fn a_server_that_is_asked_too_much_is_asked_again() {
    let folder = Folder::new("remote_rate");
    let serving = Serving::start(&folder, &["--memory", "--limit", "requests-per-second=12"]);
    let url = serving.told["url"].as_str().unwrap();
    folder.run(&["trees", url, "--create", "t"]).check_code(0);
    let lists: Vec<String> = (0..60).map(|n| format!("[{n}]")).collect();
    folder.run(&["put", url, "t", "/", &format!("[{}]", lists.join(","))]).check_code(0);
    let listed = folder.run(&["ls", url, "t"]);
    listed.check_code(0);
    assert_eq!(listed.out.lines().count(), 60);
}

#[test]
fn trees_revisions_and_names_are_told_as_in_a_folder() {
    let both = Both::new("remote_names");
    for n in 0..3 {
        both.put("/n", &n.to_string(), &["-m", "count\nin a second line"]);
    }
    both.check(&["tag", "AT", "t", "v1", "2"], 0);
    both.check(&["tag", "AT", "t", "v1"], 1);
    both.check(&["tag", "AT", "t", "2026"], 1);
    both.check(&["tag", "AT", "t", "v2", "v1", "--json"], 0);
    both.check(&["tag", "AT", "t", "v3", "nothing"], 4);
    both.check(&["branch", "AT", "t", "draft", "v1"], 0);
    both.put("/n", "7", &["--branch", "draft"]);
    both.check(&["put", "AT", "t", "/n", "8", "--branch", "draf"], 4);
    both.check(&["rm", "AT", "t", "/n", "--branch", "draft"], 0);
    both.check(&["get", "AT", "t", "/n", "--at", "draft~1"], 0);
    both.check(&["get", "AT", "t", "/n", "--at", "v11"], 4);
    for rev in ["1", "v1", "main", "draft", "main~1", "2 hours ago", "main~9", "v"] {
        let code = if matches!(rev, "2 hours ago" | "main~9" | "v") { 4 } else { 0 };
        both.check(&["at", "AT", "t", rev], code);
    }
    let forms: [&[&str]; 3] = [&[], &["--json"], &["--format", "table"]];
    for more in forms {
        both.check(&[&["tag", "AT", "t"][..], more].concat(), 0);
        both.check(&[&["branch", "AT", "t"][..], more].concat(), 0);
        both.check(&[&["log", "AT", "t"][..], more].concat(), 0);
        both.check(&[&["trees", "AT"][..], more].concat(), 0);
    }
    for limit in ["0", "1", "2", "9"] {
        both.check(&["log", "AT", "t", "-n", limit, "--reverse"], 0);
        both.check(&["log", "AT", "t", "-n", limit, "--branch", "draft"], 0);
    }
    both.check(&["tag", "AT", "t", "--delete", "v2"], 0);
    both.check(&["tag", "AT", "t", "--delete", "v2"], 4);
    both.check(&["branch", "AT", "t", "--delete", "draft", "--json"], 0);
    both.check(&["branch", "AT", "t", "--delete", "draft"], 4);
    both.check(&["branch", "AT", "t", "--delete", "main"], 1);
    both.check(&["trees", "AT", "--create", "t"], 1);
    both.check(&["trees", "AT", "--create", ""], 1);
    both.check(&["trees", "AT", "--create", "a/b?c", "--json"], 0);
    both.check(&["put", "AT", "a/b?c", "/x", "1"], 0);
    both.check(&["trees", "AT", "--rename", "a/b?c", "notes", "--json"], 0);
    both.check(&["trees", "AT", "--rename", "note", "x"], 4);
    both.check(&["ls", "AT"], 0);
    both.check(&["ls", "AT", "note"], 4);
    both.check(&["get", "AT", "note"], 4);
    both.check(&["trees", "AT", "--delete", "notes"], 0);
    both.check(&["trees", "AT", "--delete", "notes", "--json"], 4);
}

#[test]
fn those_who_edit_at_once_undo_nothing() {
    let both = Both::new("remote_at_once");
    both.put("/", "{\"list\":[]}", &[]);
    let (folder, url) = (&both.folder, both.url());
    std::thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                for n in 0..5 {
                    let path = format!("/by{client}/n{n}");
                    folder.run(&["put", url, "t", &path, "[1]", "--parents"]).check_code(0);
                }
            });
        }
    });
    let listed = folder.run(&["ls", url, "t"]).out;
    for client in 0..4 {
        let line = format!("by{client}: object of 5 members");
        assert!(listed.lines().any(|listed| listed == line), "{line}: {listed}");
    }
}

#[test]
fn a_token_says_who_asks() {
    let folder = Folder::new("remote_token");
    folder.run(&["trees", "data", "--create", "t"]).check_code(0);
    let added = folder.run(&["access", "add-token", "data", "ci"]);
    added.check_code(0);
    let token = added.out.trim();
    folder.run(&["access", "grant", "data", "ci", "t", "read"]).check_code(0);
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.told["url"].as_str().unwrap();
    let refused = folder.run(&["get", url, "t"]);
    assert_eq!((refused.code, &*refused.out), (Some(1), ""));
    assert!(refused.err.contains("JUNGLE_TOKEN"), "{}", refused.err);
    let by_variable = |args: &[&str]| {
        Ended::new(folder.command(args).env("JUNGLE_TOKEN", token).output().unwrap())
    };
    by_variable(&["get", url, "t"]).check(0, "{}\n", "");
    let put = by_variable(&["put", url, "t", "/a", "1"]);
    assert_eq!((put.code, &*put.out), (Some(1), ""), "{}", put.err);
    assert!(!put.err.contains(token), "{}", put.err);
    folder.write("token", &format!("{token}\n"));
    folder.run(&["get", url, "t", "--token-file", "token"]).check(0, "{}\n", "");
    folder.run(&["get", url, "t", "--token-file", "none"]).check_code(1);
}

#[test]
fn who_does_not_answer_has_a_code_of_its_own() {
    let folder = Folder::new("remote_away");
    // Nobody has the port any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = folder.run(&["get", &format!("http://127.0.0.1:{port}"), "t"]);
    assert_eq!((away.code, &*away.out), (Some(7), ""), "{}", away.err);
    for url in ["http://", "http://127.0.0.1/x", "http://ana:secret@127.0.0.1"] {
        let wrong = folder.run(&["get", url, "t"]);
        assert_eq!((wrong.code, &*wrong.out), (Some(2), ""), "{}", wrong.err);
        assert!(!wrong.err.contains("secret"), "{}", wrong.err);
    }
    for args in [&["du", "http://127.0.0.1"][..], &["stat", "http://127.0.0.1", "t"]] {
        folder.run(args).check_code(2);
    }
}
