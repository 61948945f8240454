//! What users have instead: the board on PocketBase, and as an application on SQLite behind a web
//! front as ours. Each is there twice: with SQLite's `synchronous=NORMAL`, where an answer says
//! that the system has it, as our `buffered`, and `FULL`, where it is durable, as our `sync`.

use std::fs;

use serde_json::json;

use super::super::Options;
use super::super::folder::Folder;
use super::e3::{Board, FEWER, Load, POST, SHOWN, Turns};
use super::server::Serving;
use crate::Failure;
use crate::sample::Sample;
use crate::systems::System;

/// PocketBase's own API of its messages.
const RECORDS: &str = "/api/collections/messages/records";

/// The newest messages of board `b` as it tells them: no total, which it would have to count.
const NEWEST: &str = "?perPage=50&skipTotal=1&sort=-created,-@rowid&filter=board=%22b%22";

/// Posts of a task where syncs are counted, one after the other.
const TASK_POSTS: u64 = 5;

/// Pages may differ by one byte in so many.
const LENGTHS: usize = 50;

/// What has become of a post when it is answered.
#[derive(Clone, Copy)]
pub enum Level {
    Buffered,
    Synced,
}

impl Level {
    /// What SQLite calls it.
    fn synchronous(self) -> &'static str {
        match self {
            Level::Buffered => "normal",
            Level::Synced => "full",
        }
    }
}

/// How an application is started.
pub type Start = fn(&Folder, Level) -> Result<Board, Failure>;

/// Those of an application, whose pages have about as many bytes as ours.
///
/// # Errors
/// When it does not do what it should.
pub fn boards(start: Start, folder: &Folder, bytes: usize) -> Result<Vec<Board>, Failure> {
    let start = |level| {
        let board = start(folder, level)?;
        check_page(&board.serving, bytes)?;
        Ok(board)
    };
    [Level::Buffered, Level::Synced].into_iter().map(start).collect()
}

/// How many posts one client makes durable, one after the other; somebody else counts the syncs.
///
/// # Errors
/// When a server is not there, or does not do what it should.
pub fn syncs(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let folder = Folder::new("board-syncs")?;
    let mut board = match case {
        "syncs" => {
            let data = folder.0.join("jungle").display().to_string();
            let serving = Serving::jungle(&["--data", &data, "--durability", "sync"])?;
            Board::ours(serving, vec![Load::new("write-sync", POST)])?
        }
        "syncs-pocketbase" => pocketbase(&folder, Level::Synced)?,
        "syncs-sqlite-app" => sqlite_app(&folder, Level::Synced)?,
        _ => return Ok(None),
    };
    let posts = options.tasks * TASK_POSTS;
    let load = board.loads.iter_mut().find(|load| load.is_post()).ok_or("nothing is posted")?;
    let rate = load.run(&board.serving, posts, 1)?;
    let sample = Sample::rate(posts as f64 / rate, posts);
    Ok(Some(sample.check_none(board.lost()?, "posts are lost or doubled")))
}

/// PocketBase's answers a second where every tenth request posts and the others show what was
/// posted, and their `…-p99`. In a run of its own: however long it takes, no other figure is lost.
///
/// # Errors
/// When it is not there, or does not do what it should.
pub fn mixed_pocketbase(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("board-mixed")?;
    let mut board = pocketbase(&folder, Level::Synced)?;
    let post = "/post?board=w&author=somebody&text=hello";
    board.loads = vec![Load::mixed("pocketbase-mixed", post, "/board?board=w").fewer(FEWER)];
    board.warm_up(options.threads)?;
    let turns = Turns::of(options);
    for _ in 0..turns.count {
        board.turn(turns)?;
    }
    let lost = board.lost()?;
    let sample = board.told(Sample::value(0.0, "1/s"));
    let value = sample.extra["pocketbase-mixed"];
    Ok(Sample { value, ..sample }.check_none(lost, "posts are lost or doubled"))
}

/// Its posts go by its own API; its page is rendered in its process, and `read-api` is what its API
/// tells a program that renders it elsewhere.
///
/// # Errors
/// When it does not do what it should.
pub fn pocketbase(folder: &Folder, level: Level) -> Result<Board, Failure> {
    let message = |board| json!({"board": board, "author": "somebody", "text": "hello"});
    let here = folder.0.join(format!("pocketbase-{}", level.synchronous()));
    let serving = Serving::app(System::Pocketbase, &here, level.synchronous())?;
    for _ in 0..SHOWN {
        serving.ask(&format!("POST {RECORDS}"), &message("b").to_string())?;
    }
    let told = serving.ask(&format!("GET {RECORDS}{NEWEST}&fields=text"), "")?;
    if told.matches("hello").count() as u64 != SHOWN {
        return Err(format!("PocketBase tells of {told}").into());
    }
    let body = folder.0.join("message.json");
    fs::write(&body, message("w").to_string())?;
    let post = |name| Load::new(name, RECORDS).with_body(body);
    let loads = match level {
        Level::Buffered => vec![post("pocketbase-write-buffered")],
        Level::Synced => vec![
            Load::new("pocketbase-read", "/board?board=b"),
            Load::new("pocketbase-read-api", format!("{RECORDS}{NEWEST}")),
            post("pocketbase-write-sync"),
        ],
    };
    let count = |serving: &Serving, board: &str| {
        let path = format!("{RECORDS}?perPage=1&filter=board=%22{board}%22");
        serving.number(&path, "totalItems")
    };
    // It answers more slowly than ours, and the run has its time.
    let loads = loads.into_iter().map(|load| load.fewer(FEWER)).collect();
    Ok(Board { serving, count, loads })
}

/// The application on SQLite.
///
/// # Errors
/// When it does not do what it should.
pub fn sqlite_app(folder: &Folder, level: Level) -> Result<Board, Failure> {
    let here = folder.0.join(format!("sqlite-app-{}", level.synchronous()));
    let serving = Serving::app(System::SqliteApp, &here, level.synchronous())?;
    for _ in 0..SHOWN {
        serving.ask("GET /post?board=b&author=somebody&text=hello", "")?;
    }
    let path = "/post?board=w&author=somebody&text=hello";
    let post = |name| Load::new(name, path);
    let loads = match level {
        Level::Buffered => vec![post("sqlite-app-write-buffered")],
        Level::Synced => {
            let synced = post("sqlite-app-write-sync").fewer(FEWER);
            let mixed = Load::mixed("sqlite-app-mixed", path, "/board?board=w").fewer(FEWER);
            vec![Load::new("sqlite-app-read", "/board?board=b"), synced, mixed]
        }
    };
    let count = |serving: &Serving, board: &str| {
        Ok(serving.ask(&format!("GET /count?board={board}"), "")?.trim().parse()?)
    };
    Ok(Board { serving, count, loads })
}

/// Does it show all messages, with about as many bytes as ours?
fn check_page(serving: &Serving, bytes: usize) -> Result<(), Failure> {
    let page = serving.ask("GET /board?board=b", "")?;
    let (shown, length) = (page.matches("<li class=\"message\"").count() as u64, page.len());
    if shown != SHOWN || length.abs_diff(bytes) * LENGTHS > bytes {
        let what = format!("{shown} messages and {length} bytes");
        return Err(format!("an application shows {what}, and we {SHOWN} and {bytes}").into());
    }
    Ok(())
}
