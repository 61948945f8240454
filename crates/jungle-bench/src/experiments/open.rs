//! Opening a folder with a large tree, and reading one node: each time in a process of its own.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use jungle::Key;

use super::Options;
use super::folder::{Folder, files, options};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::{KEY, Payload, Random, Shape, number_of};

pub(super) const TREE: &str = "million";
pub(super) const WARM: u64 = 15;
pub(super) const COLD: u64 = 5;

/// Microseconds from before the folder is opened until a value has been compared: what is in the
/// folder's files is in the system's memory, or (`cold`) is not. `process` = with starting and
/// ending the process and closing the folder; `folder` = bytes on disk.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    if case != "all" {
        return Ok(None);
    }
    let folder = Folder::new("open")?;
    plant(&folder.0, shape(options))?;
    let mut random = Random(options.seed);
    let mut reopen = |count: u64, is_cold: bool| {
        let (mut opened, mut processes) = (Vec::new(), Vec::new());
        for _ in 0..count {
            if is_cold {
                forget(&folder.0)?;
            }
            let begun = Instant::now();
            let sample = child(&folder.0, random.bits() >> 32, options)?;
            processes.push(1e6 * begun.elapsed().as_secs_f64());
            opened.push(sample.value);
        }
        Ok::<_, Failure>((median(&opened), median(&processes)))
    };
    let (warm, process) = reopen(WARM, false)?;
    let (cold, _) = reopen(COLD, true)?;
    let sample = Sample::value(warm, "us").with("cold", cold).with("process", process);
    Ok(Some(sample.with("folder", folder.size()?.allocated as f64)))
}

pub(super) fn shape(options: Options) -> Shape {
    if options.tiny { Shape::MILLION_TINY } else { Shape::MILLION }
}

/// Makes the folder, with a tree of which each node has an attribute.
pub(super) fn plant(folder: &Path, shape: Shape) -> Result<(), Failure> {
    let store = options().open(folder)?;
    let tree = store.create_tree(TREE)?;
    tree.update(|tx| tx.bulk(|editor| shape.grow(editor, Payload::Attribute)))?;
    drop(tree);
    Ok(store.close()?)
}

/// Has what the system remembers of the files forgotten: `dd` can ask for that.
pub(super) fn forget(folder: &Path) -> Result<(), Failure> {
    for file in files(folder)? {
        let mut dd = Command::new("dd");
        dd.arg(format!("if={}", file.display())).args(["iflag=nocache", "count=0", "status=none"]);
        if !dd.status()?.success() {
            return Err(format!("dd cannot forget {}", file.display()).into());
        }
    }
    Ok(())
}

/// What another process measures.
fn child(folder: &Path, seed: u64, options: Options) -> Result<Sample, Failure> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("reopen").arg(folder).args(["--seed", &seed.to_string()]);
    child.args(options.tiny.then_some("--tiny"));
    let output = child.stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(format!("a process that opens the folder: {}", output.status).into()),
    }
}

/// Opens the folder, and reads a random leaf.
///
/// # Errors
/// When it is not there, or cannot be read.
pub fn reopen(folder: &Path, options: Options) -> Result<Sample, Failure> {
    let mut path = vec![Key::from(0); shape(options).0.len()];
    let number = shape(options).random_leaf(&mut Random(options.seed), &mut path);
    let begun = Instant::now();
    let store = self::options().open(folder)?;
    let tree = store.open_tree(TREE)?.snapshot();
    let leaf = tree.root().at(&path)?;
    let found = leaf.attribute(KEY).and_then(|value| number_of(value.as_bytes()?));
    let seconds = begun.elapsed().as_secs_f64();
    let sample = Sample::value(1e6 * seconds, "us");
    Ok(sample.check_none(u64::from(found != Some(number)), "values are another's"))
}
