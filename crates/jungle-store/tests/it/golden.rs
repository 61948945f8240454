//! Files that older programs wrote stay readable. Golden files are added, never edited.
//!
//! `JUNGLE_GOLDEN=1` writes those of this version, where there are none yet.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jungle_db::{
    Clock, CommitMeta, CommitOptions, Event, Jungle, RequestId, Retention, Revision, Timestamp,
};
use jungle_store::{
    OpenError, OpenOptions, Store, check_checkpoint, decode, encode, read_checkpoint,
    write_checkpoint,
};
use jungle_tree::{Arena, ArenaOptions, EditError, Key, MergeOptions, Value};

use crate::support::{Folder, every_kind_of_commit, portrait};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A copy that may be opened, since that changes it.
pub fn copy(name: &str) -> Folder {
    let folder = Folder::new();
    for below in ["", "log"] {
        let (from, to) = (golden().join(name).join(below), folder.path().join(below));
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
    }
    folder
}

/// Everything in a Jungle, in words.
fn told(jungle: &Jungle) -> String {
    let mut told = format!("revision {}\n", jungle.revision());
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let branch = main.on_branch(&branch).unwrap();
            for info in branch.history(..).rev().map(Result::unwrap) {
                let (time, meta) = (info.time.as_micros(), info.meta);
                writeln!(told, "{name} {} {} {time} {meta:?}", branch.branch_name(), info.revision)
                    .unwrap();
                let snapshot = branch.at(info.revision).unwrap();
                let mut walk = snapshot.root().walk();
                while let Some(node) = walk.next() {
                    write!(told, "  {} next {}", walk.path(), node.next_position()).unwrap();
                    for (key, value) in node.attributes() {
                        write!(told, " {key}={value}").unwrap();
                    }
                    told.push('\n');
                }
            }
        }
        for (tag, revision) in main.list_tags() {
            writeln!(told, "{name} tag {tag} {revision}").unwrap();
        }
    }
    told
}

struct Steps(std::sync::atomic::AtomicI64);

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1_000_003, std::sync::atomic::Ordering::Relaxed))
    }
}

/// Makes a folder of this version, packed, where that is asked for and there is none yet.
fn make(name: &str, fill: impl FnOnce(&Store)) {
    let folder = golden().join(name);
    if std::env::var_os("JUNGLE_GOLDEN").is_some() && !folder.exists() {
        let clock = Steps(std::sync::atomic::AtomicI64::new(1_700_000_000_000_000));
        let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
        let store = options.clock(clock).open(&folder).unwrap();
        fill(&store);
        store.close().unwrap();
        pack(&folder);
    }
}

#[test]
fn golden_folder_of_version_1_is_read() {
    let expected = golden().join("version-1.txt");
    if std::env::var_os("JUNGLE_GOLDEN").is_some() && !expected.exists() {
        let clock = Steps(std::sync::atomic::AtomicI64::new(1_700_000_000_000_000));
        let options = OpenOptions::new().segment_bytes(512).clock(clock);
        let store = options.open(golden().join("version-1")).unwrap();
        every_kind_of_commit(&store);
        fs::write(&expected, told(&store)).unwrap();
        store.close().unwrap();
        let _ = fs::remove_file(golden().join("version-1/log/next"));
    }
    let folder = copy("version-1");
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(told(&store), fs::read_to_string(expected).unwrap());
    assert!(store.report().was_closed && store.report().segments > 1);
    store.create_tree("goes on").unwrap();
}

/// The same with a checkpoint, which is the only copy of what the log was cut off from: all that is
/// kept, and what came behind it.
#[test]
fn golden_checkpoint_of_version_1_is_read() {
    let expected = golden().join("version-1-pages.txt");
    make("version-1-pages", |store| {
        every_kind_of_commit(store);
        long_history(store);
        store.checkpoint().unwrap();
        store.open_tree("t").unwrap().update(|tx| tx.append(&[])).unwrap();
        fs::write(&expected, sampled(store)).unwrap();
    });
    let folder = copy("version-1-pages");
    unpack(&folder);
    let store = Store::open(folder.path()).unwrap();
    let verified = store.verify().unwrap();
    assert!(!verified.log_is_complete && verified.checkpoint < verified.revision);
    assert!(store.report().was_closed && store.report().ignored.is_none());
    assert_eq!(sampled(&store), fs::read_to_string(expected).unwrap());
    store.create_tree("goes on").unwrap();
    store.checkpoint().unwrap();
    store.verify().unwrap();
}

