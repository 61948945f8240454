//! `dist`: the command as one file that needs nothing of the machine it is copied to, and the
//! licences of what is in it.
//!
//! It has the C library of GNU in it that is installed here, by Debian's `libc6-dev`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{cargo, command, output, run as run_command, target_dir};
use crate::error::{Context, Result, fail, no_arguments};
use crate::notices;
use crate::supply::{host, metadata};

/// The profile, and the folder below `target` for what is made.
const PROFILE: &str = "dist";

const PROGRAM: &str = "jungle";
const NOTICES: &str = "notices.txt";
const BILL: &str = "jungle.cdx.json";

/// It has to be smaller.
const BYTES_MAX: usize = 25_000_000;

/// What the compiler is told besides what `.cargo/config.toml` says.
const FLAGS: [&str; 2] = [
    "-Ctarget-feature=+crt-static",
    // It is still loaded to another address each time. Which of its pointers that moves is a bit
    // for each so, and else a megabyte. Wants the C library 2.36: with an older one, the program
    // that is built is tried and fails.
    "-Clink-arg=-Wl,-z,pack-relative-relocs",
];

pub fn run(arguments: &[String]) -> Result<()> {
    no_arguments("dist", arguments)?;
    let target = host()?;
    let packages = packages(&target)?;
    run_command(build(&target, &packages))?;
    let built = target_dir().join(&target).join(PROFILE).join(PROGRAM);
    let program = fs::read(&built).context(format!("cannot read {}", built.display()))?;
    look(&program, &packages).context(built.display())?;
    let version = output(command(&built, ["--version"]))?;
    let folder = target_dir().join(PROFILE);
    fs::create_dir_all(&folder).context(format!("cannot make {}", folder.display()))?;
    let file = folder.join(PROGRAM);
    replace(&built, &file)?;
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).context(format!("cannot write {name}"))
    };
    write(NOTICES, notices::text_with_c_library()?)?;
    write(BILL, notices::bill()?)?;
    let mut sums = command("sha256sum", [PROGRAM, NOTICES, BILL]);
    sums.current_dir(&folder);
    write("SHA256SUMS", output(sums)?)?;
    println!("{}: {}, {} bytes, static", file.display(), version.trim(), program.len());
    Ok(())
}

/// Puts a copy in the place of what is there, which may be running.
fn replace(source: &Path, file: &Path) -> Result<()> {
    let beside = file.with_extension("new");
    let copied = fs::copy(source, &beside).and_then(|_| fs::rename(&beside, file));
    copied.context(format!("cannot write {}", file.display()))
}

/// Where cargo has the packages of others. The places in their code that panics tell of begin so,
/// and with that the name of who builds.
fn packages(target: &str) -> Result<String> {
    let metadata = metadata(&["--filter-platform", target])?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    let one = packages.iter().find(|package| !package["source"].is_null());
    let manifest = one.and_then(|package| package["manifest_path"].as_str());
    // Below the folder of all is that of the package.
    let folder = manifest.and_then(|file| Path::new(file).ancestors().nth(2));
    let folder = folder.and_then(Path::to_str).context("no package has a folder")?;
    Ok(folder.to_owned())
}

/// Naming a target keeps the flags away from what runs in the compiler, which cannot be static.
fn build(target: &str, packages: &str) -> Command {
    let mut build = cargo(["build", "--locked", "--package", "jungle-cli", "--profile", PROFILE]);
    build.args(["--target", target, "--config", &flags(target, packages)]);
    // Each of these would take the place of all other flags.
    build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    build
}

/// The flags as a line of cargo's configuration: cargo adds them to those of its file.
fn flags(target: &str, packages: &str) -> String {
    let shorter = format!("--remap-path-prefix={packages}=registry");
    let flags: Vec<&str> = FLAGS.into_iter().chain([&*shorter]).collect();
    format!("target.{target}.rustflags = {flags:?}")
}

/// Is the program what was asked for?
fn look(program: &[u8], packages: &str) -> Result<()> {
    if asks_for_loader(program)? {
        return fail("it is not static: it asks for a program that loads it");
    }
    if program.len() >= BYTES_MAX {
        let bytes = program.len();
        return fail(format!("it has {bytes} bytes, and is to have less than {BYTES_MAX}"));
    }
    if program.windows(packages.len()).any(|here| here == packages.as_bytes()) {
        return fail(format!("it names a folder of this machine, {packages}"));
    }
    Ok(())
}

