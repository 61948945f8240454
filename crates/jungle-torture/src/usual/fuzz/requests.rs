//! Requests over HTTP, from where a server has their head and body.

use std::sync::{Mutex, PoisonError};

use jungle_db::{Jungle, Revision};
use jungle_server::{Answers, AskError};
use jungle_tree::ArenaOptions;

use super::Target;

/// A request: its method and address, headers line by line, and behind an empty line its body.
/// Answered, and never with a failure of the server.
pub const HTTP: Target = Target {
    name: "http",
    samples: || SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()).collect(),
    words: &[
        "GET /api/v1/trees/t/",
        "POST /api/v1/trees/t/",
        "PUT /api/v1/trees/t/document",
        "HEAD ",
        "DELETE ",
        "node?",
        "children?",
        "search?where=",
        "diff?",
        "branch=draft",
        "&path=/a",
        "&at=main~1",
        "&limit=1",
        "&after=",
        "%00",
        "%FF",
        "%22",
        "/..",
        "\nif-match: ",
        "\nif-none-match: *",
        "\nidempotency-key: a",
        "\naccept: ",
        "\nrange: bytes=0-",
        "\ncontent-type: application/json",
        "\n\n",
        "{\"edits\":[",
        "{\"op\":\"append\"}",
        "\"path\":\"/a\"",
        "\"test\":",
        "null",
    ],
    take: http,
};

const SAMPLES: [&str; 20] = [
    "GET /api/v1/trees/t/node?path=/a&at=main~1\nif-none-match: \"1\"\n\n",
    "GET /api/v1/trees/t/children?order=backward&limit=2&offset=1\naccept: application/json\n\n",
    "GET /api/v1/trees/t/search?where=n%20%3D%201%20and%20not%20exists%20x&limit=3\n\n",
    "GET /api/v1/trees/t/value?attribute=n&path=/a\nrange: bytes=0-3\n\n",
    "GET /api/v1/trees/t/document?format=yaml&path=/\n\n",
    "GET /api/v1/trees/t/revisions?path=/a&order=backward&limit=5\n\n",
    "GET /api/v1/trees/t/diff?from=main~1&to=main&form=document\n\n",
    "GET /api/v1/trees/t/merges?from=draft&into=main&counters=%5B%22n%22%5D\n\n",
    "GET /api/v1/trees/t/watch?path=/a&after=1\nlast-event-id: 2\n\n",
    "HEAD /boards/b?limit=2\n\n",
    "POST /boards/b\ncontent-type: application/x-www-form-urlencoded\n\nauthor=ana&text=Hello%0A",
    "POST /api/v1/trees\ncontent-type: application/json\n\n{\"name\":\"a/b c\"}",
    "POST /api/v1/trees/t/commits?branch=draft\ncontent-type: application/json\n\
     idempotency-key: k\n\n{\"message\":\"m\",\"edits\":[{\"op\":\"append\"},{\"op\":\"put\",\
     \"path\":\"/a\",\"attribute\":\"n\",\"value\":1.5}]}",
    "POST /api/v1/trees/t/branches\ncontent-type: application/json\n\n\
     {\"name\":\"new\",\"at\":\"main~1\"}",
    "POST /api/v1/trees/t/tags\ncontent-type: application/json\n\n{\"name\":\"v1\",\"at\":\"2\"}",
    "POST /api/v1/trees/t/indexes\ncontent-type: application/json\n\n{\"key\":\"n\"}",
    "POST /api/v1/trees/t/merges\ncontent-type: application/json\n\n\
     {\"from\":\"draft\",\"into\":\"main\",\"prevails\":\"ours\"}",
    "POST /api/v1/trees/t/reverts\ncontent-type: application/json\nif-match: *\n\n{\"revision\":2}",
    "PUT /api/v1/trees/t/document?path=/b\ncontent-type: text/csv\n\nname,n\nx,1\n",
    "PUT /api/v1/trees/t/keep\ncontent-type: application/json\n\n{\"keep\":\"9\"}",
];

/// A server takes no more of them.
const HEADERS_MAX: usize = 100;

