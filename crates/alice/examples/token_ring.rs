//! A token goes round a ring of nodes. Each node knows the next one as `right`, and nothing else.
//!
//! `cargo run --release -p alice --example token_ring`

use std::error::Error;
use std::time::Instant;

use alice::{Key, Node, take};

const NODES: usize = 10;
const STEPS: u32 = 100_000;

const TOKEN: Key<u32> = Key::new("token");
const DONE: Key<u32> = Key::new("done");

fn main() -> Result<(), Box<dyn Error>> {
    let ring: Vec<Node> = (0..NODES).map(|_| Node::new()).collect();
    for (node, right) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        node.connect("right", right);
    }
    for node in &ring {
        let right = node.neighbour("right")?.queue(&TOKEN)?;
        let pass = node.code("pass").when(take(&TOKEN)).to((&right, &DONE));
        pass.repeatedly(|token, (right, done)| match **token {
            STEPS => done.put(STEPS),
            steps => right.put(steps + 1),
        })?;
    }
    let begun = Instant::now();
    ring[0].put(&TOKEN, 0)?;
    let steps = *ring[STEPS as usize % NODES].take(&DONE)?;
    println!("{steps} steps round {NODES} nodes in {:.1?}", begun.elapsed());
    Ok(())
}
