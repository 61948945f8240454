//! `jungle cheat`: recipes to copy.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::near;
use crate::output::{Format, json_line, stdout};

/// A topic begins at the margin, what a recipe does two spaces further in, its lines four.
const RECIPES: &str = include_str!("recipes.txt");

const HELP: &str = "\
Topics: start, edit, history, branches, find, import, export, backup, serve, cluster. They are \
about a folder `data` and a tree `notes`, and each can be tried behind those before it.";

/// Print recipes that can be copied, all or those of a topic
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// What they are about
    topic: Option<String>,
}

/// A line to type; the names of the fields are those of the JSON form.
#[derive(Serialize)]
struct Recipe<'r> {
    topic: &'r str,
    title: &'r str,
    what: &'r str,
    line: &'r str,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let is_meant = |recipe: &Recipe<'_>| args.topic.as_deref().is_none_or(|it| it == recipe.topic);
    let meant: Vec<Recipe<'_>> = recipes().filter(is_meant).collect();
    if meant.is_empty() {
        let topic = args.topic.as_deref().unwrap_or_default();
        let message = format_args!("there is no topic {topic:?}");
        let topics = recipes().map(|recipe| recipe.topic);
        return Err(near::no_such(message, topic, topics, "`jungle cheat --help` lists them"));
    }
    let mut out = stdout();
    match context.format {
        Format::Json => meant.iter().try_for_each(|recipe| json_line(&mut out, recipe))?,
        Format::Text => print(&mut out, &meant)?,
    }
    Ok(out.flush()?)
}

fn recipes() -> impl Iterator<Item = Recipe<'static>> {
    let (mut topic, mut title, mut what) = ("", "", "");
    RECIPES.lines().filter_map(move |text| {
        if let Some(line) = text.strip_prefix("    ") {
            return Some(Recipe { topic, title, what, line });
        }
        match text.strip_prefix("  ") {
            Some(text) => what = text,
            None => (topic, title) = text.split_once(": ").unwrap_or_default(),
        }
        None
    })
}

fn print(out: &mut impl Write, recipes: &[Recipe<'_>]) -> io::Result<()> {
    let (head, line) = (Style::new().bold(), Style::new().fg_color(Some(AnsiColor::Green.into())));
    let (mut topic, mut what) = ("", "");
    for recipe in recipes {
        if recipe.topic != topic {
            let space = if topic.is_empty() { "" } else { "\n" };
            topic = recipe.topic;
            writeln!(out, "{space}{head}{topic}{head:#}: {}", recipe.title)?;
        }
        if recipe.what != what {
            what = recipe.what;
            writeln!(out, "  {what}")?;
        }
        writeln!(out, "    {line}{}{line:#}", recipe.line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args;
    use crate::commands::shell::words;

    /// Also what needs a server, which the tests of the real command do not try.
    #[test]
    fn recipes_say_what_can_be_typed() {
        let mut checked = 0;
        for recipe in recipes() {
            let Some(at) = recipe.line.find("jungle ") else { continue };
            let words = words::split(&recipe.line[at..]).unwrap();
            checked += 1;
            let parsed = args::Args::of(words.into_iter().map(Into::into));
            assert!(parsed.is_ok(), "{}: {}", recipe.line, parsed.err().unwrap());
        }
        assert!(checked > 50, "{checked}");
    }

    #[test]
    fn help_names_the_topics() {
        let mut topics: Vec<&str> = recipes().map(|recipe| recipe.topic).collect();
        topics.dedup();
        assert_eq!(topics.len(), topics.iter().collect::<BTreeSet<_>>().len());
        assert!(HELP.starts_with(&format!("Topics: {}.", topics.join(", "))), "{topics:?}");
    }
}
