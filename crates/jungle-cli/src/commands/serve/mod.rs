//! `jungle serve`: the explorer, the bulletin board and the interface for programs.

mod notes;
mod notify;

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use jungle::{ArenaError, Durability, Jungle, Memory, OpenOptions, Spill, Spilling, SystemClock};
use jungle_cluster::Cluster;
use jungle_server::{
    Acme, AcmeError, BoardLevel, Certificate, Data, LimitError, Limits, Options, Server,
    StartError, Tls, TlsError,
};
use serde::Serialize;
use tracing::level_filters::LevelFilter;

use self::notes::Lines;
use self::notify::News;
use super::access;
use crate::args::SpillWhen;
use crate::cluster::{Membership, VARIABLE, is_of_cluster};
use crate::context::Context;
use crate::failure::{Exit, Failure, failed};
use crate::folder;
use crate::near;
use crate::output::{Format, is_quiet, json_line, say, stdout};
use crate::tryout::Ends;

const HELP: &str = "\
What has a variable here can be said in the environment, too; `jungle config` shows what holds. \
It prints where it listens. Without --listen that is 127.0.0.1:7070, or another port if somebody \
has that one. Only this machine reaches it; for others say who may do what (`jungle access`), and \
give it a certificate (--tls-cert, --tls-key; --tls-self makes one, --tls-acme has an authority \
give one), or put a proxy that encrypts \
in front of it. An \
interrupt or SIGTERM ends it, and loses nothing. In a cluster it ends by itself, with code 1, \
where starting it again is all that is needed: it was cut off for so long that the log has gone on \
without it.";

/// The port when nothing is said.
const PORT: u16 = 7070;

/// How often it is looked whether the log is followed still.
const LOOKED_FOR_EVERY: Duration = Duration::from_secs(1);

