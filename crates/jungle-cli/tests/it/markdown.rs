//! Tables of Markdown: a cell shows the text that it is.

use jungle_testkit::{Rng, for_each_seed};

use crate::Folder;
use crate::documents::ODD;

#[test]
fn random_tables_show_the_cells_of_the_table_as_csv() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("markdown_{}", rng.seed()));
        for _ in 0..5 {
            let columns = 1 + rng.index(5);
            let rows: Vec<String> = (0..1 + rng.index(8)).map(|_| row(rng, columns)).collect();
            folder.write("a.json", &format!("[{}]", rows.join(",")));
            folder.run(&["import", "d", "t", "a.json"]).check_code(0);
            let csv = folder.run(&["export", "d", "t", "--format", "csv"]).out;
            let markdown = folder.run(&["export", "d", "t", "--format", "markdown"]).out;
            let mut lines = markdown.lines();
            let mut reader =
                csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
            for (number, record) in reader.records().enumerate() {
                let record = record.unwrap();
                let expected: Vec<String> = record.iter().map(shown).collect();
                assert_eq!(cells(lines.next().unwrap()), expected, "{markdown}");
                if number == 0 {
                    let rule = lines.next().unwrap();
                    assert_eq!(rule, format!("{}|", "| --- ".repeat(record.len())), "{markdown}");
                }
            }
            assert_eq!(lines.next(), None, "{markdown}");
        }
    });
}

fn row(rng: &mut Rng, columns: usize) -> String {
    let names = (0..columns).map(|column| format!("{column}{}", ODD[column * 7]));
    let member = |name: String| {
        let text = format!("{}{}", rng.pick(ODD), rng.pick(ODD));
        [name, text].map(|text| serde_json::to_string(&text).unwrap()).join(":")
    };
    format!("{{{}}}", names.map(member).collect::<Vec<_>>().join(","))
}

/// What a page can show of a text: no line end is another, and it has no NUL.
fn shown(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// The cells of a line, as they are shown.
fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut rest = line.strip_prefix('|').unwrap();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '|' => cells.push(std::mem::take(&mut cell)),
            '\\' => {
                let escaped = rest.chars().next().unwrap();
                assert!(escaped.is_ascii_punctuation(), "{line}");
                cell.push(escaped);
                rest = &rest[1..];
            }
            '<' => {
                rest = rest.strip_prefix("br>").unwrap();
                cell.push('\n');
            }
            '&' => {
                let (number, after) = rest.strip_prefix('#').unwrap().split_once(';').unwrap();
                cell.push(char::from_u32(number.parse().unwrap()).unwrap());
                rest = after;
            }
            other => {
                assert!(!"*_`[]>~$".contains(other) && !other.is_control(), "{line}");
                cell.push(other);
            }
        }
    }
    assert_eq!(cell, "", "{line}");
    let inner = |cell: &String| {
        cell.strip_prefix(' ').and_then(|cell| cell.strip_suffix(' ')).unwrap().to_owned()
    };
    cells.iter().map(inner).collect()
}

#[test]
fn what_is_no_table_is_not_written() {
    let folder = Folder::new("markdown_refused");
    folder.write("a.json", r#"{"ana":{"age":7},"ben":{"tags":[1]}}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    folder.run(&["export", "d", "t", "--format", "markdown", "-o", "a.md"]).check(
        1,
        "",
        "Error: what is at /ben/tags is no text, number, truth value or null\n\
         Hint: A Markdown table is made of an array or object of objects of scalars; \
         --format json takes all\n",
    );
    assert!(!folder.0.join("a.md").exists());
    folder.run(&["export", "d", "t", "/ana/age", "--format", "markdown"]).check_code(1);
    folder.run(&["put", "d", "t", "/ben/tags", "null"]).check_code(0);
    folder.run(&["export", "d", "t", "--format", "markdown"]).check(
        0,
        "|  | age | tags |\n| --- | --- | --- |\n| ana | 7 |  |\n| ben |  |  |\n",
        "",
    );
    folder.write("a.md", "| a |\n| --- |\n");
    folder.run(&["import", "e", "t", "a.md"]).check_code(2);
    assert!(!folder.0.join("e").exists(), "a folder was made for nothing");
}
