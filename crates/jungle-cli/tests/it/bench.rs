//! What the command measures by itself. Whether it is quick is for a machine of one's own to say.

use std::fs;

use serde_json::Value;

use crate::Folder;

#[test]
fn each_is_measured_and_nothing_is_left() {
    let folder = Folder::new("bench");
    let ended = folder.run(&["bench", "--round-ms", "5", "--json"]);
    ended.check_code(0);
    let rows = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows: Vec<Value> = rows.collect();
    assert_eq!(rows.len(), 6, "{}", ended.out);
    for row in &rows {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(0.0 < of("least") && of("least") <= of("median"), "{row}");
        assert!(of("median") <= of("most"), "{row}");
    }
    let text = folder.run(&["bench", "--round-ms", "5"]);
    assert_eq!(text.out.lines().count(), 1 + rows.len(), "{}", text.out);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    folder.run(&["bench", "--round-ms", "0"]).check_code(2);
}
