//! Those who watch while the server is killed and started again at the same address: each comes
//! again with the id of the event that it was told last, and must be told each commit once and in
//! order, also the one that was on its way when the server was killed.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::kills;
use crate::Failure;
use crate::experiments::Options;
use crate::experiments::board::server::{Client, PATIENCE, Serving};
use crate::experiments::board::watchers::{
    LAST, PARTS, Seen, WATCHED as TREE, plant, put, send, value,
};
use crate::experiments::folder::Folder;
use crate::sample::Sample;
use crate::stats::{median, quantile};
use crate::workload::Random;

/// So long whoever has lost the server waits before coming again.
const AGAIN: Duration = Duration::from_millis(20);

/// The server is killed within so many microseconds after a commit was sent: it may have come, and
/// be acknowledged, or not.
const ON_ITS_WAY_US: u64 = 2_000;

/// Around each kill there is a commit to each part, first the one on its way. Milliseconds within
/// which 99 of 100 of these were told to who watches that part, from before they were sent, or of
/// the first one from when the server answered again; `half` = half of them; `up` = the median
/// from a kill until then.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("neighbours-resumed")?;
    let data = folder.0.display().to_string();
    let kept = ["--data", &data, "--durability", "sync"];
    let mut writer = Writer::start(&kept, options.seed)?;
    let (ready, mut all_ready) = channel(options.threads);
    let (address, begun) = (writer.serving.address.clone(), writer.begun);
    let watchers = options.threads as u64;
    let watching = thread::spawn(move || watch_all(&address, watchers, begun, &ready));
    for _ in 0..watchers {
        all_ready.blocking_recv().ok_or("nobody watches")?;
    }
    for _ in 0..kills(options) {
        writer.commit_around_a_kill()?;
    }
    (0..PARTS).try_for_each(|part| put(&mut writer.client, TREE, part, LAST))?;
    let (mut late, mut wrong) = (Vec::new(), 0);
    for (part, seen) in watching.join().map_err(|_| "the watchers ended")?? {
        wrong += u64::from(!seen.iter().map(|(value, _)| value).eq(&writer.sent[part as usize]));
        let due = |(value, at): &(u64, u64)| Some((*writer.due.get(value)?, *at));
        let due = seen.iter().filter_map(due);
        late.extend(due.map(|(due, at)| at.saturating_sub(due) as f64 / 1e3));
    }
    let sample = Sample::value(quantile(&late, 0.99), "ms");
    let sample = Sample { operations: writer.number, ..sample }
        .with("half", median(&late))
        .with("up", median(&writer.up));
    Ok(sample
        .check_none(wrong, "watchers were not told each commit once")
        .check_none(writer.lost, "acknowledged commits are lost"))
}

/// Who commits to one part after the other, and kills the server.
struct Writer<'a> {
    serving: Serving,
    /// The server's options.
    options: &'a [&'a str],
    client: Client,
    begun: Instant,
    random: Random,
    /// The last value; they count from 1.
    number: u64,
    /// All values, by part.
    sent: Vec<Vec<u64>>,
    /// Of those around kills, from when they are late: microseconds from the beginning.
    due: HashMap<u64, u64>,
    /// Milliseconds from each kill until the server answered again.
    up: Vec<f64>,
    /// Commits that were acknowledged and are not there.
    lost: u64,
}

