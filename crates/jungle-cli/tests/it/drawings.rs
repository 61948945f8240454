//! Trees as drawings and graphs: all that is in a document is there, in its place.

use std::collections::HashMap;

use jungle_testkit::for_each_seed;

use crate::Folder;
use crate::documents::Document;

/// What is drawn of something: the name, the value if it has one, and what is below.
struct Drawn {
    label: String,
    below: Vec<Drawn>,
}

impl Drawn {
    /// It is what was expected, but for ends of long values.
    fn check(&self, expected: &Drawn, drawing: &str) {
        let is_label = match self.label.strip_suffix('…') {
            Some(begin) if self.label != expected.label => {
                self.label.chars().count() > 50 && expected.label.starts_with(begin)
            }
            _ => self.label == expected.label,
        };
        assert!(is_label, "{:?} is not {:?}\n{drawing}", self.label, expected.label);
        assert_eq!(self.below.len(), expected.below.len(), "{:?}\n{drawing}", self.label);
        self.below
            .iter()
            .zip(&expected.below)
            .for_each(|(it, expected)| it.check(expected, drawing));
    }
}

/// What must be drawn of a document, down to so many levels.
fn expected(name: &str, document: &Document, depth_max: usize) -> Drawn {
    let name = shown_name(name);
    let items: Vec<(String, &Document)> = match document {
        Document::Scalar(json) => {
            return Drawn { label: format!("{name}: {}", visible(json)), below: Vec::new() };
        }
        Document::Array(elements) => {
            elements.iter().enumerate().map(|(at, element)| (at.to_string(), element)).collect()
        }
        Document::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), member)).collect()
        }
    };
    if items.is_empty() {
        return Drawn { label: format!("{name}: {}", document.json()), below: Vec::new() };
    }
    let below = match depth_max.checked_sub(1) {
        Some(left) => items.iter().map(|(name, item)| expected(name, item, left)).collect(),
        None => {
            let label = format!("… {} below", count(document));
            vec![Drawn { label, below: Vec::new() }]
        }
    };
    Drawn { label: name, below }
}

fn count(document: &Document) -> usize {
    match document {
        Document::Scalar(_) => 0,
        Document::Array(elements) => elements.iter().map(|element| 1 + count(element)).sum(),
        Document::Object(members) => members.iter().map(|(_, member)| 1 + count(member)).sum(),
    }
}

/// As JSON, unless the characters leave no doubt.
fn shown_name(name: &str) -> String {
    let is_odd = |c: char| c.is_control() || "\":…".contains(c);
    let json = visible(&serde_json::to_string(name).unwrap());
    let is_plain = !name.is_empty() && name.trim() == name && !name.contains(is_odd);
    if is_plain && json.trim_matches('"') == name.replace('\\', "\\\\") {
        name.into()
    } else {
        json
    }
}

