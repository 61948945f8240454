//! Real servers of the engine under Alice's remote keys, for tests and measurements: on loopback,
//! on ports that are free, or on machines of the test's own; in a folder that goes with them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::machines::{Machine, Machines};
use crate::relay::{Passage, Relays};
use crate::scratch::Scratch;

/// Where `cargo xtask nats` puts the server, below the folder that cargo builds into.
pub const NATS_SERVER: &str = "nats-server-2.15.2/nats-server";

/// Lines of configuration with which everybody gets in, to the account `JUNGLE`, and may ask
/// whether the server syncs before it answers.
pub const NATS_ACCOUNTS: &str = r#"
accounts {
  JUNGLE {
    jetstream: enabled
    users: [ { user: jungle, password: jungle } ]
    imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ]
  }
  SYS {
    exports: [
      { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream, accounts: [ JUNGLE ] }
    ]
  }
}
system_account: SYS
no_auth_user: jungle
"#;

/// How long a server may take to say that it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often servers are started on other ports when somebody took one meanwhile.
const STARTS_MAX: u32 = 5;

/// What the folders are called in which servers keep what they have.
const FOLDER: &str = "jungle-nats";

const LOOPBACK: &str = "127.0.0.1";
/// The ports on machines of their own: for clients, and for each other.
const PORTS: [u16; 2] = [4222, 6222];

/// One server, or several that are one engine. They are killed when this is dropped.
pub struct NatsServers {
    servers: Vec<Server>,
    /// Gone after they are.
    folder: Scratch,
    settings: String,
    /// Do they sync before they answer?
    is_synced: bool,
    /// There if what they say to each other leads through them.
    relays: Option<Relays>,
}

impl std::fmt::Debug for NatsServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsServers").finish_non_exhaustive()
    }
}

struct Server {
    name: String,
    /// It is in the test's own network if it has none.
    machine: Option<Machine>,
    host: String,
    /// 0 until it has chosen one.
    port: u16,
    /// Its own address for the others, and those at which it finds them.
    routes: Vec<String>,
    /// The one at which the others are told to find it, if that is not its own.
    told: Option<String>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl NatsServers {
    /// Starts so many servers, and waits until they are ready. They sync before they answer.
    ///
    /// # Panics
    /// When there is no server to start (`cargo xtask nats` makes it), or it does not start.
    #[must_use]
    pub fn start(count: usize) -> NatsServers {
        NatsServers::start_with(count, NATS_ACCOUNTS)
    }

    /// As [`start`](NatsServers::start), with these lines in the configuration of each in place of
    /// [`NATS_ACCOUNTS`]: without any, all get in, and nobody may ask whether it syncs.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_with(count: usize, settings: &str) -> NatsServers {
        NatsServers::begin(|| Ok(servers(&free_ports(count)?, settings)))
    }

