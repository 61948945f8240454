//! Rayon: closures that spawn the next one, and its own parallel sort.

use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::support::{LINKS, Options, Outcome, Rng};

pub fn measure(options: &Options) -> Option<Outcome> {
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build().expect("threads");
    match options.case.as_str() {
        "chain" => Some(Outcome::of(LINKS, "us", || chain(&pool))),
        "tree" => Some(sort(&pool, options.seed)),
        _ => None,
    }
}

fn chain(pool: &ThreadPool) -> (f64, bool) {
    let (end, ended) = channel();
    let begun = Instant::now();
    pool.spawn(move || link(1, end));
    let links = ended.recv().expect("the end of the chain");
    (begun.elapsed().as_secs_f64(), links == LINKS)
}

fn link(number: u64, end: Sender<u64>) {
    if number < LINKS {
        rayon::spawn(move || link(number + 1, end));
    } else {
        end.send(number).expect("somebody waits for the end");
    }
}

fn sort(pool: &ThreadPool, seed: u64) -> Outcome {
    let mut rng = Rng(seed);
    let unsorted: Vec<i64> = (0..1_000_000).map(|_| rng.bits() as i64).collect();
    Outcome::of(unsorted.len() as u64, "us", || {
        let mut numbers = unsorted.clone();
        let begun = Instant::now();
        pool.install(|| numbers.par_sort_unstable());
        (begun.elapsed().as_secs_f64(), numbers.is_sorted())
    })
}
