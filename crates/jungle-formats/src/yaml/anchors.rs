//! What anchors stand for, as JSON, so that aliases can say it again; within limits.

use std::collections::HashMap;

use jungle_tree::VALUE_BYTES_MAX;

/// All anchors together hold no more than this, and all aliases say no more than this.
const BYTES_MAX: usize = VALUE_BYTES_MAX;

/// What an anchor takes up, about, besides what it holds.
const ANCHOR_BYTES: usize = 64;

#[derive(Default)]
pub(super) struct Anchors {
    /// By the numbers that the parser gives them.
    ended: HashMap<usize, Box<str>>,
    /// Those in which the reading is, the outermost first.
    open: Vec<Open>,
    /// The JSON since the outermost one that is open.
    json: String,
    held: usize,
    said: usize,
    /// Was there more JSON in one that is open than is held?
    is_over: bool,
}

struct Open {
    number: usize,
    /// How many objects and arrays it is in.
    depth: usize,
    /// Where it begins in the JSON.
    begin: usize,
}

impl Anchors {
    /// A node with an anchor begins, behind so much JSON that was not told yet.
    pub(super) fn begin(&mut self, number: usize, depth: usize, untold: usize) {
        self.open.push(Open { number, depth, begin: self.json.len() + untold });
    }

    /// More JSON was written; the reading is in so many objects and arrays now.
    pub(super) fn tell(&mut self, json: &str, depth: usize) -> Result<(), String> {
        if self.open.is_empty() {
            return Ok(());
        }
        if self.json.len() + json.len() > BYTES_MAX {
            self.is_over = true;
            return Err(too_much());
        }
        self.json.push_str(json);
        while let Some(open) = self.open.pop_if(|open| open.depth == depth) {
            let text = &self.json[open.begin..];
            self.held += text.len() + ANCHOR_BYTES;
            self.ended.insert(open.number, text.into());
        }
        if self.held > BYTES_MAX {
            return Err(too_much());
        }
        if self.open.is_empty() {
            self.json.clear();
        }
        Ok(())
    }

    /// Was one of the limits passed?
    pub(super) fn are_over(&self) -> bool {
        self.is_over || self.held > BYTES_MAX || self.said > BYTES_MAX
    }

    /// What an alias stands for.
    pub(super) fn say(&mut self, number: usize) -> Result<&str, String> {
        let text = self.ended.get(&number).ok_or("an alias inside of what it stands for")?;
        self.said += text.len();
        if self.said > BYTES_MAX {
            return Err(format!("aliases stand for more than {BYTES_MAX} bytes of JSON"));
        }
        Ok(text)
    }
}

fn too_much() -> String {
    format!("anchors take more than {BYTES_MAX} bytes")
}