/// Does it name a program that loads it, with the libraries that it is linked with? The kernel
/// starts by itself what is static.
fn asks_for_loader(program: &[u8]) -> Result<bool> {
    const LOADER: usize = 3;
    if !program.starts_with(b"\x7fELF\x02\x01") {
        return fail("it is no program for Linux, of 64 bits with the least byte first");
    }
    let (headers, size, count) =
        (number(program, 32, 8)?, number(program, 54, 2)?, number(program, 56, 2)?);
    for header in 0..count {
        if number(program, headers + header * size, 4)? == LOADER {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What so many bytes from there on say, the least first.
fn number(program: &[u8], at: usize, bytes: usize) -> Result<usize> {
    let found = program.get(at..at + bytes).context("it ends within its headers")?;
    Ok(found.iter().rev().fold(0, |number, byte| (number << 8) + usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::root;

    /// The beginning of a program with headers of these kinds.
    fn program(kinds: &[u8]) -> Vec<u8> {
        const HEADER_BYTES: u8 = 56;
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = HEADER_BYTES;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            let at = bytes.len();
            bytes.resize(at + usize::from(HEADER_BYTES), 0);
            bytes[at] = *kind;
        }
        bytes
    }

    const PACKAGES: &str = "/ana/.cargo/registry/src/index";

    #[test]
    fn static_program_names_nothing_that_loads_it() {
        // To be loaded, for linking, thread-local, the stack.
        look(&program(&[1, 1, 2, 7, 0x51]), PACKAGES).unwrap();
        for kinds in [&[3][..], &[6, 3, 1], &[1, 2, 3]] {
            let error = look(&program(kinds), PACKAGES).unwrap_err().to_string();
            assert!(error.contains("not static"), "{kinds:?}: {error}");
        }
        let whole = program(&[1, 2]);
        for end in [6, 40, 57, 64, 121] {
            assert!(look(&whole[..end], PACKAGES).is_err(), "{end}");
        }
        assert!(look(b"#!/bin/sh\n", PACKAGES).is_err());
    }

    /// The tests themselves are linked as usual.
    #[cfg(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static")))]
    #[test]
    fn real_program_that_is_not_static_is_known() {
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(asks_for_loader(&program).unwrap());
    }

    #[test]
    fn large_program_is_refused() {
        let mut program = program(&[1]);
        program.resize(BYTES_MAX - 1, 0);
        look(&program, PACKAGES).unwrap();
        program.push(0);
        assert!(look(&program, PACKAGES).unwrap_err().to_string().contains("25000000"));
    }

    #[test]
    fn program_that_says_who_built_it_is_refused() {
        let mut program = program(&[1]);
        program.extend_from_slice(b"registry/serde-1.0.0/src/lib.rs");
        look(&program, PACKAGES).unwrap();
        program.extend_from_slice(PACKAGES.as_bytes());
        assert!(look(&program, PACKAGES).unwrap_err().to_string().contains(PACKAGES));
        // As cargo has it here.
        let folder = packages(&host().unwrap()).unwrap();
        assert!(Path::new(&folder).is_dir(), "{folder}");
    }

    #[test]
    fn flags_are_a_line_of_configuration() {
        let target = "x86_64-unknown-linux-gnu";
        let line: toml::Table = flags(target, PACKAGES).parse().unwrap();
        let flags = line["target"][target]["rustflags"].as_array().unwrap();
        let flags: Vec<&str> = flags.iter().filter_map(toml::Value::as_str).collect();
        let remapped = "--remap-path-prefix=/ana/.cargo/registry/src/index=registry";
        assert_eq!(flags, [FLAGS[0], FLAGS[1], remapped]);
    }

    #[test]
    fn image_has_what_is_made() {
        let image = fs::read_to_string(root().join("deploy/Dockerfile")).unwrap();
        let made = image.find("RUN cargo xtask dist\n").unwrap();
        for file in [PROGRAM, NOTICES] {
            let copied = image.find(&format!("COPY --from=build /src/target/{PROFILE}/{file} "));
            assert!(copied.is_some_and(|copied| copied > made), "{file}");
        }
    }
}
