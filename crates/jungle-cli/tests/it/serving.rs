//! A server in a process of its own, and how it is asked.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use super::Folder;
use super::tryout::signal;

/// No answer takes so long, unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a process of its own, killed when the test ends.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) told: Json,
}

impl Serving {
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Serving {
        let usual = ["serve", "--json", "--listen", "127.0.0.1:0"];
        Serving::start_by(folder.command(&[&usual, args].concat()))
    }

    /// By a command that serves and tells it as JSON.
    pub(crate) fn start_by(command: Command) -> Serving {
        Serving::noting(command, Stdio::null())
    }

    /// The same, with what it notes.
    pub(crate) fn noting(mut command: Command, notes: Stdio) -> Serving {
        command.stdout(Stdio::piped()).stderr(notes);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Serving { child, told: serde_json::from_str(&line).unwrap() }
    }

    pub(crate) fn url(&self) -> &str {
        self.told["url"].as_str().unwrap()
    }

    pub(crate) fn address(&self) -> &str {
        self.url().trim_start_matches("http://")
    }

    /// Sends a request; gives the answer with its head.
    pub(crate) fn send(&self, head: &str, body: &str) -> String {
        self.send_with(head, "", body)
    }

    pub(crate) fn send_with(&self, head: &str, headers: &str, body: &str) -> String {
        send(self.address(), head, headers, body)
    }

    /// Commits these edits, a list in JSON, to the tree `t`.
    #[track_caller]
    pub(crate) fn edit(&self, edits: impl Display) {
        let body = format!(r#"{{"edits":{edits}}}"#);
        let answer = self.send("POST /api/v1/trees/t/commits", &body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }

    pub(crate) fn append(&self) -> bool {
        let answer = self.send("POST /api/v1/trees/t/commits", r#"{"edits":[{"op":"append"}]}"#);
        answer.starts_with("HTTP/1.1 200 ")
    }

    /// Appends once, however often that is sent with this key; gives the revision, if answered.
    pub(crate) fn append_once(&self, key: &str) -> Option<u64> {
        let (post, key) = ("POST /api/v1/trees/t/commits", format!("Idempotency-Key: {key}\r\n"));
        let answer = self.send_with(post, &key, r#"{"edits":[{"op":"append"}]}"#);
        answer.starts_with("HTTP/1.1 200 ").then(|| json(&answer)["revision"].as_u64().unwrap())
    }

    /// How many children the tree has.
    pub(crate) fn count(&self) -> u64 {
        self.get("/api/v1/trees/t/node")["child_count"].as_u64().unwrap()
    }

    /// The same, with everything that was acknowledged by any server of the cluster.
    pub(crate) fn count_all(&self) -> u64 {
        let all = "Jungle-Consistency: linearizable\r\n";
        let answer = self.send_with("GET /api/v1/trees/t/node", all, "");
        json(&answer)["child_count"].as_u64().unwrap()
    }

    /// What an address says, which is JSON.
    pub(crate) fn get(&self, path: &str) -> Json {
        json(&self.send(&format!("GET {path}"), ""))
    }

    /// Bytes of its memory, as a line of what the system tells of it says.
    pub(crate) fn memory(&self, line: &str) -> u64 {
        let told = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let said = told.lines().find_map(|told| told.strip_prefix(line)).unwrap();
        said.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Ends it in order.
    pub(crate) fn end(mut self) {
        signal("-TERM", self.child.id());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Ends it as a loss of power would, but that the system stays.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Sends a request to an address; gives the answer with its head.
pub(crate) fn send(address: &str, head: &str, headers: &str, body: &str) -> String {
    // Of a server that is killed there may be no answer, and nobody to ask.
    let Ok(mut stream) = TcpStream::connect(address) else {
        return String::new();
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         {headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut answer = String::new();
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    answer
}

/// The JSON in an answer.
pub(crate) fn json(answer: &str) -> Json {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is kept, on which one thing after the other is asked.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    address: String,
    /// What each request says besides.
    headers: String,
}

impl Client {
    /// Nothing if nobody listens any more.
    pub(crate) fn new(address: &str) -> Option<Client> {
        Client::within(address, PATIENCE)
    }

    /// That gives up when anything takes so long.
    pub(crate) fn within(address: &str, limit: Duration) -> Option<Client> {
        let stream = TcpStream::connect_timeout(&address.parse().ok()?, limit).ok()?;
        stream.set_read_timeout(Some(limit)).ok()?;
        stream.set_nodelay(true).ok()?;
        let (stream, address) = (BufReader::new(stream), address.to_owned());
        Some(Client { stream, address, headers: String::new() })
    }

    /// That says this, too, in each request.
    #[cfg(target_os = "linux")]
    pub(crate) fn saying(self, headers: &str) -> Client {
        Client { headers: headers.to_owned(), ..self }
    }

    /// Sends a request; gives the status of the answer, of which the length must be said. Nothing
    /// if the server has gone.
    pub(crate) fn ask(&mut self, head: &str, media: &str, body: &str) -> Option<u16> {
        self.answer(head, media, body).map(|(status, _)| status)
    }

    /// The same, with the answer's body.
    pub(crate) fn answer(&mut self, head: &str, media: &str, body: &str) -> Option<(u16, String)> {
        self.send(head, media, body)?;
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((status, String::from_utf8(body).ok()?))
    }

    /// Sends a request without looking at its answer.
    pub(crate) fn begin(&mut self, head: &str) {
        self.send(head, "text/plain", "").unwrap();
    }

    fn send(&mut self, head: &str, media: &str, body: &str) -> Option<()> {
        let (address, headers, length) = (&self.address, &self.headers, body.len());
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Type: {media}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).ok()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}
