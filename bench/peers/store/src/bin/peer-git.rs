//! git: a file for each leaf, five folders deep; a commit of its own for each revision. All of it
//! by the plumbing of the `git` command, without a work tree. By default it syncs packs, and not
//! what a merge writes; where that is asked for, all that it writes.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::process::{Command, ExitCode, Stdio};

use peer_store::apart::{self, Apart, COUNTED, Edit, Side};
use peer_store::between::{self, Compared};
use peer_store::stall::{self, Busy, Read};
use peer_store::support::{Failure, Folder, Value};
use peer_store::versions::Change;

fn main() -> ExitCode {
    peer_store::main(|options| {
        let synced = match options.case.as_str() {
            "merge-0-disk" | "merge-10-disk" => Synced::Default,
            "merge-0-disk-synced" | "merge-10-disk-synced" | COUNTED => Synced::All,
            "diff" => {
                let git = Git::new(Folder::new("git")?, Synced::Default)?;
                return between::run(options, &mut Named { git, hashes: Vec::new() });
            }
            "stall" => {
                return stall::run(options, &Git::new(Folder::new("git")?, Synced::Default)?);
            }
            unknown => return Err(format!("there is no case {unknown}").into()),
        };
        apart::run(options, &mut Git::new(Folder::new("git")?, synced)?)
    })
}

/// What git syncs of what it writes.
#[derive(Clone, Copy)]
enum Synced {
    Default,
    All,
}

struct Git(Folder, Synced);

impl Git {
    fn new(folder: Folder, synced: Synced) -> Result<Git, Failure> {
        let git = Git(folder, synced);
        git.ask(["init", "--quiet", "--bare", "--initial-branch=main"], b"")?;
        Ok(git)
    }

    /// What the command says when it is given this.
    fn ask<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let (said, is_well) = self.try_ask(words, input)?;
        if is_well { Ok(said) } else { Err("git failed".into()) }
    }

    /// The same, and whether it says that all is well.
    fn try_ask<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<(Vec<u8>, bool), Failure> {
        let mut git = self.command(words).spawn()?;
        let mut to = git.stdin.take().ok_or("git cannot be told anything")?;
        let output = std::thread::scope(|scope| {
            scope.spawn(move || to.write_all(input));
            git.wait_with_output()
        })?;
        Ok((output.stdout, output.status.success()))
    }

    fn command<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Command {
        let mut git = Command::new("git");
        git.env("GIT_DIR", &self.0.0).env("GIT_INDEX_FILE", self.0.0.join("settled"));
        // Nothing of whoever runs this.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "peer").env(format!("GIT_{who}_EMAIL"), "peer");
        }
        if let Synced::All = self.1 {
            git.args(["-c", "core.fsync=all"]);
        }
        git.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        git
    }

    /// All leaves, in the first commit of the main branch.
    fn plant(&self, values: &[Value]) -> Result<(), Failure> {
        let all: Vec<Edit> = (0..).zip(values.iter().copied()).collect();
        let mut told = Vec::new();
        commit(&mut told, "main", "", &all)?;
        self.ask(["fast-import", "--quiet"], &told)?;
        Ok(())
    }

    /// Commits on a branch, one for each of these.
    fn edit(&self, side: Side, edits: &[Edit]) -> Result<(), Failure> {
        let branch = if side == Side::Main { "main" } else { "side" };
        let (mut told, first) = (Vec::new(), format!("from refs/heads/{branch}^0\n"));
        for (at, edit) in edits.chunks(1).enumerate() {
            commit(&mut told, branch, if at == 0 { &first } else { "" }, edit)?;
        }
        self.ask(["fast-import", "--quiet"], &told)?;
        Ok(())
    }

    /// What all leaves have on the main branch.
    fn all(&self) -> Result<Vec<Value>, Failure> {
        self.contents(&self.ask(["ls-tree", "-r", "--object-only", "main"], b"")?)
    }

    /// What files hold, by their hashes, one a line.
    fn contents(&self, hashes: &[u8]) -> Result<Vec<Value>, Failure> {
        let mut told = &self.ask(["cat-file", "--batch"], hashes)?[..];
        let mut values = Vec::new();
        while !told.is_empty() {
            let head = told.iter().position(|byte| *byte == b'\n').ok_or("a file has no head")?;
            let (value, rest) = told[head + 1..].split_first_chunk().ok_or("a file is short")?;
            values.push(*value);
            told = rest.get(1..).ok_or("a file does not end")?;
        }
        Ok(values)
    }

    /// The tree of the merge, in which the main branch prevails, and the leaves of which both
    /// branches have a value of their own.
    fn settled(&self) -> Result<(String, Vec<u32>), Failure> {
        let merge = ["merge-tree", "--write-tree", "--no-messages", "-z", "main", "side"];
        let (said, _) = self.try_ask(merge, b"")?;
        let said = String::from_utf8(said)?;
        let (tree, conflicts) = said.split_once('\0').ok_or("git told of no tree")?;
        // Stage 2 is the main branch's.
        let of_main = |line: &str| {
            let (told, path) = line.split_once('\t')?;
            let told = told.strip_suffix(" 2")?;
            Some((format!("{told}\t{path}\n"), leaf(path)))
        };
        let (lines, leaves): (Vec<String>, Vec<u32>) =
            conflicts.split('\0').filter_map(of_main).unzip();
        if leaves.is_empty() {
            return Ok((tree.to_owned(), leaves));
        }
        self.ask(["read-tree", tree], b"")?;
        self.ask(["update-index", "--index-info"], lines.concat().as_bytes())?;
        Ok((text(self.ask(["write-tree"], b"")?)?, leaves))
    }
}

