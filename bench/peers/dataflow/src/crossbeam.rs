//! Crossbeam's unbounded channel, in one thread.

use std::time::Instant;

use crossbeam_channel::unbounded;

use crate::support::{LARGE_BYTES, LINKS, Options, Outcome, PAIRS};

pub fn measure(options: &Options) -> Option<Outcome> {
    match options.case.as_str() {
        "chain" => Some(Outcome::of(LINKS, "us", chain)),
        "put-take-8" => Some(Outcome::of(PAIRS, "ns", small)),
        "put-take-4mb" => Some(Outcome::of(PAIRS, "ns", large)),
        _ => None,
    }
}

/// A thread that takes what it put.
fn chain() -> (f64, bool) {
    let (sender, receiver) = unbounded();
    let begun = Instant::now();
    let thread = std::thread::spawn(move || {
        sender.send(0u64).expect("it is open");
        loop {
            let number = receiver.recv().expect("it is open");
            if number == LINKS {
                return number;
            }
            sender.send(number + 1).expect("it is open");
        }
    });
    let links = thread.join().expect("it ends");
    (begun.elapsed().as_secs_f64(), links == LINKS)
}

fn small() -> (f64, bool) {
    let (sender, receiver) = unbounded();
    let (begun, mut sum) = (Instant::now(), 0);
    for number in 0..PAIRS {
        sender.send(number).expect("it is open");
        sum += receiver.recv().expect("it is open");
    }
    (begun.elapsed().as_secs_f64(), sum == PAIRS * (PAIRS - 1) / 2)
}

fn large() -> (f64, bool) {
    let (sender, receiver) = unbounded();
    let mut data = vec![7u8; LARGE_BYTES];
    let begun = Instant::now();
    for _ in 0..PAIRS {
        sender.send(data).expect("it is open");
        data = receiver.recv().expect("it is open");
    }
    (begun.elapsed().as_secs_f64(), data.len() == LARGE_BYTES)
}
