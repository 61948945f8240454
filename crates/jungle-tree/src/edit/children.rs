//! Adding and removing children, in whatever blocks they lie.

use super::{Edit, EditError};
use crate::block::{self, BRANCH, BUCKET, Content, DIRECTORY, Directory, Header, WIDTH};
use crate::children::{Name, Step, dense_position, directory, name, span};
use crate::key::KeyRef;
use crate::planted::{Bug, is_awake};
use crate::signature::Signature;

impl Edit<'_> {
    /// The position that the next child added to the node here gets.
    pub(crate) fn next_position(&self) -> i64 {
        directory(self.arena, self.here().kids).next
    }

    /// Adds a child that is not there yet to the node where the edit is.
    #[inline]
    pub(crate) fn add_child(&mut self, key: KeyRef<'_>, content: Content) {
        let kids = self.here().kids;
        let added = 1 + i64::from(block::count(self.arena, content.kids));
        let kids = match (dense_position(key), kids) {
            (Some(position), 0) if position < 16 => {
                self.new_block(0, position as u32, 0, content, added as u32)
            }
            (Some(position), _) if position < 16 && self.kind(kids) == 0 => {
                self.add_slot(kids, position as u32, content, added)
            }
            (None, _) if matches!(key, KeyRef::Name(_)) && self.has_bucket_room(kids) => {
                self.add_named_child(kids, &Name::new(key), content, added)
            }
            _ => self.add_to_directory(kids, key, content, added),
        };
        self.set_kids(kids, added);
    }

    /// Adds `count` bare children with the next positions to the node where the edit is.
    pub(crate) fn add_bare_children(&mut self, count: u64) {
        let next = self.next_position();
        let kids = self.here().kids;
        if kids == 0 && next == 0 && count <= WIDTH as u64 && count > 0 {
            let header = Header::new(0, self.version).with_bits((1 << count) - 1, 0, 0);
            let block = self.allocator.take_block(self.arena, header.words());
            header.with_count(count as u32).store(self.arena, block);
            return self.set_kids(block, count as i64);
        }
        for position in next..next + count as i64 {
            self.add_child(KeyRef::Position(position, &[]), Content::default());
        }
    }

    /// Adds up to 16 leaves with the next positions to the node where the edit is.
    #[inline(always)]
    pub(crate) fn add_leaves(&mut self, leaves: &[Content]) {
        let next = self.next_position();
        if self.here().kids == 0 && next == 0 && !leaves.is_empty() {
            let slots = leaves.iter().enumerate();
            let attrs = slots.fold(0, |bits, (i, leaf)| bits | u32::from(leaf.attrs != 0) << i);
            let header = Header::new(0, self.version).with_bits((1 << leaves.len()) - 1, 0, attrs);
            let entries = leaves.iter().map(|leaf| leaf.attrs).filter(|&entry| entry != 0);
            let block = self.new_from(header.with_count(leaves.len() as u32), entries);
            return self.set_kids(block, leaves.len() as i64);
        }
        for (position, &leaf) in (next..).zip(leaves) {
            self.add_child(KeyRef::Position(position, &[]), leaf);
        }
    }

    fn kind(&self, handle: u32) -> u8 {
        Header::load(self.arena, handle).kind()
    }

    /// Is this no block yet, or a bucket with room, standing alone?
    fn has_bucket_room(&self, kids: u32) -> bool {
        if kids == 0 {
            return true;
        }
        let header = Header::load(self.arena, kids);
        header.kind() == BUCKET && header.names() < self.arena.names_max()
    }

    fn add_to_directory(
        &mut self,
        kids: u32,
        key: KeyRef<'_>,
        content: Content,
        added: i64,
    ) -> u32 {
        let mut parts = directory(self.arena, kids);
        // Counted first: what stands alone now is changed in place, or goes.
        let count = block::count(self.arena, kids).wrapping_add_signed(added as i32);
        let was = self.as_directory(kids);
        if let KeyRef::Position(index, _) = key {
            parts.next = parts.next.max(index + 1);
            parts.low = parts.low.min(index);
        }
        parts.children += 1;
        match dense_position(key) {
            Some(position) => parts.dense = self.add_dense(parts.dense, position, content, added),
            None => {
                let name = Name::new(key);
                parts.named = self.add_named_child(parts.named, &name, content, added);
            }
        }
        self.put_directory(was, parts, count)
    }

    /// The directory that a children block is, if it is one.
    fn as_directory(&self, kids: u32) -> Option<u32> {
        (kids != 0 && self.kind(kids) == DIRECTORY).then_some(kids)
    }

    /// Writes a directory, in place of another if there was one.
    fn put_directory(&mut self, was: Option<u32>, parts: Directory, count: u32) -> u32 {
        let Some(kids) = was else { return self.new_directory(parts, count) };
        let header = Header::load(self.arena, kids);
        let own = self.own(kids, header, 0);
        header.with_birth(self.version).with_count(count).store(self.arena, own);
        parts.store(self.arena, own);
        own
    }

    /// Adds a node at a free position to the dense blocks under `root`.
    fn add_dense(&mut self, root: u32, position: u64, content: Content, added: i64) -> u32 {
        if root == 0 {
            let height = (0..).find(|&height| position < span(height)).expect("spans grow");
            return self.dense_chain(height, position, content, added);
        }
        let mut root = root;
        while position >= span(self.kind(root)) {
            let count = block::count(self.arena, root);
            let above = Content { kids: root, attrs: 0 };
            root = self.new_block(self.kind(root) + 1, 0, 0, above, count);
        }
        let from = self.allocator.buffers.steps.len();
        let mut handle = root;
        let replaced = loop {
            let header = Header::load(self.arena, handle);
            let slot = (position >> (4 * u32::from(header.kind()))) as u32 & 15;
            if header.is_leaf() {
                break self.add_slot(handle, slot, content, added);
            }
            if header.present() >> slot & 1 == 0 {
                let kid = self.dense_chain(header.kind() - 1, position, content, added);
                break self.set_block(Step::new(handle, header, slot), kid, added);
            }
            self.allocator.buffers.steps.push(Step::new(handle, header, slot));
            handle = block::kid(self.arena, handle, header, slot);
        };
        self.replace_up(from, replaced, added)
    }

    /// One block above the other, from `height` down to the leaf with the only node.
    fn dense_chain(&mut self, height: u8, position: u64, content: Content, added: i64) -> u32 {
        let slot = |height: u8| (position >> (4 * u32::from(height))) as u32 & 15;
        let mut block = self.new_block(0, slot(0), 0, content, added as u32);
        for height in 1..=height {
            let below = Content { kids: block, attrs: 0 };
            block = self.new_block(height, slot(height), 0, below, added as u32);
        }
        block
    }

    /// Adds a node of a new name under `root`, a bucket or a branch or nothing yet.
    fn add_named_child(&mut self, root: u32, new: &Name<'_>, content: Content, added: i64) -> u32 {
        let record = name::write(self, new);
        if root == 0 {
            return self.new_block(BUCKET, 0, record, content, added as u32);
        }
        let from = self.allocator.buffers.steps.len();
        let near = name::nearest(self.arena, root, new);
        let divergence = near.divergence(new);
        let mut handle = root;
        let replaced = loop {
            let header = Header::load(self.arena, handle);
            if header.kind() != BRANCH {
                break self.add_to_bucket(handle, new, record, content, added);
            }
            if divergence < header.attrs() {
                // The new name is unlike all under this branch: a branch above it.
                let bucket = self.new_block(BUCKET, 0, record, content, added as u32);
                let old = near.half_byte(divergence);
                let mut slots = [(old, handle), (new.half_byte(divergence), bucket)];
                break self.new_branch(divergence, &mut slots);
            }
            let slot = new.half_byte(header.attrs());
            if header.present() >> slot & 1 == 0 {
                let bucket = self.new_block(BUCKET, 0, record, content, added as u32);
                break self.set_block(Step::new(handle, header, slot), bucket, added);
            }
            self.allocator.buffers.steps.push(Step::new(handle, header, slot));
            handle = block::kid(self.arena, handle, header, slot);
        };
        self.replace_up(from, replaced, added)
    }

    fn add_to_bucket(
        &mut self,
        bucket: u32,
        new: &Name<'_>,
        record: u32,
        content: Content,
        added: i64,
    ) -> u32 {
        let header = Header::load(self.arena, bucket);
        let at = match name::find(self.arena, bucket, header, new) {
            Ok(at) | Err(at) => at,
        };
        let names_max = self.arena.names_max();
        if header.names() < names_max {
            let at = if is_awake(Bug::BucketUnsorted) { 0 } else { at };
            return self.add_named(bucket, at, record, content, added);
        }
        // Full: split by the first half-byte in which the names differ. Names are in order, so
        // that is where the first and the last one differ.
        let mut nodes = self.bucket_nodes(bucket);
        nodes.insert(at as usize, (record, content));
        self.retire_block(bucket);
        let half_byte =
            name::of(self.arena, nodes[0].0).divergence(&name::of(self.arena, nodes[names_max].0));
        let slot = |edit: &Self, record| name::of(edit.arena, record).half_byte(half_byte);
        let mut slots: Vec<(u32, u32)> = Vec::new();
        let mut rest = &nodes[..];
        while let Some(&(record, _)) = rest.first() {
            let here = slot(self, record);
            let len = rest.iter().take_while(|&&(record, _)| slot(self, record) == here).count();
            slots.push((here, self.new_bucket(&rest[..len])));
            rest = &rest[len..];
        }
        self.new_branch(half_byte, &mut slots)
    }

    /// Removes a child of the node where the edit is, and gives what it held; `None` when there
    /// is none of this key. Its content is not retired. An error has changed nothing.
    pub(crate) fn remove_child(&mut self, key: KeyRef<'_>) -> Result<Option<Content>, EditError> {
        let kids = self.here().kids;
        let mut steps = Vec::new();
        let found = crate::children::locate(self.arena, kids, key, |step| steps.push(step));
        let Some(content) = found else { return Ok(None) };
        self.check_room_to_remove()?;
        let added = -1 - i64::from(block::count(self.arena, content.kids));
        let leaf = steps.pop().expect("a child lies in a leaf block");
        if self.kind(leaf.block) == BUCKET {
            let record = block::entry(self.arena, leaf.block, usize::from(leaf.slot));
            self.retire_record(record);
        }
        let directory_first = self.kind(kids) == DIRECTORY;
        let mut parts = directory(self.arena, kids);
        let mut replaced = self.remove_slot(leaf.block, u32::from(leaf.slot), added);
        let above = usize::from(directory_first);
        while steps.len() > above {
            let step = steps.pop().expect("counted above");
            replaced = self.set_block(step, replaced, added);
            if replaced != 0 && self.kind(replaced) == BRANCH {
                replaced = self.shrink_branch(replaced);
            }
        }
        let kids = if directory_first {
            if steps[0].slot == 0 {
                parts.dense = self.shrink_dense(replaced);
            } else {
                parts.named = replaced;
            }
            parts.children -= 1;
            if let KeyRef::Position(_, fraction @ [_, ..]) = key {
                // One put there by hand may look like what the tree would give much later.
                let number = Signature::number_of_tree(fraction).unwrap_or(0);
                parts.taken = parts.taken.max(number).saturating_add(1);
            }
            let count = block::count(self.arena, kids).wrapping_add_signed(added as i32);
            self.put_directory(Some(kids), parts, count)
        } else if self.is_last_position(key, parts.next) {
            // The position must not be given again: a directory remembers it.
            parts.children -= 1;
            parts.dense = replaced;
            let count = block::count(self.arena, replaced);
            self.new_directory(parts, count)
        } else {
            replaced
        };
        self.set_kids(kids, added);
        Ok(Some(content))
    }

    fn is_last_position(&self, key: KeyRef<'_>, next: i64) -> bool {
        let bug = is_awake(Bug::PositionUsedAgain);
        matches!(key, KeyRef::Position(index, _) if index + 1 == next && !bug)
    }

    /// The same nodes under a root as low as can be.
    fn shrink_dense(&mut self, root: u32) -> u32 {
        let mut root = root;
        while root != 0 {
            let header = Header::load(self.arena, root);
            if header.is_leaf() || header.present() != 1 {
                break;
            }
            let below = block::kid(self.arena, root, header, 0);
            self.retire_block(root);
            root = below;
        }
        root
    }

    /// A branch of 16 names or fewer becomes a bucket, one with a single slot what is in it: so
    /// the shape follows from the names alone.
    fn shrink_branch(&mut self, branch: u32) -> u32 {
        let header = Header::load(self.arena, branch);
        let kids: Vec<u32> =
            (0..header.entries()).map(|entry| block::entry(self.arena, branch, entry)).collect();
        if let &[only] = &*kids {
            self.retire_block(branch);
            return only;
        }
        let headers = kids.iter().map(|&kid| Header::load(self.arena, kid));
        let names: usize = headers.clone().map(Header::names).sum();
        if is_awake(Bug::BranchStays)
            || names > self.arena.names_max()
            || headers.clone().any(|header| header.kind() != BUCKET)
        {
            return branch;
        }
        let nodes: Vec<_> = kids.iter().flat_map(|&kid| self.bucket_nodes(kid)).collect();
        kids.iter().for_each(|&kid| self.retire_block(kid));
        self.retire_block(branch);
        self.new_bucket(&nodes)
    }
}
