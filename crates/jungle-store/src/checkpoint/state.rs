//! What a checkpoint has besides slabs, as bytes: the database's state, and pieces of histories.
//!
//! As with records, decoding trusts nothing; whether it makes sense is found out by
//! [`Builder::restore`](jungle_db::Builder::restore).

use std::sync::Arc;

use jungle_db::{
    BranchId, CommitMeta, HistoryAnchor, HistoryEntry, JungleState, OtherKeys, Retention, Revision,
    SavedBranch, SavedBuilt, SavedHistory, SavedIndex, SavedMerge, SavedOrigin, SavedTag,
    SavedTree, SavedVersion, Timestamp, TreeId,
};
use jungle_tree::VersionId;

use crate::log::LogPosition;
use crate::planted::{Bug, is_awake};
use crate::record::{
    DecodeError, DecodeReason, get_meta, get_renumbered, get_retention, put_meta, put_renumbered,
    put_retention,
};
use crate::wire::{Input, put_bytes, put_varint, unzigzag, zigzag};

/// The state, and where the log goes on from there.
pub(super) fn encode_state(state: &JungleState, log: LogPosition) -> Vec<u8> {
    let mut out = Vec::new();
    let LogPosition { segment, offset, check, next, bytes } = log;
    let JungleState { revision, next_id, .. } = *state;
    for number in [segment, offset, u64::from(check), next, bytes, revision.number(), next_id] {
        put_varint(&mut out, number);
    }
    put_list(&mut out, &state.trees, put_tree);
    let merges = || state.trees.iter().flat_map(|tree| &tree.merges);
    let are_renumbered = merges().any(|merge| merge.renumbered != OtherKeys::default());
    // Where there are none the bytes are those that they were before there were indexes.
    if are_renumbered || state.trees.iter().any(|tree| !tree.indexes.is_empty()) {
        for tree in &state.trees {
            put_list(&mut out, &tree.indexes, put_index);
        }
    }
    // Likewise.
    if are_renumbered {
        for merge in merges() {
            put_varint(&mut out, merge.of.0);
            put_renumbered(&mut out, &merge.renumbered);
        }
    }
    out
}

pub(super) fn decode_state(bytes: &[u8]) -> Result<(JungleState, LogPosition), DecodeError> {
    let mut input = Input::new(bytes);
    let log = LogPosition {
        segment: input.varint()?,
        offset: input.varint()?,
        check: small(&mut input)?,
        next: input.varint()?,
        bytes: input.varint()?,
    };
    let (revision, next_id) = (revision(&mut input)?, input.varint()?);
    let mut trees = list(&mut input, tree)?;
    if !input.is_empty() {
        for tree in &mut trees {
            tree.indexes = list(&mut input, index)?;
        }
    }
    if !input.is_empty() {
        for merge in trees.iter_mut().flat_map(|tree| &mut tree.merges) {
            merge.of = branch(&mut input)?;
            merge.renumbered = get_renumbered(&mut input)?;
        }
    }
    end(&input)?;
    let state = JungleState { revision, next_id, trees };
    Ok((state, log))
}

