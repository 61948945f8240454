//! The real command on small documents: what it prints, on which stream, and its exit code.

// clippy.toml allows this in tests, but does not see that helpers beside them belong to them.
#![allow(clippy::unwrap_used)]

mod acme;
mod alice;
mod apply;
mod audit;
mod bench;
mod blame;
mod cheat;
mod cluster;
mod completing;
mod csv;
mod curl;
mod demo;
mod diff;
mod documents;
mod drawings;
mod editing;
mod files;
mod find;
mod get;
#[cfg(target_os = "linux")]
mod hostile;
mod html;
mod importing;
#[cfg(target_os = "linux")]
mod interrupts;
mod locks;
mod machines;
mod markdown;
mod numbers;
#[cfg(target_os = "linux")]
mod pager;
mod posting;
mod published;
mod quiet;
mod remote;
mod remote_past;
mod repair;
mod secrets;
mod serve;
mod serving;
mod soak;
#[cfg(target_os = "linux")]
mod spilling;
mod stat;
#[cfg(target_os = "linux")]
mod streaming;
mod tables;
#[cfg(target_os = "linux")]
mod terminal;
mod transcripts;
mod tryout;
mod undo;
mod upgrade;
mod xml;
mod yaml;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    /// `name` must be unique among the tests.
    fn new(name: &str) -> Folder {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jungle"));
        command.current_dir(&self.0).args(args);
        without_settings(&mut command);
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        Ended::new(self.command(args).output().unwrap())
    }

    fn run_with_input(&self, args: &[&str], input: &str) -> Ended {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may end without having read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ended::new(child.wait_with_output().unwrap())
    }
}

/// What whoever runs the tests has set for their own servers is not for these.
fn without_settings(command: &mut Command) {
    let ours = |name: &OsString| name.to_string_lossy().starts_with("JUNGLE_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.env_remove("NO_COLOR");
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a command ended.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn new(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn check_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}", self.err);
    }

    #[track_caller]
    fn check(&self, code: i32, out: &str, err: &str) {
        assert_eq!((self.code, &*self.out, &*self.err), (Some(code), out, err));
    }
}