/// JSON without what does not show.
fn visible(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
        if "\u{7f}\u{85}\u{2028}\u{2029}\u{200f}\u{feff}\u{fffe}\u{ffff}".contains(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// What a drawing with lines shows.
fn of_lines(text: &str) -> Drawn {
    let mut open: Vec<Drawn> = Vec::new();
    for line in text.lines() {
        let mut depth = 0;
        let mut rest = line;
        while let Some(after) = rest.strip_prefix("│  ").or(rest.strip_prefix("   ")) {
            (depth, rest) = (depth + 1, after);
        }
        if let Some(after) = rest.strip_prefix("├─ ").or(rest.strip_prefix("└─ ")) {
            (depth, rest) = (depth + 1, after);
        }
        close(&mut open, depth);
        assert_eq!(open.len(), depth, "{text}");
        open.push(Drawn { label: rest.into(), below: Vec::new() });
    }
    close(&mut open, 1);
    open.pop().unwrap()
}

fn close(open: &mut Vec<Drawn>, depth: usize) {
    while open.len() > depth.max(1) {
        let drawn = open.pop().unwrap();
        open.last_mut().unwrap().below.push(drawn);
    }
}

/// What a graph shows.
fn of_graph(text: &str) -> Drawn {
    let mut boxes: Vec<Drawn> = Vec::new();
    let mut parents = HashMap::new();
    for line in text.lines().skip(3).filter(|line| *line != "}") {
        let line = line.strip_prefix("  n").unwrap().strip_suffix(';').unwrap();
        if let Some((parent, child)) = line.split_once(" -> n") {
            parents.insert(child.parse::<usize>().unwrap(), parent.parse::<usize>().unwrap());
            continue;
        }
        let (number, rest) = line.split_once(" [label=\"").unwrap();
        assert_eq!(number, boxes.len().to_string());
        let label = rest.trim_end_matches(']').trim_end_matches(", shape=plaintext");
        let label = unescaped(label.strip_suffix('"').unwrap());
        boxes.push(Drawn { label, below: Vec::new() });
    }
    while boxes.len() > 1 {
        let drawn = boxes.pop().unwrap();
        let parent = parents[&boxes.len()];
        boxes[parent].below.insert(0, drawn);
    }
    boxes.pop().unwrap()
}

/// What a quoted label shows; nothing in it ends it early.
fn unescaped(label: &str) -> String {
    let mut text = String::new();
    let mut rest = label.chars();
    while let Some(c) = rest.next() {
        assert_ne!(c, '"', "{label}");
        text.push(match c {
            '\\' => {
                let escaped = rest.next().unwrap();
                assert!("\\\"".contains(escaped), "{label}");
                escaped
            }
            '&' => {
                let entity: String = rest.by_ref().take(4).collect();
                assert_eq!(entity, "amp;", "{label}");
                '&'
            }
            other => other,
        });
    }
    text
}

#[test]
fn all_of_random_documents_is_drawn() {
    for_each_seed(8, |rng| {
        let folder = Folder::new(&format!("drawings_{}", rng.seed()));
        for _ in 0..5 {
            let document = Document::random(rng, 5);
            folder.write("a.json", &document.json());
            folder.run(&["import", "d", "t", "a.json"]).check_code(0);
            for depth in [None, Some(rng.index(4))] {
                let told = depth.unwrap_or(9).to_string();
                let run =
                    |form| folder.run(&["export", "d", "t", "--format", form, "--depth", &told]);
                let expected = expected("t", &document, depth.unwrap_or(9));
                let (drawing, graph) = (run("tree"), run("dot"));
                of_lines(&drawing.out).check(&expected, &drawing.out);
                of_graph(&graph.out).check(&expected, &graph.out);
                if depth.is_none() {
                    let all = folder.run(&["export", "d", "t", "--format", "tree"]);
                    all.check(0, &drawing.out, "");
                }
            }
        }
    });
}

#[test]
fn long_names_and_values_are_cut() {
    let folder = Folder::new("drawings_cut");
    let long = "é".repeat(1000);
    folder.write("a.json", &format!(r#"{{"a":"{long}","{long}":[1,"{long}"]}}"#));
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    for form in ["tree", "dot"] {
        let out = folder.run(&["export", "d", "t", "--format", form]).out;
        assert!(out.lines().all(|line| line.chars().count() <= 104), "{out}");
        assert_eq!(out.matches('…').count(), 3, "{out}");
    }
}

#[test]
fn depth_takes_no_stack() {
    let folder = Folder::new("drawings_depth");
    let levels = 50_000;
    folder.write("a.json", &format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
    folder.run(&["import", "d", "t", "a.json", "--depth-max", "60000"]).check_code(0);
    let graph = folder.run(&["export", "d", "t", "--format", "dot"]);
    graph.check_code(0);
    assert_eq!(graph.out.lines().count(), 3 + levels + levels - 1 + 1);
    folder.run(&["export", "d", "t", "--format", "tree", "--depth", "2"]).check(
        0,
        "t\n└─ 0\n   └─ 0\n      └─ … 49,997 below\n",
        "",
    );
}

#[test]
fn a_value_is_drawn_under_its_path() {
    let folder = Folder::new("drawings_value");
    folder.write("a.json", r#"["a",{"b":"&\\"}]"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let drawing = "/1\n└─ b: \"&\\\\\"\n";
    folder.run(&["export", "d", "t", "/1", "--format", "tree"]).check(0, drawing, "");
    folder.run(&["export", "d", "t", "/1/b", "--format", "dot"]).check(
        0,
        "digraph {\n  rankdir=LR;\n  node [shape=box];\n  \
         n0 [label=\"/1/b: \\\"&amp;\\\\\\\\\\\"\"];\n}\n",
        "",
    );
}

#[test]
fn drawings_are_not_read() {
    let folder = Folder::new("drawings_not_read");
    let check = |args: &[&str], file: &str| {
        let all = [&["import", "d", "t"], args].concat();
        folder.run(&all).check(
            2,
            "",
            &format!(
                "Error: {file}: that form is only written, trees are not read from it\n\
                 Hint: --format says what else a file is; `jungle import --help` lists what is \
                 read\n"
            ),
        );
        assert!(!folder.0.join("d").exists(), "a folder was made for nothing");
    };
    folder.write("a.dot", "digraph {}");
    folder.write("b.json", "{}");
    check(&["a.dot"], "a.dot");
    check(&["b.json", "a.dot"], "a.dot");
    check(&["b.json", "--format", "tree"], "b.json");
    check(&["-", "--format", "dot"], "standard input");
    let depth = folder.run(&["export", "d", "t", "--format", "csv", "--depth", "1"]);
    depth.check(
        2,
        "",
        "Error: --depth is for drawings\n\
         Hint: --format tree draws with lines, --format dot is a graph\n",
    );
}
