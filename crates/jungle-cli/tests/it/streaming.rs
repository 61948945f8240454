//! What is written piece by piece may be more than the process ever has in memory.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::Folder;

/// The most memory that a process had so far, in bytes; nothing of one that has ended.
fn memory_max(process: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(most.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
}

#[test]
fn an_export_of_all_revisions_takes_less_memory_than_half_of_its_bytes() {
    const REVISIONS: usize = 48;
    const ROWS: usize = 4096;
    let folder = Folder::new("streaming_export");
    // A row is a KiB, and all of it in each revision.
    let row = format!("\"{}\",", "x".repeat(1021));
    folder.write("a.json", &format!("{{\"n\":0,\"rows\":[{}0]}}", row.repeat(ROWS)));
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let puts: String = (1..REVISIONS).map(|n| format!("put t /n {n}\n")).collect();
    folder.run_with_input(&["shell", "d"], &puts).check_code(0);

    let mut command = folder.command(&["export", "d", "t", "--format", "ndjson"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut written, mut most, mut bytes) = (0_usize, 0_usize, vec![0; 64 << 10]);
    loop {
        let read = out.read(&mut bytes).unwrap();
        if read == 0 {
            break;
        }
        written += read;
        most = most.max(memory_max(child.id()).unwrap_or(0));
    }
    assert!(child.wait().unwrap().success());
    assert!(written > REVISIONS * ROWS * 1024, "{written} bytes");
    assert!(most > 0 && most < written / 2, "{most} bytes of memory for {written}");
}
