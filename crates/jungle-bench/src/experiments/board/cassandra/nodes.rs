//! Cassandra's nodes: each on a loopback address of its own, in a folder that goes with them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::lab::said;
use crate::systems::System;

/// How long a node may take to be there: others may need the cores.
const PATIENCE: Duration = Duration::from_mins(4);

/// How often it is looked whether it is.
const LOOK: Duration = Duration::from_millis(100);

/// Memory and collector: three nodes share a small machine. No file of the JVM outside of the
/// folder is left behind when it is killed.
const JVM: &str = "-Xms1g -Xmx1g -XX:MaxDirectMemorySize=512m -XX:+UseSerialGC \
    -XX:+ExitOnOutOfMemoryError -XX:-UsePerfData -Djdk.attach.allowAttachSelf=true";

/// What a JDK of today keeps closed and Cassandra uses, as its own `jvm17-server.options` opens it.
const OPENED: [(&str, &str); 2] = [
    (
        "--add-exports",
        "java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/sun.nio.ch \
         java.base/java.lang.ref java.management.rmi/com.sun.jmx.remote.internal.rmi \
         java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.sql/java.sql \
         jdk.unsupported/sun.misc",
    ),
    (
        "--add-opens",
        "java.base/java.io java.base/java.lang java.base/java.lang.module \
         java.base/java.lang.reflect java.base/java.math java.base/java.net java.base/java.nio \
         java.base/java.time java.base/java.util java.base/java.util.concurrent \
         java.base/java.util.concurrent.atomic java.base/java.util.zip java.base/sun.nio.ch \
         java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.module \
         java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.util.jar \
         jdk.management/com.sun.management.internal",
    ),
];

/// How they start among themselves: nobody has data to wait for.
const STARTING: &str = "-Dcassandra.ring_delay_ms=5000 \
    -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.superuser_setup_delay_ms=0";

/// Their notes: what is wrong, into the file that the process writes to.
const LOGBACK: &str = r#"<configuration>
<appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%-5level %date{HH:mm:ss} %msg%n</pattern></encoder>
</appender>
<root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"#;

/// Nodes that are one cluster, killed when this is dropped.
pub struct Nodes {
    running: Vec<Child>,
    ports: Ports,
}

/// The same on each address: a driver asks the others where it asked the first.
#[derive(Clone, Copy)]
struct Ports {
    /// For the nodes among themselves.
    storage: u16,
    /// For clients.
    client: u16,
}

impl Nodes {
    /// Starts so many nodes below a folder, one after the other. They sync before they answer, or
    /// every ten seconds.
    ///
    /// # Errors
    /// When there is no Java for them, or one of them does not start.
    pub fn start(folder: &Path, count: usize, is_synced: bool) -> Result<Nodes, Failure> {
        let (java, jars) = (java()?, jars());
        let mut nodes = Nodes { running: Vec::new(), ports: free_ports(count)? };
        for at in 0..count {
            let (begun, here) = (Instant::now(), folder.join(format!("node-{at}")));
            fs::create_dir_all(&here)?;
            fs::write(here.join("cassandra.yaml"), settings(&here, at, nodes.ports, is_synced))?;
            fs::write(here.join("logback.xml"), LOGBACK)?;
            let notes = File::create(here.join("notes"))?;
            let mut command = command(&java, &jars, &here);
            let command = command.stdin(Stdio::null()).stdout(notes.try_clone()?).stderr(notes);
            let child = command.spawn().map_err(|error| format!("{}: {error}", java.display()))?;
            nodes.running.push(child);
            nodes.wait_for(at, &here)?;
            let seconds = begun.elapsed().as_secs_f64();
            eprintln!("node {} of {count} of Cassandra is there after {seconds:.0} s", at + 1);
        }
        Ok(nodes)
    }

    /// Where clients find one of them.
    pub fn address(&self, at: usize) -> String {
        format!("{}:{}", host(at), self.ports.client)
    }

