//! Records into bytes.

use jungle_db::{
    BranchEdit, CommitMeta, CommitRecord, Event, MergedVersion, OtherKeys, RequestId, Retention,
};
use jungle_tree::{Change, Key, KeyRef, Path, Renumbered, ValueRef};

use super::{HAS_AUTHOR, HAS_MESSAGE, HAS_REQUEST, RECORD_BYTES_MAX, kind, put_retention, subtree};
use crate::wire::{put_bytes, put_varint, zigzag};

/// Why a record was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It is too long.
    #[error("a commit of {bytes} bytes is longer than the limit of {RECORD_BYTES_MAX}")]
    TooLong {
        /// How many bytes it has.
        bytes: usize,
    },
    /// This version of the format has no form for it.
    #[error("the format has no form for this {what}")]
    NoForm {
        /// What it is.
        what: &'static str,
    },
}

/// Adds a record to bytes.
///
/// # Errors
/// When it is too long, or of a kind that the format does not know. Part of it may be in `out`.
///
/// ```
/// use jungle_db::{Jungle, MemoryJournal};
/// use jungle_store::{decode, encode};
/// use std::sync::Arc;
///
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// jungle.create_tree("board")?;
/// let record = &journal.records()[0];
/// let mut bytes = Vec::new();
/// encode(record, &mut bytes)?;
/// let again = decode(&bytes, record.revision, jungle.arena())?;
/// assert_eq!(format!("{again:?}"), format!("{record:?}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(record: &CommitRecord, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let begin = out.len();
    put_varint(out, zigzag(record.time.as_micros()));
    put_meta(out, &record.meta);
    event(&record.event, out)?;
    let bytes = out.len() - begin;
    if bytes > RECORD_BYTES_MAX { Err(EncodeError::TooLong { bytes }) } else { Ok(()) }
}

/// Who made a commit, and why.
pub(crate) fn put_meta(out: &mut Vec<u8>, meta: &CommitMeta) {
    let (author, message, request) = (meta.author_name(), meta.message_text(), meta.request());
    let flag = |is_there: bool, flag| if is_there { flag } else { 0 };
    out.push(
        flag(author.is_some(), HAS_AUTHOR)
            | flag(message.is_some(), HAS_MESSAGE)
            | flag(request.is_some(), HAS_REQUEST),
    );
    for text in [author, message].into_iter().flatten() {
        put_bytes(out, text.as_bytes());
    }
    if let Some(RequestId { key, fingerprint }) = request {
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&fingerprint.to_le_bytes());
    }
}

fn event(event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut begin = |kind: u8, numbers: &[u64]| {
        out.push(kind);
        numbers.iter().for_each(|&number| put_varint(out, number));
    };
    match event {
        Event::Edited(edits) => {
            begin(kind::EDITED, &[edits.len() as u64]);
            return edits.iter().try_for_each(|edit| branch_edit(edit, out));
        }
        Event::TreeCreated { tree, branch, name, retention } => {
            let all = *retention == Retention::All;
            let kind = if all { kind::TREE_CREATED } else { kind::KEEPING_TREE_CREATED };
            begin(kind, &[tree.0, branch.0]);
            put_bytes(out, name.as_bytes());
            if !all {
                put_retention(out, *retention);
            }
        }
        Event::TreeRenamed { tree, name } => {
            begin(kind::TREE_RENAMED, &[tree.0]);
            put_bytes(out, name.as_bytes());
        }
        Event::TreeDeleted { tree } => begin(kind::TREE_DELETED, &[tree.0]),
        Event::BranchCreated { tree, branch, name, from, at, retention } => {
            let all = *retention == Retention::All;
            let kind = if all { kind::BRANCH_CREATED } else { kind::KEEPING_BRANCH_CREATED };
            begin(kind, &[tree.0, branch.0, from.0, at.number()]);
            put_bytes(out, name.as_bytes());
            if !all {
                put_retention(out, *retention);
            }
        }
        Event::BranchDeleted { tree, branch } => {
            begin(kind::BRANCH_DELETED, &[tree.0, branch.0]);
        }
        Event::TagCreated { tree, name, branch, at } => {
            begin(kind::TAG_CREATED, &[tree.0, branch.0, at.number()]);
            put_bytes(out, name.as_bytes());
        }
        Event::TagDeleted { tree, name } => {
            begin(kind::TAG_DELETED, &[tree.0]);
            put_bytes(out, name.as_bytes());
        }
        Event::IndexCreated { tree, key } => {
            begin(kind::INDEX_CREATED, &[tree.0]);
            put_bytes(out, key.as_bytes());
        }
        Event::IndexDropped { tree, key } => {
            begin(kind::INDEX_DROPPED, &[tree.0]);
            put_bytes(out, key.as_bytes());
        }
        Event::RetentionSet { tree, branch, retention } => {
            begin(kind::RETENTION_SET, &[tree.0, branch.0]);
            put_retention(out, *retention);
        }
        _ => return Err(EncodeError::NoForm { what: "event" }),
    }
    Ok(())
}

