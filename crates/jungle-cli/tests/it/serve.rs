use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::Folder;

/// A server in a process of its own, killed when the test ends.
struct Serving {
    child: Child,
    told: Json,
}

impl Serving {
    fn start(folder: &Folder, args: &[&str]) -> Serving {
        let usual = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut command = folder.command(&[&usual, args].concat());
        command.env_remove("JUNGLE_DATA").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Serving { child, told: serde_json::from_str(&line).unwrap() }
    }

    /// Sends a request; gives the answer with its head.
    fn send(&self, head: &str, body: &str) -> String {
        let address = self.told["url"].as_str().unwrap().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // Of a server that is killed there may be none.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn append(&self) -> bool {
        let answer = self.send("POST /api/v1/trees/t/commits", r#"{"edits":[{"op":"append"}]}"#);
        answer.starts_with("HTTP/1.1 200 ")
    }

    /// How many children the tree has.
    fn count(&self) -> u64 {
        let answer = self.send("GET /api/v1/trees/t/node", "");
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str::<Json>(body).unwrap()["child_count"].as_u64().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn end_in_order_loses_nothing() {
    let folder = Folder::new("serve-end");
    let mut serving = Serving::start(&folder, &["--data", "data", "--durability", "memory"]);
    assert_eq!(serving.told["data"], "data");
    assert!(serving.send("POST /api/v1/trees", r#"{"name":"t"}"#).starts_with("HTTP/1.1 201 "));
    assert!((0..10).all(|_| serving.append()));
    let id = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    assert_eq!(Serving::start(&folder, &["--data", "data"]).count(), 10);
    folder.run(&["verify", "data"]).check_code(0);
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let folder = Folder::new("serve-kill");
    let mut serving = Serving::start(&folder, &["--data", "data"]);
    serving.send("POST /api/v1/trees", r#"{"name":"t"}"#);
    let acknowledged = std::thread::scope(|scope| {
        let post = || (0..).take_while(|_| serving.append()).count() as u64;
        let posting: Vec<_> = (0..4).map(|_| scope.spawn(post)).collect();
        while serving.count() < 40 {}
        let id = serving.child.id().to_string();
        assert!(Command::new("kill").args(["-KILL", &id]).status().unwrap().success());
        posting.into_iter().map(|posting| posting.join().unwrap()).sum::<u64>()
    });
    serving.child.wait().unwrap();
    let count = Serving::start(&folder, &["--data", "data"]).count();
    // One of each that posts may have been done without the answer getting through.
    assert!((acknowledged..=acknowledged + 4).contains(&count), "{count} of {acknowledged}");
}

#[test]
fn address_that_others_reach_is_refused_with_a_hint() {
    let folder = Folder::new("serve-expose");
    let ended = folder.run(&["serve", "--memory", "--listen", "0.0.0.0:0"]);
    assert_eq!((ended.code, &*ended.out), (Some(1), ""));
    assert!(ended.err.contains("can be reached from other machines"), "{}", ended.err);
    assert!(ended.err.contains("Hint: say who may do what"), "{}", ended.err);
    for usage in [&["--data", "x"], &["--tls-cert", "x"], &["--tls-key", "x"]] {
        let usage = folder.run(&[["serve", "--memory"].as_slice(), usage].concat());
        assert_eq!(usage.code, Some(2));
    }
}
