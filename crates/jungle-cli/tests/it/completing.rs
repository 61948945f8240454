//! What shells are told of a folder while a line is written, and the scripts that ask for it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jungle::OpenOptions;

use crate::{Ended, Folder, without_settings};

/// What bash divides words at unless it is told otherwise.
const BREAKS: &str = " \t\n\"'@><=;|&(:";

const BOARD: &str = r#"{
    "stars": 7, "state": "open", "a b": {"x": 1}, "it's": {"y": [1]}, "s/t": {"z": 1},
    "k@v": {"n": 1}, "list": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
}"#;

/// A folder with one `d` in it that has trees.
fn filled(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("board.json", BOARD);
    folder.run(&["import", "d", "board", "board.json"]).check_code(0);
    for tree in ["bored", "to do"] {
        folder.run(&["trees", "d", "--create", tree]).check_code(0);
    }
    folder
}

/// What is told of a line of these words, behind the name of the command.
#[track_caller]
fn check(folder: &Folder, words: &[&str], expected: &[&str]) {
    let asked = [&["complete", "zsh", "jungle"][..], words].concat();
    folder.run(&asked).check(0, &lines(expected), "");
}

#[track_caller]
fn check_bash(folder: &Folder, line: &str, expected: &[&str]) {
    folder.run(&["complete", "bash", line, BREAKS]).check(0, &lines(expected), "");
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn trees_and_paths_are_told() {
    let folder = filled("completing");
    check(&folder, &["get", "d", "bo"], &["board", "bored"]);
    check(&folder, &["get", "d", ""], &["board", "bored", "to do"]);
    check(&folder, &["trees", "d", "--delete", "t"], &["to do"]);
    check(&folder, &["audit", "d", "--tree", "bo"], &["board", "bored"]);
    check(&folder, &["--json", "ls", "--limit", "3", "./d", "bor"], &["bored"]);
    let all = ["/stars", "/state", "/a b/", "/it's/", "/k@v/", "/list/", r#"/"s/t"/"#];
    check(&folder, &["ls", "d", "board", ""], &all);
    check(&folder, &["ls", "d", "board", "/"], &all);
    check(&folder, &["put", "d", "board", "/st"], &["/stars", "/state"]);
    check(&folder, &["get", "d", "board", "/a b/"], &["/a b/x"]);
    check(&folder, &["get", "d", "board", r#"/"s"#], &[r#"/"s/t"/"#]);
    check(&folder, &["get", "d", "board", r#"/"s/t"/"#], &[r#"/"s/t"/z"#]);
    check(&folder, &["get", "d", "board", "/list/1"], &["/list/1", "/list/10", "/list/11"]);
    check(&folder, &["get", "d", "board", "list/11"], &["list/11"]);
    check(&folder, &["log", "--", "d", "board", "/li"], &["/list/"]);
}

#[test]
fn paths_are_told_of_the_version_that_is_said() {
    let folder = filled("completing-versions");
    folder.run(&["tag", "d", "board", "one"]).check_code(0);
    folder.run(&["put", "d", "board", "/later", "1"]).check_code(0);
    folder.run(&["branch", "d", "board", "draft"]).check_code(0);
    folder.run(&["put", "d", "board", "/lost", "1", "--branch", "draft"]).check_code(0);
    check(&folder, &["get", "d", "board", "/l"], &["/later", "/list/"]);
    check(&folder, &["get", "d", "board", "--at", "one", "/l"], &["/list/"]);
    let of_draft = ["/later", "/lost", "/list/"];
    for said in ["--branch draft", "--branch=draft", "-b draft", "-bdraft"] {
        let words = ["rm", "d", "board"].into_iter().chain(said.split(' ')).chain(["/l"]);
        check(&folder, &words.collect::<Vec<_>>(), &of_draft);
    }
    check(&folder, &["get", "d", "board", "--at", "o"], &["one"]);
    check(&folder, &["merge", "d", "board", ""], &["main", "draft", "one"]);
    check(&folder, &["diff", "d", "board", "one", "d"], &["draft"]);
    check(&folder, &["diff", "d", "board", "one", "/la"], &["/later"]);
}

#[test]
fn where_nothing_is_known_nothing_is_told() {
    let folder = filled("completing-nothing");
    for words in [
        &[""][..],
        &[],
        &["ge"],
        &["nothing", "d", ""],
        &["get", "d"],
        &["get", "d", "-"],
        &["get", "d", "board", "--sp"],
        &["get", "d", "boards", "/"],
        &["get", "d", "board", "/nothing/"],
        &["get", "d", "board", r#"/"a"b"#],
        &["get", "d", "board", "--at", "nothing", "/"],
        &["get", "nowhere", "bo"],
        &["get", "board.json", "/"],
        &["get", ".", "bo"],
        &["get", "http://127.0.0.1:1/", "bo"],
        &["put", "d", "board", "/stars", "bo"],
        &["put", "d", "board", "/stars", "1", "-m", "bo"],
        &["serve", "--data", "d"],
    ] {
        check(&folder, words, &[]);
    }
    for asked in [&["complete"][..], &["complete", "tcsh", "jungle"], &["complete", "bash", "x"]] {
        folder.run(asked).check(0, "", "");
    }
    let help = folder.run(&["--help"]).out;
    assert!(!help.lines().any(|line| line.trim_start().starts_with("complete ")), "{help}");
}

#[test]
fn a_folder_that_is_damaged_is_told_as_nothing() {
    let folder = filled("completing-damaged");
    let log = folder.0.join("d/log/00000000000000000001.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[70] ^= 1;
    fs::write(&log, bytes).unwrap();
    check(&folder, &["get", "d", "bo"], &[]);
}

#[test]
fn of_many_children_some_are_told() {
    let folder = Folder::new("completing-many");
    let elements: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    folder.write("many.json", &format!(r#"{{"list":[{}]}}"#, elements.join(",")));
    folder.run(&["import", "d", "many", "many.json"]).check_code(0);
    let told = folder.run(&["complete", "zsh", "jungle", "get", "d", "many", "/list/"]);
    assert_eq!(told.out.lines().count(), 200);
    let behind = (0..10).map(|digit| format!("/list/1999{digit}"));
    let expected: Vec<String> = ["/list/1999".to_owned()].into_iter().chain(behind).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check(&folder, &["get", "d", "many", "/list/1999"], &expected);
}

#[test]
fn bash_is_told_what_it_can_put_in() {
    let folder = filled("completing-bash-lines");
    check_bash(&folder, "jungle get d to", &[r"to\ do"]);
    check_bash(&folder, "jungle get 'd' \"to", &["to do"]);
    check_bash(&folder, "jungle get d board /a", &[r"/a\ b/"]);
    check_bash(&folder, "jungle get d board '/a", &["/a b/"]);
    check_bash(&folder, r"jungle get d board /a\ b/", &[r"/a\ b/x"]);
    check_bash(&folder, "jungle get d board '/a b/'", &[r"/a\ b/x"]);
    check_bash(&folder, "jungle get d board /i", &[r"/it\'s/"]);
    check_bash(&folder, "jungle get d board '/i", &[r"/it'\''s/"]);
    check_bash(&folder, "jungle get d board \"/it's/", &["/it's/y/"]);
    check_bash(&folder, "jungle get d board '/\"s", &[r#"/"s/t"/"#]);
    check_bash(&folder, "jungle get d board /\\\"s", &[r#"/\"s/t\"/"#]);
    // What is in front of it stays on the line.
    check_bash(&folder, "jungle get d board /k@", &["v/"]);
    check_bash(&folder, r"jungle get d board /k\@", &["/k@v/"]);
}

#[test]
fn nothing_is_written_and_a_writer_is_not_in_the_way() {
    let folder = filled("completing-locked");
    folder.run(&["gc", "d"]).check_code(0);
    let before = contents(&folder.0.join("d"));
    check(&folder, &["get", "d", "board", "/st"], &["/stars", "/state"]);
    assert!(before == contents(&folder.0.join("d")));

    let writer = OpenOptions::new().checkpoint_every(u64::MAX).open(folder.0.join("d")).unwrap();
    writer.create_tree("bound").unwrap();
    let board = writer.open_tree("board").unwrap();
    board.update(|tx| tx.put_attribute(&[], "still", true)).unwrap();
    check(&folder, &["get", "d", "bo"], &["board", "bored", "bound"]);
    check(&folder, &["get", "d", "board", "/st"], &["/stars", "/state", "/still"]);
    board.update(|tx| tx.put_attribute(&[], "still", false)).unwrap();
}

/// All files of a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let bytes = fs::read(&entry).unwrap();
                found.insert(entry, bytes);
            }
        }
    }
    found
}

/// Runs a program of a shell beside the script for that shell, with the command in the path.
fn in_shell(folder: &Folder, shell: &str, options: &[&str], program: &str) -> Ended {
    folder.write("script", &folder.run(&["completions", shell]).out);
    let ours = Path::new(env!("CARGO_BIN_EXE_jungle")).parent().unwrap().to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([ours].into_iter().chain(env::split_paths(&others))).unwrap();
    let mut command = Command::new(shell);
    command.args(options).args(["-c", program]).env("PATH", path).current_dir(&folder.0);
    without_settings(&mut command);
    Ended::new(command.output().unwrap())
}

/// What bash is given for a line, told as bash tells it: all of it, and its words as it divides
/// them.
#[track_caller]
fn check_in_bash(folder: &Folder, line: &str, words: &[&str], expected: &[&str]) {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let listed: Vec<String> = words.iter().copied().map(quoted).collect();
    let program = format!(
        r#"source ./script
        COMP_LINE={}
        COMP_POINT=${{#COMP_LINE}}
        COMP_WORDS=({})
        COMP_CWORD={}
        COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
        _jungle jungle "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
        printf '%s\n' "${{COMPREPLY[@]}}""#,
        quoted(line),
        listed.join(" "),
        words.len() - 1,
    );
    in_shell(folder, "bash", &["--norc", "--noprofile"], &program).check(0, &lines(expected), "");
}

#[test]
fn bash_completes_what_is_in_a_folder() {
    let folder = filled("completing-bash");
    check_in_bash(&folder, "jungle get d to", &["jungle", "get", "d", "to"], &[r"to\ do"]);
    let words = ["jungle", "get", "d", "board", "/st"];
    check_in_bash(&folder, "jungle get d board /st", &words, &["/stars", "/state"]);
    let words = ["jungle", "get", "d", "board", "'/a"];
    check_in_bash(&folder, "jungle get d board '/a", &words, &["/a b/"]);
    // Commands and options are completed as before.
    check_in_bash(&folder, "jungle expo", &["jungle", "expo"], &["export"]);
    let words = ["jungle", "get", "d", "board", "--pre"];
    check_in_bash(&folder, "jungle get d board --pre", &words, &["--pretty"]);
}

#[test]
fn zsh_completes_what_is_in_a_folder() {
    if !is_there("zsh") {
        return;
    }
    let folder = filled("completing-zsh");
    // The parts of its own completion that are asked are told, not done.
    let program = r#"
        compdef() { : }
        compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
        typeset -A compstate
        source ./script
        CURRENT=4 PREFIX=to words=(jungle get d to); _jungle
        CURRENT=5 PREFIX='/a\ ' words=(jungle get d board '/a\ '); _jungle
        CURRENT=5 PREFIX='/it' words=(jungle get "'d'" board "'/it"); compstate[quote]=\'; _jungle
    "#;
    let expected = ["to do", "/a b/", "/it's/"];
    in_shell(&folder, "zsh", &["-f"], program).check(0, &lines(&expected), "");
}

#[test]
fn fish_completes_what_is_in_a_folder() {
    if !is_there("fish") {
        return;
    }
    let folder = filled("completing-fish");
    let program = "source ./script; complete -C 'jungle get d board /st'";
    let ended = in_shell(&folder, "fish", &["--no-config"], program);
    ended.check(0, &lines(&["/stars", "/state"]), "");
}

fn is_there(shell: &str) -> bool {
    let there = Command::new(shell).arg("--version").output().is_ok();
    if !there {
        println!("left out: there is no {shell}");
    }
    there
}
