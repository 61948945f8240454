//! Running other programs from the root of the repository.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Context, Result, fail};

/// The root of the repository, wherever the task was started. `cargo run` names it; what was
/// compiled in may be another checkout, when several share one build folder.
pub fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR");
    let xtask = xtask.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("xtask is a folder of the repository").to_owned()
}

/// The folder that cargo builds into.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The cargo that runs this task.
pub fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command(program, arguments)
}

/// The same, for the tests of a whole revision. What cargo does by itself is for who edits: parts
/// of a crate that did not change are kept, so there are up to 256, optimized one by one and then
/// over all of them. In one part it takes less of the processors to build the whole crate; and less
/// without the lines of a backtrace, where a panic says its own, and a test by hand has them all.
pub fn cargo_at_once<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut cargo = cargo(arguments);
    cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
    cargo
}

/// Any other program.
pub fn command<I: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = I>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// This program, for another task beside this one.
pub fn xtask<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Result<Command> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    Ok(command(program, arguments))
}

/// A program at the lowest priority: it has what others leave of the processors.
pub fn idle(program: &Command) -> Command {
    nice(program, "19")
}

/// One that gives way to others as well, but has four times as much as what is [`idle`].
pub fn ahead(program: &Command) -> Command {
    nice(program, "12")
}

fn nice(program: &Command, by: &str) -> Command {
    let mut nice = command("nice", ["-n", by]);
    nice.arg(program.get_program()).args(program.get_args());
    nice.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    nice
}

/// Runs a program with its output let through.
pub fn run(mut command: Command) -> Result<()> {
    let shown = show(&command);
    let status = command.status().context(format!("cannot start `{shown}`"))?;
    if status.success() { Ok(()) } else { fail(format!("`{shown}` ended with {status}")) }
}

/// Runs a program and gives what it printed.
pub fn output(mut command: Command) -> Result<String> {
    let shown = show(&command);
    let output =
        command.stderr(Stdio::inherit()).output().context(format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        return fail(format!("`{shown}` ended with {}", output.status));
    }
    String::from_utf8(output.stdout).context(format!("output of `{shown}`"))
}

/// Makes `program` (or with `ghc:` a package of GHC's) available, from the Debian package `package`
/// when it is missing and the user may install it.
pub fn need(program: &str, package: &str) -> Result<()> {
    if is_installed(program) {
        return Ok(());
    }
    let hint = format!("`{program}` is missing: install it (Debian's package is `{package}`)");
    if !is_installed("apt-get") || output(command("id", ["-u"]))?.trim() != "0" {
        return fail(hint);
    }
    println!("installing {package} for {program}");
    run(command("apt-get", ["update", "-qq"]))?;
    run(command("apt-get", ["install", "-y", "-qq", "--no-install-recommends", package]))?;
    if is_installed(program) { Ok(()) } else { fail(hint) }
}

/// Has Go build the programs of a module, by their names and paths, where they are not there yet:
/// in the folder `NAME-VERSION` below `target`.
pub fn go_install(name: &str, version: &str, programs: &[(&str, &str)]) -> Result<()> {
    let folder = target_dir().join(format!("{name}-{version}"));
    for (program, path) in programs {
        if folder.join(program).is_file() {
            continue;
        }
        need("go", "golang-go")?;
        fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
        let mut install = command("go", ["install", &format!("{path}@v{version}")]);
        install.env("GOBIN", &folder);
        run(install)?;
    }
    Ok(())
}

/// Is it there: a program, or a package of GHC's (`ghc:NAME`), or a module of Python's
/// (`python:NAME`)?
fn is_installed(program: &str) -> bool {
    let answers = |mut asked: Command| {
        let asked = asked.stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if let Some(package) = program.strip_prefix("ghc:") {
        return answers(command("ghc-pkg", ["field", package, "version"]));
    }
    if let Some(module) = program.strip_prefix("python:") {
        return answers(command("python3", ["-c", &format!("import {module}")]));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// As it may be typed.
pub fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(OsStr::to_string_lossy));
    words.join(" ")
}
