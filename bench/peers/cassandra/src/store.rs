//! The messages in Cassandra: a board is a partition, in which the newest message comes first.

use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlTimestamp;

use crate::Failure;
use crate::front::{PAGE, Row};

/// How many replicas answer before a request is.
#[derive(Clone, Copy)]
pub enum Level {
    One,
    Quorum,
}

/// Everything prepared: the statements at ONE and at QUORUM.
pub struct Store {
    session: Session,
    newest: [PreparedStatement; 2],
    post: [PreparedStatement; 2],
    count: PreparedStatement,
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS board.messages \
    (board text, id timeuuid, author text, body text, PRIMARY KEY (board, id)) \
    WITH CLUSTERING ORDER BY (id DESC)";

const POST: &str = "INSERT INTO board.messages (board, id, author, body) VALUES (?, now(), ?, ?)";

impl Store {
    /// Connects to a cluster by one of its nodes, and makes the table if it is not there.
    pub async fn open(node: &str, replicas: usize) -> Result<Store, Failure> {
        let session = SessionBuilder::new().known_node(node).build().await?;
        let keyspace = format!(
            "CREATE KEYSPACE IF NOT EXISTS board WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
        );
        for statement in [&*keyspace, TABLE] {
            session.query_unpaged(statement, ()).await?;
        }
        let newest = format!(
            "SELECT toTimestamp(id), author, body FROM board.messages WHERE board = ? LIMIT {}",
            PAGE + 1
        );
        let count = "SELECT count(*) FROM board.messages WHERE board = ?";
        let newest = at_levels(session.prepare(newest).await?);
        let post = at_levels(session.prepare(POST).await?);
        let [_, count] = at_levels(session.prepare(count).await?);
        Ok(Store { session, newest, post, count })
    }

    /// The newest messages of a board: those of a page, and one more if there is one.
    pub async fn newest(&self, board: &str, level: Level) -> Result<Vec<Row>, Failure> {
        let statement = &self.newest[level as usize];
        let found = self.session.execute_unpaged(statement, (board,)).await?;
        let found = found.into_rows_result()?;
        let rows = found.rows::<(CqlTimestamp, String, String)>()?;
        let row = |row: Result<(CqlTimestamp, _, _), _>| {
            row.map(|(time, author, text)| (time.0, author, text))
        };
        Ok(rows.map(row).collect::<Result<_, _>>()?)
    }

    /// Adds a message to a board.
    pub async fn post(
        &self,
        board: &str,
        author: &str,
        text: &str,
        level: Level,
    ) -> Result<(), Failure> {
        let statement = &self.post[level as usize];
        self.session.execute_unpaged(statement, (board, author, text)).await?;
        Ok(())
    }

    /// How many messages a board has.
    pub async fn count(&self, board: &str) -> Result<i64, Failure> {
        let found = self.session.execute_unpaged(&self.count, (board,)).await?;
        Ok(found.into_rows_result()?.single_row::<(i64,)>()?.0)
    }
}

fn at_levels(statement: PreparedStatement) -> [PreparedStatement; 2] {
    [Consistency::One, Consistency::Quorum].map(|level| {
        let mut statement = statement.clone();
        statement.set_consistency(level);
        statement
    })
}