/// Serve trees and bulletin boards over HTTP
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder with the trees, made if it is not there
    /// [default: `jungle` in the folder for data of your programs]
    #[arg(long, value_name = "DIR", env = "JUNGLE_DATA")]
    data: Option<PathBuf>,
    /// Keep the trees in memory only: they are gone at the end
    #[arg(long, conflicts_with = "data")]
    memory: bool,
    /// Trees may be larger than memory: what is not in use may be in the folder; `auto` also where
    /// the process may have less memory than the machine has. Without a value `always`
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", env = "JUNGLE_SPILL",
          num_args = 0..=1, require_equals = true, default_missing_value = "always",
          conflicts_with = "memory")]
    spill: SpillWhen,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", env = "JUNGLE_LISTEN")]
    listen: Option<SocketAddr>,
    /// The certificate, as a PEM file: all is encrypted then
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "JUNGLE_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// Its private key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "JUNGLE_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Encrypt with a certificate of its own making, `certificate.pem` in the folder: clients have
    /// to be given that. It is for this machine, the address to listen on, and each --host
    #[arg(long, conflicts_with_all = ["tls_cert", "memory"])]
    tls_self: bool,
    /// Have an authority give a certificate for this name, and renew it. Whoever says this agrees
    /// to the authority's terms of service. It must reach port 443 of the name here
    #[arg(long, value_name = "NAME", env = "JUNGLE_TLS_ACME", value_delimiter = ',',
          value_parser = trimmed::<String>,
          conflicts_with_all = ["tls_cert", "tls_self", "memory"])]
    tls_acme: Vec<String>,
    /// An address for mail, at which the authority may reach you
    #[arg(long, value_name = "MAIL", requires = "tls_acme", env = "JUNGLE_ACME_CONTACT")]
    acme_contact: Option<String>,
    /// The authority
    #[arg(long, value_name = "URL", requires = "tls_acme", env = "JUNGLE_ACME_DIRECTORY",
          default_value = Acme::LETS_ENCRYPT)]
    acme_directory: String,
    /// The certificate by which the authority itself is known, as a PEM file, where it is one of
    /// your own [default: what the system trusts]
    #[arg(long, value_name = "FILE", requires = "tls_acme", env = "JUNGLE_ACME_ROOT")]
    acme_root: Option<PathBuf>,
    /// Listen where other machines can reach it, even if nothing is encrypted or nobody is asked
    /// who they are
    #[arg(long, env = "JUNGLE_EXPOSE", value_parser = BoolishValueParser::new())]
    expose: bool,
    /// The file that says who may do what, as `jungle access` writes it
    /// [default: access.toml in the folder, if it is there; else everybody may do everything]
    #[arg(long, value_name = "FILE", env = "JUNGLE_ACCESS")]
    access: Option<PathBuf>,
    #[command(flatten)]
    membership: Membership,
    /// Let nobody change anything, whatever they may do otherwise
    #[arg(long, env = "JUNGLE_READ_ONLY", value_parser = BoolishValueParser::new())]
    read_only: bool,
    /// Where others reach it, such as through a proxy: told to those who look for it, or for its
    /// trees, in its cluster or another one of the same engine [default: where it listens]
    #[arg(long, value_name = "URL", requires = "cluster", value_parser = public_url)]
    public_url: Option<String>,
    /// Another name by which it is asked for, such as that of the proxy
    #[arg(long, value_name = "NAME", env = "JUNGLE_HOST", value_delimiter = ',',
          value_parser = trimmed::<String>)]
    host: Vec<String>,
    /// The address of a proxy in front, which must say who asks it: for limits and notes, that is
    /// the last in `X-Forwarded-For` that is no proxy. `X-Forwarded-Proto` says if it was encrypted
    #[arg(long, value_name = "ADDRESS", env = "JUNGLE_PROXY", value_delimiter = ',',
          value_parser = trimmed::<IpAddr>)]
    proxy: Vec<IpAddr>,
    /// How much it accepts, such as `requests-per-second=1000`; `jungle config` lists the limits
    #[arg(long, value_name = "LIMIT=NUMBER", env = "JUNGLE_LIMIT", value_delimiter = ',',
          value_parser = limit)]
    limit: Vec<(String, u64)>,
    /// What an acknowledged commit survives
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL", env = "JUNGLE_DURABILITY")]
    durability: Level,
    /// When a message of a board is answered; `local` needs --local
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    boards_at: BoardsAt,
    /// Below which folder backups may be made over HTTP, by those who administer all trees; it is
    /// made if it is not there
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    backups: Option<PathBuf>,
    /// How often to look, in seconds, whether memory can be given back; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "JUNGLE_COLLECT_EVERY")]
    collect_every: u64,
    /// How many threads answer requests: fewer where several servers share the cores
    /// [default: one for each core]
    #[arg(long, value_name = "COUNT", env = "JUNGLE_WORKERS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
    /// Serve the addresses for load tools below /bench, too: one of them posts
    #[arg(long)]
    bench: bool,
    /// Show it in the browser
    #[arg(long, short)]
    open: bool,
    /// What is noted on standard error: off, error, warn, info, debug or trace; with --quiet no
    /// more than warn
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "JUNGLE_LOG")]
    log: LevelFilter,
    /// Note it as lines of JSON
    #[arg(long, env = "JUNGLE_LOG_JSON", value_parser = BoolishValueParser::new())]
    log_json: bool,
    /// End with standard input, too
    #[arg(long, hide = true)]
    leash: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Level {
    /// Loss of power
    #[default]
    Sync,
    /// A crash of the server, not of the system
    Buffered,
    /// Only an end in order
    Memory,
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum BoardsAt {
    /// When it has its place in the cluster's log, and all servers will show it
    #[default]
    Quorum,
    /// When it is in the outbox of this server, which shows it at once; the others follow. One that
    /// contradicts what they did meanwhile is refused later, although it was answered
    Local,
}

/// One of a list in which there may be spaces behind the commas.
fn trimmed<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: Display,
{
    match text.trim() {
        "" => Err("there is nothing between two commas".to_owned()),
        text => text.parse().map_err(|error: T::Err| error.to_string()),
    }
}

/// One limit: whether it may be so is found out with the others.
fn limit(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.trim().split_once('=').ok_or("is not like connections=100")?;
    let value = value.parse().map_err(|_| format!("{value:?} is not a whole number"))?;
    Ok((name.to_owned(), value))
}

impl Args {
    /// How much is accepted.
    pub(super) fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = Limits::default();
        for (name, value) in &self.limit {
            limits.set(name, *value).map_err(|error| match error {
                LimitError::NoSuch { .. } => {
                    let all = limits.list();
                    let names = all.iter().map(|&(name, _)| name);
                    let hint = match near::nearest_name(name, names) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "`jungle config` lists them".to_owned(),
                    };
                    Failure::usage(error).with_hint(hint)
                }
                error => Failure::usage(error),
            })?;
        }
        Ok(limits)
    }

    /// What is noted: with `--quiet` nothing that went as it should.
    fn noted(&self) -> LevelFilter {
        if is_quiet() { self.log.min(LevelFilter::WARN) } else { self.log }
    }

    /// What an option is where it was not said, if that is anything.
    pub(super) fn usual(&self, option: &str) -> Option<String> {
        let place = || place(self);
        match option {
            "data" if !self.memory => Some(place().display().to_string()),
            "listen" => Some(format!("127.0.0.1:{PORT}, or another port")),
            "access" => {
                let file = access::of_folder(&place()).filter(|_| !self.memory)?;
                Some(file.display().to_string())
            }
            _ => None,
        }
    }
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    url: String,
    explorer: String,
    boards: String,
    status: String,
    api: String,
    docs: String,
    openapi: String,
    data: Option<String>,
    /// What clients have to be given to trust it, where it made that itself.
    certificate: Option<String>,
    /// What an acknowledged commit survives.
    durability: Option<&'static str>,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let notes = tracing_subscriber::fmt()
        .with_max_level(args.noted())
        .with_writer(std::io::stderr)
        .with_target(false);
    match args.log_json {
        true => notes.event_format(Lines).init(),
        false => notes.init(),
    }
    take_files();
    let is_said = env::var_os(VARIABLE).is_some_and(|said| !said.is_empty());
    if is_said && !args.membership.joins() {
        let told = "is for `jungle cluster status`: a server joins with --cluster";
        say(format_args!("Note: {VARIABLE} {told}"));
    }
    let place = if args.memory { None } else { Some(place(args)) };
    let Started { server, url, cluster, certificate } = start(args, place.as_ref())?;
    if args.expose && !server.address().ip().is_loopback() {
        say("other machines reach it: what --expose allows, a proxy must make good");
    }
    let certificate = certificate.map(|file| file.display().to_string());
    // Whoever is told where it listens may end it at once.
    let ends = Ends::listen()?;
    tell(&url, (place, certificate), args.durability, context.format)?;
    if args.open
        && let Err(error) = open::that_detached(&url)
    {
        say(format_args!("no browser could be started ({error}): open {url} in one"));
    }
    let ends = if args.leash { ends.with_input() } else { ends };
    notify::tell(News::Ready);
    let mut fault = None;
    while fault.is_none() && !ends.within(LOOKED_FOR_EVERY) {
        fault = cluster.as_ref().and_then(|cluster| cluster.status().fault);
        fault = fault.filter(|fault| fault.is_passing());
    }
    notify::tell(News::Stopping);
    server.stop().map_err(failed)?;
    // Whoever looks after it starts it again.
    fault.map_or(Ok(()), |fault| Err(Failure::of(Exit::Error, &*fault)))
}

