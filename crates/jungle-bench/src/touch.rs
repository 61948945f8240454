//! Memory that is at hand. A machine that is a guest gives what it leaves free back to its host
//! within seconds, huge pages at once, and whoever touches them next waits until the host has found
//! some: on the machine of `docs/measurements` 2.3 s a gigabyte, against 0.09 s to clear what it
//! still has. That is as long as the writes themselves take that are to be measured, and what was
//! before a measurement, a rest or another's, would decide about it. So before each that takes much
//! memory all that it will take is touched, whichever system it is of.

use std::io;

use memmap2::MmapMut;

/// At least as small as pages are.
const PAGE_BYTES: usize = 4096;

/// Touches so many bytes, or half of the machine's memory if that is less, and gives them back.
///
/// # Errors
/// When the system has no room for them.
pub fn touch(bytes: u64, machine_bytes: u64) -> io::Result<()> {
    let bytes = usize::try_from(bytes.min(machine_bytes / 2)).unwrap_or(0);
    if bytes == 0 {
        return Ok(());
    }
    let mut memory = MmapMut::map_anon(bytes)?;
    // Of these there are others than of small ones. Where there are none, small ones are touched.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    memory.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
    // It is written to until the end, whatever the compiler sees of it.
    std::hint::black_box(memory);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::touch;

    #[test]
    fn each_page_is_asked_for() {
        // How often this thread has been given a page, which may be one of 2 MB.
        let given = || {
            let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
            let fields = text.rsplit_once(')').unwrap().1;
            fields.split_whitespace().nth(7).unwrap().parse::<u64>().unwrap()
        };
        let before = given();
        touch(200 << 20, 1 << 40).unwrap();
        assert!(given() >= before + 100);
        // No more than half of what there is, and nothing of nothing.
        let before = given();
        touch(u64::MAX, 8 << 20).unwrap();
        touch(0, 1 << 40).unwrap();
        assert!(given() < before + 2000);
    }
}
