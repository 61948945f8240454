//! E3: showing a board and posting to it, over a thousand connections that are kept; beside a
//! constant answer of the same server, the board in Haskell on Warp, those of applications, and the
//! disk. All take turns.

use std::path::PathBuf;
use std::time::Duration;

use super::super::Options;
use super::super::commit::Floor;
use super::super::folder::Folder;
use super::load::Asking;
use super::peers::Peer;
use super::server::Serving;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::{median, quantile, ratios};
use crate::systems::System;

/// Messages of the board that is shown.
pub const SHOWN: u64 = 10;

/// Requests of a task.
const TASK: u64 = 1000;

/// Requests of a turn, about.
const TURN: u64 = 25_000;

/// Where each waits for the disk, or for an application, there are so many times fewer.
pub const FEWER: u64 = 5;

/// Of so many requests of the mix one posts.
const MIXED: u64 = 10;

/// At least so many requests are sent on a connection.
const CONNECTION: u64 = 20;

/// In so many turns each answer is timed, unless it is to be quick.
const TIMED: usize = 3;

/// How a message is posted to one of ours.
pub const POST: &str = "/bench/post?board=w&author=somebody&text=hello";

/// How long the disk's syncs are counted in each turn.
const FLOOR: Duration = Duration::from_millis(500);

/// Answers a second: `read` shows a board of ten messages, `hello` is constant and has as many
/// bytes; `write` posts with `memory` durability, `write-buffered` and `write-sync` with the
/// others, `write-bare` without a folder; `mixed` shows, with `sync`, a board to which every tenth
/// request posts (how many of them is ours to choose: the originals had either); `warp-…` are the
/// peer's, and those of applications have their names; `…-p99` = the milliseconds in which 99 of
/// 100 answers of a run of its own are there, from when they are asked for; `floor` = syncs a
/// second; `read-hello` = the median of the turns' ratios; `bytes` = of what is shown. A peer that
/// fails leaves its numbers out, and says why.
///
/// # Errors
/// When ours fails.
pub fn sample(options: Options, peers: &[System]) -> Result<Sample, Failure> {
    let folder = Folder::new("board")?;
    let mut floor = Floor::new(&folder.0)?;
    let (mut boards, bytes) = ours(&folder)?;
    let start = |system: &System| Peer::start(*system, &folder, bytes);
    let mut peers: Vec<Peer> = peers.iter().map(start).collect();
    let turns = Turns::of(options);
    boards.iter_mut().try_for_each(|board| board.warm_up(options.threads))?;
    peers.iter_mut().for_each(|peer| peer.each(|board| board.warm_up(options.threads)));
    for turn in 0..turns.count {
        let mut ask = |board: &mut Board| board.turn(turns);
        // Neither is always the first.
        if turn % 2 == 0 {
            boards.iter_mut().try_for_each(&mut ask)?;
        }
        peers.iter_mut().for_each(|peer| peer.each(&mut ask));
        if turn % 2 == 1 {
            boards.iter_mut().try_for_each(&mut ask)?;
        }
        floor.overwrite(FLOOR)?;
    }
    let loads = || boards.iter().flat_map(|board| &board.loads);
    let rates = |name| loads().find(|load| load.name == name).map(|load| &*load.rates);
    let (read, hello) = (rates("read").unwrap_or_default(), rates("hello").unwrap_or_default());
    let sample = Sample::value(median(read), "1/s")
        .with("read-hello", median(&ratios(read, hello)))
        .with("floor", floor.rate())
        .with("bytes", bytes as f64);
    let sample = boards.iter().fold(sample, |all, board| board.told(all));
    let sample = peers.into_iter().fold(sample, |all, peer| peer.told(all));
    let lost = boards.iter().map(Board::lost).sum::<Result<u64, Failure>>()?;
    Ok(sample.check_none(lost, "posts are lost or doubled"))
}

/// How often all are asked, and for how much.
#[derive(Clone, Copy)]
pub struct Turns {
    pub count: u64,
    /// Requests of each load, about.
    requests: u64,
    connections: usize,
    /// In so many each answer is timed.
    timed: usize,
}

impl Turns {
    pub fn of(options: Options) -> Turns {
        let requests = options.tasks * TASK;
        let count = if options.tiny { 1 } else { (requests / TURN).clamp(1, 10) };
        let timed = if options.quick { 1 } else { TIMED };
        Turns { count, requests: requests / count, connections: options.threads, timed }
    }
}

