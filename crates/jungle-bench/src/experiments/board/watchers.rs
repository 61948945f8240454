//! A thousand who watch, each a hundredth of a tree, beside one who watches all of it and reads
//! nothing, while others commit five hundred times a second; in turns with commits to a tree that
//! nobody watches.

use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::Options;
use super::super::folder::Folder;
use super::server::{Client, Serving};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;

/// Parts of a tree: with a thousand who watch, each is watched by ten.
pub const PARTS: u64 = 100;

/// Who commit, each to parts of its own.
const WRITERS: u64 = 4;

/// Between two commits, of whoever: 500 a second.
const STEP: Duration = Duration::from_millis(2);

/// So long the one tree is written to, then the other.
const TURN: Duration = Duration::from_millis(500);

/// The tree that is watched.
pub const WATCHED: &str = "watched";

/// That one, and the one that is not.
const TREES: [&str; 2] = [WATCHED, "alone"];

/// The last value in each part.
pub const LAST: u64 = 0;

/// Nothing takes so long to come, unless it is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Milliseconds from before a commit is sent until 99 of 100 watchers have it; `half` = until half
/// of them have. `commit`, `commit-alone` = milliseconds of a commit where there are watchers, and
/// where there are none; `slowed` = the one over the other, `slowed-mean` = of the means; `rate` =
/// commits a second. `args` are the server's, beside the folder; nothing is kept in that if they
/// say `--memory`.
///
/// # Errors
/// When the server cannot be started, or does not answer as it must.
pub fn sample(args: &[&str], length: Duration, options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("watchers")?;
    let data = folder.0.display().to_string();
    let is_kept = !args.contains(&"--memory");
    let place = ["--data", &data];
    let serving = Serving::jungle(&[if is_kept { &place[..] } else { &[] }, args].concat())?;
    TREES.iter().try_for_each(|tree| plant(&serving, tree))?;
    let (begun, watchers) = (Instant::now(), options.threads as u64);
    let (ready, mut all_ready) = mpsc::channel(options.threads);
    let address = serving.address.clone();
    let watching = thread::spawn(move || watch_all(&address, watchers, begun, ready));
    for _ in 0..watchers {
        all_ready.blocking_recv().ok_or("nobody watches")?;
    }
    let written = write_all(&serving, begun, begun.elapsed(), 2 * length)?;
    let seen = watching.join().map_err(|_| "the watchers ended")??;
    let mut delivered = Vec::new();
    let mut lost = 0;
    for (watcher, seen) in seen {
        let sent = &written.sent[(watcher % PARTS) as usize];
        lost += u64::from(!seen.iter().map(|(stamp, _)| stamp).eq(sent));
        delivered.extend(seen.iter().map(|(stamp, at)| (at - stamp) as f64 / 1e3));
    }
    Ok(told(&written, delivered, length).check_none(lost, "watchers have lost something"))
}

/// For so long the tree that is watched is written to.
pub fn length(options: Options) -> Duration {
    Duration::from_secs(match (options.tiny, options.quick) {
        (true, _) => 1,
        (_, true) => 10,
        _ => 30,
    })
}

fn told(written: &Written, mut delivered: Vec<f64>, length: Duration) -> Sample {
    delivered.sort_by(f64::total_cmp);
    let least = |share: usize| delivered.get(delivered.len() * share / 100).copied();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let [watched, alone] = &written.times;
    Sample::value(least(99).unwrap_or_default(), "ms")
        .with("half", least(50).unwrap_or_default())
        .with("commit", median(watched))
        .with("commit-alone", median(alone))
        .with("slowed", median(watched) / median(alone))
        .with("slowed-mean", mean(watched) / mean(alone))
        .with("rate", watched.len() as f64 / length.as_secs_f64())
}

