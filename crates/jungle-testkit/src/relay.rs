//! Connections between servers that lead through this process, so that a test can hold what is sent
//! one way, or lose it. All on loopback; nobody's rights are needed.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What becomes of what one server sends to another. While it does not arrive, whichever way, no
/// connection is made between the two: that needs both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It arrives.
    Open,
    /// It arrives once this is open again: a network that loses packets has them sent again.
    Held,
    /// It never arrives. The connections concerned end when this is open again, as they would have
    /// long before: nothing may come after a hole.
    Lost,
}

/// How long a server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// A port for each server to each other one, in front of the other's own. They end when this is
/// dropped, with all that leads through them.
pub(crate) struct Relays {
    shared: Arc<Shared>,
    /// By `from * count + to`; none from a server to itself.
    relays: Vec<Option<Relay>>,
    /// Keeps a port that refuses.
    refusing: (TcpStream, TcpStream),
}

struct Relay {
    port: u16,
    /// There until it is joined.
    thread: Option<thread::JoinHandle<()>>,
}

struct Shared {
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By `from * count + to`.
    passages: Vec<Passage>,
    connections: Vec<Connection>,
    /// How many there were.
    made: u64,
    is_over: bool,
}

struct Connection {
    number: u64,
    ends: [TcpStream; 2],
    /// The ways on which something was lost: nothing may come after that.
    torn: Vec<usize>,
}

/// What is done with what came.
enum Verdict {
    Bring,
    Lose,
    End,
}

impl Relays {
    /// Between servers that have these ports, or will have them.
    pub(crate) fn start(ports: &[u16]) -> io::Result<Relays> {
        let count = ports.len();
        let state = State {
            passages: vec![Passage::Open; count * count],
            connections: Vec::new(),
            made: 0,
            is_over: false,
        };
        let shared = Arc::new(Shared { count, state: Mutex::new(state), changed: Condvar::new() });
        let mut relays = Relays { shared, relays: Vec::new(), refusing: refusing()? };
        for way in 0..count * count {
            let (from, to) = (way / count, way % count);
            let relay = if from == to { None } else { Some(relays.relay(from, to, ports[to])?) };
            relays.relays.push(relay);
        }
        Ok(relays)
    }

    fn relay(&self, from: usize, to: usize, target: u16) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("relay".to_owned());
        let thread = thread.spawn(move || shared.serve(&listener, (from, to), target))?;
        Ok(Relay { port, thread: Some(thread) })
    }

    /// The port at which one server finds another.
    pub(crate) fn port(&self, from: usize, to: usize) -> u16 {
        let relay = self.relays[self.shared.way(from, to)].as_ref();
        relay.expect("no server looks for itself").port
    }

    /// A port that refuses whoever connects, and that nobody else gets.
    pub(crate) fn refusing(&self) -> u16 {
        self.refusing.0.local_addr().expect("it is connected").port()
    }

    pub(crate) fn set(&self, from: usize, to: usize, passage: Passage) {
        self.shared.set(self.shared.way(from, to), passage);
    }

    pub(crate) fn open(&self) {
        (0..self.relays.len()).for_each(|way| self.shared.set(way, Passage::Open));
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_over = true;
        state.connections.iter().for_each(Connection::shut);
        drop(state);
        self.shared.changed.notify_all();
        for relay in self.relays.iter_mut().flatten() {
            // It looks whether all is over when somebody comes.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port));
            if let Some(thread) = relay.thread.take() {
                // What it panicked of was printed then.
                let _ = thread.join();
            }
        }
    }
}

/// Both ends of a connection: the port of the first is taken, and nobody listens there.
fn refusing() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let taken = TcpStream::connect(listener.local_addr()?)?;
    Ok((taken, listener.accept()?.0))
}

