//! No point of a suite may take for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::options::Options;

/// Who is at what since when.
type Turns = Arc<Mutex<HashMap<ThreadId, (Instant, String)>>>;

/// Ends the process, as failed, when something takes for ever.
pub struct Patience(Turns);

impl Patience {
    /// Longer than any seed takes, on a machine that has much else to do; of a bug that is awake
    /// others wait to hear.
    pub fn begin(options: &Options) -> Patience {
        let most = Duration::from_secs(if options.wake.is_some() { 20 } else { 120 });
        let turns = Turns::default();
        let watched = Arc::clone(&turns);
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                let turns = watched.lock().expect("nothing panics while it is held");
                let late = turns.values().find(|(since, _)| since.elapsed() > most);
                if let Some((_, what)) = late {
                    println!("failed, it takes for ever; again: {what}");
                    println!("0 passed, 1 failed");
                    std::process::exit(1);
                }
            }
        });
        Patience(turns)
    }

    /// Something begins; it ends when what is given is dropped.
    pub fn turn(&self, what: String) -> impl Drop + use<> {
        let me = thread::current().id();
        let mut turns = self.0.lock().expect("nothing panics while it is held");
        turns.insert(me, (Instant::now(), what));
        Turn(Arc::clone(&self.0), me)
    }
}

struct Turn(Turns, ThreadId);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.lock().expect("nothing panics while it is held").remove(&self.1);
    }
}
