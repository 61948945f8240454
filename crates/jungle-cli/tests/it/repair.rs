//! `jungle repair` of folders that the command has made, damaged in many ways: what it saves is
//! what there was, and what is whole is saved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jungle::{OpenOptions, RepairProgress, Revision, Store, Survey, loading};
use jungle_testkit::{Rng, for_each_seed};
use serde_json::Value as Json;

use super::{Ended, Folder};

/// Who makes what is left of a revision.
const AUTHOR: &str = "jungle repair";

/// Damages of one folder; each is a run of the command.
const DAMAGES: u64 = 30;

/// A revision of a branch: the tree, the branch, the number.
type Which = (String, String, u64);

/// What is known of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
struct Portrait {
    newest: u64,
    /// Time, author and message, and the hash of the content.
    revisions: BTreeMap<Which, (i64, Option<String>, Option<String>, String)>,
    /// Those of a branch that are kept.
    kept: BTreeSet<Which>,
    /// The revision of a tag, by its tree and name, and the hash of the content.
    tags: BTreeMap<(String, String), (u64, String)>,
}

impl Portrait {
    /// `None` where part of it cannot be read.
    fn of(dir: &Path) -> Option<Portrait> {
        let store = OpenOptions::new().read_only().open(dir).ok()?;
        loading(|| Portrait::of_store(&store)).ok()?
    }

    fn of_store(store: &Store) -> Option<Portrait> {
        let mut portrait = Portrait { newest: store.revision().number(), ..Portrait::default() };
        for tree in store.list_trees() {
            let main = store.open_tree(&tree).unwrap();
            for branch in main.list_branches() {
                let handle = main.on_branch(&branch).unwrap();
                for entry in handle.history(..) {
                    let entry = entry.ok()?;
                    let hash = handle.at(entry.revision).ok()?.root().content_hash();
                    let words = [entry.meta.author_name(), entry.meta.message_text()];
                    let [author, message] = words.map(|text| text.map(str::to_owned));
                    let which = (tree.to_string(), branch.to_string(), entry.revision.number());
                    let is = (entry.time.as_micros(), author, message, hash.to_string());
                    portrait.kept.insert(which.clone());
                    portrait.revisions.insert(which, is);
                }
            }
            for (tag, revision) in main.list_tags() {
                let hash = main.at_tag(&tag).unwrap().root().content_hash().to_string();
                portrait
                    .tags
                    .insert((tree.to_string(), tag.to_string()), (revision.number(), hash));
            }
        }
        Some(portrait)
    }

    /// What was known before this one stays known.
    fn after(mut self, before: Portrait) -> Portrait {
        let mut revisions = before.revisions;
        revisions.extend(self.revisions);
        self.revisions = revisions;
        self
    }
}

/// A document that takes up some of the disk.
fn document(rng: &mut Rng, members: u64) -> String {
    let mut text = String::from("{");
    for member in 0..members {
        let comma = if member > 0 { "," } else { "" };
        let words: Vec<String> = (0..6).map(|_| format!("{:x}", rng.next_u64())).collect();
        let words = words.join(" ");
        text.push_str(&format!(
            r#"{comma}"m{member:04}":{{"text":"{words}","list":[{member},"{words}"]}}"#
        ));
    }
    text.push('}');
    text
}

/// A folder with two trees, a branch, tags, and a log that goes back to the first commit.
fn complete(folder: &Folder) -> Portrait {
    let mut rng = Rng::new(1);
    let run = |args: &[&str]| folder.run(args).check_code(0);
    for (name, members) in [("one.json", 60), ("two.json", 80), ("other.json", 20)] {
        folder.write(name, &document(&mut rng, members));
    }
    run(&["import", "d", "t", "one.json", "--tag", "one", "--author", "ana", "-m", "first"]);
    run(&["import", "d", "t", "two.json", "--author", "ben"]);
    run(&["branch", "d", "t", "side"]);
    for n in 0..6_u64 {
        let (path, n) = (format!("/m{:04}/n", n * 7), n.to_string());
        run(&["put", "d", "t", &path, &n, "--author", "ana", "-m", &format!("put {n}")]);
        run(&["put", "d", "t", &path, &n, "--branch", "side"]);
    }
    run(&["import", "d", "other", "other.json", "--tag", "there"]);
    run(&["gc", "d"]);
    run(&["put", "d", "other", "/m0003/n", "1"]);
    run(&["put", "d", "t", "/m0001/last", "true"]);
    Portrait::of(&folder.0.join("d")).unwrap()
}

