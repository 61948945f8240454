//! A real authority that gives certificates, for tests: Let's Encrypt's own for that. It looks for
//! names at the server that is tested, since a server of names beside it says that all are here.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Where `cargo xtask pebble` puts the programs, below the folder that cargo builds into.
const PEBBLE: &str = "pebble-2.10.3/pebble";
const NAMES: &str = "pebble-2.10.3/pebble-challtestsrv";

/// How long a program may take to say that it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// An authority that can be stopped and started, at the same address.
pub struct Pebble {
    folder: PathBuf,
    /// Itself, what it is asked about itself at, the names, what these are asked about.
    ports: [u16; 4],
    running: Vec<Child>,
}

impl std::fmt::Debug for Pebble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pebble").finish_non_exhaustive()
    }
}

impl Pebble {
    /// An authority that is not there yet. It is known by a certificate for `localhost`, gives
    /// others that hold for so long, and looks for names at this port.
    ///
    /// # Panics
    /// When the system gives no ports or files.
    #[must_use]
    pub fn new([cert, key]: [&Path; 2], holds: Duration, looks_at: u16) -> Pebble {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("jungle-pebble-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("temporary files can be made");
        let ports = free_ports();
        let [own, told, ..] = ports;
        let config = format!(
            r#"{{"pebble": {{
                "listenAddress": "127.0.0.1:{own}", "managementListenAddress": "127.0.0.1:{told}",
                "certificate": {cert:?}, "privateKey": {key:?},
                "httpPort": {looks_at}, "tlsPort": {looks_at}, "keyAlgorithm": "ecdsa",
                "retryAfter": {{"authz": 1, "order": 1}},
                "profiles": {{"default": {{"description": "", "validityPeriod": {}}}}}
            }}}}"#,
            holds.as_secs()
        );
        fs::write(folder.join("config"), config).expect("temporary files can be written");
        Pebble { folder, ports, running: Vec::new() }
    }

    /// Starts it: an authority that has forgotten all accounts, and signs with another key.
    ///
    /// # Panics
    /// When there is nothing to start (`cargo xtask pebble` makes it), or it does not start.
    pub fn start(&mut self) {
        let [_, _, names, about] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let mut command = Command::new(program(NAMES));
        command.args(["-dnsserver", &names, "-management", &about, "-defaultIPv6", ""]);
        command.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""]);
        self.launch(command, "Starting management server");
        let mut command = Command::new(program(PEBBLE));
        command.arg("-config").arg(self.folder.join("config")).args(["-dnsserver", &names]);
        // It waits, refuses, and remembers by chance otherwise.
        command.envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")]);
        command.env("PEBBLE_AUTHZREUSE", "0");
        self.launch(command, "ACME directory available at");
    }

    /// Stops it.
    pub fn stop(&mut self) {
        for mut child in self.running.drain(..) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it is asked for certificates.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.ports[0])
    }

    /// Where the certificate is that those it gives are to be trusted by.
    #[must_use]
    pub fn root(&self) -> String {
        format!("https://localhost:{}/roots/0", self.ports[1])
    }

    fn launch(&mut self, mut command: Command, ready: &'static str) {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the authority can be started");
        let log = BufReader::new(child.stdout.take().expect("piped above"));
        self.running.push(child);
        let (sender, lines) = channel();
        // Reads on when nobody listens any more, or it would stop at a full pipe.
        std::thread::spawn(move || {
            log.lines().map_while(Result::ok).for_each(|line| {
                if std::env::var("PEBBLE_LOG").is_ok() {
                    eprintln!("{line}");
                }
                let _ = sender.send(line);
            });
        });
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left).expect("the authority does not start");
            if line.contains(ready) {
                return;
            }
        }
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports that nobody uses now: it cannot choose itself.
fn free_ports() -> [u16; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").expect("there are ports"));
    listeners.map(|listener| listener.local_addr().expect("it listens").port())
}

fn program(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("a test knows its own file");
    let found = here.ancestors().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.expect("there is no pebble 2.10.3: `cargo xtask pebble` makes it")
}