/// Bytes of an answer at most: far more than all that is there, and than any file of a page.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The answer where memory is full, which here is small.
const NO_ROOM: u16 = 507;

/// A server, and what it serves.
struct Served {
    jungle: Jungle,
    answers: Answers,
    /// The newest revision as it began.
    begun: Revision,
}

impl Served {
    /// A tree with some history, a branch of it that differs, and a board.
    fn new() -> Served {
        let arena = ArenaOptions { structure_bytes: 1 << 28, payload_bytes: 1 << 28, spill: None };
        let jungle = Jungle::builder().arena(arena).build().expect("address range");
        let tree = jungle.create_tree("t").expect("nothing is there");
        let edited = tree.update(|tx| {
            tx.insert_child(&[], &"a".into())?;
            tx.append(&["a".into()])?;
            tx.put_attribute(&["a".into()], "n", 1)
        });
        let branch = tree.branch("draft", edited.expect("an empty tree").revision);
        let branch = branch.expect("there is none");
        for (line, text) in [(&tree, "here"), (&branch, "there")] {
            let edited = line.update(|tx| {
                tx.put_attribute(&["a".into()], "text", text)?;
                tx.append(&[]).map(drop)
            });
            edited.expect("an undisturbed tree");
        }
        drop((tree, branch));
        let answers = Answers::of(jungle.clone()).expect("a runtime of one thread");
        for (address, form) in [("/boards", "name=b"), ("/boards/b", "author=ana&text=Hello")] {
            let answer = answers.ask("POST", address, form).expect("an address");
            assert_eq!(answer.status, 303, "{address}");
        }
        let begun = jungle.revision();
        Served { jungle, answers, begun }
    }
}

/// Servers that no input has changed: so an input is answered the same, whatever came before it,
/// and there is seldom a new one to be made.
static UNCHANGED: Mutex<Vec<Served>> = Mutex::new(Vec::new());

fn http(input: &[u8]) {
    let unchanged = UNCHANGED.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let served = unchanged.unwrap_or_else(Served::new);
    ask(&served.answers, input);
    if served.jungle.revision() == served.begun {
        UNCHANGED.lock().unwrap_or_else(PoisonError::into_inner).push(served);
    }
}

/// The status, if there is such a request.
fn ask(answers: &Answers, input: &[u8]) -> Option<u16> {
    let empty = input.windows(2).position(|two| two == b"\n\n").unwrap_or(input.len());
    let (head, body) = input.split_at(empty);
    let (head, body) = (String::from_utf8_lossy(head), body.get(2..).unwrap_or_default());
    let mut lines = head.lines();
    let (method, address) = lines.next()?.split_once(' ')?;
    let headers: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(": ")).take(HEADERS_MAX).collect();
    let answer = match answers.ask_with((method, address), &headers, body) {
        Ok(answer) => answer,
        Err(AskError::Request(_)) => return None,
        Err(error) => panic!("{method} {address}: {error}"),
    };
    let (status, body) = (answer.status, answer.body);
    let is_meant = status < 500 || status == NO_ROOM;
    assert!(is_meant, "{method} {address}: {status}: {}", String::from_utf8_lossy(&body));
    assert!(body.len() <= ANSWER_BYTES_MAX, "{method} {address}: {} bytes", body.len());
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_what_is_right_is_done() {
        let done = SAMPLES.iter().filter(|sample| {
            let status = ask(&Served::new().answers, sample.as_bytes());
            println!("{status:?}: {sample}");
            status.is_some_and(|status| status < 400)
        });
        assert!(done.count() >= 12);
        assert_eq!(ask(&Served::new().answers, b"GET /nothing\n\n"), Some(404));
        assert_eq!(ask(&Served::new().answers, b"GET no address\n\n"), None);
    }

    #[test]
    fn what_changes_something_changes_nothing_for_the_next_input() {
        http(SAMPLES[11].as_bytes());
        let unchanged = UNCHANGED.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(unchanged.iter().all(|served| served.jungle.list_trees().len() == 2));
    }
}