/// A server with two boards: `b` is shown, `w` is posted to.
pub struct Board {
    pub serving: Serving,
    pub count: Count,
    pub loads: Vec<Load>,
}

/// What is asked again and again.
pub struct Load {
    name: &'static str,
    /// One after the other on each connection, again and again.
    paths: Vec<String>,
    /// What is sent with it, if it is not a `GET`.
    body: Option<PathBuf>,
    /// There are so many times fewer requests.
    fewer: u64,
    posted: u64,
    rates: Vec<f64>,
    /// In each turn 99 of 100 answers took no more milliseconds.
    slow: Vec<f64>,
}

impl Load {
    pub fn new(name: &'static str, path: impl Into<String>) -> Load {
        Load::of(name, vec![path.into()])
    }

    /// Of ten requests one posts, and nine show what was posted.
    pub fn mixed(name: &'static str, post: &str, read: &str) -> Load {
        let reads = (1..MIXED).map(|_| read.to_owned());
        Load::of(name, [post.to_owned()].into_iter().chain(reads).collect())
    }

    fn of(name: &'static str, paths: Vec<String>) -> Load {
        let (rates, slow) = (Vec::new(), Vec::new());
        Load { name, paths, body: None, fewer: 1, posted: 0, rates, slow }
    }

    /// With so many times fewer requests.
    pub fn fewer(self, fewer: u64) -> Load {
        Load { fewer, ..self }
    }

    /// A `POST` of the JSON that is in a file.
    pub fn with_body(self, body: PathBuf) -> Load {
        Load { body: Some(body), ..self }
    }

    /// Does it do nothing but add messages to board `w`?
    pub fn is_post(&self) -> bool {
        self.body.is_some() || self.paths.iter().all(|path| is_post(path))
    }

    /// Asks a server so often; answers a second.
    ///
    /// # Errors
    /// When the tool is not there, or not every answer is one of success.
    pub fn run(
        &mut self,
        serving: &Serving,
        requests: u64,
        connections: usize,
    ) -> Result<f64, Failure> {
        self.note_posts(requests);
        self.asking(serving).run(requests, connections)
    }

    /// The same; the milliseconds in which 99 of 100 were answered.
    ///
    /// # Errors
    /// As [`Load::run`].
    fn run_timed(
        &mut self,
        serving: &Serving,
        requests: u64,
        connections: usize,
    ) -> Result<f64, Failure> {
        self.note_posts(requests);
        Ok(quantile(&self.asking(serving).times(requests, connections)?, 0.99))
    }

    fn asking(&self, serving: &Serving) -> Asking<'_> {
        let urls = self.paths.iter().map(|path| format!("http://{}{path}", serving.address));
        Asking { urls: urls.collect(), body: self.body.as_deref(), header: None }
    }

    fn note_posts(&mut self, requests: u64) {
        let posts = self.paths.iter().filter(|path| self.body.is_some() || is_post(path)).count();
        self.posted += requests / self.paths.len() as u64 * posts as u64;
    }

    /// How many requests it sends where there are to be so many, and enough on each connection that
    /// its making counts little; fewer where it waits; and of all of its addresses equally many.
    fn requests(&self, about: u64, connections: usize) -> u64 {
        let about = about.max(CONNECTION * connections as u64) / self.fewer;
        let addresses = self.paths.len();
        let each = (connections / addresses).max(1);
        if addresses == 1 {
            about
        } else {
            about.next_multiple_of((addresses * addresses * each) as u64)
        }
    }
}

/// Does who asks for this add a message to board `w`?
fn is_post(path: &str) -> bool {
    path.contains("post?board=w")
}

/// Ours, and how many bytes are shown.
fn ours(folder: &Folder) -> Result<(Vec<Board>, usize), Failure> {
    let at = |name| folder.0.join(name).display().to_string();
    let mut ours = Vec::new();
    for (name, durability) in
        [("write", "memory"), ("write-buffered", "buffered"), ("write-sync", "sync")]
    {
        ours.push((name, Serving::jungle(&["--data", &at(name), "--durability", durability])?));
    }
    ours.push(("write-bare", Serving::jungle(&["--memory"])?));
    let write = |name| {
        let fewer = if name == "write-sync" { FEWER } else { 1 };
        Load::new(name, POST).fewer(fewer)
    };
    let ours = ours.into_iter().map(|(name, serving)| Board::ours(serving, vec![write(name)]));
    let mut boards = ours.collect::<Result<Vec<Board>, Failure>>()?;
    let synced = &mut boards[2];
    let bytes = synced.serving.ask("GET /boards/b", "")?.len();
    synced.loads.push(Load::new("hello", format!("/bench/hello?bytes={bytes}")));
    synced.loads.push(Load::new("read", "/boards/b"));
    synced.loads.push(Load::mixed("mixed", POST, "/boards/w").fewer(FEWER));
    Ok((boards, bytes))
}

