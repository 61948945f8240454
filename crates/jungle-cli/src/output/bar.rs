//! Progress of what takes long.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use jungle::Progress;

use crate::output::{Format, is_quiet};

/// Nothing is shown of what takes no longer than this.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// So often something moves where nothing tells how far it is.
const MOVES_EVERY: Duration = Duration::from_millis(100);

/// Programs that want JSON want no bars. As with colours, that is so for the whole process.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Bars are for people.
pub(crate) fn show_for(format: Format) {
    IS_HIDDEN.store(format == Format::Json, Ordering::SeqCst);
}

/// Is there somebody who sees bars?
pub(crate) fn is_shown() -> bool {
    !IS_HIDDEN.load(Ordering::SeqCst) && !is_quiet() && io::stderr().is_terminal()
}

/// Does something of which nobody tells how far it is.
pub(crate) fn waiting<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let _moving = Moving::begin(name);
    work()
}

/// What moves until this is dropped, whatever is done meanwhile.
struct Moving {
    /// The thread waits for the other end of it to be gone.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Moving {
    /// Begins, if somebody sees it.
    fn begin(name: &'static str) -> Option<Moving> {
        is_shown().then(|| Moving::start(name))
    }

    fn start(name: &'static str) -> Moving {
        let (done, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let mut bar = Bar::without_end(name, "{msg} {spinner} {elapsed}");
            let mut moves = 0;
            while ended.recv_timeout(MOVES_EVERY) == Err(RecvTimeoutError::Timeout) {
                moves += 1;
                bar.set(moves);
            }
        });
        Moving { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Moving {
    /// Behind this nothing of it is on the terminal.
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A bar on standard error, if that is a terminal and the work takes long.
pub(crate) struct Bar<'n> {
    start: Instant,
    name: &'n str,
    total: Option<u64>,
    template: &'static str,
    bar: Option<ProgressBar>,
}

impl<'n> Bar<'n> {
    /// For work on this many bytes, where that is known.
    pub(crate) fn new(name: &'n str, bytes: Option<u64>) -> Bar<'n> {
        let template = match bytes {
            Some(_) => "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            None => "{msg} {spinner} {bytes} {bytes_per_sec}",
        };
        Bar { start: Instant::now(), name, total: bytes, template, bar: None }
    }

    /// For work on so many things.
    pub(crate) fn of_steps(name: &'n str, steps: u64) -> Bar<'n> {
        let template = "{msg} {wide_bar} {human_pos}/{human_len} {eta}";
        Bar { start: Instant::now(), name, total: Some(steps), template, bar: None }
    }

    /// For revisions that are read, of which it may not be known how many there are: it goes when
    /// what is given is dropped.
    pub(crate) fn of_revisions(name: &'static str) -> Progress {
        Bar::told(move |total| Bar::so_many_revisions(name, total))
    }

    /// The same behind something else, `first`, which does not tell how far it is.
    pub(crate) fn of_revisions_behind(first: &'static str, name: &'static str) -> Progress {
        let moving = Mutex::new(Moving::begin(first));
        Bar::told(move |total| {
            drop(moving.lock().unwrap_or_else(PoisonError::into_inner).take());
            Bar::so_many_revisions(name, total)
        })
    }

    fn so_many_revisions(name: &'n str, total: u64) -> Bar<'n> {
        match total {
            0 => Bar::without_end(name, "{msg} {spinner} {human_pos} revisions"),
            total => Bar::of_steps(name, total),
        }
    }

    /// For bytes that are copied, likewise.
    pub(crate) fn of_bytes(name: &'static str) -> Progress {
        Bar::told(move |total| Bar::new(name, Some(total)))
    }

    /// For values that are copied, likewise.
    pub(crate) fn of_values(name: &'static str) -> Progress {
        Bar::told(move |total| Bar::of_steps(name, total))
    }

    /// A bar that is made when it is told for the first time how much there is.
    fn told(make: impl Fn(u64) -> Bar<'static> + Send + Sync + 'static) -> Progress {
        let bar: Mutex<Option<Bar<'static>>> = Mutex::default();
        Progress::new(move |done, total| {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.get_or_insert_with(|| make(total)).set(done);
        })
    }

    fn without_end(name: &'n str, template: &'static str) -> Bar<'n> {
        Bar { start: Instant::now(), name, total: None, template, bar: None }
    }

    pub(crate) fn set(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        } else if self.start.elapsed() >= SHOWN_AFTER && is_shown() {
            let bar = self.total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let style = ProgressStyle::with_template(self.template);
            let style = style.expect("the template is written so");
            let bar = bar.with_style(style).with_elapsed(self.start.elapsed());
            self.bar = Some(bar.with_message(self.name.to_owned()));
        }
    }

    /// Does something that may print, with the bar out of the way.
    pub(crate) fn aside<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(f),
            None => f(),
        }
    }

    pub(crate) fn end(self) {}
}

/// Passes on what is written, and shows how much it was.
pub(crate) struct Counted<'n, W> {
    out: W,
    written: u64,
    bar: Bar<'n>,
}

impl<'n, W: Write> Counted<'n, W> {
    pub(crate) fn new(out: W, name: &'n str) -> Counted<'n, W> {
        Counted { out, written: 0, bar: Bar::new(name, None) }
    }

    /// So many bytes so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        self.bar.set(self.written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else it would hide what is printed next, or be waited for for ever.
    #[test]
    fn what_moves_has_ended_when_it_is_dropped() {
        let mut moving = Moving::start("test");
        let thread = moving.thread.take().unwrap();
        assert!(!thread.is_finished());
        drop(moving);
        thread.join().unwrap();
    }

    #[test]
    fn what_is_counted_is_what_was_taken() {
        let mut room = [0; 5];
        let mut counted = Counted::new(&mut room[..], "test");
        assert_eq!(counted.write(b"abc").unwrap(), 3);
        assert_eq!(counted.write(b"def").unwrap(), 2, "there is room for no more");
        assert_eq!(counted.written, 5);
        assert_eq!(&room, b"abcde");
    }
}
