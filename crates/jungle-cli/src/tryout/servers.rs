//! Servers of the engine for a try-out: on loopback, on free ports, in a folder that goes with
//! them.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::Folder;
use crate::failure::{Exit, Failure};

/// How long a server may take to say that it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often they are started on other ports when somebody took one meanwhile.
const STARTS_MAX: usize = 3;

/// Everybody may come in, and ask how it keeps what it is given.
const ACCOUNTS: &str = r#"
accounts {
  TRYOUT {
    jetstream: enabled
    users: [ { user: tryout, password: tryout } ]
    imports: [ { service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } } ]
  }
  SYS {
    exports: [
      { service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream, accounts: [ TRYOUT ] }
    ]
  }
}
system_account: SYS
no_auth_user: tryout
"#;

/// The engine's domain, which whoever reaches it through a relay has to name.
pub(crate) const DOMAIN: &str = "tryout";

/// What is started.
pub(crate) struct Plan {
    /// How many servers keep what the engine is given.
    pub(crate) servers: usize,
    /// They sync before they promise anything. Others may lose two minutes when the power goes.
    pub(crate) syncs_always: bool,
    /// Leaf nodes, which keep nothing and pass everything on: the place of whom each is connected
    /// to. Place 0 is the engine's servers, 1 the first relay, and so on.
    pub(crate) relays: Vec<usize>,
    /// Each of them has JetStream all the same, in a [domain of its own](domain_of), for a mirror.
    pub(crate) has_mirrors: bool,
}

/// The domain of what the relay at this place keeps, if it keeps something.
pub(crate) fn domain_of(place: usize) -> String {
    format!("{DOMAIN}-{place}")
}

/// Servers that are one engine. They are killed, and what they kept is removed, when this is
/// dropped.
pub(crate) struct Servers {
    servers: Vec<Running>,
    /// Gone after they are.
    folder: Folder,
    plan: Plan,
}

struct Running {
    child: Child,
    /// What it logs.
    lines: Receiver<String>,
    /// Where clients reach it, and relays.
    ports: Option<(u16, u16)>,
    has_ended: bool,
}

/// The program: the one that is named, or the first on the path.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(file) = named {
        return Ok(file.to_owned());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let files = env::split_paths(&path).map(|folder| folder.join("nats-server"));
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        Failure::new(Exit::NotFound, "there is no nats-server on the PATH").with_hint(
            "get it from your system's packages, or by `go install \
             github.com/nats-io/nats-server/v2@v2.15.2`; one elsewhere is named by --nats-server",
        )
    })
}

impl Servers {
    /// Starts them, and waits until they are ready.
    pub(crate) fn start(program: &Path, plan: Plan) -> Result<Servers, Failure> {
        let folder = Folder::new("jungle-engine")?;
        let mut servers = Servers { servers: Vec::new(), folder, plan };
        let mut said = String::new();
        for _ in 0..STARTS_MAX {
            match servers.start_all(program) {
                Ok(()) => return Ok(servers),
                Err(why) => said = why,
            }
            servers.end();
        }
        Err(Failure::new(Exit::Error, format_args!("{} does not start: {said}", program.display())))
    }

