//! What is seen on a real pseudo-terminal: bars, colours, and the shell's lines.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::Folder;

/// A command that says nothing for so long waits for what the test does not know of.
const SILENT_MOST: Timespec = Timespec { tv_sec: 120, tv_nsec: 0 };

/// A command before a terminal, that runs.
pub(crate) struct Seen {
    pub(crate) child: std::process::Child,
    terminal: File,
    bytes: Vec<u8>,
    text: String,
    /// Of the text: up to where it was waited for.
    passed: usize,
}

/// Runs a command with a terminal as its input and both of its outputs.
pub(crate) fn start(folder: &Folder, args: &[&str], variables: &[(&str, &str)]) -> Seen {
    start_with(folder, args, variables, None, 0)
}

/// The same, perhaps with another input, on a terminal with so many columns; 0: it does not say.
pub(crate) fn start_with(
    folder: &Folder,
    args: &[&str],
    variables: &[(&str, &str)],
    input: Option<Stdio>,
    columns: u16,
) -> Seen {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let end: OwnedFd =
        ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let stream = || Stdio::from(end.try_clone().unwrap());
    let mut command = folder.command(args);
    command.stdin(input.unwrap_or_else(stream)).stdout(stream()).stderr(stream());
    command.env_remove("PAGER").env_remove("LESS").env("TERM", "xterm");
    command.envs(variables.iter().copied());
    Seen {
        child: command.spawn().unwrap(),
        terminal: terminal.into(),
        bytes: Vec::new(),
        text: String::new(),
        passed: 0,
    }
}

impl Seen {
    /// Reads until something is seen, or else to the end: where nobody has the terminal any more,
    /// that is told as an error.
    pub(crate) fn read_until(&mut self, text: &str) {
        let mut bytes = [0; 4096];
        while !self.text.contains(text) {
            if !self.read(&mut bytes) {
                return;
            }
        }
    }

    /// Reads what is there by now; not so at the end.
    fn read(&mut self, bytes: &mut [u8]) -> bool {
        let mut terminal = [PollFd::new(&self.terminal, PollFlags::IN)];
        let is_told = poll(&mut terminal, Some(&SILENT_MOST)).unwrap() > 0;
        assert!(is_told, "nothing is told any more behind {:?}", self.text);
        let Ok(read) = self.terminal.read(bytes) else { return false };
        self.bytes.extend_from_slice(&bytes[..read]);
        self.text = String::from_utf8_lossy(&self.bytes).into_owned();
        true
    }

    /// Reads until something is seen behind what was waited for before, where nothing goes wrong.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.text[self.passed..].find(text) {
                self.passed += at + text.len();
                return;
            }
            // Of the command, or of a line that it does not understand.
            let is_error = self.text.contains("Error: ") || self.text.contains("error: ");
            let is_well = !is_error && self.read(&mut bytes);
            assert!(is_well, "{text:?} is not seen: {:?}", self.text);
        }
    }

    fn type_keys(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.read_until("\0");
        let code = self.child.wait().unwrap().code();
        (code, self.text.replace("\r\n", "\n"))
    }
}

pub(crate) fn run(
    folder: &Folder,
    args: &[&str],
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    start(folder, args, variables).end()
}

/// What a command prints on a terminal with so many columns, through no pager.
pub(crate) fn run_in_columns(
    folder: &Folder,
    args: &[&str],
    columns: u16,
) -> (Option<i32>, String) {
    start_with(folder, args, &[("JUNGLE_PAGER", "")], None, columns).end()
}

/// A document of so many bytes, half of which are nodes.
fn long(bytes: usize) -> String {
    format!("[{}0] ", "0,".repeat(bytes / 2 - 2))
}

#[test]
fn an_import_shows_a_bar_that_goes_away() {
    let folder = Folder::new("terminal_bar");
    // What takes no longer than half a second has none.
    for mib in [4_usize, 16, 64] {
        let _ = fs::remove_dir_all(folder.0.join("d"));
        folder.write("long.json", &long(mib << 20));
        let import = ["import", "d", "t", "long.json"];
        let (code, text) = start_with(&folder, &import, &[], None, 100).end();
        assert_eq!(code, Some(0), "{text:?}");
        let total = format!("/{mib}.00 MiB ");
        let is_bar = |line: &&str| {
            line.contains("long.json \u{2588}")
                && line.contains("\u{2591} ")
                && line.contains(&total)
        };
        let Some(bar) = text.split(['\r', '\n']).rfind(is_bar) else { continue };
        let behind = text.rsplit_once(bar).unwrap().1;
        let (more, told) = behind.split_once("revision 2: long.json, ").expect("it is told");
        let is_cleared = more.rsplit(&*total).next().is_some_and(|it| it.contains("\x1b[2K"));
        assert!(is_cleared && told.ends_with(" nodes\n"), "{text:?}");
        return;
    }
    panic!("no bar is seen");
}