    /// As [`start`](NatsServers::start), with all that they keep in a folder of their own in this
    /// one: for measurements, since the folder for temporary files may be no disk.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_in(folder: &Path, count: usize) -> NatsServers {
        NatsServers::begin(|| {
            let mut engine = servers(&free_ports(count)?, NATS_ACCOUNTS);
            engine.folder = Scratch::new_in(folder, FOLDER);
            Ok(engine)
        })
    }

    /// As [`start`](NatsServers::start), but they sync when two minutes are over, as they do by
    /// themselves: for measurements.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_unsynced(count: usize) -> NatsServers {
        NatsServers::begin(|| {
            let mut engine = servers(&free_ports(count)?, NATS_ACCOUNTS);
            engine.is_synced = false;
            Ok(engine)
        })
    }

    /// As [`start`](NatsServers::start), so that what they say to each other can be
    /// [held or lost](NatsServers::pass).
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_relayed(count: usize) -> NatsServers {
        NatsServers::begin(|| {
            let ports = free_ports(count)?;
            let relays = Relays::start(&ports)?;
            let mut engine = servers(&ports, NATS_ACCOUNTS);
            for (at, server) in engine.servers.iter_mut().enumerate() {
                let others = (0..count).filter(|&other| other != at);
                server.routes.truncate(1);
                server.routes.extend(others.map(|other| on_loopback(relays.port(at, other))));
                // They tell each other where others are, and would go there themselves.
                server.told = Some(on_loopback(relays.refusing()));
            }
            engine.relays = Some(relays);
            Ok(engine)
        })
    }

    /// As [`start`](NatsServers::start): one on each machine, on the usual ports.
    ///
    /// # Panics
    /// As there.
    #[must_use]
    pub fn start_on(machines: &Machines) -> NatsServers {
        let [clients, routes] = PORTS;
        let hosts: Vec<String> = (0..machines.count()).map(|at| machines.address(at)).collect();
        let routes = hosts.iter().map(|host| format!("{host}:{routes}")).collect();
        let mut engine = at_addresses(routes, NATS_ACCOUNTS);
        for (at, (server, host)) in engine.servers.iter_mut().zip(hosts).enumerate() {
            (server.machine, server.host) = (Some(machines.machine(at)), host);
            server.port = clients;
        }
        assert!(engine.start_all(), "the servers did not start on their machines");
        engine
    }

    fn begin(make: impl Fn() -> std::io::Result<NatsServers>) -> NatsServers {
        for _ in 0..STARTS_MAX {
            if let Ok(mut engine) = make()
                && engine.start_all()
            {
                return engine;
            }
        }
        panic!("no server started in {STARTS_MAX} attempts");
    }

    fn start_all(&mut self) -> bool {
        let started = (0..self.servers.len()).all(|at| self.launch(at));
        started && self.servers.iter_mut().all(Server::is_in_cluster)
    }

    /// Starts one again that was [killed](NatsServers::kill), on its old port with its old data.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self, at: usize) {
        assert!(self.launch(at), "server {at} did not start again");
    }

    /// As [`restart`](NatsServers::restart), on a disk of its own that has room for so many bytes
    /// and nothing on it. It is gone when the server is killed, and what was there before is there
    /// again. Tells whether the system gives such a disk, by a name space of the server's own; if
    /// it does not, the server does not run.
    ///
    /// # Panics
    /// When the server ends for another reason.
    pub fn restart_on_small_disk(&mut self, at: usize, bytes: u64) -> bool {
        const MOUNT: &str = "mount -t tmpfs -o size=$0 tmpfs \"$1\"";
        let unshared = |then: &str| {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-c", &format!("{MOUNT}{then}")]);
            command.arg(bytes.to_string());
            command
        };
        let store = self.folder.join(&self.servers[at].name).join("store");
        let tried = unshared("").arg(&store).stderr(Stdio::null()).status();
        if !tried.is_ok_and(|status| status.success()) {
            return false;
        }
        let mut command = unshared(" && exec \"$2\" \"$3\" \"$4\"");
        command.arg(store).arg(program());
        assert!(self.launch_by(at, command), "server {at} did not start on a small disk");
        true
    }

    /// Has it said this in its log, and nobody waited for that?
    ///
    /// # Panics
    /// When it does not run.
    #[must_use]
    pub fn has_said(&self, at: usize, text: &str) -> bool {
        let running = self.servers[at].running.as_ref().expect("it runs");
        running.lines.try_iter().any(|line| line.contains(text))
    }

    /// Kills one: it writes nothing more, and says goodbye to nobody.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&mut self, at: usize) {
        let mut running = self.servers[at].running.take().expect("it runs");
        running.child.kill().expect("a process of ours can be killed");
        running.child.wait().expect("it was started by us");
    }

    /// Has one end in order, which gives away what it leads first, and does not wait for that.
    ///
    /// # Panics
    /// When it does not run.
    pub fn drain(&self, at: usize) {
        self.signal(at, "-TERM");
    }

    /// Stops one where it is: to the others it is gone, and it does not notice.
    ///
    /// # Panics
    /// When it does not run.
    pub fn pause(&mut self, at: usize) {
        self.signal(at, "-STOP");
        // Until one of its threads has run again, the others go on, and answer.
        let running = self.servers[at].running.as_ref().expect("it runs");
        while !is_stopped(running.child.id()) {
            thread::yield_now();
        }
    }

    /// Lets one go on that was [paused](NatsServers::pause).
    ///
    /// # Panics
    /// When it does not run.
    pub fn resume(&mut self, at: usize) {
        self.signal(at, "-CONT");
    }

    fn signal(&self, at: usize, signal: &str) {
        let running = self.servers[at].running.as_ref().expect("it runs");
        let process = running.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.expect("every system has `kill`").success(), "{signal} was not sent");
    }

    /// Says what becomes of what one server sends to another from now on.
    ///
    /// # Panics
    /// When they were not [started](NatsServers::start_relayed) so that this can be said.
    pub fn pass(&self, from: usize, to: usize, passage: Passage) {
        self.relays().set(from, to, passage);
    }

    /// Says it of all that one server sends to the others, and they to it.
    ///
    /// # Panics
    /// As [`pass`](NatsServers::pass).
    pub fn part(&self, at: usize, passage: Passage) {
        for other in (0..self.servers.len()).filter(|&other| other != at) {
            self.pass(at, other, passage);
            self.pass(other, at, passage);
        }
    }

    /// Lets everything arrive again.
    ///
    /// # Panics
    /// As [`pass`](NatsServers::pass).
    pub fn mend(&self) {
        self.relays().open();
    }

    fn relays(&self) -> &Relays {
        self.relays.as_ref().expect("they speak to each other through relays")
    }

    /// The folder with all that a server keeps, for a test that damages or removes it while the
    /// server does not run.
    ///
    /// # Panics
    /// When it runs.
    #[must_use]
    pub fn kept(&self, at: usize) -> PathBuf {
        let server = &self.servers[at];
        assert!(server.running.is_none(), "{} runs", server.name);
        self.folder.join(&server.name).join("store")
    }

    /// The index of the server with this name: `n0`, `n1` and so on.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.name == name)
    }

    /// What one of them is called.
    #[must_use]
    pub fn name(&self, at: usize) -> &str {
        &self.servers[at].name
    }

    /// The processes of those that run, by their numbers.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let running = self.servers.iter().filter_map(|server| server.running.as_ref());
        running.map(|running| running.child.id()).collect()
    }

    /// The addresses of all of them, with commas between them.
    #[must_use]
    pub fn addresses(&self) -> String {
        let addresses: Vec<String> = (0..self.servers.len()).map(|at| self.address(at)).collect();
        addresses.join(",")
    }

    /// The address of one of them.
    #[must_use]
    pub fn address(&self, at: usize) -> String {
        format!("nats://{}:{}", self.servers[at].host, self.servers[at].port)
    }

    fn launch(&mut self, at: usize) -> bool {
        let machine = self.servers[at].machine;
        let usual = || Command::new(program());
        self.launch_by(at, machine.map_or_else(usual, |machine| machine.command(program())))
    }

    fn launch_by(&mut self, at: usize, mut command: Command) -> bool {
        let server = &mut self.servers[at];
        let folder = self.folder.join(&server.name);
        fs::create_dir_all(&folder).expect("temporary files can be made");
        let config = folder.join("config");
        fs::write(&config, server.config(&folder, self.is_synced) + &self.settings)
            .expect("temporary files can be written");
        command.arg("-c").arg(config).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the server can be started");
        let log = BufReader::new(child.stderr.take().expect("piped above"));
        let (sender, lines) = channel();
        // Reads on when nobody listens any more, or the server would stop at a full pipe.
        std::thread::spawn(move || {
            log.lines().map_while(Result::ok).for_each(|line| {
                if std::env::var("NATS_LOG").is_ok() {
                    eprintln!("{at} {line}");
                }
                let _ = sender.send(line);
            })
        });
        server.running = Some(Running { child, lines });
        let listening = format!("Listening for client connections on {}:", server.host);
        let clients = server.wait_for(&listening);
        let Some(port) = clients.and_then(|port| port.parse().ok()) else {
            return false;
        };
        server.port = port;
        server.wait_for("Server is ready").is_some()
    }
}

