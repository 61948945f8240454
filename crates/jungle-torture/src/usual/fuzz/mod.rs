//! Input from outside, changed at random so that it stays close to what is right: all of it is
//! taken, or refused with a typed error; nothing panics, goes on for ever, or takes memory that its
//! own size does not account for.
//!
//! Checksums and hashes are put right behind the changes, so that what is below them is reached.
//! What fails is to be put into `corpus/TARGET/`, under a name that says what it is: that is tried
//! first in each run, and by `cargo test`. Some of what is right is there, too: documents, and
//! records as the store has once written them, so that they are tried whatever it writes now; and
//! what libFuzzer has found (`cargo xtask fuzz`), which changes inputs by what they reach.

mod access;
mod backups;
mod base;
mod documents;
mod folders;
mod guard;
mod merges;
mod messages;
mod mutate;
mod requests;

use std::fs;
use std::path::PathBuf;

use jungle_testkit::Rng;

use crate::options::Options;
use crate::patience::Patience;
use crate::suite::Outcome;
use crate::usual::counting;
use guard::Kept;
use mutate::mutate;

/// Inputs of a seed, all of one target.
const INPUTS_OF_SEED: u64 = 20;

/// Something that takes input from outside.
#[derive(Debug)]
pub struct Target {
    /// What it is called, and the folder of the corpus with what it has taken.
    pub name: &'static str,
    /// What is right, to begin with.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// What is put in now and then.
    pub words: &'static [&'static str],
    /// Panics when something is wrong.
    pub take: fn(&[u8]),
}

/// All of them.
///
/// ```
/// let json = jungle_torture::TARGETS.iter().find(|target| target.name == "json").unwrap();
/// (json.take)(b"[1, 2");
/// ```
pub static TARGETS: [Target; 20] = [
    documents::JSON,
    documents::NDJSON,
    documents::XML,
    documents::HTML,
    documents::CSV,
    documents::YAML,
    folders::RECORD,
    folders::LOG,
    folders::STATE,
    folders::IMAGE,
    folders::HISTORY,
    folders::FILES,
    folders::SLAB,
    folders::TAIL,
    folders::STREAM,
    backups::BACKUP,
    messages::MESSAGE,
    merges::MERGE,
    access::ACCESS,
    requests::HTTP,
];

pub fn run(options: &Options) -> Outcome {
    let patience = Patience::begin(options);
    let known = corpus();
    for (target, file, input) in &known {
        let _turn = patience.turn(format!("the corpus has {}", file.display()));
        let _kept = Kept::new(target.name, input);
        (target.take)(input);
    }
    println!("fuzz: {} inputs of the corpus", known.len());
    // The bug planted for this suite is in how a state is read.
    let only = options.wake.is_some().then_some(&folders::STATE);
    counting(options, (50_000, INPUTS_OF_SEED), "inputs", |rng| {
        let of_seed = &TARGETS[(rng.seed() % TARGETS.len() as u64) as usize];
        inputs(only.unwrap_or(of_seed), rng)
    })
}

/// Some inputs of one target.
fn inputs(target: &Target, rng: &mut Rng) -> u64 {
    let samples = (target.samples)();
    for _ in 0..INPUTS_OF_SEED {
        let input = mutate(rng, &samples, target.words);
        let _kept = Kept::new(target.name, &input);
        (target.take)(&input);
        guard::memory_is_bounded();
    }
    INPUTS_OF_SEED
}

/// What is kept: what once failed, and what is right.
fn corpus() -> Vec<(&'static Target, PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for target in &TARGETS {
        let files = fs::read_dir(corpus_folder().join(target.name)).into_iter().flatten().flatten();
        for file in files.map(|file| file.path()) {
            let input = fs::read(&file).expect("a file of the corpus can be read");
            found.push((target, file, input));
        }
    }
    found
}

fn corpus_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corpus_is_taken_or_refused_by_its_targets() {
        for folder in fs::read_dir(corpus_folder()).unwrap() {
            let name = folder.unwrap().file_name();
            let is_its = |target: &Target| name.to_str() == Some(target.name);
            assert!(TARGETS.iter().any(is_its), "{name:?} is of no target");
        }
        let known = corpus();
        assert!(known.len() > 30, "{}", known.len());
        for (target, file, input) in known {
            println!("{}", file.display());
            (target.take)(&input);
        }
    }

    /// Those of folders, checkpoints and logs are as the store writes them now.
    #[test]
    fn what_is_right_is_taken_or_refused_by_its_target() {
        for target in &TARGETS {
            println!("{}", target.name);
            let samples = (target.samples)();
            assert!(!samples.is_empty());
            samples.iter().for_each(|sample| (target.take)(sample));
        }
    }
}
