//! The content hash: equal for equal content, whatever its history (Merkle, 1987).
//!
//! The hash of a node is made of its attributes and of the hash of its children block; that of a
//! block of its slots. The shape of blocks follows from the keys alone, so equal content has
//! equal blocks; a directory, which remembers positions that are gone, counts as its two parts.
//! Hashes of blocks are made when first asked for and remembered by block and birth.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use crate::arena::{Memory, lock};
use crate::attributes::Attributes;
use crate::block::{self, BRANCH, BUCKET, Content, DIRECTORY, Directory, Header};
use crate::children::name;
use crate::key::KeyRef;
use crate::line::is_queued;
use crate::node::Node;
use crate::planted::{Bug, is_awake};
use crate::value::{ValueRef, canonical_bits};

/// The BLAKE3 hash of a subtree's content.
///
/// ```
/// use jungle_tree::{Arena, Tree};
/// let mut tree = Tree::new(&Arena::new()?);
/// let bare = tree.read().root().content_hash();
/// assert_eq!(bare.to_string().len(), 2 * bare.as_bytes().len());
/// tree.put_attribute(&[], "title", "hello")?;
/// assert_ne!(tree.read().root().content_hash(), bare);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

type Hash = [u8; 32];
const NONE: Hash = [0; 32];
const SHARDS: usize = 64;

/// Remembered hashes of children blocks. A block that was reused has another birth.
pub(crate) struct HashMemo {
    shards: Vec<Mutex<HashMap<u32, (u64, Hash)>>>,
}

impl Default for HashMemo {
    fn default() -> Self {
        HashMemo { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl HashMemo {
    fn shard(&self, block: u32) -> &Mutex<HashMap<u32, (u64, Hash)>> {
        &self.shards[block as usize % SHARDS]
    }

    /// Forgets all: after a collection most blocks may be others.
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| *lock(shard) = HashMap::new());
    }
}

/// One call: what it may look up and remember in the arena, and what only for itself.
struct Hashing<'a> {
    arena: Memory<'a>,
    /// Births of blocks that an editor may still change in place.
    unstable: Vec<u64>,
    /// Hashes of blocks whose birth does not name them for good.
    local: HashMap<u32, Hash>,
}

impl<'a> Hashing<'a> {
    fn new(arena: Memory<'a>) -> Hashing<'a> {
        Hashing { arena, unstable: arena.session_versions(), local: HashMap::new() }
    }

    /// The birth of a block, if handle and birth together name its content for good.
    fn lasting_birth(&self, block: u32) -> Option<u64> {
        let birth = block::birth(self.arena, block);
        (!is_queued(birth) && !self.unstable.contains(&birth)).then_some(birth)
    }

    fn get(&self, block: u32) -> Option<Hash> {
        let Some(birth) = self.lasting_birth(block) else {
            return self.local.get(&block).copied();
        };
        let remembered = *lock(self.arena.hashes.shard(block)).get(&block)?;
        (remembered.0 == birth || is_awake(Bug::HashForgetsBirth)).then_some(remembered.1)
    }

    fn set(&mut self, block: u32, hash: Hash) {
        match self.lasting_birth(block) {
            Some(birth) => {
                lock(self.arena.hashes.shard(block)).insert(block, (birth, hash));
            }
            None => {
                self.local.insert(block, hash);
            }
        }
    }

    /// The hash of a block; what is below it is hashed first, with a stack of our own.
    fn blocks(&mut self, root: u32) -> Hash {
        let mut stack = vec![(root, false)];
        while let Some((handle, ready)) = stack.pop() {
            if handle == 0 || self.get(handle).is_some() {
                continue;
            }
            if ready {
                let hash = self.block(handle);
                self.set(handle, hash);
            } else {
                stack.push((handle, true));
                stack.extend(below(self.arena, handle).into_iter().map(|kid| (kid, false)));
            }
        }
        self.known(root)
    }

    fn known(&mut self, handle: u32) -> Hash {
        if handle == 0 {
            return NONE;
        }
        // Forgotten by a collection, or retired, between two steps: made again.
        self.get(handle).unwrap_or_else(|| self.blocks(handle))
    }

    fn block(&mut self, handle: u32) -> Hash {
        let arena = self.arena;
        let header = Header::load(arena, handle);
        if header.kind() == DIRECTORY {
            let Directory { dense, named, .. } = Directory::load(arena, handle);
            return pair(self.known(dense), self.known(named));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[header.kind()]).update(&header.present().to_le_bytes());
        if header.kind() == BRANCH {
            hasher.update(&header.attrs().to_le_bytes());
        }
        let mut rest = header.present();
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            if !header.is_leaf() {
                hasher.update(&self.known(block::kid(arena, handle, header, slot)));
                continue;
            }
            if header.kind() == BUCKET {
                update_key(&mut hasher, arena, block::entry(arena, handle, slot as usize));
            }
            let content = block::content(arena, handle, header, slot);
            hasher.update(&hash_node(arena, content, self.known(content.kids)));
        }
        hasher.finalize().into()
    }
}

