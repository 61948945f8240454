//! The report: made of the raw files and nothing else, so that it can be made again from them.

mod behind;
mod claims;
mod clients;
mod curves;
mod document;
mod fit;
mod floor;
mod gaps;
mod not_here;
mod plot;
mod published;
mod scale;
mod tables;
mod torture;

use std::fs;
use std::path::Path;

pub use self::behind::is_ahead;
use self::claims::{Outcome, State};
use self::document::{Block, Document};
use self::torture::Torture;
use crate::Failure;
use crate::lab::Raw;
use crate::plan;
use crate::results::Row;

/// Makes `report.md`, `report.html` and `plots` in the folder from its `raw`, and tells what came
/// out.
///
/// # Errors
/// When nothing was measured there, or the folder cannot be written to. A file of `raw` that cannot
/// be read is a line of the report.
pub fn write(folder: &Path) -> Result<(), Failure> {
    let (raws, mut unread) = read(folder)?;
    let torture = Torture::read(folder).unwrap_or_else(|error| {
        unread.push(format!("raw/torture.json: {error}"));
        Torture::default()
    });
    let outcomes = claims::outcomes(&raws, &torture);
    let document = document(&raws, &unread, &outcomes);
    let plots = folder.join("plots");
    fs::create_dir_all(&plots)?;
    for (name, svg) in document.pictures() {
        fs::write(plots.join(format!("{name}.svg")), svg)?;
    }
    fs::write(folder.join("report.md"), document.markdown())?;
    let page = folder.join("report.html");
    fs::write(&page, document.html())?;
    println!("{}\n{}", summary(&outcomes), page.display());
    Ok(())
}

/// The raw files in the order of all experiments, and what could not be read.
fn read(folder: &Path) -> Result<(Vec<Raw>, Vec<String>), Failure> {
    let (mut raws, mut unread) = (Vec::new(), Vec::new());
    for name in plan::experiments(&plan::cases("all")?) {
        let path = Raw::path(folder, name);
        match path.is_file().then(|| Raw::read(&path)) {
            Some(Ok(raw)) => raws.push(raw),
            // The path in the error is that of somebody's machine.
            Some(Err(error)) => {
                let error = error.to_string();
                let error = error.rsplit_once(".json: ").map_or(error.as_str(), |(_, why)| why);
                unread.push(format!("raw/{name}.json: {error}"));
            }
            None => unread.push(format!(
                "{name} was not run: `cargo run --release -p jungle-bench -- {name} --report DIR`"
            )),
        }
    }
    match raws.is_empty() {
        true => Err(format!("nothing was measured in {}", folder.display()).into()),
        false => Ok((raws, unread)),
    }
}

fn summary(outcomes: &[Outcome]) -> String {
    let count = |state| outcomes.iter().filter(|outcome| outcome.state == state).count();
    format!(
        "{} bars: {} pass, {} FAIL, {} not measured",
        outcomes.len() - count(State::Told),
        count(State::Pass),
        count(State::Fail),
        count(State::NotMeasured)
    )
}

/// What follows from the rows of `scale` for more servers than there are machines here, as text;
/// `None` if they are not all there.
pub fn beyond(rows: &[Row]) -> Option<String> {
    let blocks = scale::Beyond::of(rows, crate::lab::cores())?.tables();
    Some(Document { title: "Scale beyond this machine".to_owned(), blocks }.markdown())
}

