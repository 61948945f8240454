use jungle_testkit::for_each_seed;

use super::*;

fn encoded(names: &[&str]) -> Vec<u8> {
    let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
    sorted.sort_by_key(|&index| names[index as usize]);
    encode(names.len(), &sorted, |index| names[index])
}

fn applied<'n>(bytes: &[u8], names: &[&'n str]) -> Vec<&'n str> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    apply(bytes, sorted.into_iter().map(|name| (name, name)).collect())
}

#[test]
fn any_order_comes_back() {
    let all: Vec<String> = (0..40).map(|i| format!("{}{i}", "ab".repeat(i % 3))).collect();
    for_each_seed(300, |rng| {
        let mut names: Vec<&str> = all.iter().map(String::as_str).collect();
        rng.shuffle(&mut names);
        names.truncate(rng.index(41));
        if rng.chance(1, 2) {
            // Nearly sorted.
            names.sort_unstable();
            for _ in 0..rng.index(3).min(names.len()) {
                let moved = names.remove(rng.index(names.len()));
                names.insert(rng.index(names.len() + 1), moved);
            }
        }
        assert_eq!(applied(&encoded(&names), &names), names);
    });
}

#[test]
fn only_exceptions_are_written() {
    assert_eq!(encoded(&["a", "b", "c"]), b"");
    assert_eq!(encoded(&["c", "a", "b"]), b"\x01\x00\x01c");
    assert_eq!(encoded(&["b", "c", "a"]), b"\x01\x02c\x01a");
    assert_eq!(encoded(&["z", "y", "a", "b", "c"]), b"\x02\x00\x01z\x01y");
}

#[test]
fn members_that_come_and_go_leave_the_others_in_order() {
    let order = encoded(&["m", "a", "d", "z", "b"]);
    // A new one goes where its name puts it.
    assert_eq!(applied(&order, &["m", "a", "d", "z", "b", "e"]), ["m", "a", "d", "e", "z", "b"]);
    // An exception that is gone, and one that something else is behind.
    assert_eq!(applied(&order, &["a", "d", "z", "b"]), ["a", "d", "z", "b"]);
    assert_eq!(applied(&order, &["m", "a", "d", "b"]), ["m", "a", "d", "b"]);
    assert_eq!(applied(&order, &[]), [""; 0]);
}

#[test]
fn damaged_bytes_tell_nothing_and_harm_nothing() {
    let order = encoded(&["m", "a", "d", "z", "b"]);
    for_each_seed(500, |rng| {
        let mut damaged = order.clone();
        for _ in 0..=rng.index(3) {
            let at = rng.index(damaged.len());
            damaged[at] = rng.next_u64() as u8;
        }
        damaged.truncate(rng.index(order.len() + 1));
        let mut names = applied(&damaged, &["m", "a", "d", "z", "b"]);
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "d", "m", "z"], "{damaged:?}");
    });
    let endless = [0xff; 40];
    assert_eq!(applied(&endless, &["b", "a"]), ["a", "b"]);
}