/// A folder in which the checkpoint is the only copy of most there is.
fn cut_off(folder: &Folder) -> Portrait {
    let mut rng = Rng::new(2);
    let run = |args: &[&str]| folder.run(args).check_code(0);
    for name in ["a.json", "b.json", "c.json"] {
        folder.write(name, &document(&mut rng, 500));
        run(&["import", "d", "t", name, "--author", "ana", "-m", name]);
    }
    folder.write("small.json", &document(&mut rng, 30));
    run(&["import", "d", "small", "small.json", "--tag", "begin"]);
    run(&["branch", "d", "t", "side"]);
    for n in 0..8_u64 {
        run(&["put", "d", "t", &format!("/m{:04}/n", n * 50), &n.to_string(), "--author", "ben"]);
        run(&["put", "d", "small", &format!("/m{:04}/n", n * 3), &n.to_string()]);
    }
    let before = Portrait::of(&folder.0.join("d")).unwrap();
    run(&["keep", "d", "t", "5"]);
    run(&["gc", "d", "--compact"]);
    assert!(!folder.0.join("d/log/00000000000000000001.log").exists(), "the log was not cut off");
    run(&["put", "d", "t", "/m0002/n", "2", "-m", "after"]);
    run(&["put", "d", "small", "/m0002/n", "2"]);
    Portrait::of(&folder.0.join("d")).unwrap().after(before)
}

/// A list so long that no block of the checkpoint has to do with all of it.
fn listed(folder: &Folder) -> Portrait {
    let mut rng = Rng::new(3);
    let run = |args: &[&str]| folder.run(args).check_code(0);
    let words = |rng: &mut Rng| {
        let words: Vec<String> = (0..20).map(|_| format!("{:x}", rng.next_u64())).collect();
        words.join(" ")
    };
    for name in ["a.json", "b.json"] {
        let items: Vec<String> =
            (0..1_500).map(|n| format!(r#"{{"n":{n},"text":"{}"}}"#, words(&mut rng))).collect();
        folder.write(name, &format!("[{}]", items.join(",")));
        run(&["import", "d", "t", name, "--author", "ana", "-m", name]);
    }
    run(&["put", "d", "t", "/7/n", "0"]);
    let before = Portrait::of(&folder.0.join("d")).unwrap();
    run(&["keep", "d", "t", "1"]);
    run(&["gc", "d", "--compact"]);
    Portrait::of(&folder.0.join("d")).unwrap().after(before)
}

fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    files
}

/// Does something to one file; tells what.
fn damage(rng: &mut Rng, dir: &Path) -> String {
    let files = files_below(dir);
    let names: Vec<&PathBuf> = files.keys().collect();
    // There is most in the pages and the log, and they may be few files of many.
    let file = match rng.below(4) {
        0 => dir.join("pages"),
        1 => (*names.iter().rev().find(|name| name.starts_with(dir.join("log"))).unwrap()).clone(),
        _ => (*rng.pick(&names)).clone(),
    };
    let mut bytes = files[&file].clone();
    // What is filled with zeros ahead says nothing.
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    let at = rng.index(used.min(bytes.len()).max(1));
    let what = match rng.below(8) {
        0..=3 => {
            let len = *rng.pick(&[1, 1, 8, 200]);
            let end = bytes.len().min(at + len);
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 + rng.below(255) as u8);
            "changed bytes"
        }
        4 | 5 => {
            let block = *rng.pick(&[512, 4096, 65536]);
            let (start, end) = (at / block * block, bytes.len().min(at / block * block + block));
            bytes[start..end].fill(0);
            "a block of zeros"
        }
        6 => {
            bytes.truncate(at);
            "cut off"
        }
        _ => {
            fs::remove_file(&file).unwrap();
            return format!("{} removed", file.display());
        }
    };
    fs::write(&file, bytes).unwrap();
    format!("{what} at {at} of {}", file.display())
}

/// What is told as JSON.
struct Told {
    lost: Vec<Json>,
    repaired: Option<Json>,
}

impl Told {
    fn of(ended: &Ended) -> Told {
        let lines = ended.out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        let (mut lost, mut repaired) = (Vec::new(), None);
        for line in lines {
            match line.as_object().unwrap().iter().next().unwrap() {
                (what, told) if what == "lost" => lost.push(told.clone()),
                (what, told) if what == "repaired" => repaired = Some(told.clone()),
                _ => {}
            }
        }
        Told { lost, repaired }
    }
}

