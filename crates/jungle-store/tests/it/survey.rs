//! What is told of a damaged folder.

use std::fs;
use std::path::{Path, PathBuf};

use jungle_db::{Durability, Revision};
use jungle_store::{DAMAGES_MAX, OpenOptions, Remedy, Survey};
use jungle_testkit::for_each_seed;

use crate::support::{Folder, every_kind_of_commit, portrait};

fn options() -> OpenOptions {
    OpenOptions::new().segment_bytes(2_000).checkpoint_every(u64::MAX)
}

fn survey(folder: &Folder) -> Survey {
    OpenOptions::new().survey(folder.path()).unwrap()
}

/// Two trees, 400 commits in many segments, each in a frame of its own; a checkpoint in the middle.
/// Gives everything that can be seen of it.
fn fill(folder: &Folder) -> Vec<String> {
    let store = options().durability(Durability::Sync).open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    let more = store.create_tree("more").unwrap();
    let commit = |n: i64| more.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    (0..200).for_each(|n| drop(commit(n)));
    store.checkpoint().unwrap();
    (200..400).for_each(|n| drop(commit(n)));
    let told = portrait(&store);
    store.close().unwrap();
    told
}

fn segments(folder: &Folder) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.path().join("log")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, &bytes).unwrap();
}

fn whole(survey: &Survey) -> Vec<(u64, u64)> {
    let ranges = survey.whole_revisions.iter();
    ranges.map(|range| (range.start().number(), range.end().number())).collect()
}

/// The length of the frame there.
fn frame(file: &Path, at: usize) -> usize {
    let bytes = fs::read(file).unwrap();
    u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize
}

#[test]
fn a_whole_folder_has_no_damages() {
    let folder = Folder::new();
    fill(&folder);
    let survey = survey(&folder);
    assert_eq!((survey.count(), survey.remedy), (0, Remedy::Nothing));
    let newest = OpenOptions::new().read_only().open(folder.path()).unwrap().revision();
    assert_eq!((survey.revision, survey.log_revision), (newest, newest));
    assert_eq!(whole(&survey), [(1, newest.number())]);
    assert_eq!(survey.segments, survey.whole_segments);
    assert!(survey.segments > 5 && survey.damaged_trees.is_empty());
    assert!(survey.whole_trees.iter().any(|tree| **tree == *"more"));
}

#[test]
fn damage_in_front_of_the_checkpoint_is_told_place_by_place() {
    let folder = Folder::new();
    let told = fill(&folder);
    let files = segments(&folder);
    let first_of =
        |file: &Path| -> u64 { file.file_stem().unwrap().to_str().unwrap().parse().unwrap() };
    // The second commit of the second segment and the first of the third.
    let (second, third) = (&files[1], &files[2]);
    let at = 36 + frame(second, 36);
    flip(second, at + 30);
    flip(third, 36 + 30);
    let survey = survey(&folder);
    let newest = survey.revision.number();
    let (a, b) = (first_of(second) + 1, first_of(third));
    assert_eq!(whole(&survey), [(1, a - 1), (a + 1, b - 1), (b + 1, newest)]);
    assert_eq!((survey.count(), survey.segments - survey.whole_segments), (2, 2));
    let places: Vec<_> = survey.damages.iter().map(|it| (it.offset(), it.after())).collect();
    let after = |revision: u64| Some(Revision::new(revision - 1));
    assert_eq!(places, [(Some(at as u64), after(a)), (Some(36), after(b))]);
    assert_eq!((survey.remedy, survey.log_revision.number()), (Remedy::TakeOut, a - 1));
    // It says that everything can be read.
    assert!(survey.damaged_trees.is_empty());
    let opened = OpenOptions::new().read_only().open(folder.path()).unwrap();
    assert_eq!(portrait(&opened), told);
}

#[test]
fn damage_behind_the_checkpoint_needs_a_backup() {
    let folder = Folder::new();
    fill(&folder);
    let files = segments(&folder);
    flip(&files[1], 36 + 30);
    flip(&files[files.len() - 2], 36 + 30);
    assert!(OpenOptions::new().read_only().open(folder.path()).is_err());
    let survey = survey(&folder);
    assert_eq!((survey.remedy, survey.count()), (Remedy::Restore, 2));
    let newest = survey.damages.iter().filter_map(|damage| damage.after()).max();
    assert_eq!(Some(survey.revision), newest, "the checkpoint, and the log up to the damage");
    assert!(survey.checkpoint < newest && survey.log_revision < survey.checkpoint.unwrap());
}

#[test]
fn a_damaged_checkpoint_is_not_needed_while_the_log_is_whole() {
    for_each_seed(20, |rng| {
        let folder = Folder::new();
        let told = fill(&folder);
        let pages = folder.path().join("pages");
        let len = fs::metadata(&pages).unwrap().len() as usize;
        (0..20).for_each(|_| flip(&pages, rng.index(len)));
        let survey = survey(&folder);
        if survey.count() == 0 {
            // All of them where nothing is.
            let opened = OpenOptions::new().read_only().open(folder.path()).unwrap();
            opened.verify().unwrap();
            return;
        }
        assert_eq!(survey.remedy, Remedy::RemovePages, "{:?}", survey.damages);
        assert!(survey.damaged_trees.is_empty() && survey.whole_segments == survey.segments);
        assert_eq!(survey.revision, survey.log_revision);
        fs::remove_file(&pages).unwrap();
        let store = options().open(folder.path()).unwrap();
        assert_eq!(portrait(&store), told);
        store.checkpoint().unwrap();
        store.verify().unwrap();
    });
}