fn branch_edit(edit: &BranchEdit, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    put_varint(out, edit.tree.0);
    put_varint(out, edit.branch.0);
    match &edit.merged {
        None => out.push(kind::NOT_MERGED),
        Some(MergedVersion { branch, revision, renumbered }) => {
            let none = *renumbered == OtherKeys::default();
            out.push(if none { kind::MERGED } else { kind::MERGED_RENUMBERED });
            put_varint(out, branch.0);
            put_varint(out, revision.number());
            if !none {
                put_renumbered(out, renumbered);
            }
        }
    }
    put_varint(out, edit.changes.len() as u64);
    edit.changes.iter().try_for_each(|it| change(it, out))
}

/// Nodes that have other keys on another branch. The root, which is never one of them, stands for
/// too many.
pub(crate) fn put_renumbered(out: &mut Vec<u8>, renumbered: &OtherKeys) {
    let root = [Renumbered { path: Path::root(), key: Key::from(0) }];
    let nodes = match renumbered {
        OtherKeys::Told(nodes) => &nodes[..],
        OtherKeys::TooMany => &root[..],
    };
    put_varint(out, nodes.len() as u64);
    for Renumbered { path: at, key: other } in nodes {
        path(at, out);
        key(other.as_ref(), out);
    }
}

fn change(change: &Change, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut begin = |kind: u8, at: &[Key]| {
        out.push(kind);
        path(at, out);
    };
    match change {
        Change::ChildAdded { path } => begin(kind::CHILD_ADDED, path),
        Change::ChildRemoved { path } => begin(kind::CHILD_REMOVED, path),
        Change::AttributePut { path, key, value: put } => {
            begin(kind::ATTRIBUTE_PUT, path);
            put_bytes(out, key.as_bytes());
            value(put.as_ref(), out);
        }
        Change::AttributeRemoved { path, key } => {
            begin(kind::ATTRIBUTE_REMOVED, path);
            put_bytes(out, key.as_bytes());
        }
        Change::Moved { from, to } => {
            begin(kind::MOVED, from);
            path(to, out);
        }
        Change::SubtreeSet { path, subtree } => {
            begin(kind::SUBTREE_SET, path);
            subtree::put(subtree.node(), out);
        }
        _ => return Err(EncodeError::NoForm { what: "change" }),
    }
    Ok(())
}

fn path(path: &[Key], out: &mut Vec<u8>) {
    put_varint(out, path.len() as u64);
    path.iter().for_each(|it| key(it.as_ref(), out));
}

/// The two lowest bits of the first number say what the key is.
pub(super) fn key(key: KeyRef<'_>, out: &mut Vec<u8>) {
    match key {
        KeyRef::Position(index, []) => put_varint(out, zigzag(index) << 2 | kind::WHOLE_POSITION),
        KeyRef::Position(index, digits) => {
            put_varint(out, zigzag(index) << 2 | kind::FRACTIONAL_POSITION);
            put_bytes(out, digits);
        }
        KeyRef::Name(name) => {
            put_varint(out, (name.len() as u64) << 2 | kind::NAME);
            out.extend_from_slice(name.as_bytes());
        }
    }
}

pub(super) fn value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.push(kind::NULL),
        ValueRef::Bool(false) => out.push(kind::FALSE),
        ValueRef::Bool(true) => out.push(kind::TRUE),
        ValueRef::Int(int) => {
            out.push(kind::INT);
            put_varint(out, zigzag(int));
        }
        ValueRef::Float(float) => {
            out.push(kind::FLOAT);
            out.extend_from_slice(&float.to_bits().to_le_bytes());
        }
        ValueRef::Text(text) => {
            out.push(kind::TEXT);
            put_bytes(out, text.as_bytes());
        }
        ValueRef::Bytes(bytes) => {
            out.push(kind::BYTES);
            put_bytes(out, bytes);
        }
    }
}