/// Makes a tree with its parts.
///
/// # Errors
/// When the server does not do so.
pub fn plant(serving: &Serving, tree: &str) -> Result<(), Failure> {
    serving.ask("POST /api/v1/trees", &format!(r#"{{"name":"{tree}"}}"#))?;
    let parts = vec![r#"{"op":"append"}"#; PARTS as usize].join(",");
    let commits = format!("POST /api/v1/trees/{tree}/commits");
    serving.ask(&commits, &format!(r#"{{"edits":[{parts}]}}"#)).map(drop)
}

/// What was committed.
#[derive(Default)]
struct Written {
    /// The stamps in each part of the tree that is watched.
    sent: Vec<Vec<u64>>,
    /// Milliseconds of each commit, by tree.
    times: [Vec<f64>; 2],
}

/// Commits from all writers for so long, and at last once in each part.
fn write_all(
    serving: &Serving,
    begun: Instant,
    from: Duration,
    length: Duration,
) -> Result<Written, Failure> {
    let writers = thread::scope(|scope| {
        let write = |writer| scope.spawn(move || write(serving, writer, begun, (from, length)));
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let ended = writers.into_iter().map(|writer| writer.join().expect("it does not panic"));
        ended.collect::<Result<Vec<Written>, Failure>>()
    })?;
    let mut all = Written { sent: vec![Vec::new(); PARTS as usize], ..Written::default() };
    for writer in writers {
        for (all, sent) in all.sent.iter_mut().zip(writer.sent) {
            all.extend(sent);
        }
        for (all, times) in all.times.iter_mut().zip(writer.times) {
            all.extend(times);
        }
    }
    let mut client = Client::new(serving)?;
    (0..PARTS).try_for_each(|part| put(&mut client, TREES[0], part, LAST))?;
    Ok(all)
}

fn write(
    serving: &Serving,
    writer: u64,
    begun: Instant,
    (from, length): (Duration, Duration),
) -> Result<Written, Failure> {
    let mut client = Client::new(serving)?;
    let mut written = Written { sent: vec![Vec::new(); PARTS as usize], ..Written::default() };
    for number in (writer..).step_by(WRITERS as usize) {
        let at = STEP * number as u32;
        if at >= length {
            return Ok(written);
        }
        thread::sleep((from + at).saturating_sub(begun.elapsed()));
        let (tree, part) = ((at.as_millis() / TURN.as_millis() % 2) as usize, number % PARTS);
        let sent = begun.elapsed();
        let stamp = sent.as_micros() as u64 + 1;
        put(&mut client, TREES[tree], part, stamp)?;
        written.times[tree].push(1e3 * (begun.elapsed() - sent).as_secs_f64());
        if tree == 0 {
            written.sent[part as usize].push(stamp);
        }
    }
    Ok(written)
}

/// Commits a value in a part.
///
/// # Errors
/// When it is not acknowledged.
pub fn put(client: &mut Client, tree: &str, part: u64, value: u64) -> Result<(), Failure> {
    send(client, tree, part, value)?;
    client.answer().map(drop)
}

/// Sends a commit of a value in a part, without waiting for the answer.
///
/// # Errors
/// When it cannot be sent.
pub fn send(client: &mut Client, tree: &str, part: u64, value: u64) -> std::io::Result<()> {
    let edit = format!(
        r#"{{"edits":[{{"op":"put","path":"/{part}","attribute":"at","value":{value}}}]}}"#
    );
    let commits = format!("POST /api/v1/trees/{tree}/commits");
    client.send(&format!("{commits} HTTP/1.1\r\nContent-Type: application/json"), &edit)
}

/// A stamp, and when it was seen, in microseconds from the beginning.
pub type Seen = Vec<(u64, u64)>;

/// Watches until each has seen the last value of its part; says of each when it watches.
fn watch_all(
    address: &str,
    watchers: u64,
    begun: Instant,
    ready: mpsc::Sender<()>,
) -> Result<Vec<(u64, Seen)>, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let _deaf = deaf(address).await?;
        let mut watching = JoinSet::new();
        for watcher in 0..watchers {
            let (address, ready) = (address.to_owned(), ready.clone());
            watching.spawn(async move {
                watch(&address, watcher % PARTS, begun, &ready).await.map(|seen| (watcher, seen))
            });
        }
        let mut all = Vec::new();
        while let Some(ended) = watching.join_next().await {
            all.push(ended??);
        }
        Ok(all)
    })
}

/// Begins to watch all of the tree, and takes nothing of what is told.
async fn deaf(address: &str) -> Result<TcpStream, Failure> {
    let socket = TcpSocket::new_v4()?;
    // The system would take megabytes in its place.
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(address.parse()?).await?;
    let asked = format!("GET /api/v1/trees/watched/watch HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(asked.as_bytes()).await?;
    Ok(stream)
}

async fn watch(
    address: &str,
    part: u64,
    begun: Instant,
    ready: &mpsc::Sender<()>,
) -> Result<Seen, Failure> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    let asked = format!("GET /api/v1/trees/watched/watch?path=/{part} HTTP/1.1\r\n");
    stream.write_all(format!("{asked}Host: {address}\r\n\r\n").as_bytes()).await?;
    let (mut line, mut seen) = (String::new(), Vec::new());
    loop {
        line.clear();
        let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await;
        if read.map_err(|_| "nothing comes any more")?? == 0 {
            return Err("a stream has ended".into());
        }
        if line.starts_with("retry:") {
            ready.send(()).await?;
        }
        match line.strip_prefix("data: ").map(value) {
            None => {}
            Some(Some(LAST)) => return Ok(seen),
            Some(Some(stamp)) => seen.push((stamp, begun.elapsed().as_micros() as u64)),
            Some(None) => return Err(format!("an event says {line}").into()),
        }
    }
}

/// The value that an event tells of.
pub fn value(event: &str) -> Option<u64> {
    let digits = event.rsplit(r#""value":"#).next()?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
