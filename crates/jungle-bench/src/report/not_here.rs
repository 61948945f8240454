//! Systems that are not run here, and what was published of them. Nothing here was measured by us
//! but what stands in the last column.

use super::document::Block;
use crate::lab::Raw;
use crate::results::find;
use crate::systems::System;
use crate::table::quantity;

/// A system that cannot be run here, or that has no peer.
struct NotHere {
    system: &'static str,
    why: &'static str,
    /// What was published of it; nothing that we know of, if there is none.
    figures: &'static [Figure],
}

/// A figure that was published.
struct Figure {
    what: &'static str,
    published: &'static str,
    source: &'static str,
    /// The case of ours that is nearest to it, with its experiment and its number of threads.
    ours: Option<(&'static str, &'static str, usize)>,
}

const fn figure(
    what: &'static str,
    published: &'static str,
    source: &'static str,
    ours: Option<(&'static str, &'static str, usize)>,
) -> Figure {
    Figure { what, published, source, ours }
}

const fn without(system: &'static str, why: &'static str) -> NotHere {
    NotHere { system, why, figures: &[] }
}

/// Those of SirixDB.
const SIRIX: [Figure; 5] = [
    figure(
        "open any of 10,000 revisions and read three steps down, warm",
        "18 µs",
        "github.com/sirixdb/sirix, docs",
        Some(("flat", "open-many", 1)),
    ),
    figure(
        "difference of two revisions in a row",
        "0.18 to 0.29 ms",
        "github.com/sirixdb/sirix, docs",
        Some(("store-peers", "diff", 1)),
    ),
    figure(
        "what a commit of one field adds on disk",
        "1,671 B",
        "github.com/sirixdb/sirix, docs/STORAGE_COST.md",
        Some(("commit", "bytes", 1)),
    ),
    figure(
        "durable commits",
        "121 to 175 /s (PostgreSQL beside it: 1,093 /s)",
        "github.com/sirixdb/sirix, docs/COMPARISON_POSTGRES.md, which itself does not trust what \
         it compares across systems",
        Some(("commit", "sync", 1)),
    ),
    figure(
        "reads over REST, 16 readers beside a writer",
        "11,198 /s",
        "github.com/sirixdb/sirix, docs",
        Some(("board", "mixed", 1000)),
    ),
];

/// All of them, the nearest to ours first.
const NOT_HERE: [NotHere; 14] = [
    NotHere {
        system: "SirixDB",
        why: "needs Java 25; of its releases only 0.9.3 can be had here, not the 1.0.0-beta7 that \
              its README names",
        figures: &SIRIX,
    },
    NotHere {
        system: "Irmin",
        why: "opam cannot be reached from here, and Debian has no package of it",
        figures: &[figure(
            "150,000 blocks of Tezos, replayed",
            "1,043 transactions a second, the mean; some 400 MB of memory",
            "tarides.com/blog/2022-04-26-lightning-fast-with-irmin-tezos-storage-is-6x-faster-with-\
             1000-tps-surpassed",
            None,
        )],
    },
    NotHere {
        system: "Dolt's server",
        why: "a large build in Go, which was not tried; DoltLite, which has its trees below \
              SQLite, is measured instead",
        figures: &[figure(
            "v1.43.7 against MySQL",
            "latency of reads 1.5 ×, of writes 0.9 ×; TPC-C 2.4 × slower",
            "Dolt's documents, benchmarks/latency.md",
            Some(("store-peers", "commit", 1)),
        )],
    },
    without(
        "TerminusDB",
        "its server comes as an image of a container, a snap or source; only its clients can be \
         had here",
    ),
    without("XTDB", "version 2 is not in the Maven repository that can be reached, only version 1"),
    without("Datomic", "closed source; its library can be had, and has no peer yet"),
    without("CouchDB", "not in Debian 12; pouchdb-server is another program"),
    without("Noms", "its module cannot be had here, and it is idle"),
    NotHere {
        system: "Firebase Realtime Database",
        why: "runs at its vendor's only; its emulator cannot be had here",
        figures: &[figure(
            "answers of one database",
            "at most some 100,000 /s, to at most 200,000 connections: its limits, no measurement",
            "firebase.google.com/docs/database/usage/limits",
            Some(("board", "read", 1000)),
        )],
    },
    without("eXist-db", "what it depends on was not tried; it has no peer yet"),
    without("BaseX", "can be had, and has no peer yet"),
    without("Datasette", "can be had, is mostly for reading, and has no peer yet"),
    without("prollytree", "can be had: a map without a tree, in a git repository; no peer yet"),
    NotHere {
        system: "fjall",
        why: "can be had, and has no peer yet",
        figures: &[figure(
            "redb's benchmark on a 9950X3D: individual writes",
            "3,488 ms (redb: 920 ms, LMDB: 1,598 ms)",
            "github.com/cberner/redb",
            Some(("store-peers", "commit", 1)),
        )],
    },
];