#[test]
fn a_diff_is_coloured_on_a_terminal_and_plain_in_a_pipe() {
    let folder = Folder::new("terminal_diff");
    folder.write("a.json", r#"{"a":1,"b":2}"#);
    folder.write("b.json", r#"{"a":3,"c":4}"#);
    let diff = ["diff", "a.json", "b.json"];
    folder.run(&diff).check(0, "~ /a: 1 \u{2192} 3\n- /b: 2\n+ /c: 4\n", "");
    let seen = run(&folder, &diff, &[("JUNGLE_PAGER", "")]);
    let colored =
        "\x1b[33m~ /a: 1 \u{2192} 3\x1b[0m\n\x1b[31m- /b: 2\x1b[0m\n\x1b[32m+ /c: 4\x1b[0m\n";
    assert_eq!(seen, (Some(0), colored.to_owned()));
}

const PROMPT: &str = "jungle> ";
const UP: &str = "\x1b[A";
const TO_BEGIN: &str = "\x01";
const BACK: &str = "\x7f";
const ENTER: &str = "\r";

/// A shell whose history is in a folder of the test, and that draws each letter once.
fn shell(folder: &Folder) -> Seen {
    let state = folder.0.join("state");
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap()), ("NO_COLOR", "1")];
    start_with(folder, &["shell", "d"], &variables, None, 100)
}

impl Seen {
    /// Types a line when it is asked for, and waits for what comes of it.
    #[track_caller]
    fn line(&mut self, keys: &[&str], told: &str) {
        self.wait_for(PROMPT);
        self.type_keys(&keys.concat());
        self.type_keys(ENTER);
        self.wait_for(told);
    }

    #[track_caller]
    fn leave(mut self) {
        self.wait_for(PROMPT);
        self.type_keys("exit\r");
        let (code, text) = self.end();
        assert_eq!(code, Some(0), "{text:?}");
    }
}

#[test]
fn lines_of_the_shell_are_edited_and_come_back() {
    let folder = Folder::new("terminal_lines");
    folder.write("a.json", r#"{"a":3}"#);
    folder.run(&["import", "d", "t", "a.json"]).check_code(0);
    let mut seen = shell(&folder);
    seen.line(&["put t /a 4"], "revision 3\r\n");
    // The cursor goes back to where a letter is missing, and over what is too much.
    seen.line(&["et t /ab", BACK, TO_BEGIN, "g"], "4\r\n");
    seen.line(&[UP], "4\r\n");
    seen.line(&[UP, UP, BACK, "5"], "revision 4\r\n");
    seen.leave();
    // Another shell knows them, too.
    let mut seen = shell(&folder);
    seen.line(&[UP, UP], "nothing changed since revision 4\r\n");
    seen.leave();
}

#[test]
fn an_interrupt_ends_what_a_line_prints_and_not_the_shell() {
    let folder = Folder::new("terminal_interrupt");
    // More than a terminal takes before it is read.
    folder.write("long.json", &long(2 << 20));
    folder.run(&["import", "d", "t", "long.json"]).check_code(0);
    for print in ["get t /", "export t"] {
        let mut seen = shell(&folder);
        seen.line(&[print], "0,0,0,0,");
        let id = seen.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let given_up = "Error: it was interrupted, and given up\r\n\
                        Hint: nothing is lost; it can be done again\r\n";
        seen.read_until(given_up);
        let at = seen.text.find(given_up).expect("the line is given up, and the shell is not");
        // What comes behind is without errors again.
        let behind = seen.text.split_off(at + given_up.len());
        (seen.bytes, seen.text, seen.passed) = (behind.clone().into_bytes(), behind, 0);
        seen.leave();
    }
}

#[test]
fn the_shell_completes_commands_trees_and_paths_by_tab() {
    let folder = Folder::new("terminal_completion");
    folder.write("a.json", r#"{"list":{"deep":7,"dull":8},"other":9}"#);
    folder.run(&["import", "d", "board", "a.json"]).check_code(0);
    let mut seen = shell(&folder);
    seen.line(&["ge\t bo\t /li\tde\t"], "7\r\n");
    // Where several go on so, each further one is the next.
    seen.line(&["get board /list/d\t\t"], "8\r\n");
    seen.leave();
}
