//! What the tests share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jungle_db::{CommitMeta, CommitOptions, Jungle, MAIN_BRANCH, RequestId, Retention};
use jungle_tree::{EditError, Key, MergeOptions};

/// A folder of its own, gone with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("jungle-store-test-{}-{count}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything that can be seen of a Jungle.
pub fn portrait(jungle: &Jungle) -> Vec<String> {
    let mut portrait = vec![format!("revision {}", jungle.revision())];
    for name in jungle.list_trees() {
        let main = jungle.open_tree(&name).unwrap();
        for branch in main.list_branches() {
            let branch = main.on_branch(&branch).unwrap();
            for info in branch.history(..).map(Result::unwrap) {
                let root = branch.at(info.revision).unwrap();
                let hash = root.root().content_hash();
                let next = root.root().next_position();
                portrait.push(format!("{name} {} {hash} {next} {info:?}", branch.branch_name()));
            }
        }
        for key in main.list_indexes() {
            let index = main.index(&key, &main.snapshot()).unwrap().unwrap();
            let paths: Vec<String> = index.range(..).map(|path| path.to_string()).collect();
            portrait.push(format!("{name} index {key:?} {paths:?}"));
        }
        for (tag, revision) in main.list_tags() {
            let hash = main.at_tag(&tag).unwrap().root().content_hash();
            portrait.push(format!("{name} {tag} {hash} {revision}"));
        }
    }
    portrait
}

/// The stream of a backup, with the checkpoint of another one in place of its own, if it has one.
pub fn with_checkpoint_of(other: &[u8], stream: &[u8]) -> Vec<u8> {
    const HEAD: usize = 28;
    let behind_values = |stream: &[u8]| {
        let mut end = HEAD;
        loop {
            let length = u32::from_le_bytes(stream[end..end + 4].try_into().unwrap());
            if length == 0 {
                return end;
            }
            end += 4 + length as usize;
        }
    };
    let values = &other[HEAD..behind_values(other)];
    [&stream[..HEAD], values, &stream[behind_values(stream)..]].concat()
}

/// Makes commits of every kind there is.
pub fn every_kind_of_commit(jungle: &Jungle) {
    let tree = jungle.create_tree("t").unwrap();
    let long = "long ".repeat(100);
    tree.update(|tx| {
        for (key, value) in [("a", "short"), ("b", long.as_str())] {
            tx.put_attribute(&[], key, value)?;
        }
        tx.put_attribute(&[], "null", &jungle_tree::Value::Null)?;
        tx.put_attribute(&[], "yes", true)?;
        tx.put_attribute(&[], "float", -0.0)?;
        tx.put_attribute(&[], "bytes", &b"\0\xff"[..])?;
        tx.put_attribute(&[], "int", i64::MIN)?;
        let first = tx.append(&[])?;
        let second = tx.append(&[])?;
        let between = tx.insert_at(&[], 1)?;
        tx.insert_child(&[between], &Key::from("named"))?;
        tx.remove(&[second])?;
        tx.remove_attribute(&[], "a")?;
        tx.append(&[first]).map(drop)
    })
    .unwrap();
    let meta = CommitMeta::new().author("ana").message("move");
    let request = RequestId { key: u64::MAX, fingerprint: 1 };
    let options = CommitOptions::from(&meta.clone().asked_by(request));
    let moved = tree.update_with(&options, |tx| tx.move_node(&[Key::from(0)], &[], &"x".into()));
    let at = moved.unwrap().revision;
    let side = tree.branch("side", at).unwrap();
    tree.tag("before", at).unwrap();
    side.update(|tx| tx.append(&[Key::from("x")])).unwrap();
    tree.update(|tx| tx.put_attribute(&[Key::from("x")], "n", 5)).unwrap();
    tree.merge("side", &MergeOptions::new()).unwrap().commit(&meta).unwrap();
    tree.restore(at, &meta).unwrap();
    grafts(jungle);
    let mut both = jungle.begin(CommitOptions::default());
    both.tree("t").unwrap().put_attribute(&[], "n", 1).unwrap();
    both.tree("other").unwrap().put_attribute(&[], "n", -1).unwrap();
    both.commit().unwrap();
    jungle.rename_tree("other", "another").unwrap();
    jungle.create_tree("short").unwrap();
    jungle.delete_tree("short").unwrap();
    tree.tag("gone", at).unwrap();
    tree.delete_tag("gone").unwrap();
    for retention in [Retention::Last(300), Retention::ByAge(Duration::MAX), Retention::All] {
        tree.set_retention(retention).unwrap();
    }
    ["n", "m", ""].iter().for_each(|key| tree.create_index(key).unwrap());
    tree.drop_index("m").unwrap();
    tree.index("n", &tree.snapshot()).unwrap();
    tree.branch("gone", at).unwrap();
    tree.delete_branch("gone").unwrap();
    assert_eq!(tree.branch_name(), MAIN_BRANCH);
}

/// A node that has another key on the main branch than on the one that was merged into it.
pub fn renumbered(jungle: &Jungle) {
    let main = jungle.create_tree("renumbered").unwrap();
    let side = main.branch("side", main.snapshot().revision()).unwrap();
    for tree in [&side, &main] {
        tree.update(|tx| tx.append(&[])).unwrap();
    }
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
}

/// What is put to that node on the one branch comes to it on the main branch.
pub fn check_renumbered(jungle: &Jungle, value: i64) {
    let main = jungle.open_tree("renumbered").unwrap();
    let (side, node) = (main.on_branch("side").unwrap(), [Key::from(0)]);
    side.update(|tx| tx.put_attribute(&node, "n", value)).unwrap();
    main.merge("side", &MergeOptions::new()).unwrap().commit(&CommitMeta::new()).unwrap();
    let version = main.snapshot();
    let found = [0, 1].map(|at| {
        let node = version.root().child(at).unwrap();
        node.attribute("n").and_then(|value| value.as_int())
    });
    assert_eq!(found, [None, Some(value)]);
}

/// Subtrees that are set as a whole, one with positions that must not be given again.
fn grafts(jungle: &Jungle) {
    let tree = jungle.open_tree("t").unwrap();
    let other = jungle.create_tree("other").unwrap();
    let filled = other.update(|tx| {
        tx.bulk(|editor| {
            let parent = editor.add_child(&[])?;
            for n in 0..40 {
                let child = editor.add_child(std::slice::from_ref(&parent))?;
                editor.put_attribute(&[parent.clone(), child.clone()], "n", n)?;
                if n > 20 {
                    editor.remove(&[parent.clone(), child])?;
                }
            }
            Ok::<_, EditError>(())
        })
    });
    filled.unwrap();
    let source = other.snapshot();
    let graft = |key: &str| {
        tree.update(|tx| tx.insert_subtree(&[], &key.into(), source.root())).unwrap();
    };
    graft("graft");
    tree.update(|tx| tx.append(&[Key::from("graft"), Key::from(0)])).unwrap();
}
