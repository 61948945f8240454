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

/// Servers that are one engine. They are killed, and what they kept is removed, when this is
/// dropped.
pub(crate) struct Servers {
    servers: Vec<(Child, Receiver<String>)>,
    folder: PathBuf,
    ports: Vec<u16>,
    syncs_always: bool,
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
    /// Starts so many, and waits until they are ready. Those that sync always lose nothing that
    /// they have promised when the power goes; the others may lose two minutes.
    pub(crate) fn start(
        program: &Path,
        count: usize,
        syncs_always: bool,
    ) -> Result<Servers, Failure> {
        let folder = env::temp_dir().join(format!("jungle-engine-{}", std::process::id()));
        let mut said = String::new();
        for _ in 0..STARTS_MAX {
            let folder = folder.clone();
            let (servers, ports) = Default::default();
            let mut servers = Servers { servers, folder, ports, syncs_always };
            match servers.start_all(program, count) {
                Ok(()) => return Ok(servers),
                Err(why) => said = why,
            }
        }
        Err(Failure::new(Exit::Error, format_args!("{} does not start: {said}", program.display())))
    }

    /// Their addresses, with commas between them.
    pub(crate) fn addresses(&self) -> String {
        let address = |port: &u16| format!("nats://127.0.0.1:{port}");
        self.ports.iter().map(address).collect::<Vec<_>>().join(",")
    }

    /// Whether one of them has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.servers.iter_mut().any(|(server, _)| !matches!(server.try_wait(), Ok(None)))
    }

    fn start_all(&mut self, program: &Path, count: usize) -> Result<(), String> {
        let routes = free_ports(count).map_err(|error| error.to_string())?;
        for at in 0..count {
            self.launch(program, at, &routes).map_err(|error| error.to_string())?;
            let port = self.wait_for(at, "Listening for client connections on 127.0.0.1:")?;
            self.ports.push(port.parse().map_err(|_| format!("{port:?} is no port"))?);
            self.wait_for(at, "Server is ready")?;
        }
        if count > 1 {
            (0..count).try_for_each(|at| self.wait_for(at, "metadata leader").map(drop))?;
        }
        Ok(())
    }

    fn launch(&mut self, program: &Path, at: usize, routes: &[u16]) -> std::io::Result<()> {
        let folder = self.folder.join(format!("n{at}"));
        fs::create_dir_all(&folder)?;
        let file = folder.join("config");
        fs::write(&file, config(at, &folder, routes, self.syncs_always))?;
        let mut command = Command::new(program);
        command.arg("-c").arg(file).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let log = BufReader::new(child.stderr.take().expect("piped above"));
        let (sender, lines) = channel();
        // Reads on when nobody listens any more, or the server would stop at a full pipe.
        std::thread::spawn(move || {
            log.lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
        });
        self.servers.push((child, lines));
        Ok(())
    }

    /// What follows this in a server's log.
    fn wait_for(&self, at: usize, text: &str) -> Result<String, String> {
        let deadline = Instant::now() + READY_WITHIN;
        let mut last = "it says nothing".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.servers[at].1.recv_timeout(left) else {
                return Err(last);
            };
            match line.split_once(text) {
                Some((_, rest)) => return Ok(rest.to_owned()),
                None => last = line,
            }
        }
    }
}

fn config(at: usize, folder: &Path, routes: &[u16], syncs_always: bool) -> String {
    let store = folder.join("store");
    let sync = if syncs_always { ", sync_interval: always" } else { "" };
    let mut config = format!(
        "server_name: n{at}\nlisten: \"127.0.0.1:-1\"\n\
         jetstream {{ store_dir: {store:?}, max_file_store: 1GB{sync} }}\n{ACCOUNTS}"
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

/// Ports that nobody uses now. Each server of a cluster must know the others' before they start.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners: Vec<TcpListener> = listeners.collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (server, _) in &mut self.servers {
            // It may have ended by itself.
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
