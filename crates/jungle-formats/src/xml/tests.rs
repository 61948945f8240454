use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};

use jungle_json::{ImportOptions, import};
use jungle_tree::{Arena, Tree};

use super::read::Json;

const ROW: &str = r#"<row id="7">some text</row>"#;
const ROW_JSON: &str = r##"{"#name":"row","id":"7","#children":["some text"]},"##;

/// So many rows, each of which is there when it is read.
struct Rows<'g> {
    left: u64,
    /// So much was taken of the first of them.
    at: usize,
    /// And so much of all.
    given: &'g Cell<u64>,
}

impl BufRead for Rows<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let row = ROW.as_bytes();
        Ok(if self.left == 0 { &row[..0] } else { &row[self.at..] })
    }

    fn consume(&mut self, amount: usize) {
        self.given.set(self.given.get() + amount as u64);
        self.at += amount;
        if self.at == ROW.len() {
            (self.left, self.at) = (self.left - 1, 0);
        }
    }
}

impl Read for Rows<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let taken = self.fill_buf()?.read(bytes)?;
        self.consume(taken);
        Ok(taken)
    }
}

/// What was read of a document and is not in the tree yet is a thousandth of it.
#[test]
fn a_document_is_not_held_whole_while_it_is_imported() {
    const ROWS: u64 = 100_000;
    let (row, row_json) = (ROW.len() as u64, ROW_JSON.len() as u64);
    let given = Cell::new(0);
    let rows = Rows { left: ROWS, at: 0, given: &given };
    let document = b"<all>".as_slice().chain(rows).chain(b"</all>".as_slice());
    let (mut times, mut held_max) = (0, 0_u64);
    let mut told = |imported: u64| {
        times += 1;
        held_max = held_max.max(given.get().saturating_sub(imported / row_json * row));
    };
    let mut tree = Tree::new(&Arena::new().unwrap());
    let (json, options) = (Json::new(document), ImportOptions::default());
    let summary = tree.edit(|editor| import(json, editor, &[], &options, &mut told)).unwrap();
    assert_eq!(given.get(), ROWS * row);
    assert_eq!(summary.bytes / row_json, ROWS);
    assert!(times > 10, "{times}");
    assert!(held_max <= ROWS * row / 1000, "{held_max} of {}", ROWS * row);
}

#[test]
fn text_is_not_longer_for_its_references() {
    let part = format!("{}&amp;", "x".repeat(1 << 20));
    for (parts, kind) in [(63, None), (64, Some(ErrorKind::FileTooLarge))] {
        let text = format!("<a>{}</a>", part.repeat(parts));
        let read = io::copy(&mut Json::new(text.as_bytes()), &mut io::sink());
        assert_eq!(read.err().map(|error| error.kind()), kind, "{parts}");
    }
    let read = io::copy(&mut Json::new(&b"<a>&amp;</b>"[..]), &mut io::sink());
    assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidData);
}

/// Each becomes six bytes.
#[test]
fn controls_are_no_more_as_json_than_is_held() {
    for (mib, kind) in [(21, None), (22, Some(ErrorKind::FileTooLarge))] {
        let text = format!("<a>{}</a>", "\u{1}".repeat(mib << 20));
        let read = io::copy(&mut Json::new(text.as_bytes()), &mut io::sink());
        assert_eq!(read.err().map(|error| error.kind()), kind, "{mib} MiB");
    }
}
