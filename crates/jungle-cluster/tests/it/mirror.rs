//! Servers at a site, behind a leaf node of the engine that keeps a mirror of the log.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, External, Info, Source};
use jungle_cluster::{Cluster, ConnectError, JoinError, NatsLog, Options};
use jungle_db::Jungle;
use jungle_testkit::{NATS_ACCOUNTS, NatsServers};
use tokio::runtime::Runtime;

use crate::support::{agree, int, newcomer_with, options, put};

const LONG: Duration = Duration::from_secs(60);
/// What the log and its mirror are called there.
const LOG: &str = "jungle-jungle";
const MIRROR: &str = "jungle-jungle-mirror";

/// The engine, in domain `hub`, and a leaf node of it.
struct Sites {
    hub: NatsServers,
    leaf: NatsServers,
    /// Gone after they are.
    kept: Kept,
}

/// A folder with what they keep.
struct Kept(PathBuf);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Sites {
    /// `keeps` = the leaf node keeps something as well, in domain `site`.
    fn start(keeps: bool) -> Sites {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store =
            std::env::temp_dir().join(format!("jungle-sites-{}-{port}", std::process::id()));
        // What is said last counts.
        let keep = |name: &str, domain: &str| {
            let store = store.join(name);
            format!(
                "server_name: {name}\n\
                 jetstream {{ store_dir: {store:?}, domain: {domain}, sync_interval: always }}\n"
            )
        };
        let listen = format!("leafnodes {{ listen: \"127.0.0.1:{port}\" }}\n");
        let hub = NatsServers::start_with(1, &(keep("hub", "hub") + &listen + NATS_ACCOUNTS));
        let its = if keeps { keep("leaf", "site") } else { "jetstream: false\n".to_owned() };
        let remote = format!("remotes: [ {{ urls: [\"nats-leaf://127.0.0.1:{port}\"] }} ]");
        let leaf = NatsServers::start_with(1, &(its + &format!("leafnodes {{ {remote} }}\n")));
        Sites { hub, leaf, kept: Kept(store) }
    }

    fn near(&self, name: &str) -> (Jungle, Cluster) {
        let jungle = Jungle::new().unwrap();
        let cluster = Cluster::join(&self.hub.addresses(), &jungle, options(name)).unwrap();
        (jungle, cluster)
    }

    fn far(&self, name: &str) -> (Jungle, Cluster) {
        let log = NatsLog::connect(&self.leaf.addresses(), &at_site(name)).unwrap();
        newcomer_with(log.into(), &at_site(name)).unwrap()
    }

    /// What the engine says of a stream.
    fn info(&self, domain: &str, stream: &str) -> Info {
        self.ask(domain, |context| {
            let stream = stream.to_owned();
            async move { context.get_stream(stream).await.unwrap().cached_info().clone() }
        })
    }

    fn ask<T, F: Future<Output = T>>(
        &self,
        domain: &str,
        ask: impl FnOnce(async_nats::jetstream::Context) -> F,
    ) -> T {
        Runtime::new().unwrap().block_on(async {
            let client = async_nats::connect(self.leaf.addresses()).await.unwrap();
            let prefix = format!("$JS.{domain}.API");
            ask(ContextBuilder::new().api_prefix(prefix).build(client)).await
        })
    }
}

fn at_site(name: &str) -> Options {
    let [domain, mirror] = ["hub", "site"].map(|domain| Some(domain.to_owned()));
    Options { domain, mirror, ..options(name) }
}

/// Waits until a server says so of its mirror. It may be a moment behind.
fn wait_for(cluster: &Cluster, is_so: impl Fn(Option<&str>) -> bool) {
    let is_there = || {
        let mirror = cluster.status().mirror.unwrap();
        is_so(mirror.error.as_deref())
    };
    while !is_there() {
        // Takes as long as others have to answer.
        let _ = cluster.survey(Duration::from_millis(50));
    }
}

