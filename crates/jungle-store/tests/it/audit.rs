//! Who made, named and deleted what is told for longer than the log is there.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use jungle_db::{CommitMeta, Event, Retention, Revision};
use jungle_store::disk::FolderDisk;
use jungle_store::pages::{Checkpoint, EnginePages, Pages, PagesOptions, Table};
use jungle_store::{
    AuditError, AuditQuery, BackupProgress, Durability, EraseQuery, OpenError, OpenOptions,
    Progress, RepairProgress, Store,
};
use jungle_testkit::{Rng, for_each_seed};

use crate::golden::{copy, unpack};
use crate::support::Folder;

/// Nothing is written in the background, and the log is cut off soon.
fn options() -> OpenOptions {
    let options = OpenOptions::new().segment_bytes(512).checkpoint_every(u64::MAX);
    options.durability(Durability::Buffered)
}

/// All pages of the audit: from where on it is complete, and each row as a line.
pub fn listed(store: &Store, mut query: AuditQuery) -> (u64, Vec<String>) {
    let (mut lines, mut from) = (Vec::new(), None);
    loop {
        let page = store.audit(&query).unwrap();
        assert!(page.rows.len() <= query.limit);
        assert_eq!(*from.get_or_insert(page.complete_from), page.complete_from);
        lines.extend(page.rows.iter().map(|row| {
            let author = row.meta.author_name().unwrap_or("nobody");
            line(row.revision, author, &what(&row.event), &row.tree, row.branch.as_deref())
        }));
        let Some(next) = page.next else {
            return (page.complete_from.number(), lines);
        };
        assert!(next > query.after, "it gets on");
        query.after = next;
    }
}

pub fn line(at: Revision, who: &str, what: &str, tree: &str, branch: Option<&str>) -> String {
    format!("{at} {who} {what} of {tree} {branch:?}")
}

fn what(event: &Event) -> String {
    match event {
        Event::TreeCreated { name, .. } => format!("creates tree {name}"),
        Event::TreeRenamed { name, .. } => format!("calls it {name}"),
        Event::TreeDeleted { .. } => "deletes all".to_owned(),
        Event::BranchCreated { name, .. } => format!("creates branch {name}"),
        Event::BranchDeleted { .. } => "deletes branch".to_owned(),
        Event::TagCreated { name, .. } => format!("tags {name}"),
        Event::TagDeleted { name, .. } => format!("deletes tag {name}"),
        Event::IndexCreated { key, .. } => format!("indexes {key}"),
        Event::IndexDropped { key, .. } => format!("drops index {key}"),
        Event::RetentionSet { retention, .. } => format!("keeps {retention:?}"),
        other => panic!("{other:?} is an edit"),
    }
}

/// Does something, and notes it if it is no edit.
pub fn act(store: &Store, step: u64, rng: &mut Rng, done: &mut Vec<String>) {
    let (who, before) = (*rng.pick(&["ana", "ben", "cat"]), store.revision());
    let meta = CommitMeta::new().author(who);
    let (by, trees) = (store.by(&meta), store.list_trees());
    let mut note = |what: String, tree: &str, branch: Option<&str>| {
        if store.revision() > before {
            done.push(line(store.revision(), who, &what, tree, branch));
        }
    };
    if trees.len() < 2 || rng.chance(1, 12) {
        let name = format!("tree {step}");
        by.create_tree(&name).unwrap();
        return note(format!("creates tree {name}"), &name, None);
    }
    let (name, new) = (rng.pick(&trees).to_string(), format!("new {step}"));
    let tree = by.open_tree(&name).unwrap().by(&meta);
    let at = tree.snapshot().revision();
    match rng.below(14) {
        0 => {
            by.rename_tree(&name, &new).unwrap();
            note(format!("calls it {new}"), &name, None);
        }
        1 => {
            by.delete_tree(&name).unwrap();
            note("deletes all".to_owned(), &name, None);
        }
        2 => {
            tree.branch(&new, at).unwrap();
            note(format!("creates branch {new}"), &name, Some(&new));
        }
        3 => {
            let others = tree.list_branches().into_iter().filter(|branch| &**branch != "main");
            for branch in others.take(1) {
                tree.delete_branch(&branch).unwrap();
                note("deletes branch".to_owned(), &name, Some(&branch));
            }
        }
        4 => {
            tree.tag(&new, at).unwrap();
            note(format!("tags {new}"), &name, Some("main"));
        }
        5 => {
            for (tag, _) in tree.list_tags().into_iter().take(1) {
                tree.delete_tag(&tag).unwrap();
                note(format!("deletes tag {tag}"), &name, None);
            }
        }
        6 => {
            tree.create_index(&new).unwrap();
            note(format!("indexes {new}"), &name, None);
        }
        7 => {
            for key in tree.list_indexes().into_iter().take(1) {
                tree.drop_index(&key).unwrap();
                note(format!("drops index {key}"), &name, None);
            }
        }
        8 => {
            let branch = rng.pick(&tree.list_branches()).to_string();
            let keep = *rng.pick(&[Retention::All, Retention::Last(2), Retention::Last(3)]);
            tree.on_branch(&branch).unwrap().by(&meta).set_retention(keep).unwrap();
            note(format!("keeps {keep:?}"), &name, Some(&branch));
        }
        _ => drop(tree.update(|tx| tx.append(&[])).unwrap()),
    }
}

