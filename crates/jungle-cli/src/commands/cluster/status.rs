//! `jungle cluster status`: how all servers stand, and the engine's log.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use jungle::Timestamp;
use jungle_cluster::{
    ConnectError, LogStatus, MirrorStatus, Options, OutboxStatus, Replica, ServerStatus, Survey,
};
use jungle_words::time;

use crate::cluster::{Link, VARIABLE};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, count, grouped, json_line, size, stdout};

const HELP: &str = "\
ROLE is what a server does: the one that appends has written the newest commits, along with those \
of its guests; who follows has committed nothing of late. LAG is by how many messages of the log a \
server is behind; HASH is that of the newest one it has followed, in which is that of the one \
before, so it is the same on all servers that are at the same message. That their trees are the \
same, too, is looked at as each message is followed. Of an OUTBOX that has commits without a place \
in the log it is said since when the oldest one waits. It ends with code 6 when a server has \
stopped, or two differ.";

/// Show how the servers of a cluster stand, and the engine's log
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Where the engine is: an address, or several with commas between them
    #[arg(long, value_name = "ADDRESSES", env = VARIABLE)]
    #[arg(default_value = "nats://127.0.0.1:4222")]
    cluster: String,
    /// The cluster's name
    #[arg(long, value_name = "NAME", default_value = "jungle")]
    cluster_name: String,
    #[command(flatten)]
    link: Link,
    /// How many milliseconds the servers have to answer
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    within: u64,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let survey = ask(args)?;
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &survey)?,
        Format::Text => print(&mut out, &survey)?,
    }
    out.flush()?;
    let stopped = survey.servers.iter().filter_map(|server| {
        Some(format!("{} has stopped: {}", server.server, server.fault.as_ref()?))
    });
    match stopped.chain(difference(&survey.servers)).next() {
        None => Ok(()),
        Some(why) => Err(Failure::new(Exit::Damaged, plain(&why))),
    }
}

fn ask(args: &Args) -> Result<Survey, Failure> {
    let options = Options {
        client: args.link.client()?,
        name: args.cluster_name.clone(),
        domain: args.link.domain(),
        join_within: Duration::from_secs(5),
        ..Options::default()
    };
    Survey::take(&args.cluster, &options, Duration::from_millis(args.within)).map_err(|error| {
        let exit = if error.is_away() { Exit::Unreachable } else { Exit::Error };
        match error {
            ConnectError::NoCluster { .. } => Failure::of(Exit::NotFound, &error).with_hint(
                "`jungle serve --cluster ADDRESSES` makes one; --cluster-name says which",
            ),
            // It is there.
            ConnectError::NotTold { .. } => Failure::of(exit, &error),
            error => Failure::of(exit, &error)
                .with_hint("`jungle cluster up` starts an engine and says where it is: --cluster"),
        }
    })
}

/// Two servers that have followed the same message, and are not the same.
fn difference(servers: &[ServerStatus]) -> Option<String> {
    let mut known: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    servers.iter().find_map(|server| {
        let hash = server.hash.as_deref()?;
        let (first, other) = *known.entry(server.followed).or_insert((&server.server, hash));
        let message = server.followed;
        let says = || format!("{first} and {} differ at message {message}", server.server);
        (other != hash).then(says)
    })
}

fn print(out: &mut impl Write, survey: &Survey) -> std::io::Result<()> {
    let LogStatus { stream, first, last, bytes, leader, replicas, syncs, .. } = &survey.log;
    let messages = count((last + 1).saturating_sub(*first), "message");
    writeln!(
        out,
        "log      {stream}: {messages}, the newest {}, {}",
        grouped(*last),
        size(*bytes)
    )?;
    let leader = leader.as_deref().unwrap_or("nobody");
    let replicas: Vec<String> = replicas.iter().map(replica).collect();
    let also = if replicas.is_empty() { "nobody".to_owned() } else { replicas.join(", ") };
    let syncs = match syncs {
        Some(true) => "synced before it is promised",
        Some(false) => "PROMISED BEFORE IT IS SYNCED",
        None => "whether it is synced before it is promised is not said",
    };
    writeln!(out, "engine   led by {leader}; also kept by {also}; {syncs}")?;
    let servers = count(survey.servers.len() as u64, "server");
    writeln!(out, "servers  {servers}")?;
    if survey.servers.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heads = ["SERVER", "ADDRESS", "ROLE", "REVISION", "MESSAGE", "LAG", "HASH"];
    line(out, heads.map(str::to_owned))?;
    for server in &survey.servers {
        let hash = server.hash.as_deref().unwrap_or("-");
        line(
            out,
            [
                plain(&server.server),
                plain(server.address.as_deref().unwrap_or("-")),
                role(server),
                server.revision.to_string(),
                server.followed.to_string(),
                survey.lag(server).to_string(),
                plain(hash).chars().take(12).collect(),
            ],
        )?;
    }
    for server in &survey.servers {
        if let Some(status) = &server.outbox {
            writeln!(out, "outbox   {}: {}", plain(&server.server), outbox(status))?;
        }
        if let Some(MirrorStatus { domain, error, .. }) = &server.mirror {
            let (name, domain) = (plain(&server.server), plain(domain));
            let followed = match error {
                None => "followed".to_owned(),
                Some(why) => format!("PASSED OVER, the log itself is followed: {}", plain(why)),
            };
            writeln!(out, "mirror   {name}: in domain {domain}, {followed}")?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, cells: [String; 7]) -> std::io::Result<()> {
    let [server, address, role, revision, message, lag, hash] = cells;
    let ends = format!("{revision:>10} {message:>10} {lag:>6}  {hash}");
    writeln!(out, "{server:<16} {address:<28} {role:<8} {ends}")
}

/// What has no place yet, and since when and why.
fn outbox(status: &OutboxStatus) -> String {
    let OutboxStatus { pending, oldest, refused, error, .. } = status;
    let pending = count(*pending as u64, "commit");
    let oldest = oldest.map(|oldest| time::text(Timestamp::from_micros(oldest)));
    let since = oldest.map(|oldest| format!(" since {oldest}")).unwrap_or_default();
    let why = error.as_ref().map(|why| format!(" ({})", plain(why))).unwrap_or_default();
    format!("{pending} without a place{since}{why}, {refused} refused")
}

fn role(server: &ServerStatus) -> String {
    match server.role {
        _ if server.fault.is_some() => "STOPPED".to_owned(),
        Some(role) => role.to_string(),
        None => "-".to_owned(),
    }
}

fn replica(replica: &Replica) -> String {
    let name = plain(&replica.name);
    match replica {
        Replica { offline: true, .. } => format!("{name} (not reached)"),
        Replica { current: true, .. } => name,
        Replica { lag, .. } => format!("{name} ({lag} behind)"),
    }
}

/// Without what would move the cursor: others say it.
fn plain(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn outbox_says_since_when_it_waits_and_why() {
        let check = |pending: u64, oldest: Json, error: Json, told: &str| {
            let status = json!({"writer": 1, "pending": pending, "oldest": oldest, "refused": 3,
                                "error": error});
            let status: OutboxStatus = serde_json::from_value(status).unwrap();
            assert_eq!(outbox(&status), told);
        };
        check(0, Json::Null, Json::Null, "0 commits without a place, 3 refused");
        let since = "1 commit without a place since 1970-01-01T00:00:01.500000Z";
        check(1, 1_500_000.into(), Json::Null, &format!("{since}, 3 refused"));
        check(1, 1_500_000.into(), "no\nanswer".into(), &format!("{since} (noanswer), 3 refused"));
    }
}
