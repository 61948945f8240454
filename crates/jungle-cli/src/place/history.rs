//! What a server tells of its history: what differs, and where it is gone back.

use jungle_json::value_at;
use jungle_server::{Remote, RemoteConflict, RemoteError, typed};
use jungle_tree::Path;
use jungle_words::Info;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::server::{Asked, Server, failure};
use super::{Back, Clash, Compared, Contradicted, Foreseen, On, Part, Place, Reverted};
use crate::args;
use crate::failure::Failure;
use crate::folder::Written;
use crate::member::New;
use crate::near;
use crate::patch::Differences;
use crate::settle::{How, hows};

/// Where a path for `--resolve` is found.
pub(super) const TOLD: &str = "without --resolve the conflicts are told";

/// The first line of what differs.
#[derive(Deserialize)]
struct Head {
    #[serde(flatten)]
    info: Info,
    /// Has either version something there?
    exists: bool,
}

/// What a revert would do, as far as it is looked at.
#[derive(Deserialize)]
struct Preview {
    conflicts: Vec<RemoteConflict>,
    /// How many there are, whether or not they are told.
    conflict_count: usize,
}

impl Server {
    /// What is told of a revision of a branch.
    pub(super) fn info(&self, on: On<'_>, rev: &str) -> Result<Info, Failure> {
        let branch = on.branch.map(|branch| ("branch", branch));
        let info = self.ask(&["trees", on.tree, "revisions", rev], branch.as_slice());
        info.map_err(|error| self.refused(&error, Asked { on, rev: Some(rev) }))
    }

    /// Refuses a path where the newest revision has nothing.
    pub(super) fn must_be_there(&self, on: On<'_>, below: &Path) -> Result<(), Failure> {
        let newest = self.look_on(on, None, Part::Members(below))?;
        match value_at(newest.root(), below) {
            Some(_) => Ok(()),
            None => Err(near::not_found(newest.root(), below)),
        }
    }

    /// What differs at a path and below, between the versions that the parameters name, and what is
    /// told of the second one.
    pub(super) fn differing(
        &self,
        on: On<'_>,
        versions: &[(&str, &str)],
        below: &Path,
    ) -> Result<(Info, Compared), Failure> {
        let told = self.ask_what_differs(on, versions, below).map_err(|error| {
            let names = |rev: &str| error.to_string() == no_revision(on.tree, rev);
            let rev = versions.iter().map(|(_, rev)| *rev).find(|rev| names(rev));
            self.refused(&error, Asked { on, rev })
        })?;
        self.read_what_differs(&told)
    }

    /// Asks for that, for whoever goes on where nobody answers.
    pub(super) fn ask_what_differs(
        &self,
        on: On<'_>,
        versions: &[(&str, &str)],
        below: &Path,
    ) -> Result<Vec<u8>, RemoteError> {
        let path = below.to_string();
        let mut parameters = vec![("form", "document"), ("path", &*path)];
        parameters.extend(on.branch.map(|branch| ("branch", branch)));
        parameters.extend_from_slice(versions);
        self.get(&["trees", on.tree, "diff"], &parameters)
    }

    /// What such an answer says.
    pub(super) fn read_what_differs(&self, told: &[u8]) -> Result<(Info, Compared), Failure> {
        let unexpected = || failure(&self.unexpected());
        let (head, lines) = self.behind_head::<Head>(told)?;
        let differences = match head.exists {
            true => Some(Differences::read(lines.lines())?.ok_or_else(unexpected)?),
            false => None,
        };
        Ok((head.info, Compared::Told(differences)))
    }

