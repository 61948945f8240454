//! Watching: what happens, in order, without gaps.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use jungle::{Change, NoSuchRevision, Path, Revision, TreeHandle, WatchError};
use tokio::sync::mpsc;

use super::seen::Seen;
use super::{Named, event};
use crate::access::{Need, View, Visitor, share};
use crate::app::Stopping;
use crate::body::pieces;
use crate::hub::{QUEUE_BYTES, Subscription};
use crate::problem::{Kind, Problem, not_yet};
use crate::query::Query;

pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A sign of life is sent when nothing happened for this long, so that nobody between takes the
/// connection for dead.
pub(super) const QUIET: Duration = Duration::from_secs(15);

/// Events that are read from the history at once, where they are short.
const BATCH: usize = 64;

/// Revisions that are looked at for that, of which few may concern the client.
const REVISIONS_MAX: usize = 10_000;

/// What to do about another history.
const ANEW: &str = "the history was put back since, as from a backup: read the tree anew, and go \
                    on after the revision that it has";

pub(crate) async fn watch(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["path", "branch", "after", "follow"])?;
    let path = query.path()?;
    let follows = query.one_of("follow", &["true", "false"])? == 0;
    let tree = app.branch(&name, &query, Need::read(&path))?;
    let after: Option<Seen> = match (headers.get(LAST_EVENT_ID), query.parsed("after")?) {
        (Some(id), _) => {
            let id = id.to_str().ok().and_then(|id| id.parse().ok());
            Some(id.ok_or_else(|| Problem::bad("Last-Event-ID is no revision"))?)
        }
        (None, after) => after,
    };
    let view = app.view(&name);
    let place = share(&app.watchers, app.whose(), "streams that watch")?;
    let subscription = app.hubs.subscribe(&tree, (path.clone(), view.clone()))?;
    // After the subscription: what is committed from here on is told.
    let after = after.unwrap_or_else(|| Seen::number(tree.snapshot().revision()));
    check_ahead(&app, after.revision)?;
    let end = End::of(&app, &tree, &name);
    let doubt = after.is_exact().then_some(after);
    let (visitor, seen) = (app.clone(), after.revision);
    let mut reader = Reader { app: visitor, tree, path, view, follows, seen, doubt };
    let (begin, first) = reader.begin(after).await?;
    let (send, body) = pieces();
    tokio::spawn(async move {
        let _present = app.metrics.watchers.enter();
        let _watched = app.metrics.panics.on_unwind();
        let mut out = Out { send, end };
        // Whoever goes away, or the server that stops, is the end.
        // The id says from where to go on if the connection is lost before something happens.
        let begin = Bytes::from(format!("retry: 1000\nid: {begin}\n\n"));
        let _ = async {
            out.send(begin).await?;
            stream(&mut reader, &mut out, subscription, first).await
        }
        .await;
        drop(place);
    });
    let stream = (CONTENT_TYPE, "text/event-stream");
    Ok(([stream, (CACHE_CONTROL, "no-store")], body).into_response())
}

/// Who has seen more than there is saw what was lost since, and would miss what gets those numbers
/// now. A server of a cluster only has to catch up with the one that the client had before.
fn check_ahead(app: &Visitor, after: Revision) -> Result<(), Problem> {
    if after <= app.newest() || app.cluster.is_some() {
        return Ok(());
    }
    Err(not_yet(after).hint(ANEW))
}

/// Where a client is in the history.
struct Reader {
    app: Visitor,
    tree: TreeHandle,
    path: Path,
    view: View,
    /// Does it go on with what comes, when it was told what there is?
    follows: bool,
    seen: Revision,
    /// Which commit the client says that this is, while it is not known whether it is.
    doubt: Option<Seen>,
}

/// What was read of the history.
struct Read {
    frames: Vec<Bytes>,
    /// Was that all?
    is_all: bool,
}

impl Reader {
    /// Where it begins and the first events, so that an error is an answer and not an event.
    async fn begin(&mut self, after: Seen) -> Result<(Seen, Read), Problem> {
        let first = self.read().await?;
        // Who names a number is told which commit it is here, to name that from now on.
        let is_told = !after.is_exact() && after.revision <= self.app.newest();
        let begin = if is_told { Seen::up_to(&self.tree, after.revision)? } else { after };
        Ok((begin, first))
    }

