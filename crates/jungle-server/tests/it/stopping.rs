use std::io::{Read, Write};

use serde_json::json;

use crate::support::{Folder, Served};

#[test]
fn acknowledged_commits_are_there_after_a_restart() {
    let folder = Folder::new("restart");
    let served = Served::folder(&folder).tree("t");
    for durability in ["memory", "buffered", "sync", "memory"] {
        let body = json!({"durability": durability, "edits": [{"op": "append"}]}).to_string();
        served.post("/api/v1/trees/t/commits", &body).expect(200);
    }
    served.server.stop().unwrap();
    let served = Served::folder(&folder);
    assert_eq!(served.get("/api/v1/trees/t/node").expect(200)["child_count"], 4);
    let revisions = served.get("/api/v1/trees/t/revisions").expect(200);
    assert_eq!(revisions["revisions"].as_array().unwrap().len(), 5);
}

#[test]
fn request_is_known_again_after_a_restart() {
    let folder = Folder::new("again");
    let served = Served::folder(&folder).tree("t").tree("u");
    let send = |served: &Served, tree: &str, headers: &[(&str, &str)], edits: &str| {
        let headers = [headers, &[("idempotency-key", "k")]].concat();
        let body = format!(r#"{{"edits":[{edits}]}}"#);
        served.send("POST", &format!("/api/v1/trees/{tree}/commits"), &headers, Some(&body))
    };
    // Neither could be done on top of itself.
    let (insert, matching) = (r#"{"op":"insert","path":"/a"}"#, [("if-match", "\"1\"")]);
    let first = send(&served, "t", &matching, insert).expect(200);
    assert_eq!(first["created"], json!(["/a"]));
    served.server.stop().unwrap();
    let served = Served::folder(&folder);
    let again = send(&served, "t", &matching, insert);
    assert_eq!(
        again.expect(200),
        json!({"revision": first["revision"], "changed": true, "renamed": [], "repeated": true})
    );
    assert_eq!(send(&served, "t", &matching, insert).text, again.text);
    // The same key is another's with another body, another expectation, or in another tree.
    served.server.stop().unwrap();
    let served = Served::folder(&folder);
    let other = r#"{"op":"insert","path":"/b"}"#;
    assert_eq!(send(&served, "t", &matching, other).problem(), "other-request");
    assert_eq!(send(&served, "t", &[], insert).problem(), "other-request");
    assert_eq!(send(&served, "u", &[], insert).expect(200)["created"], json!(["/a"]));
    assert_eq!(served.get("/api/v1/trees/t/node").expect(200)["child_count"], 1);
}

#[test]
fn request_that_is_under_way_is_done_when_the_server_stops() {
    let folder = Folder::new("under-way");
    let served = Served::folder(&folder).tree("t");
    let body = r#"{"edits":[{"op":"append"}]}"#;
    let mut stream = served.connect();
    let head = format!(
        "POST /api/v1/trees/t/commits HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    let stop = std::thread::spawn(|| served.server.stop().unwrap());
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.join().unwrap();
    let served = Served::folder(&folder);
    assert_eq!(served.get("/api/v1/trees/t/node").expect(200)["child_count"], 1);
}
