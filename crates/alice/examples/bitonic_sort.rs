//! Sorts a million numbers as a bitonic network: blocks are compared two by two, and the smaller
//! numbers go one way, the greater ones the other. The keys alone say what waits for what.
//!
//! `cargo run --release -p alice --example bitonic_sort`

use std::error::Error;
use std::time::Instant;

use alice::{Key, Node, Wait, take};

const BLOCKS: usize = 8;
const BLOCK_LEN: u64 = 125_000;

type Block = Vec<u64>;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new();
    let key = |stage: usize, at: usize| Key::<Block>::named(format!("{stage}, block {at}"));
    for at in 0..BLOCKS {
        node.code("sort").when(take(&key(0, at))).to(&key(1, at)).once(|block, sorted| {
            block.get_mut().expect("nobody else has it").sort_unstable();
            sorted.flip(block)
        })?;
    }
    let mut stage = 1;
    for (size, step) in steps() {
        for low in (0..BLOCKS).filter(|at| at & step == 0) {
            let high = low | step;
            // In every other group the greater numbers go down.
            let (small, great) = if low & size == 0 { (low, high) } else { (high, low) };
            let both = (take(&key(stage, low)), take(&key(stage, high)));
            let ends = (&key(stage + 1, small), &key(stage + 1, great));
            node.code("exchange").when(both).to(ends).once(|(a, b), (small, great)| {
                let mut all: Block = a.iter().chain(b.iter()).copied().collect();
                // Two sorted runs: this sort finds them, and merges.
                all.sort();
                great.put(all.split_off(a.len()))?;
                small.put(all)
            })?;
        }
        stage += 1;
    }
    let begun = Instant::now();
    for at in 0..BLOCKS {
        node.put(&key(0, at), scrambled(at as u64))?;
    }
    let ends: Vec<_> = (0..BLOCKS).map(|at| take(&key(stage, at))).collect();
    let sorted = node.wait_for(ends, Wait::for_ever())?;
    let took = begun.elapsed();
    let mut numbers = sorted.iter().flat_map(|block| block.iter());
    assert!(numbers.by_ref().is_sorted(), "the network does not sort");
    let count: usize = sorted.iter().map(|block| block.len()).sum();
    println!("{count} numbers in {BLOCKS} blocks sorted in {took:.1?}");
    Ok(())
}

/// The stages of the network: groups of `size` blocks are merged by steps of `step`.
fn steps() -> impl Iterator<Item = (usize, usize)> {
    let sizes = (1..).map(|power| 1 << power).take_while(|size| *size <= BLOCKS);
    sizes.flat_map(|size| {
        std::iter::successors(Some(size / 2), |step| Some(step / 2))
            .take_while(|step| *step > 0)
            .map(move |step| (size, step))
    })
}

fn scrambled(block: u64) -> Block {
    let number = |at: u64| (block * BLOCK_LEN + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..BLOCK_LEN).map(number).collect()
}
