//! `jungle verify`: whether a folder is whole.

pub(super) mod survey;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jungle::{Store, VerifyError};
use jungle_server::verify::Whole;
use jungle_words::with_causes;

use crate::context::{Context, Folder};
use crate::failure::{Exit, Failure};
use crate::folder::{is_damage, not_opened, or_by_server};
use crate::interrupt;
use crate::output::bar::Bar;
use crate::output::{Format, count, grouped, json_line, size, stdout};

const HELP: &str = "\
It opens the folder without changing it, reads every byte of the log and the checkpoint, holds \
them against their checksums, does all commits again, and checks that what comes out is well \
formed and what the checkpoint has. A torn end is no damage: it was never acknowledged, and is cut \
off when the folder is opened to write. If anything is damaged, it goes on behind that, and tells \
what else is, what is still whole, and what to do. A damaged checkpoint loses nothing while the \
log is whole. Of older revisions it looks at when and by whom they were made, and that their bytes \
are those that were written; with --deep also at their content, for which all of them are loaded.";

/// Trees are gone through before anything is read of which it is known how much there is.
const CHECKING: &str = "checking the trees";

/// Check that a folder is whole, without changing it
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The folder
    dir: String,
    /// Hold the content of all older revisions against the log, too
    #[arg(long)]
    deep: bool,
}

pub(crate) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let given_up = interrupt::flag();
    let surveying = || Bar::of_revisions("looking for what is whole").until(Arc::clone(&given_up));
    let held = context.held.filter(|(dir, _)| *dir == args.dir);
    let opening = || Bar::of_revisions_behind(CHECKING, "reading the log");
    let opened = match held {
        Some((_, store)) => Ok(Folder::Held(store)),
        None => context
            .opening
            .clone()
            .read_only()
            .checked()
            .progress(opening().until(Arc::clone(&given_up)))
            .open(&args.dir)
            .map(|s| Folder::Own(s.into())),
    };
    let ignored = opened.as_ref().ok().and_then(|store| store.report().ignored.clone());
    let (survey, found) = match opened {
        Ok(store) => match verified(&store, args.deep, &given_up) {
            Ok(told) => return print_whole(&told, context.format),
            Err(found) => (store.survey(&surveying()), found),
        },
        Err(error) if is_damage(&error) => {
            let survey = context.opening.clone().progress(surveying()).survey(&args.dir);
            (survey, Some(error.into()))
        }
        Err(error) => return Err(or_by_server("verify", &args.dir)(not_opened(&error))),
    };
    let survey = survey.map_err(|error| or_by_server("verify", &args.dir)(not_opened(&error)))?;
    let Some(first) = survey.damages.first() else {
        if let Some(differs @ VerifyError::Differs { .. }) = &found {
            // An older revision, at which a survey does not look.
            return Err(
                Failure::of(Exit::Damaged, differs).with_hint(survey::all_in_log(&args.dir))
            );
        }
        let found = found
            .map_or_else(|| ignored.unwrap_or_default().into_string(), |found| with_causes(&found));
        return Err(Failure::new(Exit::Error, found).with_hint(
            "a second look found nothing: the disk failed for once, or somebody changed it; \
             try again",
        ));
    };
    survey::print(&survey, context.format)?;
    Err(Failure::of(Exit::Damaged, first).with_hint(survey::hint(&survey, &args.dir)))
}

/// What is told of a folder in which nothing is damaged; or what was found first, unless the
/// checkpoint was left out when it was opened, and is there still.
fn verified(
    store: &Store,
    is_deep: bool,
    given_up: &Arc<AtomicBool>,
) -> Result<Whole, Option<VerifyError>> {
    let report = store.report();
    if report.ignored.is_some() && report.kept_as.is_none() {
        return Err(None);
    }
    let progress = Bar::of_revisions_behind(CHECKING, "checking").until(Arc::clone(given_up));
    let found = match is_deep {
        true => store.verify_deep(&progress)?,
        false => store.verify_telling(&progress)?,
    };
    Ok(Whole::of(store, &found))
}

fn print_whole(told: &Whole, format: Format) -> Result<(), Failure> {
    let mut out = stdout();
    match format {
        Format::Json => json_line(&mut out, told)?,
        Format::Text => print(&mut out, told)?,
    }
    Ok(out.flush()?)
}

fn print(out: &mut impl Write, told: &Whole) -> std::io::Result<()> {
    writeln!(out, "whole, up to revision {}", told.revision)?;
    writeln!(out, "log     {} in {}", size(told.log_bytes), count(told.segments, "segment"))?;
    match told.checkpoint {
        Some(revision) => writeln!(out, "pages   a checkpoint of revision {revision}")?,
        None => writeln!(out, "pages   none yet")?,
    }
    if !told.log_is_complete {
        writeln!(out, "        the only copy of what was before the log")?;
    }
    let (trees, branches) = (count(told.trees, "tree"), grouped(told.branches));
    writeln!(out, "trees   {trees}, branches {branches}, {}", count(told.nodes, "node"))?;
    match (told.was_closed, told.torn_bytes) {
        (true, _) => writeln!(out, "closed  yes"),
        (false, 0) => writeln!(out, "closed  no, but nothing is torn"),
        (false, torn) => writeln!(out, "closed  no; {} torn, never acknowledged", size(torn)),
    }
}