impl Server {
    fn config(&self, folder: &Path, is_synced: bool) -> String {
        let Server { name, host, port, routes, told, .. } = self;
        let told = told.as_ref().map(|address| format!("advertise: \"{address}\", "));
        let port = if *port == 0 { "-1".to_owned() } else { port.to_string() };
        let store = folder.join("store");
        let mut config = format!(
            "server_name: {name}\nlisten: \"{host}:{port}\"\njetstream {{ store_dir: {store:?}, \
             max_file_store: 4GB, sync_interval: {} }}\n",
            if is_synced { "always" } else { "2m" }
        );
        if let Some((own, others)) = routes.split_first() {
            let others: Vec<String> =
                others.iter().map(|address| format!("\"nats-route://{address}\"")).collect();
            config += &format!(
                "cluster {{ name: jungle, listen: \"{own}\", {}routes: [{}] }}\n",
                told.unwrap_or_default(),
                others.join(", ")
            );
        }
        config
    }

    /// What follows this in the log; `None` when the server ends first, or says nothing for long.
    fn wait_for(&mut self, text: &str) -> Option<String> {
        let running = self.running.as_ref()?;
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = running.lines.recv_timeout(left).ok()?;
            if let Some((_, rest)) = line.split_once(text) {
                return Some(rest.to_owned());
            }
        }
    }

    fn is_in_cluster(&mut self) -> bool {
        self.routes.is_empty() || self.wait_for("metadata leader").is_some()
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for running in self.servers.iter_mut().filter_map(|server| server.running.as_mut()) {
            // It may have ended by itself.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

/// Servers on loopback that have not started yet, with these ports for each other.
fn servers(ports: &[u16], settings: &str) -> NatsServers {
    at_addresses(ports.iter().copied().map(on_loopback).collect(), settings)
}

fn on_loopback(port: u16) -> String {
    format!("{LOOPBACK}:{port}")
}

/// Each has its own address for the others first.
fn at_addresses(addresses: Vec<String>, settings: &str) -> NatsServers {
    let server = |at: usize| {
        let mut routes = addresses.clone();
        routes.rotate_left(at);
        if routes.len() == 1 {
            routes.clear();
        }
        let (name, host) = (format!("n{at}"), LOOPBACK.to_owned());
        Server { name, machine: None, host, port: 0, routes, told: None, running: None }
    };
    NatsServers {
        servers: (0..addresses.len()).map(server).collect(),
        folder: Scratch::new(FOLDER),
        settings: settings.to_owned(),
        is_synced: true,
        relays: None,
    }
}

/// Ports that nobody uses now. Each server of a cluster must know the others' before they start.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners: Vec<TcpListener> = listeners.collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Have all threads of a process stopped? Where the system does not tell, they are taken to have.
fn is_stopped(process: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return true };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // Behind the name, which may have brackets in it. One that has ended is not there.
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with(['T', 'Z']))
    })
}

fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("NATS_SERVER") {
        return program.into();
    }
    let here = std::env::current_exe().expect("a test knows its own file");
    let found = here.ancestors().map(|folder| folder.join(NATS_SERVER)).find(|file| file.is_file());
    found.expect("there is no nats-server 2.15.2: `cargo xtask nats` makes it")
}