impl Connection {
    fn shut(&self) {
        for end in &self.ends {
            // It may have ended by itself.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn way(&self, from: usize, to: usize) -> usize {
        from * self.count + to
    }

    fn set(&self, way: usize, passage: Passage) {
        let mut state = self.state();
        state.passages[way] = passage;
        if passage == Passage::Open {
            let torn = state.connections.iter().filter(|there| there.torn.contains(&way));
            torn.for_each(Connection::shut);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn serve(&self, listener: &TcpListener, (from, to): (usize, usize), target: u16) {
        let ways = [self.way(from, to), self.way(to, from)];
        thread::scope(|scope| {
            for asking in listener.incoming() {
                let state = self.state();
                if state.is_over {
                    return;
                }
                let is_open = ways.iter().all(|&way| state.passages[way] == Passage::Open);
                drop(state);
                // Who gets nothing is closed at once, and tries again.
                let Ok(asking) = asking else { continue };
                let Some(asked) = is_open.then(|| connect(target)).flatten() else { continue };
                let Ok([other_asking, other_asked]) = clones([&asking, &asked]) else { continue };
                let Some(number) = self.note([&asking, &asked]) else { continue };
                scope.spawn(move || self.pump(number, ways[0], asking, asked));
                scope.spawn(move || self.pump(number, ways[1], other_asked, other_asking));
            }
        });
    }

    /// Takes down a connection; `None` when it cannot be, or all is over.
    fn note(&self, ends: [&TcpStream; 2]) -> Option<u64> {
        let ends = clones(ends).ok()?;
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        state.made += 1;
        let number = state.made;
        state.connections.push(Connection { number, ends, torn: Vec::new() });
        Some(number)
    }

    /// Brings what comes from one end to the other, until either ends.
    fn pump(&self, number: u64, way: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let read = from.read(&mut bytes).unwrap_or(0);
            match self.judge(number, way, read == 0) {
                Verdict::Bring if to.write_all(&bytes[..read]).is_ok() => {}
                Verdict::Lose => {}
                _ => break,
            }
        }
        let mut state = self.state();
        if let Some(at) = state.connections.iter().position(|there| there.number == number) {
            state.connections.swap_remove(at).shut();
        }
    }

    /// What becomes of what came on a connection, or of its end; waits while that is held. The end
    /// is told once the way is open: it is like a packet that is sent again.
    fn judge(&self, number: u64, way: usize, is_end: bool) -> Verdict {
        let is_held = |state: &mut State| match state.passages[way] {
            Passage::Open => false,
            Passage::Held => !state.is_over,
            Passage::Lost => is_end && !state.is_over,
        };
        let waited = self.changed.wait_while(self.state(), is_held);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let is_lost = state.passages[way] == Passage::Lost;
        if is_end || state.is_over {
            return Verdict::End;
        }
        // One that the other way has ended is not there any more.
        let found = state.connections.iter_mut().find(|there| there.number == number);
        let Some(there) = found else { return Verdict::End };
        let is_torn = there.torn.contains(&way);
        if is_lost && !is_torn {
            there.torn.push(way);
        }
        match (is_lost, is_torn) {
            (true, _) => Verdict::Lose,
            (false, true) => Verdict::End,
            (false, false) => Verdict::Bring,
        }
    }
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), CONNECT_WITHIN).ok()
}

fn clones(ends: [&TcpStream; 2]) -> io::Result<[TcpStream; 2]> {
    for end in ends {
        // What is sent is not to wait for more.
        end.set_nodelay(true)?;
    }
    Ok([ends[0].try_clone()?, ends[1].try_clone()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection from the first of two servers to the second, through the relay.
    fn connected(relays: &Relays, second: &TcpListener) -> (TcpStream, TcpStream) {
        let asking = connect(relays.port(0, 1)).unwrap();
        let asked = second.accept().unwrap().0;
        (asking, asked)
    }

    fn servers() -> (Relays, TcpListener) {
        let listeners = [0; 2].map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let ports = [0, 1].map(|at: usize| listeners[at].local_addr().unwrap().port());
        let [_, second] = listeners;
        (Relays::start(&ports).unwrap(), second)
    }

    /// What comes next, as far as it is there; `None` when nothing comes for a while.
    fn next(stream: &mut TcpStream, within: Duration) -> Option<String> {
        stream.set_read_timeout(Some(within)).unwrap();
        let mut bytes = [0; 100];
        let read = stream.read(&mut bytes).ok()?;
        Some(String::from_utf8(bytes[..read].to_vec()).unwrap())
    }

    const LONG: Duration = Duration::from_secs(30);
    const SHORT: Duration = Duration::from_millis(30);

    #[test]
    fn what_is_held_one_way_comes_later_and_the_other_way_goes_on() {
        let (relays, second) = servers();
        let (mut asking, mut asked) = connected(&relays, &second);
        asking.write_all(b"one").unwrap();
        assert_eq!(next(&mut asked, LONG).unwrap(), "one");
        relays.set(0, 1, Passage::Held);
        asking.write_all(b"two").unwrap();
        asked.write_all(b"back").unwrap();
        assert_eq!(next(&mut asking, LONG).unwrap(), "back");
        assert_eq!(next(&mut asked, SHORT), None);
        relays.open();
        assert_eq!(next(&mut asked, LONG).unwrap(), "two");
    }

    #[test]
    fn nothing_comes_after_what_was_lost() {
        let (relays, second) = servers();
        let (mut asking, mut asked) = connected(&relays, &second);
        relays.set(0, 1, Passage::Lost);
        asking.write_all(b"lost").unwrap();
        asked.write_all(b"back").unwrap();
        assert_eq!(next(&mut asking, LONG).unwrap(), "back");
        assert_eq!(next(&mut asked, SHORT), None);
        // Nobody comes through meanwhile, also the other way.
        let mut other = connect(relays.port(1, 0)).unwrap();
        assert_eq!(next(&mut other, LONG).unwrap_or_default(), "");
        relays.open();
        assert_eq!(next(&mut asked, LONG).unwrap(), "");
        let (mut asking, mut asked) = connected(&relays, &second);
        asking.write_all(b"again").unwrap();
        assert_eq!(next(&mut asked, LONG).unwrap(), "again");
    }

    #[test]
    fn a_connection_ends_at_both_ends_and_with_the_relays() {
        let (relays, second) = servers();
        let (asking, mut asked) = connected(&relays, &second);
        drop(asking);
        assert_eq!(next(&mut asked, LONG).unwrap(), "");
        let (_asking, mut asked) = connected(&relays, &second);
        let refused = connect(relays.refusing());
        assert!(refused.is_none());
        drop(relays);
        assert_eq!(next(&mut asked, LONG).unwrap_or_default(), "");
    }
}
