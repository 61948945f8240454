//! Of the server: requests that its router answers in this thread, without a socket.

use jungle_db::{Jungle, Timestamp, TreeHandle};
use jungle_server::{Answer, Answers, AskError, Board};
use jungle_tree::{Key, ValueRef};

use super::{Meter, db, expect, room};
use crate::Failure;

const NODES: u64 = 500;
const PAGES: u64 = 100;
const POSTS: u64 = 500;
/// So many before those that are counted.
const WARM: u64 = 50;

/// Messages on a page.
const SHOWN: u64 = 50;

/// A node with an attribute, as JSON.
pub fn node(meter: &mut Meter) -> Result<(), Failure> {
    let jungle = Jungle::builder().arena(room()).build()?;
    let tree = db::plant(&jungle)?;
    db::put_all(&tree, 2 * NODES)?;
    let asked = (0..WARM + NODES).map(|child| format!("/api/v1/trees/track/node?path=/{child}"));
    let asked: Vec<Asked> = asked.map(Asked::read).collect();
    let answers = ask_all(meter, jungle, &asked)?;
    let read = tree.read();
    for (child, answer) in (WARM..).zip(answers) {
        let told: serde_json::Value = serde_json::from_slice(&answer.body)?;
        let told = (told["path"].as_str(), told["attributes"]["n"]["value"].as_i64());
        let path = format!("/{child}");
        let number = read.root().at(&[Key::from(child)])?.attribute("n").and_then(ValueRef::as_int);
        expect("node", (answer.status, told), (200, (Some(&*path), number)))?;
    }
    Ok(())
}

/// A page of a board, which nobody has asked for before: it is made anew.
pub fn page(meter: &mut Meter) -> Result<(), Failure> {
    let jungle = Jungle::builder().arena(room()).build()?;
    let board = board(jungle.create_tree("track")?)?;
    let post = |number: u64| {
        let time = Timestamp::from_micros(1_700_000_000_000_000 + number as i64);
        board.post("somebody", &text(number), time).map_err(|error| error.to_string())
    };
    let keys = (0..SHOWN + WARM + PAGES).map(post).collect::<Result<Vec<Key>, _>>()?;
    let before = keys[SHOWN as usize..].iter().map(|key| format!("/boards/track?before={key}"));
    let asked: Vec<Asked> = before.map(Asked::read).collect();
    let answers = ask_all(meter, jungle, &asked)?;
    for (newest, answer) in (SHOWN + WARM - 1..).zip(answers) {
        let page = String::from_utf8(answer.body)?;
        let shown = page.matches("<li class=\"message\"").count() as u64;
        expect("messages", (answer.status, shown), (200, SHOWN))?;
        let ends = [newest, newest + 1 - SHOWN].map(|number| page.contains(&text(number)));
        expect("the newest and the oldest", ends, [true; 2])?;
    }
    Ok(())
}

/// A message, posted by the form of a board in memory.
pub fn post(meter: &mut Meter) -> Result<(), Failure> {
    let jungle = Jungle::builder().arena(room()).build()?;
    let tree = jungle.create_tree("track")?;
    board(tree.clone())?;
    let form = |number| format!("author=somebody&text={}", text(number));
    let asked = (0..WARM + POSTS).map(form);
    let asked: Vec<Asked> = asked.map(|form| Asked::post("/boards/track", form)).collect();
    let answers = ask_all(meter, jungle, &asked)?;
    expect("are all seen", answers.iter().all(|answer| answer.status == 303), true)?;
    let read = tree.read();
    let found = read.root().children().map(|(_, message)| message.attribute("text")?.as_text());
    let found: Vec<Option<&str>> = found.collect();
    let texts: Vec<String> = (0..WARM + POSTS).map(text).collect();
    expect("messages", found, texts.iter().map(|text| Some(&**text)).collect())
}

fn board(tree: TreeHandle) -> Result<Board, String> {
    Board::of(tree).map_err(|error| error.to_string())
}

/// What a message says: of one length, and found in no other.
fn text(number: u64) -> String {
    format!("message-{number:06}")
}

/// A request.
struct Asked {
    method: &'static str,
    address: String,
    form: String,
}

impl Asked {
    fn read(address: String) -> Asked {
        Asked { method: "GET", address, form: String::new() }
    }

    fn post(address: &str, form: String) -> Asked {
        Asked { method: "POST", address: address.to_owned(), form }
    }
}

/// Has all but the first few counted; gives the answers to those.
fn ask_all(meter: &mut Meter, jungle: Jungle, asked: &[Asked]) -> Result<Vec<Answer>, Failure> {
    let answers = Answers::of(jungle).map_err(|error| error.to_string())?;
    let ask = |Asked { method, address, form }: &Asked| answers.ask(method, address, form);
    let ask = |asked: &[Asked]| asked.iter().map(ask).collect::<Result<Vec<Answer>, AskError>>();
    let (first, counted) = asked.split_at(WARM as usize);
    ask(first)?;
    Ok(meter.count(counted.len() as u64, || ask(counted))?)
}
