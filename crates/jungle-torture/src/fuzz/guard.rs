//! What must not happen while an input is taken: that it is lost, that it takes for ever, that it
//! takes all memory.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The most memory that all of the process may have in use. A suite that goes well takes a third.
const RESIDENT_KB_MAX: u64 = 768 << 10;

/// Longer than any seed takes, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes an input down when what takes it panics.
pub struct Kept<'i> {
    target: &'static str,
    input: &'i [u8],
}

impl<'i> Kept<'i> {
    pub fn new(target: &'static str, input: &'i [u8]) -> Kept<'i> {
        Kept { target, input }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let name = crc32c::crc32c(self.input);
        let Ok(program) = std::env::current_exe() else { return };
        let folder = program.with_file_name("fuzz-found").join(self.target);
        let written = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("{name:08x}")), self.input));
        if written.is_ok() {
            println!("kept as {}/{name:08x}: mend it, and add it to the corpus", folder.display());
        }
    }
}

/// Who is at what since when.
type Turns = Arc<Mutex<HashMap<ThreadId, (Instant, String)>>>;

/// Ends the process when something takes for ever.
pub struct Patience(Turns);

impl Patience {
    pub fn begin() -> Patience {
        let turns = Turns::default();
        let watched = Arc::clone(&turns);
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                let turns = watched.lock().expect("nothing panics while it is held");
                let late = turns.values().find(|(since, _)| since.elapsed() > PATIENCE);
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

/// Panics when the process has ever had more memory in use than it should, where that is told.
pub fn memory_is_bounded() {
    let Ok(status) = fs::read_to_string(Path::new("/proc/self/status")) else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    if let Some(peak) = peak {
        assert!(peak <= RESIDENT_KB_MAX, "{peak} kB of memory in use, of {RESIDENT_KB_MAX}");
    }
}