    /// Finds out whether the client has seen this history, as soon as the server has that much.
    fn settle(&mut self) -> Result<(), Stopped> {
        // Asked before the history is: what has a number by now is in it.
        let newest = self.app.newest();
        let Some(seen) = self.doubt.filter(|seen| seen.revision <= newest) else {
            return Ok(());
        };
        if seen.is_in(&self.tree).map_err(WatchError::from)? {
            self.doubt = None;
            return Ok(());
        }
        let seen = seen.revision;
        match self.tree.at(seen) {
            Err(NoSuchRevision::TooOld { oldest }) => {
                Err(WatchError::TooOld { seen, oldest }.into())
            }
            _ => Err(Stopped::Another(seen)),
        }
    }

    /// Has this revision come here that the client saw elsewhere, and may it be another commit?
    fn is_in_doubt(&self, revision: Revision) -> bool {
        self.doubt.is_some_and(|seen| seen.revision <= revision)
    }

    /// Reads on in the history, in line with all others who look at much: not for long at a time,
    /// since what was begun goes on when the client goes away.
    async fn read(&mut self) -> Result<Read, Stopped> {
        let mut watch = self.tree.watch(&self.path, self.seen);
        let (path, view) = (self.path.clone(), self.view.clone());
        let newest = self.tree.snapshot().revision();
        // Behind that, so that no event is read after something that is in doubt.
        self.settle()?;
        if newest <= self.seen {
            // A deleted branch says so.
            watch.next()?;
            return Ok(Read { frames: Vec::new(), is_all: true });
        }
        let tree = self.tree.clone();
        let read = self.app.in_line(move || {
            let (mut frames, mut bytes, mut revisions) = (Vec::new(), 0, REVISIONS_MAX);
            while frames.len() < BATCH && bytes < QUEUE_BYTES {
                match watch.next_within(&mut revisions) {
                    Ok(Some(found)) => {
                        let is_wanted = |change: &Change| change.concerns(&path);
                        let frame = event::frame(&found, &is_wanted, &view);
                        bytes += frame.len();
                        frames.push(frame);
                    }
                    Ok(None) if revisions > 0 => return Ok(Ok((watch.seen(), frames, true))),
                    Ok(None) => {
                        // A client that is cut off goes on from here.
                        let seen = Seen::up_to(&tree, watch.seen()).ok();
                        frames.extend(seen.map(|seen| Bytes::from(format!("id: {seen}\n\n"))));
                        break;
                    }
                    Err(_) if !frames.is_empty() => break,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok((watch.seen(), frames, false)))
        });
        let read = read.await.map_err(|problem| Stopped::Refused(Box::new(problem)))?;
        let (seen, frames, is_all) = read?;
        self.seen = seen;
        Ok(Read { frames, is_all })
    }
}

/// Why nothing more was read.
enum Stopped {
    Watch(WatchError),
    /// The client has seen another commit of this number than there is.
    Another(Revision),
    /// A bug, or the line is too long.
    Refused(Box<Problem>),
}

impl Stopped {
    /// The event that says why there are no more. Without one it is not for ever: who comes again
    /// goes on where they were.
    fn last(&self) -> Option<Bytes> {
        let (name, why) = match self {
            Stopped::Watch(error @ WatchError::Deleted) => ("deleted", error.to_string()),
            Stopped::Watch(
                error @ (WatchError::TooOld { .. } | WatchError::TooManySteps { .. }),
            ) => ("gone", error.to_string()),
            Stopped::Another(seen) => ("gone", another(*seen)),
            Stopped::Watch(_) | Stopped::Refused(_) => return None,
        };
        Some(event::named(name, None, &serde_json::Value::from(why).to_string()))
    }
}

fn another(seen: Revision) -> String {
    format!("revision {seen} is another commit than the one that was seen")
}

impl From<WatchError> for Stopped {
    fn from(error: WatchError) -> Stopped {
        Stopped::Watch(error)
    }
}

impl From<Stopped> for Problem {
    fn from(stopped: Stopped) -> Problem {
        match stopped {
            Stopped::Watch(error) => error.into(),
            Stopped::Another(seen) => Problem::new(Kind::Gone, another(seen)).hint(ANEW),
            Stopped::Refused(problem) => *problem,
        }
    }
}

/// Where the events go.
pub(super) struct Out {
    pub(super) send: mpsc::Sender<Bytes>,
    pub(super) end: End,
}

/// Why a stream ends although the client is there.
#[derive(Clone)]
pub(super) struct End {
    stopping: Stopping,
    /// The server follows its cluster no further.
    fault: Stopping,
    visitor: Visitor,
    tree: TreeHandle,
    /// By which it was asked for the tree, and let in.
    name: Arc<str>,
}

impl End {
    pub(super) fn of(visitor: &Visitor, tree: &TreeHandle, name: &str) -> End {
        let (stopping, fault) = (visitor.stopping.clone(), visitor.faults.wait());
        End { stopping, fault, visitor: visitor.clone(), tree: tree.clone(), name: name.into() }
    }

