//! What is kept: the slabs of an arena with a tree of records.

use jungle_tree::{Arena, ArenaOptions, EditError, SavedImage, Tree, Value, ValueRef};

/// As many as a tree of 100 MiB has.
pub const SLABS: usize = 1_600;

const WORDS: [&str; 16] = [
    "tree", "river", "north", "amber", "quick", "stone", "paper", "seven", "cloud", "ember",
    "field", "glass", "honey", "ivory", "jolly", "knife",
];

/// A sequence of numbers that is the same each time (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, below: usize) -> usize {
        (self.next() % below as u64) as usize
    }
}

/// The slabs of a tree whose nodes have an id, a number, a time, a title and a text.
pub fn slabs() -> Vec<Vec<u8>> {
    let options = ArenaOptions { structure_bytes: 64 << 20, payload_bytes: 512 << 20 };
    let arena = Arena::with_options(&options).expect("address space");
    let mut tree = Tree::new(&arena);
    let mut numbers = Numbers(42);
    let text = |words: usize, numbers: &mut Numbers| {
        let words: Vec<&str> = (0..words).map(|_| WORDS[numbers.below(16)]).collect();
        Value::from(words.join(" ").as_str())
    };
    let records: Vec<Vec<(&str, Value)>> = (0..480_000)
        .map(|id| {
            let words = 3 + numbers.below(40);
            vec![
                ("id", Value::from(id)),
                ("price", Value::from(numbers.below(1_000_000) as i64)),
                ("changed", Value::from(1_700_000_000_000_000 + numbers.below(1 << 44) as i64)),
                ("title", text(4, &mut numbers)),
                ("text", text(words, &mut numbers)),
            ]
        })
        .collect();
    tree.edit(|editor| {
        let mut cursor = editor.cursor(&[])?;
        for record in &records {
            let record: Vec<(&str, ValueRef)> =
                record.iter().map(|(key, value)| (*key, value.as_ref())).collect();
            cursor.add_children_with([&record[..]])?;
        }
        Ok::<_, EditError>(())
    })
    .expect("there is room");
    let _held = tree.snapshot();
    let mut slabs = Vec::new();
    let saved = arena.save(&SavedImage::default(), |_, bytes| {
        slabs.extend(bytes.map(<[u8]>::to_vec));
        Ok::<_, std::convert::Infallible>(())
    });
    saved.expect("never");
    assert!(slabs.len() >= SLABS, "only {} slabs", slabs.len());
    slabs.truncate(SLABS);
    slabs
}

/// The bytes that an engine is given for a slab.
pub fn form(slab: &[u8], form: &str) -> Vec<u8> {
    match form {
        "raw" => slab.to_vec(),
        _ => lz4_flex::block::compress_prepend_size(slab),
    }
}

/// The slab of those bytes.
pub fn slab(bytes: &[u8], form: &str) -> Vec<u8> {
    match form {
        "raw" => bytes.to_vec(),
        _ => lz4_flex::block::decompress_size_prepended(bytes).expect("what was written"),
    }
}