/// A piece of a history.
pub(super) fn encode_piece(entries: &[HistoryEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    put_entries(&mut out, entries);
    out
}

pub(super) fn decode_piece(bytes: &[u8]) -> Result<Arc<[HistoryEntry]>, DecodeError> {
    let mut input = Input::new(bytes);
    let entries = entries(&mut input)?;
    end(&input)?;
    Ok(entries)
}

fn end(input: &Input<'_>) -> Result<(), DecodeError> {
    if input.is_empty() { Ok(()) } else { Err(input.error(DecodeReason::TooLong)) }
}

fn put_list<T>(out: &mut Vec<u8>, list: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_varint(out, list.len() as u64);
    list.iter().for_each(|it| put(out, it));
}

fn list<T>(
    input: &mut Input<'_>,
    get: impl Fn(&mut Input<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let (mut list, count) = (Vec::new(), input.varint()?);
    if is_awake(Bug::LengthBelieved) {
        list.try_reserve(count as usize).expect("memory for as many as are said");
    }
    for _ in 0..count {
        list.push(get(input)?);
    }
    Ok(list)
}

fn put_tree(out: &mut Vec<u8>, tree: &SavedTree) {
    let SavedTree { id, name, branches, origins, tags, merges, indexes: _ } = tree;
    put_varint(out, id.0);
    put_bytes(out, name.as_bytes());
    put_list(out, branches, put_branch);
    put_list(out, origins, |out, SavedOrigin { branch, from, at }| {
        put_varint(out, branch.0);
        put_varint(out, from.0);
        put_version(out, *at);
    });
    put_list(out, tags, |out, SavedTag { name, at }| {
        put_bytes(out, name.as_bytes());
        put_version(out, *at);
    });
    put_list(out, merges, |out, SavedMerge { branches: (a, b), at, .. }| {
        put_varint(out, a.0);
        put_varint(out, b.0);
        put_version(out, *at);
    });
}

fn tree(input: &mut Input<'_>) -> Result<SavedTree, DecodeError> {
    Ok(SavedTree {
        id: TreeId(input.varint()?),
        name: input.text()?.into(),
        branches: list(input, saved_branch)?,
        origins: list(input, |input| {
            let (branch, from) = (branch(input)?, branch(input)?);
            Ok(SavedOrigin { branch, from, at: version(input)? })
        })?,
        tags: list(input, |input| {
            let name = input.text()?.into();
            Ok(SavedTag { name, at: version(input)? })
        })?,
        merges: list(input, |input| {
            let branches = (branch(input)?, branch(input)?);
            // What it is a version of makes a difference only where it is told.
            let (of, renumbered) = (branches.0, OtherKeys::default());
            Ok(SavedMerge { branches, at: version(input)?, of, renumbered })
        })?,
        indexes: Vec::new(),
    })
}

fn put_index(out: &mut Vec<u8>, SavedIndex { key, built }: &SavedIndex) {
    put_bytes(out, key.as_bytes());
    put_list(out, built, |out, SavedBuilt { branch, of, id }| {
        put_varint(out, branch.0);
        put_version(out, *of);
        put_id(out, *id);
    });
}

fn index(input: &mut Input<'_>) -> Result<SavedIndex, DecodeError> {
    let key = input.text()?.into();
    let built = list(input, |input| {
        let (branch, of) = (branch(input)?, version(input)?);
        Ok(SavedBuilt { branch, of, id: version_id(input)? })
    })?;
    Ok(SavedIndex { key, built })
}

fn put_branch(out: &mut Vec<u8>, branch: &SavedBranch) {
    let SavedBranch { id, name, retention, history } = branch;
    put_varint(out, id.0);
    put_bytes(out, name.as_bytes());
    let forgotten = is_awake(Bug::RetentionForgotten);
    put_retention(out, if forgotten { Retention::All } else { *retention });
    let SavedHistory { dropped, pieces, anchor, last } = history;
    put_varint(out, *dropped);
    put_varint(out, *pieces);
    put_varint(out, anchor.index);
    put_varint(out, anchor.revision.number());
    put_varint(out, zigzag(anchor.time.as_micros()));
    put_entries(out, last);
}

fn saved_branch(input: &mut Input<'_>) -> Result<SavedBranch, DecodeError> {
    Ok(SavedBranch {
        id: branch(input)?,
        name: input.text()?.into(),
        retention: get_retention(input)?,
        history: SavedHistory {
            dropped: input.varint()?,
            pieces: input.varint()?,
            anchor: HistoryAnchor {
                index: input.varint()?,
                revision: revision(input)?,
                time: Timestamp::from_micros(input.signed()?),
            },
            last: entries(input)?,
        },
    })
}

fn put_version(out: &mut Vec<u8>, SavedVersion { revision, id }: SavedVersion) {
    put_varint(out, revision.number());
    put_id(out, id);
}

fn put_id(out: &mut Vec<u8>, id: VersionId) {
    let (handle, version) = id.to_parts();
    put_varint(out, u64::from(handle));
    put_varint(out, version);
}

fn version(input: &mut Input<'_>) -> Result<SavedVersion, DecodeError> {
    Ok(SavedVersion { revision: revision(input)?, id: version_id(input)? })
}

fn version_id(input: &mut Input<'_>) -> Result<VersionId, DecodeError> {
    let handle = small(input)?;
    Ok(VersionId::from_parts(handle, input.varint()?))
}

/// What does not change much from entry to entry is written as what is added to it.
#[derive(Default)]
struct Before {
    revision: u64,
    time: i64,
    handle: i64,
    version: i64,
}

fn put_entries(out: &mut Vec<u8>, entries: &[HistoryEntry]) {
    let mut before = Before::default();
    put_varint(out, entries.len() as u64);
    for HistoryEntry { revision, time, id, meta } in entries {
        let (handle, version) = id.to_parts();
        let (revision, time) = (revision.number(), time.as_micros());
        let (handle, version) = (i64::from(handle), version as i64);
        put_varint(out, revision.wrapping_sub(before.revision));
        put_varint(out, zigzag(time.wrapping_sub(before.time)));
        put_varint(out, zigzag(handle - before.handle));
        put_varint(out, zigzag(version.wrapping_sub(before.version)));
        put_meta(out, meta);
        before = Before { revision, time, handle, version };
    }
}

fn entries(input: &mut Input<'_>) -> Result<Arc<[HistoryEntry]>, DecodeError> {
    let mut before = Before::default();
    let mut entries = Vec::new();
    for _ in 0..input.varint()? {
        let revision = before.revision.wrapping_add(input.varint()?);
        let time = before.time.wrapping_add(input.signed()?);
        let handle = before.handle.wrapping_add(input.signed()?);
        let version = before.version.wrapping_add(unzigzag(input.varint()?));
        let meta: CommitMeta = get_meta(input)?;
        let at = u32::try_from(handle).map_err(|_| input.error(DecodeReason::NumberTooLarge))?;
        entries.push(HistoryEntry {
            revision: Revision::new(revision),
            time: Timestamp::from_micros(time),
            id: VersionId::from_parts(at, version as u64),
            meta,
        });
        before = Before { revision, time, handle, version };
    }
    Ok(entries.into())
}

fn revision(input: &mut Input<'_>) -> Result<Revision, DecodeError> {
    Ok(Revision::new(input.varint()?))
}

fn branch(input: &mut Input<'_>) -> Result<BranchId, DecodeError> {
    Ok(BranchId(input.varint()?))
}

fn small(input: &mut Input<'_>) -> Result<u32, DecodeError> {
    let number = input.varint()?;
    number.try_into().map_err(|_| input.error(DecodeReason::NumberTooLarge))
}
