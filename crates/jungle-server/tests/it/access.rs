//! Who may do what: beside the matrix, what it cannot tell.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use jungle::{Clock, Jungle, Memory, SystemClock, Timestamp};
use jungle_server::{Access, AccessError, Data, Options, Role, Server, StartError};
use serde_json::{Value as Json, json};

use crate::people::{Guarded, grant};
use crate::support::{Folder, Served};

#[test]
fn strangers_are_asked_who_they_are() {
    let guarded = Guarded::new("strangers", &[("ana", "*", "/", Role::Admin)]);
    let served = &guarded.served;
    for path in ["/api/v1/trees", "/api/v1/trees/t/node", "/metrics", "/nothing", "/api/v1/trees/x"]
    {
        let answer = served.get(path);
        assert_eq!((answer.status.as_u16(), answer.problem()), (401, "unauthorized".to_owned()));
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"jungle\"");
    }
    for (path, next) in [("/", "%2F"), ("/explorer/?tree=t", "%2Fexplorer%2F%3Ftree%3Dt")] {
        let answer = served.get(path);
        let place = format!("/login?next={next}");
        assert_eq!((answer.status.as_u16(), answer.header("location")), (303, &*place));
    }
    for path in ["/login", "/openapi.json", "/assets/board.css", "/explorer/explorer.js"] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    assert_eq!(served.get("/health").json(), json!({"status": "ok"}));
    assert_eq!(guarded.get("ana", "/health").json()["trees"], 2);
}

#[test]
fn wrong_token_is_refused_whatever_is_asked() {
    let guarded = Guarded::new("wrong-token", &[("ana", "*", "/", Role::Admin)]);
    let right = guarded.header("ana");
    let cut = &right[..right.len() - 1];
    for header in ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer x", cut, &format!("{right}0")] {
        for path in ["/api/v1/trees", "/health", "/login"] {
            let answer = guarded.served.send("GET", path, &[("authorization", header)], None);
            assert_eq!(answer.status, 401, "{header} {path}");
        }
    }
    assert_eq!(guarded.get("ended", "/api/v1/trees").status, 401);
    let twice = [("authorization", &*right), ("authorization", &*right)];
    assert_eq!(guarded.served.send("GET", "/api/v1/trees", &twice, None).status, 400);
    let lower = right.replace("Bearer", "bearer");
    let answer = guarded.served.send("GET", "/api/v1/trees", &[("authorization", &lower)], None);
    answer.expect(200);
}

#[test]
fn tree_of_which_nothing_may_be_read_is_not_there() {
    let guarded = Guarded::new("hidden", &[("ana", "t", "/", Role::Admin)]);
    let trees = guarded.get("ana", "/api/v1/trees").expect(200);
    assert_eq!(trees["trees"].as_array().unwrap().len(), 1);
    assert_eq!(trees["trees"][0]["name"], "t");
    for rest in ["", "/node", "/revisions", "/branches", "/watch"] {
        let answer = |tree| guarded.get("ana", &format!("/api/v1/trees/{tree}{rest}"));
        let (hidden, missing) = (answer("u"), answer("v"));
        assert_eq!((hidden.status.as_u16(), hidden.problem()), (404, "no-such-tree".to_owned()));
        let [hidden, missing] = [("u", hidden), ("v", missing)]
            .map(|(name, answer)| answer.text.replace(&format!("\\\"{name}\\\""), "NAME"));
        assert_eq!(hidden, missing, "{rest}");
        assert!(hidden.contains("NAME"), "{hidden}");
    }
}

