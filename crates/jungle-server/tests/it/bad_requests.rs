//! Requests that are not as they must be: each is refused with a problem, and none is the server's
//! failure.

use std::io::{Read, Write};
use std::time::Duration;

use crate::support::{PATIENCE, Served, limits, no_long_reads};

/// The status that a request of these bytes is answered with.
#[track_caller]
fn status(served: &Served, request: &str) -> Option<u16> {
    let answer = served.raw(request.as_bytes());
    let status = answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok();
    assert!(status < Some(500), "{request:.100}: {answer}");
    status
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn odd_addresses_are_refused() {
    let served = Served::memory().tree("t");
    for (path, expected) in [
        ("/nothing", 404),
        ("/api/v1", 404),
        ("/api/v1/trees/", 404),
        ("/api/v1/trees/t/", 404),
        ("/api/v1/trees//node", 404),
        ("/api/v1/trees/t/node/x", 404),
        ("/api/v1/trees/../t/node", 404),
        ("/api/v1/trees/t/../../../etc/passwd", 404),
        ("/api/v1/trees/%2e%2e/node", 404),
        ("/api/v1/trees/..%2f..%2fetc/node", 404),
        ("/api/v1/trees/t%00/node", 404),
        ("/api/v1/trees/%FF/node", 400),
        ("/api/v1/trees/%/node", 404),
        ("/api/v1/trees/%zz/node", 404),
        ("/API/V1/TREES", 404),
        ("//api/v1/trees", 404),
        ("/api/v1/trees/t/node?path=a", 400),
        ("/api/v1/trees/t/node?path=", 400),
        ("/api/v1/trees/t/node?path=//", 400),
        ("/api/v1/trees/t/node?path=/a/", 400),
        ("/api/v1/trees/t/node?path=/%22", 400),
        ("/api/v1/trees/t/node?path=/%FF", 400),
        ("/api/v1/trees/t/node?path=/a%20b", 404),
        ("/api/v1/trees/t/node?path=/a%20", 400),
        ("/api/v1/trees/t/node?path=/99999999999999999999", 400),
        ("/api/v1/trees/t/node?path=/-1", 404),
        ("/api/v1/trees/t/node?path=/%22%00%22", 400),
        ("/api/v1/trees/t/node?path=/&path=/", 400),
        ("/api/v1/trees/t/node?Path=/", 400),
        ("/api/v1/trees/t/node?=", 400),
        ("/api/v1/trees/t/node?at=-1", 404),
        ("/api/v1/trees/t/node?at=99999999999999999999999", 404),
        ("/api/v1/trees/t/node?at=main~99999999999999999999999", 404),
        ("/api/v1/trees/t/children?limit=0", 400),
        ("/api/v1/trees/t/children?limit=1001", 400),
        ("/api/v1/trees/t/children?limit=-1", 400),
        ("/api/v1/trees/t/children?limit=1e3", 400),
        ("/api/v1/trees/t/children?limit=999999999999999999999", 400),
        ("/api/v1/trees/t/children?offset=-1", 400),
        ("/api/v1/trees/t/children?offset=100000001", 400),
        ("/api/v1/trees/t/children?order=up", 400),
        ("/api/v1/trees/t/children?from=1&after=1", 400),
        ("/api/v1/trees/t/children?after=a%20", 400),
        ("/api/v1/trees/t/value", 400),
        ("/api/v1/trees/t/value?attribute=x", 404),
        ("/api/v1/trees/t/search?where=((((", 400),
        ("/api/v1/trees/t/search?where=a%20~", 400),
        ("/api/v1/trees/t/diff?from=x", 404),
        ("/api/v1/trees/t/diff?after=x", 400),
        ("/api/v1/trees/t/revisions?after=x", 400),
        ("/api/v1/trees/t/revisions/x", 404),
        ("/api/v1/trees/t/reverts", 400),
        ("/api/v1/trees/t/reverts?revision=99", 404),
        ("/api/v1/trees/t/merges", 400),
        ("/api/v1/trees/t/merges?from=main", 400),
        ("/api/v1/trees/t/watch?after=x", 400),
        ("/api/v1/trees/t/document?layout=odd", 400),
        ("/boards/nothing", 404),
        ("/boards/t", 404),
    ] {
        assert_eq!(status(&served, &get(path)), Some(expected), "{path}");
    }
}

#[test]
fn addresses_that_are_too_long_or_too_deep_are_refused() {
    let served = Served::memory().tree("t");
    let long = format!("/api/v1/trees/t/node?path=/{}", "a".repeat(8192));
    assert_eq!(status(&served, &get(&long)), Some(400));
    let deep = format!("/api/v1/trees/t/node?path={}", "/a".repeat(513));
    assert_eq!(status(&served, &get(&deep)), Some(400));
    let nested = format!("/api/v1/trees/t/search?where={}", "(".repeat(4000));
    assert_eq!(status(&served, &get(&nested)), Some(400));
}

#[test]
fn odd_heads_are_refused() {
    let served = Served::memory().tree("t");
    let huge = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(1000));
    let long = get(&format!("/{}", "x".repeat(100_000)));
    for (request, expected) in [
        ("nonsense\r\n\r\n", Some(400)),
        ("GET\r\n\r\n", Some(400)),
        ("GET / HTTP/9.9\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\nConnection: close\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", Some(421)),
        ("GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", Some(421)),
        ("GET http://evil/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n", Some(400)),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n", Some(400)),
        ("GET /\u{1} HTTP/1.1\r\nHost: localhost\r\n\r\n", Some(400)),
        (&huge, Some(431)),
        (&many, Some(431)),
        (&long, Some(431)),
    ] {
        assert_eq!(status(&served, request), expected, "{request:.60}");
    }
    for method in ["BREW", "TRACE", "CONNECT", "OPTIONS", "PUT"] {
        let request = format!(
            "{method} /api/v1/trees HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        assert!(matches!(status(&served, &request), Some(400 | 405)), "{method}");
    }
}

#[test]
fn odd_bodies_are_refused() {
    let served = Served::memory().tree("t");
    let commits = "/api/v1/trees/t/commits";
    let deep = format!("{{\"edits\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for (path, body) in [
        ("/api/v1/trees", ""),
        ("/api/v1/trees", "{"),
        ("/api/v1/trees", "[]"),
        ("/api/v1/trees", "null"),
        ("/api/v1/trees", "{}"),
        ("/api/v1/trees", r#"{"name":1}"#),
        ("/api/v1/trees", r#"{"name":"a","name":"b"}"#),
        ("/api/v1/trees", r#"{"name":"a","more":1}"#),
        ("/api/v1/trees", "{\"name\":\"\\ud800\"}"),
        (commits, "{\"edits\":{}}"),
        (commits, "{\"edits\":[{}]}"),
        (commits, "{\"edits\":[{\"op\":\"append\",\"op\":\"append\"}]}"),
        (commits, "{\"edits\":[{\"op\":\"append\",\"under\":-1}]}"),
        (commits, "{\"edits\":[{\"op\":\"append\"}],\"durability\":\"none\"}"),
        (commits, "{\"edits\":[{\"op\":\"put\",\"attribute\":\"a\",\"value\":1e999}]}"),
        (commits, &deep),
        ("/api/v1/trees/t/branches", "{\"name\":\"..\"}"),
        ("/api/v1/trees/t/tags", "{\"name\":\"\",\"at\":\"1\"}"),
        ("/api/v1/trees/t/reverts", "{\"revision\":-1}"),
        ("/api/v1/trees/t/merges", "{\"from\":[]}"),
    ] {
        assert_eq!(status(&served, &post(path, JSON, body)), Some(400), "{path} {body:.60}");
    }
    let body = r#"{"name":"a"}"#;
    for headers in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/jsonp\r\n",
    ] {
        assert_eq!(status(&served, &post("/api/v1/trees", headers, body)), Some(415), "{headers}");
    }
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(status(&served, &post("/api/v1/trees", JSON, &large)), Some(413));
    let chunked = format!(
        "POST /api/v1/trees HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}\
         Transfer-Encoding: chunked\r\n\r\nzz\r\n{body}\r\n0\r\n\r\n"
    );
    assert_eq!(status(&served, &chunked), Some(400));
    assert_eq!(served.get("/api/v1/trees").json()["trees"].as_array().unwrap().len(), 1);
}

#[test]
fn compressed_bodies_are_refused_wherever_they_are_sent() {
    let served = Served::memory().tree("t");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let json = ("content-type", "application/json");
    for (method, path, media, body) in [
        ("POST", "/api/v1/trees", json, r#"{"name":"a"}"#),
        ("PATCH", "/api/v1/trees/t", json, r#"{"name":"a"}"#),
        ("POST", "/api/v1/trees/t/commits", json, r#"{"edits":[{"op":"append"}]}"#),
        ("PUT", "/api/v1/trees/t/document", json, "[1]"),
        ("PUT", "/api/v1/trees/t/keep", json, r#"{"keep":"all"}"#),
        ("POST", "/boards", form, "name=a"),
        ("POST", "/nothing", json, "{}"),
    ] {
        for coding in ["gzip", "GZIP", "br", "zstd", "x", "", "gzip, identity", "identity, gzip"] {
            let headers = [media, ("content-encoding", coding)];
            let answer = served.send(method, path, &headers, Some(body));
            assert_eq!(answer.status, 415, "{method} {path} {coding}: {}", answer.text);
            match path {
                // People are told on a page.
                "/boards" => assert!(answer.header("content-type").starts_with("text/html")),
                _ => assert_eq!(answer.problem(), "unsupported-media"),
            }
            assert_eq!(answer.header("accept-encoding"), "identity");
        }
    }
    assert_eq!(served.get("/api/v1/trees").json()["trees"].as_array().unwrap().len(), 1);
    assert_eq!(served.get("/api/v1/trees/t").json()["nodes"], 1);
    let headers = [json, ("content-encoding", "Identity")];
    served.send("POST", "/api/v1/trees", &headers, Some(r#"{"name":"a"}"#)).expect(201);
}

#[test]
fn two_lengths_are_refused() {
    let served = Served::memory();
    let body = r#"{"name":"a"}"#;
    for lengths in [
        "Content-Length: 12\r\nContent-Length: 5\r\n",
        "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: x\r\n",
        "Content-Length: -1\r\n",
        "Transfer-Encoding: gzip\r\n",
    ] {
        let request = format!(
            "POST /api/v1/trees HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}\
             {lengths}\r\n{body}"
        );
        assert!(matches!(status(&served, &request), Some(400)), "{lengths}");
    }
}

#[test]
fn forged_requests_are_refused() {
    let served = Served::memory();
    let body = r#"{"name":"a"}"#;
    for headers in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://localhost:1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost\r\n",
    ] {
        for path in ["/api/v1/trees", "/boards"] {
            let request = post(path, &format!("{JSON}{headers}"), body);
            assert_eq!(status(&served, &request), Some(403), "{path} {headers}");
        }
    }
    let own = format!("{JSON}Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(status(&served, &post("/api/v1/trees", &own, body)), Some(201));
}

#[test]
fn people_are_told_on_a_page_why_they_are_not_let_in() {
    let served = Served::with(|options| {
        options.proxies = vec!["127.0.0.1".parse().unwrap()];
        options.limits = limits(|limits| limits.requests_per_second_max = 1);
    });
    let ask = |begin: &str| {
        let more = "Content-Length: 0\r\nConnection: close\r\n\r\n";
        served.raw(format!("{begin}{more}").as_bytes()).to_ascii_lowercase()
    };
    let evil = "Host: localhost\r\nOrigin: http://evil.example\r\n";
    let other = "Host: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n";
    for path in ["/", "/boards", "/boards/b", "/login", "/explorer/", "/api/v1/trees"] {
        for (method, headers, status) in [
            ("GET", "Host: evil.example\r\n", "421"),
            ("POST", evil, "403"),
            // After four at once, and one each second.
            ("GET", other, "429"),
        ] {
            let request = format!("{method} {path} HTTP/1.1\r\n{headers}");
            let begin = format!("http/1.1 {status} ");
            let refused = (0..500).map(|_| ask(&request)).find(|it| it.starts_with(&begin));
            let refused = refused.unwrap_or_else(|| panic!("{request}"));
            let is_page = refused.contains("content-type: text/html") && refused.contains("<h1>");
            let is_problem = refused.contains("/docs#problem-");
            let expected = !path.starts_with("/api/");
            assert_eq!((is_page, is_problem), (expected, !expected), "{refused}");
            assert_eq!(refused.contains("retry-after: 1\r\n"), status == "429", "{refused}");
        }
    }
}

#[test]
fn every_answer_tells_browsers_to_be_careful() {
    let served = Served::memory();
    for path in ["/", "/boards", "/nothing", "/health", "/api/v1/trees"] {
        let answer = served.get(path);
        assert!(answer.header("content-security-policy").contains("default-src 'none'"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[test]
fn connection_that_says_nothing_is_closed() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.head_time = Duration::from_millis(500));
    });
    for begin in ["", "GET / HT", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut stream = served.connect();
        stream.write_all(begin.as_bytes()).unwrap();
        let mut answer = String::new();
        // It ends, or is reset: the wait for it is over either way.
        let _ = stream.read_to_string(&mut answer);
        assert_eq!(answer.starts_with("HTTP/1.1 200 "), begin.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[test]
fn body_that_does_not_come_is_given_up() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.piece_time = Duration::from_millis(50));
    });
    let request = format!(
        "POST /api/v1/trees HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{JSON}\
         Content-Length: 100\r\n\r\n{{"
    );
    assert_eq!(status(&served, &request), Some(408));
}

/// How a body is answered that comes in so many pieces, a hundredth of a second apart.
fn trickled(piece: &str, pieces: usize) -> String {
    let served = Served::with(|options| {
        options.limits = limits(|limits| {
            limits.piece_time = Duration::from_secs(1);
            limits.body_rate_min = 1000;
        });
    });
    let end = r#"{"name":"t"}"#;
    let bytes = piece.len() * pieces + end.len();
    let head = format!(
        "POST /api/v1/trees HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {bytes}\r\n\r\n"
    );
    let mut stream = served.connect();
    stream.write_all(head.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut answer = [0; 12];
    let mut left = std::iter::repeat_n(piece, pieces);
    while stream.read_exact(&mut answer).is_err() {
        match left.next() {
            Some(piece) => stream.write_all(piece.as_bytes()).unwrap(),
            None => {
                stream.write_all(end.as_bytes()).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
            }
        }
    }
    String::from_utf8(answer.to_vec()).unwrap()
}

#[test]
fn body_is_waited_for_as_long_as_it_comes_quickly_enough() {
    assert_eq!(trickled(&" ".repeat(200), 150), "HTTP/1.1 201");
    assert_eq!(trickled(" ", 1000), "HTTP/1.1 408");
}

#[test]
fn what_looks_at_much_is_refused_where_there_are_too_many_and_the_rest_goes_on() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| {
            no_long_reads(limits);
            limits.documents_max = 0;
            limits.watchers_max = 0;
        });
    })
    .tree("t");
    let tree = "/api/v1/trees/t";
    served.post(&format!("{tree}/commits"), r#"{"edits":[{"op":"append"}]}"#).expect(200);
    served.post(&format!("{tree}/branches"), r#"{"name":"b"}"#).expect(201);
    for much in [
        "search?where=a%3D1",
        "diff?from=1&to=2",
        "merges?from=b",
        "reverts?revision=2",
        "children?offset=50000000",
        "document",
        "watch",
    ] {
        let answer = served.get(&format!("{tree}/{much}"));
        assert_eq!(answer.problem(), "too-many", "{much}: {}", answer.text);
        assert_eq!(answer.status, 429);
    }
    let before = served.server.jungle().revision();
    for (much, body) in [
        ("merges", r#"{"from":"b"}"#),
        ("reverts", r#"{"revision":2}"#),
        ("reverts", r#"{"revision":1,"mode":"restore"}"#),
        ("reverts", r#"{"at":"1","mode":"restore"}"#),
    ] {
        // Whoever has no turn has begun nothing: the key is free for another one.
        let key = [("idempotency-key", "k")];
        let answer = served.send("POST", &format!("{tree}/{much}"), &key, Some(body));
        assert_eq!(answer.problem(), "too-many", "{much}: {}", answer.text);
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "5"));
    }
    assert_eq!(served.server.jungle().revision(), before);
    served.post(&format!("{tree}/commits"), r#"{"edits":[{"op":"append"}]}"#).expect(200);
    served.get(&format!("{tree}/node?path=/1")).expect(200);
}

#[test]
fn connection_beyond_the_limit_is_refused_and_others_go_on() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| limits.connections_max = 3);
    });
    let mut held: Vec<_> = (0..3).map(|_| served.connect()).collect();
    // Each is taken once it is answered.
    for stream in &mut held {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut begun = [0; 15];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200 OK");
    }
    let refused = served.raw(b"");
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let problem = refused.split_once("\r\n\r\n").unwrap().1;
    let problem: serde_json::Value = serde_json::from_str(problem).unwrap();
    let told = (&problem["type"], &problem["status"]);
    assert_eq!(told, (&"/docs#problem-full".into(), &503.into()));
    held[0]
        .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut rest = String::new();
    held[0].read_to_string(&mut rest).unwrap();
    assert!(rest.contains("HTTP/1.1 200 OK"), "{rest}");
}
