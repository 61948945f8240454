//! The messages in SQLite: one thread writes, whoever reads has a connection of its own thread.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::Failure;
use crate::front::{PAGE, Row};

/// What is durable when a transaction has ended, in WAL mode.
#[derive(Clone, Copy)]
pub enum Synchronous {
    /// What was so before the last checkpoint: the system has the rest.
    Normal,
    /// All of it.
    Full,
}

/// The messages as they are, the newest of a board at one end of an index; and all that was done,
/// one revision after the other.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS messages (
        id INTEGER PRIMARY KEY, board TEXT NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL,
        created INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS newest ON messages (board, created);
    CREATE TABLE IF NOT EXISTS history (
        revision INTEGER PRIMARY KEY, message INTEGER NOT NULL, done TEXT NOT NULL,
        author TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL);";

const NEWEST: &str = "SELECT created, author, text FROM messages WHERE board = ?1 \
    ORDER BY created DESC, id DESC LIMIT ?2";

const POST: &str =
    "INSERT INTO messages (board, author, text, created) VALUES (?1, ?2, ?3, ?4) RETURNING id";

const NOTE: &str = "INSERT INTO history (message, done, author, text, at) \
    VALUES (?1, 'post', ?2, ?3, ?4)";

/// Messages of a board that the history knows of, too.
const COUNT: &str = "SELECT count(*) FROM messages JOIN history ON message = id \
    WHERE board = ?1 AND done = 'post'";

pub struct Store {
    file: PathBuf,
    synchronous: Synchronous,
    posts: mpsc::Sender<Post>,
}

struct Post {
    board: String,
    author: String,
    text: String,
    done: oneshot::Sender<rusqlite::Result<()>>,
}

thread_local! {
    /// There is one store in a process.
    static READER: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

impl Store {
    /// Opens the database, or makes it.
    pub fn open(folder: &Path, synchronous: Synchronous) -> Result<Store, Failure> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join("board.db");
        let writer = connect(&file, synchronous)?;
        writer.execute_batch(TABLES)?;
        let (posts, asked) = mpsc::channel();
        thread::Builder::new().name("writer".to_owned()).spawn(move || write(writer, &asked))?;
        Ok(Store { file, synchronous, posts })
    }

    /// The newest messages of a board: those of a page, and one more if there is one.
    pub fn newest(&self, board: &str) -> Result<Vec<Row>, Failure> {
        self.read(|reader| {
            let mut newest = reader.prepare_cached(NEWEST)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            newest.query_map((board, PAGE as i64 + 1), row)?.collect()
        })
    }

    /// Adds a message to a board.
    pub async fn post(&self, board: &str, author: &str, text: &str) -> Result<(), Failure> {
        let (done, answer) = oneshot::channel();
        let [board, author, text] = [board, author, text].map(str::to_owned);
        self.posts.send(Post { board, author, text, done })?;
        Ok(answer.await??)
    }

    /// How many messages a board has.
    pub fn count(&self, board: &str) -> Result<i64, Failure> {
        self.read(|reader| reader.query_row(COUNT, [board], |row| row.get(0)))
    }

    /// Reads with the connection of this thread.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Failure> {
        READER.with_borrow_mut(|reader| {
            if reader.is_none() {
                *reader = Some(connect(&self.file, self.synchronous)?);
            }
            let reader = reader.as_ref().expect("it was made if it was not there");
            Ok(read(reader)?)
        })
    }
}

/// With as much in memory as our store keeps by itself.
fn connect(file: &Path, synchronous: Synchronous) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536;")?;
    connection.execute_batch(match synchronous {
        Synchronous::Normal => "PRAGMA synchronous = NORMAL;",
        Synchronous::Full => "PRAGMA synchronous = FULL;",
    })?;
    Ok(connection)
}

/// Adds one message after the other, each in a transaction of its own.
fn write(mut writer: Connection, asked: &mpsc::Receiver<Post>) {
    for post in asked {
        let Post { board, author, text, done } = post;
        let written = add(&mut writer, &board, &author, &text);
        // Whoever has gone does not want to know.
        let _ = done.send(written);
    }
}

fn add(writer: &mut Connection, board: &str, author: &str, text: &str) -> rusqlite::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id: i64 = transaction
        .prepare_cached(POST)?
        .query_row((board, author, text, now), |row| row.get(0))?;
    transaction.prepare_cached(NOTE)?.execute((id, author, text, now))?;
    transaction.commit()
}
