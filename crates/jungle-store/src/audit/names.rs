//! What trees and branches are called, event by event: what deletes one has its number only.

use std::collections::BTreeMap;
use std::sync::Arc;

use jungle_db::{BranchId, CommitMeta, CommitRecord, Event, JungleState, MAIN_BRANCH, TreeId};

use super::AuditRow;
use crate::record::{DecodeError, DecodeReason};
use crate::wire::{Input, put_bytes, put_varint};

/// An author or a message that is longer is cut off there.
const TEXT_BYTES_MAX: usize = 4096;

/// Stands for the tree itself beside its branches: their numbers begin with 1.
const TREE: u64 = 0;

/// The names at some revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// By the tree, and by the branch in it.
    by_id: BTreeMap<(u64, u64), Arc<str>>,
}

impl Names {
    /// Adds the names of another time, where those of the right one are not known.
    pub(super) fn add_state(&mut self, state: &JungleState) {
        for tree in &state.trees {
            self.put(tree.id, TREE, &tree.name);
            for branch in &tree.branches {
                self.put(tree.id, branch.id.0, &branch.name);
            }
        }
    }

    /// The row of what was done, with the names as they were then; goes on to those behind it.
    pub(super) fn row(&mut self, record: CommitRecord) -> AuditRow {
        let CommitRecord { revision, time, meta, event } = record;
        let (tree, branch) = self.follow(&event);
        let tree = Box::from(&*tree.unwrap_or_default());
        let branch = branch.map(|name| Box::from(&*name));
        AuditRow { revision, time, meta: shortened(meta), event, tree, branch }
    }

    /// The names of what it was done to, as far as they are known.
    fn follow(&mut self, event: &Event) -> (Option<Arc<str>>, Option<Arc<str>>) {
        match event {
            Event::TreeCreated { tree, branch, name, .. } => {
                self.put(*tree, TREE, name);
                self.put(*tree, branch.0, MAIN_BRANCH);
                (self.tree(*tree), None)
            }
            Event::TreeRenamed { tree, name } => {
                let was = self.tree(*tree);
                self.put(*tree, TREE, name);
                (was, None)
            }
            Event::TreeDeleted { tree } => {
                let was = self.tree(*tree);
                let of_tree = self.by_id.range((tree.0, TREE)..=(tree.0, u64::MAX));
                let gone: Vec<(u64, u64)> = of_tree.map(|(&id, _)| id).collect();
                gone.iter().for_each(|id| drop(self.by_id.remove(id)));
                (was, None)
            }
            Event::BranchCreated { tree, branch, name, .. } => {
                self.put(*tree, branch.0, name);
                (self.tree(*tree), self.branch(*tree, *branch))
            }
            Event::BranchDeleted { tree, branch } => {
                (self.tree(*tree), self.by_id.remove(&(tree.0, branch.0)))
            }
            Event::TagCreated { tree, branch, .. } | Event::RetentionSet { tree, branch, .. } => {
                (self.tree(*tree), self.branch(*tree, *branch))
            }
            Event::TagDeleted { tree, .. }
            | Event::IndexCreated { tree, .. }
            | Event::IndexDropped { tree, .. } => (self.tree(*tree), None),
            _ => (None, None),
        }
    }

    fn put(&mut self, TreeId(tree): TreeId, branch: u64, name: &str) {
        self.by_id.insert((tree, branch), name.into());
    }

    fn tree(&self, TreeId(tree): TreeId) -> Option<Arc<str>> {
        self.by_id.get(&(tree, TREE)).cloned()
    }

    fn branch(&self, TreeId(tree): TreeId, BranchId(branch): BranchId) -> Option<Arc<str>> {
        self.by_id.get(&(tree, branch)).cloned()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.by_id.len() as u64);
        for (&(tree, branch), name) in &self.by_id {
            put_varint(&mut out, tree);
            put_varint(&mut out, branch);
            put_bytes(&mut out, name.as_bytes());
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Names, DecodeError> {
        let (mut input, mut names) = (Input::new(bytes), Names::default());
        for _ in 0..input.varint()? {
            let id = (input.varint()?, input.varint()?);
            names.by_id.insert(id, input.text()?.into());
        }
        if input.is_empty() { Ok(names) } else { Err(input.error(DecodeReason::TooLong)) }
    }
}

/// Who did it, and why, in no more than is kept.
fn shortened(meta: CommitMeta) -> CommitMeta {
    let (author, message) = (meta.author_name(), meta.message_text());
    if [author, message].into_iter().flatten().all(|text| text.len() <= TEXT_BYTES_MAX) {
        return meta;
    }
    let cut = |text: &str| text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
    let mut short = CommitMeta::new();
    if let Some(author) = author {
        short = short.author(&cut(author));
    }
    if let Some(message) = message {
        short = short.message(&cut(message));
    }
    match meta.request() {
        Some(request) => short.asked_by(request),
        None => short,
    }
}