/// A connection takes a file, of which a process has 1,024 if nothing else is said: as many as the
/// system lets it have.
fn take_files() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // Where that is refused, who connects waits until there is a file.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// The folder.
fn place(args: &Args) -> PathBuf {
    let of_home = || Some(PathBuf::from(env::var_os("HOME")?).join(".local/share"));
    let of_data = || env::var_os("XDG_DATA_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let usual = || of_data().or_else(of_home).unwrap_or_default().join("jungle");
    args.data.clone().unwrap_or_else(usual)
}

/// A server, what it follows, and the certificate if it has made that itself.
struct Started {
    server: Server,
    url: String,
    cluster: Option<Arc<Cluster>>,
    certificate: Option<PathBuf>,
}

fn start(args: &Args, place: Option<&PathBuf>) -> Result<Started, Failure> {
    let mut options = Options::default();
    options.hosts.clone_from(&args.host);
    options.limits = args.limits()?;
    options.proxies.clone_from(&args.proxy);
    options.expose = args.expose;
    options.read_only = args.read_only;
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    options.tls = tls.map(|(cert, key)| Certificate::Files(Tls { cert, key }));
    options.access = args.access.clone().or_else(|| access::of_folder(place?));
    options.bench = args.bench;
    options.backups.clone_from(&args.backups);
    let every = Some(args.collect_every).filter(|&seconds| seconds > 0);
    options.collect_every = every.map(Duration::from_secs);
    options.workers = args.workers.and_then(|count| NonZero::new(usize::from(count)));
    if args.boards_at == BoardsAt::Local {
        if !args.membership.is_local() {
            return Err(Failure::usage("--boards-at local needs --local"));
        }
        options.boards = BoardLevel::Local;
    }
    match args.listen {
        Some(listen) => options.listen = listen,
        None => {
            options.listen.set_port(PORT);
            if std::net::TcpListener::bind(options.listen).is_err() {
                options.listen.set_port(0);
            }
        }
    }
    let data = data(args, place, &mut options)?;
    let mut made = None;
    if let Some(place) = place.filter(|_| args.tls_self) {
        let tls = Tls::of_own(place, &own_names(&options)).map_err(StartError::Tls);
        let tls = tls.map_err(|error| not_started(&error))?;
        made = Some(tls.cert.clone());
        options.tls = Some(Certificate::Files(tls));
    }
    if let Some(place) = place.filter(|_| !args.tls_acme.is_empty()) {
        options.tls = Some(Certificate::Acme(args.acme(place)));
    }
    begin(args, data, options, made)
}

/// By what it is asked for, as far as it knows.
fn own_names(options: &Options) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let listens = options.listen.ip();
    let others = (!listens.is_unspecified()).then(|| listens.to_string());
    names.extend(others.into_iter().chain(options.hosts.iter().cloned()));
    if listens.is_unspecified() && options.hosts.is_empty() {
        say(
            "Note: the certificate is for this machine only: say --host for each name, or address, \
             by which others reach it",
        );
    }
    names
}

