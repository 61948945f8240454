//! Watching what a server shows that commits by itself: that there is something new, as soon as it
//! is here, whether or not it has its place in the log.

use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use jungle::{Path, TreeHandle};
use serde_json::json;
use tokio::sync::watch::Receiver;

use super::watch::{End, Ended, LAST_EVENT_ID, Out, QUIET};
use super::{Named, event};
use crate::access::{Need, Role, View, Visitor, share};
use crate::body::pieces;
use crate::etag::Edition;
use crate::hub::Subscription;
use crate::problem::{Kind, Problem};
use crate::query::Query;

/// How long it rests when it has told something: what comes meanwhile is told together.
const REST: std::time::Duration = std::time::Duration::from_millis(20);

pub(crate) async fn watch(
    app: Visitor,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["after"])?;
    let tree = app.tree(&name, Need::whole(Role::Read))?;
    let Some(outbox) = app.boards.outbox() else {
        let detail = "boards are not posted to at level local here";
        return Err(
            Problem::new(Kind::NoSuchAddress, detail).hint("watch the tree's revisions at `watch`")
        );
    };
    let place = share(&app.watchers, app.whose(), "streams that watch")?;
    // Before it is looked: what comes from here on is told.
    let news = outbox.news();
    let placed = app.hubs.subscribe(&tree, (Path::root(), View::WHOLE))?;
    let now = app.boards.look(&tree)?.edition.to_string();
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let seen = last.or(query.text("after")?).map_or(now, str::to_owned);
    let end = End::of(&app, &tree, &name);
    let (send, body) = pieces();
    tokio::spawn(async move {
        let _present = app.metrics.watchers.enter();
        let _watched = app.metrics.panics.on_unwind();
        let mut out = Out { send, end };
        let begun = out.send(Bytes::from_static(b"retry: 1000\n\n")).await;
        if begun.is_ok() {
            // Whoever goes away, or the server that stops, is the end.
            let app = app.clone();
            let _ = Live { app, tree, seen, news, placed }.tell(&mut out).await;
        }
        drop(place);
    });
    let stream = (CONTENT_TYPE, "text/event-stream");
    Ok(([stream, (CACHE_CONTROL, "no-store")], body).into_response())
}

/// Somebody who is told.
struct Live {
    app: Visitor,
    tree: TreeHandle,
    /// The edition that was told last.
    seen: String,
    /// What was kept here.
    news: Receiver<()>,
    /// What got its place.
    placed: Subscription,
}

impl Live {
    async fn tell(&mut self, out: &mut Out) -> Result<(), Ended> {
        loop {
            let Ok(now) = self.app.boards.look(&self.tree) else { return Ok(()) };
            let now: Edition = now.edition;
            if now.to_string() != self.seen {
                self.seen = now.to_string();
                let data = json!({"revision": now.revision().number(), "pending": now.is_ahead()});
                out.send(event::named("change", Some(&now), &data.to_string())).await?;
                tokio::time::sleep(REST).await;
                continue;
            }
            let mut end = out.end.clone();
            tokio::select! {
                told = self.news.changed() => told.map_err(|_| Ended)?,
                next = self.placed.queue.next() => {
                    // The branch was deleted.
                    next.ok_or(Ended)?;
                    while self.placed.queue.next_now().is_some() {}
                }
                () = self.placed.lost.wait() => {}
                () = out.closed() => return Err(Ended),
                () = end.wait() => return Err(Ended),
                () = tokio::time::sleep(QUIET) => out.send(Bytes::from_static(b":\n\n")).await?,
            }
        }
    }
}
