//! Machines of a test's own: name spaces of the kernel, each with an address, on one network. What
//! they send each other goes through the kernel's own TCP, and is lost there, so nothing of ours
//! has to behave like a network.
//!
//! The test program runs itself again, in a name space in which it may do all this and which ends
//! with it: whatever becomes of a test, none of its processes is left. No privilege is needed where
//! the system lets users make name spaces of their own.
//!
//! How packets are lost: an address is given a hardware address that nobody has, so that they go
//! out as ever and nobody takes them. A route to nowhere would tell the sender.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Says to the test program that it is where machines can be made.
const INSIDE: &str = "JUNGLE_MACHINES_INSIDE";

/// Where who is in the network, and on no machine, is reached.
const HUB: &str = "10.77.0.254";
/// Nobody's.
const NO_HARDWARE: &str = "02:00:00:00:00:00";

/// So many machines on one network, each with an address. The test is on that network, too, on no
/// machine: cables that are pulled cut it off as well. And it sits at each machine: that is a way
/// of its own, to [`desk`](Machines::desk), which nothing cuts.
///
/// # Examples
/// A test of the crate `it`, `network::machines_speak`:
/// ```no_run
/// use jungle_testkit::Machines;
///
/// // #[test]
/// fn machines_speak() {
///     Machines::run("network::machines_speak", 2, |machines| {
///         machines.lose(0, 1);
///         let listener = machines.command(1, "nc").args(["-l", "7000"]).spawn();
///         // ...
///         machines.mend();
///     });
/// }
/// ```
pub struct Machines {
    machines: Vec<Machine>,
    holders: Vec<Child>,
    /// What is lost: from whom, to whom.
    lost: Mutex<BTreeSet<(usize, usize)>>,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machines").finish_non_exhaustive()
    }
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    at: usize,
    /// The process that has its name space.
    holder: u32,
}

impl Machine {
    pub(crate) fn address(&self) -> String {
        format!("10.77.0.{}", self.at + 1)
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        // It becomes the program, so that the process is the same.
        command.arg(format!("--net=/proc/{}/ns/net", self.holder)).arg("--").arg(program);
        command
    }
}

impl Machines {
    /// Makes so many machines for a test, and runs it with them; tells whether the system gives
    /// them. If it does not, nothing is run, and why is printed.
    ///
    /// `test` is the whole name of the test that calls this, as the test program lists it: it is
    /// run again by that. What is above this call in the test is therefore done twice. Its
    /// temporary files have a folder of their own, which goes with it.
    ///
    /// # Panics
    /// When the test does, or the program has no such test.
    pub fn run(test: &str, count: usize, run: impl FnOnce(&Machines)) -> bool {
        if std::env::var_os(INSIDE).is_some() {
            end_with_input();
            run(&Machines::new(count));
            return true;
        }
        if let Err(why) = unshared("ip").args(["link", "add", "hub", "type", "bridge"]).tried() {
            // Past the test harness, which keeps what a passing test prints.
            let skip = format!("!! SKIPPED: {test}: the system gives no machines: {why}");
            let _ = Command::new("sh").args(["-c", "echo \"$0\" >&2", &skip]).status();
            return false;
        }
        let temporary = Temporary::new();
        let (log, output) = std::io::pipe().expect("there are pipes");
        let program = std::env::current_exe().expect("a test knows its own file");
        let mut again = unshared(program);
        again.args([test, "--exact", "--nocapture", "--quiet"]).env(INSIDE, "1");
        // By their process alone, tests that are all the first one could not be told apart.
        again.env("TMPDIR", &temporary.0);
        let errors = output.try_clone().expect("a pipe has as many ends as are wanted");
        again.stdin(Stdio::piped()).stdout(output).stderr(errors);
        let mut child = again.spawn().expect("it was there for the trial");
        // The command has the pipe's other end open.
        drop(again);
        let (mut has_run, log) = (false, BufReader::new(log));
        for line in log.lines().map_while(Result::ok) {
            has_run |= line.starts_with("test result: ok. 1 passed");
            println!("{line}");
        }
        let status = child.wait().expect("it was started by us");
        assert!(status.success() && has_run, "{test}, run again on machines, ended with {status}");
        true
    }

    fn new(count: usize) -> Machines {
        assert!((1..=200).contains(&count), "{count} machines are too many");
        ip("link set lo up");
        ip("link add hub type bridge");
        ip(&format!("addr add {HUB}/24 dev hub"));
        ip("link set hub up");
        let (machines, holders) = (0..count).map(Machine::start).unzip();
        Machines { machines, holders, lost: Mutex::default() }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.machines.len()
    }

