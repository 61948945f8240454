//! A server of ours as a process on a machine, and whether it answers while it is there.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jungle_testkit::Machines;

use super::super::tryout::signal;

const PORT: u16 = 7070;

/// No answer of who is there takes so long, unless something is wrong.
pub(crate) const READ_WITHIN: Duration = Duration::from_secs(15);

/// One, with its folder.
pub(crate) struct Server<'m> {
    machines: &'m Machines,
    at: usize,
    folder: PathBuf,
    cluster: String,
    process: Mutex<Process>,
}

#[derive(Default)]
struct Process {
    child: Option<Child>,
    /// One that has ended while it should run is started again.
    is_wanted: bool,
    /// Changes whenever something is done to it: what was asked before counts for nothing.
    life: u64,
    /// It has answered in this life, so it must go on to.
    answers: bool,
    slowest: Duration,
    unanswered: Option<Duration>,
}

impl<'m> Server<'m> {
    pub(crate) fn new(
        machines: &'m Machines,
        at: usize,
        folder: &Path,
        cluster: &str,
    ) -> Server<'m> {
        let (cluster, process) = (cluster.to_owned(), Mutex::default());
        Server { machines, at, folder: folder.to_owned(), cluster, process }
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join(format!("s{}", self.at))
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("s{}.{kind}", self.at))
    }

    pub(crate) fn start(&self) {
        let mut command = self.machines.command(self.at, env!("CARGO_BIN_EXE_jungle"));
        super::super::without_settings(&mut command);
        command.args(["serve", "--json", "--log", "warn", "--expose", "--listen"]);
        command.arg(format!("0.0.0.0:{PORT}")).arg("--data").arg(self.data());
        command.args(["--cluster", &self.cluster, "--server-name", &format!("s{}", self.at)]);
        let said = File::options().create(true).append(true).open(self.file("err")).unwrap();
        command.stdout(File::create(self.file("out")).unwrap()).stderr(said);
        let mut process = self.process();
        process.renew();
        process.is_wanted = true;
        process.child = Some(command.spawn().unwrap());
    }

    /// Starts it again if it has ended because it did not get in.
    pub(crate) fn tend(&self) {
        let mut process = self.process();
        let silent = process.unanswered.take();
        assert!(silent.is_none(), "s{} did not answer for {silent:?}\n{}", self.at, self.said());
        let is_wanted = process.is_wanted;
        let ended = process.child.as_mut().and_then(|child| child.try_wait().unwrap());
        let Some(status) = ended.filter(|_| is_wanted) else { return };
        drop(process);
        let has_served = fs::metadata(self.file("out")).is_ok_and(|told| told.len() > 0);
        let got_in = has_served || status.code() != Some(1);
        assert!(!got_in, "s{} has ended by itself, {status}\n{}", self.at, self.said());
        self.start();
    }

    /// As a loss of power would, but that the system stays.
    pub(crate) fn kill(&self) {
        let mut process = self.process();
        process.renew();
        process.is_wanted = false;
        if let Some(mut child) = process.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn wipe(&self) {
        fs::remove_dir_all(self.data()).unwrap();
    }

    pub(crate) fn pause(&self) {
        // Before it has stopped, it may still answer.
        self.signal("-STOP");
        self.process().renew();
    }

    pub(crate) fn resume(&self) {
        // What was asked before waited for this, not for the server.
        self.process().renew();
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        // It may be about to be started again.
        if let Some(id) = self.id() {
            signal(name, id);
        }
    }

    /// Its process, if there is one.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process().child.as_ref().map(Child::id)
    }

    /// Ends it in order.
    pub(crate) fn end(&self) {
        let child = self.process().child.take();
        let mut child = child.expect("it runs");
        signal("-TERM", child.id());
        let ended = child.wait().unwrap();
        assert_eq!((ended.code(), ended.signal()), (Some(0), None), "{}", self.said());
    }

    /// What it has said of late.
    pub(crate) fn said(&self) -> String {
        let said = fs::read_to_string(self.file("err")).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(12)..];
        format!("s{}: {}", self.at, last.join("\n    "))
    }

    /// A question that is asked in this life.
    pub(crate) fn life(&self) -> u64 {
        self.process().life
    }

    /// Whether that was answered, and after how long. Who is there has to.
    pub(crate) fn answered(&self, life: u64, is_answered: bool, asked: Instant) {
        let (mut process, after) = (self.process(), asked.elapsed());
        if process.life != life {
            return;
        }
        if is_answered {
            process.answers = true;
            process.slowest = process.slowest.max(after);
        } else if process.answers {
            process.unanswered = Some(after);
        }
    }

    pub(crate) fn slowest(&self) -> Duration {
        self.process().slowest
    }

    /// Checks what it has, when it has ended.
    pub(crate) fn verify(&self) {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_jungle"));
        let ended = verify.arg("verify").arg(self.data()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "verify of s{}: {said}", self.at);
    }

    /// The address at which one reaches it over the network.
    pub(crate) fn address(&self) -> String {
        format!("{}:{PORT}", self.machines.address(self.at))
    }

    /// The one for who sits at its machine.
    pub(crate) fn desk(&self) -> String {
        format!("{}:{PORT}", self.machines.desk(self.at))
    }
}

impl Process {
    fn renew(&mut self) {
        self.life += 1;
        self.answers = false;
        self.unanswered = None;
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.process().child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
