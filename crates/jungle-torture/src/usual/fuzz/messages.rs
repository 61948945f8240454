//! Messages of a cluster's log, as its engine brings them.

use jungle_cluster::read_twice;
use jungle_tree::{Arena, ArenaOptions};

use super::Target;
use super::base::base;

/// A message: refused, or the same when it is written again and read again, and its records too.
pub const MESSAGE: Target = Target {
    name: "message",
    samples,
    words: &["JGC\u{1}", "JGC\u{2}", "alpha#0123456789abcdef", "\0\0\0\0", "\u{1}\0\0\0"],
    take,
};

/// Records of the samples: some for the first revisions, some for those behind them.
const RECORDS: usize = 12;

/// As `jungle-cluster` describes it; the hash is put right behind the changes.
fn samples() -> Vec<Vec<u8>> {
    let records = &base().records;
    let (first, second) = (&records[..RECORDS], &records[RECORDS..2 * RECORDS]);
    let next = RECORDS as u64 + 1;
    vec![
        message(1, 0, &[], &[]),
        message(1, 0, first, &[]),
        message(next, 3, second, &[]),
        message(next, 1, second, &[(7, 2), (9, 1)]),
        message(next, 64, &second[..1], &[(1, 1)]),
    ]
}

/// One with so many branches, and with guests: the number of each, and how many records it has.
fn message(first: u64, branches: u16, records: &[Vec<u8>], guests: &[(u64, u32)]) -> Vec<u8> {
    let mut bytes = b"JGC".to_vec();
    bytes.push(if guests.is_empty() { 1 } else { 2 });
    bytes.extend([7; 32]);
    bytes.extend(first.to_le_bytes());
    put_mark(&mut bytes, "alpha#0123456789abcdef");
    bytes.extend(branches.to_le_bytes());
    for branch in 0..u64::from(branches) {
        bytes.extend([branch.to_le_bytes(), (branch + 1).to_le_bytes()].concat());
        bytes.extend([branch as u8; 32]);
    }
    bytes.extend((records.len() as u32).to_le_bytes());
    for record in records {
        bytes.extend((record.len() as u32).to_le_bytes());
        bytes.extend(record);
    }
    if records.is_empty() {
        bytes.extend(5_u64.to_le_bytes());
    }
    if !guests.is_empty() {
        bytes.extend((guests.len() as u16).to_le_bytes());
    }
    for (number, count) in guests {
        put_mark(&mut bytes, "beta");
        bytes.extend(number.to_le_bytes());
        bytes.extend(count.to_le_bytes());
    }
    bytes.extend(blake3::hash(&bytes).as_bytes());
    bytes
}

fn put_mark(bytes: &mut Vec<u8>, mark: &str) {
    bytes.push(mark.len() as u8);
    bytes.extend(mark.bytes());
}

/// One input in eight keeps the hash that it has.
fn mended(input: &[u8]) -> Vec<u8> {
    let mut message = input.to_vec();
    if !crc32c::crc32c(input).is_multiple_of(8)
        && let Some((front, hash)) = message.split_last_chunk_mut::<32>()
    {
        *hash = *blake3::hash(front).as_bytes();
    }
    message
}

fn take(input: &[u8]) {
    records_of(&mended(input));
}

/// How many records are in it.
fn records_of(message: &[u8]) -> Option<usize> {
    let arena = ArenaOptions { structure_bytes: 1 << 24, payload_bytes: 1 << 24, spill: None };
    let arena = Arena::with_options(&arena).expect("address range");
    read_twice(message, &arena).ok().map(|records| records.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_is_taken_with_its_records() {
        for (sample, records) in samples().iter().zip([0, RECORDS, RECORDS, RECORDS, 1]) {
            assert!(mended(sample) == *sample);
            assert_eq!(records_of(sample), Some(records));
        }
    }

    #[test]
    fn change_is_reached_where_the_hash_is_put_right() {
        let samples = samples();
        // The last digit of the server's drawn number.
        let mut changed = samples[0].clone();
        changed[66] ^= 1;
        assert_eq!(records_of(&changed), None);
        let end = changed.len() - 32;
        let hash = blake3::hash(&changed[..end]);
        changed[end..].copy_from_slice(hash.as_bytes());
        assert_eq!(records_of(&changed), Some(0));
        // One guest more than there is.
        let mut more = samples[4].clone();
        let at = more.len() - 32 - (1 + "beta".len() + 12) - 2;
        assert_eq!(more[at], 1);
        more[at] = 2;
        let end = more.len() - 32;
        let hash = blake3::hash(&more[..end]);
        more[end..].copy_from_slice(hash.as_bytes());
        assert_eq!(records_of(&more), None);
    }
}
