//! A server: starting and stopping it.

use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use jungle::{Jungle, LogError, Store};
use jungle_cluster::Cluster;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

use crate::accept::accept;
use crate::access::{self, Gate, Trees};
use crate::acknowledge::Acknowledger;
use crate::app::{App, Stopping};
use crate::audit::Audit;
use crate::committer::Committer;
use crate::etag::Mark;
use crate::guard::{Hosts, guard};
use crate::hub::Hubs;
use crate::limits::line::Line;
use crate::limits::places::Places;
use crate::limits::rate::Rate;
use crate::metrics::Metrics;
use crate::options::{BoardLevel, Options, StartError};
use crate::problem::{Kind, Problem};
use crate::status::Samples;
use crate::tls::Encryption;
use crate::upkeep::Upkeep;
use crate::upkeep::collector::Collecting;
use crate::{api, board, cluster, docs, explorer, status};

/// Threads for what takes long or waits for the disk.
const ASIDE_THREADS_MAX: usize = 256;

/// What is served.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Server};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jungle = Jungle::memory()?;
/// jungle.create_tree("board")?;
/// let server = Server::start(Data::Memory(jungle), Options::default())?;
/// assert_eq!(server.jungle().list_trees(), ["board".into()]);
/// server.stop()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Data {
    /// Trees in memory, gone when the server ends.
    Memory(Jungle),
    /// Trees in a folder.
    Folder(Store),
    /// Trees in a folder that follows the log of a cluster.
    Cluster(Store, Arc<Cluster>),
}

/// The same, while others work on the folder, too.
#[derive(Debug)]
pub(crate) enum Served {
    Memory(Jungle),
    Folder(Arc<Store>),
    Cluster(Arc<Store>, Arc<Cluster>),
}

impl Served {
    pub(crate) fn new(data: Data) -> Served {
        match data {
            Data::Memory(jungle) => Served::Memory(jungle),
            Data::Folder(store) => Served::Folder(Arc::new(store)),
            Data::Cluster(store, cluster) => Served::Cluster(Arc::new(store), cluster),
        }
    }

    fn jungle(&self) -> &Jungle {
        match self {
            Served::Memory(jungle) => jungle,
            Served::Folder(store) | Served::Cluster(store, _) => store,
        }
    }

    fn store(&self) -> Option<&Arc<Store>> {
        match self {
            Served::Memory(_) => None,
            Served::Folder(store) | Served::Cluster(store, _) => Some(store),
        }
    }

    fn cluster(&self) -> Option<&Arc<Cluster>> {
        match self {
            Served::Cluster(_, cluster) => Some(cluster),
            Served::Memory(_) | Served::Folder(_) => None,
        }
    }
}

/// Why a server did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// The folder could not be closed.
    #[error("cannot close the folder")]
    Close(#[source] LogError),
    /// The system does not tell of signals.
    #[error("cannot wait for signals")]
    Signals(#[source] std::io::Error),
    /// The thread that takes connections ended by a bug.
    #[error("the server ended by a bug")]
    Bug,
}

/// A server that runs until it is stopped.
///
/// ```
/// use jungle::{Jungle, Memory};
/// use jungle_server::{Data, Options, Server};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::start(Data::Memory(Jungle::memory()?), Options::default())?;
/// assert!(server.address().ip().is_loopback());
/// server.stop()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    upkeep: Option<Arc<Upkeep>>,
    collecting: Option<Collecting>,
    data: Option<Served>,
}

