//! What goes wrong around documents.

use std::io::Read;
use std::process::Stdio;

use crate::{Ended, Folder};

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let ended = Folder::new("no_file").run(&["stat", "no.json"]);
    assert_eq!((ended.code, &*ended.out), (Some(4), ""));
    assert!(ended.err.starts_with("Error: cannot read no.json: "), "{}", ended.err);
    assert!(ended.err.ends_with("\nHint: `-` reads standard input\n"), "{}", ended.err);
}

#[test]
fn a_document_that_is_wrong_is_an_error_with_its_place() {
    let folder = Folder::new("wrong_document");
    folder.write("a.json", "{\"a\":1,\n \"a\":2}");
    folder.run(&["stat", "a.json"]).check(
        1,
        "",
        "Error: a.json: line 2 column 2: a second member \"a\" in one object\n\
         Hint: readers of JSON differ in which of the two they keep; remove one\n",
    );
    folder.run_with_input(&["get", "-", "/"], "[1,").check(
        1,
        "",
        "Error: standard input: line 1 column 4: the document ends where a value must follow\n\
         Hint: is the file complete?\n",
    );
}

#[test]
fn depth_is_limited_until_more_is_asked_for() {
    let folder = Folder::new("depth");
    let text = format!("{}{}", "[".repeat(600), "]".repeat(600));
    folder.write("a.json", &text);
    folder.run(&["get", "a.json", "/"]).check(
        1,
        "",
        "Error: a.json: line 1 column 513: more than 512 objects and arrays are in one another\n\
         Hint: --depth-max 51200 accepts more\n",
    );
    let ended = folder.run(&["get", "a.json", "/", "--depth-max", "600"]);
    ended.check(0, &format!("{text}\n"), "");
}

