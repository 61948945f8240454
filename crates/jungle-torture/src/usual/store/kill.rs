//! A real process on a real disk is killed at any moment; what it said was acknowledged, through
//! a pipe, is there. Behind its writers it writes checkpoints all the time, and trims its log. In
//! one round of three somebody looks at the folder until then.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use jungle_db::TreeHandle;
use jungle_store::{OpenError, OpenOptions};
use jungle_testkit::Rng;
use jungle_tree::loading;

use super::child::{self, Folder, WRITERS};
use crate::options::Options;
use crate::suite::{Outcome, again_with};

/// A folder is killed upon so often; then a new one is begun, for the beginning is a moment, too.
const ROUNDS_A_FOLDER: u64 = 20;

pub fn run(options: &Options) -> Outcome {
    let rounds = options.points(500);
    let (mut rng, mut outcome) = (Rng::new(options.seed), Outcome::default());
    let (mut acknowledged, mut looks) = (0, 0);
    println!("kill: {rounds} points from seed {}", options.seed);
    let mut folder = Folder::new("kill");
    let (mut counts, mut failure) = ([0; WRITERS], None);
    for round in 0..rounds {
        if round % ROUNDS_A_FOLDER == 0 {
            folder = Folder::new("kill");
            counts = [0; WRITERS];
        }
        let micros_max = if rng.chance(1, 4) { 3_000 } else { 25_000 };
        let micros = rng.below(micros_max);
        let before: i64 = counts.iter().sum();
        // Who is looked at needs time to begin.
        let is_looked_at = round % 3 == 2;
        let after = Duration::from_micros(if is_looked_at { 30_000 + micros } else { micros });
        match one_round(&folder, options, (after, is_looked_at), &mut counts) {
            Ok(looked) => {
                outcome.passed += 1;
                looks += looked;
            }
            Err(wrong) => {
                failure = Some((round, wrong));
                break;
            }
        }
        acknowledged += counts.iter().sum::<i64>() - before;
    }
    // Whoever woke a bug ends this as soon as it has failed.
    drop(folder);
    if let Some((round, wrong)) = &failure {
        outcome.failed += 1;
        println!("round {round}: {wrong}");
        // The moments are drawn one after the other, so it takes all up to this one.
        println!("failed; again: {}", again_with(options, options.seed, round + 1));
    }
    println!("kill: {acknowledged} commits were acknowledged; {looks} looks beside them");
    if failure.is_none() && (acknowledged == 0 || looks == 0 && rounds > 2) {
        // No process came far enough to be killed, or looked at, while it wrote.
        outcome.failed += 1;
    }
    outcome
}

/// Has a process commit, kills it, and opens what it left. The counts are those found. Tells how
/// often the folder was looked at before.
fn one_round(
    folder: &Folder,
    options: &Options,
    (after, is_looked_at): (Duration, bool),
    counts: &mut [i64; WRITERS],
) -> Result<u64, String> {
    let mut command = child::command("writers", &folder.0, 0);
    command.args(&options.wake).stdout(Stdio::piped());
    let mut child = command.spawn().expect("this program can be started again");
    let said = Said::listen(child.stdout.take().expect("it was asked for"), *counts);
    // It is killed while it opens, or while it writes: the time runs from when it was started.
    let looked = match is_looked_at {
        true => look_until(Instant::now() + after, folder, &said),
        false => {
            sleep(after);
            Ok(0)
        }
    };
    let ended = child.kill().and_then(|()| child.wait()).expect("the child is ours");
    let looked = looked?;
    if ended.signal().is_none() {
        return Err(format!("it ended by itself, with {ended}"));
    }
    let least = said.join()?;
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
    Ok(looked)
}

/// What a process said was acknowledged, so far.
struct Said {
    counts: Arc<[AtomicI64; WRITERS]>,
    listener: JoinHandle<Result<(), String>>,
}

impl Said {
    fn listen(said: impl Read + Send + 'static, before: [i64; WRITERS]) -> Said {
        let counts = Arc::new(before.map(AtomicI64::new));
        let heard = Arc::clone(&counts);
        let listener = thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                let numbers = line.split_once(' ').and_then(|(writer, count)| {
                    Some((writer.parse::<usize>().ok()?, count.parse::<i64>().ok()?))
                });
                let (writer, count) = numbers.ok_or(format!("it said {line:?}"))?;
                heard[writer].store(count, Ordering::SeqCst);
            }
            Ok(())
        });
        Said { counts, listener }
    }

    fn counts(&self) -> [i64; WRITERS] {
        self.counts.each_ref().map(|count| count.load(Ordering::SeqCst))
    }

    /// When it has ended.
    fn join(self) -> Result<[i64; WRITERS], String> {
        let Said { counts, listener } = self;
        listener.join().map_err(|_| "nobody listened")??;
        Ok(counts.each_ref().map(|count| count.load(Ordering::SeqCst)))
    }
}

/// Looks at the folder again and again while a process writes to it; tells how often.
fn look_until(end: Instant, folder: &Folder, said: &Said) -> Result<u64, String> {
    let (before, mut looks) = (said.counts(), 0);
    while Instant::now() < end {
        // Who looks before the process has the folder would keep it out.
        if said.counts() == before {
            sleep(Duration::from_millis(1));
            continue;
        }
        let least = said.counts();
        let seen = OpenOptions::new().beside_a_writer().open(&folder.0);
        let seen = seen.map_err(|error: OpenError| format!("a look was refused: {error}"))?;
        // The place of what it has not read yet is used for something else meanwhile.
        sleep(Duration::from_millis(2));
        let tree = seen.open_tree("t").map_err(|error| format!("a look: {error}"))?;
        let looked = loading(|| whole(&tree, &least));
        let looked = looked.map_err(|error| format!("a look: {error}"))?;
        looked.map_err(|wrong| format!("a look: {wrong}"))?;
        looks += 1;
    }
    Ok(looks)
}

/// Has it everything that was acknowledged, and does each revision count one more than the one
/// before?
fn whole(tree: &TreeHandle, least: &[i64; WRITERS]) -> Result<(), String> {
    for (writer, &least) in least.iter().enumerate() {
        let found = child::count(tree, writer);
        if found < least {
            return Err(format!("writer {writer} was told {least}, and {found} is there"));
        }
    }
    let mut before = None;
    for info in tree.history(..) {
        let revision = info.map_err(|error| error.to_string())?.revision;
        let version = tree.at(revision).map_err(|error| error.to_string())?;
        let counts = (0..WRITERS).filter_map(|writer| {
            version.root().attribute(&writer.to_string()).and_then(|count| count.as_int())
        });
        let total: i64 = counts.sum();
        let ahead = revision.number() as i64 - total;
        if total > 0 && before.is_some_and(|before| before != ahead) {
            return Err(format!("revision {revision} counts {total}"));
        }
        before = (total > 0).then_some(ahead);
    }
    Ok(())
}
