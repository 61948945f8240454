//! An image that is on its way to somewhere slow keeps collections waiting, and nobody else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use jungle_db::Jungle;
use jungle_tree::SavedImage;

use crate::support::append;

#[test]
fn a_collection_that_waits_for_an_image_keeps_no_writer_waiting() {
    /// A collection has asked by then, if ever.
    const COMMITS: usize = 20_000;
    let jungle = Jungle::new().unwrap();
    let tree = jungle.create_tree("t").unwrap();
    append(&tree, &[]);
    let is_collected = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut is_begun = false;
        let saved = jungle.arena().save(&SavedImage::default(), |_, _| {
            if std::mem::replace(&mut is_begun, true) {
                return Ok(());
            }
            scope.spawn(|| {
                jungle.collect().unwrap();
                is_collected.store(true, Ordering::SeqCst);
            });
            let (done, is_done) = channel();
            let tree = tree.clone();
            thread::spawn(move || {
                (0..COMMITS).for_each(|_| drop(append(&tree, &[])));
                done.send(()).unwrap();
            });
            is_done.recv_timeout(Duration::from_secs(60)).map_err(|_| "writers wait")
        });
        saved.unwrap();
    });
    assert!(is_collected.load(Ordering::SeqCst));
}
