//! What two or more did to one tree, told by bytes: a byte for each decision.

use jungle_testkit::Rng;

use super::Target;
use crate::usual::converge;

/// What is merged, or rebased over each other in every order, and checked as in `converge`.
pub const MERGE: Target = Target { name: "merge", samples, words: &[], take: converge::by_bytes };

/// Decisions of a sample: some dozens of edits.
const DECISIONS: usize = 120;

/// Two of each kind of case, which the first byte decides.
fn samples() -> Vec<Vec<u8>> {
    let sample = |kind: u8| {
        let mut rng = Rng::new(u64::from(kind));
        let decisions = (0..DECISIONS).map(|_| rng.next_u64() as u8);
        [kind].into_iter().chain(decisions).collect()
    };
    (0..6).map(sample).collect()
}
