//! Changing what is right a little.

use jungle_testkit::Rng;

/// No input is longer.
const BYTES_MAX: usize = 1 << 20;

/// A part is repeated up to so often: what recurses by depth does not survive that.
const REPEATED_MAX: u64 = 50_000;

/// Numbers that are at the edge of something.
const NUMBERS: [u64; 10] =
    [0, 1, 127, 128, 0xffff, 1 << 30, 0xffff_ffff, 1 << 32, u64::MAX >> 1, u64::MAX];

/// One of the samples with a few changes; `words` are put in now and then.
pub fn mutate(rng: &mut Rng, samples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = rng.pick(samples).clone();
    for _ in 0..=rng.below(4) {
        change(rng, &mut bytes, samples, words);
        bytes.truncate(BYTES_MAX);
    }
    bytes
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>, samples: &[Vec<u8>], words: &[&str]) {
    let at = rng.index(bytes.len().max(1)).min(bytes.len());
    match rng.below(10) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
        2 if !bytes.is_empty() => bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff, b'"', b'<']),
        3 => drop(bytes.drain(part(rng, bytes, at))),
        4 => bytes.truncate(at),
        5 => {
            let number = varint(*rng.pick(&NUMBERS));
            // Beside what is there, or in its place.
            let until = if rng.chance(1, 2) { at } else { bytes.len().min(at + 1) };
            bytes.splice(at..until, number);
        }
        6 => {
            let other = rng.pick(samples);
            let from = rng.index(other.len().max(1)).min(other.len());
            let other = other[part(rng, other, from)].to_vec();
            let here = if rng.chance(1, 2) { at..at } else { part(rng, bytes, at) };
            bytes.splice(here, other);
        }
        7 => {
            let repeated = bytes[part(rng, bytes, at)].to_vec();
            let times = if rng.chance(1, 8) { REPEATED_MAX } else { rng.range(1..20) };
            let most = BYTES_MAX / repeated.len().max(1);
            bytes.splice(at..at, repeated.repeat(most.min(times as usize)));
        }
        8 if !words.is_empty() => drop(bytes.splice(at..at, rng.pick(words).bytes())),
        _ => {
            let from = part(rng, bytes, at);
            let moved: Vec<u8> = bytes.drain(from).collect();
            let to = rng.index(bytes.len().max(1)).min(bytes.len());
            bytes.splice(to..to, moved);
        }
    }
}

/// Some bytes from a place on, mostly few.
fn part(rng: &mut Rng, bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let most = if rng.chance(3, 4) { 8 } else { bytes.len() as u64 };
    from..bytes.len().min(from + rng.below(most + 1) as usize)
}

/// A number as formats have it.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
