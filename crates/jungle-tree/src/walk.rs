//! Whole subtrees: visiting, counting, walking with paths, searching, and all that on many
//! threads. Nothing recurses, so depth is no limit.

use crate::arena::Memory;
use crate::block::{self, Content, DIRECTORY, Directory, Header};
use crate::key::{Key, KeyRef};
use crate::node::{Children, Node};
use crate::path::Path;

impl<'a> Node<'a> {
    /// Calls `visit` with each node of the subtree: itself first, parents before children, and
    /// siblings side by side. (For document order, with keys, use [`Node::walk`].)
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// (0..5).try_for_each(|_| tree.add_child(&[]).map(drop))?;
    /// let mut leaves = 0;
    /// tree.read().root().visit(|node| leaves += u64::from(!node.has_children()));
    /// assert_eq!(leaves, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn visit(self, mut visit: impl FnMut(Node<'a>)) {
        visit(self);
        let cell = self.cell();
        let arena = cell.memory();
        let mut stack = Vec::with_capacity(64);
        push(&mut stack, self.content().kids);
        while let Some(block) = stack.pop() {
            visit_block(arena, &mut stack, block, |content| visit(Node::new(cell, content)));
        }
    }

    /// Counts the nodes of the subtree by going through all of it. [`Node::subtree_count`] knows
    /// the same number; this is how it is checked, and how fast structure can be read.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1000).map(drop))?;
    /// assert_eq!(tree.read().root().recount(), tree.read().root().subtree_count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recount(self) -> u64 {
        let arena = self.cell().memory();
        let mut stack = vec![self.content().kids];
        let mut count = 1;
        while let Some(block) = stack.pop() {
            // What stands for no block is all zero: a leaf without anything in it.
            let header = Header::shape(block::run(arena, block));
            if header.is_bare_dense_leaf() {
                // Most blocks: nothing is below them.
                count += u64::from(header.present().count_ones());
                continue;
            }
            if header.is_leaf() {
                count += u64::from(header.present().count_ones());
            }
            if header.kind() == DIRECTORY {
                let Directory { dense, named, .. } = Directory::load(arena, block);
                stack.extend([dense, named]);
                continue;
            }
            let first = header.names();
            let end = first + header.kids().count_ones() as usize;
            block::each_entry(arena, block, first, end, |kid| {
                block::prefetch(arena, kid);
                stack.push(kid);
            });
        }
        count
    }

    /// The subtree in document order with depths and keys: itself first, then each child followed
    /// by what is below it.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// ["a", "b"].iter().try_for_each(|&name| tree.insert_child(&[], &name.into()))?;
    /// tree.add_child(&["a".into()])?;
    /// let (snapshot, mut told) = (tree.snapshot(), Vec::new());
    /// let mut walk = snapshot.root().walk();
    /// while walk.next().is_some() {
    ///     told.push(format!("{} {}", walk.depth(), walk.path()));
    /// }
    /// assert_eq!(told, ["0 /", "1 /a", "2 /a/0", "1 /b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn walk(self) -> Walk<'a> {
        Walk { start: Some(self), stack: Vec::new(), path: Vec::new(), skip: false }
    }

    /// What comes behind the node at `path` in document order: what is below it, and then the rest
    /// of this subtree. Where no such node is, it begins behind the place where that would be. To
    /// get there costs the way there, so a walk goes on where another one was left.
    ///
    /// ```
    /// use jungle_tree::{Arena, Key, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// ["a", "b"].iter().try_for_each(|&name| tree.insert_child(&[], &name.into()))?;
    /// tree.add_child(&["a".into()])?;
    /// let snapshot = tree.snapshot();
    /// let behind = |path: &[Key]| {
    ///     let mut walk = snapshot.root().walk_behind(path);
    ///     walk.next().map(|_| walk.path().to_string())
    /// };
    /// assert_eq!(behind(&["a".into()]).as_deref(), Some("/a/0"));
    /// assert_eq!(behind(&["a".into(), 0.into()]).as_deref(), Some("/b"));
    /// assert_eq!(behind(&["aa".into(), 7.into()]).as_deref(), Some("/b"));
    /// assert_eq!(behind(&["b".into()]), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn walk_behind(self, path: &[Key]) -> Walk<'a> {
        let mut walk = Walk { start: None, stack: Vec::new(), path: Vec::new(), skip: false };
        let mut node = self;
        for key in path {
            let mut children = node.children_from(key);
            let Some(child) = node.child(key) else {
                walk.stack.push(children);
                return walk;
            };
            // It is the first of them.
            walk.path.extend(children.next().map(|(key, _)| key));
            walk.stack.push(children);
            node = child;
        }
        walk.stack.push(node.children());
        walk
    }

    /// The first node in document order for which `wanted` says yes, with its path.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// for name in ["ana", "bo"] {
    ///     let person = [tree.add_child(&[])?];
    ///     tree.put_attribute(&person, "name", name)?;
    /// }
    /// let snapshot = tree.snapshot();
    /// let found = snapshot.root().find(|node| node.attribute("name") == Some("bo".into()));
    /// assert_eq!(found.unwrap().0.to_string(), "/1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(self, mut wanted: impl FnMut(Node<'a>) -> bool) -> Option<(Path, Node<'a>)> {
        let mut walk = self.walk();
        while let Some(node) = walk.next() {
            if wanted(node) {
                return Some((walk.path(), node));
            }
        }
        None
    }

    /// Splits the subtree into at least `parts` pieces that can be visited on different threads,
    /// or as many as there are.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(100_000).map(drop))?;
    /// let snapshot = tree.snapshot();
    /// let pieces = snapshot.root().split(8);
    /// let count = &|piece: usize| {
    ///     let mut nodes = 0_u64;
    ///     pieces.visit(piece, |_| nodes += 1);
    ///     nodes
    /// };
    /// let nodes = std::thread::scope(|scope| {
    ///     let spawn = |piece| scope.spawn(move || count(piece));
    ///     let threads: Vec<_> = (0..pieces.parts()).map(spawn).collect();
    ///     threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    /// });
    /// assert_eq!(nodes, 100_001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn split(self, parts: usize) -> Split<'a> {
        let arena = self.cell().memory();
        let mut split = Split { cell: self.cell(), single: vec![self.content()], blocks: vec![] };
        push(&mut split.blocks, self.content().kids);
        // The largest piece is opened until there are enough of them: pieces differ in size, so
        // a few times as many as threads balance better.
        while split.blocks.len() < parts {
            let counts = split.blocks.iter().map(|&block| block::count(arena, block));
            let Some((at, count)) = counts.enumerate().max_by_key(|&(_, count)| count) else {
                break;
            };
            if count < PART_NODES_MIN {
                break;
            }
            let block = split.blocks.swap_remove(at);
            let Split { single, blocks, .. } = &mut split;
            visit_block(arena, blocks, block, |content| single.push(content));
        }
        split
    }

    /// Visits the subtree on so many threads, but no more than 256, nor than there are pieces of
    /// some thousand nodes; this one is among them. Each has a state of its own, made by `init`,
    /// and the states are given back. The order is any.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// tree.edit(|editor| editor.cursor(&[])?.add_children(1000).map(drop))?;
    /// let counts = tree.read().root().visit_parallel(2, || 0, |count, _| *count += 1);
    /// assert_eq!(counts.iter().sum::<u64>(), 1001);
    /// # Ok::<(), jungle_tree::EditError>(())
    /// # .map_err(|e| panic!("{e}"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_parallel<S: Send>(
        self,
        threads: usize,
        init: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, Node<'a>) + Sync,
    ) -> Vec<S> {
        let threads = threads.min(THREADS_MAX);
        let split = self.split(threads * 16);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            let mut state = init();
            loop {
                let part = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if part >= split.parts() {
                    return state;
                }
                split.visit(part, |node| visit(&mut state, node));
            }
        };
        std::thread::scope(|scope| {
            let threads = 1..threads.min(split.parts());
            let others: Vec<_> = threads.map(|_| scope.spawn(work)).collect();
            let mut states = vec![work()];
            states.extend(others.into_iter().map(|other| match other.join() {
                Ok(state) => state,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            states
        })
    }
}

/// No subtree is visited on more threads: each takes memory, and few machines have so many cores.
const THREADS_MAX: usize = 256;

/// A piece smaller than this is not split further.
const PART_NODES_MIN: u32 = 4096;

/// A subtree in pieces; see [`Node::split`].
pub struct Split<'a> {
    cell: &'a crate::line::LineCell,
    single: Vec<Content>,
    blocks: Vec<u32>,
}

