//! The load tool: so many requests over connections that are kept, as the one of the originals.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Threads of the tool.
const THREADS: usize = 2;

/// Sends the requests, and gives how many a second were answered.
///
/// # Errors
/// When the tool is not there, or not every answer is one of success.
pub fn run(url: &str, requests: u64, connections: usize) -> Result<f64, Failure> {
    ask(Command::new("h2load"), url, requests, connections)
}

/// The same with a `POST` of the JSON that is in a file.
///
/// # Errors
/// As [`run`].
pub fn post(url: &str, body: &Path, requests: u64, connections: usize) -> Result<f64, Failure> {
    let mut tool = Command::new("h2load");
    tool.args(["-H", "content-type: application/json", "-d"]).arg(body);
    ask(tool, url, requests, connections)
}

fn ask(mut tool: Command, url: &str, requests: u64, connections: usize) -> Result<f64, Failure> {
    tool.args(["--h1", "-n", &requests.to_string(), "-c", &connections.to_string()]);
    tool.args(["-t", &THREADS.min(connections).to_string(), url]);
    let output = tool.output().map_err(|error| {
        format!("h2load: {error}; Debian has it in nghttp2-client (`cargo xtask peers board`)")
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let done = read(&said).ok_or_else(|| format!("h2load {url} says {said}"))?;
    if done.good != requests {
        return Err(format!("{url}: {} of {requests} answers are good: {said}", done.good).into());
    }
    Ok(requests as f64 / done.seconds)
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

#[cfg(test)]
mod tests {
    use super::{Done, read};

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
