//! The order of members where it is not that of their names: exceptions only, so that a member
//! added or removed elsewhere changes nothing here.
//!
//! Bytes of the attribute: runs, one after the other, in the order of the document. A run is an
//! anchor and the members that follow it: `count of members`, then the anchor as `length + 1` and
//! its bytes, or 0 for the beginning of the object, then each member as `length` and its bytes.
//! Numbers are LEB128.

use std::collections::HashMap;

/// What order the members of an object have, given their names in the order of the document and
/// `sorted`, the indexes into that in the order of names. Empty if it is the order of names.
pub(crate) fn encode<'n>(count: usize, sorted: &[u32], name: impl Fn(usize) -> &'n str) -> Vec<u8> {
    let in_order = longest_increasing(count, sorted);
    let mut bytes = Vec::new();
    let mut index = 0;
    while index < count {
        let run = (index..count).take_while(|&i| !in_order[i]).count();
        if run > 0 {
            write_number(&mut bytes, run);
            match index.checked_sub(1) {
                None => write_number(&mut bytes, 0),
                Some(anchor) => {
                    write_number(&mut bytes, name(anchor).len() + 1);
                    bytes.extend_from_slice(name(anchor).as_bytes());
                }
            }
            for member in index..index + run {
                write_number(&mut bytes, name(member).len());
                bytes.extend_from_slice(name(member).as_bytes());
            }
        }
        index += run.max(1);
    }
    bytes
}

/// Which members, in the order of the document, are on a longest way through them along which
/// names increase (patience sorting).
fn longest_increasing(count: usize, sorted: &[u32]) -> Vec<bool> {
    let mut rank = vec![0; count];
    for (place, &index) in sorted.iter().enumerate() {
        rank[index as usize] = place;
    }
    // The last member of the best way of each length, and for each member the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; count];
    for index in 0..count {
        let length = ends.partition_point(|&end| rank[end] < rank[index]);
        if let Some(shorter) = length.checked_sub(1) {
            before[index] = ends[shorter];
        }
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut on_way = vec![false; count];
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at < count {
        on_way[at] = true;
        at = before[at];
    }
    on_way
}

/// The members (sorted by name, and distinct) in the order that `bytes` tell. What they tell of
/// members that are not there only serves to find the place of others; members they do not know
/// stay where their names put them; bytes that are damaged tell nothing.
pub(crate) fn apply<M>(bytes: &[u8], members: Vec<(&str, M)>) -> Vec<M> {
    let Some(runs) = decode(bytes) else {
        return members.into_iter().map(|(_, member)| member).collect();
    };
    // Slots are the members, then the absent ones that are mentioned; slot 0 is the beginning.
    let mut slots: HashMap<&str, usize> = HashMap::with_capacity(members.len());
    slots.extend(members.iter().enumerate().map(|(i, &(name, _))| (name, i + 1)));
    let mut absent = members.len() + 1;
    let mut slot = |name| {
        *slots.entry(name).or_insert_with(|| {
            absent += 1;
            absent - 1
        })
    };
    let runs: Vec<Run> = runs
        .into_iter()
        .map(|(anchor, names)| {
            let anchor = anchor.map_or(0, &mut slot);
            (anchor, names.into_iter().map(&mut slot).collect())
        })
        .collect();
    link(members, absent, &runs)
}

/// The slot that a run is behind, and the slots in it.
type Run = (usize, Vec<usize>);

/// Links the slots in order of names, but for those in runs; then puts in each run behind its
/// anchor; then follows the links.
fn link<M>(members: Vec<(&str, M)>, slots: usize, runs: &[Run]) -> Vec<M> {
    let mut is_moved = vec![false; slots];
    for (_, run) in runs {
        run.iter().for_each(|&slot| is_moved[slot] = true);
    }
    let mut next = vec![0; slots];
    let mut is_linked = vec![false; slots];
    is_linked[0] = true;
    let mut last = 0;
    for slot in (1..=members.len()).filter(|&slot| !is_moved[slot]) {
        next[last] = slot;
        is_linked[slot] = true;
        last = slot;
    }
    for (anchor, run) in runs {
        // An anchor that is gone, with nothing known of its place: behind all others.
        let mut at = if is_linked[*anchor] { *anchor } else { last };
        for &slot in run {
            if std::mem::replace(&mut is_linked[slot], true) {
                continue;
            }
            next[slot] = next[at];
            next[at] = slot;
            if at == last {
                last = slot;
            }
            at = slot;
        }
    }
    let mut members: Vec<Option<M>> = members.into_iter().map(|(_, member)| Some(member)).collect();
    let mut ordered = Vec::with_capacity(members.len());
    let mut at = next[0];
    while at != 0 {
        ordered.extend(members.get_mut(at - 1).and_then(Option::take));
        at = next[at];
    }
    ordered
}

/// The runs: what each is behind (nothing: the beginning), and its members.
fn decode(mut bytes: &[u8]) -> Option<Vec<(Option<&str>, Vec<&str>)>> {
    let mut runs = Vec::new();
    while !bytes.is_empty() {
        let count = read_number(&mut bytes)?;
        let anchor = match read_number(&mut bytes)?.checked_sub(1) {
            Some(length) => Some(read_name(&mut bytes, length)?),
            None => None,
        };
        let mut members = Vec::new();
        for _ in 0..count {
            let length = read_number(&mut bytes)?;
            members.push(read_name(&mut bytes, length)?);
        }
        runs.push((anchor, members));
    }
    Some(runs)
}

fn read_name<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b str> {
    let (name, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(name).ok()
}

fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests;
