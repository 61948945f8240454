//! An interrupt gives up what takes long. (Linux tells whether a process listens.)

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::yield_now;

use jungle::{Durability, OpenOptions};

use crate::{Ended, Folder, without_settings};

/// How often it is tried, each time with something that takes long: that one of them is done
/// before the interrupt comes says nothing.
const TRIES: usize = 20;

/// A folder that takes a while to be read.
fn long(folder: &Folder) {
    let options = OpenOptions::new().durability(Durability::Memory);
    let store = options.open(folder.0.join("d")).unwrap();
    let tree = store.create_tree("t").unwrap();
    (0..100_000).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    store.close().unwrap();
}

/// Waits until it does not end by an interrupt any more, and interrupts it.
fn interrupt(child: &mut Child) -> Option<()> {
    let id = child.id();
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        if u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0 {
            break;
        }
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    sent.success().then_some(())
}

#[track_caller]
fn check(folder: &Folder, args: &[&str], after: impl Fn()) {
    for _ in 0..TRIES {
        let mut command = folder.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let sent = interrupt(&mut child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), None, "{args:?}");
        let ended = Ended::new(output);
        if sent.is_some() && ended.code != Some(0) {
            let err = "Note: it is given up; a second interrupt ends it at once\n\
                       Error: it was interrupted, and given up\n\
                       Hint: nothing is lost; it can be done again\n";
            return ended.check(130, "", err);
        }
        after();
    }
    panic!("{args:?} was never given up");
}

#[test]
fn what_takes_long_is_given_up_and_done_again() {
    let folder = Folder::new("interrupts");
    long(&folder);
    check(&folder, &["verify", "d"], || {});
    check(&folder, &["du", "d", "--policy", "10"], || {});
    check(&folder, &["restore", "d", "copy"], || {
        let _ = fs::remove_dir_all(folder.0.join("copy"));
    });
    folder.run(&["restore", "d", "copy"]).check_code(0);
    folder.run(&["verify", "d"]).check_code(0);
    let copied = OpenOptions::new().read_only().open(folder.0.join("copy")).unwrap();
    assert_eq!(copied.revision().number(), 100_001);
}

#[test]
fn an_erasure_is_given_up_before_it_counts_and_leaves_all_as_it_was() {
    let folder = Folder::new("interrupted_erase");
    long(&folder);
    let before = names(&folder.0.join("d"));
    let erase = ["erase", "d", "t", "/n", "--yes"];
    check(&folder, &erase, || {
        fs::remove_dir_all(folder.0.join("d")).unwrap();
        long(&folder);
    });
    assert_eq!(names(&folder.0.join("d")), before);
    folder.run(&["get", "d", "t", "/@n"]).check(0, "99999\n", "");
    folder.run(&erase).check_code(0);
    folder.run(&["get", "d", "t", "/@n"]).check_code(4);
}

/// What is in a folder, and below.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(names(&entry.path()));
        }
        found.insert(entry.path());
    }
    found
}

/// A folder with a tree that takes a while to be gone through.
fn wide(folder: &Folder) {
    let options = OpenOptions::new().durability(Durability::Memory);
    let store = options.open(folder.0.join("d")).unwrap();
    let tree = store.create_tree("t").unwrap();
    tree.update(|tx| (0..300_000).try_for_each(|_| tx.append(&[]).map(drop))).unwrap();
    store.close().unwrap();
}

#[test]
fn search_is_given_up_in_a_shell_that_goes_on_and_elsewhere() {
    let folder = Folder::new("interrupted_search");
    wide(&folder);
    check(&folder, &["find", "d", "t", "n = 1"], || {});
    for _ in 0..TRIES {
        let mut command = folder.command(&["shell", "d"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"find t 'n = 1'\ntrees\n").unwrap();
        let _ = interrupt(&mut child);
        let ended = Ended::new(child.wait_with_output().unwrap());
        if ended.err.contains("it was interrupted, and given up") {
            // The script is told; what comes behind it is done.
            ended.check_code(130);
            assert!(ended.out.contains("t  revision "), "{}", ended.out);
            return;
        }
    }
    panic!("no search was given up in a shell");
}

#[test]
fn a_folder_that_is_not_wholly_restored_is_refused_and_restored_by_the_next() {
    let folder = Folder::new("half_restored");
    let store =
        OpenOptions::new().durability(Durability::Buffered).open(folder.0.join("d")).unwrap();
    let tree = store.create_tree("t").unwrap();
    let text = |n: i32| format!("{n} {}", "x".repeat(10_000));
    (0..300).for_each(|n| {
        drop(tree.update(|tx| tx.put_attribute(&[], "n", text(n).as_str())).unwrap());
    });
    store.close().unwrap();
    // The system kills it where it writes more into one file: into the second or third segment.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c 0; ulimit -f 800; exec \"$0\" restore d copy"]);
    shell.arg(env!("CARGO_BIN_EXE_jungle")).current_dir(&folder.0);
    without_settings(&mut shell);
    assert_eq!(Ended::new(shell.output().unwrap()).code, None);
    let left = fs::read_dir(folder.0.join("copy/restoring/log")).unwrap();
    assert!(left.count() > 1, "something was copied");
    folder.run(&["trees", "copy"]).check(
        4,
        "",
        "Error: there is no Jungle in copy\n\
         Hint: `jungle import DIR TREE FILE` makes a folder with a tree\n",
    );
    folder.run(&["put", "copy", "t", "/n", "1"]).check(
        1,
        "",
        "Error: copy is no Jungle, and not empty: give an empty or a new folder\n",
    );
    folder.run(&["restore", "d", "copy"]).check_code(0);
    assert!(!folder.0.join("copy/restoring").exists());
    let copied = OpenOptions::new().read_only().open(folder.0.join("copy")).unwrap();
    assert_eq!(copied.revision().number(), 301);
}

#[test]
fn a_copy_that_is_half_in_its_place_is_given_it_by_the_next_restore() {
    let folder = Folder::new("half_in_place");
    folder.write("in.json", "{\"n\":1}");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    let copy = |name: &str| folder.0.join("copy").join(name);
    let there_already = || {
        let restored = folder.run(&["restore", "d", "copy"]);
        assert!(restored.out.ends_with(" is there already\n"), "{} {}", restored.out, restored.err);
        assert!(!copy("restoring").exists());
        folder.run(&["get", "copy", "t", "/n"]).check(0, "1\n", "");
    };
    folder.run(&["restore", "d", "copy"]).check_code(0);
    // As it is when only its mark has its place, or all of it but what was around it.
    fs::create_dir(copy("restoring")).unwrap();
    fs::rename(copy("log"), copy("restoring/log")).unwrap();
    folder.run(&["trees", "copy"]).check_code(4);
    there_already();
    fs::create_dir(copy("restoring")).unwrap();
    there_already();
    // A folder that somebody else has in there is not such a one.
    fs::create_dir(copy("restoring")).unwrap();
    fs::write(copy("restoring/thesis"), "mine").unwrap();
    folder.run(&["restore", "d", "copy"]).check_code(1);
    assert_eq!(fs::read(copy("restoring/thesis")).unwrap(), b"mine");
}