fn check_damages(name: &str, make: impl Fn(&Folder) -> Portrait) {
    let folder = Folder::new(name);
    let was = make(&folder);
    let (whole, dir, new) = (folder.0.join("d"), folder.0.join("damaged"), folder.0.join("new"));
    let mut saved = [0; 3];
    for_each_seed(DAMAGES, |rng| {
        let _ = (fs::remove_dir_all(&dir), fs::remove_dir_all(&new));
        copy(&whole, &dir);
        let many = *rng.pick(&[1, 1, 1, 2, 4]);
        let is_there = |files: BTreeMap<PathBuf, Vec<u8>>| {
            let in_log = |file: &PathBuf| file.starts_with(dir.join("log"));
            files.contains_key(&dir.join("pages")) && files.keys().any(in_log)
        };
        let mut what: Vec<String> = Vec::new();
        while what.len() < many && is_there(files_below(&dir)) {
            what.push(damage(rng, &dir));
        }
        let before = files_below(&dir);
        let survey = OpenOptions::new().survey(&dir).ok();
        let ended = folder.run(&["repair", "damaged", "new", "--json"]);
        let seen = format!("seed {}: {what:?}: {}{}", rng.seed(), ended.out, ended.err);
        assert!(before == files_below(&dir), "the damaged folder was changed; {seen}");
        let told = Told::of(&ended);
        match (ended.code, &told.repaired) {
            (Some(0), Some(_)) => saved[0] += 1,
            (Some(6), Some(_)) => saved[1] += 1,
            (Some(6), None) => {
                saved[2] += 1;
                assert!(!new.exists(), "what is of no use was left; {seen}");
                let readable = survey.map_or(0, |survey| survey.revision.number());
                assert_eq!(readable, 0, "something is whole, and not saved; {seen}");
                return;
            }
            _ => panic!("neither saved nor told why not; {seen}"),
        }
        let is = Portrait::of(&new).unwrap_or_else(|| panic!("cannot be read; {seen}"));
        folder.run(&["verify", "new", "--deep"]).check_code(0);
        check_saved(&is, &was, &told, &seen);
        if let Some(survey) = survey {
            check_whole(&is, &was, &survey, &seen);
        }
        if ended.code == Some(0) && !what.iter().any(|what| what.contains("LOCK")) {
            assert_eq!(is.newest, was.newest, "all was saved; {seen}");
            let missing: Vec<_> = was.kept.difference(&is.kept).collect();
            assert!(missing.is_empty(), "all was saved but {missing:?}; {seen}");
            assert_eq!(is.tags, was.tags, "{seen}");
        }
    });
    if std::env::var_os("JUNGLE_SEED").is_none() {
        assert!(saved[0] > 0 && saved[1] > 0, "not of each kind: {saved:?}");
    }
}

/// Each revision that was saved is the one it was, or says that it is not.
fn check_saved(is: &Portrait, was: &Portrait, told: &Told, seen: &str) {
    for (which, revision) in &is.revisions {
        if revision.1.as_deref() == Some(AUTHOR) {
            assert!(
                which.2 > told.repaired.as_ref().unwrap()["revision"].as_u64().unwrap(),
                "{seen}"
            );
            let is_told = told.lost.iter().any(|lost| lost["saved_as"] == which.2)
                || told.lost.iter().any(|lost| lost["what"] == "branch");
            assert!(is_told, "{which:?} is not told; {seen}");
            continue;
        }
        // A log that ends early keeps what was let go of later.
        let known = was.revisions.get(which);
        assert_eq!(Some(revision), known, "{which:?} is something else; {seen}");
    }
    for (which, tag) in &is.tags {
        assert_eq!(was.tags.get(which), Some(tag), "{which:?} is something else; {seen}");
    }
}

/// What is whole, as `verify` tells it, was saved.
fn check_whole(is: &Portrait, was: &Portrait, survey: &Survey, seen: &str) {
    let trees: BTreeSet<&str> = survey.whole_trees.iter().map(|tree| &**tree).collect();
    let newest: Revision = survey.revision;
    for which in was.kept.iter().filter(|which| trees.contains(&*which.0)) {
        let is_later = which.2 > newest.number();
        assert!(is_later || is.kept.contains(which), "{which:?} is whole, and lost; {seen}");
    }
    for (which, tag) in was.tags.iter().filter(|(which, _)| trees.contains(&*which.0)) {
        // It was made after what it is of.
        let is_there = is.tags.contains_key(which);
        assert!(is_there || tag.0 + 2 > newest.number(), "{which:?} is whole, and lost; {seen}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &place),
            false => drop(fs::copy(&path, &place).unwrap()),
        }
    }
}

