//! How often a program syncs, seen from outside: with strace, in runs of their own, since it slows
//! down what it looks at.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Tasks of a short run and of a longer one: what is done once, as loading, is in both.
pub const TASKS: [u64; 2] = [20, 60];

/// What syncs, what may (writes to a file that is opened for that), and how such files are known.
const CALLS: &str = "trace=fsync,fdatasync,msync,sync,syncfs,\
    write,writev,pwrite64,pwritev,pwritev2,open,openat,close";

/// Can it be counted here? There may be no strace, or it may not look at others.
pub fn can_be_counted() -> bool {
    let mut tried = traced(&Command::new("true"), Path::new("/dev/null"));
    tried.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    tried.status().is_ok_and(|status| status.success())
}

/// The same program with all that it starts, its calls told in this file.
pub fn traced(program: &Command, file: &Path) -> Command {
    let mut command = Command::new("strace");
    let how = ["-f", "--seccomp-bpf", "-qq", "-e", CALLS, "-o"].map(OsStr::new);
    command.args(how).arg(file).arg(program.get_program()).args(program.get_args());
    command
}

/// The syncs of which strace tells: calls that are nothing else, and writes to files that were
/// opened so that each write is one.
pub fn count(trace: &str) -> u64 {
    let (mut synced, mut opening, mut syncs) = (HashSet::new(), HashMap::new(), 0);
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        // The second half of a call, during which another thread called something.
        if let Some(rest) = call.strip_prefix("<... open") {
            let is_synced = opening.remove(thread).unwrap_or(false);
            note(&mut synced, rest, is_synced);
            continue;
        }
        let Some((name, arguments)) = call.split_once('(') else { continue };
        match name {
            "fsync" | "fdatasync" | "sync" | "syncfs" => syncs += 1,
            "msync" => syncs += u64::from(arguments.contains("MS_SYNC")),
            "open" | "openat" => {
                let is_synced = arguments.contains("O_DSYNC") || arguments.contains("O_SYNC");
                opening.insert(thread, is_synced);
                note(&mut synced, arguments, is_synced);
            }
            "close" => drop(synced.remove(leading(arguments))),
            _ => syncs += u64::from(synced.contains(leading(arguments))),
        }
    }
    syncs
}

/// Notes what became of opening a file, if that is told here.
fn note<'t>(synced: &mut HashSet<&'t str>, told: &'t str, is_synced: bool) {
    let Some((_, file)) = told.rsplit_once(" = ") else { return };
    if is_synced {
        synced.insert(leading(file));
    } else {
        synced.remove(leading(file));
    }
}

/// The number of a file, with which this begins.
fn leading(arguments: &str) -> &str {
    let end = arguments.find(|c: char| !c.is_ascii_digit()).unwrap_or(arguments.len());
    &arguments[..end]
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn a_sync_is_a_call_or_a_write_to_a_file_that_is_opened_so() {
        let trace = r#"
7 openat(AT_FDCWD, "data", O_WRONLY|O_DSYNC|O_CLOEXEC) = 5
7 openat(AT_FDCWD, "other", O_RDWR <unfinished ...>
8  pwrite64(5, "\0"..., 4096, 0) = 4096
7 <... openat resumed>)            = 6
8 write(6, "fsync(7)", 8) = 8
8 fdatasync(6 <unfinished ...>
7 msync(0x7f0000000000, 4096, MS_ASYNC) = 0
8 <... fdatasync resumed>) = 0
7 msync(0x7f0000000000, 4096, MS_SYNC) = 0
7 close(5) = 0
7 write(5, "1", 1) = 1
7 openat(AT_FDCWD, "log", O_RDWR|O_SYNC <unfinished ...>
8 fsync(3) = 0
7 <... openat resumed>) = 9
7 pwritev(9, [{iov_base="1", iov_len=1}], 1, 0) = 1
7 +++ exited with 0 +++
"#;
        assert_eq!(count(trace), 5);
        assert_eq!(count(""), 0);
    }
}
