//! Programs that must have ended by some time.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How often it is looked whether the program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Runs it and gives what it said; `None` when it had to be killed at the deadline, with all that
/// it had started.
///
/// # Errors
/// When it cannot be started.
pub fn output(mut command: Command, deadline: Option<Instant>) -> io::Result<Option<Output>> {
    let Some(deadline) = deadline else { return command.output().map(Some) };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdout, stderr) = (reading(child.stdout.take()), reading(child.stderr.take()));
    let mut ended = None;
    while ended.is_none() && Instant::now() < deadline {
        thread::sleep(LOOK);
        ended = child.try_wait()?;
    }
    if ended.is_none() {
        // It is still ours, so its number cannot be another's yet.
        kill_all(child.id());
        child.wait()?;
    }
    let said = |thread: thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    let (stdout, stderr) = (said(stdout), said(stderr));
    Ok(ended.map(|status| Output { status, stdout, stderr }))
}

/// Reads all, so that the program never waits for somebody to read.
fn reading(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut from) = from {
            // What came before an error is what it said.
            let _ = from.read_to_end(&mut text);
        }
        text
    })
}

/// Kills a process with those that it has started, and removes the folders they had.
fn kill_all(process: u32) {
    let mut all = vec![process];
    let mut at = 0;
    while let Some(process) = all.get(at) {
        // So that it starts nothing between being looked at and being killed.
        send(*process, Signal::STOP);
        all.extend(children(*process));
        at += 1;
    }
    all.iter().for_each(|process| send(*process, Signal::KILL));
    let beside = std::env::current_exe().ok();
    let folders = [beside.as_deref().and_then(Path::parent), Some(&std::env::temp_dir())];
    for process in all {
        folders.iter().flatten().for_each(|folder| sweep(folder, process));
    }
}

fn send(process: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

/// Those that a process has started and that have not ended.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    let text: String = threads.map(of_thread).collect();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Removes what experiments and the engine's servers name after their process.
fn sweep(folder: &Path, process: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_experiment = name.starts_with("bench-") && name.ends_with(&format!("-{process}"));
        if is_experiment || name.starts_with(&format!("jungle-nats-{process}-")) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::output;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_ends_in_time_is_heard() {
        let deadline = Instant::now() + Duration::from_secs(60);
        let said = output(shell("echo a; echo b >&2; exit 3"), Some(deadline)).unwrap().unwrap();
        assert_eq!((&said.stdout[..], &said.stderr[..]), (&b"a\n"[..], &b"b\n"[..]));
        assert_eq!(said.status.code(), Some(3));
    }

    /// The inner `sleep` holds the pipe, so this would wait an hour if it were left alive.
    #[test]
    fn what_does_not_end_is_killed_with_its_children() {
        let deadline = Instant::now() + Duration::from_millis(50);
        assert!(output(shell("sleep 3600 & wait"), Some(deadline)).unwrap().is_none());
    }
}
