//! Events for those who watch.

use std::fmt::Display;

use bytes::Bytes;
use jungle::{Change, WatchEvent};
use jungle_words::time;
use serde_json::json;

use super::change::Shown;
use super::seen::Seen;
use crate::access::View;

/// Changes that are told of a revision, and bytes; where there are more it says so, and tells none.
const CHANGES_MAX: usize = 1000;
const BYTES_MAX: usize = 2 << 20;

/// What a revision did, as far as it is wanted and may be told, as a server-sent event.
pub(crate) fn frame(event: &WatchEvent, is_wanted: &dyn Fn(&Change) -> bool, view: &View) -> Bytes {
    let info = &event.info;
    let wanted = || event.changes.iter().filter(|change| is_wanted(change));
    let data = |is_cut: bool| {
        let wanted = wanted().take(if is_cut { 0 } else { CHANGES_MAX });
        let changes: Vec<_> = wanted.map(|change| Shown { change, before: None, view }).collect();
        let mut data = json!({
            "revision": info.revision.number(),
            "time": time::text(info.time),
            "author": info.meta.author_name(),
            "message": info.meta.message_text(),
            "changes": changes,
        });
        if is_cut {
            data["cut"] = true.into();
        }
        data.to_string()
    };
    let is_short = wanted().nth(CHANGES_MAX).is_none();
    let whole = is_short.then(|| data(false)).filter(|whole| whole.len() <= BYTES_MAX);
    named("change", Some(&Seen::of(info)), &whole.unwrap_or_else(|| data(true)))
}

/// An event; `data` is one line.
pub(crate) fn named(name: &str, id: Option<&dyn Display>, data: &str) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    Bytes::from(format!("{id}event: {name}\ndata: {data}\n\n"))
}
