//! `--format table`: what is listed, as tables; `transcripts/tables.md` has what they look like.

use jungle_testkit::{Rng, for_each_seed};

use crate::Folder;

/// The lines of a table, without those that are lines only.
fn rows(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().filter(|line| line.starts_with('│'));
    let cells = lines.map(|line| line.trim_matches('│').split('┆'));
    cells.map(|cells| cells.map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// Whatever a name or a value has in it, it stays in its cell, and is shown.
#[test]
fn outsiders_text_breaks_no_table() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("tables_odd_{}", rng.seed()));
        let text = |rng: &mut Rng| -> String {
            let odd = [
                "\u{1b}[31m",
                "\n",
                "\r",
                "\t",
                "\0",
                "\u{9b}2J",
                "\u{202e}",
                "\u{7f}",
                "\u{2028}",
            ];
            (0..rng.below(6))
                .map(|_| *rng.pick(&[&odd[..], &["a", " ", "木", "é"]].concat()))
                .collect()
        };
        let members = (0..5).map(|n| (format!("{n}{}", text(rng)), text(rng).into()));
        let document = serde_json::Value::Object(members.collect());
        folder.write("a.json", &document.to_string());
        folder.run(&["import", "d", "t", "a.json"]).check_code(0);
        let ended = folder.run(&["ls", "d", "t", "--format", "table"]);
        ended.check_code(0);
        let is_odd = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2028}".contains(c);
        assert!(!ended.out.contains(is_odd), "{document}\n{:?}", ended.out);
        // All are as wide.
        let wide = |line: &str| line.chars().map(|c| if c == '木' { 2 } else { 1 }).sum::<u32>();
        let widths: Vec<u32> = ended.out.lines().map(wide).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{document}\n{}", ended.out);
        let rows = rows(&ended.out);
        assert_eq!((rows.len(), &*rows[0]), (6, &["key", "kind", "value"].map(str::to_owned)[..]));
    });
}

#[test]
fn a_long_list_is_several_tables() {
    let folder = Folder::new("tables_long");
    let numbers: Vec<u32> = (0..20_005).collect();
    folder.write("a.json", &serde_json::to_string(&numbers).unwrap());
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let ended = folder.run(&["ls", "d", "t", "--format", "table"]);
    ended.check_code(0);
    let rows = rows(&ended.out);
    let is_header = |row: &Vec<String>| row[0] == "key";
    assert_eq!(rows.iter().filter(|row| is_header(row)).count(), 3);
    let keys = rows.iter().filter(|row| !is_header(row)).map(|row| row[0].parse().unwrap());
    assert_eq!(keys.collect::<Vec<u32>>(), numbers);
}

/// A long cell makes its table wide, and there are many rows beside it.
#[test]
fn a_pipe_gets_what_is_long_until_it_is_too_long() {
    let folder = Folder::new("tables_wide");
    let long = "long ".repeat(1_000);
    let too_long = "x".repeat(100_000);
    folder.write("a.json", &serde_json::json!([long, too_long, "short"]).to_string());
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let ended = folder.run(&["ls", "d", "t", "--format", "table"]);
    let rows = rows(&ended.out);
    assert_eq!((&*rows[1][2], &*rows[3][2]), (long.trim(), "short"));
    assert_eq!(rows[2][2], format!("{}…", "x".repeat(10_000)));
}

#[test]
fn a_terminal_gets_what_fits() {
    #[cfg(target_os = "linux")]
    {
        let folder = Folder::new("tables_terminal");
        folder.write("a.json", r#"{"a":"one two three four five six seven eight nine","b":1}"#);
        folder.run(&["import", "d", "t", "a.json"]).check_code(0);
        let ls = ["ls", "d", "t", "--format", "table"];
        for columns in [30, 50] {
            let (code, text) = crate::terminal::run_in_columns(&folder, &ls, columns);
            assert_eq!(code, Some(0), "{text}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(usize::from(columns)), "{text}");
            let rows = rows(&text);
            assert!(rows[1][2].starts_with("one") && rows[1][2].ends_with('…'), "{text}");
            assert_eq!((rows.len(), &*rows[2][0]), (3, "b"), "{text}");
        }
        let (_, whole) = crate::terminal::run_in_columns(&folder, &ls, 100);
        assert!(whole.contains("│ a   ┆ scalar ┆ one two three four five six seven eight nine │"));
    }
}

#[test]
fn a_line_of_the_shell_may_be_a_table() {
    let folder = Folder::new("tables_shell");
    folder.write("a.json", r#"{"a":1}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let table = folder.run(&["ls", "d", "t", "--format", "table"]).out;
    let lines = "ls t\nls t --format table\nls t /none --format table\nls t\n";
    let ended = folder.run_with_input(&["shell", "d"], lines);
    assert_eq!(ended.out, format!("a: 1\n{table}a: 1\n"));
    assert!(ended.err.starts_with("Error: there is nothing at /none\n"), "{}", ended.err);
    let json = folder.run_with_input(&["shell", "d", "--json"], "ls t --format text\nls t\n");
    assert_eq!(json.out, "a: 1\n{\"key\":\"a\",\"kind\":\"scalar\",\"value\":1}\n");
}
