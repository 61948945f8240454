//! The page of a board, by the very template of our server.

use askama::Template;
use jiff::Timestamp;

use super::Failure;

/// Messages on a page, as on ours.
pub const PAGE: usize = 50;

/// Characters that the field of a message takes, as ours does unless somebody sets another limit.
const CHARACTERS_MAX: usize = 16_000;

/// A message: when it was posted, in milliseconds, by whom, and what it says.
pub type Row = (i64, String, String);

#[derive(Template)]
#[template(path = "board.html")]
struct Page<'a> {
    has_accounts: bool,
    may_post: bool,
    name: &'a str,
    place: String,
    watch: String,
    total: usize,
    messages: Vec<Message<'a>>,
    characters_max: usize,
    newer: Option<String>,
    older: Option<String>,
}

struct Message<'a> {
    key: usize,
    place: String,
    author: &'a str,
    text: &'a str,
    whole: Option<String>,
    posted: String,
    posted_short: String,
    edits: i64,
}

/// The page, with the newest messages of a board. A message is named by its place among them: its
/// identifier has 36 bytes where ours has one, and would make the page longer. How many there are
/// in all is not known without counting them: it tells how many it has.
pub fn page(board: &str, rows: &[Row]) -> Result<String, Failure> {
    let shown = &rows[..rows.len().min(PAGE)];
    let messages = shown.iter().enumerate().map(|(key, (time, author, text))| {
        let time = Timestamp::from_millisecond(*time)?;
        Ok(Message {
            key,
            place: format!("/boards/{board}/{key}"),
            author,
            text,
            // A text is short here, and shown as it is.
            whole: None,
            posted: format!("{time:.6}"),
            posted_short: short(&time),
            edits: 0,
        })
    });
    let older = (rows.len() > PAGE).then(|| (PAGE - 1).to_string());
    let page = Page {
        has_accounts: false,
        may_post: true,
        name: board,
        place: format!("/boards/{board}"),
        watch: format!("/api/v1/trees/{board}/watch?after=0"),
        total: shown.len(),
        messages: messages.collect::<Result<_, Failure>>()?,
        characters_max: CHARACTERS_MAX,
        newer: None,
        older,
    };
    Ok(page.render()?)
}

/// `2026-11-22 01:30 UTC`
fn short(time: &Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
