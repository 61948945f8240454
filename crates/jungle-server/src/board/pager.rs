//! What is on a page of many, and where the pages beside it begin.

use super::VISITS_MAX;
use crate::limits::PAGE_BYTES;

/// A page, in the order in which it is shown.
pub(super) struct Paged<T> {
    pub(super) items: Vec<T>,
    /// Before which, and behind which, there may be others.
    pub(super) before: Option<String>,
    pub(super) behind: Option<String>,
}

/// How a page is filled.
pub(super) struct Turn {
    pub(super) limit: usize,
    /// It begins behind one that there is, and not with the first.
    pub(super) is_inner: bool,
    /// What is found first is shown last.
    pub(super) is_backward: bool,
}

/// The page that `all` begins with; `of` makes an item of one, unless it is something else, and
/// tells how many bytes it takes; `name` says what one is called in an address.
pub(super) fn paged<N: Copy, T>(
    all: impl Iterator<Item = N>,
    turn: &Turn,
    of: impl Fn(N) -> Option<(T, usize)>,
    name: impl Fn(N) -> String,
) -> Paged<T> {
    let (mut items, mut shown, mut seen, mut more) = (Vec::new(), None, None, None);
    let mut bytes = 0;
    for (visits, next) in all.enumerate() {
        if visits == VISITS_MAX {
            more = seen;
            break;
        }
        if let Some((item, its_bytes)) = of(next) {
            if items.len() == turn.limit || bytes >= PAGE_BYTES {
                more = shown.map(|(_, last)| last);
                break;
            }
            items.push(item);
            bytes += its_bytes;
            shown = Some((shown.map_or(next, |(first, _)| first), next));
        }
        seen = Some(next);
    }
    // Where nothing was found, one comes back to where it was looked last.
    let back = shown.map(|(first, _)| first).or(seen).filter(|_| turn.is_inner);
    let (back, more) = (back.map(&name), more.map(&name));
    if turn.is_backward {
        items.reverse();
        return Paged { items, before: more, behind: back };
    }
    Paged { items, before: back, behind: more }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of even numbers.
    fn check(
        all: impl Iterator<Item = usize>,
        (is_inner, is_backward): (bool, bool),
        expected: (&[usize], Option<&str>, Option<&str>),
    ) {
        let turn = Turn { limit: 2, is_inner, is_backward };
        let of = |n: usize| n.is_multiple_of(2).then_some((n, 0));
        let Paged { items, before, behind } = paged(all, &turn, of, |n| n.to_string());
        assert_eq!((&*items, before.as_deref(), behind.as_deref()), expected);
    }

    #[test]
    fn page_says_where_those_beside_it_begin() {
        check(0..9, (false, false), (&[0, 2], None, Some("2")));
        check(3..9, (true, false), (&[4, 6], Some("4"), Some("6")));
        check(6..9, (true, false), (&[6, 8], Some("6"), None));
        check(9..10, (true, false), (&[], Some("9"), None));
        check((0..9).rev(), (false, true), (&[6, 8], Some("6"), None));
        check((0..6).rev(), (true, true), (&[2, 4], Some("2"), Some("4")));
        check((0..4).rev(), (true, true), (&[0, 2], None, Some("2")));
    }

    #[test]
    fn page_ends_where_what_is_on_it_is_long() {
        let turn = Turn { limit: 9, is_inner: false, is_backward: false };
        let of = |n: usize| Some((n, PAGE_BYTES / 2));
        let Paged { items, before, behind } = paged(0..9, &turn, of, |n| n.to_string());
        assert_eq!((&*items, before, behind.as_deref()), (&[0, 1][..], None, Some("1")));
    }

    #[test]
    fn page_ends_where_much_was_looked_at_in_vain() {
        let odd = || (0..3 * VISITS_MAX).map(|n| 2 * n + 1);
        let last = (2 * VISITS_MAX - 1).to_string();
        check(odd(), (false, false), (&[], None, Some(&last)));
        check(odd(), (true, false), (&[], Some(&last), Some(&last)));
    }
}
