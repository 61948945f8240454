//! Commands that ask a server do and print what they do and print on a folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value as Json, json};

use crate::serving::Serving;
use crate::transcripts::without_times;
use crate::{Ended, Folder};

/// A folder and a server, which had the same done so far.
pub(crate) struct Both {
    pub(crate) folder: Folder,
    pub(crate) serving: Serving,
}

impl Both {
    pub(crate) fn new(name: &str) -> Both {
        let folder = Folder::new(name);
        let serving = Serving::start(&folder, &["--data", "served"]);
        let both = Both { folder, serving };
        both.check(&["trees", "AT", "--create", "t"], 0);
        both
    }

    pub(crate) fn url(&self) -> &str {
        self.serving.url()
    }

    /// Does a command on both, `AT` each of them in turn, and holds what it prints against each
    /// other.
    #[track_caller]
    pub(crate) fn check(&self, command: &[&str], code: i32) {
        self.check_with_input(command, "", code);
    }

    #[track_caller]
    fn check_with_input(&self, command: &[&str], input: &str, code: i32) {
        let on = |place: &str| {
            let Ended { code, out, err } = self.folder.run_with_input(&at(place, command), input);
            (code, without_times(&out), without_times(&err))
        };
        let (expected, found) = (on("d"), on(self.url()));
        assert_eq!(found, expected, "{command:?}");
        assert_eq!(found.0, Some(code), "{command:?}: {}", found.2);
    }

    /// Puts a value, and looks at what there is then.
    #[track_caller]
    pub(crate) fn put(&self, path: &str, value: &str, more: &[&str]) {
        self.check(&[&["put", "AT", "t", path, value][..], more].concat(), 0);
        self.check(&["get", "AT", "t"], 0);
    }
}

/// A command, of this place.
pub(crate) fn at<'w>(place: &'w str, words: &[&'w str]) -> Vec<&'w str> {
    words.iter().map(|&word| if word == "AT" { place } else { word }).collect()
}

/// A server that has a tree, with its data in this folder.
pub(crate) fn serving_a_tree(name: &str) -> (Folder, Serving) {
    let folder = Folder::new(name);
    let serving = Serving::start(&folder, &["--data", "data"]);
    folder.run(&["trees", serving.url(), "--create", "t"]).check_code(0);
    (folder, serving)
}

/// Grants so much of the tree, at a path and below, to a token that is in the file `token` then.
pub(crate) fn grant_to_token(folder: &Folder, role: &str, path: &str) {
    let added = folder.run(&["access", "add-token", "data", "ci"]);
    added.check_code(0);
    folder.run(&["access", "grant", "data", "ci", "t", role, path]).check_code(0);
    folder.write("token", &added.out);
}

/// Somebody who has these answers, one after the other, whatever is asked.
pub(crate) struct Canned {
    pub(crate) url: String,
    asked: Receiver<String>,
}

impl Canned {
    /// An answer is its status, with headers if there are any, and its body; without a status there
    /// is none.
    pub(crate) fn new(answers: Vec<(String, String)>) -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = channel();
        // Nobody waits for it: not all answers may be wanted.
        thread::spawn(move || {
            for (head, body) in answers {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                let _ = tell.send(request(&mut stream));
                if !head.is_empty() {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n");
                    let _ = stream.get_mut().write_all((head + &body).as_bytes());
                }
            }
        });
        Canned { url, asked }
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.try_iter().collect()
    }
}

