//! A server for a test, and a client that holds each answer against the contract.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use jungle::{Jungle, Memory, Open};
use jungle_server::{Data, Limits, Options, Server};
use serde_json::Value as Json;
use ureq::Agent;
use ureq::http::{HeaderMap, Method, Request, StatusCode};

use crate::contract::Contract;

/// No answer takes so long, unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and a client for it.
pub(crate) struct Served {
    pub(crate) server: Server,
    agent: Agent,
    contract: Contract,
}

/// What a request was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Served {
    /// Trees in memory.
    pub(crate) fn memory() -> Served {
        Served::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Served {
        let mut options = Options::default();
        change(&mut options);
        Served::start(Data::Memory(Jungle::memory().unwrap()), options)
    }

    /// Trees in a folder.
    pub(crate) fn folder(folder: &Folder) -> Served {
        Served::start(Data::Folder(Jungle::open(&folder.0).unwrap()), Options::default())
    }

    pub(crate) fn start(data: Data, options: Options) -> Served {
        let server = Server::start(data, options).unwrap();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .build();
        Served { server, agent: config.into(), contract: Contract::read() }
    }

    /// A tree of this name.
    pub(crate) fn tree(self, name: &str) -> Served {
        self.server.jungle().create_tree(name).unwrap();
        self
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &[], Some(body))
    }

    /// Sends a request; a body is JSON unless a header says otherwise.
    #[track_caller]
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let url = format!("http://{}{path}", self.address());
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = Request::builder().method(&method).uri(url);
        if body.is_some() && !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = match body {
            Some(body) => self.agent.run(request.body(body.to_owned()).unwrap()),
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut response = response.unwrap();
        let text = response.body_mut().read_to_vec().unwrap();
        let answer = Answer {
            status: response.status(),
            headers: response.headers().clone(),
            text: String::from_utf8_lossy(&text).into_owned(),
        };
        self.contract.check(method.as_str(), path, &answer);
        answer
    }

    /// Posts JSON, and gives the status and the body as it comes.
    pub(crate) fn stream(&self, path: &str, body: &str) -> (u16, impl Read + use<>) {
        let url = format!("http://{}{path}", self.address());
        let request = Request::builder().method(Method::POST).uri(url);
        let request = request.header("content-type", "application/json");
        let response = self.agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        (response.status().as_u16(), response.into_body().into_reader())
    }

    /// Sends bytes as they are, and gives what comes back until the connection ends.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Begins to watch: `rest` is the address behind the tree's name.
    pub(crate) fn watch(&self, rest: &str, headers: &str) -> Events {
        let mut stream = self.connect();
        let address = self.address();
        let head = format!("GET /api/v1/trees/{rest} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Events::new(stream)
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The JSON, if the status is this one.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Json {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Json::Null } else { self.json() }
    }

    /// The last word of a problem's type.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16(), "{body}");
        body["type"].as_str().unwrap().trim_start_matches("/docs#problem-").to_owned()
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
    }
}

/// Server-sent events, as they come.
pub(crate) struct Events(BufReader<TcpStream>);

/// An event.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    /// The revision that its id begins with.
    pub(crate) id: Option<u64>,
    /// All of the id, to go on after it.
    pub(crate) place: Option<String>,
    pub(crate) data: Json,
}

impl Events {
    fn new(stream: TcpStream) -> Events {
        let mut events = Events(BufReader::new(stream));
        let status = events.line().unwrap();
        assert!(status.contains(" 200 "), "{status}");
        while !events.line().unwrap().is_empty() {}
        events
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The next id, whether or not it is that of an event.
    pub(crate) fn next_id(&mut self) -> String {
        loop {
            if let Some(id) = self.line().unwrap().strip_prefix("id: ") {
                return id.to_owned();
            }
        }
    }

    /// Reads on until it ends, or shows that it goes on; tells whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        std::iter::from_fn(|| self.line()).all(|line| line != ":")
    }

    /// The next event; none when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let (mut name, mut place) = (String::new(), None);
        loop {
            let line = self.line()?;
            // Lines that are the lengths of chunks, comments and ends of events are passed over.
            if let Some(found) = line.strip_prefix("event: ") {
                found.clone_into(&mut name);
            } else if let Some(found) = line.strip_prefix("id: ") {
                place = Some(found.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                let number = place.as_deref().and_then(|id| id.split('-').next());
                let id = number.and_then(|number| number.parse().ok());
                return Some(Event { name, id, place, data: serde_json::from_str(data).unwrap() });
            }
        }
    }
}

/// A folder of its own for each test, gone when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// `name` must be unique among the tests.
    pub(crate) fn new(name: &str) -> Folder {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Nobody comes to the end of the line of what takes long.
pub(crate) fn no_long_reads(limits: &mut Limits) {
    limits.long_reads_max = 0;
    limits.line_time = Duration::ZERO;
}

/// Limits, changed.
pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}