#[test]
fn the_log_comes_to_a_site_once() {
    let sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    let [one, two] = ["one", "two"].map(|name| sites.far(name));
    put(&tree, "/", "near", 1);
    one.1.linearize(LONG).unwrap();
    let there = one.0.open_tree("t").unwrap();
    assert_eq!(int(&there, "/", "near"), Some(1));
    put(&there, "/", "far", 1);
    let revision = one.1.status().revision;
    assert!(near.1.wait_for(revision, LONG) && two.1.wait_for(revision, LONG));
    wait_for(&one.1, |error| error.is_none());
    wait_for(&two.1, |error| error.is_none());
    // Those who follow at the site follow the mirror, which the engine itself does not count as one
    // who follows the log; what they followed before it was filled fades.
    while sites.info("hub", LOG).state.consumer_count != 1 {}
    assert_eq!(sites.info("site", MIRROR).state.consumer_count, 2);
    let survey = near.1.survey(Duration::from_millis(500)).unwrap().unwrap();
    let of = |name: &str| survey.servers.iter().find(|server| server.server == name).cloned();
    assert_eq!(of("one").unwrap().mirror.unwrap().domain, "site");
    assert_eq!(of("near").unwrap().mirror, None);
    agree(&[near, one, two]);
}

#[test]
fn what_was_committed_while_the_link_was_down_comes_at_once_and_then_from_the_mirror() {
    let mut sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    let far = sites.far("far");
    wait_for(&far.1, |error| error.is_none());
    sites.hub.kill(0);
    assert!(far.1.linearize(Duration::from_millis(200)).is_err());
    let there = far.0.open_tree("t").unwrap();
    assert_eq!(int(&there, "/", "n"), None);
    sites.hub.restart(0);
    put(&tree, "/", "n", 1);
    // The engine takes longer than this to fill the mirror again.
    assert!(far.1.wait_for(near.1.status().revision, LONG));
    assert_eq!(int(&there, "/", "n"), Some(1));
    put(&there, "/", "n", 2);
    wait_for(&far.1, |error| error.is_none());
    agree(&[near, far]);
}

#[test]
fn a_mirror_is_trimmed_as_the_log_is_and_newcomers_read_it() {
    let sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    let one = sites.far("one");
    for n in 0..3 {
        put(&tree, "/", "n", n);
        near.1.checkpoint().unwrap();
    }
    put(&tree, "/", "n", 3);
    let first = sites.info("hub", LOG).state.first_sequence;
    assert!(first > 1);
    let two = sites.far("two");
    wait_for(&two.1, |error| error.is_none());
    agree(&[near, one, two]);
    let mirror = sites.info("site", MIRROR).state;
    assert_eq!((mirror.first_sequence, mirror.last_sequence), (first, first + 1));
}

#[test]
fn a_mirror_that_is_behind_is_passed_over() {
    let sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    let far = sites.far("far");
    wait_for(&far.1, |error| error.is_none());
    // A mirror of nothing any more: what is in it stays.
    sites.ask("site", |context| async move {
        let found = context.get_stream(MIRROR).await.unwrap().cached_info().config.clone();
        context.update_stream(Config { mirror: None, ..found }).await.unwrap();
    });
    put(&tree, "/", "n", 1);
    assert!(far.1.wait_for(near.1.status().revision, LONG));
    wait_for(&far.1, |error| error == Some("it has no message 2, and the log has"));
    put(&far.0.open_tree("t").unwrap(), "/", "n", 2);
    agree(&[near, far]);
}

#[test]
fn a_mirror_that_is_gone_is_missed_by_nobody() {
    let sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    let far = sites.far("far");
    wait_for(&far.1, |error| error.is_none());
    sites.ask("site", |context| async move {
        context.delete_stream(MIRROR).await.unwrap();
    });
    put(&tree, "/", "n", 1);
    assert!(far.1.wait_for(near.1.status().revision, LONG));
    wait_for(&far.1, |error| error == Some("it does not answer"));
    put(&far.0.open_tree("t").unwrap(), "/", "n", 2);
    // Whoever comes makes it anew, for all.
    let next = sites.far("next");
    wait_for(&next.1, |error| error.is_none());
    wait_for(&far.1, |error| error.is_none());
    agree(&[near, far, next]);
}