impl<'a> Writer<'a> {
    fn start(options: &'a [&'a str], seed: u64) -> Result<Writer<'a>, Failure> {
        let serving = Serving::jungle(options)?;
        plant(&serving, TREE)?;
        Ok(Writer {
            client: Client::new(&serving)?,
            serving,
            options,
            begun: Instant::now(),
            random: Random(seed),
            number: 0,
            sent: vec![Vec::new(); PARTS as usize],
            due: HashMap::new(),
            up: Vec::new(),
            lost: 0,
        })
    }

    /// Once to each part before, so that all who watch are there again, and once around.
    fn commit_around_a_kill(&mut self) -> Result<(), Failure> {
        for _ in 0..PARTS {
            let part = self.draw();
            put(&mut self.client, TREE, part, self.number)?;
        }
        self.commit_over_a_kill()?;
        for _ in 1..PARTS {
            let part = self.draw();
            self.note_due();
            put(&mut self.client, TREE, part, self.number)?;
        }
        Ok(())
    }

    /// Kills the server while a commit is on its way, starts another one, and commits the same
    /// again if it is not there.
    fn commit_over_a_kill(&mut self) -> Result<(), Failure> {
        let part = self.draw();
        send(&mut self.client, TREE, part, self.number)?;
        thread::sleep(Duration::from_micros(self.random.below(ON_ITS_WAY_US)));
        let killed = Instant::now();
        self.serving.kill()?;
        let is_acknowledged = self.client.answer().is_ok();
        let address = self.serving.address.clone();
        self.serving = Serving::jungle_at(&address, self.options)?;
        self.client = Client::new(&self.serving)?;
        let is_there = self.held(part)? == self.number;
        self.up.push(1e3 * killed.elapsed().as_secs_f64());
        self.note_due();
        if !is_there {
            self.lost += u64::from(is_acknowledged);
            put(&mut self.client, TREE, part, self.number)?;
        }
        Ok(())
    }

    /// Draws the next value; gives its part.
    fn draw(&mut self) -> u64 {
        self.number += 1;
        let part = self.number % PARTS;
        self.sent[part as usize].push(self.number);
        part
    }

    /// From now on the last value is late.
    fn note_due(&mut self) {
        self.due.insert(self.number, self.begun.elapsed().as_micros() as u64);
    }

    /// The value that a part has.
    fn held(&mut self, part: u64) -> Result<u64, Failure> {
        let head = format!("GET /api/v1/trees/{TREE}/value?path=/{part}&attribute=at");
        let value = self.client.ask(&head, "application/json", "")?;
        Ok(String::from_utf8(value)?.trim().parse()?)
    }
}

/// Watches until each was told the last value of its part; says of each when it watches.
fn watch_all(
    address: &str,
    watchers: u64,
    begun: Instant,
    ready: &Sender<()>,
) -> Result<Vec<(u64, Seen)>, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut watching = JoinSet::new();
        for watcher in 0..watchers {
            let watcher = Watcher {
                address: address.to_owned(),
                part: watcher % PARTS,
                begun,
                ready: Some(ready.clone()),
                last: None,
                seen: Vec::new(),
            };
            watching.spawn(watcher.watch());
        }
        let mut all = Vec::new();
        while let Some(ended) = watching.join_next().await {
            all.push(ended??);
        }
        Ok(all)
    })
}

/// Somebody who watches a part, and comes again when the connection is lost.
struct Watcher {
    address: String,
    part: u64,
    begun: Instant,
    /// To whom it says, once, that it watches.
    ready: Option<Sender<()>>,
    /// The id of what it was told last.
    last: Option<String>,
    seen: Seen,
}

/// What an event says so far: it is one as soon as an empty line has come.
#[derive(Default)]
struct Event {
    id: Option<String>,
    value: Option<u64>,
}

impl Watcher {
    /// Gives its part, and what it was told.
    async fn watch(mut self) -> Result<(u64, Seen), Failure> {
        loop {
            // Where nobody listens, or it ends before all was told, the server was killed.
            if let Ok(stream) = TcpStream::connect(&self.address).await
                && self.follow(BufReader::new(stream)).await?
            {
                return Ok((self.part, self.seen));
            }
            sleep(AGAIN).await;
        }
    }

    /// Takes what is told on a connection; was it all?
    async fn follow(&mut self, mut stream: BufReader<TcpStream>) -> Result<bool, Failure> {
        if stream.write_all(self.request().as_bytes()).await.is_err() {
            return Ok(false);
        }
        let (mut line, mut event) = (String::new(), Event::default());
        loop {
            line.clear();
            let read = timeout(PATIENCE, stream.read_line(&mut line)).await;
            let is_read = read.map_err(|_| "nothing comes any more")?.is_ok();
            if !is_read || !line.ends_with('\n') {
                return Ok(false);
            }
            if self.take(&line, &mut event)? {
                return Ok(true);
            }
        }
    }