fn document(raws: &[Raw], unread: &[String], outcomes: &[Outcome]) -> Document {
    let mut blocks = vec![
        Block::Text(format!("{}.", summary(outcomes))),
        Block::Text(
            "Every figure is the median of its rounds, with the least and the greatest beside it; \
             a ratio is the median of the rounds' ratios. All of it is derived from the files in \
             raw/: `jungle-bench report DIR` does it again."
                .to_owned(),
        ),
    ];
    let has = |is: fn(&Raw) -> bool| raws.iter().any(is);
    if has(|raw| raw.settings.tiny) {
        let text = "Taken with --tiny, which tries the programs: nothing here is a measurement.";
        blocks.push(Block::Text(text.to_owned()));
    } else if has(|raw| raw.settings.quick) {
        let quick = raws.iter().filter(|raw| raw.settings.quick);
        let mut which = quick.map(|raw| &*raw.experiment).collect::<Vec<_>>().join(", ");
        if raws.iter().all(|raw| raw.settings.quick) {
            which = "all of it".to_owned();
        }
        blocks.push(Block::Text(format!(
            "Taken with --quick, fewer tasks and few rounds: {which}. Trust there what is far from \
             its bar."
        )));
    }
    tables::conditions(raws, &mut blocks);
    blocks.push(Block::Heading("Bars".to_owned()));
    blocks.push(Block::Text(format!(
        "What rests on fewer than {} rounds says so: trust it only if it is far from its bar. Each \
         bar is of the processor and the revision that its experiment has above. What is told is \
         no bar. The floor beside the bars of the Store is how many times a second one thread \
         writes 4 KiB and syncs them, without Jungle: measured in the run of the bar, or else in \
         the newest run on such a processor that measured it.",
        claims::ROUNDS_MIN
    )));
    blocks.push(Block::Text(
        "The bars of read, write, point and diff are of a tree without the database, which is what \
         the peers have: a version, and no revision with its time and author. The cases of write \
         and point that begin with db- go through the database, and have no bar."
            .to_owned(),
    ));
    blocks.push(tables::bars(outcomes));
    behind::section(raws, &mut blocks);
    scaling(raws, &mut blocks);
    scale::section(raws, &mut blocks);
    tables::experiments(raws, &mut blocks);
    tables::published(raws, &mut blocks);
    not_here::section(raws, &mut blocks);
    tables::not_measured(raws, unread, &mut blocks);
    Document { title: "Jungle, measured".to_owned(), blocks }
}

/// The curves, the laws that fit them, and points that are too good.
fn scaling(raws: &[Raw], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("Scaling".to_owned()));
    blocks.push(Block::Text(
        "Dashed curves were published by others for their machines, and are not measured here. \
         Amdahl's law has the part of the work that threads can share; the Universal Scalability \
         Law has contention (waiting for each other) and coherence (what each pair of threads \
         costs). Both are fitted by least squares of the relative errors, of which ± has the root \
         of the mean square. Where there are two points, the parallel part follows from their \
         ratio alone, as the originals worked theirs out: no fit, and how well the law holds is \
         not known. From where to where it lies is what the rounds' ratios come to."
            .to_owned(),
    ));
    for figure in &curves::FIGURES {
        let Some(raw) = raws.iter().find(|raw| raw.experiment == figure.experiment) else {
            continue;
        };
        let curves = figure.curves(raw);
        blocks.push(Block::Part(figure.title.to_owned()));
        if !figure.notes.is_empty() {
            blocks.push(Block::Text(format!("{}.", figure.notes.join(". "))));
        }
        let throughput = figure.throughput(&curves).svg();
        blocks.push(Block::Picture(format!("{}-throughput", figure.name), throughput));
        if let Some(plot) = figure.speedup(&curves) {
            blocks.push(Block::Picture(format!("{}-speedup", figure.name), plot.svg()));
        }
        let head = vec!["curve", "points", "parallel", "contention", "coherence", "peak at"];
        let fitted = curves.iter().map(curves::Curve::fitted).collect();
        blocks.push(Block::Table(head, fitted));
        let too_good = curves.iter().flat_map(|curve| curve.too_good(raw.settings.occupy_idle));
        let too_good: Vec<String> = too_good.collect();
        if !too_good.is_empty() {
            blocks.push(Block::List(too_good));
        }
        if figure.experiment == "idle-trap" {
            blocks.push(Block::Text("What busy cores change:".to_owned()));
            blocks.push(Block::List(curves::idle_trap(raw)));
        }
    }
    clients::part(raws, blocks);
    let elsewhere: Vec<String> = raws.iter().flat_map(curves::too_good_elsewhere).collect();
    if !elsewhere.is_empty() {
        blocks.push(Block::Part("More than linear, and not drawn".to_owned()));
        blocks.push(Block::List(elsewhere));
    }
    let both_ways: Vec<String> = raws.iter().flat_map(curves::both_ways).collect();
    if !both_ways.is_empty() {
        blocks.push(Block::Part("Beside busy cores".to_owned()));
        blocks.push(Block::List(both_ways));
    }
}

#[cfg(test)]
mod tests;
