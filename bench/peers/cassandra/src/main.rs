//! The bulletin board on Cassandra, behind a web front as ours: hyper, tokio, our template.
//! `/LEVEL/board?board=B` shows the newest messages of a board,
//! `/LEVEL/post?board=B&author=A&text=T` adds one, where the level is `one` or `quorum`, and
//! `/count?board=B` says how many there are. It prints its address and serves until it is killed.
//!
//! `peer NODE:PORT REPLICAS`: its node of the cluster, and how often everything is kept.

#[path = "../../front/mod.rs"]
mod front;
mod store;

use std::process::ExitCode;

use front::{Asked, Board, Failure};
use store::{Level, Store};

/// As ours.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [node, replicas] = &arguments[..] else {
        eprintln!("peer NODE:PORT REPLICAS");
        return ExitCode::from(2);
    };
    front::run(async { Store::open(node, replicas.parse()?).await })
}

impl Board for Store {
    async fn answer(&self, asked: &Asked) -> Result<Option<String>, Failure> {
        let (board, path) = (asked.board(), asked.path().trim_start_matches('/'));
        let (level, what) = match path.split_once('/') {
            Some(("one", what)) => (Level::One, what),
            Some(("quorum", what)) => (Level::Quorum, what),
            _ => (Level::Quorum, path),
        };
        Ok(Some(match what {
            "board" => front::page(board, &self.newest(board, level).await?)?,
            "post" => {
                self.post(board, asked.author(), asked.text(), level).await?;
                "posted\n".to_owned()
            }
            "count" => self.count(board).await?.to_string(),
            _ => return Ok(None),
        }))
    }
}