#[test]
fn what_is_damaged_is_what_verify_refuses() {
    for_each_seed(30, |rng| {
        let folder = Folder::new();
        fill(&folder);
        let files = segments(&folder);
        for _ in 0..rng.range(0..3) {
            let file = rng.pick(&files);
            let len = fs::metadata(file).unwrap().len() as usize;
            flip(file, rng.index(len));
        }
        let survey = survey(&folder);
        let opened = OpenOptions::new().read_only().open(folder.path());
        let is_whole = opened.is_ok_and(|store| store.verify().is_ok());
        assert_eq!(survey.count() == 0, is_whole, "{:?}", survey.damages);
    });
}

#[test]
fn a_segment_that_was_not_sealed_as_the_power_went_away_is_whole() {
    let folder = Folder::new();
    fill(&folder);
    for (segment, torn) in [(1, 0), (2, 7)] {
        let file = &segments(&folder)[segment];
        let mut bytes = fs::read(file).unwrap();
        let mut at = 36;
        while frame(file, at) > 24 {
            at += frame(file, at);
        }
        bytes[at + torn..at + 24].fill(0);
        fs::write(file, &bytes).unwrap();
    }
    OpenOptions::new().read_only().open(folder.path()).unwrap().verify().unwrap();
    let survey = survey(&folder);
    assert_eq!((survey.count(), survey.remedy), (0, Remedy::Nothing), "{:?}", survey.damages);
    assert_eq!(survey.whole_segments, survey.segments);
}

#[test]
fn a_log_that_has_lost_what_the_checkpoint_has_is_told_and_not_gone_by() {
    // All commits in one group, or each in its own: then the checkpoint goes on behind the last.
    for (durability, remedy) in
        [(Durability::Memory, Remedy::Restore), (Durability::Sync, Remedy::TakeOut)]
    {
        let folder = Folder::new();
        let options = OpenOptions::new().checkpoint_every(u64::MAX).durability(durability);
        let store = options.open(folder.path()).unwrap();
        let tree = store.create_tree("t").unwrap();
        (0..20).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
        store.checkpoint().unwrap();
        let newest = store.revision();
        drop((store, tree));
        // As if it had not been closed: for all that the log says, its last group may be torn.
        fs::write(folder.path().join("LOCK"), "").unwrap();
        let file = segments(&folder).pop().unwrap();
        let last = fs::read(&file).unwrap().iter().rposition(|&byte| byte != 0).unwrap();
        flip(&file, last);
        let opened = OpenOptions::new().read_only().open(folder.path());
        assert!(!opened.is_ok_and(|store| store.verify().is_ok()));
        let survey = survey(&folder);
        assert_eq!((survey.count(), survey.remedy), (1, remedy), "{:?}", survey.damages);
        assert_eq!((survey.revision, survey.checkpoint), (newest, Some(newest)));
    }
}

#[test]
fn only_so_many_damages_are_kept() {
    let folder = Folder::new();
    fill(&folder);
    let mut damages = 0;
    for file in segments(&folder) {
        let mut at = 36;
        while frame(&file, at) > 24 {
            let len = frame(&file, at);
            if damages % 2 == 0 {
                flip(&file, at + 28);
            }
            damages += 1;
            at += len;
        }
    }
    let survey = survey(&folder);
    assert_eq!(survey.damages.len(), DAMAGES_MAX);
    assert!(survey.count() > 150 && survey.whole_revisions.len() <= DAMAGES_MAX + 1);
    assert_eq!(survey.log_revision, Revision::default());
}

#[test]
fn frames_of_another_log_in_a_damaged_commit_are_not_taken_for_its_own() {
    let (other, folder) = (Folder::new(), Folder::new());
    let open = |folder: &Folder| {
        let options = OpenOptions::new().durability(Durability::Buffered);
        options.checkpoint_every(u64::MAX).open(folder.path()).unwrap()
    };
    let store = open(&other);
    let tree = store.create_tree("t").unwrap();
    (0..600).for_each(|n| drop(tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap()));
    drop((store, tree));
    let log = fs::read(&segments(&other)[0]).unwrap();
    let length = |at: usize| u32::from_le_bytes(*log[at..].first_chunk().unwrap()) as usize;
    let last = (0..600).fold(36, |at, _| at + length(at));

    let store = open(&folder);
    let tree = store.create_tree("t").unwrap();
    let begin = 36 + store.log_stats().bytes as usize;
    let bytes = &log[last..last + length(last)];
    tree.update(|tx| tx.put_attribute(&[], "log", bytes)).unwrap();
    tree.update(|tx| tx.append(&[])).unwrap();
    drop((store, tree));
    flip(&segments(&folder)[0], begin + 4);
    let survey = survey(&folder);
    assert_eq!(whole(&survey), [(1, 1), (3, 3)]);
    assert_eq!(survey.count(), 1, "{:?}", survey.damages);
}

#[test]
fn an_open_folder_is_looked_at_up_to_what_is_written() {
    let folder = Folder::new();
    fill(&folder);
    let store = options().open(folder.path()).unwrap();
    let more = store.open_tree("more").unwrap();
    more.update(|tx| tx.append(&[])).unwrap();
    let survey = store.survey(&Default::default()).unwrap();
    assert_eq!((survey.count(), survey.revision), (0, store.revision()), "{survey:?}");
    // The newest commit is damaged, which is no torn end where somebody has the log open.
    let newest = segments(&folder).pop().unwrap();
    let last = fs::read(&newest).unwrap().iter().rposition(|&byte| byte != 0).unwrap();
    flip(&newest, last);
    assert_eq!(store.survey(&Default::default()).unwrap().count(), 1);
    flip(&newest, last);
    flip(&segments(&folder)[0], 36 + 30);
    let survey = store.survey(&Default::default()).unwrap();
    assert_eq!((survey.count(), survey.remedy), (1, Remedy::TakeOut), "{survey:?}");
}