impl Args {
    fn acme(&self, place: &Path) -> Acme {
        Acme {
            names: self.tls_acme.clone(),
            contact: self.acme_contact.clone(),
            directory: self.acme_directory.clone(),
            root: self.acme_root.clone(),
            folder: place.join("acme"),
        }
    }

    /// Where it is asked: by a name that its certificate is for, where that is known.
    fn url(&self, listens: SocketAddr, is_encrypted: bool) -> String {
        match (self.tls_acme.first(), listens.port()) {
            (Some(name), 443) => format!("https://{name}"),
            (Some(name), port) => format!("https://{name}:{port}"),
            (None, _) if is_encrypted => format!("https://{listens}"),
            (None, _) => format!("http://{listens}"),
        }
    }
}

fn begin(
    args: &Args,
    data: Data,
    options: Options,
    certificate: Option<PathBuf>,
) -> Result<Started, Failure> {
    let cluster = match &data {
        Data::Cluster(_, cluster) => Some(Arc::clone(cluster)),
        _ => None,
    };
    let is_encrypted = options.tls.is_some();
    let server = Server::start(data, options).map_err(|error| not_started(&error))?;
    let url = args.url(server.address(), is_encrypted);
    if let Some(cluster) = &cluster {
        cluster.set_address(args.public_url.as_ref().unwrap_or(&url));
    }
    Ok(Started { server, url, cluster, certificate })
}

/// An address of the web without anything behind the host, for which `--host` may be needed.
fn public_url(text: &str) -> Result<String, String> {
    let url = text.trim_end_matches('/');
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ', '@']) => {
            Ok(url.into())
        }
        _ => Err("is not like https://trees.example".into()),
    }
}

fn data(args: &Args, place: Option<&PathBuf>, served: &mut Options) -> Result<Data, Failure> {
    let Some(place) = place else {
        return Jungle::memory().map(Data::Memory).map_err(|error: ArenaError| failed(error));
    };
    if let Some(backups) = &args.backups {
        apart(place, backups)?;
    }
    folder::create_private(place).map_err(|error| {
        Failure::new(Exit::Error, format_args!("cannot make {}: {error}", place.display()))
            .with_hint("say another folder with --data, or --memory")
    })?;
    let durability = match args.durability {
        Level::Sync => Durability::Sync,
        Level::Buffered => Durability::Buffered,
        Level::Memory => Durability::Memory,
    };
    let options = OpenOptions::new().clock(SystemClock).durability(durability);
    let options = options.wait_for_readers(folder::READERS_WAITED_FOR);
    let options = options.spill(args.spill.spill(Spill::WhereLimited));
    let was_joined = is_of_cluster(place)?;
    let data = match args.membership.join(place, &options)? {
        Some((store, cluster)) => Data::Cluster(store, cluster),
        None => Data::Folder(options.open(place).map_err(|error| folder::not_opened(&error))?),
    };
    if let Data::Cluster(store, _) | Data::Folder(store) = &data {
        folder::tell_found(store);
        note_spilling(&store.report().spilling);
    }
    if was_joined && matches!(data, Data::Folder(_)) {
        served.drops_by_age = false;
        say("Note: the folder is of a cluster, and served without it: what is committed here \
             alone, its log does not have, and nothing is dropped by age, except by what is \
             committed to the same branch");
    }
    Ok(data)
}

