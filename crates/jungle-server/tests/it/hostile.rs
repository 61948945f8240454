//! Connections that only take up room: each is closed by a time-out of ours, and somebody who means
//! well is served meanwhile as before. `cargo xtask torture hostile` runs it alone, and measures.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{Served, limits};

/// The time-outs, so that a test need not take long.
const TIME: Duration = Duration::from_secs(2);

/// How much later a connection may be closed on a machine that does much else.
const SLACK: Duration = Duration::from_secs(8);

/// How long somebody asks alone, to know how long answers take.
const QUIET: Duration = Duration::from_secs(1);

/// A pause of those who are slow, and the most that an answer may be later for them.
const PAUSE: Duration = Duration::from_millis(20);

/// Who connects, and what is wrong with them.
#[derive(Clone, Copy, Debug)]
enum Hostile {
    /// They say nothing.
    Idle,
    /// They ask once, and stay.
    Lingering,
    /// They begin a head.
    HalfOpen,
    /// They send a head, byte by byte.
    SlowHead,
    /// They send a body, byte by byte.
    SlowBody,
    /// They ask for much, and read nothing of it.
    Deaf,
}

/// How many there are of each.
const CROWD: [(Hostile, usize); 6] = [
    (Hostile::Idle, 200),
    (Hostile::Lingering, 50),
    (Hostile::HalfOpen, 100),
    (Hostile::SlowHead, 50),
    (Hostile::SlowBody, 50),
    (Hostile::Deaf, 20),
];

const HEAD: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\n";

impl Hostile {
    /// What is sent at once.
    fn first(self) -> String {
        match self {
            Hostile::Idle => String::new(),
            Hostile::Lingering => format!("{HEAD}\r\n"),
            Hostile::HalfOpen | Hostile::SlowHead => HEAD.to_owned(),
            Hostile::SlowBody => "POST /api/v1/trees/t/commits HTTP/1.1\r\nHost: localhost\r\n\
                                  Content-Type: application/json\r\nContent-Length: 10000\r\n\r\n{"
                .to_owned(),
            Hostile::Deaf => {
                "GET /explorer/explorer.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200)
            }
        }
    }

    /// What is sent again and again.
    fn more(self) -> &'static [u8] {
        match self {
            Hostile::Idle | Hostile::Lingering | Hostile::HalfOpen | Hostile::Deaf => b"",
            Hostile::SlowHead => b"x",
            Hostile::SlowBody => b" ",
        }
    }
}

/// One connection of the crowd.
struct Connection {
    stream: TcpStream,
    hostile: Hostile,
}

impl Connection {
    fn open(served: &Served, hostile: Hostile) -> Connection {
        let mut stream = served.connect();
        stream.set_read_timeout(Some(PAUSE)).unwrap();
        stream.set_write_timeout(Some(PAUSE)).unwrap();
        // What the server does not take any more, it need not.
        let _ = stream.write_all(hostile.first().as_bytes());
        Connection { stream, hostile }
    }

    /// Goes on for a moment; is it closed?
    fn is_closed(&mut self) -> bool {
        let is_over = |error: &std::io::Error| {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        };
        if let Hostile::Deaf = self.hostile {
            // Nothing is read: what was sent would be taken otherwise.
            return self.stream.take_error().unwrap().is_some()
                || self.stream.write(b"\r\n").is_err_and(|error| is_over(&error));
        }
        let sent = self.stream.write(self.hostile.more());
        match self.stream.read(&mut [0; 4096]) {
            Ok(bytes) => bytes == 0,
            Err(error) => is_over(&error) || sent.is_err_and(|error| is_over(&error)),
        }
    }
}

/// Asks one after the other until there is no more time or nobody to wait for; gives the times, the
/// shortest first.
fn ask(served: &Served, until: impl Fn() -> bool) -> Vec<Duration> {
    let mut times = Vec::new();
    while until() {
        let began = Instant::now();
        served.get("/api/v1/trees/t/node").expect(200);
        times.push(began.elapsed());
    }
    times.sort();
    times
}

/// What 99 of 100 answers are quicker than.
fn p99(times: &[Duration]) -> Duration {
    times[times.len() * 99 / 100]
}

#[test]
fn hostile_connections_are_closed_and_others_served() {
    let served = Served::with(|options| {
        options.limits = limits(|limits| {
            limits.head_time = TIME;
            limits.body_time = TIME;
            limits.write_time = TIME;
        });
    })
    .tree("t");
    let quiet = Instant::now();
    let alone = ask(&served, || quiet.elapsed() < QUIET);
    let began = Instant::now();
    let mut crowd = Vec::new();
    for (hostile, count) in CROWD {
        crowd.extend((0..count).map(|_| Connection::open(&served, hostile)));
    }
    let count = crowd.len();
    // Enough threads that each goes on several times a second.
    let mut groups: Vec<Vec<Connection>> = Vec::new();
    while !crowd.is_empty() {
        groups.push(crowd.split_off(crowd.len().saturating_sub(count / 16 + 1)));
    }
    let (beside, last) = std::thread::scope(|scope| {
        let threads: Vec<_> = groups
            .into_iter()
            .map(|mut group| {
                scope.spawn(move || {
                    while !group.is_empty() && began.elapsed() < TIME + SLACK {
                        group.retain_mut(|connection| !connection.is_closed());
                    }
                    let left: Vec<_> = group.iter().map(|left| left.hostile).collect();
                    assert!(left.is_empty(), "not closed: {left:?}");
                    began.elapsed()
                })
            })
            .collect();
        let is_over = || threads.iter().all(|thread| thread.is_finished());
        let beside = ask(&served, || !is_over());
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        (beside, ends.max().unwrap())
    });
    let (quiet, busy) = (p99(&alone), p99(&beside));
    println!(
        "all were closed after at most {:.1} s; p99 of {} good answers beside them {} us, of {} \
         alone {} us",
        last.as_secs_f64(),
        beside.len(),
        busy.as_micros(),
        alone.len(),
        quiet.as_micros(),
    );
    assert!(busy <= quiet * 3 + PAUSE, "{busy:?} beside, {quiet:?} alone");
    // For the ledger.
    println!("hostile: {count} points from seed 0\n{count} passed, 0 failed");
}