    /// Has the tree another name by now? There may be other rules for that.
    fn is_renamed(&self) -> bool {
        self.tree.name() != self.name
    }

    /// Waits until the server stops, or has nothing more to say, or something else was granted: the
    /// client that comes again, which loses nothing by it, is asked anew who it is.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            () = self.stopping.wait() => {}
            () = self.fault.wait() => {}
            () = self.visitor.changed() => {}
        }
    }
}

/// Nobody listens any more, or nobody should.
pub(super) struct Ended;

impl Out {
    /// Waits until nobody listens any more.
    pub(super) async fn closed(&self) {
        self.send.closed().await;
    }

    pub(super) async fn send(&mut self, frame: Bytes) -> Result<(), Ended> {
        if self.end.is_renamed() {
            return Err(Ended);
        }
        tokio::select! {
            sent = self.send.send(frame) => sent.map_err(|_| Ended),
            () = self.end.wait() => Err(Ended),
        }
    }
}

async fn stream(
    reader: &mut Reader,
    out: &mut Out,
    mut subscription: Subscription,
    first: Read,
) -> Result<(), Ended> {
    let mut read: Result<Read, Stopped> = Ok(first);
    loop {
        // The history, to its end; then what the hub hands on, until something of that is lost.
        loop {
            match read {
                Ok(Read { frames, is_all }) => {
                    for frame in frames {
                        out.send(frame).await?;
                    }
                    if is_all && !reader.follows {
                        return out.send(event::named("end", None, "null")).await;
                    }
                    if is_all {
                        break;
                    }
                }
                Err(stopped) => {
                    let last = stopped.last().ok_or(Ended)?;
                    return out.send(last).await;
                }
            }
            read = read_on(reader, out).await?;
        }
        let is_over = live(reader, out, &mut subscription).await?;
        read = read_on(reader, out).await?;
        if is_over && read.is_ok() {
            return Ok(());
        }
    }
}

/// Reads on while somebody listens.
async fn read_on(reader: &mut Reader, out: &Out) -> Result<Result<Read, Stopped>, Ended> {
    let mut end = out.end.clone();
    tokio::select! {
        read = reader.read() => Ok(read),
        () = out.closed() => Err(Ended),
        () = end.wait() => Err(Ended),
    }
}

/// Hands on what happens until something is lost, or in doubt, which the history tells; or until
/// nobody tells any more: `true` then.
async fn live(
    reader: &mut Reader,
    out: &mut Out,
    subscription: &mut Subscription,
) -> Result<bool, Ended> {
    loop {
        let mut end = out.end.clone();
        tokio::select! {
            biased;
            next = subscription.queue.next() => match next {
                Some((revision, _)) if reader.is_in_doubt(revision) => return Ok(false),
                Some((revision, frame)) if revision > reader.seen => {
                    reader.seen = revision;
                    out.send(frame).await?;
                }
                Some(_) => {}
                None => return Ok(true),
            },
            () = subscription.lost.wait() => return Ok(false),
            () = out.send.closed() => return Err(Ended),
            () = end.wait() => return Err(Ended),
            () = tokio::time::sleep(QUIET) => {
                out.send(Bytes::from_static(b":\n\n")).await?;
                // It may have come by now, and concern others only.
                if reader.doubt.is_some() {
                    return Ok(false);
                }
            }
        }
    }
}
