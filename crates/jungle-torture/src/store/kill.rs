//! A real process on a real disk is killed at any moment; what it said was acknowledged, through
//! a pipe, is there. Behind its writers it writes checkpoints all the time, and trims its log.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use jungle_testkit::Rng;

use super::child::{self, Folder, WRITERS};
use crate::options::Options;
use crate::suite::{Outcome, again_with};

/// A folder is killed upon so often; then a new one is begun, for the beginning is a moment, too.
const ROUNDS_A_FOLDER: u64 = 20;

pub fn run(options: &Options) -> Outcome {
    let rounds = options.points(200);
    let (mut rng, mut outcome) = (Rng::new(options.seed), Outcome::default());
    let mut acknowledged = 0;
    println!("kill: {rounds} points from seed {}", options.seed);
    let mut folder = Folder::new("kill");
    let mut counts = [0; WRITERS];
    for round in 0..rounds {
        if round % ROUNDS_A_FOLDER == 0 {
            folder = Folder::new("kill");
            counts = [0; WRITERS];
        }
        let micros_max = if rng.chance(1, 4) { 3_000 } else { 25_000 };
        let micros = rng.below(micros_max);
        let before: i64 = counts.iter().sum();
        match one_round(&folder, options, Duration::from_micros(micros), &mut counts) {
            Ok(()) => outcome.passed += 1,
            Err(wrong) => {
                outcome.failed += 1;
                println!("round {round}: {wrong}");
                // The moments are drawn one after the other, so it takes all up to this one.
                println!("failed; again: {}", again_with(options, options.seed, round + 1));
                break;
            }
        }
        acknowledged += counts.iter().sum::<i64>() - before;
    }
    println!("kill: {acknowledged} commits were acknowledged");
    if acknowledged == 0 {
        // No process came far enough to be killed while it wrote.
        outcome.failed += 1;
    }
    outcome
}

/// Has a process commit, kills it, and opens what it left. The counts are those found.
fn one_round(
    folder: &Folder,
    options: &Options,
    after: Duration,
    counts: &mut [i64; WRITERS],
) -> Result<(), String> {
    let mut command = child::command("writers", &folder.0, 0);
    command.args(&options.wake).stdout(Stdio::piped());
    let mut child = command.spawn().expect("this program can be started again");
    // It is killed while it opens, or while it writes: the time runs from when it was started.
    std::thread::sleep(after);
    let ended = child.kill().and_then(|()| child.wait()).expect("the child is ours");
    if ended.signal().is_none() {
        return Err(format!("it ended by itself, with {ended}"));
    }
    let said = BufReader::new(child.stdout.take().expect("it was asked for"));
    let mut least = *counts;
    for line in said.lines().map_while(Result::ok) {
        let numbers = line.split_once(' ').and_then(|(writer, count)| {
            Some((writer.parse::<usize>().ok()?, count.parse::<i64>().ok()?))
        });
        let (writer, count) = numbers.ok_or(format!("it said {line:?}"))?;
        least[writer] = count;
    }
    let found = std::panic::catch_unwind(|| {
        let store = child::open_with_checkpoints(&folder.0);
        let tree = store.open_tree("t").ok();
        std::array::from_fn(|writer| tree.as_ref().map_or(0, |it| child::count(it, writer)))
    });
    let found: [i64; WRITERS] = found.map_err(|_| "it could not be opened".to_owned())?;
    for writer in 0..WRITERS {
        let (least, found) = (least[writer], found[writer]);
        if !(least..=least + 1).contains(&found) {
            return Err(format!("writer {writer} was told {least}, and {found} is there"));
        }
    }
    *counts = found;
    Ok(())
}
