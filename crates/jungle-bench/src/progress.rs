//! How far an experiment is: a bar where somebody looks on, else a line now and then.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often there is a line.
const EVERY: Duration = Duration::from_secs(30);

/// Somebody who is told what is at work, and what is done.
pub struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

impl Progress {
    /// Of so many measurements at most. There are only lines where there is a deadline: the others
    /// are soon done.
    pub fn new(most: usize, deadline: Option<Instant>) -> Progress {
        let is_seen = std::io::stderr().is_terminal();
        let bar = ProgressBar::new(most as u64);
        if !is_seen {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}");
        bar.set_style(style.expect("the template is a literal"));
        let deadline = deadline.filter(|_| !is_seen);
        let lines = deadline.map(|deadline| {
            let state = State::new(most, deadline.saturating_duration_since(Instant::now()));
            Lines::start(state, EVERY, |line| eprintln!("{line}"))
        });
        Progress { bar, lines }
    }

    /// This is at work now.
    pub fn begin(&self, what: String) {
        self.tell(Told::Begun(what.clone()));
        self.bar.set_message(what);
    }

    /// One more is done.
    pub fn done(&self) {
        self.tell(Told::Done);
        self.bar.inc(1);
    }

    fn tell(&self, told: Told) {
        if let Some(lines) = &self.lines {
            // It listens until this is gone.
            let _ = lines.to.send(told);
        }
    }

    /// Nothing is at work any more, and nothing of it is left to be seen.
    pub fn end(self) {
        self.bar.finish_and_clear();
        if let Some(Lines { to, writer }) = self.lines {
            drop(to);
            let _ = writer.join();
        }
    }
}

enum Told {
    Begun(String),
    Done,
}

/// A thread that writes lines, for a measurement may take many minutes.
struct Lines {
    to: Sender<Told>,
    writer: JoinHandle<()>,
}

impl Lines {
    fn start(
        mut state: State,
        every: Duration,
        mut write: impl FnMut(&str) + Send + 'static,
    ) -> Lines {
        let (to, told): (Sender<Told>, Receiver<Told>) = channel();
        let writer = thread::spawn(move || {
            let mut due = Instant::now() + every;
            loop {
                match told.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Ok(Told::Begun(what)) => state.at_work = what,
                    Ok(Told::Done) => state.done += 1,
                    Err(RecvTimeoutError::Timeout) => {
                        write(&state.line());
                        due += every;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        });
        Lines { to, writer }
    }
}

struct State {
    at_work: String,
    done: usize,
    most: usize,
    begun: Instant,
    share: Duration,
}

impl State {
    fn new(most: usize, share: Duration) -> State {
        State { at_work: String::new(), done: 0, most, begun: Instant::now(), share }
    }

    fn line(&self) -> String {
        let State { at_work, done, most, begun, share } = self;
        let (seconds, share) = (begun.elapsed().as_secs(), share.as_secs_f64());
        format!(
            "  {at_work}: {done} of at most {most} are done, {seconds} of {share:.0} s are over"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::{Lines, State, Told};

    #[test]
    fn a_line_says_what_is_at_work_and_how_far_it_is() {
        let (write, written) = channel();
        let state = State::new(9, Duration::from_secs(1300));
        let lines = Lines::start(state, Duration::from_millis(1), move |line| {
            let _ = write.send(line.to_owned());
        });
        for told in [Told::Begun("read visit, java".to_owned()), Told::Done] {
            lines.to.send(told).unwrap();
        }
        let line = written.iter().find(|line| line.contains("java: 1 of")).unwrap();
        let (what, time) = line.split_once(" are done, ").unwrap();
        assert_eq!(what, "  read visit, java: 1 of at most 9");
        assert!(time.ends_with(" of 1300 s are over"), "{time}");
        // There are no more lines once nobody has anything to tell.
        drop(lines.to);
        lines.writer.join().unwrap();
    }
}