    /// Where clients reach each place: that of the engine's servers has their addresses with commas
    /// between them, each relay has its own.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let ports = |place| self.place(place).iter().filter_map(|server| server.ports);
        let at = |place| ports(place).map(|(clients, _)| format!("nats://127.0.0.1:{clients}"));
        (0..=self.plan.relays.len()).map(|place| at(place).collect::<Vec<_>>().join(",")).collect()
    }

    /// Where clients reached those that have ended since this was last asked.
    pub(crate) fn newly_ended(&mut self) -> Vec<String> {
        let mut ended = Vec::new();
        for server in self.servers.iter_mut().filter(|server| !server.has_ended) {
            server.has_ended = !matches!(server.child.try_wait(), Ok(None));
            if let (true, Some((clients, _))) = (server.has_ended, server.ports) {
                ended.push(format!("nats://127.0.0.1:{clients}"));
            }
        }
        ended
    }

    /// Whether so few of the engine's servers run that nothing is stored any more.
    pub(crate) fn have_no_majority(&self) -> bool {
        let running = self.place(0).iter().filter(|server| !server.has_ended).count();
        running * 2 <= self.plan.servers
    }

    /// The servers of a place, as far as they were started.
    fn place(&self, place: usize) -> &[Running] {
        let keepers = self.plan.servers;
        let at = if place == 0 { 0..keepers } else { keepers + place - 1..keepers + place };
        self.servers.get(at).unwrap_or_default()
    }

    fn start_all(&mut self, program: &Path) -> Result<(), String> {
        let count = self.plan.servers;
        let routes = free_ports(count).map_err(|error| error.to_string())?;
        for at in 0..count {
            self.launch(program, &keeper(at, &routes, self.plan.syncs_always))?;
        }
        if count > 1 {
            (0..count).try_for_each(|at| self.wait_for(at, "metadata leader").map(drop))?;
        }
        for at in 0..self.plan.relays.len() {
            let to = self.place(self.plan.relays[at]).iter().filter_map(|server| server.ports);
            let to: Vec<u16> = to.map(|(_, relays)| relays).collect();
            let mut config = relay(at + 1, &to);
            if self.plan.has_mirrors {
                config += &jetstream(&domain_of(at + 1), "");
            }
            self.launch(program, &config)?;
            self.wait_for(count + at, "Leafnode connection created")?;
        }
        Ok(())
    }

    /// Starts one with this configuration, and waits until it is ready.
    fn launch(&mut self, program: &Path, config: &str) -> Result<(), String> {
        let at = self.servers.len();
        let running = self.spawn(program, config).map_err(|error| error.to_string())?;
        self.servers.push(running);
        let port = |whose: &str| {
            let port =
                self.wait_for(at, &format!("Listening for {whose} connections on 127.0.0.1:"));
            port.and_then(|port| port.parse().map_err(|_| format!("{port:?} is no port")))
        };
        let (relays, clients) = (port("leafnode")?, port("client")?);
        self.servers[at].ports = Some((clients, relays));
        self.wait_for(at, "Server is ready").map(drop)
    }

    fn spawn(&self, program: &Path, config: &str) -> std::io::Result<Running> {
        let folder = self.folder.join(format!("n{}", self.servers.len()));
        fs::create_dir_all(&folder)?;
        let file = folder.join("config");
        let store = folder.join("store");
        fs::write(&file, config.replace("{store}", &store.to_string_lossy()))?;
        let mut command = Command::new(program);
        command.arg("-c").arg(file).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let log = BufReader::new(child.stderr.take().expect("piped above"));
        let (sender, lines) = channel();
        // Reads on when nobody listens any more, or the server would stop at a full pipe.
        std::thread::spawn(move || {
            log.lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
        });
        Ok(Running { child, lines, ports: None, has_ended: false })
    }

    fn end(&mut self) {
        for (at, mut server) in self.servers.drain(..).enumerate() {
            // It may have ended by itself.
            let _ = server.child.kill();
            let _ = server.child.wait();
            // Another one may be started in its place.
            let _ = fs::remove_dir_all(self.folder.join(format!("n{at}")));
        }
    }

    /// What follows this in a server's log.
    fn wait_for(&self, at: usize, text: &str) -> Result<String, String> {
        let deadline = Instant::now() + READY_WITHIN;
        let mut last = "it says nothing".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.servers[at].lines.recv_timeout(left) else {
                return Err(last);
            };
            match line.split_once(text) {
                Some((_, rest)) => return Ok(rest.to_owned()),
                None => last = line,
            }
        }
    }
}

/// One that keeps what it is given.
fn keeper(at: usize, routes: &[u16], syncs_always: bool) -> String {
    let sync = if syncs_always { ", sync_interval: always" } else { "" };
    let mut config = format!(
        "server_name: n{at}\nlisten: \"127.0.0.1:-1\"\nleafnodes {{ listen: \"127.0.0.1:-1\" }}\n\
         {}{ACCOUNTS}",
        jetstream(DOMAIN, sync)
    );
    if routes.len() > 1 {
        let route = |port: &u16| format!("\"nats-route://127.0.0.1:{port}\"");
        let others: Vec<String> =
            routes.iter().filter(|port| **port != routes[at]).map(route).collect();
        let (own, others) = (routes[at], others.join(", "));
        config += &format!(
            "cluster {{ name: tryout, listen: \"127.0.0.1:{own}\", routes: [{others}] }}\n"
        );
    }
    config
}

fn jetstream(domain: &str, more: &str) -> String {
    let size = "max_file_store: 1GB";
    format!("jetstream {{ store_dir: \"{{store}}\", domain: {domain}, {size}{more} }}\n")
}

/// One that passes everything on.
fn relay(place: usize, to: &[u16]) -> String {
    let url = |port: &u16| format!("\"nats-leaf://127.0.0.1:{port}\"");
    let urls = to.iter().map(url).collect::<Vec<_>>().join(", ");
    format!(
        "server_name: r{place}\nlisten: \"127.0.0.1:-1\"\n\
         leafnodes {{ listen: \"127.0.0.1:-1\", remotes: [ {{ urls: [{urls}] }} ] }}\n"
    )
}

/// Ports that nobody uses now. Each server of a cluster must know the others' before they start.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners: Vec<TcpListener> = listeners.collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.end();
    }
}
