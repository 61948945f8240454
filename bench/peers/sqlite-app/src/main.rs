//! The bulletin board as an application on SQLite, behind a web front as ours: hyper, tokio, our
//! template. `/board?board=B` shows the newest messages of a board, `/post?board=B&author=A&text=T`
//! adds one, and `/count?board=B` says how many there are. It prints its address and serves until
//! it is killed.
//!
//! `peer FOLDER normal|full`: where its database is, and SQLite's `synchronous`.

#[path = "../../front/mod.rs"]
mod front;
mod store;

use std::process::ExitCode;

use front::{Asked, Board, Failure};
use store::{Store, Synchronous};

/// As ours.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, synchronous) = match &arguments[..] {
        [folder, word] if word == "normal" => (folder, Synchronous::Normal),
        [folder, word] if word == "full" => (folder, Synchronous::Full),
        _ => {
            eprintln!("peer FOLDER normal|full");
            return ExitCode::from(2);
        }
    };
    front::run(async { Store::open(folder.as_ref(), synchronous) })
}

impl Board for Store {
    async fn answer(&self, asked: &Asked) -> Result<Option<String>, Failure> {
        let board = asked.board();
        Ok(Some(match asked.path() {
            "/board" => front::page(board, &self.newest(board)?)?,
            "/post" => {
                self.post(board, asked.author(), asked.text()).await?;
                "posted\n".to_owned()
            }
            "/count" => self.count(board)?.to_string(),
            _ => return Ok(None),
        }))
    }
}