    /// Waits until it takes clients.
    fn wait_for(&mut self, at: usize, folder: &Path) -> Result<(), Failure> {
        let (begun, address) = (Instant::now(), self.address(at));
        while TcpStream::connect(&address).is_err() {
            let ended = self.running[at].try_wait()?;
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let notes = fs::read_to_string(folder.join("notes")).unwrap_or_default();
                let end: Vec<&str> = notes.lines().rev().take(20).collect();
                let end: Vec<&str> = end.into_iter().rev().collect();
                return Err(
                    format!("a node of Cassandra does not start: {}", end.join("\n")).into()
                );
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // They hold nothing that is needed any more.
        self.running.iter_mut().for_each(|node| drop(node.kill()));
        self.running.iter_mut().for_each(|node| drop(node.wait()));
    }
}

fn host(at: usize) -> String {
    format!("127.0.0.{}", at + 1)
}

/// Ports that nobody uses on any of the addresses.
fn free_ports(count: usize) -> Result<Ports, Failure> {
    const TRIES: usize = 100;
    let free = || {
        let listener = TcpListener::bind((host(0), 0))?;
        let port = listener.local_addr()?.port();
        let others = (1..count).map(|at| TcpListener::bind((host(at), port)));
        let others = others.collect::<std::io::Result<Vec<TcpListener>>>()?;
        Ok::<_, std::io::Error>((port, listener, others))
    };
    // Both are held until both are known.
    let both = || Ok::<_, std::io::Error>((free()?, free()?));
    let found = (0..TRIES).find_map(|_| both().ok());
    let ((storage, ..), (client, ..)) = found.ok_or("there are no free ports")?;
    Ok(Ports { storage, client })
}

/// A node's settings: where it is, how it syncs, and what Cassandra's own `cassandra_latest.yaml`
/// chooses for new clusters.
fn settings(folder: &Path, at: usize, ports: Ports, is_synced: bool) -> String {
    let (host, seed, Ports { storage, client }) = (host(at), host(0), ports);
    let sync = match is_synced {
        true => "commitlog_sync: batch",
        false => "commitlog_sync: periodic\ncommitlog_sync_period: 10s",
    };
    let mut settings = format!(
        "cluster_name: bench\n\
         num_tokens: 16\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         endpoint_snitch: SimpleSnitch\n\
         listen_address: {host}\n\
         rpc_address: {host}\n\
         storage_port: {storage}\n\
         native_transport_port: {client}\n\
         seed_provider:\n\
         - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n  \
           parameters: [{{ seeds: \"{seed}:{storage}\" }}]\n\
         {sync}\n\
         memtable: {{ configurations: {{ default: {{ class_name: TrieMemtable }} }} }}\n\
         memtable_allocation_type: offheap_objects\n\
         sstable: {{ selected_format: bti }}\n\
         storage_compatibility_mode: NONE\n\
         read_request_timeout: 20s\n\
         write_request_timeout: 20s\n\
         data_file_directories: [{:?}]\n",
        folder.join("data")
    );
    for name in ["commitlog", "saved_caches", "hints", "cdc_raw"] {
        // A string of Rust is one of YAML.
        let _ = writeln!(settings, "{name}_directory: {:?}", folder.join(name));
    }
    settings
}

/// How a node is started. It ends with this process, however that ends, where the system has a
/// program for that (util-linux).
fn command(java: &Path, jars: &Path, folder: &Path) -> Command {
    let mut command = match said("setpriv", &["--version"]) {
        Some(_) => {
            let mut leashed = Command::new("setpriv");
            leashed.args(["--pdeathsig", "KILL"]).arg(java);
            leashed
        }
        None => Command::new(java),
    };
    command.args(JVM.split_whitespace()).args(STARTING.split_whitespace());
    for (option, packages) in OPENED {
        for package in packages.split_whitespace() {
            command.args([option, &format!("{package}=ALL-UNNAMED")]);
        }
    }
    let here = folder.display();
    command.arg(format!("-javaagent:{}", jars.join("jamm-0.4.0.jar").display()));
    command.arg(format!("-Djava.io.tmpdir={here}"));
    command.arg(format!("-Dlogback.configurationFile=file:{here}/logback.xml"));
    command.arg(format!("-Dcassandra.config=file://{here}/cassandra.yaml"));
    command.arg(format!("-Dcassandra.storagedir={here}")).arg("-Dcassandra-foreground=yes");
    command.arg("-cp").arg(jars.join("*")).arg("org.apache.cassandra.service.CassandraDaemon");
    command.current_dir(folder);
    command
}

/// Where `cargo xtask peers cassandra` puts its programs.
fn jars() -> PathBuf {
    System::Cassandra
        .file()
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("jars"))
        .unwrap_or_default()
}

/// A Java that Cassandra 5 runs on: 17, or 11. Newer ones have not what it needs.
fn java() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin/java"));
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let installed = installed.map(|entry| entry.path().join("bin/java"));
    let mut all = home.into_iter().chain([PathBuf::from("java")]).chain(installed);
    let found = all.find(|java| {
        let version = said(&java.display().to_string(), &["-version"]).unwrap_or_default();
        is_for_cassandra(&version)
    });
    found.ok_or_else(|| {
        let hint = "in JAVA_HOME or installed (Debian: openjdk-17-jre-headless)";
        format!("Cassandra needs Java 17, {hint}").into()
    })
}

/// Is it one of those, as it tells its version?
fn is_for_cassandra(version: &str) -> bool {
    ["\"17.", "\"17\"", "\"11."].iter().any(|known| version.contains(known))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Ports, free_ports, is_for_cassandra, settings};

    #[test]
    fn settings_say_where_a_node_is_and_when_it_syncs() {
        let ports = Ports { storage: 7001, client: 9043 };
        let settings = |at, is_synced| settings(Path::new("/a b/n"), at, ports, is_synced);
        let third = settings(2, true);
        for line in [
            "listen_address: 127.0.0.3",
            "native_transport_port: 9043",
            "  parameters: [{ seeds: \"127.0.0.1:7001\" }]",
            "commitlog_sync: batch",
            "data_file_directories: [\"/a b/n/data\"]",
            "commitlog_directory: \"/a b/n/commitlog\"",
        ] {
            assert!(third.lines().any(|found| found == line), "{line} is not in {third}");
        }
        let unsynced = settings(0, false);
        assert!(unsynced.contains("commitlog_sync: periodic\ncommitlog_sync_period: 10s\n"));
        assert!(!unsynced.contains("batch"));
    }

    #[test]
    fn ports_are_two() {
        let ports = free_ports(3).unwrap();
        assert_ne!(ports.storage, ports.client);
    }

    #[test]
    fn not_every_java_will_do() {
        assert!(is_for_cassandra("openjdk version \"17.0.15\" 2025-04-15"));
        assert!(!is_for_cassandra("openjdk version \"25.0.1\" 2025-10-21"));
        assert!(!is_for_cassandra("openjdk version \"1.8.0_17\""));
    }
}