#[test]
fn what_is_whole_of_a_complete_log_is_saved_as_it_was() {
    check_damages("repair-complete", complete);
}

#[test]
fn what_is_whole_of_a_checkpoint_is_saved_as_it_was() {
    check_damages("repair-cut-off", cut_off);
}

/// Nothing is lost by damage of what something else has, too.
#[test]
fn what_can_be_known_again_is_saved() {
    let folder = Folder::new("repair-known");
    let was = complete(&folder);
    let (whole, dir, new) = (folder.0.join("d"), folder.0.join("damaged"), folder.0.join("new"));
    let log = dir.join("log/00000000000000000001.log");
    let head = |range: std::ops::Range<usize>| {
        let mut bytes = fs::read(&log).unwrap();
        bytes[range].fill(0xaa);
        fs::write(&log, bytes).unwrap();
    };
    let damages: [(&str, &dyn Fn()); 6] = [
        ("nothing", &|| {}),
        ("the mark", &|| fs::write(dir.join("LOCK"), [0xaa; 32]).unwrap()),
        ("no mark", &|| fs::remove_file(dir.join("LOCK")).unwrap()),
        ("the pages", &|| fs::write(dir.join("pages"), [0xaa; 9000]).unwrap()),
        ("the head of the log", &|| head(0..36)),
        ("a commit in front of the checkpoint", &|| head(100..120)),
    ];
    for (what, damage) in damages {
        let _ = (fs::remove_dir_all(&dir), fs::remove_dir_all(&new));
        copy(&whole, &dir);
        damage();
        let ended = folder.run(&["repair", "damaged", "new"]);
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{what}: {}", ended.out);
        assert!(ended.out.ends_with("lost    nothing\n"), "{what}: {}", ended.out);
        assert_eq!(Portrait::of(&new).unwrap(), was, "{what}");
        folder.run(&["put", "new", "t", "/m0001/last", "false"]).check_code(0);
        folder.run(&["verify", "new", "--deep"]).check_code(0);
    }
}

/// Changes part of a block of the pages, and puts its checksum right: the engine, which in builds
/// with assertions looks at all pages as it opens its file, does not see it, and the hash of the
/// value that it is in does.
fn spoil(pages: &mut [u8], block: usize) {
    const BLOCK: usize = 4096;
    let at = block * BLOCK;
    pages[at + 2000..at + 2100].fill(0x55);
    // That of the checksums of the first 1024 lies in front of it.
    let number = block - 1;
    let check = crc32c::crc32c(&(number as u64).to_le_bytes());
    let check = crc32c::crc32c_append(check, &pages[at..at + BLOCK]);
    pages[8 * BLOCK + 4 * number..][..4].copy_from_slice(&check.to_le_bytes());
}

/// Of the newest revision all is saved that can be, and what is missing is named.
#[test]
fn part_of_a_revision_says_what_it_is() {
    let folder = Folder::new("repair-part");
    let was = listed(&folder);
    let (whole, dir, new) = (folder.0.join("d"), folder.0.join("damaged"), folder.0.join("new"));
    let pages = fs::read(whole.join("pages")).unwrap();
    let mut parts = 0;
    // One block after the other, until enough was saved in part.
    for block in (9..pages.len() / 4096).step_by(31) {
        let _ = (fs::remove_dir_all(&dir), fs::remove_dir_all(&new));
        copy(&whole, &dir);
        let mut bytes = pages.clone();
        spoil(&mut bytes, block);
        fs::write(dir.join("pages"), bytes).unwrap();
        let ended = folder.run(&["repair", "damaged", "new", "--json"]);
        let told = Told::of(&ended);
        let named: Vec<&Json> = told.lost.iter().filter(|lost| lost["what"] == "part").collect();
        let Some(first) = named.first().filter(|_| ended.code == Some(6)) else { continue };
        parts += 1;
        let is = Portrait::of(&new).unwrap();
        check_saved(&is, &was, &told, &format!("block {block}: {}", ended.out));
        let number = first["saved_as"].as_u64().unwrap();
        let saved = is.revisions.iter().find(|((.., revision), _)| *revision == number);
        let ((tree, branch, _), (_, author, message, _)) = saved.unwrap();
        assert_eq!(author.as_deref(), Some(AUTHOR));
        let message = message.as_deref().unwrap();
        let begin = format!("what can be read of revision {}", first["revision"]);
        assert!(message.starts_with(&begin), "{message}");
        // It has room for so many, and the report has all.
        for path in named.iter().filter(|part| part["saved_as"] == number).take(100) {
            assert!(message.contains(path["path"].as_str().unwrap()), "{message}");
        }
        // All that is in it was there.
        let get = |dir: &str, at: &str| {
            let got = folder.run(&["get", dir, tree, "--at", at]);
            got.check_code(0);
            serde_json::from_str::<Json>(&got.out).unwrap()
        };
        let of = was.kept.iter().filter(|which| (&which.0, &which.1) == (tree, branch));
        let of = of.map(|which| which.2).max().unwrap();
        if branch == "main" && first["revision"] == of {
            let (part, all) = (get("new", &number.to_string()), get("d", &of.to_string()));
            assert!(is_part(&part, &all), "block {block}: {message}");
            assert_ne!(part, all);
        }
        if parts == 4 {
            return;
        }
    }
    assert!(parts > 0, "no block was in a tree");
}

