//! A writer, and beside it a reader that walks the newest version over and over.

use std::time::{Duration, Instant};

use jungle_tree::{Arena, EditError};

use super::Options;
use crate::Failure;
use crate::sample::Sample;
use crate::workload::{Overwriter, Payload, wrong_leaves};

/// Updates a second as the value, the walker's visits a second as `walker`.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let shape = options.read_shape();
    let mut tree = shape.plant(&Arena::new()?, Payload::Attribute)?;
    let reader = tree.reader();
    let start = Instant::now();
    let deadline = start + Duration::from_millis(if options.tiny { 50 } else { 2000 });
    let walk = || {
        let (mut visits, mut wrong) = (0, 0);
        while Instant::now() < deadline {
            let mut count = 0;
            let snapshot = reader.snapshot();
            snapshot.root().visit(|node| count += u64::from(node.has_attributes()));
            visits += count;
            wrong += u64::from(count != shape.nodes());
        }
        (visits as f64 / start.elapsed().as_secs_f64(), wrong)
    };
    let mut write = || {
        let mut writer = Overwriter::new(shape, options.seed);
        while Instant::now() < deadline {
            // The clock is read seldom, so that it does not count.
            (0..64).try_for_each(|_| writer.publish_one(&mut tree))?;
        }
        Ok::<_, EditError>((writer.stamp, start.elapsed().as_secs_f64()))
    };
    let (written, (visits, wrong)) = std::thread::scope(|scope| {
        let walker = scope.spawn(walk);
        (write(), walker.join().expect("a worker's panic is the experiment's"))
    });
    let (updates, seconds) = written?;
    let leaves = wrong_leaves(shape, options.seed, updates, tree.snapshot().root());
    Ok(Sample::rate(seconds, updates)
        .with("walker", visits)
        .check_none(wrong, "walks had a wrong count")
        .check_none(leaves, "leaves are wrong or missing"))
}
