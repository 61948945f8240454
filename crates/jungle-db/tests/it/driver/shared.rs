//! One log that several Jungles follow.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jungle_db::{CommitRecord, Jungle, SequenceError, Sequencer};
use jungle_testkit::Rng;

type Records = Arc<Mutex<Vec<CommitRecord>>>;

/// A Jungle, and how far it has followed the log. It goes with this.
pub struct Follower {
    records: Records,
    jungle: Mutex<Option<Jungle>>,
    rng: Mutex<Rng>,
}

impl Follower {
    /// Makes a Jungle follow the log, and add to it.
    pub fn new(records: &Records, jungle: &Jungle, rng: &mut Rng) -> Arc<Follower> {
        let follower = Arc::new(Follower {
            records: Arc::clone(records),
            jungle: Mutex::new(Some(jungle.clone())),
            rng: Mutex::new(rng.fork()),
        });
        assert!(jungle.sequence_with(Arc::clone(&follower) as Arc<dyn Sequencer>));
        follower
    }

    /// Follows what others have added.
    pub fn catch_up(&self) {
        self.follow(&lock(&self.records));
    }

    /// Lets go of the Jungle, which nobody may change any more.
    pub fn end(&self) {
        lock(&self.jungle).take();
    }

    fn follow(&self, records: &[CommitRecord]) {
        let jungle = lock(&self.jungle);
        let jungle = jungle.as_ref().expect("it has not ended");
        let here = jungle.revision().number() as usize;
        for record in &records[here..] {
            jungle.follow(record).expect("it fits wherever it is followed");
        }
    }
}

impl Sequencer for Follower {
    fn sequence(&self, new: &[CommitRecord]) -> Result<usize, SequenceError> {
        let mut records = lock(&self.records);
        let mut placed = 0;
        if new[0].revision.number() == records.len() as u64 + 1 {
            // Somebody may have come in between.
            placed = lock(&self.rng).below(new.len() as u64 + 3).min(new.len() as u64) as usize;
            records.extend_from_slice(&new[..placed]);
        }
        self.follow(&records);
        Ok(placed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
