//! What the documents say to type with `curl`, typed: every `sh` block with it, in order, against a
//! server as the block starts it, on a free port. Each request must be done, and what the text
//! around the blocks says of the answers must be in them. Programs between them in Python and
//! TypeScript (those are JavaScript as well) are run, too, where that is installed.

use std::path::Path;
use std::process::Command;

use crate::Folder;
use crate::serving::Serving;

/// Where the documents say that it listens.
const TOLD: &str = "http://127.0.0.1:7070";

/// No request takes so long, unless something is wrong; and what goes on for ever is looked at
/// until the first event.
const CURL: &str = r#"
curl() {
    local watching line
    case " $* " in
    *" -N "*)
        exec 3< <(command curl -sSf --max-time 60 "$@")
        watching=$!
        while read -r line <&3; do
            printf '%s\n' "$line"
            case $line in data:*) break ;; esac
        done
        kill "$watching" ;;
    *)
        command curl -sSf --max-time 60 "$@" && echo ;;
    esac
}
"#;

#[test]
fn the_readme_is_right_about_curl() {
    check(
        "README.md",
        &[
            r#""created":["/0"]"#,
            r#""done":{"type":"bool","value":false}"#,
            r#""op":"put","path":"/0","attribute":"done""#,
            "event: change",
        ],
    );
}

#[test]
fn the_introduction_is_right_about_curl() {
    let mut answers = vec![r#""created":["/0"]"#, r#""text":{"type":"text","value":"buy milk"}"#];
    let programs = [("python3", "'value': 'call ben'"), ("node", "value: 'water the tree'")];
    answers.extend(programs.iter().filter(|(command, _)| is_there(command)).map(|it| it.1));
    answers.extend([
        r#""conflict_count":1"#,
        "there is a conflict",
        r#""shop":{"type":"text","value":"the corner"}"#,
        r#""value":"buy two cartons of oat milk""#,
        "somebody was quicker",
        r#""done":{"type":"bool","value":true}"#,
        r#""tree":"done""#,
    ]);
    check("docs/api.md", &answers);
}

#[test]
fn the_handbook_is_right_about_curl() {
    check(
        "docs/operations.md",
        &[
            r#""asked":{"name":"nightly"}"#,
            r#""state":"done""#,
            r#""asked":{"compact":true}"#,
            r#""policy":"30d""#,
            r#""complete_from":1"#,
        ],
    );
}

/// Runs the blocks of a document; `answers` are pieces of what is printed, in order.
#[track_caller]
fn check(document: &str, answers: &[&str]) {
    if !is_there("curl") {
        println!("left out: there is no curl");
        return;
    }
    let name = document.replace(['/', '.'], "_");
    let folder = Folder::new(&format!("curl_{name}"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = blocks(&std::fs::read_to_string(root.join(document)).unwrap());
    assert!(script.contains("curl"), "{document} has no block with curl");
    let (starts, script): (Vec<&str>, Vec<&str>) =
        script.lines().partition(|line| line.starts_with("jungle serve "));
    let args = starts.first().map_or("--data data", |start| arguments(start));
    let args: Vec<&str> = args.split(' ').collect();
    let serving = Serving::start(&folder, &args);
    let script = script.join("\n").replace(TOLD, serving.url());
    let script = format!("set -euo pipefail\n{CURL}\n{script}\n");
    let mut shell = Command::new("bash");
    let output = shell.args(["-c", &script]).current_dir(&folder.0).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{document}: {errors}\n{told}");
    let mut rest = &*told;
    for answer in answers {
        let found = rest.find(answer).unwrap_or_else(|| panic!("{document}: {answer}: {told}"));
        rest = &rest[found..];
    }
}

fn is_there(command: &str) -> bool {
    let there = Command::new(command).arg("--version").output().is_ok();
    if !there {
        println!("left out: there is no {command}");
    }
    there
}

/// What a line that starts a server says behind `serve`; where it listens is the test's.
fn arguments(start: &str) -> &str {
    let listen = format!(" --listen {} &", TOLD.trim_start_matches("http://"));
    let args = start.strip_prefix("jungle serve ").and_then(|start| start.strip_suffix(&listen));
    args.unwrap_or_else(|| panic!("{start} does not end with {listen}"))
}

/// The blocks with `curl` and those that are programs, one behind the other.
fn blocks(document: &str) -> String {
    let blocks = document.split("\n```").skip(1).step_by(2);
    let run = |block: &str| match block.split_once('\n')? {
        ("sh", code) if code.contains("curl ") => Some(code.to_owned()),
        ("python", code) => Some(program("python3", "-", code)),
        ("ts", code) => Some(program("node", "--input-type=module -", code)),
        _ => None,
    };
    blocks.filter_map(run).collect::<Vec<_>>().join("\n")
}

/// Left out where it is not installed.
fn program(command: &str, args: &str, code: &str) -> String {
    format!("if command -v {command} > /dev/null; then {command} {args} <<'END'\n{code}\nEND\nfi")
}
