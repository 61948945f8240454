//! Sessions with the real command, as a reader would type them: the `console` blocks of
//! `tests/transcripts/*.md` and of the README. A line with a `$` is run by a shell, in a folder
//! that is empty at first; what follows is what it must print, both streams, times left out, and a
//! last line `? N` where it ends with the code N.
//!
//! `JUNGLE_BLESS=1` writes down what was printed instead: read the difference before committing it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Folder;

#[test]
fn sessions_go_as_they_are_told() {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("tests/transcripts"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        check(&file);
    }
}

#[test]
fn the_readme_goes_as_it_is_told() {
    check(&root().join("../../README.md"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs all blocks of a file, in one folder.
fn check(file: &Path) {
    let name = file.file_stem().unwrap().to_string_lossy();
    let folder = Folder::new(&format!("transcript_{name}"));
    let told = fs::read_to_string(file).unwrap();
    let mut found = String::new();
    let mut blocks = 0;
    let mut lines = told.lines();
    while let Some(line) = lines.next() {
        writeln!(found, "{line}").unwrap();
        if line != "```console" {
            continue;
        }
        blocks += 1;
        for line in lines.by_ref().take_while(|line| *line != "```") {
            if let Some(command) = line.strip_prefix("$ ") {
                writeln!(found, "{line}\n{}", run(&folder, command)).unwrap();
                if found.ends_with("\n\n") {
                    found.pop();
                }
            }
        }
        writeln!(found, "```").unwrap();
    }
    assert!(blocks > 0, "{} has no console block", file.display());
    if std::env::var_os("JUNGLE_BLESS").is_some() {
        fs::write(file, found).unwrap();
    } else {
        assert_eq!(found, told, "{}", file.display());
    }
}

/// What a command prints, without the last line feed.
fn run(folder: &Folder, command: &str) -> String {
    let jungle = Path::new(env!("CARGO_BIN_EXE_jungle"));
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    super::without_settings(&mut shell);
    let output = shell
        .args(["-c", command])
        .current_dir(&folder.0)
        .env("PATH", format!("{}:{path}", jungle.parent().unwrap().display()))
        .env("HOME", &folder.0)
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    match output.status.code().unwrap() {
        0 => {}
        code => writeln!(text, "? {code}").unwrap(),
    }
    without_times(text.trim_end_matches('\n'))
}

/// Times change from run to run, and so do the bytes that hold them.
pub(crate) fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    let length = "2026-11-22T01:30:00.123456Z".len();
    while let Some(at) = text.match_indices('T').map(|(at, _)| at).find(|&at| {
        let time = at.checked_sub(10).and_then(|from| text.get(from..from + length));
        time.is_some_and(|time| time.ends_with('Z') && time[11..].contains(':') && is_date(time))
    }) {
        text.replace_range(at - 10..at - 10 + length, "<time>");
    }
    text
}

fn is_date(time: &str) -> bool {
    time.bytes().take(10).all(|byte| byte.is_ascii_digit() || byte == b'-')
}