/// Makes the two boards, and the messages that are shown.
pub fn furnish(serving: &Serving) -> Result<(), Failure> {
    for board in ["b", "w"] {
        serving.ask("POST /api/v1/trees", &format!(r#"{{"name":"{board}"}}"#))?;
        let mark = r#"{"edits":[{"op":"put","path":"/","attribute":"board","value":"b"}]}"#;
        serving.ask(&format!("POST /api/v1/trees/{board}/commits"), mark)?;
    }
    for _ in 0..SHOWN {
        serving.ask("GET /bench/post?board=b&author=somebody&text=hello", "")?;
    }
    Ok(())
}

/// How many messages a board has, as a server knows.
pub type Count = fn(&Serving, &str) -> Result<u64, Failure>;

/// As one of ours knows.
///
/// # Errors
/// When there is no such board, or the server does not answer.
pub fn messages(serving: &Serving, board: &str) -> Result<u64, Failure> {
    serving.number(&format!("/api/v1/trees/{board}/node"), "child_count")
}

impl Board {
    /// One of ours, furnished.
    ///
    /// # Errors
    /// When it does not answer with success.
    pub fn ours(serving: Serving, loads: Vec<Load>) -> Result<Board, Failure> {
        furnish(&serving)?;
        Ok(Board { serving, count: messages, loads })
    }

    /// The one in Haskell, whose page is no longer than ours.
    ///
    /// # Errors
    /// When it does not do what it should.
    pub fn warp(bytes: usize) -> Result<Board, Failure> {
        let serving = Serving::warp()?;
        for _ in 0..SHOWN {
            serving.ask("GET /post?board=b&author=somebody&text=hello", "")?;
        }
        let count = |serving: &Serving, board: &str| {
            Ok(serving.ask(&format!("GET /count?board={board}"), "")?.trim().parse()?)
        };
        let shown = serving.ask("GET /board?board=b", "")?.len();
        if shown > bytes {
            return Err(format!("the peer shows {shown} bytes, more than our {bytes}").into());
        }
        let loads = vec![
            Load::new("warp-hello", format!("/hello?bytes={bytes}")),
            Load::new("warp-read", "/board?board=b"),
            Load::new("warp-write", "/post?board=w&author=somebody&text=hello"),
        ];
        Ok(Board { serving, count, loads })
    }

    /// Asks for some of each of its loads, which is not counted.
    ///
    /// # Errors
    /// As [`Load::run`].
    pub fn warm_up(&mut self, connections: usize) -> Result<(), Failure> {
        self.loads.iter_mut().try_for_each(|load| {
            let requests = load.requests(0, connections);
            load.run(&self.serving, requests, connections).map(drop)
        })
    }

    /// Asks for so much of each of its loads, less where it waits; in some turns each answer is
    /// timed.
    ///
    /// # Errors
    /// As [`Load::run`].
    pub fn turn(&mut self, turns: Turns) -> Result<(), Failure> {
        let Turns { requests, connections, timed, .. } = turns;
        for load in &mut self.loads {
            let many = load.requests(requests, connections);
            let rate = load.run(&self.serving, many, connections)?;
            load.rates.push(rate);
            if load.slow.len() < timed {
                let some = load.requests(0, connections);
                let slow = load.run_timed(&self.serving, some, connections)?;
                load.slow.push(slow);
            }
        }
        Ok(())
    }

    /// Adds what it reached.
    pub fn told(&self, sample: Sample) -> Sample {
        self.loads.iter().fold(sample, |all, load| {
            let slow = format!("{}-p99", load.name);
            all.with(load.name, median(&load.rates)).with(&slow, median(&load.slow))
        })
    }

    /// How many of the posts are not there, or too many.
    ///
    /// # Errors
    /// When the server does not say how many there are.
    pub fn lost(&self) -> Result<u64, Failure> {
        let posted: u64 = self.loads.iter().map(|load| load.posted).sum();
        let (shown, found) = ((self.count)(&self.serving, "b")?, (self.count)(&self.serving, "w")?);
        Ok(posted.abs_diff(found) + SHOWN.abs_diff(shown))
    }
}
