use std::collections::HashSet;
use std::io::{self, BufReader, ErrorKind, Read};

use jungle_json::{ImportOptions, import};
use jungle_testkit::{Rng, for_each_seed};
use jungle_tree::{Arena, Path, Tree};
use serde_json::{Map, Value};

use super::read::Json;
use crate::table;

/// What is read of a file that comes in pieces of this size.
fn read(text: &[u8], piece: usize) -> Result<String, String> {
    let mut json = String::new();
    let read = Json::new(BufReader::with_capacity(piece, text)).read_to_string(&mut json);
    read.map(|_| json).map_err(|error| error.to_string())
}

#[test]
fn what_is_read_is_what_rfc_4180_says() {
    for_each_seed(8, |rng| {
        let mut taken = 0;
        for _ in 0..5_000 {
            let text = random_text(rng);
            let read = read(text.as_bytes(), 1 + rng.index(9));
            let expected = objects(text.strip_prefix('\u{feff}').unwrap_or(&text));
            let shown = read.as_ref().map(|json| serde_json::from_str::<Value>(json).unwrap());
            assert_eq!(shown.clone().ok(), expected, "{text:?}: {shown:?}");
            taken += usize::from(expected.is_some_and(|rows| rows.as_array().unwrap().len() > 1));
        }
        assert!(taken > 100, "only {taken} tables were taken");
    });
}

fn random_text(rng: &mut Rng) -> String {
    let parts = ["a", "b", ",", ",", "\"", "\"\"", "\",\"", "\r", "\n", "\r\n", "\n\"", "\"\n"];
    let mark = *rng.pick(&["", "", "\u{feff}", "\u{feff}\u{feff}"]);
    let header = *rng.pick(&["", "a\n", "a,b\r\n", "\"a\",b\r", "\n\n\"\"\r\n"]);
    let rest = (0..rng.index(12)).map(|_| *rng.pick(&parts));
    [mark, header].into_iter().chain(rest).collect()
}

/// The rows as objects, if they are a table.
fn objects(text: &str) -> Option<Value> {
    let mut rows = rows(text)?.into_iter();
    let header = rows.next()?;
    let are_distinct = header.iter().collect::<HashSet<_>>().len() == header.len();
    let object = |row: Vec<String>| {
        let members = header.iter().cloned().zip(row.iter().cloned().map(Value::from));
        (row.len() == header.len()).then(|| Value::from(members.collect::<Map<_, _>>()))
    };
    let objects = rows.map(object).collect::<Option<Vec<_>>>()?;
    are_distinct.then(|| objects.into())
}

const ENDS: [char; 2] = ['\r', '\n'];

/// The cells of all rows: the grammar of RFC 4180, but that lines end as they like, blank ones are
/// skipped, and quotes are text in cells that do not begin with one.
fn rows(text: &str) -> Option<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    let mut text = text.trim_start_matches(ENDS);
    while !text.is_empty() {
        let mut row = Vec::new();
        loop {
            let (cell, rest) = cell(text)?;
            row.push(cell);
            text = rest;
            let Some(rest) = rest.strip_prefix(',') else { break };
            text = rest;
        }
        rows.push(row);
        text = text.trim_start_matches(ENDS);
    }
    Some(rows)
}

fn cell(text: &str) -> Option<(String, &str)> {
    let ends = [',', ENDS[0], ENDS[1]];
    let Some(mut rest) = text.strip_prefix('"') else {
        let (cell, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
        return Some((cell.to_owned(), rest));
    };
    let mut cell = String::new();
    loop {
        let (text, after) = rest.split_once('"')?;
        cell.push_str(text);
        rest = after;
        let Some(after) = rest.strip_prefix('"') else { break };
        cell.push('"');
        rest = after;
    }
    (rest.is_empty() || rest.starts_with(ends)).then_some((cell, rest))
}

#[test]
fn a_quote_that_is_out_of_place_is_refused_with_its_line() {
    for (text, expected) in [
        // There are two, but no pair.
        ("size,note\n1,5\" x\n2,\"foo\n3,bar\n4,baz\n", "line 3: a quote is not closed"),
        ("a,b\r\n\r\nx,\"say \"hello\" to\"", "line 3: a cell goes on behind its closing quote"),
        ("a\n\"1\n2\"3\"\n", "line 3: a cell goes on behind its closing quote"),
        ("a\n\"1\"\"\n\"\"", "line 2: a quote is not closed"),
        ("\"", "line 1: a quote is not closed"),
    ] {
        assert_eq!(read(text.as_bytes(), 64), Err(expected.into()), "{text:?}");
    }
    let read = read(b"a,b\n5\" pipe,x\n", 64);
    assert_eq!(read.as_deref(), Ok(r#"[{"a":"5\" pipe","b":"x"}]"#));
}

#[test]
fn lines_are_those_in_which_rows_begin() {
    for end in ["\n", "\r\n", "\r"] {
        // The last row begins in line 7.
        let text = |row: &str| ["", "a,b", "", "\"1", "\",2", "", row, ""].join(end);
        for (row, expected) in [
            ("x", "line 7: 1 cells, where the header has 2"),
            ("x,y,z", "line 7: more than the 2 cells of the header"),
            ("\"x", "line 7: a quote is not closed"),
        ] {
            assert_eq!(read(text(row).as_bytes(), 5), Err(expected.into()), "{end:?}");
        }
        let mut text = text("x,").into_bytes();
        text.insert(text.len() - end.len(), 0xff);
        let expected = "line 7: cell 2 is not UTF-8";
        assert_eq!(read(&text, 64), Err(expected.into()), "{end:?}");
    }
}

#[test]
fn cells_are_counted_before_they_take_memory() {
    let commas = ",".repeat(1 << 20);
    let header = read(commas.as_bytes(), 1 << 13);
    assert_eq!(header, Err("line 1: more than 65536 columns".into()));
    let header = io::copy(&mut Json::new(commas.as_bytes()), &mut io::sink());
    assert_eq!(header.unwrap_err().kind(), ErrorKind::FileTooLarge);
    let row = read(format!("a,b\n1,2\n{commas}").as_bytes(), 1 << 13);
    assert_eq!(row, Err("line 3: more than the 2 cells of the header".into()));
    let names: Vec<String> = (0..65_536).map(|name| name.to_string()).collect();
    assert_eq!(read(names.join(",").as_bytes(), 1 << 13).as_deref(), Ok("[]"));
}

/// Each row has the names again.
#[test]
fn names_are_no_more_as_json_than_is_held() {
    let text = format!("a,{}\n", "\u{1}".repeat(22 << 20));
    let error = io::copy(&mut Json::new(text.as_bytes()), &mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert_eq!(error.to_string(), "line 1: this is more than 134217728 bytes as JSON");
}

#[test]
fn table_is_written_with_no_more_columns_than_are_read() {
    for (rows, is_table) in [(1024, true), (1025, false)] {
        let row = |row: u64| {
            let cells = (0..64).map(|cell| format!("\"{}\":0", 64 * row + cell));
            format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
        };
        let json = format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join(","));
        let mut tree = Tree::new(&Arena::new().unwrap());
        let options = ImportOptions::default();
        tree.edit(|editor| import(json.as_bytes(), editor, &[], &options, &mut |_| ())).unwrap();
        let fits = table::fits(tree.snapshot().root(), &Path::root());
        assert_eq!(fits.is_ok(), is_table, "{rows}");
    }
}
