//! How fast files go in, one over the other as versions of one document, and out again:
//! `cargo run --release -p jungle-json --example rates -- FILE.json …`.

use std::time::Instant;

use jungle_json::{ExportOptions, ImportOptions, export, import};
use jungle_tree::{Arena, Keep, Tree};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arena = Arena::new()?;
    let mut tree = Tree::new(&arena);
    tree.keep(Keep::All);
    for file in std::env::args().skip(1) {
        let text = std::fs::read(&file)?;
        let rate = |start: Instant| text.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
        for _ in 0..2 {
            let start = Instant::now();
            let summary = tree.edit(|editor| {
                import(&text[..], editor, &[], &ImportOptions::default(), &mut |_| ())
            })?;
            println!("{file}: {:.0} MB/s in, {summary:?}, {:?}", rate(start), arena.usage());
        }
        let mut out = Vec::with_capacity(text.len());
        let start = Instant::now();
        export(tree.snapshot().root(), &mut out, &ExportOptions::default())?;
        println!("{:.0} MB/s out, the same bytes: {}", rate(start), out == text.trim_ascii_end());
    }
    Ok(())
}