fn text(said: Vec<u8>) -> Result<String, Failure> {
    Ok(String::from_utf8(said)?.trim().to_owned())
}

fn path(leaf: u32) -> String {
    let digits: Vec<String> = format!("{leaf:05}").chars().map(String::from).collect();
    digits.join("/")
}

fn leaf(path: &str) -> u32 {
    path.bytes().filter(u8::is_ascii_digit).fold(0, |leaf, digit| leaf * 10 + u32::from(digit - 48))
}

/// A commit in the words of `fast-import`.
fn commit(into: &mut Vec<u8>, branch: &str, from: &str, edits: &[Edit]) -> Result<(), Failure> {
    write!(into, "commit refs/heads/{branch}\ncommitter peer <peer> 0 +0000\ndata 0\n{from}")?;
    for (leaf, value) in edits {
        write!(into, "M 100644 inline {}\ndata {}\n", path(*leaf), value.len())?;
        into.extend(value);
        into.push(b'\n');
    }
    into.push(b'\n');
    Ok(())
}

impl Apart for Git {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.plant(values)
    }

    fn part(&mut self) -> Result<(), Failure> {
        self.ask(["branch", "--force", "side", "main"], b"")?;
        Ok(())
    }

    fn commit(&mut self, side: Side, edits: &[Edit]) -> Result<(), Failure> {
        self.edit(side, edits)
    }

    fn merge(&mut self) -> Result<Option<Vec<u32>>, Failure> {
        let (tree, conflicts) = self.settled()?;
        let commit = ["commit-tree", &tree, "-p", "main", "-p", "side", "-m", "merge"];
        let commit = text(self.ask(commit, b"")?)?;
        self.ask(["update-ref", "refs/heads/main", &commit], b"")?;
        Ok(Some(conflicts))
    }

    fn values(&mut self, _leaves: u32) -> Result<Vec<Value>, Failure> {
        self.all()
    }
}

/// A reader has a process of its own, which stays; a commit takes one that imports it. The pruning
/// of what is not needed waits for two weeks, as by default, since commits go on.
impl Busy for Git {
    fn fill(&self, values: &[Value], edits: &[Edit]) -> Result<(), Failure> {
        self.plant(values)?;
        self.edit(Side::Main, edits)
    }

    fn reader(&self) -> Result<Read<'_>, Failure> {
        let mut git = self.command(["cat-file", "--batch"]).spawn()?;
        let mut to = git.stdin.take().ok_or("git cannot be told anything")?;
        let mut from = BufReader::new(git.stdout.take().ok_or("git says nothing")?);
        let read = move |leaf: u32| -> Result<Value, Failure> {
            to.write_all(format!("main:{}\n", path(leaf)).as_bytes())?;
            let (mut head, mut file) = (String::new(), [0; 33]);
            from.read_line(&mut head)?;
            if !head.ends_with(" blob 32\n") {
                return Err(format!("git says {head}").into());
            }
            from.read_exact(&mut file)?;
            Ok(file[..32].try_into()?)
        };
        Ok(Box::new(read))
    }

    fn commit(&self, leaf: u32, value: &Value) -> Result<(), Failure> {
        self.edit(Side::Main, &[(leaf, *value)])
    }

    fn reclaim(&self, _from: u64) -> Result<(), Failure> {
        self.ask(["gc", "--quiet"], b"")?;
        Ok(())
    }

    fn newest(&self) -> Result<u64, Failure> {
        Ok(text(self.ask(["rev-list", "--count", "main"], b"")?)?.parse()?)
    }

    fn values(&self, _leaves: u32) -> Result<Vec<Value>, Failure> {
        self.all()
    }
}

/// git, and the hash of each revision, oldest first.
struct Named {
    git: Git,
    hashes: Vec<String>,
}

impl Named {
    fn hash(&self, revision: u64) -> Result<&str, Failure> {
        let at = revision.checked_sub(1).ok_or("revisions begin with 1")? as usize;
        Ok(self.hashes.get(at).ok_or("there is no such revision")?)
    }
}

impl Compared for Named {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.git.plant(values)
    }

    /// Packed well afterwards, as git would by itself sooner or later.
    fn commit(&mut self, edits: &[Edit]) -> Result<(), Failure> {
        self.git.edit(Side::Main, edits)?;
        self.git.ask(["gc", "--quiet"], b"")?;
        let hashes = text(self.git.ask(["rev-list", "--reverse", "main"], b"")?)?;
        self.hashes = hashes.lines().map(str::to_owned).collect();
        Ok(())
    }

    /// Which files, and what they hold now, of which a line tells the hash:
    /// `:100644 100644 OLD NEW M<tab>PATH`.
    fn between(&mut self, from: u64, to: u64) -> Result<Vec<Change>, Failure> {
        let compare = ["diff-tree", "-r", self.hash(from)?, self.hash(to)?];
        let told = text(self.git.ask(compare, b"")?)?;
        let (mut leaves, mut hashes) = (Vec::new(), String::new());
        for line in told.lines() {
            let (told, path) = line.split_once('\t').ok_or("a change has no path")?;
            hashes += told.split(' ').nth(3).ok_or("a change has no hash")?;
            hashes.push('\n');
            leaves.push(leaf(path));
        }
        let values = self.git.contents(hashes.as_bytes())?;
        Ok(leaves.into_iter().zip(values).collect())
    }

    fn values(&mut self, _leaves: u32) -> Result<Vec<Value>, Failure> {
        self.git.all()
    }
}