impl std::fmt::Debug for Split<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Split").finish_non_exhaustive()
    }
}

impl<'a> Split<'a> {
    /// How many pieces there are.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.blocks.len() + 1
    }

    /// Visits one piece, a number below [`parts`](Split::parts).
    ///
    /// # Panics
    /// When there is no such piece.
    pub fn visit(&self, part: usize, mut visit: impl FnMut(Node<'a>)) {
        let arena = self.cell.memory();
        let Some(part) = part.checked_sub(1) else {
            return self.single.iter().for_each(|&content| visit(Node::new(self.cell, content)));
        };
        let mut stack = vec![self.blocks[part]];
        while let Some(block) = stack.pop() {
            visit_block(arena, &mut stack, block, |content| visit(Node::new(self.cell, content)));
        }
    }
}

/// Puts a block on the stack, if it is one.
fn push(stack: &mut Vec<u32>, block: u32) {
    if block != 0 {
        stack.push(block);
    }
}

/// Visits the nodes in a block, and puts the blocks below it on the stack.
#[inline(always)]
fn visit_block(
    arena: Memory<'_>,
    stack: &mut Vec<u32>,
    handle: u32,
    mut visit: impl FnMut(Content),
) {
    let header = Header::load(arena, handle);
    let (present, attrs) = (header.present(), header.attrs());
    if header.is_bare_dense_leaf() {
        // Most blocks hold leaves only; where all of them or none have attributes, the bitmaps
        // need no looking at.
        let count = present.count_ones();
        if attrs == 0 {
            return (0..count).for_each(|_| visit(Content::default()));
        }
        if attrs == present {
            let leaf = |attrs| visit(Content { kids: 0, attrs });
            return block::each_entry(arena, handle, 0, count as usize, leaf);
        }
    }
    if header.kind() == DIRECTORY {
        let Directory { dense, named, .. } = Directory::load(arena, handle);
        stack.extend([named, dense].iter().filter(|&&part| part != 0));
        return;
    }
    if header.is_leaf() {
        visit_slots(arena, handle, header, visit);
    }
    // Ask for all of them before going into the first: an aged tree, whose blocks lie anywhere,
    // is visited twice as fast for it. The first goes on top.
    let (first, from) = (header.names(), stack.len());
    block::each_entry(arena, handle, first, first + header.kids().count_ones() as usize, |kid| {
        block::prefetch(arena, kid);
        stack.push(kid);
    });
    stack[from..].reverse();
}

