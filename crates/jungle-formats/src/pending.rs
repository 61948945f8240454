//! JSON that was written and not taken yet, of which there is only so much.

use jungle_json::write_value;
use jungle_tree::{VALUE_BYTES_MAX, ValueRef};

/// What one thing of a document (a value, a tag, a row) becomes is held whole, and has no more than
/// this: twice what a value may have. So a text has room of which each character is a quote or a
/// line end. It is too little only for controls, each of which becomes six bytes: 64 MiB of these
/// took half a gigabyte.
pub(crate) const JSON_BYTES_MAX: usize = 2 * VALUE_BYTES_MAX;

/// So much memory is kept from one thing to the next.
pub(crate) const KEPT_BYTES: usize = 1 << 20;

/// So much of a text is escaped at once.
const PIECE_BYTES: usize = 16 << 10;

pub(crate) struct Pending {
    json: String,
    /// How much of it was taken.
    taken: usize,
    bytes_max: usize,
    /// Was more written than there may be? Nothing is added then.
    is_over: bool,
    /// What is escaped, in quotes.
    piece: String,
}

impl Pending {
    /// What begins so.
    pub(crate) fn new(json: &str) -> Pending {
        Pending::within(JSON_BYTES_MAX, json)
    }

    fn within(bytes_max: usize, json: &str) -> Pending {
        let (taken, is_over, piece) = (0, false, String::new());
        Pending { json: json.into(), taken, bytes_max, is_over, piece }
    }

    /// With another limit.
    #[cfg(test)]
    pub(crate) fn limit(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Writes JSON.
    pub(crate) fn push(&mut self, json: &str) {
        if self.make_room(json.len()) {
            self.json.push_str(json);
        }
    }

    /// Writes a text, in quotes.
    pub(crate) fn text(&mut self, text: &str) {
        let (mut piece, mut rest) = (std::mem::take(&mut self.piece), text);
        self.push("\"");
        while !rest.is_empty() && !self.is_over {
            let (now, later) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            piece.clear();
            write_value(ValueRef::Text(now), &mut piece);
            // The quotes are around all of it.
            self.push(&piece[1..piece.len() - 1]);
            rest = later;
        }
        self.push("\"");
        self.piece = piece;
    }

    /// Is there room for so many bytes more?
    fn make_room(&mut self, bytes: usize) -> bool {
        let needed = self.json.len().saturating_add(bytes);
        if self.is_over || needed > self.bytes_max {
            self.is_over = true;
            return false;
        }
        if needed > self.json.capacity() {
            // By itself it would double, and so pass the limit.
            let wanted = self.json.capacity().saturating_mul(2).max(needed).min(self.bytes_max);
            self.json.reserve_exact(wanted - self.json.len());
        }
        true
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Says so if more was written than there may be.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.is_over {
            true => Err(format!("this is more than {} bytes as JSON", self.bytes_max)),
            false => Ok(()),
        }
    }

    /// All that was written since it was cleared.
    pub(crate) fn as_str(&self) -> &str {
        &self.json
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.taken == self.json.len()
    }

    /// Gives what comes next.
    pub(crate) fn take(&mut self, bytes: &mut [u8]) -> usize {
        let rest = &self.json.as_bytes()[self.taken..];
        let taken = rest.len().min(bytes.len());
        bytes[..taken].copy_from_slice(&rest[..taken]);
        self.taken += taken;
        taken
    }

    pub(crate) fn clear(&mut self) {
        self.json.clear();
        self.json.shrink_to(KEPT_BYTES);
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_pieces_is_the_text() {
        for count in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 1] {
            let text: String = "a\u{1}é\"\u{1f333}\n".chars().cycle().take(count).collect();
            let mut whole = String::from("[");
            write_value(ValueRef::Text(&text), &mut whole);
            let mut pending = Pending::new("[");
            pending.text(&text);
            assert!(pending.as_str() == whole && pending.check().is_ok(), "{count}");
        }
    }

    #[test]
    fn no_more_is_held_than_the_limit() {
        // Six bytes for each, and two quotes.
        for (controls, fits) in [(16, true), (17, false), (PIECE_BYTES, false)] {
            let mut pending = Pending::within(100, "");
            pending.text(&"\u{1}".repeat(controls));
            pending.push("x");
            assert_eq!((pending.check().is_ok(), pending.is_over()), (fits, !fits), "{controls}");
            assert!(pending.as_str().len() <= 100, "{controls}");
        }
    }

    #[test]
    fn memory_of_a_large_thing_is_given_back() {
        let mut pending = Pending::new("");
        pending.text(&"x".repeat(4 * KEPT_BYTES));
        assert!(pending.json.capacity() > KEPT_BYTES);
        pending.clear();
        assert!(pending.json.capacity() <= KEPT_BYTES && pending.is_taken());
    }
}