#[test]
fn how_much_happens_in_other_trees_is_not_told() {
    let guarded = Guarded::new("other-trees", &[("ana", "t", "/", Role::Admin)]);
    let tree = guarded.served.server.jungle().open_tree("u").unwrap();
    (0..700).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    let newest = guarded.served.server.jungle().revision().to_string();
    let late = Some(r#"{"name":"n","at":"99999"}"#);
    for (method, rest, body) in [
        ("GET", "watch?after=99999", None),
        ("GET", "node?at=99999", None),
        ("GET", "children?at=99999", None),
        ("GET", "document?at=99999", None),
        ("GET", "diff?from=99999", None),
        ("GET", "revisions/99999", None),
        ("POST", "branches", late),
        ("POST", "tags", late),
        ("POST", "reverts", Some(r#"{"revision":99999}"#)),
    ] {
        let answer = guarded.send("ana", method, &format!("/api/v1/trees/t/{rest}"), body);
        let (status, problem) = (answer.status.as_u16(), answer.problem());
        assert_eq!((status, problem), (404, "no-such-revision".into()), "{rest}");
        assert!(!answer.text.contains(&newest), "{rest}: {}", answer.text);
    }
}

#[test]
fn who_may_change_nothing_is_refused_before_the_body_has_come() {
    let granted = [("reads", "*", "/", Role::Read), ("writes", "t", "/a", Role::Write)];
    let guarded = Guarded::new("unheard", &granted);
    for (method, path) in [
        ("POST", "/api/v1/commits"),
        ("POST", "/api/v1/trees"),
        ("POST", "/boards"),
        ("PATCH", "/api/v1/trees/t"),
        ("POST", "/api/v1/trees/t/commits"),
        ("POST", "/api/v1/trees/t/merges"),
        ("POST", "/api/v1/trees/t/reverts"),
        ("POST", "/api/v1/trees/t/branches"),
        ("POST", "/api/v1/trees/t/tags"),
        ("POST", "/api/v1/trees/t/indexes"),
        ("PUT", "/api/v1/trees/t/document"),
        ("PUT", "/api/v1/trees/t/keep"),
    ] {
        let mut stream = guarded.served.connect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\
             Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
            guarded.header("reads"),
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 403 "), "{method} {path}: {line}");
    }
    // Of others it is asked what they want.
    let refused = guarded.send("writes", "POST", "/api/v1/commits", Some("{}"));
    assert_eq!(refused.problem(), "bad-request");
}

#[test]
fn edits_are_allowed_by_their_places() {
    let guarded =
        Guarded::new("places", &[("ana", "t", "/a", Role::Write), ("ana", "t", "/b", Role::Read)]);
    for edit in [
        r#"{"op":"append","path":"/a"}"#,
        r#"{"op":"append","path":"/a"},{"op":"put","under":0,"attribute":"n","value":1}"#,
        r#"{"op":"insert","path":"/a/y"}"#,
        r#"{"op":"insert_before","path":"/a/0"}"#,
        r#"{"op":"put","path":"/a","attribute":"n","value":1}"#,
        r#"{"op":"unset","path":"/a","attribute":"n"}"#,
        r#"{"op":"move","from":"/a/x","path":"/a/z"}"#,
        r#"{"op":"test","path":"/b","exists":true},{"op":"remove","path":"/a/z"}"#,
    ] {
        guarded.edit("ana", edit).expect(200);
    }
    let before = guarded.served.server.jungle().revision();
    for edit in [
        r#"{"op":"append"}"#,
        r#"{"op":"append","path":"/b"}"#,
        r#"{"op":"insert","path":"/c"}"#,
        r#"{"op":"insert","path":"/b/c"}"#,
        r#"{"op":"insert_after","path":"/a"}"#,
        r#"{"op":"remove","path":"/b"}"#,
        r#"{"op":"remove","path":"/"}"#,
        r#"{"op":"put","attribute":"n","value":1}"#,
        r#"{"op":"put","path":"/b","attribute":"n","value":1}"#,
        r#"{"op":"unset","path":"/b","attribute":"n"}"#,
        r#"{"op":"move","from":"/a/y","path":"/y"}"#,
        r#"{"op":"move","from":"/b","path":"/a/b"}"#,
        r#"{"op":"test","path":"/","exists":true},{"op":"append","path":"/a"}"#,
        r#"{"op":"append","path":"/a"},{"op":"append"}"#,
    ] {
        let answer = guarded.edit("ana", edit);
        assert_eq!(
            (answer.status.as_u16(), answer.problem()),
            (403, "forbidden".to_owned()),
            "{edit}"
        );
    }
    assert_eq!(guarded.served.server.jungle().revision(), before);
}

#[test]
fn author_is_who_commits_whatever_the_request_says() {
    let guarded = Guarded::new("author", &[("ana", "*", "/", Role::Admin)]);
    guarded.edit("ana", r#"{"op":"append"}"#).expect(200);
    let newest = guarded.get("ana", "/api/v1/trees/t/revisions?limit=1").expect(200);
    assert_eq!(newest["revisions"][0]["author"], "ana");
    let import = "/api/v1/trees/t/document?path=/a&author=eve";
    guarded.send("ana", "PUT", import, Some("[1]")).expect(200);
    let newest = guarded.get("ana", "/api/v1/trees/t/revisions?limit=1").expect(200);
    assert_eq!(newest["revisions"][0]["author"], "ana");
    guarded.send("ana", "POST", "/api/v1/trees", Some(r#"{"name":"new"}"#)).expect(201);
    let made = guarded.get("ana", "/api/v1/trees/new/revisions").expect(200);
    assert_eq!(made["revisions"][0]["author"], "ana");
    let form = |path: &str, form: &str| {
        let (media, header) = ("application/x-www-form-urlencoded", guarded.header("ana"));
        let headers = [("content-type", media), ("authorization", &header)];
        assert_eq!(guarded.served.send("POST", path, &headers, Some(form)).status, 303);
    };
    form("/boards", "name=b");
    form("/boards/b", "author=eve&text=hello");
    form("/boards/b/0", "author=eve&text=changed&edits=0");
    let page = guarded.get("ana", "/boards/b").text;
    assert!(page.contains("<strong>ana</strong>") && !page.contains("eve"), "{page}");
    assert!(!page.contains("Your name") && page.contains("changed"), "{page}");
}

#[test]
fn each_user_has_keys_of_their_own() {
    let granted = [("ana", "t", "/", Role::Write), ("ben", "t", "/a", Role::Write)];
    let guarded = Guarded::new("keys", &granted);
    let send = |who: &str| {
        let header = guarded.header(who);
        let headers = [("authorization", &*header), ("idempotency-key", "k")];
        let body = r#"{"edits":[{"op":"append"}]}"#;
        guarded.served.send("POST", "/api/v1/trees/t/commits", &headers, Some(body))
    };
    let first = send("ana").expect(200);
    assert_eq!(send("ana").expect(200), first);
    // What one was answered, no other is.
    assert_eq!(send("ben").status, 403);
}

#[test]
fn what_is_granted_changes_with_the_file() {
    let granted = [("ana", "t", "/", Role::Write), ("ben", "t", "/", Role::Read)];
    let mut guarded = Guarded::new("changes", &granted);
    let header = format!("Authorization: {}\r\n", guarded.header("ben"));
    let mut events = guarded.served.watch("t/watch", &header);
    guarded.edit("ana", r#"{"op":"append"}"#).expect(200);
    assert_eq!(events.next().unwrap().name, "change");
    guarded.access.revoke("ben", None).unwrap();
    guarded.access.grant(grant("ana", "t", "/", Role::Read)).unwrap();
    guarded.access.write(&guarded.file).unwrap();
    // What was begun under what was granted before ends.
    assert_eq!(events.next(), None);
    assert_eq!(guarded.get("ben", "/api/v1/trees").status, 401);
    assert_eq!(guarded.edit("ana", r#"{"op":"append"}"#).status, 403);
    guarded.get("ana", "/api/v1/trees/t").expect(200);
}

#[test]
fn stream_ends_with_the_name_by_which_it_was_let_in() {
    let granted = [("ana", "*", "/", Role::Admin), ("ben", "t", "/", Role::Read)];
    let guarded = Guarded::new("stream-renamed", &granted);
    let header = format!("Authorization: {}\r\n", guarded.header("ben"));
    let mut events = guarded.served.watch("t/watch", &header);
    guarded.edit("ana", r#"{"op":"append"}"#).expect(200);
    assert_eq!(events.next().unwrap().name, "change");
    guarded.send("ana", "PATCH", "/api/v1/trees/t", Some(r#"{"name":"secret"}"#)).expect(200);
    let tree = guarded.served.server.jungle().open_tree("secret").unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    assert_eq!(events.next(), None);
}

#[test]
fn what_is_sent_breaks_off_when_who_asked_may_not_have_it_any_more() {
    let granted = [("ana", "*", "/", Role::Admin)];
    let mut guarded = Guarded::folder("sent-revoked", &granted, |_, _| ());
    let tree = guarded.served.server.jungle().open_tree("t").unwrap();
    // More than there is room for on the way.
    for n in 0..40_u8 {
        let (name, value) = (format!("large{n}"), vec![n; 1 << 20]);
        tree.update(|tx| tx.put_attribute(&[], name.as_str(), &*value)).unwrap();
    }
    let header = format!("Authorization: {}\r\n", guarded.header("ana"));
    let mut events = guarded.served.watch("t/watch", &header);
    let sent = ["GET /api/v1/trees/t/document", "POST /api/v1/folder/copy"].map(|asked| {
        let mut stream = guarded.served.connect();
        let head = format!("{asked} HTTP/1.1\r\nHost: localhost\r\n{header}");
        stream.write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()).unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200", "{asked}");
        (asked, stream)
    });
    guarded.access.revoke("ana", None).unwrap();
    guarded.access.write(&guarded.file).unwrap();
    // The server has taken it in.
    assert_eq!(events.next(), None);
    for (asked, mut stream) in sent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "{asked} came to its end");
    }
}

/// Begins to import `{"a":1}`, of which two bytes are still to come: it has been let in.
fn begin_import(guarded: &Guarded, who: &str, path: &str) -> TcpStream {
    let mut stream = begin(guarded, who, &format!("PUT /api/v1/trees/t/document?path={path}"), 7);
    stream.write_all(b"{\"a\":").unwrap();
    stream
}

/// Asks for something with a body of so many bytes, which is waited for: it has been let in.
fn begin(guarded: &Guarded, who: &str, head: &str, bytes: usize) -> TcpStream {
    let mut stream = guarded.served.connect();
    let head = format!(
        "{head} HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: {}\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\
         Expect: 100-continue\r\nConnection: close\r\n\r\n",
        guarded.header(who)
    );
    stream.write_all(head.as_bytes()).unwrap();
    // That is said when somebody begins to read what comes.
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&go_on));
    stream
}

/// Takes everything from ben, and from ana that she may write to `t`, and nothing from cid.
fn take_away(guarded: &mut Guarded) {
    let header = format!("Authorization: {}\r\nConnection: close\r\n", guarded.header("cid"));
    let mut events = guarded.served.watch("t/watch", &header);
    guarded.access.revoke("ben", None).unwrap();
    guarded.access.revoke("ana", Some("t")).unwrap();
    guarded.access.grant(grant("ana", "t", "/", Role::Read)).unwrap();
    guarded.access.write(&guarded.file).unwrap();
    assert_eq!(events.next(), None);
}

/// Sends what is still to come of requests: only those that are answered by 200 are committed.
#[track_caller]
fn check_committed(guarded: &Guarded, begun: [(TcpStream, u16); 3], rest: &str) {
    let before = guarded.served.server.jungle().revision();
    for (mut stream, status) in begun {
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        let committed = guarded.served.server.jungle().revision() > before;
        assert_eq!(committed, status == 200, "{answer}");
    }
}

#[test]
fn imports_of_one_leave_places_for_others() {
    let granted = ["ana", "ben"].map(|who| (who, "t", "/", Role::Write));
    let guarded = Guarded::new("import-places", &granted);
    let export = |who: &str| guarded.get(who, "/api/v1/trees/t/document").status.as_u16();
    let held = [(); 2].map(|()| begin_import(&guarded, "ana", "/a"));
    let refused = guarded.get("ana", "/api/v1/trees/t/document");
    assert_eq!(refused.problem(), "too-many");
    assert!(refused.text.contains("2 of your exports and imports"), "{}", refused.text);
    assert_eq!(export("ben"), 200);
    drop(held);
    while export("ana") != 200 {}
}

#[test]
fn import_is_not_committed_by_who_may_not_do_so_any_more() {
    let granted = ["ana", "ben", "cid"].map(|who| (who, "t", "/", Role::Write));
    let mut guarded = Guarded::new("import-revoked", &granted);
    let imports = [("ana", "/a", 403), ("ben", "/b", 401), ("cid", "/a/x", 200)];
    let imports = imports.map(|(who, path, status)| (begin_import(&guarded, who, path), status));
    take_away(&mut guarded);
    check_committed(&guarded, imports, "1}");
}

#[test]
fn commit_is_not_done_by_who_may_not_do_so_any_more() {
    let granted = ["ana", "ben", "cid"].map(|who| (who, "t", "/", Role::Write));
    let mut guarded = Guarded::new("commit-revoked", &granted);
    let edits = r#"{"edits":[{"op":"append"}]}"#;
    let commits = [("ana", 403), ("ben", 403), ("cid", 200)].map(|(who, status)| {
        (begin(&guarded, who, "POST /api/v1/trees/t/commits", edits.len()), status)
    });
    take_away(&mut guarded);
    check_committed(&guarded, commits, edits);
}

#[test]
fn file_must_be_its_owners_and_whole() {
    let folder = Folder::new("access-file");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("access.toml");
    let mut access = Access::default();
    access.add_token("ana", None).unwrap();
    access.add_user("ben", Some("correct horse")).unwrap();
    access.grant(grant("ben", "*", "/a/\"3\"", Role::Read)).unwrap();
    access.write(&file).unwrap();
    assert_eq!(Access::read(&file).unwrap(), access);
    let start = || {
        let options = Options { access: Some(file.clone()), ..Options::default() };
        Server::start(Data::Memory(Jungle::memory().unwrap()), options)
    };
    start().unwrap().stop().unwrap();
    #[cfg(unix)]
    for mode in [0o640, 0o604, 0o620, 0o666] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&file, mode).unwrap();
        let refused = start();
        assert!(matches!(refused, Err(StartError::Access(AccessError::Shared { .. }))));
    }
    for wrong in [
        "x = 1",
        "[[user]]\nname = \"a\"",
        "[[user]]\nname = \"a\"\npassword = \"plain\"",
        "[[token]]\nname = \"a\"\nhash = \"00\"",
        "[[grant]]\nwho = \"nobody\"\ntree = \"*\"\nrole = \"read\"",
        "[[grant]]\nwho = \"a\"\nwho = \"b\"\ntree = \"*\"\nrole = \"read\"",
        "[[grant]]\nwho = \"a\"\ntree = \"*\"\nrole = \"owner\"",
    ] {
        access.write(&file).unwrap();
        std::fs::write(&file, wrong).unwrap();
        let refused = start();
        assert!(matches!(refused, Err(StartError::Access(AccessError::Parse { .. }))), "{wrong}");
    }
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(start(), Err(StartError::Access(AccessError::Read { .. }))));
}

#[cfg(unix)]
#[test]
fn file_stays_its_owners_whoever_changes_it() {
    use std::os::unix::fs::{MetadataExt, chown};
    let folder = Folder::new("access-owner");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("access.toml");
    Access::default().write(&file).unwrap();
    // Only root can give a file away.
    if chown(&file, Some(65_534), Some(65_534)).is_err() {
        return;
    }
    Access::default().write(&file).unwrap();
    let found = std::fs::metadata(&file).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (65_534, 65_534, 0o600));
}

#[test]
fn other_end_of_a_move_is_not_told_to_who_may_not_read_it() {
    let granted = [("ana", "t", "/", Role::Admin), ("ben", "t", "/a", Role::Read)];
    let guarded = Guarded::new("moves", &granted);
    // A bare leaf is not told from any other.
    let made = r#"{"op":"put","path":"/a/x","attribute":"n","value":7}"#;
    guarded.edit("ana", made).expect(200);
    let header = |who| format!("Authorization: {}\r\n", guarded.header(who));
    let watch = |who| guarded.served.watch("t/watch?path=/a", &header(who));
    let (mut ana, mut ben) = (watch("ana"), watch("ben"));
    let n = json!({"type": "int", "value": 7});
    let put = json!({"op": "put", "path": "/a/y", "attribute": "n", "value": n});
    for (edit, all, part, compared) in [
        (
            r#"{"op":"move","from":"/a/x","path":"/b/secret"}"#,
            json!({"op": "move", "from": "/a/x", "path": "/b/secret"}),
            json!({"op": "remove", "path": "/a/x"}),
            json!([{"op": "remove", "path": "/a/x", "nodes": 1}]),
        ),
        (
            r#"{"op":"move","from":"/b/secret","path":"/a/y"}"#,
            json!({"op": "move", "from": "/b/secret", "path": "/a/y"}),
            json!({"op": "set", "path": "/a/y"}),
            json!([{"op": "add", "path": "/a/y"}, put]),
        ),
        (
            r#"{"op":"move","from":"/a/y","path":"/a/z"}"#,
            json!({"op": "move", "from": "/a/y", "path": "/a/z"}),
            json!({"op": "move", "from": "/a/y", "path": "/a/z"}),
            json!([{"op": "move", "from": "/a/y", "path": "/a/z"}]),
        ),
    ] {
        guarded.edit("ana", edit).expect(200);
        let whole = json!([all]);
        for (who, events, told, compared) in
            [("ana", &mut ana, all, &whole), ("ben", &mut ben, part, &compared)]
        {
            assert_eq!(events.next().unwrap().data["changes"], json!([told]), "{who} {edit}");
            let diff = guarded.get(who, "/api/v1/trees/t/diff?path=/a").expect(200);
            assert_eq!(diff["changes"], *compared, "{who} {edit}");
        }
    }
}

#[test]
fn pages_of_a_diff_are_told_by_the_rights_of_who_asks() {
    let granted = [
        ("ana", "t", "/", Role::Admin),
        ("ben", "t", "/a", Role::Read),
        ("cid", "t", "/b", Role::Read),
    ];
    let guarded = Guarded::new("part-pages", &granted);
    let before = guarded.get("ana", "/api/v1/trees/t").expect(200)["revision"].clone();
    guarded.edit("ana", r#"{"op":"put","path":"/a/x","attribute":"n","value":1}"#).expect(200);
    let from = guarded.get("ana", "/api/v1/trees/t").expect(200)["revision"].clone();
    let edits = r#"{"op":"move","from":"/a/x","path":"/b/x"},
        {"op":"put","path":"/a","attribute":"m","value":2},
        {"op":"put","path":"/a","attribute":"n","value":3}"#;
    guarded.edit("ana", edits).expect(200);
    let pages = |who: &str, from: &Json| {
        let (mut joined, mut after) = (Vec::new(), json!(0));
        while !after.is_null() {
            let diff = format!("/api/v1/trees/t/diff?path=/a&from={from}&limit=1&after={after}");
            let mut page = guarded.get(who, &diff).expect(200);
            joined.append(page["changes"].as_array_mut().unwrap());
            after = page["next"].take();
        }
        joined
    };
    for from in [&before, &from] {
        let diff = format!("/api/v1/trees/t/diff?path=/a&from={from}");
        let whole = |who: &str| guarded.get(who, &diff).expect(200)["changes"].clone();
        // Whoever asks first: what the others are told is their own.
        for who in ["ana", "ben", "ana", "ben"] {
            assert_eq!(json!(pages(who, from)), whole(who), "{who}");
            let refused = guarded.get("cid", &format!("{diff}&limit=1"));
            assert_eq!(refused.problem(), "forbidden");
        }
        let told = json!(pages("ben", from)).to_string();
        assert!(told.contains("/a/x") && !told.contains("/b"), "{told}");
    }
}

#[test]
fn part_that_comes_or_goes_is_told_as_one_change() {
    let granted = [("ana", "t", "/", Role::Admin), ("ben", "t", "/a/x", Role::Read)];
    let guarded = Guarded::new("part-gone", &granted);
    let part = "/api/v1/trees/t/diff?path=/a/x";
    let changes =
        |query: &str| guarded.get("ben", &format!("{part}{query}")).expect(200)["changes"].clone();
    let before = guarded.get("ana", "/api/v1/trees/t").expect(200)["revision"].clone();
    guarded.edit("ana", r#"{"op":"move","from":"/a","path":"/elsewhere"}"#).expect(200);
    assert_eq!(changes(""), json!([{"op": "remove", "path": "/a/x", "nodes": 1}]));
    guarded.edit("ana", r#"{"op":"move","from":"/elsewhere","path":"/a"}"#).expect(200);
    assert_eq!(changes(""), json!([{"op": "add", "path": "/a/x", "nodes": 1}]));
    assert_eq!(changes(&format!("&from={before}")), json!([]));
    guarded.edit("ana", r#"{"op":"remove","path":"/b"}"#).expect(200);
    assert_eq!(changes(""), json!([]));
    guarded.edit("ana", r#"{"op":"remove","path":"/a"}"#).expect(200);
    guarded.edit("ana", r#"{"op":"append"}"#).expect(200);
    assert_eq!(changes(""), json!([]));
}

#[test]
fn differences_of_a_part_tell_nothing_of_what_is_above() {
    let granted = [("ana", "t", "/", Role::Admin), ("ben", "t", "/a/x", Role::Read)];
    let guarded = Guarded::new("part-differences", &granted);
    let told = |who: &str| {
        let answer = guarded.get(who, "/api/v1/trees/t/diff?form=document&path=/a/x");
        let lines = answer.text.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut lines: Vec<Json> = lines.collect();
        (lines.remove(0), lines)
    };
    let is_told = |who: &str, author: Json, exists: bool, ops: &[&str]| {
        let (head, lines) = told(who);
        assert_eq!((&head["author"], &head["exists"]), (&author, &json!(exists)), "{who}");
        assert_eq!(lines.iter().map(|line| &line["op"]).collect::<Vec<_>>(), ops, "{who}");
        lines
    };
    let put = |n: u64| json!({"op": "put", "path": "/a", "attribute": "x", "value": n}).to_string();
    // An attribute of the node above has the name of theirs.
    guarded.edit("ana", &put(7)).expect(200);
    is_told("ben", Json::Null, true, &[]);
    guarded.edit("ana", r#"{"op":"remove","path":"/a/x"}"#).expect(200);
    let lines = is_told("ben", json!("ana"), true, &["remove"]);
    assert_eq!(lines[0]["value"], Json::Null);
    guarded.edit("ana", &put(8)).expect(200);
    is_told("ben", Json::Null, false, &[]);
    is_told("ana", json!("ana"), true, &["change"]);
    guarded.edit("ana", r#"{"op":"insert","path":"/a/x"}"#).expect(200);
    let lines = is_told("ben", json!("ana"), true, &["add"]);
    assert_eq!(lines[0]["old"], Json::Null);
}

#[test]
fn search_of_a_part_tells_nothing_of_indexes() {
    let granted = [("ana", "t", "/", Role::Admin), ("ben", "t", "/a", Role::Read)];
    let guarded = Guarded::new("part-search", &granted);
    guarded.edit("ana", r#"{"op":"put","path":"/a/x","attribute":"n","value":7}"#).expect(200);
    // How many nodes were looked at, and of how many parts the tag is.
    let search = |who: &str| {
        let answer = guarded.get(who, "/api/v1/trees/t/search?path=/a&attribute=n");
        let parts = answer.header("etag").split('.').count();
        let found = answer.expect(200);
        assert_eq!(found["matches"][0]["path"], "/a/x", "{who}");
        (found["visited"].as_u64(), parts)
    };
    assert_eq!(["ana", "ben"].map(search), [(Some(2), 3), (Some(2), 3)]);
    let index = Some(r#"{"key":"n"}"#);
    guarded.send("ana", "POST", "/api/v1/trees/t/indexes", index).expect(201);
    assert_eq!(["ana", "ben"].map(search), [(Some(1), 4), (Some(2), 3)]);
}

#[test]
fn stream_ends_with_the_token_that_began_it() {
    let soon = SystemClock.now().as_micros() + 1_500_000;
    let mut token = String::new();
    let guarded = Guarded::with("ending", &[], |access, _| {
        token = access.add_token("soon", Some(Timestamp::from_micros(soon))).unwrap();
        access.grant(grant("soon", "t", "/", Role::Read)).unwrap();
    });
    let mut events = guarded.served.watch("t/watch", &format!("Authorization: Bearer {token}\r\n"));
    assert_eq!(events.next(), None);
    assert!(SystemClock.now().as_micros() >= soon);
}

#[test]
fn everybody_is_told_who_they_are_and_what_they_may_do() {
    let granted = [
        ("ana", "t*", "/", Role::Admin),
        ("ben", "t", "/", Role::Read),
        ("ben", "t", "/a", Role::Write),
        ("ben", "parts", "/b/0", Role::Read),
        ("ben", "parts", "/a", Role::Write),
        ("ben", "parts", "/a/k", Role::Read),
        ("ben", "parts", "/ab", Role::Read),
    ];
    let guarded = Guarded::new("access_me", &granted);
    let me =
        |who: &str, tree: &str| guarded.get(who, &format!("/api/v1/me?tree={tree}")).expect(200);
    let told =
        |name: Option<&str>, creates: bool, tree: &str, whole: Option<&str>, part: Option<&str>| {
            let reads = if whole.is_some() { json!(["/"]) } else { json!([]) };
            let writes = match (whole, part) {
                (Some("write" | "admin"), _) => json!(["/"]),
                (_, Some("write")) => json!(["/a"]),
                _ => json!([]),
            };
            json!({
                "name": name, "accounts": name.is_some(), "creates": creates,
                "tree": {
                    "name": tree, "whole": whole, "part": part, "reads": reads, "writes": writes,
                },
            })
        };
    let (admin, write, read) = (Some("admin"), Some("write"), Some("read"));
    assert_eq!(me("ana", "t"), told(Some("ana"), true, "t", admin, admin));
    assert_eq!(me("ana", "other"), told(Some("ana"), true, "other", None, None));
    assert_eq!(me("ben", "t"), told(Some("ben"), false, "t", read, write));
    let parts = &me("ben", "parts")["tree"];
    assert_eq!((&parts["whole"], &parts["writes"]), (&Json::Null, &json!(["/a"])));
    assert_eq!(parts["reads"], json!(["/a", "/ab", "/b/0"]));
    assert_eq!(guarded.get("ben", "/api/v1/me").expect(200)["tree"], Json::Null);
    assert_eq!(guarded.served.get("/api/v1/me").status, 401);

    let open = Served::memory().get("/api/v1/me?tree=t").expect(200);
    assert_eq!(open, told(None, true, "t", admin, admin));
    let read_only = Served::with(|options| options.read_only = true);
    let read_only = read_only.get("/api/v1/me?tree=t").expect(200);
    assert_eq!(read_only, told(None, false, "t", read, read));
}

#[test]
fn what_everybody_may_read_is_read_without_a_name() {
    let mut guarded = Guarded::with("public", &[("ana", "u", "/", Role::Write)], |access, _| {
        access.grant(grant(Access::PUBLIC, "t", "/a", Role::Read)).unwrap();
        let more = access.grant(grant(Access::PUBLIC, "t", "/b", Role::Write));
        assert!(matches!(more, Err(AccessError::Wrong(_))));
    });
    let part = "/api/v1/trees/t/node?path=/a";
    for (path, stranger, ana) in [
        (part, 200, 200),
        ("/api/v1/trees/t/node", 401, 403),
        ("/api/v1/trees/u/node", 404, 200),
        ("/api/v1/trees/v/node", 404, 404),
        ("/boards", 200, 200),
        ("/metrics", 401, 403),
        ("/status", 303, 403),
    ] {
        let told = [guarded.served.get(path), guarded.get("ana", path)];
        assert_eq!(told.map(|answer| answer.status.as_u16()), [stranger, ana], "{path}");
    }
    let me = guarded.served.get("/api/v1/me?tree=t").expect(200);
    assert_eq!((&me["name"], &me["creates"]), (&Json::Null, &json!(false)));
    assert_eq!((&me["tree"]["reads"], &me["tree"]["writes"]), (&json!(["/a"]), &json!([])));
    let edit = r#"{"edits":[{"op":"put","path":"/a","attribute":"n","value":1}]}"#;
    assert_eq!(guarded.served.post("/api/v1/trees/t/commits", edit).status, 401);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let refused = guarded.served.send("POST", "/login", &form, Some("name=ana&password=wrong"));
    assert!(refused.status == 403 && refused.text.contains("is wrong"), "{}", refused.text);

    let mut events = guarded.served.watch("t/watch?path=/a", "");
    guarded.access.revoke(Access::PUBLIC, None).unwrap();
    guarded.access.write(&guarded.file).unwrap();
    assert_eq!(events.next(), None);
    assert_eq!(guarded.served.get(part).status, 401);
    assert_eq!(guarded.get("ana", part).status, 404);
}

#[test]
fn file_lets_everybody_read_and_nothing_else() {
    let text =
        |role: &str| format!("[[grant]]\nwho = \"public\"\ntree = \"*\"\nrole = \"{role}\"\n");
    assert_eq!(Access::parse(&text("read")).unwrap().grants().len(), 1);
    for role in ["write", "admin"] {
        assert!(Access::parse(&text(role)).is_err(), "{role}");
    }
    let mut access = Access::default();
    assert!(access.add_user(Access::PUBLIC, None).is_err());
    assert!(access.add_token(Access::PUBLIC, None).is_err());
}

#[test]
fn board_offers_what_one_may_do() {
    let granted = [("ana", "*", "/", Role::Admin), ("ben", "b", "/", Role::Read)];
    let guarded = Guarded::new("board-offers", &granted);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let submit = |path: &str, form_body: &str| {
        let header = guarded.header("ana");
        let headers = [form[0], ("authorization", &header)];
        assert_eq!(guarded.served.send("POST", path, &headers, Some(form_body)).status, 303);
    };
    submit("/boards", "name=b");
    submit("/boards/b", "text=hello");
    let offers = |who, path| guarded.get(who, path).text.contains("<form");
    for path in ["/boards", "/boards/b", "/boards/b/0"] {
        // One after the other, so that what is kept of one is not shown to the other.
        let offered = ["ana", "ben", "ana", "ben"].map(|who| offers(who, path));
        assert_eq!(offered, [true, false, true, false], "{path}");
    }
    let tag = |who| guarded.get(who, "/boards/b").header("etag").to_owned();
    for (who, known, status) in [("ben", "ana", 200), ("ana", "ben", 200), ("ben", "ben", 304)] {
        let (header, known) = (guarded.header(who), tag(known));
        let headers = [("authorization", &*header), ("if-none-match", &*known)];
        let answer = guarded.served.send("GET", "/boards/b", &headers, None);
        assert_eq!(answer.status, status, "{who} {known}");
    }
    let read_only = Served::with(|options| options.read_only = true).tree("b");
    let board = read_only.server.jungle().open_tree("b").unwrap();
    board.update(|tx| tx.put_attribute(&[], "board", "b")).unwrap();
    for path in ["/boards", "/boards/b"] {
        let page = read_only.get(path);
        assert!(page.status == 200 && !page.text.contains("<form"), "{path}");
    }
}
