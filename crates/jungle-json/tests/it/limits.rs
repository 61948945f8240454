use std::io::Write;
use std::time::{Duration, Instant};

use jungle_json::{ExportOptions, ImportError, ImportOptions, Layout, Limit, Limits, export};

use crate::{new_tree, read_into, text_of};

/// A document that is accepted with a limit is refused with one less.
#[track_caller]
fn check(text: &str, limits: impl Fn(u64) -> Limits, max: u64, limit: Limit) {
    let read = |max| {
        let options = ImportOptions { limits: limits(max), ..ImportOptions::default() };
        read_into(&mut new_tree(), text, &options)
    };
    read(max).unwrap();
    match read(max - 1) {
        Err(ImportError::Limit { limit: passed, .. }) => assert_eq!(passed, limit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_limit_is_inclusive() {
    let text = r#"{"name":"value","list":[1,[2,{}]]}"#;
    let default = Limits::default;
    let bytes_max = |bytes_max| Limits { bytes_max, ..default() };
    check(text, bytes_max, text.len() as u64, Limit::Bytes(text.len() as u64 - 1));
    let depth_max = |max| Limits { depth_max: max as usize, ..default() };
    check(text, depth_max, 4, Limit::Depth(3));
    let name_bytes_max = |max| Limits { name_bytes_max: max as usize, ..default() };
    check(text, name_bytes_max, 4, Limit::NameBytes(3));
    let value_bytes_max = |max| Limits { value_bytes_max: max as usize, ..default() };
    check(text, value_bytes_max, 5, Limit::ValueBytes(4));
    check("[12345]", value_bytes_max, 5, Limit::ValueBytes(4));
    let nodes_max = |nodes_max| Limits { nodes_max, ..default() };
    check(text, nodes_max, 6, Limit::Nodes(5));
}

#[test]
fn a_name_longer_than_a_tree_takes_is_refused() {
    let text = format!("{{\"{}\":1}}", "n".repeat(4097));
    let error = read_into(&mut new_tree(), &text, &ImportOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 1 column 2: the name is longer than 4096 bytes");
}

#[test]
fn a_bomb_is_refused_at_once() {
    for (open, column) in [("[", 513), ("{\"a\":", 2561)] {
        let bomb = open.repeat(1_000_000);
        let start = Instant::now();
        let error = read_into(&mut new_tree(), &bomb, &ImportOptions::default()).unwrap_err();
        let text = "more than 512 objects and arrays are in one another";
        assert_eq!(error.to_string(), format!("line 1 column {column}: {text}"));
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn depth_costs_no_stack() {
    for (depth, open, inside, close) in [(1_000_000, "[", "", "]"), (20_000, "{\"a\":", "1", "}")] {
        let text = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
        let options = ImportOptions {
            limits: Limits { depth_max: depth, ..Limits::default() },
            ..ImportOptions::default()
        };
        let mut tree = new_tree();
        assert_eq!(read_into(&mut tree, &text, &options).unwrap().depth, depth);
        assert_eq!(read_into(&mut tree, &text, &options).unwrap().edits, 0);
        assert_eq!(text_of(&tree), text);
    }
}

/// The most that was written at once.
#[derive(Default)]
struct Most(usize);

impl Write for Most {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn ends_of_what_is_deep_are_written_in_pieces() {
    let depth_max = 2_000;
    let text = "[".repeat(depth_max) + &"]".repeat(depth_max);
    let limits = Limits { depth_max, ..Limits::default() };
    let mut tree = new_tree();
    read_into(&mut tree, &text, &ImportOptions { limits, ..ImportOptions::default() }).unwrap();
    let mut most = Most::default();
    export(tree.read().root(), &mut most, &ExportOptions { layout: Layout::Pretty }).unwrap();
    assert!(most.0 < 128 << 10, "{} bytes at once", most.0);
}