/// Visits the nodes in the slots of a leaf block.
#[inline(always)]
fn visit_slots(arena: Memory<'_>, handle: u32, header: Header, mut visit: impl FnMut(Content)) {
    let (present, kids, attrs) = (header.present(), header.kids(), header.attrs());
    let (mut kid, mut attr) = (header.kid_entry(0), header.attrs_entry(0));
    let get = |entry| block::entry(arena, handle, entry);
    let mut rest = present;
    while rest != 0 {
        let slot = rest.trailing_zeros();
        rest &= rest - 1;
        let (has_kid, has_attr) = (kids >> slot & 1 == 1, attrs >> slot & 1 == 1);
        visit(Content {
            kids: if has_kid { get(kid) } else { 0 },
            attrs: if has_attr { get(attr) } else { 0 },
        });
        kid += usize::from(has_kid);
        attr += usize::from(has_attr);
    }
}

/// A subtree in document order; see [`Node::walk`].
pub struct Walk<'a> {
    start: Option<Node<'a>>,
    stack: Vec<Children<'a>>,
    path: Vec<KeyRef<'a>>,
    skip: bool,
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Walk");
        shown.field("path", &self.path);
        shown.finish_non_exhaustive()
    }
}

impl<'a> Walk<'a> {
    /// How deep the node given last is below the start.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// The key of the node given last; `None` for the start.
    #[must_use]
    pub fn key(&self) -> Option<KeyRef<'a>> {
        self.path.last().copied()
    }

    /// The keys from the start to the node given last.
    pub(crate) fn keys(&self) -> &[KeyRef<'a>] {
        &self.path
    }

    /// The path from the start to the node given last.
    #[must_use]
    pub fn path(&self) -> Path {
        self.path.iter().map(|key| key.to_key()).collect()
    }

    /// Leaves out what is below the node given last.
    ///
    /// ```
    /// use jungle_tree::{Arena, Tree};
    /// let mut tree = Tree::new(&Arena::new()?);
    /// ["closed", "open"].iter().try_for_each(|&name| {
    ///     tree.insert_child(&[], &name.into())?;
    ///     tree.add_child(&[name.into()]).map(drop)
    /// })?;
    /// let (snapshot, mut seen) = (tree.snapshot(), Vec::new());
    /// let mut walk = snapshot.root().walk();
    /// while walk.next().is_some() {
    ///     seen.push(walk.path().to_string());
    ///     if walk.key() == Some("closed".into()) {
    ///         walk.skip_below();
    ///     }
    /// }
    /// assert_eq!(seen, ["/", "/closed", "/open", "/open/0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn skip_below(&mut self) {
        self.skip = true;
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        if let Some(start) = self.start.take() {
            self.stack.push(start.children());
            return Some(start);
        }
        if std::mem::take(&mut self.skip) {
            self.stack.pop();
            self.path.pop();
        }
        loop {
            match self.stack.last_mut()?.next() {
                Some((key, node)) => {
                    // The path is as long as the stack, less the children of the start.
                    self.path.truncate(self.stack.len() - 1);
                    self.path.push(key);
                    self.stack.push(node.children());
                    return Some(node);
                }
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}
