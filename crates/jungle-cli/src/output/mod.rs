//! What is printed, and how values and sizes are shown.

pub(crate) mod bar;
pub(crate) mod info;
pub(crate) mod pager;
mod rows;

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use jungle_json::{ExportOptions, Member, export, write_value};

use self::rows::Rows;
use crate::interrupt;

/// For whom output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: a line of JSON for each thing.
    Json,
}

/// What goes on to standard output, or to a pager, in large pieces.
type Pieces = BufWriter<AutoStream<Box<dyn Write>>>;

/// Standard output.
enum Out {
    AsWritten(Pieces),
    Tables(Box<Rows<Pieces>>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        interrupt::go_on_printing()?;
        match self {
            Out::AsWritten(out) => out.write(bytes),
            Out::Tables(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::AsWritten(out) => out.flush(),
            Out::Tables(out) => out.flush(),
        }
    }
}

/// Standard output, or what goes on to it, in large pieces; colours are taken out where they are
/// not wanted, but for JSON. Where tables are, it takes lines of JSON and draws them.
pub(crate) fn stdout() -> impl Write {
    if IS_DATA.load(Ordering::SeqCst) {
        return printed(ColorChoice::AlwaysAnsi);
    }
    // A pager passes them on to where that goes.
    printed(AutoStream::choice(&io::stdout()))
}

/// Standard output for a document: nothing is taken out of it.
pub(crate) fn document() -> impl Write {
    printed(ColorChoice::AlwaysAnsi)
}

fn printed(choice: ColorChoice) -> Out {
    let out: Box<dyn Write> = match pager::output() {
        Some(paged) => Box::new(paged),
        None => Box::new(io::stdout().lock()),
    };
    // The buffer is outside, so that colours are looked for in large pieces.
    let out = BufWriter::with_capacity(64 << 10, AutoStream::new(out, choice));
    match ARE_TABLES.load(Ordering::SeqCst) {
        false => Out::AsWritten(out),
        true => Out::Tables(Box::new(Rows::new(out, terminal_width()))),
    }
}

/// How many columns the terminal has, if standard output is one and says so.
#[cfg(target_os = "linux")]
fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(size.ws_col).filter(|&columns| columns > 0)
}

/// Elsewhere nothing is cut: the terminal breaks lines.
#[cfg(not(target_os = "linux"))]
fn terminal_width() -> Option<u16> {
    None
}

/// Who wants lines of JSON drawn as tables. As with colours, that is so for the whole process.
static ARE_TABLES: AtomicBool = AtomicBool::new(false);

/// From now on, what is printed is lines of JSON, drawn as tables; or is not any more.
pub(crate) fn draw_tables(are_wanted: bool) {
    ARE_TABLES.store(are_wanted, Ordering::SeqCst);
}

/// Who wants JSON: what looks like a colour is data there. As with colours, that is so for the
/// whole process.
static IS_DATA: AtomicBool = AtomicBool::new(false);

/// From now on, nothing is taken out of what is printed; or colours are again.
pub(crate) fn be_data(is_data: bool) {
    IS_DATA.store(is_data, Ordering::SeqCst);
}

/// Who wants only what was asked for. As with colours, that is so for the whole process.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Says from now on only what was asked for, or more again.
pub(crate) fn be_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::SeqCst);
}

pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::SeqCst)
}

/// Standard output for what was done, which is nothing that was asked for.
pub(crate) fn notice() -> Box<dyn Write> {
    if is_quiet() { Box::new(io::sink()) } else { Box::new(stdout()) }
}

/// Are colours wanted on standard output?
pub(crate) fn is_colored() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// A note for people, on standard error.
pub(crate) fn say(note: impl std::fmt::Display) {
    if is_quiet() {
        return;
    }
    // There is nobody left to tell that this could not be told.
    let _ = writeln!(anstream::stderr(), "{note}");
}

/// A line of JSON.
pub(crate) fn json_line(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(value).expect("plain data"))
}

/// Tells programs what was done. People are told by nothing: it went as they said.
pub(crate) fn done(format: Format, told: &impl serde::Serialize) -> io::Result<()> {
    if format == Format::Text {
        return Ok(());
    }
    let mut out = notice();
    json_line(&mut out, told)?;
    out.flush()
}

/// A value as JSON on one line, all of it.
pub(crate) fn json(member: Member<'_>) -> String {
    let mut text = String::new();
    match member {
        Member::Value(value) => write_value(value, &mut text),
        Member::Node(node) => {
            let mut bytes = Vec::new();
            export(node, &mut bytes, &ExportOptions::default()).expect("memory takes everything");
            text = String::from_utf8(bytes).expect("JSON is text");
        }
    }
    text
}

/// A value as JSON on one line, no longer than about `chars_max`.
pub(crate) fn short(member: Member<'_>, chars_max: usize) -> String {
    let text = match member {
        Member::Value(_) => json(member),
        Member::Node(node) => {
            let mut head = Head { bytes: Vec::new(), bytes_max: 4 * chars_max + 4 };
            // It fails when there is enough.
            let _ = export(node, &mut head, &ExportOptions::default());
            String::from_utf8_lossy(&head.bytes).into_owned()
        }
    };
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Takes the first bytes, then no more.
struct Head {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max - self.bytes.len();
        let taken = bytes.len().min(room);
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `1,234,567`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 node`, `2 nodes`
pub(crate) fn count(number: u64, unit: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {unit}{plural}", grouped(number))
}

/// `20.6 MB`
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes as f64 >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_sizes_rounded() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count(1, "node"), count(2000, "node")], ["1 node", "2,000 nodes"]);
        assert_eq!([7, 1500, 20_621_633].map(size), ["7 bytes", "1.5 kB", "20.6 MB"]);
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let text = "é".repeat(300);
        let value = Member::Value(jungle_tree::ValueRef::Text(&text));
        assert_eq!(short(value, 4), "\"ééé…");
    }
}
