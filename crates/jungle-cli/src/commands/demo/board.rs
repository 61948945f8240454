//! `jungle demo --board`: a board on which some days have gone by, made without a network.

use std::io::Write;
use std::path::Path as FilePath;
use std::time::Duration;

use jungle::{Clock, Key, Store, SystemClock, Timestamp, TreeHandle};
use jungle_server::{Board, BoardError};
use serde::Serialize;

use super::look_further;
use crate::clock;
use crate::failure::{Failure, failed};
use crate::output::{Format, count, json_line, stdout};

/// The tree.
const NAME: &str = "garden";

/// A branch that contradicts what was done since.
const BRANCH: &str = "draft";

/// A revision on the way.
const TAG: &str = "saturday";

/// What somebody did.
struct Deed {
    hours_ago: u64,
    /// Which message was edited, counted from 0; a new one was posted without.
    edits: Option<usize>,
    author: &'static str,
    text: &'static str,
}

const fn post(hours_ago: u64, author: &'static str, text: &'static str) -> Deed {
    Deed { hours_ago, edits: None, author, text }
}

const fn edit(hours_ago: u64, of: usize, author: &'static str, text: &'static str) -> Deed {
    Deed { hours_ago, edits: Some(of), author, text }
}

/// Up to where the branch begins.
const BEFORE: [Deed; 8] = [
    post(75, "ana", "Who has seeds to give away?"),
    post(74, "ben", "Beans and sunflowers. Take what you need."),
    post(52, "cleo", "The frost took my tomatoes. Does anybody have young plants?"),
    edit(51, 0, "ana", "Who has seeds to give away? Peas would be best."),
    post(50, "ben", "Three are on the bench by the gate."),
    post(30, "dana", "We meet on Saturday at nine to mend the fence."),
    edit(29, 4, "dana", "We meet on Saturday at ten to mend the fence."),
    post(28, "cleo", "Ten is better. I bring nails."),
];

/// On the branch.
const ASIDE: [Deed; 2] = [
    edit(26, 4, "ben", "We meet on Saturday at ten to mend the fence. Bring gloves."),
    post(25, "ben", "After the fence: soup for everybody."),
];

/// On main meanwhile.
const SINCE: [Deed; 2] = [
    post(6, "ana", "The peas are up!"),
    edit(2, 4, "dana", "We meet on Sunday at ten to mend the fence: it will rain on Saturday."),
];

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    folder: String,
    tree: &'static str,
    branch: &'static str,
    messages: u64,
    revision: u64,
}

/// Makes the board, unless it was made before, and says how to look at it.
pub(super) fn run(store: &Store, place: &FilePath, format: Format) -> Result<(), Failure> {
    let tree = match store.open_tree(NAME) {
        Ok(tree) => tree,
        Err(_) => grow(store)?,
    };
    let newest = tree.snapshot();
    let told = Told {
        folder: place.display().to_string(),
        tree: NAME,
        branch: BRANCH,
        messages: newest.root().child_count(),
        revision: newest.revision().number(),
    };
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => explore(&mut out, &told)?,
    }
    Ok(out.flush()?)
}

/// Makes the board, as if it had been in use for some days.
fn grow(store: &Store) -> Result<TreeHandle, Failure> {
    let now = SystemClock.now();
    let (made, branched) = (Some(hours_before(now, 76)), Some(hours_before(now, 27)));
    let tree = clock::at(made, || store.create_tree(NAME)).map_err(failed)?;
    let board = clock::at(made, || Board::of(tree.clone())).map_err(failed)?;
    let mut messages = Vec::new();
    all(&BEFORE, &board, &mut messages, now)?;

    let begin = tree.snapshot().revision();
    clock::at(branched, || tree.tag(TAG, begin)).map_err(failed)?;
    let draft = clock::at(branched, || tree.branch(BRANCH, begin)).map_err(failed)?;
    let draft = Board::of(draft).map_err(failed)?;
    all(&ASIDE, &draft, &mut messages.clone(), now)?;
    all(&SINCE, &board, &mut messages, now)?;
    Ok(tree)
}

fn hours_before(now: Timestamp, hours: u64) -> Timestamp {
    now.before(Duration::from_secs(3600 * hours))
}

/// Does one after the other; `messages` are the keys of those that are there.
fn all(
    deeds: &[Deed],
    board: &Board,
    messages: &mut Vec<Key>,
    now: Timestamp,
) -> Result<(), Failure> {
    for deed in deeds {
        let time = hours_before(now, deed.hours_ago);
        clock::at(Some(time), || deed.act(board, messages, time)).map_err(failed)?;
    }
    Ok(())
}

impl Deed {
    fn act(
        &self,
        board: &Board,
        messages: &mut Vec<Key>,
        time: Timestamp,
    ) -> Result<(), BoardError> {
        match self.edits {
            Some(message) => board.edit(&messages[message], self.author, self.text, time)?,
            None => messages.push(board.post(self.author, self.text, time)?),
        }
        Ok(())
    }
}

fn explore(out: &mut impl Write, told: &Told) -> std::io::Result<()> {
    let Told { folder, messages, .. } = told;
    let messages = count(*messages, "message");
    writeln!(out, "{folder} has the board {NAME}: {messages} of some days, a few of them edited,")?;
    writeln!(out, "and a branch {BRANCH}, which is to be merged and has conflicts with main.")?;
    writeln!(out)?;
    writeln!(out, "Look at the board, and at its history in the explorer:")?;
    writeln!(out, "  cargo run --release -- serve --data {folder} --open")?;
    let commands = [
        format!("log {folder} {NAME}"),
        format!("diff {folder} {NAME} {TAG} main"),
        format!("merge --dry-run {folder} {NAME} {BRANCH}"),
    ];
    look_further(out, &commands)
}
