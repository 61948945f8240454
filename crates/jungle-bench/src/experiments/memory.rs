//! How many bytes a node takes, in tree R.

use jungle_tree::Arena;

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{Payload, timed};

/// Bytes a node, all in: what the arena has taken from the system for just this tree.
pub fn sample(case: &str, options: Options) -> Result<Option<Sample>, Failure> {
    let payload = match case {
        "bare" => Payload::Bare,
        "attribute" => Payload::Attribute,
        _ => return Ok(None),
    };
    let (arena, shape) = (Arena::new()?, options.read_shape());
    let (seconds, tree) = timed(|| shape.plant(&arena, payload));
    let (usage, nodes) = (arena.usage(), shape.nodes());
    let per_node = |bytes: usize| bytes as f64 / nodes as f64;
    let count = tree?.read().root().recount();
    let value = per_node(usage.structure_bytes + usage.payload_bytes);
    let sample = Sample { seconds, operations: nodes, ..Sample::value(value, "B") }
        .with("structure", per_node(usage.structure_bytes))
        .with("payload", per_node(usage.payload_bytes));
    Ok(Some(sample.check_none(count.abs_diff(nodes), "nodes too many or too few")))
}
