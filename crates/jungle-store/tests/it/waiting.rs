//! Whoever opens a folder to write can wait for those who only read it.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
use jungle_store::{OpenError, OpenOptions};

#[test]
fn a_writer_waits_for_readers_and_not_for_another_writer() {
    let disk = SimDisk::new();
    let open = |options: OpenOptions| options.open_on(Arc::new(disk.clone()));
    let patient = || OpenOptions::new().wait_for_readers(Duration::from_secs(600));
    open(OpenOptions::new()).unwrap().close().unwrap();
    let reader = open(OpenOptions::new().read_only()).unwrap();
    let brief = OpenOptions::new().wait_for_readers(Duration::from_millis(1));
    for options in [OpenOptions::new(), brief] {
        assert!(matches!(open(options), Err(OpenError::Locked { .. })));
    }
    let (tell, told) = mpsc::channel();
    let (waits, mut locks) = (tell.clone(), 0);
    disk.watch(move |call, _| {
        locks += i32::from(call.kind == CallKind::Lock);
        // The first was refused, the second found that it is only read.
        if locks == 3 {
            let _ = waits.send(());
        }
        Fate::Go
    });
    let opened = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let opened = open(patient());
            let _ = tell.send(());
            opened
        });
        told.recv().unwrap();
        drop(reader);
        writer.join().unwrap()
    });
    disk.unwatch();
    let writer = opened.unwrap();
    assert!(matches!(open(patient()), Err(OpenError::Locked { .. })));
    writer.create_tree("t").unwrap();
}
