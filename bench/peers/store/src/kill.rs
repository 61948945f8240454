//! A process that commits durably is killed again and again: nothing that it acknowledged may be
//! lost, and what it leaves behind must open.

use std::io::{Read, Write};
use std::iter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::support::{Failure, Folder, Options, Outcome, Rng, Value, median, value_of};
use crate::versions::{Open, Place, Versions};

/// The case of the process that is killed.
pub const KILLED: &str = "commit-until-killed";

/// It is killed once for so many tasks, and so often at least.
const KILL_TASKS: u64 = 100;
const KILLS_MIN: u64 = 2;

/// It commits for so long at least, and for some of so many milliseconds more.
const TURN_MIN: Duration = Duration::from_millis(200);
const TURN_MORE_MS: u64 = 200;

/// The median of the milliseconds to open what was left behind, and to read the value that was
/// acknowledged last.
pub fn run(options: &Options, open: Open) -> Result<Outcome, Failure> {
    if options.case == KILLED {
        return commit(options, open);
    }
    let folder = Folder::new(&options.system)?;
    let open = || open(&options.system, Place::Folder(&folder.0));
    let store = open()?;
    let held: Vec<Value> = (0..options.leaves).map(|leaf| value_of(leaf, 0)).collect();
    store.load(&held)?;
    store.close()?;
    let mut left = Left { held, stamp: 0, wrong: 0 };
    let (mut random, mut times, mut committed) = (Rng(!options.seed), Vec::new(), 0);
    let kills = (options.tasks / KILL_TASKS).max(KILLS_MIN);
    for _ in 0..kills {
        let turn = TURN_MIN + Duration::from_millis(random.below(TURN_MORE_MS));
        let acknowledged = until_killed(options, &folder.0, left.stamp + 1, turn)?;
        let last = acknowledged.saturating_sub(1) as usize;
        let last = drawn(options, left.stamp + 1).nth(last).ok_or("nothing was drawn")?;
        let begun = Instant::now();
        let store = open()?;
        store.now(last)?;
        times.push(1e3 * begun.elapsed().as_secs_f64());
        left.look(&*store, acknowledged, options)?;
        store.close()?;
        committed += acknowledged;
    }
    if committed == 0 {
        return Err("nothing was committed before it was killed".into());
    }
    let check = match left.wrong {
        0 => "ok".to_owned(),
        wrong => format!("{wrong} commits are lost, or values wrong"),
    };
    let (value, extra) = (median(times), Vec::new());
    Ok(Outcome { value, unit: "ms", seconds: 0.0, operations: kills, extra, check })
}

/// Says a line for each commit that is acknowledged; ends when it is killed, or nobody listens.
fn commit(options: &Options, open: Open) -> Result<Outcome, Failure> {
    let folder = options.folder.as_deref().ok_or("it is told no folder")?;
    let store = open(&options.system, Place::Folder(folder))?;
    let mut told = std::io::stdout().lock();
    for (stamp, leaf) in (options.first..).zip(drawn(options, options.first)) {
        store.commit(leaf, &value_of(leaf, stamp))?;
        told.write_all(b"\n")?;
        told.flush()?;
    }
    Err("there are no more numbers".into())
}

/// The leaves that get values from this stamp on.
fn drawn(options: &Options, first: u64) -> impl Iterator<Item = u32> {
    let (mut random, leaves) = (Rng(options.seed + first), options.leaves);
    iter::repeat_with(move || random.below(leaves.into()) as u32)
}

/// How many commits a process acknowledged until it was killed after so long.
fn until_killed(
    options: &Options,
    folder: &Path,
    first: u64,
    turn: Duration,
) -> Result<u64, Failure> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args([options.system.as_str(), KILLED]).arg("--folder").arg(folder);
    child.args(["--first", &first.to_string(), "--seed", &options.seed.to_string()]);
    child.args(["--leaves", &options.leaves.to_string()]);
    let mut child = child.stdout(Stdio::piped()).spawn()?;
    let mut told = child.stdout.take().ok_or("it tells nothing")?;
    let mut acknowledged = Vec::new();
    let status = scope(|scope| {
        let reading = scope.spawn(|| told.read_to_end(&mut acknowledged));
        sleep(turn);
        child.kill()?;
        let status = child.wait()?;
        reading.join().expect("a panic aborts")?;
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
    /// The stamp of the last value, which is one less than the newest revision.
    stamp: u64,
    wrong: u64,
}

impl Left {
    /// Looks at all that is there after so many more commits were acknowledged. The last one may
    /// have been committed, and its client not told.
    fn look(
        &mut self,
        store: &dyn Versions,
        acknowledged: u64,
        options: &Options,
    ) -> Result<(), Failure> {
        let there = store.newest()?.saturating_sub(self.stamp + 1);
        self.wrong += acknowledged.saturating_sub(there) + there.saturating_sub(acknowledged + 1);
        let stamps = self.stamp + 1..=self.stamp + there;
        for (stamp, leaf) in stamps.zip(drawn(options, self.stamp + 1)) {
            self.held[leaf as usize] = value_of(leaf, stamp);
        }
        let found = store.values(options.leaves)?;
        self.wrong += found.len().abs_diff(self.held.len()) as u64;
        let pairs = found.iter().zip(&self.held);
        self.wrong += pairs.filter(|(found, ought)| found != ought).count() as u64;
        self.stamp += there;
        Ok(())
    }
}
