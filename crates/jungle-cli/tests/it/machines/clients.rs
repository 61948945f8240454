//! Who posts and reads.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::super::numbers::{JSON, NOT_WRITTEN, POST, post_number};
use super::super::serving::Client;
use super::SERVERS;
use super::server::READ_WITHIN;
use super::world::World;

/// One makes one request in this time, if it can: more load would show how slow the machine is.
const PACE: Duration = Duration::from_millis(50);

const READ: &str = "GET /api/v1/trees/t/node";

impl World<'_> {
    /// Posts to one server, at one of its addresses, until all is over.
    pub(crate) fn post(&self, at: usize, address: &str) {
        let mut client = None;
        while !self.is_over() {
            let begun = Instant::now();
            let number = self.tally.begin();
            let outcome = post_number(&mut client, address, number);
            self.tally.note(at, number, outcome);
            thread::park_timeout(PACE.saturating_sub(begun.elapsed()));
        }
    }

    /// Reads from one server, as who sits at its machine, until all is over.
    pub(crate) fn read(&self, at: usize) {
        let server = self.server(at);
        while !self.is_over() {
            let (life, begun) = (server.life(), Instant::now());
            let client = Client::within(&server.desk(), READ_WITHIN);
            let status = client.and_then(|mut client| client.ask(READ, JSON, ""));
            server.answered(life, status == Some(200), begun);
            thread::park_timeout(PACE.saturating_sub(begun.elapsed()));
        }
    }
}

/// How many posts are swept at a time, at most.
const SWEPT: usize = 1000;

impl World<'_> {
    /// Removes posts that are there and may be, until all is over: there are never more and more.
    /// From then on they are unknown, so one that comes again is found.
    pub(crate) fn sweep(&self) {
        for at in (0..SERVERS).cycle().take_while(|_| !self.is_over()) {
            // Where so many were there, more are.
            if self.sweep_once(at).is_none_or(|swept| swept < SWEPT / 2) {
                thread::park_timeout(4 * PACE);
            }
        }
    }

    /// Tells how many were to be removed.
    fn sweep_once(&self, at: usize) -> Option<usize> {
        let page = self.newest(at, &format!("GET /api/v1/trees/t/children?limit={SWEPT}"))?;
        let posts = page["children"].as_array()?.iter().map(|child| {
            (child["attributes"]["number"]["value"].as_i64().unwrap(), &child["path"])
        });
        let posts = posts.filter(|(number, _)| self.tally.may_be(*number));
        let (numbers, paths): (Vec<i64>, Vec<&Json>) = posts.unzip();
        if numbers.is_empty() {
            return Some(0);
        }
        let edits = paths.iter().map(|path| format!(r#"{{"op":"remove","path":{path}}}"#));
        let edits = edits.collect::<Vec<_>>().join(",");
        let mut client = Client::within(&self.server(at).address(), READ_WITHIN)?;
        match client.answer(POST, JSON, &format!(r#"{{"edits":[{edits}]}}"#)) {
            Some((200, _)) => self.tally.forget(&numbers),
            // Removed by one of which that was not known.
            Some((404 | 409, _)) => {}
            Some((503, told)) if told.contains(NOT_WRITTEN) => {}
            Some((503, _)) | None => self.tally.doubt(&numbers),
            Some((status, told)) => panic!("m{at} answered {status}: {told}"),
        }
        Some(numbers.len())
    }
}
