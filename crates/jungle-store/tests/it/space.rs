//! What takes up space is the same when the folder is opened again, and not in memory yet.

use std::ops::ControlFlow::Continue;

use jungle_db::{Retention, SpaceQuery};
use jungle_store::{OpenOptions, Store};
use jungle_tree::loading;

use crate::support::{Folder, every_kind_of_commit};

#[test]
fn reopening_changes_nothing_of_what_is_told() {
    let folder = Folder::new();
    let query = SpaceQuery::new().policy(Retention::Last(100));
    let store = Store::open(folder.path()).unwrap();
    every_kind_of_commit(&store);
    let tree = store.open_tree("t").unwrap();
    for n in 0..2000i64 {
        tree.update(|tx| tx.put_attribute(&[], "n", n)).unwrap();
    }
    let told = store.space(&query, |_, _| Continue(())).unwrap();
    assert!(told.freed().bytes() > 100_000, "{told:?}");
    store.checkpoint().unwrap();
    drop((tree, store));

    let store = OpenOptions::new().read_only().open(folder.path()).unwrap();
    let again = loading(|| store.space(&query, |_, _| Continue(()))).unwrap().unwrap();
    assert_eq!(again, told);
    let usage = store.disk_usage().unwrap();
    assert_eq!(usage.total(), store.disk_bytes().unwrap());
    assert!(usage.pages_bytes > 0 && usage.segments > 0 && usage.older_log_bytes < usage.log_bytes);
}
