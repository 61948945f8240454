//! `jungle completions`: for shells.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde::Serialize;

use crate::args;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Format, json_line, stdout};

/// What clap writes completes commands and options only. These ask for more, and are asked first.
const BASH: &str = include_str!("dynamic.bash");
const ZSH: &str = include_str!("dynamic.zsh");
const FISH: &str = include_str!("dynamic.fish");

/// How the function of what clap writes for bash and zsh begins, and how it does once another one
/// has its name.
const FUNCTION: [&str; 2] = ["_jungle() {", "_jungle_static() {"];

/// Where zsh is told of the function: it has to be there before.
const ZSH_END: &str = r#"if [ "$funcstack[1]" = "_jungle" ]"#;

/// Print what a shell needs to complete commands and options
#[derive(clap::Args)]
#[command(
    after_help = "bash: jungle completions bash > ~/.local/share/bash-completion/completions/jungle"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

/// What is told; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Told {
    shell: String,
    script: String,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let script = script(args.shell);
    let mut out = stdout();
    match context.format {
        Format::Json => json_line(&mut out, &Told { shell: args.shell.to_string(), script })?,
        Format::Text => out.write_all(script.as_bytes())?,
    }
    Ok(out.flush()?)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut args::Args::command(), "jungle", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let [ours, renamed] = FUNCTION;
    match shell {
        Shell::Bash => script.replacen(ours, renamed, 1) + "\n" + BASH,
        Shell::Zsh => {
            let script = script.replacen(ours, renamed, 1);
            script.replacen(ZSH_END, &format!("{ZSH}\n{ZSH_END}"), 1)
        }
        Shell::Fish => script + "\n" + FISH,
        _ => script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clap writes may be written otherwise one day.
    #[test]
    fn scripts_ask_for_what_is_there_first() {
        for shell in [Shell::Bash, Shell::Zsh] {
            let script = script(shell);
            for function in FUNCTION {
                let defined = script.lines().filter(|line| *line == function);
                assert_eq!(defined.count(), 1, "{function} in {script}");
            }
        }
        let zsh = script(Shell::Zsh);
        let at = |part: &str| zsh.find(part).unwrap();
        assert!(at("\n_jungle_static() {") < at("\n_jungle() {"));
        assert!(at("\n_jungle() {") < at(ZSH_END));
        assert!(script(Shell::Fish).contains("__jungle_finds"));
    }
}