impl Server {
    /// Listens, and serves on threads of its own.
    ///
    /// # Errors
    /// When others could reach the address without both [`Options::tls`] and
    /// [`Options::access`], or else [`Options::expose`]; when a file cannot be used; when the
    /// address cannot be listened on, or the system refuses threads.
    pub fn start(data: Data, options: Options) -> Result<Server, StartError> {
        let address = options.listen;
        let gate = options.access.as_deref().map(Gate::open).transpose();
        let gate = gate.map_err(StartError::Access)?;
        let access = gate.as_ref().map(Gate::access);
        if let Some(why) = options.exposure(access.as_deref()) {
            return Err(StartError::Exposed { address, why });
        }
        let encryption = options.tls.as_ref().map(Encryption::new).transpose();
        let encryption = encryption.map_err(StartError::Tls)?;
        let refused = |source| StartError::Listen { address, source };
        let runtime = runtime(options.workers).map_err(StartError::Threads)?;
        let listener = listen(&runtime, &options).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (stop, stopping) = watch::channel(false);
        let data = Served::new(data);
        let every = options.collect_every.filter(|_| data.cluster().is_none());
        let drops_by_age = options.drops_by_age;
        let app = Arc::new(app(&data, (gate, encryption), options, stopping)?);
        let collecting = every.map(|every| {
            Collecting::start(data.jungle().clone(), (every, drops_by_age), &app.metrics)
        });
        let collecting = collecting.transpose().map_err(StartError::Threads)?;
        let upkeep = app.upkeep.clone();
        let serve = move || {
            let router = router(&app);
            runtime.spawn(kept(Arc::clone(&app)));
            runtime.block_on(accept(listener, app, router));
            // What still runs then, runs for nobody.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("server".to_owned()).spawn(serve);
        let thread = Some(thread.map_err(StartError::Threads)?);
        Ok(Server { address, stop, thread, upkeep, collecting, data: Some(data) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is served.
    #[must_use]
    pub fn jungle(&self) -> &Jungle {
        self.data.as_ref().expect("there until it is stopped").jungle()
    }

    /// Serves until somebody interrupts the process (SIGINT) or wants it to end (SIGTERM), and
    /// stops then. The access file and the certificate need no signal: they are read again when
    /// they change.
    ///
    /// # Errors
    /// As [`stop`](Server::stop), or when the system refuses to tell of signals.
    pub fn run(self) -> Result<(), StopError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.and_then(|runtime| runtime.block_on(signalled())).map_err(StopError::Signals)?;
        self.stop()
    }

    /// Takes no more connections, ends streams, has whatever is done with the folder given up (a
    /// backup, a verification), waits for the requests that are being worked on
    /// ([`Limits::stop_time`](crate::Limits::stop_time) at most), and closes the folder: all that
    /// was acknowledged is written then, whatever its durability.
    ///
    /// # Errors
    /// When something cannot be written.
    ///
    /// ```
    /// use jungle::Store;
    /// use jungle_server::{Data, Options, Server};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = std::env::temp_dir().join(format!("jungle-stop-{}", std::process::id()));
    /// let server = Server::start(Data::Folder(Store::open(&dir)?), Options::default())?;
    /// server.jungle().create_tree("board")?;
    /// server.stop()?;
    /// let store = Store::open(&dir)?;
    /// assert!(store.report().was_closed && store.open_tree("board").is_ok());
    /// # drop(store);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop(mut self) -> Result<(), StopError> {
        let is_well = self.end();
        let store = match self.data.take() {
            Some(Served::Folder(store)) => Some(store),
            Some(Served::Cluster(store, cluster)) => {
                // Before the folder is closed: what comes from the log is written to it.
                cluster.leave();
                Some(store)
            }
            Some(Served::Memory(_)) | None => None,
        };
        if let Some(store) = store {
            let store = Arc::into_inner(store).expect("whoever worked on it has ended");
            store.close().map_err(StopError::Close)?;
        }
        if is_well { Ok(()) } else { Err(StopError::Bug) }
    }

    fn end(&mut self) -> bool {
        self.stop.send_replace(true);
        if let Some(collecting) = &self.collecting {
            collecting.end();
        }
        if let Some(upkeep) = &self.upkeep {
            upkeep.stop();
        }
        self.thread.take().is_none_or(|thread| thread.join().is_ok())
    }
}

/// Stops it, and leaves unsaid what went wrong.
impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(unix)]
async fn signalled() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn signalled() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

fn runtime(workers: Option<NonZero<usize>>) -> std::io::Result<Runtime> {
    let mut threads = Builder::new_multi_thread();
    if let Some(workers) = workers {
        threads.worker_threads(workers.get());
    }
    threads.enable_all().max_blocking_threads(ASIDE_THREADS_MAX).thread_name("serve").build()
}

/// Listens with room for as many who knock at once as may come in; the usual room is for 128, and
/// the others knock again after a second.
fn listen(runtime: &Runtime, options: &Options) -> std::io::Result<TcpListener> {
    let _inside = runtime.enter();
    let socket = match options.listen {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // As the standard library does: a server that is started again finds its address free.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(options.listen)?;
    socket.listen(u32::try_from(options.limits.connections_max).unwrap_or(u32::MAX))
}

pub(crate) fn app(
    data: &Served,
    (gate, encryption): (Option<Gate>, Option<Encryption>),
    options: Options,
    stopping: watch::Receiver<bool>,
) -> Result<App, StartError> {
    let (jungle, metrics) = (data.jungle().clone(), Metrics::new());
    let panics = || Arc::clone(&metrics.panics);
    let disk = match data {
        Served::Folder(_) => Some(Acknowledger::start(jungle.clone(), panics())),
        // What has its place in the log waits for nothing more.
        Served::Memory(_) | Served::Cluster(..) => None,
    };
    let disk = disk.transpose().map_err(StartError::Threads)?;
    let cluster = data.cluster().cloned();
    let checkpoints = data.store().map(|store| store.checkpoints());
    let upkeep = data.store();
    let upkeep = upkeep.map(|store| Upkeep::new(store, options.backups.as_deref(), panics()));
    let upkeep = upkeep.transpose()?.map(Arc::new);
    let committer = cluster.as_ref().map(|_| Committer::start(&jungle)).transpose();
    let committer = committer.map_err(StartError::Threads)?;
    let boards = match options.boards {
        BoardLevel::Quorum => board::Level::Quorum,
        BoardLevel::Local => {
            let local = cluster.as_ref().and_then(|cluster| cluster.opened_local());
            let local = local.ok_or(StartError::NoOutbox)?;
            board::Level::local(local, panics()).map_err(StartError::Threads)?
        }
    };
    let (limits, mark) = (&options.limits, Mark::new(cluster.as_deref()));
    let writers = Arc::new(Semaphore::new(limits.commits_max));
    Ok(App {
        samples: Samples::new(jungle.clone()),
        trees: Trees::new(jungle),
        gate,
        disk,
        checkpoints,
        upkeep,
        cluster,
        faults: cluster::Faults::default(),
        committer,
        boards,
        hosts: Hosts::new(&options),
        hubs: Hubs::new(panics()),
        metrics,
        rate: Rate::new(limits.requests_per_second_max),
        audit: Audit::new(),
        once: Arc::default(),
        mark,
        pages: board::Cache::default(),
        compared: api::Compared::default(),
        line: Arc::new(Line::new(limits.long_reads_max, Arc::clone(&writers))),
        writers,
        documents: Arc::new(Places::new(limits.documents_max)),
        watchers: Arc::new(Places::new(limits.watchers_max)),
        seekers: Semaphore::new(cluster::elsewhere::SEEKERS_MAX),
        waiters: Arc::new(Places::new(cluster::WAITERS_MAX)),
        stopping: Stopping::new(stopping),
        options,
        encryption,
    })
}

/// Keeps what was granted, and what encrypts, as the files say, and how the server does; and tells
/// when it follows its cluster no further.
async fn kept(app: Arc<App>) {
    let granted = async {
        if let Some(gate) = &app.gate {
            gate.keep(app.stopping.clone()).await;
        }
    };
    let encrypted = async {
        if let Some(encryption) = &app.encryption {
            encryption.keep(app.stopping.clone()).await;
        }
    };
    let followed = async {
        if let Some(cluster) = &app.cluster {
            app.faults.keep(cluster, app.stopping.clone()).await;
        }
    };
    tokio::join!(granted, encrypted, followed, app.samples.keep(&app));
}

pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut routes = api::routes().merge(board::routes()).merge(explorer::routes());
    routes = routes.merge(access::routes()).merge(status::routes()).merge(docs::routes());
    if app.options.bench {
        routes = routes.merge(board::bench_routes());
    }
    routes
        .fallback(|| async { Problem::new(Kind::NoSuchAddress, "there is nothing here") })
        .method_not_allowed_fallback(|| async {
            Problem::new(Kind::MethodNotAllowed, "the address is there, with other methods")
        })
        .layer(axum::middleware::from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}
