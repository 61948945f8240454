//! A message: what its node holds, and how it is shown.

use jungle::{
    Draft, EditError, Key, KeyRef, Node, Path, Revision, Timestamp, TreeHandle, ValueRef,
};
use jungle_words::time;

use super::{part, place};
use crate::access::Visitor;
use crate::app::App;
use crate::limits::PAGE_BYTES;
use crate::problem::Problem;
use crate::query::{Query, limit};

/// Bytes of the name of an author.
const AUTHOR_BYTES_MAX: usize = 255;

/// Who posts without a name.
const NOBODY: &str = "anonymous";

/// Versions of a message that are shown.
const VERSIONS_MAX: usize = 100;

/// What a form says: the author of a message, or of an edit, and the text.
#[derive(Clone)]
pub(super) struct Words {
    pub(super) author: String,
    pub(super) text: String,
}

/// A message as it is shown.
pub(super) struct Message {
    pub(super) key: String,
    pub(super) place: String,
    pub(super) author: String,
    pub(super) text: String,
    /// Where all of the text is, if it is more than is shown.
    pub(super) whole: Option<String>,
    /// When it was written, exactly and for people.
    pub(super) posted: String,
    pub(super) posted_short: String,
    pub(super) edits: i64,
    /// Its last edit.
    pub(super) edited: Option<Edited>,
    /// The last revision in which it was as it was before its last edit.
    before: Option<Revision>,
}

/// Who edited a message, and when, exactly and for people.
pub(super) struct Edited {
    pub(super) by: String,
    pub(super) time: String,
    pub(super) time_short: String,
}

impl Words {
    /// Those of a form; the author is whoever is logged in, if anybody must be.
    pub(super) fn of(app: &Visitor, form: &Query) -> Result<Words, Problem> {
        let author = app.name().or(form.text("author")?).unwrap_or_default().trim();
        let text = form.long_text("text").unwrap_or_default().replace("\r\n", "\n");
        Words::new(app, author, text.trim_end())
    }

    pub(super) fn new(app: &App, author: &str, text: &str) -> Result<Words, Problem> {
        limit("the name", author, AUTHOR_BYTES_MAX)?;
        limit("the message", text, app.options.limits.board_message_bytes_max)?;
        if text.trim().is_empty() {
            return Err(Problem::bad("the message is empty"));
        }
        let author = if author.is_empty() { NOBODY } else { author };
        Ok(Words { author: author.to_owned(), text: text.to_owned() })
    }

    /// Puts a new message behind the others.
    pub(super) fn post(&self, draft: &mut Draft, time: Timestamp) -> Result<Key, EditError> {
        let key = draft.append(&[])?;
        let path = std::slice::from_ref(&key);
        draft.put_attribute(path, "author", &*self.author)?;
        draft.put_attribute(path, "text", &*self.text)?;
        draft.put_attribute(path, "time", time.as_micros())?;
        Ok(key)
    }

    /// Makes a message say this. It stays that of its author, from when it was written. It had so
    /// many edits, and the version that this one replaces is found at revision `before`.
    pub(super) fn replace(
        &self,
        draft: &mut Draft,
        path: &[Key],
        (edits, before): (i64, Option<Revision>),
        time: Timestamp,
    ) -> Result<(), EditError> {
        draft.put_attribute(path, "text", &*self.text)?;
        draft.put_attribute(path, "edited_by", &*self.author)?;
        draft.put_attribute(path, "edited", time.as_micros())?;
        draft.put_attribute(path, "edits", edits.saturating_add(1))?;
        if let Some(before) = before {
            let before = i64::try_from(before.number()).unwrap_or(i64::MAX);
            draft.put_attribute(path, "before", before)?;
        }
        Ok(())
    }
}

/// Characters that the field of a message takes: whatever they are, they fit.
pub(super) fn characters_max(app: &App) -> usize {
    app.options.limits.board_message_bytes_max / 4
}

impl Message {
    /// A child of a board's root, with so many bytes of its text at most: not only forms write
    /// there. `None` if it is no message.
    pub(super) fn of(
        (board, bytes_max): (&str, usize),
        key: KeyRef<'_>,
        node: Node<'_>,
    ) -> Option<Message> {
        let text = |name| node.attribute(name).and_then(ValueRef::as_text);
        let author = |name| text(name).map(|by| beginning(by, AUTHOR_BYTES_MAX).to_owned());
        let all = text("text")?;
        let shown = beginning(all, bytes_max);
        let whole = (shown.len() < all.len()).then(|| whole(board, key));
        let int = |name| node.attribute(name).and_then(ValueRef::as_int);
        let moment = |name| int(name).map(|time| time::text(Timestamp::from_micros(time)));
        let posted = moment("time")?;
        let edited = |by| {
            let time = moment("edited")?;
            Some(Edited { by, time_short: short(&time), time })
        };
        let before = int("before").and_then(|before| u64::try_from(before).ok());
        let key = key.to_string();
        Some(Message {
            place: format!("{}/{}", place(board), part(&key)),
            key,
            author: author("author")?,
            text: shown.to_owned(),
            whole,
            posted_short: short(&posted),
            posted,
            edits: int("edits").unwrap_or(0),
            edited: author("edited_by").and_then(edited),
            before: before.map(Revision::new),
        })
    }

    /// About how many bytes it takes on a page.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.author.len() + self.place.len()
    }

    /// Does it say where versions before this one are?
    pub(super) fn has_versions(&self) -> bool {
        self.before.is_some()
    }

    /// The versions before this one, the newest first, as many as are on a page, and whether those
    /// are all. One that was replaced before it had its place in a cluster's log is not found.
    pub(super) fn versions(
        &self,
        board: &TreeHandle,
        path: &Path,
        bytes_max: usize,
    ) -> (Vec<Message>, bool) {
        let (mut versions, mut bytes): (Vec<Message>, usize) = (Vec::new(), 0);
        let (name, mut before, mut edits) = (board.name(), self.before, self.edits);
        let mut is_complete = true;
        while let Some(revision) = before {
            let snapshot = board.at(revision).ok();
            let node = snapshot.as_ref().and_then(|snapshot| snapshot.root().at(path).ok());
            let key = path.last().expect("a message is below the root").as_ref();
            match node.and_then(|node| Message::of((&*name, bytes_max), key, node)) {
                Some(mut version) if versions.len() < VERSIONS_MAX && bytes < PAGE_BYTES => {
                    version.whole = version.whole.map(|whole| format!("{whole}&at={revision}"));
                    bytes += version.bytes();
                    // An attribute that somebody made up must not lead in circles.
                    before = version.before.filter(|older| *older < revision);
                    is_complete &= version.edits == edits - 1;
                    edits = version.edits;
                    versions.push(version);
                }
                _ => return (versions, false),
            }
        }
        (versions, is_complete && edits == 0)
    }
}

/// So many bytes of a text at most, up to the end of a character.
fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The address of all of a message's text.
fn whole(board: &str, key: KeyRef<'_>) -> String {
    let path = Path::root().join(key.to_key()).to_string();
    format!("/api/v1/trees/{}/value?path={}&attribute=text", part(board), part(&path))
}

/// `2026-11-22 01:30 UTC`
fn short(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}
