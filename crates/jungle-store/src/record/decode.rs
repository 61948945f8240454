//! Records from bytes.

use std::sync::Arc;

use jungle_db::{
    BranchEdit, BranchId, CommitMeta, CommitRecord, Event, MergedVersion, OtherKeys, RequestId,
    Retention, Revision, Timestamp, TreeId,
};
use jungle_tree::{Arena, Change, ChangeSet, Fraction, Key, Path, Position, Renumbered, Value};

use super::{
    DecodeError, DecodeReason, HAS_AUTHOR, HAS_MESSAGE, HAS_REQUEST, get_retention, kind, subtree,
};
use crate::wire::{Input, unzigzag};

/// Reads a record. Its subtrees are built in `arena`.
///
/// # Errors
/// When the bytes are no record, whatever they are.
///
/// ```
/// use std::sync::Arc;
/// use jungle_db::{Jungle, MemoryJournal};
/// use jungle_store::{decode, encode};
/// let journal = Arc::new(MemoryJournal::default());
/// let jungle = Jungle::builder().journal(Arc::clone(&journal)).build()?;
/// jungle.create_tree("board")?;
/// let record = &journal.records()[0];
/// let mut bytes = Vec::new();
/// encode(record, &mut bytes)?;
/// assert_eq!(decode(&bytes, record.revision, jungle.arena())?.time, record.time);
/// let torn = &bytes[..bytes.len() - 1];
/// assert!(decode(torn, record.revision, jungle.arena()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode(
    bytes: &[u8],
    revision: Revision,
    arena: &Arena,
) -> Result<CommitRecord, DecodeError> {
    let mut input = Input::new(bytes);
    let (time, meta) = head(&mut input)?;
    let event = event(&mut input, arena)?;
    end(&input)?;
    Ok(CommitRecord { revision, time, meta, event })
}

/// Reads a record, which needs no arena unless it is of edits: those are not read, and `None`.
pub(crate) fn decode_told(
    bytes: &[u8],
    revision: Revision,
) -> Result<Option<CommitRecord>, DecodeError> {
    let mut input = Input::new(bytes);
    let (time, meta) = head(&mut input)?;
    let event = match input.byte()? {
        kind::EDITED => return Ok(None),
        kind => told(kind, &mut input)?,
    };
    end(&input)?;
    Ok(Some(CommitRecord { revision, time, meta, event }))
}

fn head(input: &mut Input<'_>) -> Result<(Timestamp, CommitMeta), DecodeError> {
    let time = Timestamp::from_micros(input.signed()?);
    Ok((time, get_meta(input)?))
}

fn end(input: &Input<'_>) -> Result<(), DecodeError> {
    if input.is_empty() { Ok(()) } else { Err(input.error(DecodeReason::TooLong)) }
}

/// Who made a commit, and why.
pub(crate) fn get_meta(input: &mut Input<'_>) -> Result<CommitMeta, DecodeError> {
    let mut meta = CommitMeta::new();
    let flags = input.byte()?;
    if flags & !(HAS_AUTHOR | HAS_MESSAGE | HAS_REQUEST) != 0 {
        return Err(no_such_kind(input, "flags", flags));
    }
    if flags & HAS_AUTHOR != 0 {
        meta = meta.author(input.text()?);
    }
    if flags & HAS_MESSAGE != 0 {
        meta = meta.message(input.text()?);
    }
    if flags & HAS_REQUEST != 0 {
        let (key, fingerprint) = (input.fixed()?, input.fixed()?);
        meta = meta.asked_by(RequestId { key, fingerprint });
    }
    Ok(meta)
}

fn no_such_kind(input: &Input<'_>, what: &'static str, kind: u8) -> DecodeError {
    input.error(DecodeReason::NoSuchKind { what, kind })
}

fn event(input: &mut Input<'_>, arena: &Arena) -> Result<Event, DecodeError> {
    match input.byte()? {
        kind::EDITED => {
            let mut edits = Vec::new();
            for _ in 0..input.varint()? {
                edits.push(branch_edit(input, arena)?);
            }
            Ok(Event::Edited(edits))
        }
        kind => told(kind, input),
    }
}

