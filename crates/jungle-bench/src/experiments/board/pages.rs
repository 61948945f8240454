//! A board of a million messages beside one of a hundred: its first page and its last.

use std::time::Instant;

use jungle::{EditError, TreeHandle};

use super::super::Options;
use super::super::folder::{Folder, options as open_options};
use super::server::{Client, Serving};
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;

/// The boards, and how many messages each has.
const BOARDS: [(&str, u64); 2] = [("few", 100), ("many", 1_000_000)];
const MANY_TINY: u64 = 2_000;

/// How often each page is asked for, each time after another message.
const TIMES: usize = 200;

/// Microseconds until a page that nobody has seen yet is there: `first-few`, `first-many` = the
/// newest messages; `last-…` = the oldest; `first`, `last` = of many over of few.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("pages")?;
    plant(&folder, options)?;
    let serving = Serving::jungle(&["--data", &folder.0.display().to_string()])?;
    let mut client = Client::new(&serving)?;
    let mut times: [[Vec<f64>; 2]; 2] = Default::default();
    for _ in 0..if options.tiny { 3 } else { TIMES } {
        for ((board, _), [first, last]) in BOARDS.iter().zip(&mut times) {
            let place = format!("/boards/{board}");
            let form = "application/x-www-form-urlencoded";
            client.ask(&format!("POST {place}"), form, "author=somebody&text=hello")?;
            first.push(timed(&mut client, &place)?);
            last.push(timed(&mut client, &format!("{place}?first=1"))?);
        }
    }
    let [[first_few, last_few], [first_many, last_many]] =
        times.map(|pages| pages.map(|times| median(&times)));
    Ok(Sample::value(first_many / first_few, "x")
        .with_few_and_many("first", first_few, first_many)
        .with_few_and_many("last", last_few, last_many))
}

fn timed(client: &mut Client, place: &str) -> Result<f64, Failure> {
    let begun = Instant::now();
    let page = client.ask(&format!("GET {place}"), "text/plain", "")?;
    let seconds = begun.elapsed().as_secs_f64();
    let shown = String::from_utf8_lossy(&page).matches("<li class=\"message\"").count();
    if shown == 50 { Ok(1e6 * seconds) } else { Err(format!("{place} shows {shown}").into()) }
}

/// Makes the boards.
fn plant(folder: &Folder, options: Options) -> Result<(), Failure> {
    let store = open_options().open(&folder.0)?;
    for (name, messages) in BOARDS {
        let messages = if options.tiny { messages.min(MANY_TINY) } else { messages };
        fill(&store.create_tree(name)?, messages)?;
    }
    Ok(store.close()?)
}

fn fill(board: &TreeHandle, messages: u64) -> Result<(), Failure> {
    board.update(|tx| {
        tx.put_attribute(&[], "board", &*board.name())?;
        for message in 0..messages {
            let at = [tx.append(&[])?];
            tx.put_attribute(&at, "author", "somebody")?;
            tx.put_attribute(&at, "text", &*format!("message {message}"))?;
            tx.put_attribute(&at, "time", 1_700_000_000_000_000_i64 + message as i64)?;
        }
        Ok::<_, EditError>(())
    })?;
    Ok(())
}