    fn request(&self) -> String {
        let Watcher { address, part, .. } = self;
        let last = self.last.as_ref().map(|id| format!("Last-Event-ID: {id}\r\n"));
        let last = last.unwrap_or_default();
        format!(
            "GET /api/v1/trees/{TREE}/watch?path=/{part} HTTP/1.1\r\nHost: {address}\r\n{last}\r\n"
        )
    }

    /// Takes a line; was it the last one of all?
    fn take(&mut self, line: &str, event: &mut Event) -> Result<bool, Failure> {
        if line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.1 200 ") {
            return Err(format!("who watches is answered {line}").into());
        }
        if let Some(id) = line.strip_prefix("id: ") {
            event.id = Some(id.trim_end().to_owned());
        }
        if let Some(data) = line.strip_prefix("data: ") {
            event.value = Some(value(data).ok_or_else(|| format!("an event says {data}"))?);
        }
        // Lines of HTTP end otherwise.
        if line != "\n" {
            return Ok(false);
        }
        let Event { id, value } = std::mem::take(event);
        self.last = id.or(self.last.take());
        if let Some(ready) = self.ready.take() {
            ready.try_send(())?;
        }
        match value {
            None => {}
            Some(LAST) => return Ok(true),
            Some(value) => self.seen.push((value, self.begun.elapsed().as_micros() as u64)),
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    use tokio::runtime::Builder;
    use tokio::sync::mpsc::channel;

    use super::{Seen, Watcher};
    use crate::Failure;

    /// What is watched at a server that tells this on one connection after the other, and what it
    /// was asked on each.
    fn watched(told: &'static [&'static str]) -> (Result<Seen, Failure>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = thread::spawn(move || {
            let answer = |told: &&str| {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                let mut asked = String::new();
                while !asked.ends_with("\r\n\r\n") {
                    assert!(stream.read_line(&mut asked).unwrap() > 0, "{asked}");
                }
                stream.get_mut().write_all(told.as_bytes()).unwrap();
                asked
            };
            told.iter().map(answer).collect::<Vec<String>>()
        });
        let (ready, mut is_ready) = channel(1);
        let ready = Some(ready);
        let watcher =
            Watcher { address, part: 7, begun: Instant::now(), ready, last: None, seen: vec![] };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let seen = runtime.block_on(watcher.watch());
        assert_eq!(is_ready.try_recv().is_ok(), seen.is_ok());
        (seen.map(|(_, seen)| seen), serving.join().unwrap())
    }

    #[test]
    fn who_was_cut_off_goes_on_behind_the_last_event_that_came_whole() {
        let (seen, asked) = watched(&[
            "HTTP/1.1 200 OK\r\n\r\n16\r\nretry: 1000\nid: 1-50\n\n\r\n\
             9\r\nid: 2-60\nevent: change\ndata: {\"value\":5}\n\n\r\n\
             9\r\nid: 3-70\nevent: change\ndata: {\"value\":6}\n",
            "HTTP/1.1 200 OK\r\n\r\nid: 2-60\n\nid: 3-7",
            "HTTP/1.1 200 OK\r\n\r\nid: 2-60\n\n\
             id: 3-70\nevent: change\ndata: {\"value\":6}\n\n\
             id: 4-80\nevent: change\ndata: {\"value\":0}\n\n",
        ]);
        let values: Vec<u64> = seen.unwrap().into_iter().map(|(value, _)| value).collect();
        assert_eq!(values, [5, 6]);
        assert!(asked[0].starts_with("GET /api/v1/trees/watched/watch?path=/7 HTTP/1.1\r\n"));
        assert!(!asked[0].contains("Last-Event-ID"), "{}", asked[0]);
        for asked in &asked[1..] {
            assert!(asked.contains("\r\nLast-Event-ID: 2-60\r\n\r\n"), "{asked}");
        }
    }

    #[test]
    fn who_is_refused_or_told_that_it_is_over_does_not_come_again() {
        for told in [
            &["HTTP/1.1 410 Gone\r\n\r\n"],
            &["HTTP/1.1 200 OK\r\n\r\nevent: gone\ndata: \"revision 5 is another commit\"\n\n"],
        ] {
            assert!(watched(told).0.is_err(), "{told:?}");
        }
    }
}
