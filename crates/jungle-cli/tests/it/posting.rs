//! A server is killed while several post to a board; what was acknowledged is there afterwards, and
//! nothing is there twice. `cargo xtask torture posts` does it more often.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use jungle_testkit::{Rng, for_each_seed};

use super::Folder;
use super::serving::{Client, Serving};

/// How often it is killed; the full test has 200.
const KILLS: &str = "JUNGLE_KILLS";

/// Who post at a time.
const CLIENTS: usize = 8;

/// Posts that are acknowledged before it is killed, at most.
const POSTS_MAX: u64 = 400;

const FORM: &str = "application/x-www-form-urlencoded";

/// Somebody who posts.
#[derive(Clone, Copy, Default)]
struct Poster {
    /// The number of the next post.
    next: u64,
    acknowledged: u64,
}

#[test]
fn what_was_posted_is_there_after_kills() {
    let kills = std::env::var(KILLS).map_or(6, |kills| kills.parse().expect("a number"));
    for_each_seed(1, |rng| {
        let folder = Folder::new("posting");
        Serving::start(&folder, &["--data", "data"]).make_board();
        // For each client and number: whether it was acknowledged, and how often it may be there.
        let mut tried: BTreeMap<String, bool> = BTreeMap::new();
        let mut posters = [Poster::default(); CLIENTS];
        for _ in 0..kills {
            posters = one_round(&folder, posters, &mut tried, rng);
        }
        let acknowledged: u64 = posters.iter().map(|poster| poster.acknowledged).sum();
        folder.run(&["verify", "data"]).check_code(0);
        // For the ledger.
        println!("posts: {acknowledged} acknowledged posts, {kills} kills");
        println!("posts: {kills} points from seed {}\n{kills} passed, 0 failed", rng.seed());
    });
}

/// Starts it, has all post, kills it, and starts it again to look at what is there.
fn one_round(
    folder: &Folder,
    posters: [Poster; CLIENTS],
    tried: &mut BTreeMap<String, bool>,
    rng: &mut Rng,
) -> [Poster; CLIENTS] {
    // A process that is killed does not take along what the system has.
    let durability = if rng.chance(1, 4) { "buffered" } else { "sync" };
    let mut serving = Serving::start(folder, &["--data", "data", "--durability", durability]);
    let wanted = if rng.chance(1, 5) { rng.below(3) } else { rng.below(POSTS_MAX) };
    let (posted, acknowledgements) = channel();
    let address = serving.address().to_owned();
    let after = thread::scope(|scope| {
        let post = |(client, poster)| {
            let (address, posted) = (&address, posted.clone());
            scope.spawn(move || post(address, client, poster, &posted))
        };
        let posting: Vec<_> = posters.into_iter().enumerate().map(post).collect();
        // They end only when it is killed, so there will be so many.
        acknowledgements.iter().take(wanted as usize).for_each(drop);
        serving.kill();
        posting.into_iter().map(|posting| posting.join().unwrap()).collect::<Vec<_>>()
    });
    drop(posted);
    for (client, (before, after)) in posters.iter().zip(&after).enumerate() {
        let all_acknowledged = after.acknowledged - before.acknowledged;
        for number in before.next..after.next {
            let is_acknowledged = number - before.next < all_acknowledged;
            tried.insert(format!("{client}-{number}"), is_acknowledged);
        }
    }
    check(&Serving::start(folder, &["--data", "data"]), tried);
    after.try_into().ok().expect("as many as before")
}

/// Posts until nobody answers any more. All but the last were acknowledged then.
fn post(address: &str, client: usize, mut poster: Poster, posted: &Sender<()>) -> Poster {
    let Some(mut connection) = Client::new(address) else {
        return poster;
    };
    loop {
        let body = format!("author={client}&text={client}-{}", poster.next);
        poster.next += 1;
        match connection.ask("POST /boards/b", FORM, &body) {
            Some(status) => assert_eq!(status, 303, "client {client}"),
            None => return poster,
        }
        poster.acknowledged += 1;
        // Nobody counts them any more when the server is being killed.
        let _ = posted.send(());
    }
}

/// Is all there that must be, and nothing else?
fn check(serving: &Serving, tried: &mut BTreeMap<String, bool>) {
    let found = serving.texts();
    for (text, is_acknowledged) in tried.iter() {
        let times = found.get(text).copied().unwrap_or(0);
        assert!(times <= 1, "{text} is there {times} times");
        assert!(times == 1 || !is_acknowledged, "{text} was acknowledged, and is lost");
    }
    assert!(found.keys().all(|text| tried.contains_key(text)), "something was never posted");
    // What is there once must stay, acknowledged or not.
    tried.retain(|text, _| found.contains_key(text));
    tried.values_mut().for_each(|is_acknowledged| *is_acknowledged = true);
}

impl Serving {
    fn make_board(&self) {
        let mut client = Client::new(self.address()).unwrap();
        assert_eq!(client.ask("POST /boards", FORM, "name=b"), Some(303));
    }

    /// The messages, each with how often it is there.
    fn texts(&self) -> BTreeMap<String, u32> {
        let (mut found, mut after) = (BTreeMap::new(), String::new());
        loop {
            let page = self.get(&format!("/api/v1/trees/b/children?limit=1000{after}"));
            for child in page["children"].as_array().unwrap() {
                let text = child["attributes"]["text"]["value"].as_str().unwrap();
                *found.entry(text.to_owned()).or_default() += 1;
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return found,
            }
        }
    }
}
