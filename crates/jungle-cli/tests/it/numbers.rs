//! Posts that are numbers, so that each can be told apart in the end.

use std::path::Path;
use std::time::Duration;

use jungle::OpenOptions;
use jungle_testkit::Outcome;

use super::serving::Client;

pub(crate) const JSON: &str = "application/json";
pub(crate) const POST: &str = "POST /api/v1/trees/t/commits";
/// How a commit is told apart that was refused from one that may be made yet.
pub(crate) const NOT_WRITTEN: &str = "the commit was not written";

/// After so long one goes on without an answer.
const POST_WITHIN: Duration = Duration::from_secs(5);

/// Posts one over a connection that is kept, or made; every second one says which request it is.
pub(crate) fn post_number(client: &mut Option<Client>, address: &str, number: i64) -> Outcome {
    if client.is_none() {
        *client = Client::within(address, POST_WITHIN);
    }
    let Some(connection) = client else { return Outcome::Refused };
    let edit = format!(r#"{{"edits":[{{"op":"append","attributes":{{"number":{number}}}}}]}}"#);
    let media = match number % 2 {
        0 => JSON.to_owned(),
        _ => format!("{JSON}\r\nIdempotency-Key: \"number {number}\""),
    };
    match connection.answer(POST, &media, &edit) {
        Some((200, _)) => Outcome::Acknowledged,
        Some((503, told)) if told.contains(NOT_WRITTEN) => Outcome::Refused,
        Some((503, _)) => Outcome::Undecided,
        Some((status, told)) => panic!("{address} answered {status}: {told}"),
        None => {
            *client = None;
            Outcome::Undecided
        }
    }
}

/// What is in the folder of a server that has ended: the newest revision with its hash, and all
/// numbers in order.
pub(crate) fn numbers(data: &Path) -> (String, Vec<i64>) {
    let store = OpenOptions::new().open(data).unwrap();
    let snapshot = store.open_tree("t").unwrap().snapshot();
    let (revision, root) = (snapshot.revision(), snapshot.root());
    let number = |child: jungle::Node<'_>| child.attribute("number")?.as_int();
    let numbers = root.children().map(|(_, child)| number(child).unwrap()).collect();
    (format!("{revision} {}", root.content_hash()), numbers)
}