fn update_key(hasher: &mut blake3::Hasher, arena: Memory<'_>, name: u32) {
    match name::key(arena, name) {
        KeyRef::Name(text) => update_bytes(hasher.update(b"t"), text.as_bytes()),
        KeyRef::Position(index, fraction) => {
            update_bytes(hasher.update(b"p").update(&index.to_le_bytes()), fraction);
        }
    }
}

impl Node<'_> {
    /// The hash of everything in the subtree. The first call goes through all of it, later ones
    /// through what has changed since.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let (mut a, mut b) = (Tree::new(&Arena::new()?), Tree::new(&Arena::new()?));
    /// for tree in [&mut a, &mut b] {
    ///     tree.add_child(&[])?;
    ///     tree.add_child(&[])?;
    /// }
    /// b.put_attribute(&[0.into()], "n", 1)?;
    /// assert_ne!(a.read().root().content_hash(), b.read().root().content_hash());
    /// b.remove_attribute(&[0.into()], "n")?;
    /// assert_eq!(a.read().root().content_hash(), b.read().root().content_hash());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn content_hash(self) -> ContentHash {
        let arena = self.cell().memory();
        let kids = Hashing::new(arena).known(self.content().kids);
        ContentHash(hash_node(arena, self.content(), kids))
    }
}

/// The hash of a node, given that of its children block.
fn hash_node(arena: Memory<'_>, content: Content, kids: Hash) -> Hash {
    if content.attrs == 0 && kids == NONE {
        return NONE;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"n").update(&kids);
    for (key, value) in Attributes::new(arena, content.attrs) {
        update_bytes(&mut hasher, key.as_bytes());
        update_value(&mut hasher, value);
    }
    hasher.finalize().into()
}

fn update_bytes(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

fn update_value(hasher: &mut blake3::Hasher, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => hasher.update(b"0"),
        ValueRef::Bool(bool) => hasher.update(&[b'1', u8::from(bool)]),
        ValueRef::Int(int) => hasher.update(b"2").update(&int.to_le_bytes()),
        ValueRef::Float(float) => hasher.update(b"3").update(&canonical_bits(float).to_le_bytes()),
        ValueRef::Text(text) => {
            update_bytes(hasher.update(b"4"), text.as_bytes());
            hasher
        }
        ValueRef::Bytes(bytes) => {
            update_bytes(hasher.update(b"5"), bytes);
            hasher
        }
    };
}

/// The blocks that a block's hash is made of.
fn below(arena: Memory<'_>, handle: u32) -> Vec<u32> {
    let header = Header::load(arena, handle);
    if header.kind() == DIRECTORY {
        let Directory { dense, named, .. } = Directory::load(arena, handle);
        return [dense, named].into_iter().filter(|&part| part != 0).collect();
    }
    let first = header.names();
    let kids = first..first + header.kids().count_ones() as usize;
    kids.map(|entry| block::entry(arena, handle, entry)).collect()
}

/// The hash of dense and named children together: of one of them alone, that one's.
fn pair(dense: Hash, named: Hash) -> Hash {
    if named == NONE {
        return dense;
    }
    if dense == NONE {
        return named;
    }
    blake3::Hasher::new().update(b"d").update(&dense).update(&named).finalize().into()
}
