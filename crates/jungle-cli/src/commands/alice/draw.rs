//! `jungle alice draw`: a picture of a topology that runs.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::io::Write as _;

use alice_nats::{Seen, View};
use serde::Serialize;

use super::{Connect, not_joined};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Format, json_line, stdout};

/// Draw a topology that runs, as SVG
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    connect: Connect,
    /// Which one [default: the only one]
    topology: Option<String>,
}

/// What is told as JSON.
#[derive(Serialize)]
struct Told<'v> {
    topology: &'v str,
    shape: &'v str,
    members: Vec<ToldMember<'v>>,
    edges: Vec<ToldEdge<'v>>,
}

#[derive(Serialize)]
struct ToldMember<'v> {
    name: &'v str,
    place: usize,
    is_there: bool,
}

#[derive(Serialize)]
struct ToldEdge<'v> {
    from: &'v str,
    label: &'v str,
    to: &'v str,
}

pub(super) fn run(args: &Args, context: &Context<'_>) -> Result<(), Failure> {
    let engine = args.connect.connect()?;
    let topology = match &args.topology {
        Some(topology) => topology.clone(),
        None => only(engine.topologies().map_err(not_joined)?)?,
    };
    let view = engine.view(&topology).map_err(|error| Failure::of(Exit::NotFound, &error))?;
    let mut out = stdout();
    match context.format {
        Format::Text => out.write_all(svg(&view).as_bytes())?,
        Format::Json => json_line(&mut out, &told(&view))?,
    }
    Ok(out.flush()?)
}

fn only(mut topologies: Vec<String>) -> Result<String, Failure> {
    match (topologies.pop(), topologies.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(Failure::new(Exit::NotFound, "there is no topology")
            .with_hint("is the space the right one (--space)?")),
        (Some(last), false) => {
            topologies.push(last);
            let names = topologies.join(", ");
            Err(Failure::usage("there are several topologies")
                .with_hint(format_args!("name one of them: {names}")))
        }
    }
}

fn told(view: &View) -> Told<'_> {
    let member = |seen: &'_ Seen| (seen.place, seen.is_there);
    Told {
        topology: &view.topology,
        shape: &view.shape,
        members: view
            .members
            .iter()
            .map(|seen| {
                let (place, is_there) = member(seen);
                ToldMember { name: &seen.name, place, is_there }
            })
            .collect(),
        edges: view
            .edges
            .iter()
            .map(|edge| ToldEdge { from: &edge.from, label: &edge.label, to: &edge.to })
            .collect(),
    }
}

/// How far apart members are, and how large each is drawn.
const STEP: f64 = 110.0;
const RADIUS: f64 = 26.0;
const MARGIN: f64 = 60.0;

const STYLE: &str = "\
text{font:12px sans-serif;text-anchor:middle;dominant-baseline:central;fill:#1b2b3a}\
.label{font-size:10px;fill:#5a6b7b}circle{fill:#d7ecff;stroke:#2f6da3;stroke-width:1.5}\
.gone circle{fill:#f2f2f2;stroke:#aaa;stroke-dasharray:4 3}.gone text{fill:#999}\
line{stroke:#7a8fa3;stroke-width:1.2}";

/// The head of an arrow.
const HEAD: &str = "\
<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#7a8fa3\"/></marker></defs>";

fn svg(view: &View) -> String {
    let spots = spots(view);
    let right = spots.values().map(|spot| spot.0).fold(0.0, f64::max);
    let below = spots.values().map(|spot| spot.1).fold(0.0, f64::max);
    let (width, height) = (right + MARGIN, below + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\">\n<title>{}: {}</title>\n\
         <style>{STYLE}</style>\n{HEAD}\n",
        escaped(&view.topology),
        escaped(&view.shape)
    );
    for edge in &view.edges {
        let (Some(from), Some(to)) = (spots.get(edge.from.as_str()), spots.get(edge.to.as_str()))
        else {
            continue;
        };
        arrow(&mut svg, *from, *to, &edge.label);
    }
    for member in &view.members {
        let (x, y) = spots[member.name.as_str()];
        let class = if member.is_there { "there" } else { "gone" };
        let name = escaped(&member.name);
        writeln!(
            svg,
            "<g class=\"{class}\"><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>\
             <text x=\"{x:.1}\" y=\"{y:.1}\">{name}</text></g>"
        )
        .expect("a string takes everything");
    }
    svg.push_str("</svg>\n");
    svg
}

/// An arrow beside the straight line, so that one the other way has room, and its label near its
/// beginning.
fn arrow(svg: &mut String, from: (f64, f64), to: (f64, f64), label: &str) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let (sx, sy) = (-uy * 6.0, ux * 6.0);
    let (x1, y1) = (from.0 + ux * RADIUS + sx, from.1 + uy * RADIUS + sy);
    let (x2, y2) = (to.0 - ux * RADIUS + sx, to.1 - uy * RADIUS + sy);
    let (tx, ty) = (x1 + (x2 - x1) * 0.35 + sx, y1 + (y2 - y1) * 0.35 + sy);
    let label = escaped(label);
    writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
         marker-end=\"url(#to)\"/><text class=\"label\" x=\"{tx:.1}\" y=\"{ty:.1}\">{label}</text>"
    )
    .expect("a string takes everything");
}

/// Where each member is drawn.
fn spots(view: &View) -> BTreeMap<&str, (f64, f64)> {
    let count = view.members.len();
    if let Some(children_max) = view.shape.strip_prefix("tree:").and_then(|n| n.parse().ok()) {
        let spot = |seen: &Seen| tree_spot(seen.place, children_max, count);
        return view.members.iter().map(|seen| (seen.name.as_str(), spot(seen))).collect();
    }
    // All on a circle; the hub of a star within it.
    let hub = view.members.iter().find(|seen| view.shape == "star" && seen.place == 0);
    let outside: Vec<&Seen> = view.members.iter().filter(|seen| Some(*seen) != hub).collect();
    let radius = (STEP * outside.len() as f64 / TAU).max(STEP);
    let middle = radius + MARGIN;
    let on_circle = outside.iter().enumerate().map(|(at, seen)| {
        let turn = TAU * at as f64 / outside.len() as f64;
        (seen.name.as_str(), (middle + radius * turn.sin(), middle - radius * turn.cos()))
    });
    on_circle.chain(hub.map(|hub| (hub.name.as_str(), (middle, middle)))).collect()
}

/// In the row of its depth, each row as wide as the widest one could be.
fn tree_spot(place: usize, children_max: usize, count: usize) -> (f64, f64) {
    let row_of = |place: usize| {
        let (mut first, mut width, mut row) = (0_usize, 1_usize, 0_usize);
        while place >= first.saturating_add(width) {
            first += width;
            width = width.saturating_mul(children_max.max(1));
            row += 1;
        }
        (row, place - first, width)
    };
    let (row, at, width) = row_of(place);
    let (_, _, widest) = row_of(count.max(1) - 1);
    let whole = STEP * widest.min(count).max(1) as f64;
    let x = whole * (at as f64 + 0.5) / width.min(count).max(1) as f64;
    (MARGIN + x, MARGIN + STEP * row as f64)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars().filter(|char| !char.is_control()) {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}
