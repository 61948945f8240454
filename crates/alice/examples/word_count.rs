//! Counts the words of files, several files at a time; without arguments, of these examples.
//!
//! `cargo run --release -p alice --example word_count -- FILE...`

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use alice::{Key, Node, take, take_many};

type Counts = HashMap<String, usize>;

const FILE: Key<PathBuf> = Key::new("file");
const PART: Key<Counts> = Key::new("part");
const TOTAL: Key<Counts> = Key::new("total");

const WORKERS: usize = 4;
const SHOWN: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        let examples = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"))?;
        files = examples.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    }
    let node = Node::new();
    for _ in 0..WORKERS {
        // A file that is no text counts as empty, so that there is a part for each.
        node.code("count").when(take(&FILE)).to(&PART).repeatedly(|file, part| {
            part.put(count(&fs::read_to_string(&**file).unwrap_or_default()))
        })?;
    }
    node.code("add").when(take_many(&PART, files.len())).to(&TOTAL).once(|parts, total| {
        let mut all = Counts::new();
        for (word, count) in parts.iter().flat_map(|part| part.iter()) {
            *all.entry(word.clone()).or_default() += count;
        }
        total.put(all)
    })?;
    for file in &files {
        node.put(&FILE, file.clone())?;
    }
    show(&*node.take(&TOTAL)?, files.len());
    Ok(())
}

fn count(text: &str) -> Counts {
    let mut counts = Counts::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

fn show(counts: &Counts, files: usize) {
    let mut sorted: Vec<(&String, &usize)> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let all: usize = counts.values().sum();
    println!("{all} words in {files} files, {} different ones", counts.len());
    for (word, count) in sorted.iter().take(SHOWN) {
        println!("{count:6} {word}");
    }
}