    /// The address at which the others, and the test, reach one over the network.
    #[must_use]
    pub fn address(&self, at: usize) -> String {
        self.machines[at].address()
    }

    /// The address at which the test reaches one as who sits at it does, whatever becomes of the
    /// network.
    #[must_use]
    pub fn desk(&self, at: usize) -> String {
        format!("10.78.{}.1", at + 1)
    }

    /// The address at which the machines reach the test.
    #[must_use]
    pub fn hub(&self) -> String {
        HUB.to_owned()
    }

    /// A command that runs on one of them. Its process is that of the program itself.
    #[must_use]
    pub fn command(&self, at: usize, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.machine(at).command(program)
    }

    pub(crate) fn machine(&self, at: usize) -> Machine {
        self.machines[at]
    }

    /// Pulls the cable of one: it notices that nothing is there.
    pub fn unplug(&self, at: usize) {
        ip(&format!("link set m{at} down"));
    }

    /// Puts it in again.
    pub fn plug(&self, at: usize) {
        ip(&format!("link set m{at} up"));
    }

    /// What one sends to another is lost from now on, and nobody is told. What the other sends back
    /// arrives.
    pub fn lose(&self, from: usize, to: usize) {
        if self.lost().insert((from, to)) {
            let address = self.address(to);
            let nobody = format!("neigh replace {address} lladdr {NO_HARDWARE} nud permanent");
            self.ip_of(from, &format!("{nobody} dev eth0"));
        }
    }

    /// What either of two groups sends to the other is lost.
    pub fn part(&self, group: &[usize], others: &[usize]) {
        for (&at, &other) in group.iter().flat_map(|at| others.iter().map(move |to| (at, to))) {
            self.lose(at, other);
            self.lose(other, at);
        }
    }

    /// Nothing is lost any more. Cables that are out stay out.
    pub fn mend(&self) {
        let lost = std::mem::take(&mut *self.lost());
        for (from, to) in lost {
            self.ip_of(from, &format!("neigh del {} dev eth0", self.address(to)));
        }
    }

    fn lost(&self) -> std::sync::MutexGuard<'_, BTreeSet<(usize, usize)>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ip_of(&self, at: usize, what: &str) {
        checked(self.command(at, "ip").args(what.split(' ')));
    }
}

impl Machine {
    /// Starts the process that keeps its name space, and lays its cables.
    fn start(at: usize) -> (Machine, Child) {
        let mut holder = Command::new("unshare");
        // It says that it is there, and ends with us.
        holder.args(["--net", "sh", "-c", "ip link set lo up && echo && exec cat"]);
        holder.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("it was there for the trial");
        let said = holder.stdout.as_mut().expect("piped above").read(&mut [0]);
        assert!(matches!(said, Ok(1)), "machine {at} is not there");
        let (process, number) = (holder.id(), at + 1);
        let machine = Machine { at, holder: process };
        ip(&format!("link add m{at} type veth peer name eth0 netns {process}"));
        ip(&format!("link set m{at} master hub up"));
        ip(&format!("link add d{at} type veth peer name desk netns {process}"));
        ip(&format!("addr add 10.78.{number}.2/24 dev d{at}"));
        ip(&format!("link set d{at} up"));
        let own = format!("addr add {}/24 dev eth0", machine.address());
        let desk = format!("addr add 10.78.{number}.1/24 dev desk");
        for what in [&own, "link set eth0 up", &desk, "link set desk up"] {
            checked(machine.command("ip").args(what.split(' ')));
        }
        (machine, holder)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// A folder for temporary files, gone with this; but what failed can be looked at.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("jungle-machines-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("temporary files can be made");
        Temporary(folder)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("what was written is in {}", self.0.display());
            return;
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command in name spaces of its own, which end with it, and all processes in them.
fn unshared(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.arg("--").arg(program);
    command
}

/// Ends this process when the one that has started it has ended, however that did.
fn end_with_input() {
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
}

/// Changes something of the network in which the test is.
fn ip(what: &str) {
    checked(Command::new("ip").args(what.split(' ')));
}

fn checked(command: &mut Command) {
    if let Err(why) = command.tried() {
        panic!("{command:?}: {why}");
    }
}

trait Tried {
    /// Runs it to its end; tells what it says if it fails.
    fn tried(&mut self) -> Result<(), String>;
}

impl Tried for Command {
    fn tried(&mut self) -> Result<(), String> {
        let ended = self.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        if ended.status.success() { Ok(()) } else { Err(said) }
    }
}

#[cfg(test)]
mod tests;