/// What is no edit.
fn told(kind: u8, input: &mut Input<'_>) -> Result<Event, DecodeError> {
    Ok(match kind {
        kind::TREE_CREATED | kind::KEEPING_TREE_CREATED => Event::TreeCreated {
            tree: tree(input)?,
            branch: branch(input)?,
            name: name(input)?,
            retention: retention_if(kind == kind::KEEPING_TREE_CREATED, input)?,
        },
        kind::TREE_RENAMED => Event::TreeRenamed { tree: tree(input)?, name: name(input)? },
        kind::TREE_DELETED => Event::TreeDeleted { tree: tree(input)? },
        kind::BRANCH_CREATED | kind::KEEPING_BRANCH_CREATED => Event::BranchCreated {
            tree: tree(input)?,
            branch: branch(input)?,
            from: branch(input)?,
            at: revision(input)?,
            name: name(input)?,
            retention: retention_if(kind == kind::KEEPING_BRANCH_CREATED, input)?,
        },
        kind::BRANCH_DELETED => Event::BranchDeleted { tree: tree(input)?, branch: branch(input)? },
        kind::TAG_CREATED => Event::TagCreated {
            tree: tree(input)?,
            branch: branch(input)?,
            at: revision(input)?,
            name: name(input)?,
        },
        kind::TAG_DELETED => Event::TagDeleted { tree: tree(input)?, name: name(input)? },
        kind::INDEX_CREATED => Event::IndexCreated { tree: tree(input)?, key: name(input)? },
        kind::INDEX_DROPPED => Event::IndexDropped { tree: tree(input)?, key: name(input)? },
        kind::RETENTION_SET => Event::RetentionSet {
            tree: tree(input)?,
            branch: branch(input)?,
            retention: get_retention(input)?,
        },
        _ => return Err(no_such_kind(input, "event", kind)),
    })
}

/// What new trees and branches keep: everything, unless their kind says that a rule follows.
fn retention_if(is_told: bool, input: &mut Input<'_>) -> Result<Retention, DecodeError> {
    if is_told { get_retention(input) } else { Ok(Retention::All) }
}

fn tree(input: &mut Input<'_>) -> Result<TreeId, DecodeError> {
    Ok(TreeId(id(input)?))
}

fn branch(input: &mut Input<'_>) -> Result<BranchId, DecodeError> {
    Ok(BranchId(id(input)?))
}

/// An id has a successor, since ids are counted up.
fn id(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    match input.varint()? {
        u64::MAX => Err(input.error(DecodeReason::NumberTooLarge)),
        id => Ok(id),
    }
}

fn revision(input: &mut Input<'_>) -> Result<Revision, DecodeError> {
    Ok(Revision::new(input.varint()?))
}

fn name(input: &mut Input<'_>) -> Result<Arc<str>, DecodeError> {
    Ok(input.text()?.into())
}

fn branch_edit(input: &mut Input<'_>, arena: &Arena) -> Result<BranchEdit, DecodeError> {
    let (tree, branch_id) = (tree(input)?, branch(input)?);
    let merged = match input.byte()? {
        kind::NOT_MERGED => None,
        kind @ (kind::MERGED | kind::MERGED_RENUMBERED) => Some(MergedVersion {
            branch: branch(input)?,
            revision: revision(input)?,
            renumbered: match kind {
                kind::MERGED => OtherKeys::default(),
                _ => get_renumbered(input)?,
            },
        }),
        kind => return Err(no_such_kind(input, "merge", kind)),
    };
    let mut changes = ChangeSet::new();
    for _ in 0..input.varint()? {
        changes.push(change(input, arena, tree)?);
    }
    Ok(BranchEdit { tree, branch: branch_id, changes, merged })
}

/// Nodes that have other keys on another branch, or the root alone, which stands for too many.
pub(crate) fn get_renumbered(input: &mut Input<'_>) -> Result<OtherKeys, DecodeError> {
    let mut nodes = Vec::new();
    for _ in 0..input.varint()? {
        nodes.push(Renumbered { path: path(input)?, key: key(input)? });
    }
    let is_root_alone = matches!(&*nodes, [only] if only.path.is_empty());
    Ok(if is_root_alone { OtherKeys::TooMany } else { OtherKeys::Told(nodes.into()) })
}

