//! What all cases share: options, results, random draws, values, the folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// 32 bytes: whose value it is, which of its values it is, and filling.
pub type Value = [u8; 32];

pub struct Options {
    pub system: String,
    pub case: String,
    pub threads: usize,
    pub tasks: u64,
    pub seed: u64,
    /// How many leaves there are.
    pub leaves: u32,
    /// Where, and from which stamp on, a process commits that will be killed.
    pub folder: Option<PathBuf>,
    pub first: u64,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut next = |what: &str| words.next().ok_or(format!("{what} is missing"));
        let (system, case) = (next("a system")?, next("a case")?);
        let (threads, tasks, seed, leaves) = (1, 50, 1, 100_000);
        let (folder, first) = (None, 1);
        let mut options = Options { system, case, threads, tasks, seed, leaves, folder, first };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} has no value"))?;
            let wrong = |error: &dyn std::fmt::Display| format!("{name}: {error}");
            match name.as_str() {
                "--threads" => options.threads = value.parse().map_err(|e| wrong(&e))?,
                "--tasks" => options.tasks = value.parse().map_err(|e| wrong(&e))?,
                "--seed" => options.seed = value.parse().map_err(|e| wrong(&e))?,
                "--leaves" => options.leaves = value.parse().map_err(|e| wrong(&e))?,
                "--folder" => options.folder = Some(PathBuf::from(value)),
                "--first" => options.first = value.parse().map_err(|e| wrong(&e))?,
                "--nodes-scale" if value == "quick" => options.leaves = 1_000,
                "--nodes-scale" => {}
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }
}

/// What a case measured; `check` is "ok" or what was wrong.
pub struct Outcome {
    pub value: f64,
    pub unit: &'static str,
    pub seconds: f64,
    pub operations: u64,
    pub extra: Vec<(&'static str, f64)>,
    pub check: String,
}

impl Outcome {
    pub fn to_json(&self, options: &Options) -> String {
        let extra = self.extra.iter().map(|(name, value)| format!(",\"{name}\":{value:.3}"));
        format!(
            "{{\"case\":\"{}\",\"threads\":{},\"seconds\":{:.6},\"operations\":{},\"value\":{:.3},\
             \"unit\":\"{}\"{},\"check\":\"{}\"}}",
            options.case,
            options.threads,
            self.seconds,
            self.operations,
            self.value,
            self.unit,
            extra.collect::<String>(),
            self.check
        )
    }
}

/// SplitMix64: the same numbers in every peer.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((b ^ (b >> 31)) >> 32) * limit) >> 32
    }
}

pub fn value_of(leaf: u32, stamp: u64) -> Value {
    let mut value = [0x76; 32];
    value[..8].copy_from_slice(&u64::from(leaf).to_le_bytes());
    value[8..16].copy_from_slice(&stamp.to_le_bytes());
    value
}

/// One number for the values of all leaves.
pub fn checksum<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> u32 {
    values.flatten().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let at = |index: usize| numbers.get(index).copied().unwrap_or(0.0);
    f64::midpoint(at(numbers.len().saturating_sub(1) / 2), at(numbers.len() / 2))
}

/// The least of these, which are in order, that is no less than this share of them.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// A folder beside the program, so on the disk that is built on; gone at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(system: &str) -> Result<Folder, Failure> {
        let name = format!("bench-{system}-{}", std::process::id());
        let folder = Folder(std::env::current_exe()?.with_file_name(name));
        fs::create_dir_all(&folder.0)?;
        Ok(folder)
    }

    /// Bytes that the disk has given for its files.
    pub fn allocated(&self) -> Result<u64, Failure> {
        allocated(&self.0)
    }
}

fn allocated(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => allocated(&entry.path())?,
            false => entry.metadata()?.blocks() * 512,
        };
    }
    Ok(bytes)
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
