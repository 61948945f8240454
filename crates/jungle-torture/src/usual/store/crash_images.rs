//! What would be found if power were lost while something is done.

use std::sync::{Arc, Mutex};

use jungle_store::disk::sim::{Fate, Keep, SimDisk};
use jungle_testkit::Rng;

/// All that a crash may keep, each as likely as another.
pub const KEEPS: [Keep; 4] = [Keep::Nothing, Keep::All, Keep::Prefix, Keep::Random];

/// Does something; gives what a crash in front of each call that changes the disk leaves, if `keep`
/// says what it keeps of what was not synced.
pub fn crash_images<T>(
    disk: &SimDisk,
    rng: &mut Rng,
    keep: fn(&mut Rng) -> Option<Keep>,
    work: impl FnOnce() -> T,
) -> (T, Vec<SimDisk>) {
    let images = Arc::new(Mutex::new(Vec::new()));
    let (kept, mut fork) = (Arc::clone(&images), rng.fork());
    disk.watch(move |call, world| {
        if call.kind.changes()
            && let Some(keep) = keep(&mut fork)
        {
            let image = world.crash(keep, &mut |below| fork.below(below));
            kept.lock().expect("nothing panics while it is held").push(image);
        }
        Fate::Go
    });
    let done = work();
    disk.unwatch();
    let images = std::mem::take(&mut *images.lock().expect("nothing panics while it is held"));
    (done, images)
}
