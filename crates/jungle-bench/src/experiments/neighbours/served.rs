//! A Jungle that `jungle serve` keeps in a folder, over HTTP: a connection for each who uses it.

use std::fmt::Write;
use std::ops::Range;

use serde_json::Value as Json;

use super::draws::{DEPTH, KEY, TREE, WARM, is_first, step, value_of};
use super::{Store, User};
use crate::Failure;
use crate::experiments::board::server::{Client, Serving};
use crate::experiments::folder::Folder;

const JSON: &str = "application/json";

pub struct Served(Serving);

impl Served {
    pub fn start(folder: &Folder) -> Result<Served, Failure> {
        let data = folder.0.display().to_string();
        let serving = Serving::jungle(&["--data", &data, "--durability", "sync"])?;
        for tree in [WARM, TREE] {
            serving.ask("POST /api/v1/trees", &format!(r#"{{"name":"{tree}"}}"#))?;
        }
        Ok(Served(serving))
    }

    /// Forgets all of the tree but the newest so many revisions, and gives their place back.
    pub fn reclaim(&self, kept: u64) -> Result<(), Failure> {
        let keep = format!("PUT /api/v1/trees/{TREE}/keep");
        self.0.ask(&keep, &format!(r#"{{"keep":"{kept}"}}"#))?;
        self.0.ask("POST /api/v1/folder/gc", r#"{"compact":true}"#)?;
        loop {
            // It waits for less time than whoever asks.
            let told = self.0.ask("GET /api/v1/folder/gc?wait=30", "")?;
            let told: Json = serde_json::from_str(&told)?;
            match told["state"].as_str() {
                Some("running") => {}
                Some("done") => return Ok(()),
                _ => return Err(format!("space was not given back: {told}").into()),
            }
        }
    }
}

impl Store for Served {
    fn user(&self) -> Result<Box<dyn User + '_>, Failure> {
        Ok(Box::new(Connection(Client::new(&self.0)?)))
    }

    fn close(self) -> Result<(), Failure> {
        self.0.stop()
    }
}

/// Somebody who has a connection with a server.
pub struct Connection(pub Client);

impl Connection {
    fn get(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        self.0.ask(&format!("GET /api/v1/trees/{path}"), JSON, "")
    }

    /// Commits; gives the revision.
    fn commit(&mut self, tree: &str, edits: &str) -> Result<u64, Failure> {
        let head = format!("POST /api/v1/trees/{tree}/commits");
        let answer = self.0.ask(&head, JSON, &format!(r#"{{"edits":[{edits}]}}"#))?;
        let answer: Json = serde_json::from_slice(&answer)?;
        answer["revision"].as_u64().ok_or_else(|| format!("a commit: {answer}").into())
    }
}

impl User for Connection {
    fn load(&mut self, tree: &str, leaves: Range<u32>) -> Result<(), Failure> {
        let mut edits = String::new();
        for leaf in leaves {
            for depth in (1..DEPTH).filter(|depth| is_first(leaf, *depth)) {
                write!(edits, r#"{{"op":"insert","path":"{}"}},"#, path(leaf, depth))?;
            }
            let (path, value) = (path(leaf, DEPTH), value_of(leaf, 0));
            let with = format!(r#""attributes":{{"{KEY}":"{value}"}}"#);
            write!(edits, r#"{{"op":"insert","path":"{path}",{with}}},"#)?;
        }
        self.commit(tree, edits.trim_end_matches(','))?;
        Ok(())
    }

    fn put(&mut self, tree: &str, leaf: u32, value: &str) -> Result<u64, Failure> {
        let path = path(leaf, DEPTH);
        let edit = format!(r#""op":"put","path":"{path}","attribute":"{KEY}","value":"{value}""#);
        self.commit(tree, &format!("{{{edit}}}"))
    }

    fn read(&mut self, tree: &str, leaf: u32, at: Option<u64>) -> Result<String, Failure> {
        let at = at.map_or(String::new(), |revision| format!("&at={revision}"));
        let path = path(leaf, DEPTH);
        let value = self.get(&format!("{tree}/value?path={path}&attribute={KEY}{at}"))?;
        Ok(String::from_utf8(value)?)
    }

    fn is_change(
        &mut self,
        tree: &str,
        revision: u64,
        leaf: u32,
        value: &str,
    ) -> Result<bool, Failure> {
        let page = self.get(&format!("{tree}/diff?to={revision}"))?;
        let page: Json = serde_json::from_slice(&page)?;
        let change = &page["changes"][0];
        let put = (change["op"].as_str(), change["attribute"].as_str());
        Ok(page["total"] == 1
            && put == (Some("put"), Some(KEY))
            && change["path"] == path(leaf, DEPTH)
            && change["value"]["value"] == value)
    }
}

/// The path to the node above a leaf, or to itself, that lies so deep.
fn path(leaf: u32, depth: u32) -> String {
    (1..=depth).map(|depth| format!("/{}", step(leaf, depth))).collect()
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_path_is_told_as_the_api_has_it() {
        assert_eq!((path(12_045, 5), path(12_045, 2)), ("/1/2/0/4/5".into(), "/1/2".into()));
    }
}