/// The section of the report.
pub fn section(raws: &[Raw], blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("Not run here".to_owned()));
    blocks.push(Block::Text(
        "Systems that cannot be run here, or have no peer yet. What was published of them is of \
         other machines and other work: ours stands beside it, and no ratio follows."
            .to_owned(),
    ));
    let head = vec!["system", "why not", "what", "published", "source", "nearest of ours"];
    let rows = NOT_HERE.iter().flat_map(|system| system.rows(raws));
    blocks.push(Block::Table(head, rows.collect()));
}

impl NotHere {
    /// One for each figure, or one that says that there is none.
    fn rows(&self, raws: &[Raw]) -> Vec<Vec<String>> {
        let row = |cells: [&str; 5], ours: String| -> Vec<String> {
            cells.into_iter().map(str::to_owned).chain([ours]).collect()
        };
        let none = "–".to_owned();
        if self.figures.is_empty() {
            return vec![row([self.system, self.why, "–", "nothing known to us", "–"], none)];
        }
        let of_figure = |(at, figure): (usize, &Figure)| {
            let why = if at == 0 { self.why } else { "as above" };
            let cells = [self.system, why, figure.what, figure.published, figure.source];
            row(cells, figure.ours(raws))
        };
        self.figures.iter().enumerate().map(of_figure).collect()
    }
}

impl Figure {
    /// Ours, where it was measured.
    fn ours(&self, raws: &[Raw]) -> String {
        let Some((experiment, case, threads)) = self.ours else {
            return "no such work".to_owned();
        };
        let of = |raw: &Raw| {
            let row = find(&raw.rows, (experiment, case), System::Jungle, threads)?;
            Some(quantity(row.value, row.unit))
        };
        let figure = raws.iter().find_map(of).unwrap_or_else(|| "not measured".to_owned());
        format!("{experiment} {case}: {figure}")
    }
}

#[cfg(test)]
mod tests {
    use super::{NOT_HERE, NotHere};
    use crate::plan;
    use crate::systems::{System, root};

    #[test]
    fn the_documents_name_each_of_them() {
        let page = std::fs::read_to_string(root().join("docs/measurements/README.md")).unwrap();
        let (_, section) = page.split_once("\n## Not run here\n").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        for NotHere { system, .. } in &NOT_HERE {
            assert!(section.contains(system), "{system}");
        }
    }

    #[test]
    fn each_figure_has_a_source_and_a_case_that_there_is() {
        for figure in NOT_HERE.iter().flat_map(|system| system.figures) {
            assert!(!figure.source.is_empty(), "{}", figure.what);
            let Some((experiment, name, threads)) = figure.ours else { continue };
            let case = plan::find(experiment, name).expect(name);
            let rows = case.rows(&[1, 2], &[System::Jungle]);
            assert!(rows.contains(&(threads, System::Jungle)), "{experiment} {name}: {rows:?}");
        }
    }
}
