//! What the documents say to type with `curl`, typed: every `sh` block with it, in order, against a
//! server as the block starts it, on a free port. Each request must be done, and what the text
//! around the blocks says of the answers must be in them.

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
        command curl -sSf --max-time 60 "$@"
        echo ;;
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
    check("docs/api.md", &[r#""created":["/0"]"#, r#""text":{"type":"text","value":"buy milk"}"#]);
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
        ],
    );
}

/// Runs the blocks of a document; `answers` are pieces of what is printed, in order.
#[track_caller]
fn check(document: &str, answers: &[&str]) {
    if Command::new("curl").arg("--version").output().is_err() {
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
    let script = script.join("\n").replace(TOLD, serving.told["url"].as_str().unwrap());
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

/// What a line that starts a server says behind `serve`; where it listens is the test's.
fn arguments(start: &str) -> &str {
    let listen = format!(" --listen {} &", TOLD.trim_start_matches("http://"));
    let args = start.strip_prefix("jungle serve ").and_then(|start| start.strip_suffix(&listen));
    args.unwrap_or_else(|| panic!("{start} does not end with {listen}"))
}

/// The blocks with `curl`, one behind the other.
fn blocks(document: &str) -> String {
    let parts = document.split("\n```sh\n").skip(1);
    let blocks = parts.map(|part| part.split("\n```").next().unwrap_or_default());
    let blocks: Vec<&str> = blocks.filter(|block| block.contains("curl ")).collect();
    blocks.join("\n")
}
