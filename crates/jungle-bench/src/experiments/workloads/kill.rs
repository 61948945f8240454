//! A process that commits durably is killed again and again: nothing that it acknowledged may be
//! lost, and what it leaves behind must open.

use std::io::{Read, Write};
use std::iter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use jungle::TreeHandle;

use crate::Failure;
use crate::experiments::Options;
use crate::experiments::folder::{Folder, options as open_options};
use crate::experiments::store_peers::{TREE, Value, leaves, path, plant, put, value, value_of};
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::Random;

/// It is killed once for so many tasks, and so often at least.
const KILL_TASKS: u64 = 100;
const KILLS_MIN: u64 = 2;

/// It commits for so long at least, and for some of so many milliseconds more.
const TURN_MIN: Duration = Duration::from_millis(200);
const TURN_MORE_MS: u64 = 200;

/// The median of the milliseconds to open what was left behind, and to read the value that was
/// acknowledged last.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("kill")?;
    let mut left = Left::loaded(&folder.0, options)?;
    let (mut random, mut times, mut committed) = (Random(!options.seed), Vec::new(), 0);
    let kills = (options.tasks / KILL_TASKS).max(KILLS_MIN);
    for _ in 0..kills {
        let turn = TURN_MIN + Duration::from_millis(random.below(TURN_MORE_MS));
        let acknowledged = until_killed(&folder.0, left.stamp + 1, turn, options)?;
        let last = acknowledged.saturating_sub(1) as usize;
        let last = drawn(options, left.stamp + 1).nth(last).ok_or("nothing was drawn")?;
        let begun = Instant::now();
        let store = open_options().open(&folder.0)?;
        let tree = store.open_tree(TREE)?;
        let found = value(tree.read().root().at(&path(last))?);
        times.push(1e3 * begun.elapsed().as_secs_f64());
        left.wrong += u64::from(found.is_none());
        left.look(&tree, acknowledged, options);
        drop(tree);
        store.close()?;
        committed += acknowledged;
    }
    if committed == 0 {
        return Err("nothing was committed before it was killed".into());
    }
    let sample = Sample { operations: kills, ..Sample::value(median(&times), "ms") };
    Ok(sample.check_none(left.wrong, "commits are lost, or values wrong"))
}

/// Commits to a folder that [`sample`] has made, and says a line for each commit that is
/// acknowledged; it ends when it is killed, or nobody listens.
///
/// # Errors
/// When a commit fails, or nobody listens.
pub fn commit_until_killed(folder: &Path, first: u64, options: Options) -> Result<(), Failure> {
    let store = open_options().open(folder)?;
    let tree = store.open_tree(TREE)?;
    let mut told = std::io::stdout().lock();
    for (stamp, leaf) in (first..).zip(drawn(options, first)) {
        put(&tree, leaf, stamp)?;
        told.write_all(b"\n")?;
        told.flush()?;
    }
    Ok(())
}

/// The leaves that get values from this stamp on.
fn drawn(options: Options, first: u64) -> impl Iterator<Item = u32> {
    let mut random = Random(options.seed + first);
    iter::repeat_with(move || random.below(leaves(options).into()) as u32)
}

/// How many commits a process acknowledged until it was killed after so long.
fn until_killed(
    folder: &Path,
    first: u64,
    turn: Duration,
    options: Options,
) -> Result<u64, Failure> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("commit-until-killed").arg(folder).args(["--first", &first.to_string()]);
    child.args(["--seed", &options.seed.to_string()]).args(options.tiny.then_some("--tiny"));
    let mut child = child.stdout(Stdio::piped()).spawn()?;
    let mut told = child.stdout.take().ok_or("it tells nothing")?;
    let mut acknowledged = Vec::new();
    let status = scope(|scope| {
        let reading = scope.spawn(|| told.read_to_end(&mut acknowledged));
        sleep(turn);
        child.kill()?;
        let status = child.wait()?;
        reading.join().map_err(|_| "who listens panicked")??;
        Ok::<_, Failure>(status)
    })?;
    match status.code() {
        None => Ok(acknowledged.len() as u64),
        Some(_) => Err(format!("it ended before it was killed: {status}").into()),
    }
}

/// What must be there.
struct Left {
    /// What each leaf has.
    held: Vec<Value>,
    /// The newest revision, and the stamp of the last value.
    revision: u64,
    stamp: u64,
    wrong: u64,
}

impl Left {
    fn loaded(folder: &Path, options: Options) -> Result<Left, Failure> {
        let store = open_options().open(folder)?;
        let tree = store.create_tree(TREE)?;
        plant(&tree, options)?;
        let revision = tree.snapshot().revision().number();
        drop(tree);
        store.close()?;
        let held = (0..leaves(options)).map(|leaf| value_of(leaf, 0)).collect();
        Ok(Left { held, revision, stamp: 0, wrong: 0 })
    }

    /// Looks at all that is there after so many more commits were acknowledged.
    fn look(&mut self, tree: &TreeHandle, acknowledged: u64, options: Options) {
        let newest = tree.snapshot();
        let there = newest.revision().number().saturating_sub(self.revision);
        self.wrong += off(acknowledged, there);
        let stamps = self.stamp + 1..=self.stamp + there;
        for (stamp, leaf) in stamps.zip(drawn(options, self.stamp + 1)) {
            self.held[leaf as usize] = value_of(leaf, stamp);
        }
        let is_wrong = |(leaf, ought): &(u32, &Value)| {
            newest.root().at(&path(*leaf)).ok().and_then(value).as_ref() != Some(*ought)
        };
        self.wrong += (0..).zip(&self.held).filter(is_wrong).count() as u64;
        self.stamp += there;
        self.revision += there;
    }
}

/// How many commits are lost, or one too many: the last one may have been committed, and its client
/// not told.
fn off(acknowledged: u64, there: u64) -> u64 {
    acknowledged.saturating_sub(there) + there.saturating_sub(acknowledged + 1)
}

#[cfg(test)]
mod tests {
    use jungle::{Jungle, Memory};

    use super::{Left, Options, TREE, Value, drawn, leaves, off, plant, put, value_of};

    const OPTIONS: Options = Options { threads: 1, tasks: 1, seed: 7, quick: true, tiny: true };

    #[test]
    fn one_commit_more_than_was_told_is_none_lost() {
        assert_eq!([off(5, 5), off(5, 6), off(5, 4), off(5, 7), off(0, 0)], [0, 0, 1, 1, 0]);
    }

    #[test]
    fn a_commit_that_is_not_there_is_wrong_and_so_is_another_value() {
        let tree = Jungle::memory().unwrap().create_tree(TREE).unwrap();
        plant(&tree, OPTIONS).unwrap();
        let held: Vec<Value> = (0..leaves(OPTIONS)).map(|leaf| value_of(leaf, 0)).collect();
        let revision = tree.snapshot().revision().number();
        let mut left = Left { held, revision, stamp: 0, wrong: 0 };
        for (stamp, leaf) in (1..=3).zip(drawn(OPTIONS, 1)) {
            put(&tree, leaf, stamp).unwrap();
        }
        left.look(&tree, 2, OPTIONS);
        assert_eq!((left.wrong, left.stamp), (0, 3));
        left.look(&tree, 2, OPTIONS);
        assert_eq!((left.wrong, left.stamp), (2, 3), "two were acknowledged, and none is there");
        let other = drawn(OPTIONS, 4).next().unwrap() + 1;
        put(&tree, other % leaves(OPTIONS), 4).unwrap();
        left.look(&tree, 1, OPTIONS);
        assert_eq!(left.wrong, 4, "one leaf has not its value, and another has");
    }
}
