//! Asking every server of a cluster how it stands, and the engine how the log does.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::stream::{Info, PeerInfo, Stream};
use bytes::Bytes;
use tokio::time::{Instant, sleep};

use super::opening::not_told;
use super::questions::Answers;
use super::synced::{self, Synced};
use super::{ANSWER_WITHIN, NatsLog, REST, no_answer};
use crate::cluster::survey::{LogStatus, Replica, ServerStatus, Survey};
use crate::engine::error::ConnectError;
use crate::engine::log::{Log, LogError};
use crate::join::options::Options;

/// More servers are not listed.
const SERVERS_MAX: usize = 1_000;

impl Survey {
    /// Asks a cluster, without being one of its servers, and waits `within` for answers.
    ///
    /// # Errors
    /// When the engine cannot be reached, or has no log of this cluster.
    pub fn take(engine: &str, options: &Options, within: Duration) -> Result<Survey, ConnectError> {
        let log = NatsLog::find(engine, options)?;
        let survey = log.survey(within).map_err(not_told)?;
        survey.ok_or_else(|| not_told(LogError::Closed))
    }
}

impl From<&Info> for LogStatus {
    fn from(info: &Info) -> LogStatus {
        let cluster = info.cluster.as_ref();
        let replica = |peer: &PeerInfo| Replica {
            name: peer.name.clone(),
            current: peer.current,
            offline: peer.offline,
            lag: peer.lag.unwrap_or(0),
        };
        LogStatus {
            stream: info.config.name.clone(),
            first: info.state.first_sequence,
            last: info.state.last_sequence,
            bytes: info.state.bytes,
            leader: cluster.and_then(|cluster| cluster.leader.clone()),
            replicas: cluster
                .map_or_else(Vec::new, |cluster| cluster.replicas.iter().map(replica).collect()),
            syncs: None,
        }
    }
}

impl LogStatus {
    /// The names of the engine's servers that keep it.
    pub(super) fn keepers(&self) -> Vec<String> {
        let others = self.replicas.iter().map(|replica| replica.name.clone());
        self.leader.iter().cloned().chain(others).collect()
    }
}

/// The subject on which a cluster's servers are asked.
pub(super) fn subject(name: &str) -> String {
    format!("jungle.{name}.status")
}

/// Asks all servers, and takes what comes in time.
pub(super) async fn ask(
    client: Client,
    stream: Stream,
    subject: String,
    within: Duration,
) -> Result<Survey, LogError> {
    let deadline = Instant::now() + within;
    let mut answers = Answers::ask(&client, subject, Bytes::new()).await?;
    let mut log = log_status(&stream).await?;
    let syncs = synced::ask(&client, &log.keepers(), synced::WITHIN).await;
    log.syncs = match syncs.map_err(no_answer)? {
        Synced::Always => Some(true),
        Synced::Not { .. } => Some(false),
        Synced::TooOld { .. } | Synced::Partly | Synced::Unknown => None,
    };
    let mut servers = Vec::new();
    while servers.len() < SERVERS_MAX
        && let Some(server) = answers.next::<ServerStatus>(deadline).await
    {
        servers.push(server);
    }
    servers.sort_by(|one, other| one.server.cmp(&other.server));
    Ok(Survey { log, servers })
}

async fn log_status(stream: &Stream) -> Result<LogStatus, LogError> {
    let deadline = Instant::now() + ANSWER_WITHIN;
    loop {
        match stream.get_info().await {
            Ok(info) => break Ok(LogStatus::from(&info)),
            Err(error) if Instant::now() > deadline => break Err(no_answer(error)),
            Err(_) => sleep(REST).await,
        }
    }
}
