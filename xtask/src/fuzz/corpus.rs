//! The corpus in the repository. It is small, as each `cargo test` tries all of it, and nothing is
//! taken out of it: what failed once, what is right, and some of what libFuzzer has found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::root;
use crate::error::{Context, Result};

/// Of one target, beside which nothing is added. All together they come to some hundred KB.
const FILES_MAX: usize = 64;
const BYTES_MAX: u64 = 24 << 10;

/// For libFuzzer: what is longer is cut before it is looked at what it reaches.
pub const INPUT_MAX: &str = "-max_len=4096";

/// Where that of a target is, if it has one.
pub fn folder(target: &str) -> PathBuf {
    root().join("crates/jungle-torture/corpus").join(target)
}

/// Copies that of a target.
pub fn copy(target: &str, into: &Path) -> Result<()> {
    let from = folder(target);
    let files = if from.is_dir() { lengths(&from)? } else { BTreeMap::new() };
    files.keys().try_for_each(|name| copy_file(&from.join(name), &into.join(name)))
}

/// Adds what a merge has put beside a copy of it, as far as there is room, and tells how much.
pub fn add(target: &str, merged: &Path) -> Result<usize> {
    let into = made(target)?;
    let known = lengths(&into)?;
    let mut new = lengths(merged)?;
    new.retain(|name, _| !known.contains_key(name));
    let picked = picked(&known, new);
    picked.iter().try_for_each(|name| copy_file(&merged.join(name), &into.join(name)))?;
    Ok(picked.len())
}

/// Adds an input that crashed, and tells where it is. One that takes too long, or too much memory,
/// is left where it is: it would stop the tests.
pub fn keep_crash(target: &str, input: &Path) -> Result<Option<PathBuf>> {
    let name = input.file_name().unwrap_or_default();
    if !name.to_string_lossy().starts_with("crash-") {
        return Ok(None);
    }
    let kept = made(target)?.join(name);
    copy_file(input, &kept)?;
    Ok(Some(kept))
}

/// Which of the new ones there is room for: as many short ones as long ones.
fn picked(known: &BTreeMap<String, u64>, new: BTreeMap<String, u64>) -> Vec<String> {
    let places = FILES_MAX.saturating_sub(known.len());
    let mut room = BYTES_MAX.saturating_sub(known.values().sum());
    let one_of = new.len().div_ceil(places.max(1)).max(1);
    let mut by_length: Vec<(u64, String)> =
        new.into_iter().map(|(name, bytes)| (bytes, name)).collect();
    by_length.sort();
    let fitting = by_length.into_iter().step_by(one_of).take(places).filter(|(bytes, _)| {
        let is_fitting = *bytes <= room;
        room -= if is_fitting { *bytes } else { 0 };
        is_fitting
    });
    fitting.map(|(_, name)| name).collect()
}

fn made(target: &str) -> Result<PathBuf> {
    let folder = folder(target);
    fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The files of a folder, with the bytes that they have.
fn lengths(folder: &Path) -> Result<BTreeMap<String, u64>> {
    let reading = || format!("cannot list {}", folder.display());
    let mut lengths = BTreeMap::new();
    for file in fs::read_dir(folder).context(reading())? {
        let file = file.context(reading())?;
        let bytes = file.metadata().context(reading())?.len();
        lengths.insert(file.file_name().to_string_lossy().into_owned(), bytes);
    }
    Ok(lengths)
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).context(format!("cannot copy {}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(lengths: impl IntoIterator<Item = u64>) -> BTreeMap<String, u64> {
        (0..).zip(lengths).map(|(n, bytes)| (format!("{n:04}"), bytes)).collect()
    }

    #[test]
    fn corpus_is_added_to_as_far_as_there_is_room() {
        let none = files([]);
        assert_eq!(picked(&none, files([5, 3])), ["0001", "0000"]);
        // Where there are too many, some of each length.
        let many = picked(&none, files(1..=640));
        assert_eq!((many.len(), &*many[0], &*many[63]), (64, "0000", "0630"));
        assert_eq!(picked(&files([1; 63]), files([2, 3])), ["0000"]);
        assert_eq!(picked(&files([1; 64]), files([2, 3])), [""; 0]);
        // What is too long stays out.
        assert_eq!(picked(&files([BYTES_MAX - 4]), files([3, 2, 1])), ["0002", "0001"]);
        assert_eq!(picked(&files([BYTES_MAX + 1]), files([1])), [""; 0]);
    }
}
