//! CSV in and out: what comes out is the same table, however it was quoted.

use jungle_testkit::{Rng, for_each_seed};

use crate::Folder;

const CELLS: &[&str] = &["", " ", "1", "01", "true", "a b", ",", "\"", "é\n", "\r", "#", "null"];

#[test]
fn random_tables_come_out_as_they_went_in() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("csv_{}", rng.seed()));
        for _ in 0..5 {
            // More than 64 members are kept in another form.
            let columns = if rng.chance(1, 5) { 70 } else { 1 + rng.index(5) };
            let rows = random_rows(rng, columns);
            let table = text(&rows, "\n", |cell| {
                cell.contains(['"', ',', '\n', '\r']) || columns == 1 && cell.is_empty()
            });
            folder.write("a.csv", &table);
            folder.run(&["import", "d", "t", "a.csv"]).check_code(0);
            folder.run(&["export", "d", "t", "--format", "csv"]).check(0, &table, "");
            folder.write("all-quoted", &text(&rows, "\r\n", |_| true));
            let again = folder.run(&["import", "d", "t", "all-quoted", "--format", "csv"]);
            assert!(again.out.ends_with("is all-quoted already\n"), "{table}\n{}", again.out);
        }
    });
}

/// A header and at least one row: a header alone is not kept.
fn random_rows(rng: &mut Rng, columns: usize) -> Vec<Vec<String>> {
    let mut header: Vec<String> =
        (0..columns).map(|at| format!("{}{at}", rng.pick(CELLS))).collect();
    rng.shuffle(&mut header);
    let mut rows = vec![header];
    for _ in 0..1 + rng.below(8) {
        rows.push((0..columns).map(|_| (*rng.pick(CELLS)).to_owned()).collect());
    }
    rows
}

fn text(rows: &[Vec<String>], end: &str, is_quoted: impl Fn(&str) -> bool) -> String {
    let quote = |cell: &String| match is_quoted(cell) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    let row = |row: &Vec<String>| row.iter().map(quote).collect::<Vec<_>>().join(",") + end;
    rows.iter().map(row).collect()
}

#[test]
fn what_looks_like_a_colour_is_data() {
    let folder = Folder::new("csv_colour");
    let table = "a\n\u{1b}[1mb\u{7f}\n";
    folder.write("a.csv", table);
    folder.run(&["import", "d", "t", "a.csv"]).check_code(0);
    folder.run(&["export", "d", "t", "--format", "csv"]).check(0, table, "");
    folder.run(&["export", "d", "t"]).check(0, "[{\"a\":\"\\u001b[1mb\u{7f}\"}]\n", "");
}
