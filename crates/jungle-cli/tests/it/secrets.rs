//! What a server notes has no secret in it, however talkative it is, and whatever it is made of.
//! (hyper, axum and rustls say nothing as they are built; this would see it if they did.)

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value as Json;

use super::Folder;
use super::serving::Serving;

const PASSWORD: &str = "correct-horse-battery";

/// Secrets that are wrong, or where none belongs, may be somebody's all the same.
const OTHER_PASSWORD: &str = "wrong-horse-battery";
const OTHER_TOKEN: &str = "jungle_this-is-no-token-of-anybody";
const OTHER_SESSION: &str = "this-is-no-session-of-anybody";
const BASIC: &str = "YW5hOmNvcnJlY3QtaG9yc2UtYmF0dGVyeQ==";
const IN_FIELD: &str = "secret-in-a-hidden-field";
const IN_ADDRESS: &str = "secret-behind-the-question-mark";
const IN_JSON: &str = "secret-in-a-body-that-is-no-json";

/// Sends a request; gives the answer with its head.
#[track_caller]
fn ask(serving: &Serving, head: &str, header: &str, form: &str, status: u16) -> String {
    let answer = answer(serving, head, header, form);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
    answer
}

fn answer(serving: &Serving, head: &str, header: &str, form: &str) -> String {
    let mut stream = TcpStream::connect(serving.address()).unwrap();
    let (address, length) = (serving.address(), form.len());
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Logs in, and does something with each secret; gives the session's.
fn use_all(serving: &Serving, token: &str) -> String {
    let form = |password: &str| format!("name=ana&password={password}&next=/boards");
    let logged_in = ask(serving, "POST /login", "", &form(PASSWORD), 303);
    let session = logged_in.split("jungle_session=").nth(1).unwrap().split(';').next().unwrap();
    ask(serving, "POST /login", "", &form(OTHER_PASSWORD), 403);
    let cookie = format!("Cookie: jungle_session={session}\r\n");
    ask(serving, "GET /boards", &cookie, "", 200);
    ask(serving, "POST /boards", &cookie, "name=b", 303);
    ask(serving, "POST /boards/b", &cookie, "text=a+message", 303);
    ask(serving, "POST /boards/b", &cookie, &format!("text=a&csrf={IN_FIELD}"), 400);
    ask(serving, &format!("GET /boards?token={IN_ADDRESS}"), &cookie, "", 400);
    let stranger = format!("Cookie: jungle_session={OTHER_SESSION}\r\n");
    ask(serving, "GET /api/v1/trees", &stranger, "", 401);
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    ask(serving, "GET /api/v1/trees/b/node", &bearer(token), "", 200);
    ask(serving, "GET /api/v1/trees", &bearer(OTHER_TOKEN), "", 401);
    ask(serving, "GET /api/v1/trees", &format!("Authorization: Basic {BASIC}\r\n"), "", 401);
    ask(serving, "POST /api/v1/trees", &bearer(token), &format!("{{{IN_JSON}"), 415);
    ask(serving, "POST /logout", &cookie, "", 303);
    session.to_owned()
}

/// A server of which ana, and a token of ci's, are admins: that token, and where it notes things.
fn serve(folder: &Folder, noting: &[&str]) -> (Serving, String, PathBuf) {
    let add = ["access", "add-user", "data", "ana", "--password-stdin"];
    folder.run_with_input(&add, &format!("{PASSWORD}\n")).check_code(0);
    let token = folder.run(&["access", "add-token", "data", "ci"]);
    token.check_code(0);
    for who in ["ana", "ci"] {
        folder.run(&["access", "grant", "data", who, "*", "admin"]).check_code(0);
    }
    let place = folder.0.join("notes");
    let usual = ["serve", "--json", "--listen", "127.0.0.1:0", "--data", "data"];
    let mut command = folder.command(&usual);
    command.args(noting);
    let serving = Serving::noting(command, File::create(&place).unwrap().into());
    (serving, token.out.trim().to_owned(), place)
}

#[test]
fn no_secret_is_noted_at_any_level() {
    let folder = Folder::new("serve-secrets");
    let (serving, token, place) = serve(&folder, &["--log", "trace"]);
    let session = use_all(&serving, &token);
    serving.end();
    let notes = fs::read_to_string(&place).unwrap();
    for noted in ["DEBUG", "path=\"/login\"", "path=\"/api/v1/trees/b/node\""] {
        assert!(notes.contains(noted), "{noted} is not noted: {notes:.2000}");
    }
    let access = fs::read_to_string(folder.0.join("data/access.toml")).unwrap();
    let hashes = access.split('"').filter(|text| text.len() >= 32);
    let hashes: Vec<&str> = hashes.collect();
    assert!(hashes.len() >= 2, "{access}");
    let given = [PASSWORD, &token, &session, OTHER_PASSWORD, OTHER_TOKEN, OTHER_SESSION, BASIC];
    let hidden = [IN_FIELD, IN_ADDRESS, IN_JSON];
    for secret in given.iter().chain(&hidden).chain(&hashes) {
        let line = notes.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is noted");
    }
}

#[test]
fn who_was_refused_what_is_noted() {
    let folder = Folder::new("serve-audit");
    let reader = folder.run(&["access", "add-token", "data", "reader"]);
    folder.run(&["access", "grant", "data", "reader", "b", "read"]).check_code(0);
    folder.run(&["access", "grant", "data", "reader", "other", "write"]).check_code(0);
    let (serving, token, place) = serve(&folder, &["--log", "info"]);
    use_all(&serving, &token);
    folder.run(&["access", "add-token", "data", "later"]).check_code(0);
    let begun = Instant::now();
    let is_told = |line: &str| line.contains("INFO what is granted has changed ");
    let has_come = |line: &str| is_told(line) && line.contains("later");
    while !fs::read_to_string(&place).unwrap().lines().any(has_come) {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::yield_now();
    }
    let bearer = |token: &str| format!("Authorization: Bearer {}\r\n", token.trim());
    ask(&serving, "DELETE /api/v1/trees/b", &bearer(&reader.out), "", 403);
    ask(&serving, "DELETE /api/v1/folder/verify", &bearer(&reader.out), "", 403);
    // They may change another one, so it is read what is wanted.
    let several = r#"{"trees":[{"tree":"b","edits":[{"op":"append"}]}]}"#;
    let refused = serving.send_with("POST /api/v1/commits", &bearer(&reader.out), several);
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let verify = serving.send_with("POST /api/v1/folder/verify", &bearer(&token), "");
    assert!(verify.starts_with("HTTP/1.1 202 "), "{verify}");
    // Ten attempts may follow each other, and one more every twelve seconds.
    let wrong = format!("name=ana&password={OTHER_PASSWORD}");
    while !answer(&serving, "POST /login", "", &wrong).starts_with("HTTP/1.1 429 ") {
        assert!(begun.elapsed().as_secs() < 300);
    }
    let deleted = serving.send_with("DELETE /api/v1/trees/b", &bearer(&token), "");
    assert!(deleted.starts_with("HTTP/1.1 204 "), "{deleted}");
    serving.end();

    let notes = fs::read_to_string(&place).unwrap();
    for (who, method, path, status) in [
        ("nobody known", "POST", "/login", 403),
        ("nobody known", "POST", "/login", 429),
        ("nobody known", "GET", "/api/v1/trees", 401),
        ("reader", "DELETE", "/api/v1/trees/b", 403),
        ("reader", "DELETE", "/api/v1/folder/verify", 403),
        ("ci", "POST", "/api/v1/folder/verify", 202),
        ("ana", "POST", "/boards", 303),
        ("ana", "POST", "/logout", 303),
        ("ci", "DELETE", "/api/v1/trees/b", 204),
    ] {
        let level = if status < 400 { "INFO asked for" } else { "WARN refused" };
        let line = format!(
            "{level} who=\"{who}\" address=127.0.0.1 method={method} path=\"{path}\" \
             status={status}\n"
        );
        assert!(notes.contains(&line), "{line}{notes}");
    }
    let several = "method=POST path=\"/api/v1/commits\" tree=\"b\" status=403\n";
    assert!(notes.contains(several), "{notes}");
    assert!(notes.contains("INFO logged in user=\"ana\" address=127.0.0.1\n"), "{notes}");
    assert!(!notes.contains("path=\"/boards/"), "commits are in the history: {notes}");
}

#[test]
fn notes_are_lines_of_json_where_that_is_wanted() {
    let folder = Folder::new("serve-notes-json");
    let (serving, token, place) = serve(&folder, &["--log", "info", "--log-json"]);
    use_all(&serving, &token);
    serving.end();
    let notes = fs::read_to_string(&place).unwrap();
    let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let notes: Vec<Json> = notes.lines().map(line).collect();
    let is_it = |note: &&Json| note["path"] == "/api/v1/trees" && note["status"] == 401;
    let refused = notes.iter().find(is_it).unwrap_or_else(|| panic!("{notes:?}"));
    for (name, value) in [
        ("level", "WARN"),
        ("message", "refused"),
        ("who", "nobody known"),
        ("address", "127.0.0.1"),
        ("method", "GET"),
    ] {
        assert_eq!(refused[name], value, "{refused}");
    }
    assert!(notes.iter().all(|note| note["time"].as_str().unwrap().ends_with('Z')), "{notes:?}");
}