#[test]
fn wrong_usage_has_its_code() {
    let folder = Folder::new("usage");
    for args in [&["nonsense"][..], &[], &["get", "a.json"], &["stat", "a.json", "--nonsense"]] {
        assert_eq!(folder.run(args).code, Some(2), "{args:?}");
    }
    assert_eq!(folder.run(&["--version"]).code, Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_error_to_tell() {
    let folder = Folder::new("broken_pipe");
    let elements = vec!["\"an element\""; 100_000].join(",");
    folder.write("a.json", &format!("[{elements}]"));
    let mut command = folder.command(&["get", "a.json", "/"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 5];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &first[..]), (Some(3), &b"[\"an "[..]));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn an_export_that_fails_leaves_the_file_that_was_there() {
    let folder = Folder::new("export_fails");
    folder.write("in.json", "{\"a\":[1,2]}");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.write("out.json", "kept");
    let read = || std::fs::read_to_string(folder.0.join("out.json")).unwrap();
    for wrong in [&["/nowhere"][..], &["nonsense"], &["/a", "--format", "ndjson"]] {
        let ended = folder.run(&[&["export", "d", "t", "-o", "out.json"], wrong].concat());
        assert!(ended.code != Some(0) && read() == "kept", "{wrong:?}: {}", ended.err);
    }
    folder.run(&["export", "d", "t", "/a", "-o", "out.json"]).check_code(0);
    assert_eq!(read(), "[1,2]\n");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["d", "in.json", "out.json"]);
}

#[test]
fn an_empty_array_is_an_empty_folder() {
    let folder = Folder::new("export_array");
    folder.write("in.json", r#"{"name":"x","tags":[]}"#);
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    let export =
        |path, to| folder.run(&["export", "d", "t", path, "--format", "folder", "--output", to]);
    export("/", "out").check(0, "", "");
    folder.run(&["import", "d", "again", "out"]).check_code(0);
    folder.run(&["get", "d", "again"]).check(0, "{\"name\":\"x\",\"tags\":{}}\n", "");
    export("/tags", "tags").check(0, "", "");
    assert!(folder.0.join("tags").read_dir().unwrap().next().is_none());
}

#[test]
fn a_name_that_no_file_can_have_is_refused_before_a_folder_is_made() {
    let folder = Folder::new("export_names");
    folder.write("in.json", r#"{"a":{"b/c":1},"name":"x"}"#);
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.run(&["export", "d", "t", "--format", "folder", "--output", "out"]).check(
        1,
        "",
        "Error: out/a: no file can have the name \"b/c\"\nHint: --format json writes any tree\n",
    );
    assert!(!folder.0.join("out").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_too_long_for_a_file_is_refused_before_a_folder_is_made() {
    let folder = Folder::new("export_long_names");
    let export = |length: usize, tree: &str, out: &str| {
        folder.write("in.json", &format!(r#"{{"a":1,"{}":{{"b":2}}}}"#, "n".repeat(length)));
        folder.run(&["import", "d", tree, "in.json"]).check_code(0);
        folder.run(&["export", "d", tree, "--format", "folder", "--output", out])
    };
    export(255, "long", "long").check(0, "", "");
    let ended = export(256, "longer", "longer");
    ended.check_code(1);
    assert!(ended.err.contains("no file can have the name"), "{}", ended.err);
    assert!(!folder.0.join("longer").exists());
}

/// Longer paths than any may be are found only as they are made.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_export_fails_in_its_middle_is_as_it_was() {
    let folder = Folder::new("export_half");
    let name = "n".repeat(250);
    let deep = format!("{{\"a\":1,\"{name}\":").repeat(20) + "{}" + &"}".repeat(20);
    folder.write("in.json", &deep);
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    for to in ["new", "empty"] {
        let ended = folder.run(&["export", "d", "t", "--format", "folder", "--output", to]);
        ended.check_code(1);
        assert!(ended.err.contains("cannot write "), "{}", ended.err);
    }
    assert!(folder.0.join("empty").read_dir().unwrap().next().is_none());
    let mut names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["d", "empty", "in.json"]);
    // Nothing stands in the way of the next one.
    folder.write("in.json", r#"{"a":1}"#);
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    for to in ["new", "empty", "above/new"] {
        let ended = folder.run(&["export", "d", "t", "--format", "folder", "--output", to]);
        ended.check(0, "", "");
        assert_eq!(std::fs::read_to_string(folder.0.join(to).join("a")).unwrap(), "1");
    }
}

#[cfg(unix)]
#[test]
fn an_export_goes_to_where_a_link_leads_and_into_what_is_no_file() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("export_link");
    folder.write("in.json", "[1]");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.write("there.json", "old");
    let there = folder.0.join("there.json");
    std::fs::set_permissions(&there, PermissionsExt::from_mode(0o640)).unwrap();
    symlink("there.json", folder.0.join("link.json")).unwrap();
    folder.run(&["export", "d", "t", "-o", "link.json"]).check_code(0);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "[1]\n");
    assert_eq!(std::fs::metadata(&there).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(folder.0.join("link.json").is_symlink());
    folder.run(&["export", "d", "t", "-o", "/dev/null"]).check_code(0);
    assert!(std::fs::metadata("/dev/null").is_ok_and(|null| !null.is_file()));
}

#[test]
fn an_export_is_written_where_no_other_file_can_be_made_beside_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("export_itself");
    folder.write("in.json", "[1]");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    let exported = |to: &str| {
        folder.run(&["export", "d", "t", "-o", to]).check(0, "", "");
        assert_eq!(std::fs::read_to_string(folder.0.join(to)).unwrap(), "[1]\n", "{to}");
    };
    exported(&"n".repeat(250));
    exported(&"n".repeat(250));
    let narrow = folder.0.join("narrow");
    std::fs::create_dir(&narrow).unwrap();
    folder.write("narrow/there.json", "old");
    std::fs::set_permissions(&narrow, PermissionsExt::from_mode(0o555)).unwrap();
    exported("narrow/there.json");
    std::fs::set_permissions(&narrow, PermissionsExt::from_mode(0o755)).unwrap();
    // A link to what is not there yet.
    symlink("narrow/new.json", folder.0.join("link.json")).unwrap();
    exported("link.json");
    assert!(folder.0.join("link.json").is_symlink() && narrow.join("new.json").is_file());
    // What others have open and go on with.
    let script = "(\"$0\" export d t -o /dev/stdout; echo end) >> all";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_jungle")]).current_dir(&folder.0);
    crate::without_settings(&mut shell);
    assert!(shell.status().unwrap().success());
    assert_eq!(std::fs::read_to_string(folder.0.join("all")).unwrap(), "[1]\nend\n");
}

#[test]
fn a_damaged_checkpoint_is_noted_and_kept_under_another_name() {
    let folder = Folder::new("damaged_checkpoint");
    folder.write("in.json", "[1]");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.run(&["gc", "d"]).check_code(0);
    let pages = folder.0.join("d/pages");
    let zeros = vec![0; std::fs::metadata(&pages).unwrap().len() as usize];
    std::fs::write(&pages, &zeros).unwrap();
    let note = "Note: the checkpoint is not used, and all of the log was read in its place: ";
    let kept = "; it is kept as pages.damaged, which nothing needs\n";
    for (command, is_kept) in [(&["trees", "d"][..], false), (&["put", "d", "t", "/0", "2"], true)]
    {
        let ended = folder.run(command);
        assert!(ended.code == Some(0) && ended.err.starts_with(note), "{}", ended.err);
        assert_eq!(ended.err.ends_with(kept), is_kept, "{}", ended.err);
    }
    assert!(!pages.exists() && std::fs::read(folder.0.join("d/pages.damaged")).unwrap() == zeros);
    let ended = folder.run(&["gc", "d"]);
    assert!(ended.code == Some(0) && ended.err.is_empty(), "{}", ended.err);
    assert!(pages.exists());
    folder.run(&["get", "d", "t", "/0"]).check(0, "2\n", "");
    // Whoever had it open all the while sees that it is whole, with a new checkpoint and before.
    std::fs::write(&pages, &zeros).unwrap();
    let ended = folder.run_with_input(&["shell", "d"], "verify\ngc\nverify --deep\n");
    assert!(ended.code == Some(0) && ended.err.starts_with(note), "{}", ended.err);
    assert_eq!(ended.out.matches("whole, up to revision ").count(), 2, "{}", ended.out);
    assert_eq!(ended.err.matches('\n').count(), 1, "{}", ended.err);
}

#[test]
fn nothing_is_erased_from_the_folder_of_a_cluster() {
    let folder = Folder::new("erase_of_cluster");
    folder.write("in.json", "{\"a\":1}");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.write("d/CLUSTER", &format!("{}\n", "0".repeat(32)));
    let ended = folder.run(&["erase", "d", "t", "/a", "--yes"]);
    assert!(ended.err.starts_with("Error: the folder is of a cluster: "), "{}", ended.err);
    assert!(ended.err.contains("`jungle restore d NEW`"), "{}", ended.err);
    folder.run(&["get", "d", "t", "/a"]).check(0, "1\n", "");
    folder.run(&["restore", "d", "new"]).check_code(0);
    folder.run(&["erase", "new", "t", "/a", "--yes"]).check_code(0);
}

#[test]
fn programs_are_told_of_an_error_as_json() {
    let folder = Folder::new("json_errors");
    folder.write("in.json", "{\"a\":1}");
    folder.run(&["import", "d", "t", "in.json"]).check_code(0);
    folder.run(&["get", "d", "t", "/b", "--json"]).check(
        4,
        "",
        "{\"error\":{\"code\":4,\"message\":\"there is nothing at /b\",\
         \"hint\":\"`get` of / prints what is there\"}}\n",
    );
    // What was found is told by the code alone.
    folder.run(&["find", "d", "t", "x = 1", "--json"]).check(4, "", "");
}

#[test]
fn programs_are_told_of_wrong_usage_as_json() {
    let folder = Folder::new("json_usage");
    let check = |ended: &Ended, part: &str| {
        ended.check_code(2);
        let told: serde_json::Value = serde_json::from_str(&ended.err).unwrap();
        let error = &told["error"];
        assert_eq!(error["code"], 2, "{told}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part) && !message.starts_with("error"), "{told}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("Usage: ")), "{told}");
    };
    check(&folder.run(&["nonsense", "--json"]), "nonsense");
    check(&folder.run(&["get", "a.json", "--json"]), "required");
    check(&folder.run(&["--json", "stat", "a.json", "--yaml"]), "--yaml");
    folder.run(&["trees", "d", "--create", "t"]).check_code(0);
    check(&folder.run_with_input(&["shell", "d", "--json"], "get\n"), "required");
    // It is a file there.
    let ended = folder.run(&["get", "--", "--json"]);
    ended.check_code(2);
    assert!(ended.err.starts_with("error: "), "{}", ended.err);
}