fn random(rng: &mut Rng) -> AuditQuery {
    let (limit, looked_at_max) = (rng.range(1..40) as usize, rng.range(1..80) as usize);
    AuditQuery { limit, looked_at_max, ..AuditQuery::default() }
}

#[test]
fn all_that_was_done_is_told_whatever_became_of_the_log() {
    for_each_seed(16, |rng| {
        let folder = Folder::new();
        let (mut store, mut done) = (options().open(folder.path()).unwrap(), Vec::new());
        for step in 0..rng.range(100..400) {
            match rng.below(30) {
                0 | 1 => {
                    store.checkpoint().unwrap();
                }
                2 => store.compact().unwrap(),
                3 => {
                    drop(store);
                    store = options().open(folder.path()).unwrap();
                }
                4 => assert_eq!(listed(&store, random(rng)), (1, done.clone())),
                _ => act(&store, step, rng, &mut done),
            }
        }
        drop(store);
        let store = options().read_only().open(folder.path()).unwrap();
        assert_eq!(listed(&store, random(rng)), (1, done));
    });
}

/// A folder of which most of the log is gone, and what was done in it.
fn cut_off() -> (Folder, Vec<String>) {
    let (folder, mut done, mut rng) = (Folder::new(), Vec::new(), Rng::new(17));
    let store = options().open(folder.path()).unwrap();
    let few = store.create_tree("few").unwrap();
    done.push(line(store.revision(), "nobody", "creates tree few", "few", None));
    few.set_retention(Retention::Last(1)).unwrap();
    done.push(line(store.revision(), "nobody", "keeps Last(1)", "few", Some("main")));
    for step in 0..400 {
        // It stays as it is: so the log is cut off.
        match store.open_tree("few") {
            Ok(few) if step % 2 == 0 => drop(few.update(|tx| tx.append(&[])).unwrap()),
            _ => act(&store, step, &mut rng, &mut done),
        }
    }
    let cut = store.create_tree("cut").unwrap();
    done.push(line(store.revision(), "nobody", "creates tree cut", "cut", None));
    cut.set_retention(Retention::Last(1)).unwrap();
    done.push(line(store.revision(), "nobody", "keeps Last(1)", "cut", Some("main")));
    assert!(store.checkpoint().unwrap().segments > 5);
    store.close().unwrap();
    assert!(first_segment(&folder) > 100);
    (folder, done)
}

fn first_segment(folder: &Folder) -> u64 {
    let files = fs::read_dir(folder.path().join("log")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".log")?.parse().ok()).min().unwrap()
}

/// Writes a checkpoint by the engine alone.
fn with_pages(folder: &Folder, change: impl FnOnce(&dyn Pages, &mut dyn Checkpoint)) {
    let disk = Arc::new(FolderDisk::create(folder.path()).unwrap());
    let pages = EnginePages::open(disk, PagesOptions::default()).unwrap();
    let mut writing = pages.begin().unwrap();
    change(&pages, &mut *writing);
    writing.commit().unwrap();
}

