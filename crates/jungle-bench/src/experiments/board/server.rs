//! Servers in processes of their own, and how they are asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use crate::Failure;
use crate::experiments::processor_us;
use crate::lab::engine;
use crate::systems::System;

/// No answer takes so long, unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server, killed when this is dropped.
pub struct Serving {
    child: Child,
    /// Where it is: `127.0.0.1:1234`.
    pub address: String,
}

impl Serving {
    /// `jungle serve`, which lies beside this program.
    ///
    /// # Errors
    /// When it is not there, or does not say where it listens.
    pub fn jungle(options: &[&str]) -> Result<Serving, Failure> {
        Serving::jungle_at("127.0.0.1:0", options)
    }

    /// The same at this address, where another one has been.
    ///
    /// # Errors
    /// As [`jungle`](Serving::jungle).
    pub fn jungle_at(address: &str, options: &[&str]) -> Result<Serving, Failure> {
        let mut command = jungle()?;
        command.args(["serve", "--json", "--bench", "--listen", address, "--log", "error"]);
        command.args(options);
        Serving::start(command, |line| {
            serde_json::from_str::<Json>(line).ok()?["url"].as_str().map(str::to_owned)
        })
    }

    /// `jungle cluster up` with these options, whose folders are in this one; and what it tells
    /// of its servers.
    ///
    /// # Errors
    /// As [`jungle`](Serving::jungle).
    pub fn cluster_up(folder: &Path, options: &[&str]) -> Result<(Serving, Json), Failure> {
        let mut command = jungle()?;
        command.args(["cluster", "up", "--json"]).args(options);
        command.env("NATS_SERVER", engine()).env("TMPDIR", folder);
        let serving = Serving::start(command, |line| Some(line.to_owned()))?;
        let told = serde_json::from_str(&serving.address)?;
        Ok((serving, told))
    }

    /// The board in Haskell on Warp.
    ///
    /// # Errors
    /// When it does not say where it listens.
    pub fn warp() -> Result<Serving, Failure> {
        let command = Command::new(System::Warp.file());
        Serving::start(command, |line| Some(line.to_owned()))
    }

    /// The board in Cassandra: a web front at this node, which has everything kept so many times.
    ///
    /// # Errors
    /// When it does not come to say where it listens.
    pub fn cassandra(node: &str, replicas: usize) -> Result<Serving, Failure> {
        let mut command = Command::new(System::Cassandra.file());
        command.args([node, &replicas.to_string()]);
        Serving::start(command, |line| Some(line.to_owned()))
    }

    /// The board of an application that is kept in this folder, with what SQLite calls its
    /// `synchronous`.
    ///
    /// # Errors
    /// When it does not come to say where it listens.
    pub fn app(system: System, folder: &Path, synchronous: &str) -> Result<Serving, Failure> {
        let mut command = Command::new(system.file());
        command.arg(folder).arg(synchronous);
        Serving::start(command, |line| Some(line.to_owned()))
    }

    fn start(mut command: Command, url: fn(&str) -> Option<String>) -> Result<Serving, Failure> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        // From here on it ends with this, whatever it says.
        let mut serving = Serving { child, address: String::new() };
        let mut line = String::new();
        let told = serving.child.stdout.take().ok_or("it was asked for")?;
        if BufReader::new(told).read_line(&mut line)? == 0 {
            return Err("a server has ended and not said where it is".into());
        }
        let url = url(line.trim()).ok_or_else(|| format!("a server says {line:?}"))?;
        url.trim_start_matches("http://").clone_into(&mut serving.address);
        Ok(serving)
    }

    /// Sends a request on a connection of its own; gives the body of the answer.
    ///
    /// # Errors
    /// When it is not answered with success.
    pub fn ask(&self, head: &str, body: &str) -> Result<String, Failure> {
        Ok(String::from_utf8(self.ask_bytes(head, body)?)?)
    }

    /// As [`ask`](Serving::ask), where the answer is no text.
    ///
    /// # Errors
    /// As there.
    pub fn ask_bytes(&self, head: &str, body: &str) -> Result<Vec<u8>, Failure> {
        let mut stream = connect(&self.address)?;
        let (address, length) = (&self.address, body.len());
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        match end {
            Some(end) if answer.starts_with(b"HTTP/1.1 2") => Ok(answer.split_off(end + 4)),
            _ => Err(format!("{head}: {}", String::from_utf8_lossy(&answer)).into()),
        }
    }

    /// The number under this name in what a `GET` is answered.
    ///
    /// # Errors
    /// As [`ask`](Serving::ask), or when it is not there.
    pub fn number(&self, path: &str, name: &str) -> Result<u64, Failure> {
        let answer: Json = serde_json::from_str(&self.ask(&format!("GET {path}"), "")?)?;
        answer[name].as_u64().ok_or_else(|| format!("{path}: {answer}").into())
    }

    /// Seconds of processor time that it has used, also in threads that have ended.
    ///
    /// # Errors
    /// When the system does not say so.
    pub fn cpu(&self) -> Result<f64, Failure> {
        Ok(1e-6 * processor_us(&[self.child.id()])?)
    }

    /// Ends it with no time for anything.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub fn kill(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// When it does not end well.
    pub fn stop(mut self) -> Result<(), Failure> {
        Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("a server ended: {status}").into()) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It holds nothing that is needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that lies beside this one.
fn jungle() -> Result<Command, Failure> {
    let program = std::env::current_exe()?.with_file_name("jungle");
    if !program.is_file() {
        let hint = "build it with `cargo build --release -p jungle-cli`";
        return Err(format!("{} is not there: {hint}", program.display()).into());
    }
    let mut command = Command::new(program);
    // Whoever measures may have set something for their own servers.
    let ours = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("JUNGLE_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    Ok(command)
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Somebody who asks one thing after the other on one connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    /// # Errors
    /// When the server cannot be reached.
    pub fn new(serving: &Serving) -> std::io::Result<Client> {
        Client::at(&serving.address)
    }

    /// Of whoever serves there.
    ///
    /// # Errors
    /// As [`new`](Client::new).
    pub fn at(address: &str) -> std::io::Result<Client> {
        let stream = BufReader::new(connect(address)?);
        Ok(Client { stream, address: address.to_owned() })
    }

    /// Sends a request; gives the body of the answer, whose length must be said.
    ///
    /// # Errors
    /// When it is not answered with success, or with a place to go to.
    pub fn ask(&mut self, head: &str, media: &str, body: &str) -> Result<Vec<u8>, Failure> {
        self.send(&format!("{head} HTTP/1.1\r\nContent-Type: {media}"), body)?;
        self.answer().map_err(|error| format!("{head}: {error}").into())
    }

    /// Sends a request, `head` with the lines that it is to have besides those of all, without
    /// waiting for its [answer](Client::answer).
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn send(&mut self, head: &str, body: &str) -> std::io::Result<()> {
        let (address, length) = (&self.address, body.len());
        let request =
            format!("{head}\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes())
    }

    /// The body of the answer to what was sent.
    ///
    /// # Errors
    /// As [`ask`](Client::ask).
    pub fn answer(&mut self) -> Result<Vec<u8>, Failure> {
        let status = self.line()?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        match status.split(' ').nth(1) {
            Some(code) if code.starts_with('2') || code == "303" => Ok(body),
            _ => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err("the server has closed the connection".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}
