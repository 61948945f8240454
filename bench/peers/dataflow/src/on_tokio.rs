//! Tokio: tasks that spawn the next one, and its unbounded channel, in one task.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use crate::support::{LARGE_BYTES, LINKS, Options, Outcome, PAIRS};

pub fn measure(options: &Options) -> Option<Outcome> {
    let runtime = Builder::new_multi_thread().worker_threads(options.threads).build();
    let runtime = runtime.expect("threads");
    match options.case.as_str() {
        "chain" => Some(Outcome::of(LINKS, "us", || chain(&runtime))),
        "put-take-8" => Some(Outcome::of(PAIRS, "ns", || runtime.block_on(small()))),
        "put-take-4mb" => Some(Outcome::of(PAIRS, "ns", || runtime.block_on(large()))),
        _ => None,
    }
}

fn chain(runtime: &Runtime) -> (f64, bool) {
    let (end, ended) = oneshot::channel();
    let begun = Instant::now();
    runtime.spawn(link(1, end));
    let links = runtime.block_on(ended).expect("the end of the chain");
    (begun.elapsed().as_secs_f64(), links == LINKS)
}

fn link(number: u64, end: oneshot::Sender<u64>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if number < LINKS {
            tokio::spawn(link(number + 1, end));
        } else {
            end.send(number).expect("somebody waits for the end");
        }
    })
}

async fn small() -> (f64, bool) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (begun, mut sum) = (Instant::now(), 0);
    for number in 0..PAIRS {
        sender.send(number).expect("it is open");
        sum += receiver.recv().await.expect("it is open");
    }
    (begun.elapsed().as_secs_f64(), sum == PAIRS * (PAIRS - 1) / 2)
}

async fn large() -> (f64, bool) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut data = vec![7u8; LARGE_BYTES];
    let begun = Instant::now();
    for _ in 0..PAIRS {
        sender.send(data).expect("it is open");
        data = receiver.recv().await.expect("it is open");
    }
    (begun.elapsed().as_secs_f64(), data.len() == LARGE_BYTES)
}
