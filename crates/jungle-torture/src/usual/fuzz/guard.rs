//! What must not happen while an input is taken: that it is lost, or that it takes all memory.

use std::fs;
use std::path::Path;
use std::thread;

/// The most memory that all of the process may have in use. A suite that goes well takes a third.
const RESIDENT_KB_MAX: u64 = 768 << 10;

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

/// Panics when the process has ever had more memory in use than it should, where that is told. The
/// address sanitizer, which `cargo xtask asan` sets up by this name, takes more for itself.
pub fn memory_is_bounded() {
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        return;
    }
    let Ok(status) = fs::read_to_string(Path::new("/proc/self/status")) else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    if let Some(peak) = peak {
        assert!(peak <= RESIDENT_KB_MAX, "{peak} kB of memory in use, of {RESIDENT_KB_MAX}");
    }
}
