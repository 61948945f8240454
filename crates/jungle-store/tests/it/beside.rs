//! A folder that somebody else writes to, looked at meanwhile.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use jungle_db::{Retention, TreeHandle};
use jungle_store::{
    BackupError, Durability, LogError, OpenError, OpenOptions, Progress, Store, VerifyError,
};
use jungle_testkit::Rng;
use jungle_tree::{EditError, Key};

use crate::support::{Folder, every_kind_of_commit, portrait};

fn look(folder: &Path) -> Result<Store, OpenError> {
    OpenOptions::new().beside_a_writer().open(folder)
}

#[test]
fn what_was_seen_stays_while_the_writer_goes_on() {
    let folder = Folder::new();
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    let writer = options.open(folder.path()).unwrap();
    every_kind_of_commit(&writer);
    let early = look(folder.path()).unwrap();
    assert_eq!(portrait(&early), portrait(&writer), "from the log alone");
    writer.checkpoint().unwrap();
    // Far more than what the engine keeps in memory when it is opened.
    let text = |n: usize| {
        let mut rng = Rng::new(n as u64);
        (0..15_000).map(|_| format!("{:016x}", rng.next_u64())).collect::<String>()
    };
    let large = writer.create_tree("large").unwrap();
    for n in 0..50 {
        large
            .update(|tx| {
                let child = tx.append(&[])?;
                tx.put_attribute(&[child], "text", &*text(n))
            })
            .unwrap();
    }
    writer.checkpoint().unwrap();
    let before = portrait(&writer);

    let seen = look(folder.path()).unwrap();
    assert!(seen.report().is_written_elsewhere && seen.report().checkpoint.number() > 0);
    // The places of all that it has not looked at yet are used for something else.
    large.set_retention(Retention::Last(1)).unwrap();
    for round in 1..4 {
        for n in 0..50 {
            let key = Key::from(n as i64);
            large
                .update(|tx| {
                    tx.put_attribute(std::slice::from_ref(&key), "text", &*text(n + round))
                })
                .unwrap();
        }
        writer.collect().unwrap();
        writer.checkpoint().unwrap();
    }
    writer.delete_tree("t").unwrap();
    writer.compact().unwrap();
    let large = seen.open_tree("large").unwrap().snapshot();
    for (n, (_, child)) in large.root().children().enumerate() {
        assert_eq!(child.attribute("text").unwrap().as_text(), Some(&*text(n)));
    }
    assert_eq!(portrait(&seen), before);
    let refused = seen.create_tree("yet another").unwrap_err();
    assert!(format!("{refused:?}").contains("ReadOnly"), "{refused:?}");
    assert_eq!(seen.checkpoint().unwrap_err().to_string(), LogError::ReadOnly.to_string());
    assert_eq!(portrait(&look(folder.path()).unwrap()), portrait(&writer));
}

#[test]
fn what_reads_the_folder_anew_is_refused_beside_a_writer() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let writer = Store::open(folder.path()).unwrap();
    every_kind_of_commit(&writer);
    let seen = look(folder.path()).unwrap();
    writer.create_tree("later").unwrap();
    let locked = |error: &OpenError| matches!(error, OpenError::Locked { .. });
    assert!(matches!(seen.verify(), Err(VerifyError::Open(error)) if locked(&error)));
    assert!(matches!(seen.survey(&Progress::default()), Err(error) if locked(&error)));
    let refused = seen.backup(copy.path().join("backup"));
    assert!(matches!(refused, Err(BackupError::Source(error)) if locked(&error)));
    writer.verify().unwrap();
    writer.backup(copy.path().join("backup")).unwrap();
}

/// Children of the root have numbers that follow each other; the root says the newest.
fn newest(tree: &TreeHandle) -> u64 {
    let read = tree.read();
    let root = read.root();
    let newest = root.attribute("newest").unwrap().as_int().unwrap();
    let numbers = root.children().map(|(_, child)| child.attribute("n").unwrap().as_int().unwrap());
    let numbers: Vec<i64> = numbers.collect();
    let first = newest + 1 - numbers.len() as i64;
    assert_eq!(numbers, (first..=newest).collect::<Vec<_>>());
    newest as u64
}

/// Ends a writer, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn every_look_sees_what_was_acknowledged_before_and_nothing_in_part() {
    let folder = Folder::new();
    let options = OpenOptions::new().durability(Durability::Buffered).retention(Retention::Last(9));
    let writer = options.segment_bytes(4096).checkpoint_every(8192).open(folder.path()).unwrap();
    let tree = writer.create_tree("t").unwrap();
    tree.update(|tx| tx.put_attribute(&[], "newest", 0)).unwrap();
    let (acknowledged, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = Rng::new(0xBE51DE);
            for n in 1_i64.. {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let text = "x".repeat(rng.below(200) as usize);
                tree.update(|tx| {
                    let child = tx.append(&[])?;
                    tx.put_attribute(std::slice::from_ref(&child), "n", n)?;
                    tx.put_attribute(&[child], "text", &*text)?;
                    tx.put_attribute(&[], "newest", n)?;
                    let root = tx.root();
                    let oldest = (root.child_count() > 300).then(|| root.children().next());
                    let oldest: Option<Key> = oldest.flatten().map(|(key, _)| key.to_key());
                    oldest.map_or(Ok(()), |key| tx.remove(&[key]).map(drop))?;
                    Ok::<_, EditError>(())
                })
                .unwrap();
                acknowledged.store(n as u64, Ordering::SeqCst);
            }
        });
        let _over = Over(&is_over);
        let mut checkpoints = BTreeSet::new();
        for turn in 0.. {
            if turn >= 100 && checkpoints.len() >= 5 {
                break;
            }
            let before = acknowledged.load(Ordering::SeqCst);
            let seen = look(folder.path());
            let seen = seen.unwrap_or_else(|error| panic!("look {turn}: {error}"));
            checkpoints.insert(seen.report().checkpoint);
            let newest = newest(&seen.open_tree("t").unwrap());
            let after = acknowledged.load(Ordering::SeqCst) + 1;
            assert!((before..=after).contains(&newest), "{before} {newest} {after}");
            portrait(&seen);
        }
    });
}

#[test]
fn without_a_writer_it_is_read_as_ever() {
    let folder = Folder::new();
    assert!(matches!(look(folder.path()), Err(OpenError::Nothing { .. })));
    Store::open(folder.path()).unwrap().create_tree("t").unwrap();
    let (one, another) = (look(folder.path()).unwrap(), look(folder.path()).unwrap());
    assert!(!one.report().is_written_elsewhere);
    assert_eq!(portrait(&one), portrait(&another));
    assert!(matches!(Store::open(folder.path()), Err(OpenError::Locked { .. })));
}

#[test]
fn damage_is_told_as_what_it_is() {
    let folder = Folder::new();
    let writer = Store::open(folder.path()).unwrap();
    every_kind_of_commit(&writer);
    let log = File::options().write(true).open(folder.path().join("log/00000000000000000001.log"));
    std::os::unix::fs::FileExt::write_all_at(&log.unwrap(), b"?", 100).unwrap();
    let error = look(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}
