//! Watching a tree of a server: what happened, and what happens, also where the connection is lost
//! meanwhile.

use std::mem;
use std::thread::sleep;
use std::time::Duration;

use jungle_server::{Remote, RemoteBody, RemoteError};
use jungle_tree::Path;
use jungle_words::Info;
use jungle_words::differences::Difference;
use serde::Deserialize;

use super::On;
use super::events::{Event, Events};
use super::server::{Asked, Server, failure, patiently, plain};
use crate::failure::{Exit, Failure};
use crate::output::say;

/// How long it is waited before the connection is made again: twice as long each time, up to a
/// limit, and so often before it is given up, after some four minutes.
const WAIT: Duration = Duration::from_millis(200);
const WAIT_MAX: Duration = Duration::from_secs(10);
const TRIES: u32 = 30;

/// What is watched.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'w> {
    pub(crate) on: On<'w>,
    pub(crate) below: &'w Path,
    /// What came after this revision; without one all.
    pub(crate) after: Option<&'w str>,
    pub(crate) then: After,
}

/// What comes after all has been told that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    End,
    /// What is committed then.
    More,
}

/// Tells what a revision did.
pub(crate) type Tell<'t> = dyn FnMut(&Info, &[Difference<'_>]) -> Result<(), Failure> + 't;

/// Why it does not go on.
enum Stop {
    /// The connection was lost, for this reason.
    Lost(Failure),
    For(Failure),
}

impl From<Failure> for Stop {
    /// It is lost where whoever was asked then was away.
    fn from(failure: Failure) -> Stop {
        match failure.exit() {
            Exit::Unreachable => Stop::Lost(failure),
            _ => Stop::For(failure),
        }
    }
}

/// What is told of a revision, as far as it is looked at.
#[derive(Deserialize)]
struct Happened {
    revision: u64,
}

impl Server {
    /// Tells what each revision did that changed something below a path, the oldest first.
    pub(crate) fn watch(&self, watched: Watched<'_>, tell: &mut Tell<'_>) -> Result<(), Failure> {
        let after = match watched.after {
            Some(rev) => self.info(watched.on, rev)?.revision,
            None => 0,
        };
        // Members that are attributes are told by the node that has them.
        let node = watched.below.parent().unwrap_or_default();
        let seen = after.to_string();
        let mut watching = Watching { server: self, watched, node, seen, lost: 0 };
        let mut has_begun = false;
        loop {
            let why = match watching.listen(&mut has_begun, tell) {
                Ok(()) => return Ok(()),
                Err(Stop::Lost(failure)) if has_begun => failure,
                Err(Stop::Lost(failure) | Stop::For(failure)) => return Err(failure),
            };
            let lost = watching.lost;
            if lost == TRIES {
                let revision = plain(watching.seen.split('-').next().unwrap_or_default());
                return Err(why.with_hint(format_args!("--after {revision} goes on")));
            }
            if lost == 0 {
                say("Note: the connection was lost; it is made again, and nothing left out");
            }
            watching.lost += 1;
            sleep(WAIT.saturating_mul(1 << lost.min(16)).min(WAIT_MAX));
        }
    }

    fn events(&self, address: &str, seen: &str) -> Result<RemoteBody<'_>, RemoteError> {
        patiently(|| self.remote.events(address, Some(seen)))
    }
}

struct Watching<'w> {
    server: &'w Server,
    watched: Watched<'w>,
    /// The node that is watched.
    node: Path,
    /// The id of what was told last, or the number of a revision.
    seen: String,
    /// How often the connection was lost since something came.
    lost: u32,
}

impl Watching<'_> {
    /// Tells what comes on one connection, to the end.
    fn listen(&mut self, has_begun: &mut bool, tell: &mut Tell<'_>) -> Result<(), Stop> {
        let server = self.server;
        let stream = match server.events(&self.address(), &self.seen) {
            // Somebody who may read a part: what is below the path is theirs, if anything is.
            Err(error) if error.kind() == Some("forbidden") && self.node != *self.watched.below => {
                self.node = self.watched.below.clone();
                return self.listen(has_begun, tell);
            }
            stream => stream.map_err(|error| self.refused(&error))?,
        };
        *has_begun = true;
        let mut events = Events::new(stream);
        let mut is_first = true;
        loop {
            let event = events.next().map_err(|error| lost(&error.to_string()))?;
            let event = event.ok_or_else(|| lost("it was ended"))?;
            if self.hear(&event, tell)? {
                return Ok(());
            }
            // The first says only where it begins: that is no sign that the server goes on. Nor is
            // one whose differences nobody tells.
            if !mem::replace(&mut is_first, false) {
                self.lost = 0;
            }
            if let Some(id) = event.id {
                self.seen = id;
            }
        }
    }

    /// Heeds an event; tells whether it was the last.
    fn hear(&self, event: &Event, tell: &mut Tell<'_>) -> Result<bool, Stop> {
        let unexpected = || Stop::For(failure(&self.server.unexpected()));
        let why = || serde_json::from_str::<String>(&event.data).map_err(|_| unexpected());
        match &*event.name {
            "change" => {
                let happened: Happened =
                    serde_json::from_str(&event.data).map_err(|_| unexpected())?;
                self.tell(happened.revision, tell)?;
                Ok(false)
            }
            "end" => Ok(true),
            "gone" | "deleted" => Err(Stop::For(Failure::new(Exit::NotFound, plain(&why()?)))),
            _ => Ok(false),
        }
    }

    fn tell(&self, revision: u64, tell: &mut Tell<'_>) -> Result<(), Stop> {
        let Watched { on, below, .. } = self.watched;
        let to = revision.to_string();
        let told = self.server.ask_what_differs(on, &[("to", &*to)], below);
        let told = told.map_err(|error| self.refused(&error))?;
        let (info, compared) = self.server.read_what_differs(&told)?;
        match compared.differences(below) {
            Some(found) if !found.is_empty() => Ok(tell(&info, &found)?),
            _ => Ok(()),
        }
    }

    fn address(&self) -> String {
        let (Watched { on, then, .. }, path) = (self.watched, self.node.to_string());
        let mut parameters = vec![("path", &*path)];
        parameters.extend(on.branch.map(|branch| ("branch", branch)));
        if then == After::End {
            parameters.push(("follow", "false"));
        }
        Remote::address(&["trees", on.tree, "watch"], &parameters)
    }

    fn refused(&self, error: &RemoteError) -> Stop {
        let failure = self.server.refused(error, Asked { on: self.watched.on, rev: None });
        match (error, error.kind()) {
            // A server that stops says so, or who stands before it.
            (RemoteError::Other { status: 502..=504, .. }, _) | (_, Some("stopped" | "full")) => {
                Stop::Lost(failure)
            }
            _ => failure.into(),
        }
    }
}

fn lost(why: &str) -> Stop {
    let message = format_args!("the connection to the server was lost: {why}");
    Stop::Lost(Failure::new(Exit::Unreachable, message))
}