fn change(input: &mut Input<'_>, arena: &Arena, tree: TreeId) -> Result<Change, DecodeError> {
    let kind = input.byte()?;
    if kind > kind::SUBTREE_SET {
        return Err(no_such_kind(input, "change", kind));
    }
    let path = path(input)?;
    Ok(match kind {
        kind::CHILD_ADDED => Change::ChildAdded { path },
        kind::CHILD_REMOVED => Change::ChildRemoved { path },
        kind::ATTRIBUTE_PUT => {
            Change::AttributePut { path, key: input.text()?.into(), value: value(input)? }
        }
        kind::ATTRIBUTE_REMOVED => Change::AttributeRemoved { path, key: input.text()?.into() },
        kind::MOVED => Change::Moved { from: path, to: self::path(input)? },
        _ => Change::SubtreeSet { path, subtree: subtree::read(input, arena, tree)? },
    })
}

fn path(input: &mut Input<'_>) -> Result<Path, DecodeError> {
    let mut path = Path::root();
    for _ in 0..input.varint()? {
        path.push(key(input)?);
    }
    Ok(path)
}

pub(super) fn key(input: &mut Input<'_>) -> Result<Key, DecodeError> {
    let first = input.varint()?;
    let key = match first & 3 {
        kind::WHOLE_POSITION => Key::try_position(unzigzag(first >> 2)),
        kind::FRACTIONAL_POSITION => {
            let digits = input.bytes()?;
            let fraction = Fraction::from_bytes(digits)
                .map_err(|error| input.error(DecodeReason::Fraction(error)))?;
            Position::with_fraction(unzigzag(first >> 2), fraction).map(Key::Position)
        }
        kind::NAME => {
            let bytes = input.take(first >> 2)?;
            let key = Key::from(input.as_text(bytes)?);
            key.check().map(|()| key)
        }
        kind => return Err(no_such_kind(input, "key", kind as u8)),
    };
    key.map_err(|error| input.error(DecodeReason::Key(error)))
}

pub(super) fn value(input: &mut Input<'_>) -> Result<Value, DecodeError> {
    Ok(match input.byte()? {
        kind::NULL => Value::Null,
        kind::FALSE => Value::Bool(false),
        kind::TRUE => Value::Bool(true),
        kind::INT => Value::Int(input.signed()?),
        kind::FLOAT => Value::Float(f64::from_bits(input.fixed()?)),
        kind::TEXT => Value::from(input.text()?),
        kind::BYTES => Value::from(input.bytes()?),
        kind => return Err(no_such_kind(input, "value", kind)),
    })
}

#[cfg(test)]
mod tests {
    use jungle_db::{Jungle, MemoryJournal};

    use super::*;
    use crate::record::encode;

    #[test]
    fn what_is_no_edit_is_read_without_an_arena() {
        let journal = Arc::new(MemoryJournal::default());
        let jungle = Jungle::builder().journal(Arc::clone(&journal)).build().unwrap();
        let tree = jungle.by(&CommitMeta::new().author("ana").message("new")).create_tree("t");
        let tree = tree.unwrap();
        tree.update(|tx| tx.append(&[])).unwrap();
        let version = tree.snapshot();
        tree.update(|tx| tx.insert_subtree(&[], &"graft".into(), version.root())).unwrap();
        let at = version.revision();
        tree.branch("side", at).unwrap().set_retention(Retention::Last(3)).unwrap();
        tree.tag("tag", at).unwrap();
        tree.delete_tag("tag").unwrap();
        tree.create_index("n").unwrap();
        tree.drop_index("n").unwrap();
        tree.delete_branch("side").unwrap();
        jungle.rename_tree("t", "u").unwrap();
        jungle.delete_tree("u").unwrap();
        let mut count = 0;
        for record in journal.records() {
            let mut bytes = Vec::new();
            encode(&record, &mut bytes).unwrap();
            let read = decode_told(&bytes, record.revision).unwrap();
            let Some(read) = read else {
                assert!(matches!(record.event, Event::Edited(_)), "{record:?}");
                continue;
            };
            assert_eq!(format!("{read:?}"), format!("{record:?}"));
            for len in 0..bytes.len() {
                assert!(decode_told(&bytes[..len], record.revision).is_err(), "{record:?}");
            }
            count += 1;
        }
        assert_eq!((count, journal.records().len()), (10, 12));
    }
}
