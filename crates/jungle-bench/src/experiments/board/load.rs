//! The load tool: so many requests over connections that are kept, as the one of the originals.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::super::folder::Folder;
use crate::Failure;

/// Threads of the tool.
const THREADS: usize = 2;

/// What is asked, again and again.
#[derive(Clone, Debug, Default)]
pub struct Asking<'a> {
    /// Each connection asks for one after the other. Where there are several, as many connections
    /// begin with each.
    pub urls: Vec<String>,
    /// A file of JSON that is posted.
    pub body: Option<&'a Path>,
    /// A line of the head.
    pub header: Option<&'a str>,
}

impl Asking<'_> {
    /// Asks for one address.
    pub fn of(url: String) -> Asking<'static> {
        Asking { urls: vec![url], ..Asking::default() }
    }

    /// Sends the requests, and gives how many a second were answered.
    ///
    /// # Errors
    /// When the tool is not there, or not every answer is one of success.
    pub fn run(&self, requests: u64, connections: usize) -> Result<f64, Failure> {
        let seconds = self.ask_all(requests, connections, |part, requests, connections, _| {
            part.ask(Command::new("h2load"), requests, connections)
        })?;
        Ok(requests as f64 / seconds.into_iter().fold(0.0, f64::max))
    }

    /// Sends the requests, and gives the milliseconds that each answer took. The tool notes each of
    /// them meanwhile, so fewer are answered a second.
    ///
    /// # Errors
    /// As [`Asking::run`].
    pub fn times(&self, requests: u64, connections: usize) -> Result<Vec<f64>, Failure> {
        let times = self.ask_all(requests, connections, |part, requests, connections, at| {
            let folder = Folder::new(&format!("load-{at}"))?;
            let notes = folder.0.join("times");
            let mut tool = Command::new("h2load");
            tool.arg(format!("--log-file={}", notes.display()));
            part.ask(tool, requests, connections)?;
            let times = fs::read_to_string(&notes)?.lines().map(took).collect::<Option<Vec<f64>>>();
            let times = times.ok_or("what h2load notes is not understood")?;
            match times.len() as u64 == requests {
                true => Ok(times),
                false => Err(format!("h2load notes {} of {requests} answers", times.len()).into()),
            }
        })?;
        Ok(times.concat())
    }

    /// A tool at once for each address that is begun with, each with its part of the connections:
    /// those of one tool all begin with the same address, at the same moment.
    fn ask_all<T: Send>(
        &self,
        requests: u64,
        connections: usize,
        ask: impl Fn(&Asking<'_>, u64, usize, usize) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let tools = self.urls.len();
        let part = |at: usize| {
            let mut part = self.clone();
            part.urls.rotate_left(at);
            let asked = ask(&part, requests / tools as u64, (connections / tools).max(1), at);
            asked.map_err(|error| error.to_string())
        };
        let all = thread::scope(|scope| {
            let part = &part;
            let asking: Vec<_> = (0..tools).map(|at| scope.spawn(move || part(at))).collect();
            let joined = asking.into_iter().map(|tool| tool.join());
            joined.map(|done| done.map_err(|_| "a client panicked")?).collect::<Result<_, String>>()
        });
        Ok(all?)
    }

    /// The seconds that the tool took.
    fn ask(&self, mut tool: Command, requests: u64, connections: usize) -> Result<f64, Failure> {
        if let Some(body) = self.body {
            tool.args(["-H", "content-type: application/json", "-d"]).arg(body);
        }
        if let Some(header) = self.header {
            tool.args(["-H", header]);
        }
        tool.args(["--h1", "-n", &requests.to_string(), "-c", &connections.to_string()]);
        let threads = if self.urls.len() == 1 { THREADS.min(connections) } else { 1 };
        tool.args(["-t", &threads.to_string()]).args(&self.urls);
        let output = tool.output().map_err(|error| {
            format!("h2load: {error}; Debian has it in nghttp2-client (`cargo xtask peers board`)")
        })?;
        let (said, url) = (String::from_utf8_lossy(&output.stdout), &self.urls[0]);
        let done = read(&said).ok_or_else(|| format!("h2load {url} says {said}"))?;
        if done.good != requests {
            let good = done.good;
            return Err(format!("{url}: {good} of {requests} answers are good: {said}").into());
        }
        Ok(done.seconds)
    }
}

/// What the tool says.
#[derive(Debug, PartialEq)]
struct Done {
    seconds: f64,
    /// Answers with success.
    good: u64,
}

fn read(said: &str) -> Option<Done> {
    let seconds = said.lines().find_map(|line| line.strip_prefix("finished in "))?;
    let seconds = time(seconds.split(',').next()?)?;
    let codes = said.lines().find_map(|line| line.strip_prefix("status codes: "))?;
    let good = codes.split(" 2xx").next()?.parse().ok()?;
    Some(Done { seconds, good })
}

/// A time such as `1.23s` or `970.31ms`, in seconds.
fn time(text: &str) -> Option<f64> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let found = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (number, scale) = found?;
    Some(number.parse::<f64>().ok()? * scale)
}

/// The milliseconds of a line of its notes: when it was sent, the status, microseconds.
fn took(line: &str) -> Option<f64> {
    let mut words = line.split('\t').skip(1);
    let (status, us) = (words.next()?, words.next()?.parse::<f64>().ok()?);
    (status.len() == 3 && status.starts_with('2')).then_some(us / 1e3)
}

#[cfg(test)]
mod tests {
    use super::{Done, read, took};

    #[test]
    fn what_the_tool_notes_is_read() {
        assert_eq!(took("1700000000000000\t200\t1250"), Some(1.25));
        for line in ["1700000000000000\t-1\t1250", "1700000000000000\t503\t1", "1\t200", ""] {
            assert_eq!(took(line), None, "{line}");
        }
    }

    #[test]
    fn what_the_tool_says_is_read() {
        let said = "starting benchmark...\n\nfinished in 1.25s, 8000.00 req/s, 1.10MB/s\n\
            requests: 10000 total, 10000 started, 10000 done, 9999 succeeded, 1 failed\n\
            status codes: 9999 2xx, 0 3xx, 1 4xx, 0 5xx\n";
        assert_eq!(read(said), Some(Done { seconds: 1.25, good: 9999 }));
        let quick = "finished in 250.00ms, 1 req/s\nstatus codes: 7 2xx, 0 3xx\n";
        assert_eq!(read(quick), Some(Done { seconds: 0.25, good: 7 }));
        assert_eq!(read("finished early"), None);
    }
}