/// Notes whether trees may be in a file, too, and why.
fn note_spilling(spilling: &Spilling) {
    let why = &*spilling.why;
    match spilling.spills {
        true => tracing::info!(why, "trees may be larger than memory"),
        false => tracing::debug!(why, "trees are in memory as a whole"),
    }
}

/// Refuses a folder for backups that is part of what they are of: a backup could take the place of
/// a file of it.
fn apart(place: &Path, backups: &Path) -> Result<(), Failure> {
    let unknown = |path: &Path, error| {
        Failure::new(Exit::Error, format_args!("cannot find {}: {error}", path.display()))
    };
    let within = resolved(backups).map_err(|error| unknown(backups, error))?;
    if !within.starts_with(resolved(place).map_err(|error| unknown(place, error))?) {
        return Ok(());
    }
    let message = format_args!("{} is within the folder to serve", backups.display());
    Err(Failure::usage(message).with_hint("say another folder with --backups"))
}

/// Where it is, or will be, whatever links lead there.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(&path);
    let missing = path.strip_prefix(there).unwrap_or(Path::new(""));
    // Without a slash behind it where nothing is missing.
    Ok(there.canonicalize()?.components().chain(missing.components()).collect())
}

fn not_started(error: &StartError) -> Failure {
    if let StartError::Access(error) = error {
        return access::not_done(error);
    }
    let failure = Failure::of(Exit::Error, error as &(dyn Error + 'static));
    match error {
        StartError::Exposed { .. } => failure.with_hint(
            "say who may do what (`jungle access add-user DIR NAME`), and give --tls-cert and \
             --tls-key, --tls-self, or --tls-acme NAME; or, where a proxy in front does what is \
             missing, say --expose",
        ),
        StartError::Tls(TlsError::NotOwn { .. }) => {
            failure.with_hint("give it with --tls-cert and --tls-key, or put it elsewhere")
        }
        StartError::Tls(TlsError::Acme(AcmeError::Name(_))) => {
            failure.with_hint("--tls-acme takes the name of a host, such as trees.example")
        }
        StartError::Tls(TlsError::Acme(AcmeError::NoRoot(_))) => failure.with_hint(
            "install the certificates of the system (ca-certificates), or say --acme-root",
        ),
        StartError::Listen { .. } => failure.with_hint("--listen 127.0.0.1:0 takes a free port"),
        _ => failure,
    }
}

fn tell(
    url: &str,
    (place, certificate): (Option<PathBuf>, Option<String>),
    level: Level,
    format: Format,
) -> Result<(), Failure> {
    let (durability, survives) = match level {
        Level::Sync => ("sync", "a loss of power"),
        Level::Buffered => ("buffered", "a crash of the server, not of the system"),
        Level::Memory => ("memory", "only an end in order"),
    };
    let told = Told {
        explorer: format!("{url}/explorer/"),
        boards: format!("{url}/boards"),
        status: format!("{url}/status"),
        api: format!("{url}/api/v1"),
        docs: format!("{url}/docs"),
        openapi: format!("{url}/openapi.json"),
        durability: place.is_some().then_some(durability),
        certificate,
        data: place.map(|place| place.display().to_string()),
        url: url.to_owned(),
    };
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, &told)?,
        Format::Text => {
            writeln!(out, "explorer {}", told.explorer)?;
            writeln!(out, "boards   {}", told.boards)?;
            writeln!(out, "status   {}", told.status)?;
            writeln!(out, "API      {}, explained by {}", told.api, told.docs)?;
            if let Some(certificate) = &told.certificate {
                writeln!(out, "trust    {certificate}: clients have to be given it")?;
            }
            match &told.data {
                Some(place) => {
                    writeln!(out, "data     {place}")?;
                    writeln!(out, "commits  survive {survives} (--durability {durability})")?;
                }
                None => writeln!(out, "data     in memory: gone at the end")?,
            }
        }
    }
    // Whoever waits for it wants it now.
    Ok(out.flush()?)
}
