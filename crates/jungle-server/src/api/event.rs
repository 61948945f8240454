//! Events for those who watch.

use std::fmt::Display;

use bytes::Bytes;
use jungle::{Change, WatchEvent};
use jungle_words::time;
use serde_json::Value as Json;

use super::change::Shown;
use super::seen::Seen;
use crate::access::View;

/// Changes that are told of a revision, and bytes; where there are more it says so, and tells none.
const CHANGES_MAX: usize = 1000;
const BYTES_MAX: usize = 2 << 20;

/// What a revision did, as far as it is wanted and may be told, as a server-sent event.
pub(crate) fn frame(event: &WatchEvent, is_wanted: &dyn Fn(&Change) -> bool, view: &View) -> Bytes {
    let info = &event.info;
    let (revision, time) = (info.revision, Json::from(time::text(info.time)));
    let author = Json::from(info.meta.author_name());
    let message = Json::from(info.meta.message_text());
    let changes = match changes(event, is_wanted, view) {
        Some(changes) => format!(r#""changes":{changes}"#),
        None => r#""changes":[],"cut":true"#.to_owned(),
    };
    let head = format!(r#""revision":{revision},"time":{time},"author":{author}"#);
    let data = format!(r#"{{{head},"message":{message},{changes}}}"#);
    named("change", Some(&Seen::of(info)), &data)
}

/// The changes as JSON, unless there are too many. Each may be long: no more of them is written
/// than is told.
fn changes(event: &WatchEvent, is_wanted: &dyn Fn(&Change) -> bool, view: &View) -> Option<String> {
    let wanted = event.changes.iter().filter(|change| is_wanted(change));
    let mut text = String::from("[");
    for (count, change) in wanted.enumerate() {
        if count == CHANGES_MAX {
            return None;
        }
        if count > 0 {
            text.push(',');
        }
        let shown = Shown { change, before: None, view };
        text.push_str(&serde_json::to_string(&shown).expect("plain data"));
        if text.len() > BYTES_MAX {
            return None;
        }
    }
    text.push(']');
    Some(text)
}

/// An event; `data` is one line.
pub(crate) fn named(name: &str, id: Option<&dyn Display>, data: &str) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    Bytes::from(format!("{id}event: {name}\ndata: {data}\n\n"))
}
