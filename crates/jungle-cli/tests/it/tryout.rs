//! Commands that start other processes, and what of those is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jungle_testkit::NATS_SERVER;
use serde_json::Value as Json;

use super::Folder;

/// Where `cargo xtask nats` has put the server.
pub(crate) fn nats_server() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let found = here.ancestors().map(|folder| folder.join(NATS_SERVER)).find(|file| file.is_file());
    found.expect("there is no nats-server 2.15.2: `cargo xtask nats` makes it")
}

/// What starts others, killed when the test ends.
pub(crate) struct Up {
    pub(crate) child: Child,
    pub(crate) told: Json,
}

impl Up {
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Up {
        let server = nats_server();
        let usual = ["--json", "--nats-server", server.to_str().unwrap()];
        let mut command = folder.command(&[args, &usual].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Up { child, told: serde_json::from_str(&line).unwrap() }
    }

    pub(crate) fn engine(&self) -> &str {
        self.told["engine"].as_str().unwrap()
    }

    /// Its own process, and those that it and they have started.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mut all = vec![self.child.id()];
        let mut at = 0;
        while let Some(process) = all.get(at) {
            let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
            let tasks = tasks.map(|task| task.unwrap().path().join("children"));
            let children: String =
                tasks.map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
            all.extend(children.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
            at += 1;
        }
        all
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.child.id());
    }
}

pub(crate) fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Whether it runs: one that has ended, and nobody has waited for, does not.
pub(crate) fn runs(process: u32) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat"));
    status.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
