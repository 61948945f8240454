//! Of documents: JSON in and out, in pieces.

use jungle::json::{ExportError, ExportOptions, ImportError, ImportOptions, export, import};
use jungle_tree::{Arena, Node, Tree};

use super::{Meter, SEED, arena, expect};
use crate::Failure;
use crate::workload::Random;

const ENTRIES: u64 = 1_000;
/// What the document makes: an entry has a place and a list, and that two elements.
pub const NODES: u64 = 1 + 5 * ENTRIES;

/// Into an empty tree, for each entry.
pub fn read(meter: &mut Meter) -> Result<(), Failure> {
    let (text, arena) = (document(), arena()?);
    let tree = meter.count(ENTRIES, || imported(&text, &arena))?.snapshot();
    expect("nodes", tree.root().recount(), NODES)?;
    check(&text, &exported(tree.root())?)
}

/// The same again as text, for each entry.
pub fn write(meter: &mut Meter) -> Result<(), Failure> {
    let text = document();
    let tree = imported(&text, &arena()?)?.snapshot();
    let out = meter.count(ENTRIES, || exported(tree.root()))?;
    check(&text, &out)
}

fn check(text: &str, out: &[u8]) -> Result<(), Failure> {
    expect("it comes out as it went in", out == text.as_bytes(), true)
}

/// A list of entries as a program writes it: without white space, and the members of each in the
/// order of their names. (Any other order is looked up when it is written, by hashes that each
/// process draws anew.)
pub fn document() -> String {
    let mut random = Random(SEED);
    let entries: Vec<String> = (0..ENTRIES).map(|number| entry(number, &mut random)).collect();
    format!("[{}]", entries.join(","))
}

fn entry(number: u64, random: &mut Random) -> String {
    let author = random.below(1 << 16);
    let words =
        format!(r#""author":"user {author:04x}","body":"entry {number}: \"as it is\"\nñandú""#);
    let [x, y] = [(); 2].map(|()| 1 + random.below(1_000));
    let place = format!(r#"{{"x":{x},"y":-{y}.25}}"#);
    let (is_open, stars) = (random.below(2) == 0, random.below(6));
    let numbers = format!(r#""price":{x}.50,"stars":{stars},"tags":["{y}","tree"]"#);
    format!(r#"{{{words},"is_open":{is_open},"place":{place},{numbers}}}"#)
}

/// The tree of a document.
pub fn imported(text: &str, arena: &Arena) -> Result<Tree, ImportError> {
    let mut tree = Tree::new(arena);
    let options = ImportOptions::default();
    tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut |_| ()))?;
    Ok(tree)
}

fn exported(node: Node<'_>) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    export(node, &mut out, &ExportOptions::default())?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_document_is_read_in_pieces() {
        let (text, mut pieces) = (document(), 0);
        let mut tree = Tree::new(&arena().unwrap());
        let options = ImportOptions::default();
        let mut progress = |_: u64| pieces += 1;
        tree.edit(|editor| import(text.as_bytes(), editor, &[], &options, &mut progress)).unwrap();
        // The last one is its end.
        assert!(pieces > 2, "{pieces}");
    }

    struct Pieces(u64);

    impl io::Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_document_is_written_in_pieces() {
        let tree = imported(&document(), &arena().unwrap()).unwrap().snapshot();
        let mut pieces = Pieces(0);
        export(tree.root(), &mut pieces, &ExportOptions::default()).unwrap();
        assert!(pieces.0 > 1, "{}", pieces.0);
    }
}