    /// The first line of an answer, and the others.
    fn behind_head<'t, H: DeserializeOwned>(
        &self,
        told: &'t [u8],
    ) -> Result<(H, &'t str), Failure> {
        let unexpected = || failure(&self.unexpected());
        let told = std::str::from_utf8(told).map_err(|_| unexpected())?;
        let (head, lines) = told.split_once('\n').ok_or_else(unexpected)?;
        Ok((serde_json::from_str(head).map_err(|_| unexpected())?, lines))
    }

    /// Goes back over a revision, or to one.
    pub(super) fn gone_back(
        &self,
        on: On<'_>,
        rev: &str,
        back: Back<'_>,
        meta: &args::Meta,
    ) -> Result<Reverted, Failure> {
        let asked = Asked { on, rev: Some(rev) };
        let mut body = json!({"author": meta.author, "message": meta.message, "branch": on.branch});
        let mut revision = 0;
        match back {
            Back::To => {
                body["mode"] = "restore".into();
                body["at"] = rev.into();
            }
            Back::Over(settle) => {
                revision = self.number(on, rev)?;
                body["revision"] = revision.into();
                if let Some(side) = settle.prevails {
                    body["prevails"] = side.name().into();
                }
                if !settle.resolve.is_empty() {
                    match self.conflicts_with(on, revision) {
                        Ok(conflicts) => body["resolve"] = resolve(&conflicts, settle.resolve)?,
                        Err(error) => {
                            let contradicted = self.not_gone_back(&error, revision, asked)?;
                            return Ok(Reverted::Contradicted(contradicted));
                        }
                    }
                }
            }
        }
        let address = Remote::address(&["trees", on.tree, "reverts"], &[]);
        let answer = self.surely(|key| self.remote.once(&address, &body, key));
        match answer.and_then(|answer| self.read::<Written>(&answer)) {
            Ok(written) => Ok(Reverted::Written(written)),
            Err(error) => self.not_gone_back(&error, revision, asked).map(Reverted::Contradicted),
        }
    }

    /// What that would do.
    pub(super) fn foreseen(
        &self,
        on: On<'_>,
        rev: &str,
        back: Back<'_>,
    ) -> Result<Foreseen, Failure> {
        let Back::Over(settle) = back else {
            let newest = on.branch.unwrap_or("main");
            let versions = [("from", newest), ("to", rev)];
            let (_, compared) = self.differing(on, &versions, &Path::root())?;
            return Ok(Foreseen { compared, contradicted: None });
        };
        if !settle.resolve.is_empty() {
            let failure = Failure::usage("a server does not tell what --resolve would do");
            return Err(failure.with_hint("--dry-run takes --ours and --theirs there"));
        }
        let revision = self.number(on, rev)?;
        let number = revision.to_string();
        let mut parameters = vec![("revision", &*number), ("form", "document")];
        parameters.extend(on.branch.map(|branch| ("branch", branch)));
        parameters.extend(settle.prevails.map(|side| ("prevails", side.name())));
        let told = match self.get(&["trees", on.tree, "reverts"], &parameters) {
            Ok(told) => told,
            Err(error) => {
                let asked = Asked { on, rev: Some(rev) };
                let contradicted = Some(self.not_gone_back(&error, revision, asked)?);
                return Ok(Foreseen { compared: Compared::Told(None), contradicted });
            }
        };
        let (head, lines) = self.behind_head::<Preview>(&told)?;
        let unexpected = || failure(&self.unexpected());
        let differences = Differences::read(lines.lines())?.ok_or_else(unexpected)?;
        let compared = Compared::Told(Some(differences));
        let is_open = settle.prevails.is_none() && !head.conflicts.is_empty();
        let left_out = head.conflict_count.saturating_sub(head.conflicts.len());
        let contradicted =
            is_open.then(|| self.contradicted(revision, &head.conflicts, left_out)).transpose()?;
        Ok(Foreseen { compared, contradicted })
    }

    /// The number of a revision. One is taken as it is: at one of another tree, what this one did
    /// before is not meant.
    fn number(&self, on: On<'_>, rev: &str) -> Result<u64, Failure> {
        let found = self.info(on, rev)?.revision;
        Ok(rev.parse().unwrap_or(found))
    }

    /// Where what a revision did has been changed since.
    fn conflicts_with(
        &self,
        on: On<'_>,
        revision: u64,
    ) -> Result<Vec<RemoteConflict>, RemoteError> {
        let revision = revision.to_string();
        let mut parameters = vec![("revision", &*revision)];
        parameters.extend(on.branch.map(|branch| ("branch", branch)));
        let preview = self.ask::<Preview>(&["trees", on.tree, "reverts"], &parameters)?;
        Ok(preview.conflicts)
    }

    fn not_gone_back(
        &self,
        error: &RemoteError,
        revision: u64,
        asked: Asked<'_>,
    ) -> Result<Contradicted, Failure> {
        match error {
            RemoteError::Refused { conflicts, conflicts_left_out, .. } if !conflicts.is_empty() => {
                self.contradicted(revision, conflicts, *conflicts_left_out)
            }
            error => Err(self.not_done(error, asked)),
        }
    }

    fn contradicted(
        &self,
        revision: u64,
        conflicts: &[RemoteConflict],
        left_out: usize,
    ) -> Result<Contradicted, Failure> {
        let clashes = conflicts.iter().map(clash).collect::<Option<Vec<Clash>>>();
        let clashes = clashes.ok_or_else(|| failure(&self.unexpected()))?;
        Ok(Contradicted { revision, clashes, left_out })
    }
}

/// How single conflicts are settled, as a server is told.
fn resolve(conflicts: &[RemoteConflict], said: &[String]) -> Result<Json, Failure> {
    let member = |told: &RemoteConflict| clash(told).map(|clash| clash.path).unwrap_or_default();
    let members: Vec<Path> = conflicts.iter().map(member).collect();
    let hows = hows(&members, said, TOLD)?;
    let mut resolve = Vec::new();
    for ((told, member), how) in conflicts.iter().zip(&members).zip(hows) {
        let mut one = json!({"path": told.path, "attribute": told.attribute});
        match how {
            None => continue,
            Some(How::Take(side)) => one["take"] = side.name().into(),
            Some(How::Put(New::Scalar(value))) if told.attribute.is_some() => {
                one["value"] = typed(value.as_ref());
            }
            Some(How::Put(_)) => {
                let message = "on a server a value settles an attribute, and has to be a scalar";
                return Err(Failure::usage(format_args!("--resolve {member}: {message}"))
                    .with_hint("=ours or =theirs settles it"));
            }
        }
        resolve.push(one);
    }
    Ok(resolve.into())
}

/// What is told where nothing has this name.
pub(super) fn no_revision(tree: &str, rev: &str) -> String {
    format!("the tree {tree:?} has no revision {rev:?}")
}

/// A conflict in terms of documents.
fn clash(told: &RemoteConflict) -> Option<Clash> {
    let path: Path = told.path.parse().ok()?;
    let path = match &told.attribute {
        Some(key) if !key.is_empty() && !key.starts_with('\0') => path.join(&**key),
        _ => path,
    };
    Some(Clash { path, kind: told.kind.clone() })
}
