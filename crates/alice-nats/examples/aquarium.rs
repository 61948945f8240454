//! An aquarium over several nodes: each has a fish, and shows those of all. Run it in two terminals
//! or on two machines, and see fish come and go.
//!
//! `cargo run --release -p alice-nats --example aquarium -- ADDRESS NAME [FRAMES] [FISH]`, with the
//! address of an engine, such as `jungle alice up` prints. With a number of frames, it ends after
//! them; with a number of fish, it begins when there are so many.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stdout};
use std::thread;
use std::time::Duration;

use alice::{Key, Node};
use alice_nats::{Engine, Options, Part, Shape, Topology};
use serde::{Deserialize, Serialize};

const WIDTH: i32 = 72;
const HEIGHT: i32 = 18;

/// Where a fish is, and where it goes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Fish {
    x: i32,
    y: i32,
    dx: i32,
    dy: i32,
}

const FISH: Key<Fish> = Key::new("fish");

/// Between two frames, where somebody looks.
const FRAME: Duration = Duration::from_millis(120);
/// How long another one's fish is waited for before it is left out of a frame.
const SOON: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("say where the engine is")?;
    let name = arguments.next().ok_or("say what the fish is called")?;
    let frames = arguments.next().map_or(Ok(u64::MAX), |frames| frames.parse())?;
    let fish_count = arguments.next().map_or(Ok(1), |fish| fish.parse())?;
    let engine = Engine::connect(&address, Options::default())?;
    let node = Node::new();
    let part = engine.take_part(&Topology::growing("aquarium", Shape::Mesh), &name, &node)?;
    let mut fish = hatched(&name);
    node.update(&FISH, fish)?;
    part.member().serve(&FISH)?;
    part.wait_for(fish_count, LONG)?;
    let is_seen = stdout().is_terminal();
    for _ in 0..frames {
        fish.swim();
        // The newest place is the only one: nobody needs the others.
        node.update(&FISH, fish)?;
        let all = all_fish(&part, (&name, fish));
        let picture = picture(&all);
        let mut out = stdout().lock();
        write!(out, "{}{picture}", if is_seen { "\x1b[H\x1b[J" } else { "" })?;
        out.flush()?;
        drop(out);
        if is_seen {
            thread::sleep(FRAME);
        }
    }
    Ok(part.leave()?)
}

/// This fish, and those of the others who are there.
fn all_fish(part: &Part, (name, fish): (&str, Fish)) -> Vec<(String, Fish)> {
    let mut all = vec![(name.to_owned(), fish)];
    for (label, name) in part.neighbours() {
        // One that has just left is not there any more.
        let seen = part.peer(&label).ok().and_then(|peer| peer.peek_within(&FISH, SOON).ok());
        let seen = seen.and_then(|received| received.open().ok());
        all.extend(seen.map(|fish| (name, *fish)));
    }
    all
}

/// Each name begins somewhere else.
fn hatched(name: &str) -> Fish {
    let seed = name.bytes().fold(17_i32, |seed, byte| (seed * 31 + i32::from(byte)) % 9973);
    let (dx, dy) = (if seed % 2 == 0 { 1 } else { -1 }, if seed % 3 == 0 { 1 } else { -1 });
    Fish { x: seed % WIDTH, y: seed / WIDTH % HEIGHT, dx, dy }
}

impl Fish {
    /// One step, and back from the glass.
    fn swim(&mut self) {
        if !(0..WIDTH).contains(&(self.x + self.dx)) {
            self.dx = -self.dx;
        }
        if !(0..HEIGHT).contains(&(self.y + self.dy)) {
            self.dy = -self.dy;
        }
        (self.x, self.y) = (self.x + self.dx, self.y + self.dy);
    }
}

fn picture(all: &[(String, Fish)]) -> String {
    let mut rows = vec![vec![' '; WIDTH as usize]; HEIGHT as usize];
    for (name, fish) in all {
        let shape = if fish.dx > 0 { format!("{name}><>") } else { format!("<><{name}") };
        // What another one says may be anywhere.
        let (Ok(x), Ok(y)) = (usize::try_from(fish.x), usize::try_from(fish.y)) else { continue };
        let Some(row) = rows.get_mut(y) else { continue };
        row.iter_mut().skip(x).zip(shape.chars()).for_each(|(at, char)| *at = char);
    }
    let mut picture = format!("{} fish\n", all.len());
    for row in rows {
        writeln!(picture, "|{}|", row.iter().collect::<String>()).expect("a string takes all");
    }
    picture
}
