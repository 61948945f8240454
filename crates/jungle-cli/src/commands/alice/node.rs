//! `jungle alice node`: a node that does something which can be looked at.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::alice::{Key, Node, take};
use alice_nats::Part;

use super::{Connect, not_joined, topology};
use crate::failure::{Failure, failed};
use crate::tryout::Ends;

const HELP: &str = "\
It begins with a token, and passes each token it has to its neighbours in turn, one at each pulse. \
An interrupt ends it; its place is kept for ten seconds.";

/// Run one more node of a try-out
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    connect: Connect,
    /// Its name, which nobody else has
    name: String,
    /// Where it takes part: star, ring, tree, tree:3, mesh, or a file in Graphviz's language
    #[arg(long, value_name = "SHAPE", default_value = "ring")]
    topology: String,
    /// How many milliseconds lie between two pulses
    #[arg(long, value_name = "MS", default_value_t = 200)]
    every: u64,
    /// End with standard input, too
    #[arg(long, hide = true)]
    leash: bool,
}

/// It counts how often it was passed.
const TOKEN: Key<u64> = Key::new("token");
const PULSE: Key<u64> = Key::new("pulse");

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let ends = Ends::listen()?;
    let ends = if args.leash { ends.with_input() } else { ends };
    let (topology, _) = topology(&args.topology)?;
    let engine = args.connect.connect()?;
    let node = Node::new();
    let part = engine.take_part(&topology, &args.name, &node).map_err(not_joined)?;
    let part = Arc::new(part);
    part.member().serve(&TOKEN).map_err(failed)?;
    let passes = Passes { part: Arc::downgrade(&part), node: node.clone(), turn: 0 };
    pass_on(&node, passes)?;
    node.put(&TOKEN, 0).map_err(failed)?;
    let mut pulses = 0;
    while !ends.within(Duration::from_millis(args.every)) {
        pulses += 1;
        // One that nobody took is replaced: pulses do not pile up.
        node.update(&PULSE, pulses).map_err(failed)?;
    }
    // Others hear at once that it is gone.
    drop(part);
    Ok(())
}

fn pass_on(node: &Node, mut passes: Passes) -> Result<(), Failure> {
    let code = node.code("pass on").when((take(&TOKEN), take(&PULSE)));
    let declared = code.repeatedly(move |(token, _), ()| passes.pass(**token));
    declared.map(drop).map_err(failed)
}

/// The node's neighbours, one after the other.
struct Passes {
    part: Weak<Part>,
    node: Node,
    turn: usize,
}

impl Passes {
    fn pass(&mut self, token: u64) {
        let Some(part) = self.part.upgrade() else { return };
        let labels: Vec<String> = part.neighbours().into_keys().collect();
        self.turn += 1;
        let label = labels.get(self.turn % labels.len().max(1));
        let peer = label.and_then(|label| part.peer(label).ok());
        let is_passed = peer.is_some_and(|peer| peer.put(&TOKEN, token + 1).is_ok());
        if !is_passed {
            // Refused by a closed node only, and then all is over.
            let _ = self.node.put(&TOKEN, token);
        }
    }
}
