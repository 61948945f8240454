//! Undoing and redoing by one command after the other, each a process of its own, against a model
//! of what an editor does.

use jungle_testkit::{Rng, for_each_seed};

use crate::Folder;

/// What an editor has in mind: what was before, what is, what was undone.
struct Line {
    branch: &'static str,
    past: Vec<String>,
    now: String,
    future: Vec<String>,
}

impl Line {
    fn new(branch: &'static str, now: &str) -> Line {
        Line { branch, past: Vec::new(), now: now.to_owned(), future: Vec::new() }
    }

    /// Does something random, and tells whether it could be done.
    fn step(&mut self, rng: &mut Rng, folder: &Folder) -> bool {
        let count = 1 + rng.index(2);
        let n = count.to_string();
        let run = |args: &[&str]| {
            let args = [args, &["--branch", self.branch]].concat();
            folder.run(&args)
        };
        match rng.below(4) {
            0 | 1 => {
                let new = format!("{{\"n\":{}}}", rng.below(1000));
                let say = *rng.pick(&["undo of revision 2", "redo of revision 3", "more"]);
                run(&["put", "d", "t", "/", &new, "-m", say]).check_code(0);
                if new != self.now {
                    self.past.push(std::mem::replace(&mut self.now, new));
                    self.future.clear();
                }
                true
            }
            2 => {
                let ended = run(&["undo", "d", "t", "-n", &n]);
                if self.past.len() < count {
                    ended.check_code(4);
                    return false;
                }
                ended.check_code(0);
                for _ in 0..count {
                    let before = self.past.pop().unwrap();
                    self.future.push(std::mem::replace(&mut self.now, before));
                }
                true
            }
            _ => {
                let ended = run(&["redo", "d", "t", "-n", &n, "--message", "as it was"]);
                if self.future.len() < count {
                    ended.check_code(4);
                    return false;
                }
                ended.check_code(0);
                for _ in 0..count {
                    let after = self.future.pop().unwrap();
                    self.past.push(std::mem::replace(&mut self.now, after));
                }
                true
            }
        }
    }
}

#[test]
fn steps_go_on_from_one_process_to_the_next() {
    let (mut done, mut refused) = (0, 0);
    for_each_seed(3, |rng| {
        let folder = Folder::new(&format!("undo_{}", rng.seed()));
        folder.run(&["trees", "d", "--create", "t"]).check_code(0);
        folder.run(&["put", "d", "t", "/", "{\"n\":0}"]).check_code(0);
        folder.run(&["branch", "d", "t", "draft"]).check_code(0);
        let mut main = Line::new("main", "{\"n\":0}");
        main.past.push("{}".to_owned());
        let mut draft = Line::new("draft", "{\"n\":0}");
        for _ in 0..40 {
            let line = if rng.chance(1, 2) { &mut main } else { &mut draft };
            match line.step(rng, &folder) {
                true => done += 1,
                false => refused += 1,
            }
            for line in [&main, &draft] {
                let is = folder.run(&["get", "d", "t", "/", "--at", line.branch]);
                is.check(0, &format!("{}\n", line.now), "");
            }
        }
    });
    assert!((done > 0 && refused > 0) || std::env::var_os("JUNGLE_SEED").is_some());
}
