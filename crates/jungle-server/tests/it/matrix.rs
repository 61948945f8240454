//! The matrix of permissions: every route, asked by everybody. A route without a row fails.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use jungle_server::{Access, Options, Role};
use serde_json::Value as Json;

use crate::contract::operations;
use crate::people::{Granted, Guarded, grant};
use crate::support::Served;

/// Who asks, a column each. `stranger` and `public` say nothing, and the token of `ended` has
/// ended. Where it is `public` who asks, everybody may read `t`.
const COLUMNS: [&str; 12] = [
    "stranger",
    "ended",
    "other",
    "reads",
    "writes",
    "admin",
    "reads-a",
    "writes-a",
    "admin-b",
    "reads-all",
    "admin-all",
    "public",
];

const GRANTED: [Granted<'static>; 9] = [
    ("other", "u", "/", Role::Admin),
    ("reads", "t", "/", Role::Read),
    ("writes", "t", "/", Role::Write),
    ("admin", "t*", "/", Role::Admin),
    ("reads-a", "t", "/a", Role::Read),
    ("writes-a", "t", "/a", Role::Write),
    ("admin-b", "t", "/b", Role::Admin),
    ("reads-all", "*", "/", Role::Read),
    ("admin-all", "*", "/", Role::Admin),
];

type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// A method and a route; what is asked there: the query and the body, JSON or a form; and for each
/// column what comes of it: `+` it is done, `?` who is it, `x` it may not, `-` there is none, `!`
/// there is nothing to be given up.
const MATRIX: &[Row] = &[
    ("GET", "/health", "", "", "+ ? + + + + + + + + + +"),
    ("GET", "/openapi.json", "", "", "+ ? + + + + + + + + + +"),
    ("GET", "/docs", "", "", "+ ? + + + + + + + + + +"),
    ("GET", "/metrics", "", "", "? ? x x x x x x x + + ?"),
    ("GET", "/status", "", "", "? ? x x x x x x x + + ?"),
    ("GET", "/api/v1/me", "?tree=t", "", "? ? + + + + + + + + + +"),
    ("GET", "/api/v1/cluster", "", "", "? ? x x x x x x x + + ?"),
    // A cluster is all trees. There is none here for whoever may administer them.
    ("GET", "/api/v1/cluster/checkpoint", "", "", "? ? x x x x x x x x - ?"),
    ("POST", "/api/v1/cluster/checkpoint", "", "", "? ? x x x x x x x x - ?"),
    // This server commits nothing by itself: there is none for whoever may ask.
    ("GET", "/api/v1/local", "", "", "? ? x x x x x x x - - ?"),
    ("GET", "/api/v1/local/{entry}", "", "", "? ? x x x x x x x - - ?"),
    ("DELETE", "/api/v1/local/{entry}", "", "", "? ? x x x x x x x - - ?"),
    // A folder is all trees.
    ("GET", "/api/v1/folder/audit", "", "", "? ? x x x x x x x x + ?"),
    ("GET", "/api/v1/folder/audit", "?after=3&limit=1&tree=t", "", "? ? x x x x x x x x + ?"),
    ("GET", "/api/v1/folder/backup", "", "", "? ? x x x x x x x x + ?"),
    ("POST", "/api/v1/folder/backup", "", r#"{"name":"b"}"#, "? ? x x x x x x x x + ?"),
    ("DELETE", "/api/v1/folder/backup", "", "", "? ? x x x x x x x x ! ?"),
    ("GET", "/api/v1/folder/backups", "", "", "? ? x x x x x x x x + ?"),
    ("POST", "/api/v1/folder/copy", "", "", "? ? x x x x x x x x + ?"),
    ("GET", "/api/v1/folder/verify", "", "", "? ? x x x x x x x x + ?"),
    ("POST", "/api/v1/folder/verify", "", "", "? ? x x x x x x x x + ?"),
    ("DELETE", "/api/v1/folder/verify", "", "", "? ? x x x x x x x x ! ?"),
    ("GET", "/api/v1/folder/gc", "", "", "? ? x x x x x x x x + ?"),
    ("POST", "/api/v1/folder/gc", "", "", "? ? x x x x x x x x + ?"),
    ("DELETE", "/api/v1/folder/gc", "", "", "? ? x x x x x x x x ! ?"),
    ("GET", "/api/v1/folder/du", "", "", "? ? x x x x x x x x + ?"),
    ("POST", "/api/v1/folder/du", "", "", "? ? x x x x x x x x + ?"),
    ("DELETE", "/api/v1/folder/du", "", "", "? ? x x x x x x x x ! ?"),
    ("POST", "/api/v1/commits", "", OF_T_PUT_ROOT, "? ? - x + + x x x x + ?"),
    ("POST", "/api/v1/commits", "", OF_T_PUT_A, "? ? - x + + x + x x + ?"),
    ("POST", "/api/v1/commits", "", OF_T_AND_U, "? ? - x - - x - - x + ?"),
    ("GET", "/api/v1/trees", "", "", "? ? + + + + + + + + + +"),
    ("POST", "/api/v1/trees", "", r#"{"name":"t2"}"#, "? ? x x x + x x x x + ?"),
    ("POST", "/api/v1/trees", "", r#"{"name":"v"}"#, "? ? x x x x x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}", "", "", "? ? - + + + + + + + + +"),
    ("PATCH", "/api/v1/trees/{tree}", "", r#"{"name":"t2"}"#, "? ? - x x + x x x x + ?"),
    ("PATCH", "/api/v1/trees/{tree}", "", r#"{"name":"v"}"#, "? ? - x x x x x x x + ?"),
    ("DELETE", "/api/v1/trees/{tree}", "", "", "? ? - x x + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/node", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/node", "?path=/a/x", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/node", "?path=/a&at=main~1", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/node", "?at=main~1", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/node", "?branch=draft", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/value", "?attribute=board", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/value", "?path=/a&attribute=n", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/value", "?attribute=board&at=v1", "", "? ? - + + + x x x + + +"),
    (
        "GET",
        "/api/v1/trees/{tree}/value",
        "?path=/a&attribute=n&at=v1",
        "",
        "? ? - + + + + + x + + +",
    ),
    ("GET", "/api/v1/trees/{tree}/children", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/children", "?path=/a", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/children", "?at=main~1", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/children", "?path=/a&at=main~1", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/search", "?attribute=n", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/search", "?path=/a&attribute=n", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/search", "?attribute=n&at=v1", "", "? ? - + + + x x x + + +"),
    (
        "GET",
        "/api/v1/trees/{tree}/search",
        "?path=/a&attribute=n&at=v1",
        "",
        "? ? - + + + + + x + + +",
    ),
    ("POST", "/api/v1/trees/{tree}/commits", "", PUT_ROOT, "? ? - x + + x x x x + ?"),
    ("POST", "/api/v1/trees/{tree}/commits", "", PUT_A, "? ? - x + + x + x x + ?"),
    ("POST", "/api/v1/trees/{tree}/commits", "?branch=draft", PUT_A, "? ? - x + + x + x x + ?"),
    ("GET", "/api/v1/trees/{tree}/local", "", "", "? ? - - - - x x x - - -"),
    ("POST", "/api/v1/trees/{tree}/local", "", PUT_ROOT, "? ? - x - - x - - x - ?"),
    ("PUT", "/api/v1/trees/{tree}/local/document", "", "[1]", "? ? - x - - x x x x - ?"),
    ("PUT", "/api/v1/trees/{tree}/local/document", "?path=/a", "[1]", "? ? - x - - x - x x - ?"),
    ("POST", "/api/v1/trees/{tree}/local/reverts", "", "REVERT", "? ? - x - - x x x x - ?"),
    ("GET", "/api/v1/trees/{tree}/document", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/document", "?path=/a", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/document", "?at=main~1", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/document", "?path=/a&at=main~1", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/document", "?path=/a&format=yaml", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/document", "?format=ndjson", "", "? ? - + + + x x x + + +"),
    ("PUT", "/api/v1/trees/{tree}/document", "", "[1]", "? ? - x + + x x x x + ?"),
    ("PUT", "/api/v1/trees/{tree}/document", "?path=/a", "[1]", "? ? - x + + x + x x + ?"),
    ("GET", "/api/v1/trees/{tree}/revisions", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/revisions", "?path=/a", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/revisions/{revision}", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/diff", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/diff", "?path=/a&from=main~1", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/diff", "?form=document", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/diff", "?path=/a&form=document", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/reverts", "?revision=NEWEST", "", "? ? - + + + x x x + + +"),
    (
        "GET",
        "/api/v1/trees/{tree}/reverts",
        "?revision=NEWEST&form=document",
        "",
        "? ? - + + + x x x + + +",
    ),
    ("POST", "/api/v1/trees/{tree}/reverts", "", "REVERT", "? ? - x + + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/branches", "", "", "? ? - + + + + + + + + +"),
    ("POST", "/api/v1/trees/{tree}/branches", "", r#"{"name":"new"}"#, "? ? - x + + x x x x + ?"),
    ("DELETE", "/api/v1/trees/{tree}/branches/{name}", "", "", "? ? - x x + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/tags", "", "", "? ? - + + + + + + + + +"),
    ("POST", "/api/v1/trees/{tree}/tags", "", r#"{"name":"new"}"#, "? ? - x + + x x x x + ?"),
    ("DELETE", "/api/v1/trees/{tree}/tags/{name}", "", "", "? ? - x x + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/indexes", "", "", "? ? - + + + x x x + + +"),
    ("POST", "/api/v1/trees/{tree}/indexes", "", r#"{"key":"n"}"#, "? ? - x x + x x x x + ?"),
    ("DELETE", "/api/v1/trees/{tree}/indexes", "?key=indexed", "", "? ? - x x + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/keep", "", "", "? ? - + + + x x x + + +"),
    ("PUT", "/api/v1/trees/{tree}/keep", "", r#"{"keep":"9"}"#, "? ? - x x + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/merges", "?from=draft", "", "? ? - + + + x x x + + +"),
    ("POST", "/api/v1/trees/{tree}/merges", "", r#"{"from":"draft"}"#, "? ? - x + + x x x x + ?"),
    ("GET", "/api/v1/trees/{tree}/watch", "", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/watch", "?path=/a", "", "? ? - + + + + + x + + +"),
    ("GET", "/api/v1/trees/{tree}/watch", "?after=0", "", "? ? - + + + x x x + + +"),
    ("GET", "/api/v1/trees/{tree}/watch", "?path=/a&after=0", "", "? ? - + + + + + x + + +"),
    ("GET", "/", "", "", "? ? + + + + + + + + + +"),
    ("GET", "/boards", "", "", "? ? + + + + + + + + + +"),
    ("POST", "/boards", "", "name=t2", "? ? x x x + x x x x + ?"),
    ("GET", "/boards/{board}", "", "", "? ? - + + + - - - + + +"),
    ("POST", "/boards/{board}", "", "text=hello", "? ? - x + + - - - x + ?"),
    ("GET", "/boards/{board}/{key}", "", "", "? ? - + + + - - - + + +"),
    ("POST", "/boards/{board}/{key}", "", "text=hello&edits=0", "? ? - x + + - - - x + ?"),
    ("GET", "/assets/{name}", "", "", "+ ? + + + + + + + + + +"),
    ("GET", "/bench/hello", "", "", "? ? + + + + + + + + + +"),
    ("GET", "/bench/post", "?board=t", "", "? ? - x + + - - - x + ?"),
    ("GET", "/explorer", "", "", "? ? + + + + + + + + + +"),
    ("GET", "/explorer/", "", "", "? ? + + + + + + + + + +"),
    ("GET", "/explorer/{name}", "", "", "+ ? + + + + + + + + + +"),
    ("GET", "/login", "", "", "+ ? + + + + + + + + + +"),
    // Nobody has this password.
    ("POST", "/login", "", "name=reads&password=wrong", "x ? x x x x x x x x x x"),
    ("POST", "/logout", "", "a=b", "+ ? + + + + + + + + + +"),
];

const PUT_ROOT: &str = r#"{"edits":[{"op":"put","attribute":"n","value":9}]}"#;
const PUT_A: &str = r#"{"edits":[{"op":"put","path":"/a","attribute":"n","value":9}]}"#;

/// The same, as of several trees.
const OF_T_PUT_ROOT: &str =
    r#"{"trees":[{"tree":"t","edits":[{"op":"put","attribute":"n","value":9}]}]}"#;
const OF_T_PUT_A: &str =
    r#"{"trees":[{"tree":"t","edits":[{"op":"put","path":"/a","attribute":"n","value":9}]}]}"#;
const OF_T_AND_U: &str = r#"{"trees":[
    {"tree":"t","edits":[{"op":"put","path":"/a","attribute":"n","value":9}]},
    {"tree":"u","edits":[{"op":"put","attribute":"n","value":9}]}]}"#;

/// A served folder in which all that the rows ask for is there: `t` is a board with a message, two
/// revisions, a branch that can be merged, and a tag.
fn server(name: &str, change: impl FnOnce(&mut Access, &mut Options)) -> Guarded {
    let guarded = Guarded::folder(name, &GRANTED, |access, options| {
        options.bench = true;
        change(access, options);
    });
    let tree = guarded.served.server.jungle().open_tree("t").unwrap();
    tree.update(|tx| {
        tx.put_attribute(&[], "board", "t")?;
        let message = [tx.append(&[])?];
        tx.put_attribute(&message, "author", "ana")?;
        tx.put_attribute(&message, "text", "hello")?;
        tx.put_attribute(&message, "time", 7)
    })
    .unwrap();
    tree.update(|tx| tx.put_attribute(&["a".into()], "n", 1)).unwrap();
    let newest = tree.snapshot().revision();
    let draft = tree.branch("draft", newest).unwrap();
    tree.create_index("indexed").unwrap();
    tree.tag("v1", newest).unwrap();
    draft.update(|tx| tx.put_attribute(&[], "draft", 1)).unwrap();
    guarded
}

/// Lets everybody read `t`, where it is asked as one of whom nothing else is known.
fn open(who: &str, access: &mut Access) {
    if who == Access::PUBLIC {
        access.grant(grant(who, "t", "/", Role::Read)).unwrap();
    }
}

/// A user who may do what a token may.
fn user_as(token: &str, access: &mut Access) {
    access.add_user("user", Some("correct horse")).unwrap();
    for (who, tree, path, role) in GRANTED {
        if who == token {
            access.grant(grant("user", tree, path, role)).unwrap();
        }
    }
}

/// What says who somebody is: the header of a token, or of a new session.
fn says(guarded: &Guarded, who: &str) -> Option<(&'static str, String)> {
    match who {
        "stranger" | Access::PUBLIC => None,
        "user" => {
            let form = [("content-type", "application/x-www-form-urlencoded")];
            let body = Some("name=user&password=correct+horse");
            let answer = guarded.served.send("POST", "/login", &form, body);
            Some(("cookie", answer.header("set-cookie").split(';').next().unwrap().to_owned()))
        }
        token => Some(("authorization", guarded.header(token))),
    }
}

/// Asks, and tells what came of it by its letter.
#[track_caller]
fn ask(guarded: &Guarded, says: Option<(&str, &str)>, row: &Row) -> char {
    let &(method, route, query, body, _) = row;
    let name = match route.split('/').rev().nth(1) {
        Some("branches") => "draft",
        Some("tags") => "v1",
        Some("explorer") => "explorer.js",
        _ => "board.css",
    };
    let newest = guarded.served.server.jungle().open_tree("t");
    let newest = newest.map_or(0, |tree| tree.snapshot().revision().number()).to_string();
    let path = [("{tree}", "t"), ("{board}", "t"), ("{key}", "0"), ("{name}", name)]
        .iter()
        .chain(&[("{revision}", &*newest), ("{entry}", "1-1")])
        .fold(route.to_owned(), |path, (name, value)| path.replace(name, value));
    let path = path + &query.replace("NEWEST", &newest);
    if route.ends_with("/watch") {
        return watch(guarded, &path, says);
    }
    let is_form = body.contains('=');
    let media = if is_form { "application/x-www-form-urlencoded" } else { "application/json" };
    let mut headers = vec![("content-type", media)];
    headers.extend(says);
    let body = body.replace("REVERT", &format!(r#"{{"revision":{newest}}}"#));
    let body = (method != "GET" && method != "DELETE").then_some(&*body);
    let answer = guarded.served.send(method, &path, &headers, body);
    let place = answer.headers.get("location").map_or("", |place| place.to_str().unwrap());
    let status = if place.starts_with("/login?next=") { 401 } else { answer.status.as_u16() };
    letter(status).unwrap_or_else(|| panic!("{says:?} {method} {path}: {status}: {}", answer.text))
}

fn letter(status: u16) -> Option<char> {
    Some(match status {
        200..=399 => '+',
        401 => '?',
        403 => 'x',
        404 => '-',
        409 => '!',
        _ => return None,
    })
}

/// A stream has no end: only how it begins is looked at.
fn watch(guarded: &Guarded, path: &str, says: Option<(&str, &str)>) -> char {
    let mut stream = guarded.served.connect();
    let header = says.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    letter(line[9..12].parse().unwrap()).unwrap_or_else(|| panic!("{path}: {line}"))
}

/// What a row says of somebody.
fn expected(row: &Row, who: &str) -> char {
    let mut letters = row.4.chars().filter(|letter| *letter != ' ');
    letters.nth(COLUMNS.iter().position(|column| *column == who).unwrap()).unwrap()
}

#[test]
fn where_nothing_may_be_changed_whoever_may_do_everything_may_read() {
    let guarded = server("matrix-read-only", |_, options| options.read_only = true);
    let before = guarded.served.server.jungle().revision();
    let says = guarded.header("admin");
    for row in MATRIX {
        let found = ask(&guarded, Some(("authorization", &says)), row);
        assert_eq!(found, expected(row, "reads"), "{row:?}");
    }
    assert_eq!(guarded.served.server.jungle().revision(), before);
    let open = Served::with(|options| options.read_only = true).tree("t");
    open.get("/api/v1/trees/t/node").expect(200);
    let refused = open.post("/api/v1/trees/t/commits", PUT_ROOT);
    assert!(refused.text.contains("--read-only"), "{}", refused.text);
    assert_eq!(refused.problem(), "forbidden");
}

#[test]
fn everybody_may_do_what_was_granted_and_nothing_else() {
    for who in COLUMNS {
        check(who, who, || server("matrix", |access, _| open(who, access)));
    }
}

#[test]
fn whoever_has_logged_in_may_do_what_was_granted_and_nothing_else() {
    for who in ["reads", "writes-a", "admin"] {
        check("user", who, || server("matrix-user", |access, _| user_as(who, access)));
    }
}

/// Asks all there is, as somebody of whom a column of the matrix tells.
#[track_caller]
fn check(who: &str, column: &str, server: impl Fn() -> Guarded) {
    let begin = || {
        let guarded = server();
        let says = says(&guarded, who);
        (guarded, says)
    };
    let (mut guarded, mut says) = begin();
    for row in MATRIX {
        assert_eq!(row.4.split(' ').count(), COLUMNS.len(), "{row:?}");
        let before = guarded.served.server.jungle().revision();
        let said = says.as_ref().map(|(name, value)| (*name, value.as_str()));
        let found = ask(&guarded, said, row);
        let asked = format!("{who} asks {} {}{} {}", row.0, row.1, row.2, row.3);
        assert_eq!(found, expected(row, column), "{asked}");
        if found != '+' {
            assert_eq!(guarded.served.server.jungle().revision(), before, "{asked}");
        } else if row.0 != "GET" || row.1 == "/bench/post" {
            // It has changed something, which the next one shall find as it was.
            drop(guarded);
            (guarded, says) = begin();
        }
    }
}

#[test]
fn how_large_a_tree_is_is_told_to_whoever_may_read_all_of_it() {
    let guarded = server("matrix-size", |_, _| ());
    let sizes = |tree: &Json| ["nodes", "children"].map(|size| tree.get(size).cloned());
    let (whole, part) = ([Some(Json::from(5)), Some(Json::from(3))], [None, None]);
    let mut tags = [BTreeSet::new(), BTreeSet::new()];
    for (who, _, path, _) in GRANTED.into_iter().filter(|(who, ..)| *who != "other") {
        let is_whole = path == "/";
        let expected = if is_whole { &whole } else { &part };
        let shown = guarded.get(who, "/api/v1/trees/t");
        tags[usize::from(is_whole)].insert(shown.header("etag").to_owned());
        assert_eq!(sizes(&shown.expect(200)), *expected, "{who}");
        let listed = guarded.get(who, "/api/v1/trees").expect(200);
        let listed = listed["trees"].as_array().unwrap().iter().find(|tree| tree["name"] == "t");
        assert_eq!(sizes(listed.unwrap()), *expected, "{who}");
    }
    // Who is granted more is not told that nothing is new, and either tag is that of the revision.
    let [part, all] = tags.map(|tags| tags.into_iter().collect::<Vec<_>>());
    assert!(part.len() == 1 && all.len() == 1 && part != all, "{part:?} {all:?}");
    let header = guarded.header("writes-a");
    let headers = [("authorization", &*header), ("if-match", &*part[0])];
    let commits = "/api/v1/trees/t/commits";
    guarded.served.send("POST", commits, &headers, Some(PUT_A)).expect(200);
    assert_eq!(guarded.served.send("POST", commits, &headers, Some(PUT_A)).status, 412);
}

#[test]
fn token_and_session_that_were_revoked_are_nobodys() {
    let mut guarded = server("matrix-revoked", |access, _| user_as("admin", access));
    let (token, session) = (says(&guarded, "admin").unwrap(), says(&guarded, "user").unwrap());
    let said = [(&token, "ended"), (&session, "stranger")];
    let said = said.map(|((name, value), column)| ((*name, value.as_str()), column));
    let mut streams = said
        .map(|((name, value), _)| guarded.served.watch("t/watch", &format!("{name}: {value}\r\n")));
    for who in ["admin", "user"] {
        guarded.access.revoke(who, None).unwrap();
    }
    guarded.access.write(&guarded.file).unwrap();
    for events in &mut streams {
        assert_eq!(events.next(), None);
    }
    let before = guarded.served.server.jungle().revision();
    for row in MATRIX {
        for (says, column) in said {
            let found = ask(&guarded, Some(says), row);
            assert_eq!(found, expected(row, column), "{column} {row:?}");
        }
    }
    assert_eq!(guarded.served.server.jungle().revision(), before);
}

/// All files in a folder and those below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.flat_map(below).collect()
}

/// The methods and addresses of the routes in a source without white space.
fn routes(text: &str) -> Vec<(String, String)> {
    let mut routes = Vec::new();
    for call in text.split(".route(").skip(1) {
        let route = call.strip_prefix('"').and_then(|call| call.split_once('"'));
        let (path, rest) = route.unwrap_or_else(|| panic!("what does it route? {call:.80}"));
        let mut open = 1;
        let end = rest.find(|it: char| {
            open += match it {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            open == 0
        });
        let (methods, count) = (&rest[..end.unwrap()], routes.len());
        for method in ["get", "post", "put", "patch", "delete"] {
            if methods.contains(&format!("{method}(")) {
                routes.push((method.to_uppercase(), path.to_owned()));
            }
        }
        assert!(routes.len() > count && !methods.contains("any("), "by what methods? {path}");
    }
    routes
}

#[test]
fn every_route_has_a_row() {
    let rows: BTreeSet<(String, String)> =
        MATRIX.iter().map(|row| (row.0.to_owned(), row.1.to_owned())).collect();
    let mut all: BTreeSet<(String, String)> = operations();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // Its routes are those of the document: another test sees to that.
    let of_document = sources.join("api").join("mod.rs");
    for file in files(&sources).iter().filter(|file| **file != of_document) {
        let Ok(text) = fs::read_to_string(file) else { continue };
        let text: String = text.split_whitespace().collect();
        for odd in [".nest(", ".nest_service(", ".route_service(", ".fallback_service("] {
            assert!(!text.contains(odd), "{odd} in {}", file.display());
        }
        all.extend(routes(&text));
    }
    assert!(all.len() > 40, "{all:?}");
    assert_eq!(rows, all);
}