/// A request, with its body.
fn request(stream: &mut BufReader<TcpStream>) -> String {
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let begin = request.len();
        stream.read_line(&mut request).unwrap();
        let line = request[begin..].trim_end();
        if let Some(said) = line.strip_prefix("content-length: ") {
            length = said.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}

/// Where somebody hands on what a server is asked, and its answers, but for the first to a `POST`.
pub(crate) fn losing_an_answer(server: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Nobody waits for it: nobody tells it that this was all.
    thread::spawn(move || {
        let mut loses = true;
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let asked = request(&mut stream);
            let mut there = TcpStream::connect(&server).unwrap();
            let closing = asked.replacen("\r\n", "\r\nconnection: close\r\n", 1);
            there.write_all(closing.as_bytes()).unwrap();
            let mut answer = Vec::new();
            there.read_to_end(&mut answer).unwrap();
            if loses && asked.starts_with("POST ") {
                loses = false;
                continue;
            }
            let _ = stream.get_mut().write_all(&answer);
        }
    });
    url
}

pub(crate) fn found(told: &Json) -> (String, String) {
    ("200 OK".to_owned(), told.to_string())
}

fn problem(status: &str, kind: &str) -> (String, String) {
    let told = json!({"type": format!("/docs#problem-{kind}"), "detail": "not now"});
    (status.to_owned(), told.to_string())
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
    both.put("/exact", "1.8399494734017818", &[]);
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
fn what_was_refused_or_not_answered_is_sent_again() {
    let folder = Folder::new("remote_again");
    let version = |revision: u64| {
        let mut node = json!({"revision": revision, "attributes": {}, "child_count": 0});
        node["next_position"] = 0.into();
        [
            found(&json!({"name": "t", "revision": revision, "nodes": 1})),
            found(&node),
            found(&json!({"children": [], "next": null})),
        ]
    };
    let put = |answers: Vec<(String, String)>| {
        let server = Canned::new(answers);
        let put = folder.run(&["put", &server.url, "t", "/a", "1"]);
        let asked = server.asked();
        let commits = asked.iter().filter(|it| it.starts_with("POST /api/v1/trees/t/commits "));
        let header = |it: &str, name: &str| {
            let value = it.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.unwrap_or("none").to_owned()
        };
        let upon = |it: &String| (header(it, "if-match"), header(it, "idempotency-key"));
        let (upon, keys): (Vec<String>, Vec<String>) = commits.map(upon).unzip();
        (put, upon, keys)
    };
    let refused = [
        problem("429 Too Many Requests", "too-many"),
        problem("412 Precondition Failed", "changed"),
    ];
    let done = found(&json!({"revision": 3, "changed": true}));
    let answers = [&version(1)[..], &refused, &version(2), std::slice::from_ref(&done)].concat();
    let (ended, upon, keys) = put(answers);
    ended.check(0, "revision 3\n", "");
    assert_eq!(upon, ["\"1\"", "\"1\"", "\"2\""]);
    // What is worked out anew is another request.
    assert!(keys[0] == keys[1] && keys[1] != keys[2] && keys[0].len() == 32, "{keys:?}");
    // No answer at all: the server knows what it did by its key.
    let none = (String::new(), String::new());
    let busy = problem("409 Conflict", "busy");
    let (ended, upon, keys) = put([&version(1)[..], &[none.clone(), busy, done]].concat());
    ended.check(0, "revision 3\n", "");
    assert_eq!(upon, ["\"1\"", "\"1\"", "\"1\""]);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    // Whether it was done is not known, however often it is sent.
    let (ended, upon, _) = put([&version(1)[..], &vec![none; 9]].concat());
    assert_eq!((ended.code, &*ended.out), (Some(7), ""), "{}", ended.err);
    assert!(ended.err.contains("may have been done"), "{}", ended.err);
    assert_eq!(upon.len(), 5);
}

#[test]
fn edit_whose_answer_was_lost_is_done_once() {
    let (folder, serving) = serving_a_tree("remote_lost");
    let url = serving.url();
    let lossy = losing_an_answer(serving.address().to_owned());
    folder.run(&["put", &lossy, "t", "/a", "1"]).check_code(0);
    let log = folder.run(&["log", url, "t", "--json"]).out;
    assert_eq!(log.lines().count(), 2, "made, and edited once: {log}");
    folder.run(&["get", url, "t"]).check(0, "{\"a\":1}\n", "");
}

#[test]
fn a_token_goes_to_nobody_but_the_server_that_is_named() {
    let folder = Folder::new("remote_moved");
    let other = Canned::new(vec![found(&json!({"trees": [], "next": null}))]);
    let moved = format!("302 Found\r\nLocation: {}/api/v1/trees", other.url);
    let server = Canned::new(vec![(moved, String::new())]);
    let mut command = folder.command(&["trees", &server.url]);
    let listed = Ended::new(command.env("JUNGLE_TOKEN", "not-for-you").output().unwrap());
    assert_eq!((listed.code, &*listed.out), (Some(1), ""), "{}", listed.err);
    assert!(!listed.err.contains("not-for-you"), "{}", listed.err);
    let asked = server.asked();
    assert!(asked[0].contains("authorization: Bearer not-for-you\r\n"), "{asked:?}");
    assert!(other.asked().is_empty());
}

#[test]
fn what_a_server_says_moves_no_cursor() {
    let folder = Folder::new("remote_cursor");
    let tree = json!({"name": "a\u{1b}[2J\u{7}b", "revision": 1, "nodes": 1});
    let server = Canned::new(vec![found(&json!({"trees": [tree], "next": null}))]);
    folder.run(&["trees", &server.url]).check(0, "a[2Jb  revision 1, 1 node\n", "");
}

#[test]
fn tree_of_which_a_part_is_told_has_no_size() {
    let folder = Folder::new("remote_part");
    let part = || found(&json!({"trees": [{"name": "t", "revision": 1}], "next": null}));
    let server = Canned::new(vec![part(), part()]);
    folder.run(&["trees", &server.url]).check(0, "t  revision 1\n", "");
    let told = "{\"tree\":\"t\",\"revision\":1}\n";
    folder.run(&["trees", &server.url, "--json"]).check(0, told, "");
}

#[test]
fn tags_are_asked_for_page_by_page() {
    let folder = Folder::new("remote_pages");
    let tags = |name: &str| json!([{"name": name, "revision": 1}]);
    let server = Canned::new(vec![
        found(&json!({"tags": tags("a"), "next": "a"})),
        found(&json!({"tags": tags("b")})),
    ]);
    let listed = folder.run(&["tag", &server.url, "t"]);
    listed.check(0, "a  revision 1\nb  revision 1\n", "");
    let asked = server.asked();
    let asked: Vec<&str> = asked.iter().filter_map(|asked| asked.split(' ').nth(1)).collect();
    assert_eq!(asked, ["/api/v1/trees/t/tags", "/api/v1/trees/t/tags?after=a"]);
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
    thread::scope(|scope| {
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
    let url = serving.url();
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

/// Nobody answers there, so what is sent is told by the code.
#[test]
fn a_token_goes_to_no_other_machine_unless_it_is_encrypted_or_may_be_seen() {
    let folder = Folder::new("remote_exposed");
    folder.write("token", "secret");
    let (_held, port) = port_of_nobody();
    let ask = |host: &str, more: &[&str]| {
        let url = format!("{host}:{port}");
        folder.run(&[["get", &*url, "t"].as_slice(), more].concat())
    };
    let other = "http://0.0.0.0";
    for more in [["--token-file", "token"].as_slice(), &["--token-file", "token", "--json"]] {
        let refused = ask(other, more);
        assert_eq!((refused.code, &*refused.out), (Some(2), ""), "{}", refused.err);
        assert!(refused.err.contains("--expose-token"), "{}", refused.err);
        assert!(!refused.err.contains("secret"), "{}", refused.err);
    }
    ask(other, &[]).check_code(7);
    ask(other, &["--token-file", "token", "--expose-token"]).check_code(7);
    for host in ["http://127.0.0.1", "http://localhost", "http://[::1]", "https://0.0.0.0"] {
        ask(host, &["--token-file", "token"]).check_code(7);
    }
}

/// A port where nobody listens, and which nobody else is given as long as what holds it is there.
fn port_of_nobody() -> ((TcpListener, TcpStream), u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = taken.local_addr().unwrap().port();
    ((listener, taken), port)
}

#[test]
fn who_may_edit_a_part_does_so_on_a_branch_too() {
    let folder = Folder::new("remote_part");
    folder.run(&["trees", "data", "--create", "t"]).check_code(0);
    folder.run(&["put", "data", "t", "/todo", "{}"]).check_code(0);
    folder.run(&["branch", "data", "t", "draft"]).check_code(0);
    grant_to_token(&folder, "write", "/todo");
    let serving = Serving::start(&folder, &["--data", "data"]);
    let url = serving.url();
    let by_token = |args: &[&str]| folder.run(&[args, &["--token-file", "token"]].concat());
    by_token(&["put", url, "t", "/todo/x", "1", "--branch", "draft"]).check_code(0);
    by_token(&["put", url, "t", "/todo/y", "2"]).check_code(0);
    by_token(&["put", url, "t", "/other", "3", "--branch", "draft"]).check_code(1);
    by_token(&["get", url, "t", "/todo", "--at", "draft"]).check(0, "{\"x\":1}\n", "");
    by_token(&["get", url, "t", "/todo"]).check(0, "{\"y\":2}\n", "");
}

#[test]
fn a_server_that_encrypts_is_known_by_its_certificate() {
    let folder = Folder::new("remote_tls");
    let serving = Serving::start(&folder, &["--data", "data", "--tls-self"]);
    let url = serving.url();
    assert!(url.starts_with("https://"), "{url}");
    let trusting = |certificate: &str, args: &[&str]| {
        Ended::new(folder.command(args).env("SSL_CERT_FILE", certificate).output().unwrap())
    };
    let own = serving.told["certificate"].as_str().unwrap();
    trusting(own, &["trees", url, "--create", "t"]).check_code(0);
    trusting(own, &["get", url, "t"]).check(0, "{}\n", "");
    let unknown = trusting("none", &["get", url, "t"]);
    assert_eq!((unknown.code, &*unknown.out), (Some(7), ""), "{}", unknown.err);
}

#[test]
fn a_server_that_goes_away_while_it_sends_a_backup_has_not_answered() {
    let folder = Folder::new("remote_broken");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut byte) = (Vec::new(), [0_u8]);
        while !request.ends_with(br#"{"since":0}"#) {
            stream.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nJUNGBAK\n").unwrap();
    });
    let broken = folder.run(&["backup", &url, "copy"]);
    broken.check_code(7);
    assert!(broken.err.contains("the next one completes"), "{}", broken.err);
    served.join().unwrap();
}

#[test]
fn who_does_not_answer_has_a_code_of_its_own() {
    let folder = Folder::new("remote_away");
    let (_held, port) = port_of_nobody();
    folder.run(&["watch", &format!("http://127.0.0.1:{port}"), "t"]).check_code(7);
    for scheme in ["http", "HTTP", "Http"] {
        let away = folder.run(&["get", &format!("{scheme}://127.0.0.1:{port}"), "t"]);
        assert_eq!((away.code, &*away.out), (Some(7), ""), "{}", away.err);
    }
    for url in ["http://", "http://127.0.0.1/x", "http://ana:secret@127.0.0.1"] {
        let wrong = folder.run(&["get", url, "t"]);
        assert_eq!((wrong.code, &*wrong.out), (Some(2), ""), "{}", wrong.err);
        assert!(!wrong.err.contains("secret"), "{}", wrong.err);
    }
    for words in ["du URL", "stat URL t", "diff URL t 1 2", "find URL a>0"] {
        let words = words.replace("URL", "http://ana:secret@127.0.0.1");
        let wrong = folder.run(&words.split(' ').collect::<Vec<&str>>());
        wrong.check_code(2);
        assert!(!wrong.err.contains("secret"), "{}", wrong.err);
    }
}