/// Is all that is here there, too? Of arrays the numbers of elements tell nothing then.
fn is_part(part: &Json, all: &Json) -> bool {
    match (part, all) {
        (Json::Object(part), Json::Object(all)) => {
            part.iter().all(|(key, part)| all.get(key).is_some_and(|all| is_part(part, all)))
        }
        (Json::Array(part), Json::Array(all)) => {
            part.iter().all(|part| all.iter().any(|all| is_part(part, all)))
        }
        // An array of which nothing could be read is an object in which nothing is.
        (Json::Object(part), Json::Array(_)) => part.is_empty(),
        (part, all) => part == all,
    }
}

#[test]
fn new_folder_must_be_new_and_elsewhere() {
    let folder = Folder::new("repair-place");
    folder.write("one.json", "{\"n\":1}");
    folder.run(&["import", "d", "t", "one.json"]).check_code(0);
    let refused = |args: &[&str], code, err: &str| folder.run(args).check(code, "", err);
    fs::create_dir(folder.0.join("full")).unwrap();
    folder.write("full/file", "");
    let err = "Error: full is not empty\nHint: give a new folder; nothing is ever written over\n";
    refused(&["repair", "d", "full"], 1, err);
    let err = "Error: d/new is within the damaged folder\n\
               Hint: that is only read: give another place\n";
    refused(&["repair", "d", "d/new"], 2, err);
    fs::create_dir(folder.0.join("d/new")).unwrap();
    refused(&["repair", "d", "d/new"], 2, err);
    fs::remove_dir(folder.0.join("d/new")).unwrap();
    fs::create_dir_all(folder.0.join("half/repairing")).unwrap();
    let err = "Error: half is not empty\n\
               Hint: a repair was interrupted there: remove it, and begin again\n";
    refused(&["repair", "d", "half"], 1, err);
    let err = "Error: there is no Jungle in nowhere\n\
               Hint: `jungle import DIR TREE FILE` makes a folder with a tree\n";
    refused(&["repair", "nowhere", "new"], 4, err);
    let store = Store::open(folder.0.join("d")).unwrap();
    let ended = folder.run(&["repair", "d", "new"]);
    ended.check_code(1);
    assert!(ended.err.contains("is open elsewhere"), "{}", ended.err);
    assert!(!folder.0.join("new").exists());
    drop(store);
    // An empty one, as that of a disk.
    fs::create_dir(folder.0.join("empty")).unwrap();
    folder.run(&["repair", "d", "empty"]).check_code(0);
    folder.run(&["get", "empty", "t", "/n"]).check(0, "1\n", "");
}

/// As a kill in the middle of it leaves it.
#[test]
fn folder_that_is_half_made_is_refused() {
    let folder = Folder::new("repair-half");
    complete(&folder);
    let progress = RepairProgress::default();
    let repaired =
        OpenOptions::new().repair(folder.0.join("d"), folder.0.join("new/repairing"), &progress);
    assert!(repaired.unwrap().is_all());
    let ended = folder.run(&["verify", "new"]);
    assert_eq!((ended.code, &*ended.out), (Some(4), ""), "{}", ended.err);
    let ended = folder.run(&["put", "new", "t", "/n", "1"]);
    assert_ne!(ended.code, Some(0), "{}", ended.out);
}