#[test]
fn what_a_mirror_has_damaged_comes_from_the_log() {
    let mut sites = Sites::start(true);
    let near = sites.near("near");
    let tree = near.0.create_tree("t").unwrap();
    (0..20).for_each(|n| put(&tree, "/", "n", n));
    let far = sites.far("far");
    wait_for(&far.1, |error| error.is_none());
    drop(far);
    sites.leaf.kill(0);
    let block = "leaf/jetstream/$G/streams/jungle-jungle-mirror/msgs/1.blk";
    let block = sites.kept.0.join(block);
    let mut bytes = std::fs::read(&block).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&block, bytes).unwrap();
    sites.leaf.restart(0);
    let far = sites.far("far");
    put(&tree, "/", "n", 20);
    assert!(far.1.wait_for(near.1.status().revision, LONG));
    assert!(far.1.status().fault.is_none());
    agree(&[near, far]);
}

#[test]
fn a_mirror_of_a_log_that_was_before_is_passed_over() {
    let sites = Sites::start(true);
    let before = sites.near("before");
    before.0.create_tree("t").unwrap();
    for n in 0..5 {
        put(&before.0.open_tree("t").unwrap(), "/", "n", n);
    }
    let far = sites.far("far");
    wait_for(&far.1, |error| error.is_none());
    drop((before, far));
    sites.ask("hub", |context| async move {
        context.delete_stream(LOG).await.unwrap();
    });
    let near = sites.near("near");
    put(&near.0.create_tree("t").unwrap(), "/", "n", 7);
    let far = sites.far("far");
    let is_longer = |error: &str| error == "it has message 6, and the log ends with 2";
    wait_for(&far.1, |error| error.is_some_and(is_longer));
    for n in 0..8 {
        put(&near.0.open_tree("t").unwrap(), "/", "n", n);
    }
    assert!(far.1.wait_for(near.1.status().revision, LONG));
    agree(&[near, far]);
}

#[test]
fn what_is_wrong_with_a_mirror_is_said() {
    let sites = Sites::start(true);
    let _near = sites.near("near");
    let join = |sites: &Sites, options: Options| {
        let joined = Cluster::join(&sites.leaf.addresses(), &Jungle::new().unwrap(), options);
        joined.unwrap_err()
    };
    let with = |mirror: &str| Options { mirror: Some(mirror.to_owned()), ..at_site("far") };
    let refused = join(&sites, with("hub"));
    let JoinError::Connect(ConnectError::MirrorDomain { .. }) = refused else {
        panic!("{refused:?}");
    };
    let refused = join(&sites, with("not one"));
    assert!(matches!(refused, JoinError::Connect(ConnectError::Name { .. })), "{refused:?}");

    sites.ask("site", |context| async move {
        let external = External { api_prefix: "$JS.hub.API".to_owned(), delivery_prefix: None };
        let mirror = Source { name: LOG.to_owned(), external: Some(external), ..Source::default() };
        let max_age = Duration::from_secs(3600);
        let name = MIRROR.to_owned();
        let config = Config { name, mirror: Some(mirror), max_age, ..Config::default() };
        context.create_stream(config).await.unwrap();
    });
    let refused = join(&sites, at_site("far"));
    let JoinError::Connect(ConnectError::Setting { stream, setting, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((&*stream, setting), (MIRROR, "max_age"));

    let bare = Sites::start(false);
    let _near = bare.near("near");
    let join_within = Duration::from_secs(1);
    let refused = join(&bare, Options { join_within, ..at_site("far") });
    assert!(refused.to_string().contains("jetstream { domain: site }"), "{refused}");
}