/// The same with indexes, one of which was worked out and is in the checkpoint.
#[test]
fn golden_indexes_of_version_1_are_read() {
    make("version-1-indexes", indexed);
    let folder = copy("version-1-indexes");
    unpack(&folder);
    let store = Store::open(folder.path()).unwrap();
    let tree = store.open_tree("t").unwrap();
    assert_eq!(tree.list_indexes().join(" "), "later size word");
    let newest = tree.snapshot();
    let found = |key: &str, value: Value| {
        let index = tree.index(key, &newest).unwrap().unwrap();
        index.find(value.as_ref()).map(|path| path.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("size", 3.into()), "/3 /10 /17 /24 /31 /38 /45");
    assert_eq!(found("word", "odd".into()).split(' ').count(), 24);
    assert_eq!(found("later", true.into()), "/0");
    store.verify().unwrap();
}

/// Commits that were asked for by requests, in a checkpoint and behind it.
#[test]
fn golden_requests_of_version_1_are_known() {
    let expected = golden().join("version-1-requests.txt");
    make("version-1-requests", |store| {
        requested(store);
        fs::write(&expected, told(store)).unwrap();
    });
    let folder = copy("version-1-requests");
    unpack(&folder);
    let known = |store: &Store| {
        let tree = store.open_tree("t").unwrap();
        let found = (1..5).map(|key| tree.find_request(request(key)).unwrap());
        found.map(|revision| revision.map(Revision::number)).collect::<Vec<_>>()
    };
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(told(&store), fs::read_to_string(&expected).unwrap());
    assert_eq!(known(&store), [Some(2), Some(4), Some(5), None]);
    store.verify().unwrap();
    store.close().unwrap();
    let log_only = OpenOptions::new().without_checkpoint().open(folder.path()).unwrap();
    assert_eq!(told(&log_only), fs::read_to_string(&expected).unwrap());
    assert_eq!(known(&log_only), [Some(2), Some(4), Some(5), None]);
}

/// Trees of which two branches have met: before the checkpoint, which has what they have in common,
/// and behind it.
const MET: [&str; 2] = ["early", "late"];

/// Nodes that have other keys on the branch that theirs was merged into.
#[test]
fn golden_other_keys_of_version_1_are_known() {
    let expected = golden().join("version-1-renumbered.txt");
    make("version-1-renumbered", |store| {
        meet(store, MET[0]);
        store.checkpoint().unwrap();
        meet(store, MET[1]);
        fs::write(&expected, told(store)).unwrap();
    });
    for options in [OpenOptions::new(), OpenOptions::new().without_checkpoint()] {
        let folder = copy("version-1-renumbered");
        unpack(&folder);
        let store = options.open(folder.path()).unwrap();
        assert_eq!(told(&store), fs::read_to_string(&expected).unwrap());
        MET.iter().for_each(|name| check_met(&store, name));
    }
    let folder = copy("version-1-renumbered");
    unpack(&folder);
    let store = Store::open(folder.path()).unwrap();
    let verified = store.verify().unwrap();
    assert!(verified.checkpoint.number() > 0 && verified.checkpoint < verified.revision);
}

/// On both branches of a tree a node is put between others, and one behind them, before the one is
/// merged into the other.
fn meet(jungle: &Jungle, name: &str) {
    let (main, list) = (jungle.create_tree(name).unwrap(), [Key::from("list")]);
    main.update(|tx| {
        tx.insert_child(&[], &list[0])?;
        tx.append(&list)
    })
    .unwrap();
    let side = main.branch("side", main.snapshot().revision()).unwrap();
    for tree in [&side, &main] {
        tree.update(|tx| {
            tx.insert_child(&list, &between())?;
            tx.append(&list)
        })
        .unwrap();
    }
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
}

/// What the side does to its nodes reaches them under their other keys.
fn check_met(jungle: &Jungle, name: &str) {
    let main = jungle.open_tree(name).unwrap();
    let side = main.on_branch("side").unwrap();
    side.update(|tx| {
        tx.put_attribute(&[Key::from("list"), between()], "n", 1)?;
        tx.put_attribute(&[Key::from("list"), Key::from(1)], "n", 2)
    })
    .unwrap();
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    let version = main.snapshot();
    let list = version.root().at(&[Key::from("list")]).unwrap();
    let found = list.children().map(|(_, node)| node.attribute("n")?.as_int());
    assert_eq!(found.collect::<Vec<_>>(), [None, None, Some(1), None, Some(2)], "{name}");
}

fn between() -> Key {
    let path: jungle_tree::Path = "/0.80".parse().unwrap();
    path[0].clone()
}

fn request(key: u64) -> RequestId {
    RequestId { key, fingerprint: 0x0123_4567_89ab_cdef }
}

fn requested(store: &Store) {
    let tree = store.create_tree("t").unwrap();
    let ana = CommitMeta::new().author("ana").message("a word");
    let append = |meta: &CommitMeta| {
        tree.update_with(&CommitOptions::from(meta), |tx| tx.append(&[])).unwrap();
    };
    append(&CommitMeta::new().asked_by(request(1)));
    append(&ana);
    append(&ana.clone().asked_by(request(2)));
    store.checkpoint().unwrap();
    append(&ana.asked_by(request(3)));
}

/// By their names, trees that do not keep everything, nor do their branches.
const KEEPING: [(&str, Retention); 2] =
    [("last", Retention::Last(3)), ("by age", Retention::ByAge(Duration::new(90, 7)))];

/// Trees and branches that did not keep everything from their beginning on: records of two kinds
/// that are in no other folder here.
#[test]
fn golden_folder_that_does_not_keep_everything_is_read() {
    let expected = golden().join("version-1-keeping.txt");
    if std::env::var_os("JUNGLE_GOLDEN").is_some() && !expected.exists() {
        let folder = golden().join("version-1-keeping");
        fs::write(&expected, keeping(&folder)).unwrap();
        let _ = fs::remove_file(folder.join("log/next"));
    }
    let folder = copy("version-1-keeping");
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(told(&store), fs::read_to_string(expected).unwrap());
    for (name, keep) in KEEPING {
        let tree = store.open_tree(name).unwrap();
        let kept = ["main", "side", "all"].map(|it| tree.on_branch(it).unwrap().retention());
        assert_eq!(kept, [keep, keep, Retention::All]);
    }
    assert!(store.report().was_closed && store.report().segments > 1);
    store.verify().unwrap();
}

/// What a new tree keeps is said when the folder is opened, so it is opened for each.
fn keeping(folder: &Path) -> String {
    let mut what = String::new();
    for ((name, keep), seconds) in KEEPING.into_iter().zip([0, 100]) {
        let begin = 1_700_000_000_000_000 + seconds * 1_000_000;
        let clock = Steps(std::sync::atomic::AtomicI64::new(begin));
        let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
        let store = options.clock(clock).retention(keep).open(folder).unwrap();
        let tree = store.create_tree(name).unwrap();
        let first = tree.update(|tx| tx.put_attribute(&[], "n", 0)).unwrap().revision;
        let side = tree.branch("side", first).unwrap();
        tree.branch("all", first).unwrap().set_retention(Retention::All).unwrap();
        for n in 1..6 {
            tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
            side.update(|tx| tx.put_attribute(&[], "n", -n)).unwrap();
        }
        what = told(&store);
        store.close().unwrap();
    }
    what
}

/// A whole Jungle as a stream, as it is carried from server to server.
#[test]
fn golden_stream_of_version_1_is_read() {
    let (expected, file) =
        (golden().join("version-1-stream.txt"), golden().join("version-1-stream"));
    if std::env::var_os("JUNGLE_GOLDEN").is_some() && !expected.exists() {
        let clock = Steps(std::sync::atomic::AtomicI64::new(1_700_000_000_000_000));
        let jungle = Jungle::builder().clock(clock).build().unwrap();
        every_kind_of_commit(&jungle);
        long_history(&jungle);
        let mut bytes = Vec::new();
        write_checkpoint(&jungle, &jungle.checkpoint(), &mut bytes).unwrap();
        fs::write(&file, bytes).unwrap();
        fs::write(&expected, sampled(&jungle)).unwrap();
    }
    let bytes = fs::read(file).unwrap();
    assert_eq!(bytes[..12], *b"JUNGCKP\n\x01\0\0\0");
    check_checkpoint(&*bytes).unwrap();
    let read = read_checkpoint(Jungle::builder(), &ArenaOptions::default(), &*bytes).unwrap();
    assert_eq!(sampled(&read), fs::read_to_string(expected).unwrap());
    let tree = read.open_tree("t").unwrap();
    assert_eq!(tree.list_indexes().join(" "), " n");
    read.create_tree("goes on").unwrap();
}

/// Some in the checkpoint, and some behind it.
fn indexed(store: &Store) {
    let tree = store.create_tree("t").unwrap();
    ["size", "word", "gone"].iter().for_each(|key| tree.create_index(key).unwrap());
    tree.update(|tx| {
        for i in 0..50 {
            let key = [tx.append(&[])?];
            tx.put_attribute(&key, "size", i % 7)?;
            tx.put_attribute(&key, "word", ["even", "odd"][i as usize % 2])?;
        }
        Ok::<_, EditError>(())
    })
    .unwrap();
    tree.index("size", &tree.snapshot()).unwrap().unwrap();
    tree.index("gone", &tree.snapshot()).unwrap().unwrap();
    store.checkpoint().unwrap();
    tree.drop_index("gone").unwrap();
    tree.update(|tx| tx.remove_attribute(&[Key::from(1)], "word")).unwrap();
    tree.create_index("later").unwrap();
    tree.update(|tx| tx.put_attribute(&[Key::from(0)], "later", true)).unwrap();
}

/// Most of `pages` are zeros.
fn pack(folder: &Path) {
    let pages = fs::read(folder.join("pages")).unwrap();
    fs::write(folder.join("pages.lz4"), lz4_flex::compress_prepend_size(&pages)).unwrap();
    ["pages", "log/next"].iter().for_each(|name| drop(fs::remove_file(folder.join(name))));
}

pub fn unpack(folder: &Folder) {
    let pages = fs::read(folder.path().join("pages.lz4")).unwrap();
    fs::remove_file(folder.path().join("pages.lz4")).unwrap();
    let pages = lz4_flex::decompress_size_prepended(&pages).unwrap();
    fs::write(folder.path().join("pages"), pages).unwrap();
}

/// Some of a portrait: all of it would be long.
fn sampled(jungle: &Jungle) -> String {
    let portrait = portrait(jungle);
    let lines: Vec<&str> = portrait.iter().step_by(23).map(|line| &**line).collect();
    format!("{} lines, of which\n{}\n", portrait.len(), lines.join("\n"))
}

/// More than two pieces of a history, most of it not kept; and values of all lengths, apart from
/// their attributes and not.
fn long_history(jungle: &Jungle) {
    let tree = jungle.create_tree("long").unwrap();
    for n in 0..1_100 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    tree.tag("kept", tree.snapshot().revision()).unwrap();
    for bytes in [100, 5_000, 100_000] {
        let text = "long ".repeat(bytes / 5);
        tree.update(|tx| tx.put_attribute(&[], "text", &*text)).unwrap();
    }
    tree.set_retention(Retention::Last(600)).unwrap();
}

#[test]
fn golden_records_of_version_1_are_written_as_they_were() {
    let arena = Arena::new().unwrap();
    let (mut records, mut kinds) = (0, BTreeSet::new());
    let folders = ["", "-indexes", "-keeping", "-renumbered", "-requests"];
    let folders = folders.map(|what| format!("version-1{what}"));
    let logs = folders.map(|folder| golden().join(folder).join("log"));
    for file in logs.iter().flat_map(|log| fs::read_dir(log).unwrap()).map(Result::unwrap) {
        let bytes = fs::read(file.path()).unwrap();
        let mut rest = &bytes[36..];
        while let Some(len) = rest.first_chunk().map(|len| u32::from_le_bytes(*len) as usize)
            && len > 0
        {
            let mut group = &rest[24..len];
            rest = &rest[len..];
            while !group.is_empty() {
                let (mut len, mut shift) = (0, 0);
                while let Some((byte, more)) = group.split_first() {
                    group = more;
                    len |= usize::from(byte & 0x7f) << shift;
                    shift += 7;
                    if *byte < 0x80 {
                        break;
                    }
                }
                let record = decode(&group[..len], Revision::new(1), &arena).unwrap();
                let mut again = Vec::new();
                encode(&record, &mut again).unwrap();
                assert_eq!(again, group[..len], "{record:?}");
                kinds.insert(kind(&record.event));
                group = &group[len..];
                records += 1;
            }
        }
    }
    assert!(records > 20);
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

/// An event's name, and whether it makes something that does not keep everything.
fn kind(event: &Event) -> (String, bool) {
    let keeps = match event {
        Event::TreeCreated { retention, .. } | Event::BranchCreated { retention, .. } => *retention,
        _ => Retention::All,
    };
    let name: String = format!("{event:?}").chars().take_while(|c| c.is_alphanumeric()).collect();
    (name, keeps != Retention::All)
}

#[test]
fn a_future_version_is_refused_by_name() {
    for file in ["LOCK", "log/00000000000000000001.log"] {
        let folder = copy("version-1");
        let path = folder.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes[8] = 2;
        fs::write(&path, bytes).unwrap();
        let error = Store::open(folder.path()).unwrap_err();
        let OpenError::UnknownFormat { file: named, found: 2 } = &error else {
            panic!("{error}");
        };
        assert_eq!(&**named, file);
        assert!(error.to_string().contains("use a newer program"));
    }
}
