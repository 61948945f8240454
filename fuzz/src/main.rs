//! libFuzzer around the targets of the suite `fuzz`: `cargo xtask fuzz` builds and runs it.
//!
//! `FUZZ_TARGET` names the target; without it, the names of all are printed. Into `FUZZ_FOLDER`,
//! what is right for the target is written before libFuzzer reads anything: `seeds/`, and as a
//! dictionary `words`.

#![no_main]

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::{env, fs, panic, process};

use jungle_torture::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(init: begin(), |input: &[u8]| {
    (TARGET.get().expect("it is set before there is input").take)(input);
});

fn begin() {
    // The hook of `libfuzzer_sys` ends the process at each panic, also at one that is caught: the
    // store catches those of its engine, at files that are damaged. One that nobody catches gets
    // as far as libFuzzer, and ends it there.
    drop(panic::take_hook());
    let Ok(name) = env::var("FUZZ_TARGET") else {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        process::exit(0);
    };
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
    if let Some(folder) = env::var_os("FUZZ_FOLDER") {
        write(target, Path::new(&folder)).expect("what is right can be written");
    }
    TARGET.set(target).expect("libFuzzer begins once");
}

fn write(target: &Target, folder: &Path) -> io::Result<()> {
    let seeds = folder.join("seeds");
    fs::create_dir_all(&seeds)?;
    for (number, sample) in (target.samples)().iter().enumerate() {
        fs::write(seeds.join(format!("right-{number}")), sample)?;
    }
    // libFuzzer refuses a dictionary that is empty.
    let mut words = format!("# {}\n", target.name);
    for word in target.words {
        let bytes: String = word.bytes().map(|byte| format!("\\x{byte:02X}")).collect();
        words += &format!("\"{bytes}\"\n");
    }
    fs::write(folder.join("words"), words)
}
