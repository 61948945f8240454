//! Requests that are answered before their body was read: the client sees the answer, however much
//! it sends beside it, and that the connection ends.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use jungle_server::Access;

use crate::support::{Folder, Served};

/// More than a connection holds on its way, so that the client still sends when it is answered.
const BODY_BYTES: usize = 8 << 20;

/// How often each is tried: what is lost is lost by chance.
const TIMES: usize = 20;

/// The head of a request with that much behind it.
fn head(request: &str, more: &str) -> String {
    format!("{request} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {BODY_BYTES}\r\n\r\n")
}

/// What comes back until the connection ends, which must not break.
#[track_caller]
fn rest(mut stream: TcpStream, what: &str) -> String {
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    read.unwrap_or_else(|error| panic!("{what}: {error} after {answer:?}"));
    answer
}

/// Sends everything, and only then looks at the answer, as simple clients do.
#[track_caller]
fn check(served: &Served, head: &str, status: u16) {
    let body = vec![b'x'; BODY_BYTES];
    for _ in 0..TIMES {
        let mut stream = served.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap_or_else(|error| panic!("{head}: {error}"));
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = rest(stream, head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{head}: {answer}");
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn answer_is_seen_by_who_still_sends() {
    let served = Served::memory().tree("t");
    for (request, more, status) in [
        ("POST /nothing", JSON, 404),
        ("DELETE /api/v1/trees", JSON, 405),
        ("POST /api/v1/trees", JSON, 413),
        ("POST /api/v1/trees", "Content-Type: text/plain\r\n", 415),
        ("POST /api/v1/trees", "Origin: http://evil.example\r\n", 403),
        ("POST /boards", JSON, 415),
        ("PUT /api/v1/trees/t/document", JSON, 400),
        ("PUT /api/v1/trees/nothing/document", JSON, 404),
        ("GET /health", "", 200),
    ] {
        check(&served, &head(request, more), status);
    }
}

#[test]
fn stranger_who_still_sends_sees_that_it_is_refused() {
    let folder = Folder::new("stranger_who_still_sends");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("access.toml");
    Access::default().write(&file).unwrap();
    let served = Served::with(|options| options.access = Some(file));
    check(&served, &head("POST /api/v1/trees", JSON), 401);
}

#[test]
fn head_that_is_too_long_is_answered_to_who_still_sends_it() {
    let served = Served::memory();
    let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(BODY_BYTES));
    for _ in 0..TIMES {
        let mut stream = served.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = rest(stream, "a long head");
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[test]
fn connection_whose_body_comes_after_the_answer_is_not_used_again() {
    let served = Served::memory();
    for more in ["Content-Length: 2\r\n", "Content-Length: 2\r\nExpect: 100-continue\r\n"] {
        let mut stream = served.connect();
        let head = format!("POST /nothing HTTP/1.1\r\nHost: localhost\r\n{more}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let answer = rest(stream, &head);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    }
}

#[test]
fn connection_whose_body_was_read_goes_on() {
    let served = Served::memory();
    let mut stream = served.connect();
    let refused = |more: &str| {
        format!(
            "POST /api/v1/trees HTTP/1.1\r\nHost: localhost\r\n{JSON}{more}\
             Content-Length: 1\r\n\r\n{{"
        )
    };
    stream.write_all(refused("").repeat(2).as_bytes()).unwrap();
    stream.write_all(refused("Connection: close\r\n").as_bytes()).unwrap();
    let answers = rest(stream, "refused");
    assert_eq!(answers.matches("HTTP/1.1 400 ").count(), 3, "{answers}");
    assert_eq!(answers.matches("connection: close").count(), 1, "{answers}");
}
