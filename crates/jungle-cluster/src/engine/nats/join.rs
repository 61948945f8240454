//! Joining a cluster by the addresses of its engine.

use std::sync::Arc;

use jungle_db::Jungle;

use super::NatsLog;
use crate::cluster::Cluster;
use crate::error::JoinError;
use crate::join::options::Options;

impl Cluster {
    /// Joins the cluster whose log an engine keeps, and follows all that it says before it returns;
    /// makes the log if there is none. `engine` has addresses of one or several of the engine's
    /// servers, such as `nats://localhost:4222`, with commas between them.
    ///
    /// Nothing else may commit to the Jungle meanwhile.
    ///
    /// ```no_run
    /// use jungle_cluster::{Cluster, Options};
    /// use jungle_db::Jungle;
    ///
    /// let jungle = Jungle::builder().build()?;
    /// let options = Options { name: "shop".into(), replicas: 3, ..Options::default() };
    /// let cluster = Cluster::join("nats://one:4222,nats://two:4222", &jungle, options)?;
    /// println!("up to message {}", cluster.status().followed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the engine cannot be reached, is too old or keeps the log otherwise than asked for;
    /// when the log does not continue what is in the Jungle, or cannot be followed.
    pub fn join(engine: &str, jungle: &Jungle, options: Options) -> Result<Cluster, JoinError> {
        let log = NatsLog::connect(engine, &options)?;
        Cluster::follow(Arc::new(log), jungle, &options)
    }
}