/// What checkpoints keep for the audit.
fn kept(pages: &dyn Pages) -> BTreeMap<u64, Vec<u8>> {
    let keys = pages.keys(Table::State, 1..=u64::MAX).unwrap();
    keys.into_iter().map(|key| (key, pages.get(Table::State, key).unwrap().unwrap())).collect()
}

/// Of some lines, their revisions.
fn revisions(lines: &[String]) -> Vec<u64> {
    lines.iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_copy_has_it_too() {
    let (folder, done) = cut_off();
    let (copy, streamed) = (Folder::new(), Folder::new());
    let store = options().open(folder.path()).unwrap();
    store.backup(copy.path()).unwrap();
    let mut bytes = Vec::new();
    store.write_backup(Revision::new(0), &mut bytes, Progress::default()).unwrap();
    let progress = BackupProgress::default();
    options().take_backup(streamed.path(), progress, |_| Ok(&bytes[..])).unwrap();
    drop(store);
    for folder in [folder, copy, streamed] {
        let store = options().read_only().open(folder.path()).unwrap();
        assert_eq!(listed(&store, AuditQuery::default()), (1, done.clone()));
    }
}

#[test]
fn a_folder_that_is_made_anew_from_its_checkpoint_has_it_too() {
    let (folder, done) = cut_off();
    let query = EraseQuery::new("cut", "/ana".parse().unwrap());
    let store = options().open(folder.path()).unwrap();
    store.open_tree("cut").unwrap().update(|tx| tx.insert_child(&[], &"ana".into())).unwrap();
    drop(store);
    options().erase(folder.path(), &query, |_, _| ()).unwrap();
    let repaired = Folder::new();
    options().repair(folder.path(), repaired.path(), &RepairProgress::default()).unwrap();
    for folder in [folder, repaired] {
        let store = options().open(folder.path()).unwrap();
        assert_eq!(listed(&store, AuditQuery::default()), (1, done.clone()));
        let (mut rng, mut more) = (Rng::new(20), done.clone());
        (1_000..1_200).for_each(|step| act(&store, step, &mut rng, &mut more));
        store.checkpoint().unwrap();
        assert_eq!(listed(&store, AuditQuery::default()), (1, more));
    }
}

#[test]
fn beside_a_writer_it_is_refused() {
    let (folder, _) = cut_off();
    let store = options().open(folder.path()).unwrap();
    let beside = options().beside_a_writer().open(folder.path()).unwrap();
    let refused = beside.audit(&AuditQuery::default()).unwrap_err();
    assert!(matches!(refused, AuditError::Open(OpenError::Locked { .. })), "{refused}");
    drop(store);
}

/// As in a folder that an older program wrote.
#[test]
fn where_the_log_was_cut_off_before_it_begins_with_what_is_left() {
    let (folder, done) = cut_off();
    let first = first_segment(&folder);
    with_pages(&folder, |pages, writing| {
        assert!(kept(pages).len() >= 3);
        kept(pages).into_keys().for_each(|key| writing.remove(Table::State, key).unwrap());
    });
    let store = options().open(folder.path()).unwrap();
    let mut ought = revisions(&done);
    ought.retain(|&revision| revision >= first);
    let (from, lines) = listed(&store, AuditQuery::default());
    assert_eq!((from, revisions(&lines)), (first, ought.clone()));
    ought.push(store.create_tree("later").map(|_| store.revision().number()).unwrap());
    store.checkpoint().unwrap();
    // Its name is known by what the checkpoint has.
    store.delete_tree("cut").unwrap();
    ought.push(store.revision().number());
    let deleted = line(store.revision(), "nobody", "deletes all", "cut", None);
    let (from, lines) = listed(&store, AuditQuery::default());
    assert_eq!((from, revisions(&lines), lines.last()), (first, ought, Some(&deleted)));
}

#[test]
fn what_an_older_program_cuts_off_meanwhile_is_missing_and_what_was_before_stays() {
    let (folder, mut done) = cut_off();
    let first = first_segment(&folder);
    let mut was = BTreeMap::new();
    with_pages(&folder, |pages, _| was = kept(pages));
    let (store, mut rng) = (options().open(folder.path()).unwrap(), Rng::new(18));
    (1_000..1_300).for_each(|step| act(&store, step, &mut rng, &mut done));
    store.create_tree("again").unwrap().set_retention(Retention::Last(1)).unwrap();
    for number in [store.revision().number() - 1, store.revision().number()] {
        done.push(line(Revision::new(number), "nobody", "it", "again", None));
    }
    assert!(store.checkpoint().unwrap().segments > 5);
    store.close().unwrap();
    with_pages(&folder, |pages, writing| {
        kept(pages).into_keys().for_each(|key| writing.remove(Table::State, key).unwrap());
        was.iter().for_each(|(&key, bytes)| writing.put(Table::State, key, bytes).unwrap());
    });
    let later = first_segment(&folder);
    let mut ought = revisions(&done);
    ought.retain(|&revision| revision < first || revision >= later);
    let store = options().open(folder.path()).unwrap();
    for name in ["one", "two"] {
        let (from, lines) = listed(&store, AuditQuery::default());
        assert_eq!((from, revisions(&lines)), (later, ought.clone()));
        store.create_tree(name).unwrap();
        ought.push(store.revision().number());
        store.checkpoint().unwrap();
    }
}

#[test]
fn what_is_damaged_or_of_a_newer_program_is_told_and_hinders_nothing_else() {
    let told = |key: u64, bytes: &[u8]| {
        let (folder, _) = cut_off();
        with_pages(&folder, |_, writing| writing.put(Table::State, key, bytes).unwrap());
        let store = options().open(folder.path()).unwrap();
        let error = store.audit(&AuditQuery::default()).unwrap_err();
        let mut rng = Rng::new(19);
        (1_000..1_200).for_each(|step| act(&store, step, &mut rng, &mut Vec::new()));
        store.checkpoint().unwrap();
        store.compact().unwrap();
        store.verify().unwrap();
        let again = store.audit(&AuditQuery::default()).unwrap_err();
        assert_eq!(again.to_string(), error.to_string());
        error
    };
    let page = 1 << 32;
    assert!(matches!(told(page, b"rot"), AuditError::Kept { key, .. } if key == page));
    assert!(matches!(told(1, b"\x01rot"), AuditError::Kept { key: 1, .. }));
    assert!(matches!(told(1, &[9]), AuditError::UnknownFormat { found: 9 }));
}

#[cfg(feature = "sim")]
#[test]
fn it_is_told_while_the_folder_is_copied() {
    use jungle_store::disk::sim::{CallKind, Fate, SimDisk};
    use std::sync::{Arc, Mutex};

    let store = Arc::new(options().open_on(Arc::new(SimDisk::new())).unwrap());
    store.create_tree("t").unwrap();
    store.checkpoint().unwrap();
    let (to, asking, told) = (SimDisk::new(), Arc::clone(&store), Arc::new(Mutex::new(Vec::new())));
    let telling = Arc::clone(&told);
    to.watch(move |call, _| {
        if call.kind == CallKind::Rename {
            // On this very thread, which keeps checkpoints still.
            let page = asking.audit(&AuditQuery::default()).unwrap();
            telling.lock().unwrap().push(page.rows.len());
        }
        Fate::Go
    });
    store.backup_on(Arc::new(to.clone())).unwrap();
    to.unwatch();
    assert_eq!(*told.lock().unwrap(), [1], "one segment got its name");
}

#[test]
fn golden_folders_have_what_their_logs_have() {
    let folder = copy("version-1");
    let store = Store::open(folder.path()).unwrap();
    let (from, lines) = listed(&store, AuditQuery::default());
    assert!(from == 1 && lines.iter().any(|line| line.contains("deletes all of short")));

    let folder = copy("version-1-pages");
    unpack(&folder);
    let first = first_segment(&folder);
    let store = Store::open(folder.path()).unwrap();
    let (from, mut lines) = listed(&store, AuditQuery::default());
    assert!(from == first && first > 1);
    store.create_tree("goes on").unwrap();
    lines.push(line(store.revision(), "nobody", "creates tree goes on", "goes on", None));
    store.checkpoint().unwrap();
    assert_eq!(listed(&store, AuditQuery::default()), (first, lines));
}
